//! The operations of administrators and API keys on members. Those of members on their own data are in [`crate::profile`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use crate::account::members::{List, ResetSignIns, SetPassword};
pub use crate::account::otp::{IssueOtp, ResetOtp};
pub use crate::account::reset::IssueReset;
pub use crate::account::role::{GetRole, SetRole};
pub use crate::account::roster::ListRoster;
use crate::account::{self, Admin, Call, Identity, Sessions, Transaction, find, sessions};
use crate::audit::trail::{Action, Entry};
use crate::base::config::Config;
pub use crate::profile::of_member::{ChangeNickname, Get, GetLists, ResetMeasurement, UpdateAutoLogin};
use crate::record::error::{Error, Outcome, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Operation, Spec};
use crate::record::scope::Scope;
use crate::removal;
use crate::store::{Isolation, Tx};

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

impl Transaction for Remove {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/admin_remove_user/{user_id}", ADMINS)
        .writes()
        .or(&[Failure::LastAdministrator])
        .refused_with(Outcome::NotAdmin);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::NotFound.into()]
    }

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let member = account::find(tx, &self.user_id)?.ok_or(Outcome::NotFound)?;
        admin.record(tx, Entry::new(Action::MemberRemove).on_member(member.key))?;
        removal::remove(tx, &admin.act_for(member))
    }
}

/// List a member's sessions
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ListSessions {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Transaction for ListSessions {
    type By = Admin<'static>;
    type Answer = Sessions;
    const SPEC: Spec = Spec::get(GROUP, "/get_member_sessions/{user_id}", READERS).or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, _: &Admin<'_>, identity: &Identity) -> Result<Sessions> {
        let member = find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
        Ok(Sessions { sessions: sessions::sql::list(tx, member.key, identity.session(), identity.now())? })
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

    fn run(self, call: &Call<'_>) -> Result<()> {
        sign_out(call, self.user_id, None)
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

    fn run(self, call: &Call<'_>) -> Result<()> {
        sign_out(call, self.user_id, Some(&self.session_obi))
    }
}

/// Everywhere if there is no session.
fn sign_out(call: &Call<'_>, user_id: String, session: Option<&str>) -> Result<()> {
    let (identity, session) = (call.authority(), session.map(str::to_ascii_lowercase));
    call.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx)?;
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
