//! The operations on the audit trail.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{AuditPage, Head, Verification};
use crate::error::{Error, Problem, Result};
use crate::operation::{Access, Operation, Spec, Work};
use crate::scope::Scope;
use crate::{Caller, Tidings};

const GROUP: &str = "admin";
const ADMINS: Access = Access::Admins(Scope::AuditRead);

const HEAD_RULE: Problem =
    Problem::invalid("head", "head is the number of a record, a colon and its hash of 64 hexadecimal digits");

/// Lists what administrators, operators and API keys have done, latest first
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {
    /// Records before the one with this number.
    pub before: Option<i64>,
    /// The maximum number of records, at most 1,000; 100 by default.
    pub limit: Option<i64>,
    /// What was done, such as `notice.insert`, or its first word, such as `notice`.
    #[schema(max_length = 50, examples("notice.insert"))]
    pub action: Option<String>,
    /// Who acted: the id of a member, the name of an API key, `operator` or `service`.
    #[schema(examples("ann"))]
    pub actor: Option<String>,
    /// What was acted on: the id of a member, or of a record.
    #[schema(examples("ann"))]
    pub subject: Option<String>,
}

impl Operation for List {
    type Answer = AuditPage;
    const SPEC: Spec = Spec::get(GROUP, "/get_audit", ADMINS).works(Work::Query);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<AuditPage> {
        super::list(tidings, caller, &self)
    }
}

/// Verifies the audit trail: that no record was changed, inserted or removed
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Verify {
    /// The number of a record and its hash, as an earlier verification returned them: `SEQ:HASH`.
    #[schema(
        pattern = "^[0-9]{1,18}:[0-9a-fA-F]{64}$",
        examples("0:0000000000000000000000000000000000000000000000000000000000000000")
    )]
    pub head: Option<String>,
}

impl Operation for Verify {
    type Answer = Verification;
    const SPEC: Spec = Spec::get(GROUP, "/verify_audit", ADMINS).works(Work::Query);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Verification> {
        let head: Option<Head> =
            self.head.map(|head| head.parse()).transpose().map_err(|_| Error::BadRequest(HEAD_RULE))?;
        super::verify(tidings, caller, head.as_ref())
    }
}
