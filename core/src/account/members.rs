//! Administrators' operations on members: listing them, acting as or for a member, and setting a member's password.

use serde::{Deserialize, Serialize};

use super::password::{Purpose, Turn};
use super::{Caller, check_new_password, find, fold, revoke_tokens};
use crate::Tidings;
use crate::clock::Timestamp;
use crate::error::{Error, Outcome, Problem, Result};
use crate::scope::Scope;
use crate::store::Isolation;
use crate::trail::{Action, Entry};

/// The maximum number of members on a page of the list.
pub const MEMBERS_MAX: i64 = 1_000;
/// The default number of members on a page of the list.
const MEMBERS: i64 = 100;

impl Caller {
    /// Returns the caller that acts as the member `id`, with exactly that member's rights. The program that embeds the
    /// service decides who may do this; in the command line it is the operator.
    ///
    /// # Errors
    /// `Not found` if no member has this id; `blacklist user` if the member is blacklisted.
    pub fn acting_as(tidings: &Tidings, id: &str) -> Result<Self> {
        tidings.store().read(|tx| match find(tx, id)? {
            None => Err(Error::NotFound),
            Some(member) if member.blacklisted => Err(Outcome::BlacklistUser.into()),
            Some(member) => Ok(Self::Member(member.id)),
        })
    }

    /// Resolves the caller of an operation on the account of the member `id`. The operator may act on any account,
    /// including a blacklisted member's; a member only on their own.
    ///
    /// # Errors
    /// `Not found` if the operator names an unknown member; `Not admin` if a member names another account; `bad token` for
    /// every other caller.
    pub fn on_behalf_of(&self, tidings: &Tidings, id: &str) -> Result<Self> {
        let identity = self.identify(tidings);
        tidings.store().read(|tx| {
            let acting = if identity.is_operator() { None } else { Some(identity.member(tx)?.key) };
            let member = find(tx, id)?;
            if acting.is_some() && acting != member.as_ref().map(|member| member.key) {
                return Err(Error::Forbidden);
            }
            Ok(Self::Member(member.ok_or(Error::NotFound)?.id))
        })
    }
}

/// The input of [`list`].
#[derive(Clone, Debug, Default)]
pub struct MemberQuery {
    /// A text that the id, the nickname or the verified name contains, ignoring the case of ASCII letters; `None`
    /// lists all members.
    pub search: Option<String>,
    /// The maximum number of members, 1 to 1,000; 100 by default.
    pub limit: Option<i64>,
    /// The `next` of the previous page; `None` for the first page.
    pub after: Option<String>,
    /// The members that are listed; `None` lists all members.
    pub only: Option<MemberFilter>,
}

/// The members that [`list`] is restricted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberFilter {
    /// Administrators, including blacklisted ones.
    Admins,
    /// Blacklisted members.
    Blacklisted,
}

impl MemberFilter {
    /// Returns its text in a request.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admins => "admins",
            Self::Blacklisted => "blacklisted",
        }
    }

    /// Reads its text in a request.
    ///
    /// # Errors
    /// `bad request` for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        const RULE: Problem = Problem::invalid("only", "only is admins or blacklisted");
        let found = [Self::Admins, Self::Blacklisted].into_iter().find(|only| only.as_str() == text);
        found.ok_or(Error::BadRequest(RULE))
    }
}

/// A page of members.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Members {
    /// The members, by id.
    pub members: Vec<MemberEntry>,
    /// The `after` of the next page; `null` on the last page.
    pub next: Option<String>,
}

/// A member in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberEntry {
    /// The id as registered.
    pub user_id: String,
    /// The nickname.
    pub nickname: String,
    /// The name that the university verified; the nickname of a member who never verified.
    pub user_name: String,
    /// The subject that the university verified, or `""`.
    pub user_major: String,
    /// Whether the member is an administrator: 0 or 1.
    pub admin: i64,
    /// Whether the member is blacklisted: 0 or 1.
    pub blacklisted: i64,
    /// The date when the member signed up.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub date: Timestamp,
}

