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
use crate::config::Config;
use crate::error::{Error, Outcome, Result};
use crate::id::MemberKey;
use crate::operation::{Access, Failure, Operation, Spec, Work};
use crate::scope::Scope;
use crate::store::{Isolation, Tx};
use crate::trail::{Action, Entry};

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
        let identity = caller.identify(tidings);
        let read = tidings.store().read(|tx| identity.administrator(tx).map(|_| ()));
        read.map_err(|e| e.unless_authorised(Outcome::NotAdmin))
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

/// Makes a member an administrator; idempotent
///
/// Only a person does this: an API key cannot.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Grant {
    /// The id of the member
    pub user_id: String,
}

impl Operation for Grant {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/grant_admin/{user_id}", Access::Persons).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        let (identity, now) = (caller.identify(tidings), tidings.now());
        tidings.store().write(Isolation::Alone, move |tx| {
            let admin = identity.administrator(tx)?;
            let member = account::find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
            if member.admin {
                return Ok(());
            }
            grant_to(tx, &admin, member.key, now)
        })
    }
}

fn grant_to(tx: &mut dyn Tx, admin: &Admin<'_>, member: MemberKey, now: Timestamp) -> Result<()> {
    sql::grant(tx, admin, member, now)?;
    Ok(admin.record(tx, Entry::new(Action::AdminGrant).on_member(member))?)
}

/// Revokes a member's administrator rights; idempotent
///
/// Only a person does this: an API key cannot.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Revoke {
    /// The id of the member
    pub user_id: String,
}

impl Operation for Revoke {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/revoke_admin/{user_id}", Access::Persons)
        .writes()
        .or(&[Failure::Missing, Failure::LastAdministrator]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        let identity = caller.identify(tidings);
        tidings.store().write(Isolation::Alone, move |tx| {
            let admin = identity.administrator(tx)?;
            let member = account::find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
            if !member.admin {
                return Ok(());
            }
            account::require_another_administrator(tx, &member)?;
            sql::revoke(tx, &admin, member.key)?;
            Ok(admin.record(tx, Entry::new(Action::AdminRevoke).on_member(member.key))?)
        })
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
    pub user_id: String,
    /// The nickname.
    pub nickname: String,
    /// The date when the member became an administrator.
    #[schema(value_type = String)]
    pub date: Timestamp,
}

/// Lists the administrators by the date of the grant
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {}

impl Operation for List {
    type Answer = Admins;
    const SPEC: Spec = Spec::get(GROUP, "/get_admins", READERS);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Admins> {
        let identity = caller.identify(tidings);
        tidings.store().read(|tx| {
            let admin = identity.admin(tx, Scope::MembersRead)?;
            Ok(Admins { admins: sql::list(tx, &admin)? })
        })
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
    pub user_id: String,
    /// The date when the member was blacklisted.
    #[schema(value_type = String)]
    pub date: Timestamp,
}

/// Lists the members who may not sign in
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetBlacklist {}

impl Operation for GetBlacklist {
    type Answer = Blacklist;
    const SPEC: Spec = Spec::get(GROUP, "/get_blacklist", READERS);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Blacklist> {
        let identity = caller.identify(tidings);
        tidings.store().read(|tx| {
            let admin = identity.admin(tx, Scope::MembersRead)?;
            Ok(Blacklist { blacklist: sql::blacklist(tx, &admin)? })
        })
    }
}

/// Adds a member to the blacklist: the member cannot sign in, and all their tokens are revoked
///
/// `result` is `success`, or `Not found` for an unknown member.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PushBlacklist {
    /// The id of the member
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
        let (identity, now) = (caller.identify(tidings), tidings.now());
        tidings.store().write(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx, Scope::Members)?;
            let member = account::find(tx, &self.user_id)?.ok_or(Outcome::NotFound)?;
            if member.blacklisted {
                return Ok(());
            }
            account::require_another_administrator(tx, &member)?;
            blacklist_since(tx, &admin, member, Some(now))
        })
    }
}

/// Removes a member from the blacklist: the member can sign in again
///
/// `result` is `success`, or `Not found` for an unknown member.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PopBlacklist {
    /// The id of the member
    pub user_id: String,
}

impl Operation for PopBlacklist {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/pop_blacklist/{user_id}", ADMINS).writes();

