//! `tidings member show` and `lists`: the data of a member.

use std::process::ExitCode;

use tidings_client::shown::number::number;
use tidings_core::member::GetRole;
use tidings_core::profile::PostRecord;

use crate::failure::Failure;
use crate::key;
use crate::output::{Column, Page, Style, Table, dated, local};
use crate::session::{Session, of_member};

pub(super) fn info(session: &Session, id: &str) -> Result<ExitCode, Failure> {
    let info = session.service.user_info(id).map_err(|error| of_member(error, id))?;
    session.out.answer(&info, |page| {
        // The answer has the fields that existing clients know. An earlier server knows no roles.
        let role = session.service.call(GetRole { user_id: info.user_id.clone() });
        let role = role.map(|role| key::scope_names(&role.scopes)).unwrap_or_default();
        let yes = |flag: i64| if flag == 1 { "yes" } else { "no" }.to_owned();
        page.fields(&[
            ("ID", info.user_id.clone()),
            ("Nickname", info.nickname.clone()),
            ("Name", info.user_name.clone()),
            ("Major", info.user_major.clone()),
            ("Administrator", yes(info.admin)),
            ("Role", if role.is_empty() { "none".to_owned() } else { role }),
            ("Auto-login", yes(info.auto_login)),
            ("Likes", number(info.user_fav_list.len().try_into().unwrap_or(i64::MAX))),
        ]);
    })
}

pub(super) fn lists(session: &Session, id: &str, kind: u8) -> Result<ExitCode, Failure> {
    let lists = session.service.lists(id, kind).map_err(|error| of_member(error, id))?;
    session.out.answer(&lists, |page| {
        for (name, list) in [("Likes", &lists.fav_list), ("Views", &lists.view_list)] {
            if let Some(list) = list {
                posts(page, name, list);
            }
        }
        if let Some(list) = &lists.search_list {
            let mut table = Table::new([Column::whole(dated("Date")), Column::text("Search")]);
            for search in list {
                table.row([local(search.date), search.original.clone()]);
            }
            titled(page, "Searches", &table);
        }
        if let Some(list) = &lists.newsfeed_list {
            let mut table = Table::new([Column::whole(dated("Date")), Column::text("Newsfeed")]);
            for access in list {
                table.row([local(access.date), access.newsfeed_name.clone()]);
            }
            titled(page, "Newsfeeds", &table);
        }
    })
}

fn posts(page: &mut Page, name: &str, list: &[PostRecord]) {
    let columns = [Column::whole(dated("Date")), Column::text("Title"), Column::text("Address").optional()];
    let mut table = Table::new(columns);
    for post in list {
        table.row([local(post.date), post.title.clone(), post.url.clone()]);
    }
    titled(page, name, &table);
}

fn titled(page: &mut Page, name: &str, table: &Table) {
    page.styled(Style::Strong, name);
    if table.is_empty() {
        page.styled(Style::Faint, "none");
    } else {
        page.table(table, "");
    }
    page.line("");
}
