//! `tidings member list`: the members, page by page.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use tidings_core::account::{MEMBERS_MAX, MemberFilter};
use tidings_core::member;

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::key;
use crate::output::{Column, Style, Table, dated, local, stream_pages};
use crate::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only members whose id, nickname or verified name contains this
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    search: Option<String>,
    /// The maximum number, 1 to 1000 [default: 100, with --ndjson all]
    #[arg(long, value_name = "N")]
    limit: Option<i64>,
    /// Only these members
    #[arg(long, value_name = "STATE", value_parser = filters())]
    only: Option<String>,
    /// Only members after this id
    #[arg(long, value_name = "ID", add = ids(Kind::Member))]
    after: Option<String>,
}

fn filters() -> PossibleValuesParser {
    PossibleValuesParser::new(MemberFilter::ALL.map(MemberFilter::as_str))
}

pub(super) fn run(session: &Session, options: &Options) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    let Options { search, limit, only, after } = options;
    let list = |after, limit| {
        service.call(member::List { search: search.clone(), limit, after, only: only.clone() })
    };
    if out.streams() {
        return stream_pages(*limit, after.clone(), |after, left| {
            let page = list(after, Some(left.min(MEMBERS_MAX)))?;
            Ok((page.members, page.next))
        });
    }
    let members = list(after.clone(), *limit)?;
    out.answer(&members, |page| {
        let columns = [
            Column::whole("ID"),
            Column::text("Nickname"),
            Column::whole("Is"),
            Column::text("Role").optional(),
            Column::whole(dated("Signed up")).optional(),
            Column::text("Name").optional(),
            Column::text("Major").optional(),
        ];
        let mut table = Table::new(columns);
        for member in &members.members {
            let (is, style) = match (member.admin, member.blacklisted) {
                (1, 1) => ("admin, blacklisted", Style::Faint),
                (_, 1) => ("blacklisted", Style::Faint),
                (1, _) => ("admin", Style::Plain),
                _ => ("", Style::Plain),
            };
            let name = if member.user_name == member.nickname { "" } else { &member.user_name };
            let cells = [
                member.user_id.clone(),
                member.nickname.clone(),
                is.to_owned(),
                key::scope_names(&member.scopes),
                local(member.date),
                name.to_owned(),
                member.user_major.clone(),
            ];
            table.styled_row(style, cells);
        }
        page.table(&table, "There are no such members.");
        if let Some(next) = &members.next {
            page.note(&format!("There are more: --after {next}"));
        }
    })
}
