//! The data of any member, for administrators and API keys. Changes are in the audit trail.

use super::{Lists, NewNickname, TYPE_RULE, UserInfo, Wanted, reset, set_auto_login, sql, with_likes};
use crate::Tidings;
use crate::account::{Admin, Caller, Member, find};
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::store::{Isolation, StoreError, Tx};
use crate::trail::{Action, Entry};

/// Returns the data of a member, as [`super::user_info`] returns the caller's.
///
/// # Errors
/// `bad token`, `Not admin`; `Not found` if no member has this id.
pub fn user_info_of(tidings: &Tidings, caller: &Caller, user_id: &str) -> Result<UserInfo> {
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| {
        let admin = identity.admin(tx, Scope::MembersRead)?;
        let member = of_member(tx, &admin, user_id)?;
        let found = sql::user_infos(tx, std::iter::once(&member))?.pop();
        let (info, has_likes) = found.ok_or_else(|| StoreError::other("a member has no row"))?;
        with_likes(tx, &member, info, has_likes)
    })
}

/// Returns the lists of a member, as [`super::lists`] returns the caller's.
///
/// # Errors
/// `bad token`, `Not admin`; `bad request` if `type_num` is not 0 to 4; `Not found` if no member has this id.
pub fn lists_of(tidings: &Tidings, caller: &Caller, user_id: &str, type_num: &str) -> Result<Lists> {
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| {
        let admin = identity.admin(tx, Scope::MembersRead)?;
        let wanted = Wanted::parse(type_num).ok_or(Error::BadRequest(TYPE_RULE))?;
        let member = of_member(tx, &admin, user_id)?;
        wanted.read(tx, &member)
    })
}

/// Changes a member's nickname, as [`super::change_nickname`] changes the caller's.
///
/// # Errors
/// `bad token`, `Not admin`; `Not found` if no member has this id; `rewrite_nickname` if the nickname breaks its rule.
pub fn change_nickname_of(tidings: &Tidings, caller: &Caller, user_id: &str, nickname: &str) -> Result<()> {
    let nickname = NewNickname::parse(tidings, nickname);
    // The audit trail does not have nicknames: they are names of people.
    let entry = Entry::new(Action::MemberNickname);
    change(tidings, caller, user_id, entry, move |tx, member| nickname.set(tx, member))
}

/// Sets whether the app signs a member in automatically, as [`super::update_auto_login`] does for the caller.
///
/// # Errors
/// `bad token`, `Not admin`; `Not found` if no member has this id; `bad request` if the number is neither 0 nor 1.
pub fn update_auto_login_of(
    tidings: &Tidings,
    caller: &Caller,
    user_id: &str,
    auto_login: i64,
) -> Result<()> {
    let entry = Entry::new(Action::MemberAutoLogin).after(if auto_login == 1 { "1" } else { "0" });
    change(tidings, caller, user_id, entry, move |tx, member| set_auto_login(tx, member, auto_login))
}

/// Restarts the measurement of a member's interest, as [`super::reset_measurement`] does for the caller.
///
/// # Errors
/// `bad token`, `Not admin`; `Not found` if no member has this id.
pub fn reset_measurement_of(tidings: &Tidings, caller: &Caller, user_id: &str) -> Result<()> {
    let now = tidings.now();
    change(tidings, caller, user_id, Entry::new(Action::MemberReset), move |tx, member| {
        reset(tx, member, now)
    })
}

/// Changes the data of a member, and records it.
fn change(
    tidings: &Tidings,
    caller: &Caller,
    user_id: &str,
    entry: Entry<'static>,
    change: impl Fn(&mut dyn Tx, &Member<'_>) -> Result<()> + Send + 'static,
) -> Result<()> {
    let (identity, user_id) = (caller.identify(tidings), user_id.to_owned());
    tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx, Scope::Members)?;
        let member = of_member(tx, &admin, &user_id)?;
        change(tx, &member)?;
        Ok(admin.record(tx, entry.on_member(member.key))?)
    })
}

