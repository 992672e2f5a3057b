//! Administrators and the blacklist.
//!
//! An administrator is a member with a flag, granted and revoked by whoever may read the database file,
//! never over HTTP. A blacklisted member cannot sign in and acts no more. Nothing here leaves a service
//! without an administrator who can sign in.

use serde::Serialize;

use crate::Tidings;
use crate::account::{self, Admin, Caller, MemberRecord, Operator, SignUp};
use crate::clock::Timestamp;
use crate::error::{Error, Outcome, Result};
use crate::store::Tx;

/// Says whether the caller is an administrator.
///
/// # Errors
/// `Not admin` when they are not.
pub fn check(tidings: &Tidings, caller: &Caller) -> Result<()> {
    let identity = caller.identify(tidings);
    let read = tidings.store().read(|tx| identity.admin(tx).map(|_| ()));
    read.map_err(|e| e.unless_authorised(Outcome::NotAdmin))
}

/// Removes a member's account, with its lists and its interest, as if they had done it themselves.
///
/// # Errors
/// `Not admin`; `Not found` when there is no such member; `last administrator` when nobody would be left to
/// administer.
pub fn remove_user(tidings: &Tidings, caller: &Caller, user_id: &str) -> Result<()> {
    let (identity, user_id) = (caller.identify(tidings), user_id.to_owned());
    let written = tidings.store().write(move |tx| {
        let admin = identity.admin(tx)?;
        let member = account::find(tx, &user_id)?.ok_or(Outcome::NotFound)?;
        account::remove(tx, &admin.act_for(member))
    });
    written.map_err(|e| e.unless_authorised(Outcome::NotAdmin))
}

/// Registers a member as an administrator, whose password is not one of the 10,000 most common.
///
/// # Errors
/// `Not admin` unless the caller is the operator; as [`account::sign_up`].
pub fn sign_up(tidings: &Tidings, caller: &Caller, form: &SignUp) -> Result<()> {
    let operator = caller.operator()?;
    account::register(tidings, form, None, true)?;
    grant_to(tidings, operator, &form.id)
}

/// Makes a member an administrator; one who is already stays so and keeps their date.
///
/// # Errors
/// `Not admin` unless the caller is the operator; `Not found` when there is no such member.
pub fn grant(tidings: &Tidings, caller: &Caller, id: &str) -> Result<()> {
    grant_to(tidings, caller.operator()?, id)
}

fn grant_to(tidings: &Tidings, operator: Operator, id: &str) -> Result<()> {
    let (id, now) = (id.to_owned(), tidings.now());
    tidings.store().write(move |tx| {
        let member = account::find(tx, &id)?.ok_or(Error::NotFound)?;
        Ok(sql::grant(tx, operator, member.key, now)?)
    })
}

/// Makes an administrator a member like the others; one who is none stays so.
///
/// # Errors
/// `Not admin` unless the caller is the operator; `Not found` when there is no such member; `last administrator` when
/// nobody would be left to administer.
pub fn revoke(tidings: &Tidings, caller: &Caller, id: &str) -> Result<()> {
    let (operator, id) = (caller.operator()?, id.to_owned());
    tidings.store().write(move |tx| {
        let member = account::find(tx, &id)?.ok_or(Error::NotFound)?;
        account::keep_an_administrator(tx, &member)?;
        Ok(sql::revoke(tx, operator, member.key)?)
    })
}

/// The administrators.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Admins {
    /// Who was granted first stands first; of the same moment, by id.
    pub admins: Vec<Administrator>,
}

/// A member who administers.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Administrator {
    /// The id as registered.
    pub user_id: String,
    /// The nickname.
    pub nickname: String,
    /// Since when they administer.
    pub date: Timestamp,
}

/// Who administers, blacklisted ones too.
///
/// # Errors
/// `Not admin` unless the caller is the operator.
pub fn list(tidings: &Tidings, caller: &Caller) -> Result<Admins> {
    let operator = caller.operator()?;
    tidings.store().read(|tx| Ok(Admins { admins: sql::list(tx, operator)? }))
}

/// The members who may not sign in.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Blacklist {
    /// Who was blacklisted last stands first; of the same moment, by id.
    pub blacklist: Vec<Blacklisted>,
}

/// A member who may not sign in.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Blacklisted {
    /// The id as registered.
    pub user_id: String,
    /// Since when.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub date: Timestamp,
}

/// Who may not sign in.
///
/// # Errors
/// `bad token`, `Not admin`.
pub fn blacklist(tidings: &Tidings, caller: &Caller) -> Result<Blacklist> {
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| {
        let admin = identity.admin(tx)?;
        Ok(Blacklist { blacklist: sql::blacklist(tx, &admin)? })
    })
}

