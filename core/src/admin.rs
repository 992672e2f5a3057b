//! Administrators and the blacklist.
//!
//! An administrator is a member with a flag. Administrators and the operator grant and revoke it; API keys never do. A
//! blacklisted member cannot sign in, and their tokens are revoked. No operation removes the last administrator who can sign
//! in.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::{self, Admin, Caller, MemberRecord, SignUp};
use crate::clock::Timestamp;
use crate::error::{Error, Outcome, Result};
use crate::id::MemberKey;
use crate::removal;
use crate::scope::Scope;
use crate::store::{Isolation, Tx};
use crate::trail::{Action, Entry};

mod operations;

pub use operations::{Check, GetBlacklist, Grant, List, PopBlacklist, PushBlacklist, Revoke};

/// Checks that the caller is an administrator or the operator.
///
/// # Errors
/// `Not admin` for every other caller.
pub fn check(tidings: &Tidings, caller: &Caller) -> Result<()> {
    let identity = caller.identify(tidings);
    let read = tidings.store().read(|tx| identity.administrator(tx).map(|_| ()));
    read.map_err(|e| e.unless_authorised(Outcome::NotAdmin))
}

/// Removes a member's account, with its lists and its interest, like [`crate::profile::remove_mine`].
///
/// # Errors
/// `Not admin`; `Not found` if no member has this id; `last administrator` if no administrator who can sign in would
/// remain.
pub fn remove_user(tidings: &Tidings, caller: &Caller, user_id: &str) -> Result<()> {
    let (identity, user_id) = (caller.identify(tidings), user_id.to_owned());
    let written = tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Members)?;
        let member = account::find(tx, &user_id)?.ok_or(Outcome::NotFound)?;
        admin.record(tx, Entry::new(Action::MemberRemove).on_member(member.key))?;
        removal::remove(tx, &admin.act_for(member))
    });
    written.map_err(|e| e.unless_authorised(Outcome::NotAdmin))
}

/// Registers an administrator. The password may not be one of the 10,000 most common.
///
/// # Errors
/// `Not admin` unless the caller is the operator; otherwise the errors of [`account::sign_up`].
pub fn sign_up(tidings: &Tidings, caller: &Caller, form: &SignUp) -> Result<()> {
    caller.operator()?;
    let (identity, now) = (caller.identify(tidings), tidings.now());
    account::sign_up_admin(tidings, form, move |tx, key| {
        let admin = identity.administrator(tx)?;
        grant_to(tx, &admin, key, now)
    })
}

/// Makes a member an administrator. An existing administrator keeps the date of the first grant.
///
/// # Errors
/// `bad token`, `Not admin`, also for an API key; `Not found` if no member has this id.
pub fn grant(tidings: &Tidings, caller: &Caller, id: &str) -> Result<()> {
    let (identity, id, now) = (caller.identify(tidings), id.to_owned(), tidings.now());
    tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.administrator(tx)?;
        let member = account::find(tx, &id)?.ok_or(Error::NotFound)?;
        if member.admin {
            return Ok(());
        }
        grant_to(tx, &admin, member.key, now)
    })
}

fn grant_to(tx: &mut dyn Tx, admin: &Admin<'_>, member: MemberKey, now: Timestamp) -> Result<()> {
    sql::grant(tx, admin, member, now)?;
    Ok(admin.record(tx, Entry::new(Action::AdminGrant).on_member(member))?)
}

/// Revokes a member's administrator rights. Nothing changes for a member without them.
///
/// # Errors
/// `bad token`, `Not admin`, also for an API key; `Not found` if no member has this id; `last administrator` if no
/// administrator who can sign in would remain.
pub fn revoke(tidings: &Tidings, caller: &Caller, id: &str) -> Result<()> {
    let (identity, id) = (caller.identify(tidings), id.to_owned());
    tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.administrator(tx)?;
        let member = account::find(tx, &id)?.ok_or(Error::NotFound)?;
        if !member.admin {
            return Ok(());
        }
        account::require_another_administrator(tx, &member)?;
        sql::revoke(tx, &admin, member.key)?;
        Ok(admin.record(tx, Entry::new(Action::AdminRevoke).on_member(member.key))?)
    })
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

