//! Administrators and the blacklist. An administrator is a member with a flag. Administrators and the operator grant and revoke
//! it; API keys and members with a role never do. A blacklisted member cannot sign in, and their tokens are revoked. No operation
//! removes the last administrator who can sign in.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::{self, Admin, Caller, Identity, MemberRecord, SignUp, Transaction};
use crate::audit::trail::{Action, Entry};
use crate::base::clock::Timestamp;
use crate::base::config::Config;
use crate::record::error::{Error, Outcome, Result};
use crate::record::id::MemberKey;
use crate::record::operation::{Access, Failure, Spec, Work};
use crate::record::scope::Scope;
use crate::store::Tx;

const GROUP: &str = "admin";
const READERS: Access = Access::Admins(Scope::MembersRead);
const ADMINS: Access = Access::Admins(Scope::Members);

/// Check for administrator rights
///
/// `result` is `success`; or `Not admin`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Check {}

impl Transaction for Check {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/check_admin", Access::Persons).works(Work::Few).refused_with(Outcome::NotAdmin);

    fn run(&self, _: &mut dyn Tx, _: &Admin<'_>, _: &Identity) -> Result<()> {
        Ok(())
    }
}

/// Registers an administrator. The password may not be one of the 10,000 most common.
///
/// # Errors
/// `Not admin` unless the caller is the operator; otherwise those of [`SignUp`].
pub fn sign_up(tidings: &Tidings, caller: &Caller, form: &SignUp) -> Result<()> {
    caller.operator()?;
    let (identity, now) = (caller.identify(tidings), tidings.now());
    account::sign_up_admin(tidings, form, move |tx, key| {
        let admin = identity.administrator(tx)?;
        grant_to(tx, &admin, key, now)
    })
}

/// Grant administrator rights
///
/// Idempotent. Only administrators do this: no API key and no role allows it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Grant {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Transaction for Grant {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/grant_admin/{user_id}", Access::Persons).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<()> {
        let member = account::find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
        // The date of the first grant stays.
        if member.admin {
            return Ok(());
        }
        grant_to(tx, admin, member.key, identity.now())
    }
}

fn grant_to(tx: &mut dyn Tx, admin: &Admin<'_>, member: MemberKey, now: Timestamp) -> Result<()> {
    sql::grant(tx, admin, member, now)?;
    Ok(admin.record(tx, Entry::new(Action::AdminGrant).on_member(member))?)
}

/// Revoke administrator rights
///
/// Idempotent. Only administrators do this: no API key and no role allows it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Revoke {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Transaction for Revoke {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/revoke_admin/{user_id}", Access::Persons)
        .writes()
        .or(&[Failure::Missing, Failure::LastAdministrator]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let member = account::find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
        if !member.admin {
            return Ok(());
        }
        account::require_another_administrator(tx, &member)?;
        sql::revoke(tx, admin, member.key)?;
        Ok(admin.record(tx, Entry::new(Action::AdminRevoke).on_member(member.key))?)
    }
}

/// The administrators.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Admins {
    /// The administrators by the date of the grant, the earliest first, then by id.
    pub admins: Vec<Administrator>,
}

/// An administrator.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Administrator {
    /// The id as registered.
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub user_id: String,
    /// The nickname.
    #[schema(max_length = 1_000_000, examples("Ann"))]
    pub nickname: String,
    /// The date when the member became an administrator.
    pub date: Timestamp,
}

/// List administrators by grant date
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {}

impl Transaction for List {
    type By = Admin<'static>;
    type Answer = Admins;
    const SPEC: Spec = Spec::get(GROUP, "/get_admins", READERS);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<Admins> {
        Ok(Admins { admins: sql::list(tx, admin)? })
    }
}

/// The blacklisted members.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Blacklist {
    /// The members by the date of the blacklisting, the latest first, then by id.
    pub blacklist: Vec<Blacklisted>,
}

/// A blacklisted member.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Blacklisted {
    /// The id as registered.
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub user_id: String,
    /// The date when the member was blacklisted.
    pub date: Timestamp,
}