/// Blacklists a member: every token they have ends, also for when they are let back. One who is blacklisted
/// already stays so and keeps their date.
///
/// # Errors
/// `bad token`, `Not admin`; `Not found` when there is no such member; `last administrator` when nobody would
/// be left to administer.
pub fn push_blacklist(tidings: &Tidings, caller: &Caller, user_id: &str) -> Result<()> {
    let (identity, user_id, now) = (caller.identify(tidings), user_id.to_owned(), tidings.now());
    tidings.store().write(move |tx| {
        let admin = identity.admin(tx)?;
        let member = account::find(tx, &user_id)?.ok_or(Outcome::NotFound)?;
        if member.blacklisted {
            return Ok(());
        }
        account::keep_an_administrator(tx, &member)?;
        blacklist_since(tx, &admin, member, Some(now))
    })
}

/// Lets a blacklisted member back, who has to sign in again; one who is not blacklisted stays signed in.
///
/// # Errors
/// `bad token`, `Not admin`; `Not found` when there is no such member.
pub fn pop_blacklist(tidings: &Tidings, caller: &Caller, user_id: &str) -> Result<()> {
    let (identity, user_id) = (caller.identify(tidings), user_id.to_owned());
    tidings.store().write(move |tx| {
        let admin = identity.admin(tx)?;
        let member = account::find(tx, &user_id)?.ok_or(Outcome::NotFound)?;
        if !member.blacklisted {
            return Ok(());
        }
        // A sign-in that was under way when the member was blacklisted may have made a token since.
        blacklist_since(tx, &admin, member, None)
    })
}

/// Blacklists a member or lets them back, and ends their tokens.
fn blacklist_since(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    member: MemberRecord,
    since: Option<Timestamp>,
) -> Result<()> {
    let key = member.key;
    account::sign_out(tx, &admin.act_for(member))?;
    Ok(sql::set_blacklisted(tx, admin, key, since)?)
}

mod sql {
    use super::{Admin, Administrator, Blacklisted, Operator, Timestamp};
    use crate::id::MemberKey;
    use crate::store::{StoreError, Topic, Tx};

    pub(super) fn grant(
        tx: &mut dyn Tx,
        _: Operator,
        key: MemberKey,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE member SET admin = $2 WHERE key = $1 AND admin IS NULL";
        tx.run(sql, &[key.into(), now.into()])?;
        tx.touch(Topic::Members);
        Ok(())
    }

    pub(super) fn revoke(tx: &mut dyn Tx, _: Operator, key: MemberKey) -> Result<(), StoreError> {
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

    pub(super) fn list(tx: &mut dyn Tx, _: Operator) -> Result<Vec<Administrator>, StoreError> {
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

    /// The result text of what was refused.
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
    fn granting_makes_an_administrator_once_and_revoking_ends_it() {
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
    fn who_is_no_administrator_removes_and_blacklists_nobody() {
        let service = service();
        let (ann, _) = (service.member("ann"), service.member("ben"));
        grant(&service, &Caller::Operator, "ben").unwrap();
        for caller in [&Caller::Nobody, &Caller::token("forged"), &Caller::Member("gone".into())] {
            assert_eq!(refusal(check(&service, caller)), "Not admin", "{caller:?}");
            assert_eq!(refusal(remove_user(&service, caller, "ben")), "Not admin", "{caller:?}");
            assert_eq!(refusal(blacklist(&service, caller)), "bad token", "{caller:?}");
            assert_eq!(refusal(push_blacklist(&service, caller, "ben")), "bad token", "{caller:?}");
            assert_eq!(refusal(pop_blacklist(&service, caller, "ben")), "bad token", "{caller:?}");
        }
        // Nobody learns who is a member either.
        for id in ["ben", "nobody"] {
            assert!(matches!(remove_user(&service, &ann, id), Err(Error::Documented(Outcome::NotAdmin))));
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
        assert!(matches!(again, Err(Error::Documented(Outcome::NotFound))));
        // Who signs up with the id again is somebody else.
        let new = service.member("ben");
        profile::user_info(&service, &new).unwrap();
        assert_eq!(refusal(profile::user_info(&service, &ben).map(|_| ())), "not found");
    }

    #[test]
    fn nothing_takes_the_last_administrator_who_can_sign_in() {
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
        // The blacklisted one counts for nothing and may go.
        revoke(&service, &Caller::Operator, "ben").unwrap();
        pop_blacklist(&service, &ann, "ben").unwrap();
        grant(&service, &Caller::Operator, "ben").unwrap();
        revoke(&service, &Caller::Operator, "ann").unwrap();
        assert_eq!(admins(&service), [("ben".into(), NOW)]);
    }

    #[test]
    fn a_blacklisted_members_tokens_end_and_stay_dead_after_they_are_let_back() {
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
                assert!(matches!(refused, Err(Error::Documented(Outcome::NotFound))), "{id:?}");
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
