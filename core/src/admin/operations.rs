//! The operations on administrators and the blacklist.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Admins, Blacklist};
use crate::config::Config;
use crate::error::{Error, Outcome, Result};
use crate::operation::{Access, Failure, Operation, Spec, Work};
use crate::scope::Scope;
use crate::{Caller, Tidings};

const GROUP: &str = "admin";
const READERS: Access = Access::Admins(Scope::MembersRead);
const ADMINS: Access = Access::Admins(Scope::Members);

/// Checks whether the caller is an administrator
///
/// `result` is `success`; or `Not admin`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Check {}

impl Operation for Check {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/check_admin", Access::Persons).works(Work::Few);

    fn refusals(_: &Config) -> Vec<Error> {
        let reasons = [Error::BadToken, Error::Forbidden, Error::SecondFactorNeeded];
        reasons.map(|reason| Outcome::NotAdmin.because(reason.problem())).into()
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::check(tidings, caller)
    }
}

/// Lists the administrators by the date of the grant
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {}

impl Operation for List {
    type Answer = Admins;
    const SPEC: Spec = Spec::get(GROUP, "/get_admins", READERS);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Admins> {
        super::list(tidings, caller)
    }
}

/// Makes a member an administrator; idempotent
///
/// Only a person does this: an API key cannot.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Grant {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
}

impl Operation for Grant {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/grant_admin/{user_id}", Access::Persons).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::grant(tidings, caller, &self.user_id)
    }
}

/// Revokes a member's administrator rights; idempotent
///
/// Only a person does this: an API key cannot.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Revoke {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
}

impl Operation for Revoke {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/revoke_admin/{user_id}", Access::Persons)
        .writes()
        .or(&[Failure::Missing, Failure::LastAdministrator]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::revoke(tidings, caller, &self.user_id)
    }
}

/// Lists the members who may not sign in
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetBlacklist {}

impl Operation for GetBlacklist {
    type Answer = Blacklist;
    const SPEC: Spec = Spec::get(GROUP, "/get_blacklist", READERS);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Blacklist> {
        super::blacklist(tidings, caller)
    }
}

/// Adds a member to the blacklist: the member cannot sign in, and all their tokens are revoked
///
/// `result` is `success`, or `Not found` for an unknown member.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PushBlacklist {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
}

impl Operation for PushBlacklist {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/push_blacklist/{user_id}", ADMINS).writes().or(&[Failure::LastAdministrator]);

    fn refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::NotFound.into()]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::push_blacklist(tidings, caller, &self.user_id)
    }
}

/// Removes a member from the blacklist: the member can sign in again
///
/// `result` is `success`, or `Not found` for an unknown member.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PopBlacklist {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
}

impl Operation for PopBlacklist {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/pop_blacklist/{user_id}", ADMINS).writes();

    fn refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::NotFound.into()]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::pop_blacklist(tidings, caller, &self.user_id)
    }
}