/// List blacklisted members
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetBlacklist {}

impl Transaction for GetBlacklist {
    type By = Admin<'static>;
    type Answer = Blacklist;
    const SPEC: Spec = Spec::get(GROUP, "/get_blacklist", READERS);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<Blacklist> {
        Ok(Blacklist { blacklist: sql::blacklist(tx, admin)? })
    }
}

/// Blacklist a member
///
/// The member cannot sign in, and all their tokens are revoked. `result` is `success`, or `Not found` for an unknown member.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PushBlacklist {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Transaction for PushBlacklist {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/push_blacklist/{user_id}", ADMINS).writes().or(&[Failure::LastAdministrator]);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::NotFound.into()]
    }

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<()> {
        let member = account::find(tx, &self.user_id)?.ok_or(Outcome::NotFound)?;
        // The earlier date stays.
        if member.blacklisted {
            return Ok(());
        }
        account::require_another_administrator(tx, &member)?;
        set_blacklisting(tx, admin, member, Some(identity.now()))
    }
}

/// Remove from the blacklist
///
/// `result` is `success`, or `Not found` for an unknown member.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PopBlacklist {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Transaction for PopBlacklist {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/pop_blacklist/{user_id}", ADMINS).writes();

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::NotFound.into()]
    }

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let member = account::find(tx, &self.user_id)?.ok_or(Outcome::NotFound)?;
        if !member.blacklisted {
            return Ok(());
        }
        // A sign-in that was in progress when the member was blacklisted may have issued a token afterwards.
        set_blacklisting(tx, admin, member, None)
    }
}

fn set_blacklisting(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    member: MemberRecord,
    since: Option<Timestamp>,
) -> Result<()> {
    let key = member.key;
    account::sign_out(tx, &admin.act_for(member))?;
    sql::set_blacklisted(tx, admin, key, since)?;
    let action = if since.is_some() { Action::MemberBlacklist } else { Action::MemberUnblacklist };
    Ok(admin.record(tx, Entry::new(action).on_member(key))?)
}

mod sql {
    use super::{Admin, Administrator, Blacklisted, Timestamp};
    use crate::record::id::MemberKey;
    use crate::store::{StoreError, Topic, Tx};

    pub(super) fn grant(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        key: MemberKey,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE member SET admin = $2 WHERE key = $1 AND admin IS NULL";
        tx.run(sql, &[key.into(), now.into()])?;
        tx.touch(Topic::Members);
        Ok(())
    }

    pub(super) fn revoke(tx: &mut dyn Tx, _: &Admin<'_>, key: MemberKey) -> Result<(), StoreError> {
        tx.run("UPDATE member SET admin = NULL WHERE key = $1", &[key.into()])?;
        tx.touch(Topic::Members);
        Ok(())
    }

    pub(super) fn set_blacklisted(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        key: MemberKey,
        since: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        tx.run("UPDATE member SET blacklisted = $2 WHERE key = $1", &[key.into(), since.into()])?;
        tx.touch(Topic::Members);
        Ok(())
    }

    pub(super) fn list(tx: &mut dyn Tx, _: &Admin<'_>) -> Result<Vec<Administrator>, StoreError> {
        let sql = "SELECT id, nickname, admin FROM member WHERE admin IS NOT NULL ORDER BY admin, folded";
        let rows = tx.rows(sql, &[])?.into_iter();
        rows.map(|mut row| {
            Ok(Administrator { user_id: row.take(0)?, nickname: row.take(1)?, date: row.take(2)? })
        })
        .collect()
    }

    pub(super) fn blacklist(tx: &mut dyn Tx, _: &Admin<'_>) -> Result<Vec<Blacklisted>, StoreError> {
        let sql = "SELECT id, blacklisted FROM member WHERE blacklisted IS NOT NULL
                   ORDER BY blacklisted DESC, folded";
        let rows = tx.rows(sql, &[])?.into_iter();
        rows.map(|mut row| Ok(Blacklisted { user_id: row.take(0)?, date: row.take(1)? })).collect()
    }
}

#[cfg(test)]
mod tests;