/// Returns a page of members. A member who signs up between two pages is on a later page if their id is after the last
/// listed id.
///
/// A page is read along the index of ids; a search also reads the members that it skips.
///
/// # Errors
/// `bad token`, `Not admin`; `bad request` if the limit is out of bounds.
pub fn list(tidings: &Tidings, caller: &Caller, query: &MemberQuery) -> Result<Members> {
    let identity = caller.identify(tidings);
    let limit = query.limit.unwrap_or(MEMBERS);
    let after = query.after.as_deref().map(fold).unwrap_or_default();
    tidings.store().read(|tx| {
        let admin = identity.admin(tx, Scope::MembersRead)?;
        if !(1..=MEMBERS_MAX).contains(&limit) {
            return Err(Error::BadRequest(Problem::invalid("limit", "limit is 1 to 1,000")));
        }
        // One more than the page has, to detect whether another page follows.
        let mut members = sql::list(tx, &admin, query, &after, limit + 1)?;
        let shown = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = members.len() > shown;
        members.truncate(shown);
        let next = members.last().filter(|_| more).map(|member| member.user_id.clone());
        Ok(Members { members, next })
    })
}

/// Sets a member's password without checking the old one, and revokes every token of the member.
///
/// # Errors
/// `bad token`, `Not admin`, also for an API key, which could otherwise become an administrator; `Not found` if no member has this id; `wrong user info` if the
/// password breaks its rule; `overloaded` if too many passwords wait to be hashed.
pub fn set_password(tidings: &Tidings, caller: &Caller, id: &str, pw: &str) -> Result<()> {
    let identity = caller.identify(tidings);
    // Checked before hashing, which is slow.
    let member = tidings.store().read(|tx| {
        let _admin = identity.administrator(tx)?;
        find(tx, id)?.ok_or(Error::NotFound)
    })?;
    check_new_password(tidings.config(), "pw", pw, member.admin)?;
    let password = tidings.hasher().hash(Turn::new(Purpose::Administration, None), pw)?;
    tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.administrator(tx)?;
        if !sql::set_password(tx, &admin, member.key, &password)? {
            return Err(Error::NotFound);
        }
        revoke_tokens(tx, member.key)?;
        Ok(admin.record(tx, Entry::new(Action::MemberPassword).on_member(member.key))?)
    })
}

mod sql {
    use super::{MemberEntry, MemberFilter, MemberQuery, fold};
    use crate::account::Admin;
    use crate::id::MemberKey;
    use crate::store::{Row, StoreError, Tx};