fn of_member<'tx>(tx: &mut dyn Tx, admin: &Admin<'tx>, user_id: &str) -> Result<Member<'tx>> {
    Ok(admin.act_for(find(tx, user_id)?.ok_or(Error::NotFound)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit;
    use crate::profile::{lists, user_info};
    use crate::search;
    use crate::testing::service;

    fn text<T>(result: Result<T>) -> String {
        result.err().map_or_else(|| "success".to_owned(), |error| error.to_string())
    }

    #[test]
    fn administrators_and_keys_read_the_data_of_any_member() {
        let service = service();
        let (ann, boss) = (service.member("Ann"), service.admin("boss"));
        search::log(&service, &ann, None, "library").wait().unwrap();
        let own = user_info(&service, &ann).unwrap();
        let keys = [service.key(Scope::MembersRead), service.key(Scope::Members)];
        for caller in [&boss, &Caller::Operator, &keys[0], &keys[1]] {
            let found = user_info_of(&service, caller, "aNN").unwrap();
            assert_eq!((found.user_id, found.nickname), (own.user_id.clone(), own.nickname.clone()));
            let found = lists_of(&service, caller, "ann", "3").unwrap();
            let own = lists(&service, &ann, "3").unwrap();
            assert_eq!(serde_json::to_string(&found).unwrap(), serde_json::to_string(&own).unwrap());
            assert_eq!(found.search_list.unwrap().len(), 1);
            assert_eq!(text(user_info_of(&service, caller, "nobody")), "Not found");
            assert_eq!(text(lists_of(&service, caller, "nobody", "0")), "Not found");
            assert_eq!(text(lists_of(&service, caller, "ann", "5")), "bad request");
        }
        let weak = service.key(Scope::Posts);
        for (caller, refused) in [(&ann, "Not admin"), (&weak, "Not admin"), (&Caller::Guest, "bad token")] {
            assert_eq!(text(user_info_of(&service, caller, "ann")), refused);
            assert_eq!(text(lists_of(&service, caller, "ann", "5")), refused);
        }
    }

    #[test]
    fn changes_of_a_members_data_are_recorded_and_refused_to_others() {
        let service = service();
        let (ann, _) = (service.member("ann"), service.admin("boss"));
        search::log(&service, &ann, None, "library").wait().unwrap();
        let (reader, writer) = (service.key(Scope::MembersRead), service.key(Scope::Members));
        for (caller, said) in [
            (&ann, "Not admin"),
            (&reader, "Not admin"),
            (&Caller::Guest, "bad token"),
            (&Caller::token("forged"), "bad token"),
            (&writer, "success"),
        ] {
            assert_eq!(text(change_nickname_of(&service, caller, "ann", "Annie")), said, "{caller:?}");
            assert_eq!(text(update_auto_login_of(&service, caller, "ann", 1)), said, "{caller:?}");
            assert_eq!(text(reset_measurement_of(&service, caller, "ann")), said, "{caller:?}");
        }
        let info = user_info(&service, &ann).unwrap();
        assert_eq!((info.nickname.as_str(), info.auto_login), ("Annie", 1));
        assert_eq!(lists(&service, &ann, "3").unwrap().search_list.unwrap().len(), 0);
        assert_eq!(text(change_nickname_of(&service, &writer, "ann", " ")), "rewrite_nickname");
        assert_eq!(text(update_auto_login_of(&service, &writer, "ann", 2)), "bad request");
        assert_eq!(text(reset_measurement_of(&service, &writer, "nobody")), "Not found");
        let query = audit::List { actor: Some("members".into()), ..audit::List::default() };
        let records = audit::list(&service, &Caller::Operator, &query).unwrap().audit;
        let records = records.iter().map(|r| format!("{} {} {}", r.action, r.subject, r.after));
        assert_eq!(
            records.collect::<Vec<_>>(),
            ["member.reset ann ", "member.auto_login ann 1", "member.nickname ann "]
        );
    }
}