    fn refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::NotFound.into()]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        let identity = caller.identify(tidings);
        tidings.store().write(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx, Scope::Members)?;
            let member = account::find(tx, &self.user_id)?.ok_or(Outcome::NotFound)?;
            if !member.blacklisted {
                return Ok(());
            }
            // A sign-in that was in progress when the member was blacklisted may have issued a token afterwards.
            blacklist_since(tx, &admin, member, None)
        })
    }
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
    use crate::testing::{self, NOW, Service, service};
    use crate::{member, profile};

    /// Returns the `result` text of a refused call.
    fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().to_string()
    }

    fn admins(service: &Service) -> Vec<(String, Timestamp)> {
        service
            .call(&Caller::Operator, List {})
            .unwrap()
            .admins
            .into_iter()
            .map(|a| (a.user_id, a.date))
            .collect()
    }

    fn blacklisted(service: &Service) -> Vec<(String, Timestamp)> {
        let list = service.call(&Caller::Operator, GetBlacklist {}).unwrap().blacklist;
        list.into_iter().map(|b| (b.user_id, b.date)).collect()
    }

    #[test]
    fn a_grant_makes_an_administrator_and_a_revocation_ends_it() {
        let service = service();
        let (ann, ben) = (service.member("Ann"), service.member("ben"));
        assert_eq!(refusal(service.call(&ann, Check {})), "Not admin");
        service.call(&Caller::Operator, Grant { user_id: "ann".into() }).unwrap();
        service.clock().advance(1_000);
        service.call(&Caller::Operator, Grant { user_id: "ANN".into() }).unwrap();
        service.call(&Caller::Operator, Grant { user_id: "ben".into() }).unwrap();
        service.call(&ann, Check {}).unwrap();
        assert_eq!(admins(&service), [("Ann".into(), NOW), ("ben".into(), NOW + 1_000)]);

        service.call(&Caller::Operator, Revoke { user_id: "Ann".into() }).unwrap();
        service.call(&Caller::Operator, Revoke { user_id: "Ann".into() }).unwrap();
        assert_eq!(refusal(service.call(&ann, Check {})), "Not admin");
        service.call(&ben, Check {}).unwrap();
        assert_eq!(admins(&service), [("ben".into(), NOW + 1_000)]);
        for id in ["nobody", "", "guest", "removed", "b\0en"] {
            assert_eq!(
                refusal(service.call(&Caller::Operator, Grant { user_id: id.into() })),
                "Not found",
                "{id:?}"
            );
            assert_eq!(
                refusal(service.call(&Caller::Operator, Revoke { user_id: id.into() })),
                "Not found",
                "{id:?}"
            );
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
        service
            .call(&Caller::Member("ann".into()), profile::ChangeNickname { new_nickname: "Annie".into() })
            .unwrap();
        for id in ["cid", "ann", "Ben"] {
            service.call(&Caller::Operator, Grant { user_id: id.into() }).unwrap();
        }
        let names: Vec<_> = service
            .call(&Caller::Operator, List {})
            .unwrap()
            .admins
            .into_iter()
            .map(|a| a.nickname)
            .collect();
        assert_eq!(names, ["Annie", "Ben", "cid"]);
        let json = serde_json::to_string(&service.call(&Caller::Operator, List {}).unwrap()).unwrap();
        let first = r#"{"admins":[{"user_id":"ann","nickname":"Annie","date":"2026-11-20T08:36:00.000Z"},"#;
        assert!(json.starts_with(first), "{json}");
    }

    #[test]
    fn only_administrators_remove_and_blacklist_members() {
        let service = service();
        let (ann, _) = (service.member("ann"), service.member("ben"));
        service.call(&Caller::Operator, Grant { user_id: "ben".into() }).unwrap();
        for caller in [&Caller::Guest, &Caller::token("forged"), &Caller::Member("gone".into())] {
            assert_eq!(refusal(service.call(caller, Check {})), "Not admin", "{caller:?}");
            assert_eq!(
                refusal(service.call(caller, member::Remove { user_id: "ben".into() })),
                "Not admin",
                "{caller:?}"
            );
            assert_eq!(refusal(service.call(caller, GetBlacklist {})), "bad token", "{caller:?}");
            assert_eq!(
                refusal(service.call(caller, PushBlacklist { user_id: "ben".into() })),
                "bad token",
                "{caller:?}"
            );
            assert_eq!(
                refusal(service.call(caller, PopBlacklist { user_id: "ben".into() })),
                "bad token",
                "{caller:?}"
            );
        }
        // The answer does not reveal which ids exist.
        for id in ["ben", "nobody"] {
            assert!(matches!(
                service.call(&ann, member::Remove { user_id: id.into() }),
                Err(Error::Documented(Outcome::NotAdmin, _))
            ));
            assert!(matches!(
                service.call(&ann, PushBlacklist { user_id: id.into() }),
                Err(Error::Forbidden)
            ));
            assert!(matches!(service.call(&ann, PopBlacklist { user_id: id.into() }), Err(Error::Forbidden)));
        }
        assert!(matches!(service.call(&ann, GetBlacklist {}), Err(Error::Forbidden)));
        assert_eq!(admins(&service), [("ben".into(), NOW)]);
        assert_eq!(blacklisted(&service), []);
    }

    #[test]
    fn an_administrator_removes_a_member_whose_token_then_fails() {
        let service = service();
        let (ann, ben) = (service.admin("ann"), service.member("Ben"));
        service.call(&ann, member::Remove { user_id: "bEN".into() }).unwrap();
        assert_eq!(refusal(service.call(&ben, profile::Get {}).map(|_| ())), "not found");
        let again = service.call(&ann, member::Remove { user_id: "ben".into() });
        assert!(matches!(again, Err(Error::Documented(Outcome::NotFound, _))));
        // A new member with the same id is a different member.
        let new = service.member("ben");
        service.call(&new, profile::Get {}).unwrap();
        assert_eq!(refusal(service.call(&ben, profile::Get {}).map(|_| ())), "not found");
    }

    #[test]
    fn no_operation_removes_the_last_administrator_who_can_sign_in() {
        let service = service();
        let (ann, _) = (service.admin("ann"), service.admin("ben"));
        service.call(&ann, PushBlacklist { user_id: "ben".into() }).unwrap();
        for refused in [
            service.call(&Caller::Operator, Revoke { user_id: "ann".into() }),
            service.call(&ann, member::Remove { user_id: "ann".into() }),
            service.call(&ann, PushBlacklist { user_id: "ann".into() }),
            service.call(&ann, profile::Remove {}),
        ] {
            assert!(matches!(refused, Err(Error::LastAdministrator)));
        }
        service.call(&ann, Check {}).unwrap();
        assert_eq!(blacklisted(&service), [("ben".into(), NOW)]);
        // A blacklisted administrator does not count, so their rights can be revoked.
        service.call(&Caller::Operator, Revoke { user_id: "ben".into() }).unwrap();
        service.call(&ann, PopBlacklist { user_id: "ben".into() }).unwrap();
        service.call(&Caller::Operator, Grant { user_id: "ben".into() }).unwrap();
        service.call(&Caller::Operator, Revoke { user_id: "ann".into() }).unwrap();
        assert_eq!(admins(&service), [("ben".into(), NOW)]);
    }

    #[test]
    fn blacklisting_revokes_tokens_that_stay_revoked_afterwards() {
        let service = service();
        let (ann, ben) = (service.admin("ann"), service.member("Ben"));
        service.call(&ann, PushBlacklist { user_id: "ben".into() }).unwrap();
        service.clock().advance(1_000);
        service.call(&ann, PushBlacklist { user_id: "Ben".into() }).unwrap();
        assert_eq!(blacklisted(&service), [("Ben".into(), NOW)]);
        let sign_in = || testing::sign_in(&service, "ben", "password of Ben", None);
        assert_eq!(refusal(sign_in().map(|_| ())), "blacklist user");
        assert_eq!(refusal(service.call(&ben, profile::Get {}).map(|_| ())), "not found");

        service.call(&ann, PopBlacklist { user_id: "ben".into() }).unwrap();
        assert_eq!(blacklisted(&service), []);
        assert_eq!(refusal(service.call(&ben, profile::Get {}).map(|_| ())), "not found");
        let token = Caller::token(sign_in().unwrap().access_token);
        service.call(&ann, PopBlacklist { user_id: "ben".into() }).unwrap();
        service.call(&token, profile::Get {}).unwrap();
        for id in ["nobody", "guest", ""] {
            let unknown = [
                service.call(&ann, PushBlacklist { user_id: id.into() }),
                service.call(&ann, PopBlacklist { user_id: id.into() }),
            ];
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
            service.call(&ann, PushBlacklist { user_id: id.into() }).unwrap();
        }
        assert_eq!(
            blacklisted(&service),
            [("cid".into(), NOW + 5), ("dot".into(), NOW + 5), ("ben".into(), NOW)]
        );
    }
}
