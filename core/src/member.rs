//! The operations of administrators and API keys on members. Those of members on their own data are in [`crate::profile`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use crate::account::members::{List, ResetSignIns, SetPassword};
pub use crate::account::otp::{IssueOtp, ResetOtp};
pub use crate::account::reset::IssueReset;
pub use crate::account::role::{GetRole, SetRole};
pub use crate::account::roster::ListRoster;
use crate::account::{self, Sessions, find, sessions};
use crate::audit::trail::{Action, Entry};
use crate::base::config::Config;
pub use crate::profile::of_member::{ChangeNickname, Get, GetLists, ResetMeasurement, UpdateAutoLogin};
use crate::record::error::{Error, Outcome, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Operation, Spec};
use crate::record::scope::Scope;
use crate::removal;
use crate::store::Isolation;
use crate::{Caller, Tidings};

const GROUP: &str = "admin";
const READERS: Access = Access::Admins(Scope::MembersRead);
const ADMINS: Access = Access::Admins(Scope::Members);

/// Remove a member
///
/// `result` is `success`; or `Not admin`, `Not found`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Remove {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Operation for Remove {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/admin_remove_user/{user_id}", ADMINS).writes().or(&[Failure::LastAdministrator]);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        let mut refusals: Vec<Error> = Outcome::not_admin(Scope::Members).into();
        refusals.push(Outcome::NotFound.into());
        refusals
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        let identity = caller.identify(tidings);
        let written = tidings.store().write(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx, Scope::Members)?;
            let member = account::find(tx, &self.user_id)?.ok_or(Outcome::NotFound)?;
            admin.record(tx, Entry::new(Action::MemberRemove).on_member(member.key))?;
            removal::remove(tx, &admin.act_for(member))
        });
        written.map_err(|e| e.unless_authorised(Outcome::NotAdmin))
    }
}

/// List a member's sessions
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ListSessions {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Operation for ListSessions {
    type Answer = Sessions;
    const SPEC: Spec = Spec::get(GROUP, "/get_member_sessions/{user_id}", READERS).or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Sessions> {
        let (identity, now) = (caller.identify(tidings), tidings.now());
        tidings.store().read(|tx| {
            let _admin = identity.admin(tx, Scope::MembersRead)?;
            let member = find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
            Ok(Sessions { sessions: sessions::sql::list(tx, member.key, identity.session(), now)? })
        })
    }
}

/// Sign a member out everywhere
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignOut {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Operation for SignOut {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/sign_out_member/{user_id}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        sign_out(tidings, caller, self.user_id, None)
    }
}

/// Sign out a member's session
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignOutSession {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
    /// The id of the session
    #[schema(value_type = ObjectId)]
    pub session_obi: String,
}

impl Operation for SignOutSession {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/sign_out_member_session/{user_id}/{session_obi}", ADMINS)
        .writes()
        .or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        sign_out(tidings, caller, self.user_id, Some(&self.session_obi))
    }
}

/// Everywhere if there is no session.
fn sign_out(tidings: &Tidings, caller: &Caller, user_id: String, session: Option<&str>) -> Result<()> {
    let (identity, session) = (caller.identify(tidings), session.map(str::to_ascii_lowercase));
    tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Members)?;
        let member = find(tx, &user_id)?.ok_or(Error::NotFound)?;
        let key = member.key;
        match &session {
            Some(session) if !sessions::end_one(tx, key, session, None)? => return Err(Error::NotFound),
            Some(_) => {}
            None => account::sign_out(tx, &admin.act_for(member))?,
        }
        let what = if session.is_some() { "one session" } else { "everywhere" };
        Ok(admin.record(tx, Entry::new(Action::MemberSignOut).on_member(key).after(what))?)
    })
}