/// Returns all administrators, including blacklisted ones.
///
/// # Errors
/// `bad token`, `Not admin`.
pub fn list(tidings: &Tidings, caller: &Caller) -> Result<Admins> {
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| {
        let admin = identity.admin(tx, Scope::MembersRead)?;
        Ok(Admins { admins: sql::list(tx, &admin)? })
    })
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

/// Returns the blacklisted members.
///
/// # Errors
/// `bad token`, `Not admin`.
pub fn blacklist(tidings: &Tidings, caller: &Caller) -> Result<Blacklist> {
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| {
        let admin = identity.admin(tx, Scope::MembersRead)?;
        Ok(Blacklist { blacklist: sql::blacklist(tx, &admin)? })
    })
}

/// Blacklists a member and revokes their tokens, which stay revoked after [`pop_blacklist`]. A member who is already
/// blacklisted keeps the earlier date.
///
/// # Errors
/// `bad token`, `Not admin`; `Not found` if no member has this id; `last administrator` if no administrator who can
/// sign in would remain.
pub fn push_blacklist(tidings: &Tidings, caller: &Caller, user_id: &str) -> Result<()> {
    let (identity, user_id, now) = (caller.identify(tidings), user_id.to_owned(), tidings.now());
    tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Members)?;
        let member = account::find(tx, &user_id)?.ok_or(Outcome::NotFound)?;
        if member.blacklisted {
            return Ok(());
        }
        account::require_another_administrator(tx, &member)?;
        blacklist_since(tx, &admin, member, Some(now))
    })
}

/// Removes a member from the blacklist. The member has to sign in again. Nothing changes for a member who is not
/// blacklisted.
///
/// # Errors
/// `bad token`, `Not admin`; `Not found` if no member has this id.
pub fn pop_blacklist(tidings: &Tidings, caller: &Caller, user_id: &str) -> Result<()> {
    let (identity, user_id) = (caller.identify(tidings), user_id.to_owned());
    tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Members)?;
        let member = account::find(tx, &user_id)?.ok_or(Outcome::NotFound)?;
        if !member.blacklisted {
            return Ok(());
        }
        // A sign-in that was in progress when the member was blacklisted may have issued a token afterwards.
        blacklist_since(tx, &admin, member, None)
    })
}

