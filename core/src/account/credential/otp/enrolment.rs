//! Codes with which members set up a second factor where administrators need one. A second factor protects only if the thief of a
//! password cannot choose it. So the operator, or another administrator, gives the member a code in a way that the thief does not
//! see.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ENABLED;
use super::sql::Stored;

use crate::account::credential::code;
use crate::account::{Admin, Identity, Transaction, find};
use crate::audit::trail::{Action, Entry};
use crate::base::clock::{HOUR_MS, Timestamp};
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::id::MemberKey;
use crate::record::operation::{Access, Failure, Spec};
use crate::store::{StoreError, Tx};

/// The lifetime of a code, and then that of the secret that was made with it, unless it is enabled.
const LASTS_MS: i64 = HOUR_MS;

pub(super) const NEEDED: Problem = Problem::new(
    Code::OtpRequired,
    "setting up a second factor needs an enrolment code here, which the operator or another administrator issues: \
     tidings member otp ID",
)
.of("enrolment_code");
pub(super) const WRONG: Problem = Problem::new(
    Code::WrongOtp,
    "the enrolment code is wrong, was used before, has expired or been withdrawn, or a later one was issued",
)
.of("enrolment_code");
const OWN: Problem = Problem::new(
    Code::NotPossible,
    "administrators cannot issue a code to themselves: ask the operator or another administrator",
);

/// A code with which a member sets up a second factor once.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct EnrolmentCode {
    /// The code, which is not shown again.
    #[schema(max_length = 1_000, examples("8k2m-0qwz-7hn4-c9xe"))]
    pub enrolment_code: String,
    /// The time at which it expires.
    pub expires: Timestamp,
}

/// Issue an enrolment code
///
/// The member needs it to set up a second factor if administrators need one. The code works once and for an hour, and replaces an
/// earlier one. It ends when the member is signed out everywhere. Administrators cannot issue one to themselves. Only
/// administrators do this: no API key and no role allows it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IssueOtp {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Transaction for IssueOtp {
    type By = Admin<'static>;
    type Answer = EnrolmentCode;
    const SPEC: Spec =
        Spec::get("admin", "/issue_member_otp/{user_id}", Access::Persons).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<EnrolmentCode> {
        let (code, expires) = (code::generate(), identity.now() + LASTS_MS);
        let member = find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
        if admin.is(member.key) {
            return Err(Error::BadRequest(OWN));
        }
        if super::sql::is_enabled(tx, member.key)? {
            return Err(Error::BadRequest(ENABLED));
        }
        code::insert(tx, code::Kind::Enrolment, member.key, &code::hash(&code), "", expires)?;
        admin.record(tx, Entry::new(Action::MemberOtpCode).on_member(member.key))?;
        Ok(EnrolmentCode { enrolment_code: code, expires })
    }
}

pub(super) fn is_admitted(factor: &Stored, now: Timestamp) -> bool {
    factor.admitted.is_some_and(|at| now - at < LASTS_MS)
}

pub(super) fn take(
    tx: &mut dyn Tx,
    member: MemberKey,
    hash: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let found = code::find(tx, &[code::Kind::Enrolment], hash, now)?;
    let is_theirs = found.is_some_and(|found| found.member == member);
    if is_theirs {
        code::remove(tx, code::Kind::Enrolment, member)?;
    }
    Ok(is_theirs)
}
