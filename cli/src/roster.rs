//! `tidings roster`: the members of the university.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use tidings_core::account::RosterPage;
use tidings_core::member::ListRoster;
use tidings_core::roster_import::ImportRoster;

use crate::failure::Failure;
use crate::imported::{self, Strictness};
use crate::output::{Column, Table, stream_pages};
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Roster {
    /// Import the roster: CSV with the header id,name,major,password
    #[command(after_help = "Example: tidings roster import members.csv")]
    Import {
        /// The file, or - for standard input
        file: PathBuf,
        #[command(flatten)]
        strictness: Strictness,
    },
    /// List the members on the roster by id
    #[command(after_help = "Example: tidings roster list --ndjson")]
    List,
}

/// The number of entries read at a time.
const PAGE: i64 = 1_000;

pub(crate) fn run(session: &Session, command: &Roster) -> Result<ExitCode, Failure> {
    match command {
        Roster::Import { file, strictness } => {
            imported::run(session, ("members", file), *strictness, ImportRoster {})
        }
        Roster::List => list(session),
    }
}

fn list(session: &Session) -> Result<ExitCode, Failure> {
    let page = |after: Option<String>| {
        let RosterPage { roster, next } = session.service.call(ListRoster { limit: Some(PAGE), after })?;
        Ok::<_, Failure>((roster, next))
    };
    if session.out.streams() {
        return stream_pages(None, None, |after, _| page(after));
    }
    let (mut roster, mut next) = page(None)?;
    while next.is_some() {
        let (members, after) = page(next)?;
        roster.extend(members);
        next = after;
    }
    session.out.answer(&BTreeMap::from([("roster", &roster)]), |page| {
        let columns = [Column::whole("ID"), Column::text("Name"), Column::text("Major").optional()];
        let mut table = Table::new(columns);
        for member in &roster {
            table.row([member.id.clone(), member.name.clone(), member.major.clone()]);
        }
        page.table(&table, "The roster is empty: tidings roster import FILE.csv");
    })
}