    pub(super) fn list(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        MemberQuery { search, only, .. }: &MemberQuery,
        after: &str,
        limit: i64,
    ) -> Result<Vec<MemberEntry>, StoreError> {
        let columns =
            "SELECT id, nickname, name, major, admin IS NOT NULL, blacklisted IS NOT NULL, date FROM member";
        let only = match only {
            None => "",
            Some(MemberFilter::Admins) => "admin IS NOT NULL AND",
            Some(MemberFilter::Blacklisted) => "blacklisted IS NOT NULL AND",
        };
        let rows = match search {
            None => {
                let sql = format!("{columns} WHERE {only} folded > $1 ORDER BY folded LIMIT $2");
                tx.rows(&sql, &[after.into(), limit.into()])?
            }
            Some(search) => {
                let sql = format!(
                    "{columns} WHERE {only} folded > $1 AND (folded LIKE $3 ESCAPE '!' OR lower(nickname) LIKE $3 ESCAPE '!'
                     OR lower(name) LIKE $3 ESCAPE '!') ORDER BY folded LIMIT $2"
                );
                tx.rows(&sql, &[after.into(), limit.into(), (&pattern(search)).into()])?
            }
        };
        let member = |mut row: Row| {
            let (user_id, nickname, name): (_, String, Option<String>) =
                (row.take(0)?, row.take(1)?, row.take(2)?);
            Ok(MemberEntry {
                user_id,
                user_name: name.unwrap_or_else(|| nickname.clone()),
                nickname,
                user_major: row.take::<Option<String>>(3)?.unwrap_or_default(),
                admin: row.take(4)?,
                blacklisted: row.take(5)?,
                date: row.take(6)?,
            })
        };
        rows.into_iter().map(member).collect()
    }

    /// Returns the LIKE pattern for values that contain `text`.
    fn pattern(text: &str) -> String {
        let text = fold(&tidings_text::compose(text));
        format!("%{}%", text.replace('!', "!!").replace('%', "!%").replace('_', "!_"))
    }

    /// Sets the password hash; returns false if the member has been removed.
    pub(super) fn set_password(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        key: MemberKey,
        password: &str,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE member SET password = $2 WHERE key = $1";
        Ok(tx.run(sql, &[key.into(), password.into()])? > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::testing::{NOW, Service, service, service_with};
    use crate::{account, admin, profile};

    fn ids(service: &Service, query: &MemberQuery) -> (Vec<String>, Option<String>) {
        let Members { members, next } = list(service, &Caller::Operator, query).unwrap();
        (members.into_iter().map(|member| member.user_id).collect(), next)
    }

    fn text<T>(result: Result<T>) -> String {
        result.err().map_or_else(|| "success".to_owned(), |error| error.to_string())
    }

    #[test]
    fn members_are_listed_by_id_in_consecutive_pages() {
        let service = service();
        for id in ["Ben", "ann", "dot", "Cid", "eve"] {
            service.member(id);
        }
        let mut query = MemberQuery { limit: Some(2), ..MemberQuery::default() };
        assert_eq!(ids(&service, &query), (vec!["ann".into(), "Ben".into()], Some("Ben".into())));
        query.after = Some("Ben".into());
        assert_eq!(ids(&service, &query), (vec!["Cid".into(), "dot".into()], Some("dot".into())));
        // Members who are removed or sign up between two pages do not shift the others.
        admin::remove_user(&service, &Caller::Operator, "dot").unwrap();
        service.member("dotty");
        query.after = Some("dot".into());
        assert_eq!(ids(&service, &query), (vec!["dotty".into(), "eve".into()], None));
        query.after = Some("zed".into());
        assert_eq!(ids(&service, &query), (vec![], None));
        for limit in [0, -1, 1_001] {
            query.limit = Some(limit);
            assert_eq!(text(list(&service, &Caller::Operator, &query)), "bad request", "{limit}");
        }
    }

    #[test]
    fn only_administrators_or_blacklisted_members_are_listed_on_request() {
        let service = service();
        for id in ["ann", "ben", "cid", "dot"] {
            service.member(id);
        }
        for id in ["ann", "cid"] {
            admin::grant(&service, &Caller::Operator, id).unwrap();
        }
        for id in ["cid", "dot"] {
            admin::push_blacklist(&service, &Caller::Operator, id).unwrap();
        }
        let listed = |only: &str, search: Option<&str>, limit| {
            let only = Some(MemberFilter::parse(only).unwrap());
            let search = search.map(str::to_owned);
            ids(&service, &MemberQuery { search, limit, only, after: None })
        };
        assert_eq!(listed("admins", None, None), (vec!["ann".into(), "cid".into()], None));
        assert_eq!(listed("admins", None, Some(1)), (vec!["ann".into()], Some("ann".into())));
        assert_eq!(listed("blacklisted", None, None), (vec!["cid".into(), "dot".into()], None));
        assert_eq!(listed("blacklisted", Some("OT"), None), (vec!["dot".into()], None));
        assert_eq!(text(MemberFilter::parse("Admins")), "bad request");
    }

    #[test]
    fn a_search_covers_ids_and_names_and_takes_wildcards_literally() {
        let service = service();
        for id in ["Ann_B", "annxb", "cid"] {
            service.member(id);
        }
        let cid = Caller::Member("cid".into());
        profile::change_nickname(&service, &cid, "100% 홍길동").unwrap();
        let found = |text: &str| {
            let query = MemberQuery { search: Some(text.into()), ..MemberQuery::default() };
            ids(&service, &query).0
        };
        assert_eq!(found("NN"), ["Ann_B", "annxb"]);
        assert_eq!(found("n_b"), ["Ann_B"]);
        assert_eq!(found("0%"), ["cid"]);
        assert_eq!(found("길동"), ["cid"]);
        assert!(found("!").is_empty() && found("nobody").is_empty());
        assert_eq!(found("").len(), 3);
    }

    #[test]
    fn the_list_marks_administrators_and_blacklisted_members() {
        let service = service();
        service.admin("ann");
        service.member("ben");
        admin::push_blacklist(&service, &Caller::Operator, "ben").unwrap();
        let members = list(&service, &Caller::Operator, &MemberQuery::default()).unwrap().members;
        let flags: Vec<_> = members.iter().map(|m| (m.admin, m.blacklisted, m.date)).collect();
        assert_eq!(flags, [(1, 0, NOW), (0, 1, NOW)]);
        assert_eq!((members[0].user_name.as_str(), members[0].user_major.as_str()), ("ann", ""));
    }

    #[test]
    fn an_operator_acts_as_any_member_who_is_not_blacklisted() {
        let service = service();
        service.member("Ann");
        let ann = Caller::acting_as(&service, "aNN").unwrap();
        assert_eq!(profile::user_info(&service, &ann).unwrap().user_id, "Ann");
        assert_eq!(text(admin::check(&service, &ann)), "Not admin");
        assert_eq!(text(Caller::acting_as(&service, "nobody")), "Not found");
        admin::push_blacklist(&service, &Caller::Operator, "ann").unwrap();
        assert_eq!(text(Caller::acting_as(&service, "ann")), "blacklist user");
    }

    #[test]
    fn an_operator_acts_on_any_account_and_a_member_only_on_their_own() {
        let service = service();
        let (ann, ben) = (service.admin("ann"), service.member("ben"));
        admin::push_blacklist(&service, &Caller::Operator, "ben").unwrap();
        let operators = Caller::Operator.on_behalf_of(&service, "BEN").unwrap();
        assert_eq!(profile::user_info(&service, &operators).unwrap().user_id, "ben");
        assert_eq!(text(Caller::Operator.on_behalf_of(&service, "nobody")), "Not found");
        assert_eq!(text(ann.on_behalf_of(&service, "Ann")), "success");
        for other in ["ben", "nobody"] {
            assert_eq!(text(ann.on_behalf_of(&service, other)), "Not admin", "{other}");
        }
        for caller in [&ben, &Caller::Guest, &Caller::Member("gone".into())] {
            assert_eq!(text(caller.on_behalf_of(&service, "ben")), "bad token", "{caller:?}");
        }
    }

    #[test]
    fn common_passwords_are_refused_for_administrators_and_by_setting_for_others() {
        let change = |service: &Service, caller: &Caller, pw: &str| {
            let (old, new) = (String::from("a new horse"), String::from(pw));
            let form = account::NewPassword { pw: old, new_pw: new.clone(), new_pw_check: new };
            text(account::change_pw(service, caller, &form, None))
        };
        let config = |refuse_common_passwords| Config { refuse_common_passwords, ..Config::default() };
        for refused in [false, true] {
            let service = service_with(config(refused));
            let members = if refused { "wrong user info" } else { "success" };
            for (id, said) in [("ann", members), ("boss", "wrong user info")] {
                let caller = if id == "boss" { service.admin(id) } else { service.member(id) };
                assert_eq!(text(set_password(&service, &Caller::Operator, id, "Password1")), said, "{id}");
                assert_eq!(text(set_password(&service, &Caller::Operator, id, "a new horse")), "success");
                assert_eq!(change(&service, &caller, "iloveyou"), "bad token");
                let token = account::sign_in(&service, id, "a new horse", None).unwrap().access_token;
                assert_eq!(change(&service, &Caller::token(token), "iloveyou"), said, "{id}");
            }
            let pw = String::from("password1");
            let form = account::SignUp { id: "cid".into(), pw_check: pw.clone(), pw, nickname: "c".into() };
            assert_eq!(text(admin::sign_up(&service, &Caller::Operator, &form)), "wrong user info");
            assert_eq!(text(account::sign_up(&service, &form)), members);
        }
    }

    #[test]
    fn setting_a_password_revokes_tokens_and_the_old_password() {
        let service = service();
        let ann = service.member("ann");
        assert_eq!(text(set_password(&service, &Caller::Operator, "ann", "short")), "wrong user info");
        assert_eq!(text(set_password(&service, &Caller::Operator, "nobody", "a new password")), "Not found");
        profile::user_info(&service, &ann).unwrap();
        set_password(&service, &Caller::Operator, "ANN", "a new password").unwrap();
        assert_eq!(text(profile::user_info(&service, &ann)), "not found");
        let sign_in = |pw: &str| text(account::sign_in(&service, "ann", pw, None));
        assert_eq!(
            (sign_in("password of ann"), sign_in("a new password")),
            ("incorrect pw".into(), "success".into())
        );
    }
}
