use clap::builder::PossibleValuesParser;
use tidings_core::account::key::Scope;
use tidings_core::account::{MEMBERS_MAX, MemberFilter};
use tidings_core::mail::Mail;
use tidings_core::member::{self, GetRole, GetSignIns, SetRole};
use tidings_core::profile::PostRecord;

use crate::key;
use crate::prelude::*;
use crate::session::of_member;

#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only members whose id, nickname or verified name contains this
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    search: Option<String>,
    /// The maximum number, 1 to 1000 [default: 100, with --ndjson all]
    #[arg(long, value_name = "N")]
    limit: Option<i64>,
    /// Only these members
    #[arg(long, value_name = "STATE", value_parser = PossibleValuesParser::new(MemberFilter::ALL.map(MemberFilter::as_str)))]
    only: Option<String>,
    /// Only members after this id
    #[arg(long, value_name = "ID", add = ids(Kind::Member))]
    after: Option<String>,
}

pub(super) fn list(Session { service, out }: &Session, filter: &Filter) -> Exit {
    let Filter { search, limit, only, after } = filter;
    let list = |after, limit| {
        service.call(member::List { search: search.clone(), limit, after, only: only.clone() })
    };
    if out.streams() {
        return stream_pages(*limit, after.clone(), |after, left| {
            let page = list(after, Some(left.min(MEMBERS_MAX)))?;
            Ok((page.members, page.next))
        });
    }
    let found = list(after.clone(), *limit)?;
    out.answer(&found, |page| {
        let table = Table::of(&found.members)
            .whole("ID", |member| member.user_id.clone())
            .text("Nickname", |member| member.nickname.clone())
            .whole("Is", |member| {
                let is = [(member.admin, "admin"), (member.blacklisted, "blacklisted")];
                let is = is.into_iter().filter(|(is, _)| *is == 1).map(|(_, is)| is);
                is.collect::<Vec<_>>().join(", ")
            })
            .optional_text("Role", |member| key::scope_names(&member.scopes))
            .optional_whole(dated("Signed up"), |member| local(member.date))
            .optional_text("Name", |member| {
                Some(&member.user_name).filter(|name| **name != member.nickname).cloned().unwrap_or_default()
            })
            .optional_text("Major", |member| member.user_major.clone())
            .styled(|member| if member.blacklisted == 1 { Style::Faint } else { Style::Plain });
        page.table(&table, "There are no such members.");
        if let Some(next) = &found.next {
            page.note(&format!("There are more: --after {next}"));
        }
    })
}

pub(super) fn info(Session { service, out }: &Session, id: &str) -> Exit {
    let info = service.user_info(id).map_err(|error| of_member(error, id))?;
    out.answer(&info, |page| {
        // The answer has the fields that existing clients know. An earlier server knows no roles.
        let role = service.call(GetRole { user_id: info.user_id.clone() });
        let role = role.map(|role| key::scope_names(&role.scopes)).unwrap_or_default();
        let yes = |flag: i64| if flag == 1 { "yes" } else { "no" }.to_owned();
        let mut fields = vec![
            ("ID", info.user_id.clone()),
            ("Nickname", info.nickname.clone()),
            ("Name", info.user_name.clone()),
            ("Major", info.user_major.clone()),
            ("Administrator", yes(info.admin)),
            ("Role", if role.is_empty() { "none".to_owned() } else { role }),
            ("Auto-login", yes(info.auto_login)),
            ("Likes", number(info.user_fav_list.len())),
        ];
        // For administrators, and not of an earlier server.
        if let Ok(sign_ins) = service.call(GetSignIns { user_id: info.user_id.clone() }) {
            fields.extend([
                ("E-mail", if sign_ins.email == 1 { "confirmed" } else { "none" }.to_owned()),
                ("Second factor", yes(sign_ins.otp.into())),
                ("Passkeys", number(sign_ins.passkeys)),
                ("Single sign-on", yes(sign_ins.oidc.into())),
            ]);
            fields.extend(sign_ins.mail.map(|mail| ("Unsent mail", unsent(&mail))));
        }
        page.fields(&fields);
    })
}

fn unsent(mail: &Mail) -> String {
    let error = mail.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
    format!("{} of {}{error}", mail.kind, local(mail.date))
}

pub(super) fn lists(Session { service, out }: &Session, id: &str, kind: u8) -> Exit {
    let lists = service.lists(id, kind).map_err(|error| of_member(error, id))?;
    out.answer(&lists, |page| {
        for (name, list) in [("Likes", &lists.fav_list), ("Views", &lists.view_list)] {
            titled(page, name, list.as_deref(), |table: Table<'_, PostRecord>| {
                table
                    .whole(dated("Date"), |post| local(post.date))
                    .text("Title", |post| post.title.clone())
                    .optional_text("Address", |post| post.url.clone())
            });
        }
        titled(page, "Searches", lists.search_list.as_deref(), |table| {
            table
                .whole(dated("Date"), |search| local(search.date))
                .text("Search", |search| search.original.clone())
        });
        titled(page, "Newsfeeds", lists.newsfeed_list.as_deref(), |table| {
            table
                .whole(dated("Date"), |access| local(access.date))
                .text("Newsfeed", |access| access.newsfeed_name.clone())
        });
    })
}

fn titled<T>(
    page: &mut Page,
    name: &str,
    list: Option<&[T]>,
    columns: impl FnOnce(Table<'_, T>) -> Table<'_, T>,
) {
    let Some(list) = list else { return };
    let table = columns(Table::of(list));
    page.styled(Style::Strong, name);
    if list.is_empty() {
        page.styled(Style::Faint, "none");
    } else {
        page.table(&table, "");
    }
    page.line("");
}

#[derive(Debug, Args)]
pub(crate) struct Role {
    #[command(flatten)]
    member: MemberId,
    /// What the member may do from now on: one or more scopes; without any, the role is shown
    #[arg(value_name = "SCOPE", value_delimiter = ',', value_parser = key::scope, add = ids(Kind::Scope))]
    scopes: Vec<Scope>,
    /// Remove the role
    #[arg(long, conflicts_with = "scopes")]
    none: bool,
}

pub(super) fn role(session: &Session, Role { member: MemberId { id }, scopes, none }: &Role) -> Exit {
    if scopes.is_empty() && !none {
        let role = session.call_on("member", id, GetRole { user_id: id.clone() })?;
        return session.out.answer(&role, |page| {
            page.line(match role.scopes.as_slice() {
                [] => format!("{id} has no role."),
                scopes => format!("{id} may: {}.", key::scope_names(scopes)),
            });
        });
    }
    let set = SetRole { user_id: id.clone(), scopes: scopes.iter().map(ToString::to_string).collect() };
    let done = match scopes.as_slice() {
        [] => format!("{id} has no role any more."),
        scopes => format!("{id} may from now on: {}.", key::scope_names(scopes)),
    };
    session.change("member", id, set, done)
}