/// Sets or clears the date of a member's blacklisting, and revokes their tokens.
fn blacklist_since(
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
    use crate::id::MemberKey;
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
mod tests {
    use super::*;
    use crate::profile;
    use crate::testing::{NOW, Service, service};

    /// Returns the `result` text of a refused call.
    fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().to_string()
    }

    fn admins(service: &Service) -> Vec<(String, Timestamp)> {
        list(service, &Caller::Operator).unwrap().admins.into_iter().map(|a| (a.user_id, a.date)).collect()
    }

    fn blacklisted(service: &Service) -> Vec<(String, Timestamp)> {
        let list = blacklist(service, &Caller::Operator).unwrap().blacklist;
        list.into_iter().map(|b| (b.user_id, b.date)).collect()
    }

    #[test]
    fn a_grant_makes_an_administrator_and_a_revocation_ends_it() {
        let service = service();
        let (ann, ben) = (service.member("Ann"), service.member("ben"));
        assert_eq!(refusal(check(&service, &ann)), "Not admin");
        grant(&service, &Caller::Operator, "ann").unwrap();
        service.clock().advance(1_000);
        grant(&service, &Caller::Operator, "ANN").unwrap();
        grant(&service, &Caller::Operator, "ben").unwrap();
        check(&service, &ann).unwrap();
        assert_eq!(admins(&service), [("Ann".into(), NOW), ("ben".into(), NOW + 1_000)]);

        revoke(&service, &Caller::Operator, "Ann").unwrap();
        revoke(&service, &Caller::Operator, "Ann").unwrap();
        assert_eq!(refusal(check(&service, &ann)), "Not admin");
        check(&service, &ben).unwrap();
        assert_eq!(admins(&service), [("ben".into(), NOW + 1_000)]);
        for id in ["nobody", "", "guest", "removed", "b\0en"] {
            assert_eq!(refusal(grant(&service, &Caller::Operator, id)), "Not found", "{id:?}");
            assert_eq!(refusal(revoke(&service, &Caller::Operator, id)), "Not found", "{id:?}");
        }
    }

    #[test]
    fn an_administrator_who_signs_up_has_the_rights_but_no_session() {
        let service = service();
        let (id, pw) = ("ann".to_owned(), "correct horse".to_owned());
        let form = SignUp { id, pw_check: pw.clone(), pw, nickname: "Ann".into() };
        assert_eq!(refusal(sign_up(&service, &Caller::Guest, &form)), "Not admin");
        sign_up(&service, &Caller::Operator, &form).unwrap();
        assert_eq!(admins(&service), [("ann".into(), NOW)]);
        let count = |tx: &mut dyn Tx| tx.one("SELECT count(*) FROM session", &[])?.take::<i64>(0);
        assert_eq!(service.store().read(count).unwrap(), 0);
        assert_eq!(refusal(sign_up(&service, &Caller::Operator, &form)), "already id");
        let common = SignUp { id: "ben".into(), pw: "password".into(), pw_check: "password".into(), ..form };
        assert_eq!(refusal(sign_up(&service, &Caller::Operator, &common)), "wrong user info");
    }

    #[test]
    fn administrators_are_listed_by_date_then_id_with_their_nicknames() {
        let service = service();
        for id in ["cid", "Ben", "ann"] {
            service.member(id);
        }
        profile::change_nickname(&service, &Caller::Member("ann".into()), "Annie").unwrap();
        for id in ["cid", "ann", "Ben"] {
            grant(&service, &Caller::Operator, id).unwrap();
        }
        let names: Vec<_> =
            list(&service, &Caller::Operator).unwrap().admins.into_iter().map(|a| a.nickname).collect();
        assert_eq!(names, ["Annie", "Ben", "cid"]);
        let json = serde_json::to_string(&list(&service, &Caller::Operator).unwrap()).unwrap();
        let first = r#"{"admins":[{"user_id":"ann","nickname":"Annie","date":"2026-11-20T08:36:00.000Z"},"#;
        assert!(json.starts_with(first), "{json}");
    }

    #[test]
    fn only_administrators_remove_and_blacklist_members() {
        let service = service();
        let (ann, _) = (service.member("ann"), service.member("ben"));
        grant(&service, &Caller::Operator, "ben").unwrap();
        for caller in [&Caller::Guest, &Caller::token("forged"), &Caller::Member("gone".into())] {
            assert_eq!(refusal(check(&service, caller)), "Not admin", "{caller:?}");
            assert_eq!(refusal(remove_user(&service, caller, "ben")), "Not admin", "{caller:?}");
            assert_eq!(refusal(blacklist(&service, caller)), "bad token", "{caller:?}");
            assert_eq!(refusal(push_blacklist(&service, caller, "ben")), "bad token", "{caller:?}");
            assert_eq!(refusal(pop_blacklist(&service, caller, "ben")), "bad token", "{caller:?}");
        }
        // The answer does not reveal which ids exist.
        for id in ["ben", "nobody"] {
            assert!(matches!(remove_user(&service, &ann, id), Err(Error::Documented(Outcome::NotAdmin, _))));
            assert!(matches!(push_blacklist(&service, &ann, id), Err(Error::Forbidden)));
            assert!(matches!(pop_blacklist(&service, &ann, id), Err(Error::Forbidden)));
        }
        assert!(matches!(blacklist(&service, &ann), Err(Error::Forbidden)));
        assert_eq!(admins(&service), [("ben".into(), NOW)]);
        assert_eq!(blacklisted(&service), []);
    }

    #[test]
    fn an_administrator_removes_a_member_whose_token_then_fails() {
        let service = service();
        let (ann, ben) = (service.admin("ann"), service.member("Ben"));
        remove_user(&service, &ann, "bEN").unwrap();
        assert_eq!(refusal(profile::user_info(&service, &ben).map(|_| ())), "not found");
        let again = remove_user(&service, &ann, "ben");
        assert!(matches!(again, Err(Error::Documented(Outcome::NotFound, _))));
        // A new member with the same id is a different member.
        let new = service.member("ben");
        profile::user_info(&service, &new).unwrap();
        assert_eq!(refusal(profile::user_info(&service, &ben).map(|_| ())), "not found");
    }

    #[test]
    fn no_operation_removes_the_last_administrator_who_can_sign_in() {
        let service = service();
        let (ann, _) = (service.admin("ann"), service.admin("ben"));
        push_blacklist(&service, &ann, "ben").unwrap();
        for refused in [
            revoke(&service, &Caller::Operator, "ann"),
            remove_user(&service, &ann, "ann"),
            push_blacklist(&service, &ann, "ann"),
            profile::remove_mine(&service, &ann),
        ] {
            assert!(matches!(refused, Err(Error::LastAdministrator)));
        }
        check(&service, &ann).unwrap();
        assert_eq!(blacklisted(&service), [("ben".into(), NOW)]);
        // A blacklisted administrator does not count, so their rights can be revoked.
        revoke(&service, &Caller::Operator, "ben").unwrap();
        pop_blacklist(&service, &ann, "ben").unwrap();
        grant(&service, &Caller::Operator, "ben").unwrap();
        revoke(&service, &Caller::Operator, "ann").unwrap();
        assert_eq!(admins(&service), [("ben".into(), NOW)]);
    }

    #[test]
    fn blacklisting_revokes_tokens_that_stay_revoked_afterwards() {
        let service = service();
        let (ann, ben) = (service.admin("ann"), service.member("Ben"));
        push_blacklist(&service, &ann, "ben").unwrap();
        service.clock().advance(1_000);
        push_blacklist(&service, &ann, "Ben").unwrap();
        assert_eq!(blacklisted(&service), [("Ben".into(), NOW)]);
        let sign_in = || account::sign_in(&service, "ben", "password of Ben", None);
        assert_eq!(refusal(sign_in().map(|_| ())), "blacklist user");
        assert_eq!(refusal(profile::user_info(&service, &ben).map(|_| ())), "not found");

        pop_blacklist(&service, &ann, "ben").unwrap();
        assert_eq!(blacklisted(&service), []);
        assert_eq!(refusal(profile::user_info(&service, &ben).map(|_| ())), "not found");
        let token = Caller::token(sign_in().unwrap().access_token);
        pop_blacklist(&service, &ann, "ben").unwrap();
        profile::user_info(&service, &token).unwrap();
        for id in ["nobody", "guest", ""] {
            let unknown = [push_blacklist(&service, &ann, id), pop_blacklist(&service, &ann, id)];
            for refused in unknown {
                assert!(matches!(refused, Err(Error::Documented(Outcome::NotFound, _))), "{id:?}");
            }
        }
    }

    #[test]
    fn the_blacklist_is_newest_first() {
        let service = service();
        let ann = service.admin("ann");
        for (id, later) in [("ben", 0), ("dot", 5), ("cid", 0)] {
            service.member(id);
            service.clock().advance(later);
            push_blacklist(&service, &ann, id).unwrap();
        }
        assert_eq!(
            blacklisted(&service),
            [("cid".into(), NOW + 5), ("dot".into(), NOW + 5), ("ben".into(), NOW)]
        );
    }
}
