use std::io::ErrorKind;

use tidings_client::shown::advice::of_store;
use tidings_core::account::Caller;
use tidings_core::analysis;
use tidings_core::check::Check;
use tidings_core::config::Zone;
use tidings_core::copy::{self, CopyError, Report};
use tidings_core::{Location, StoreError};

use crate::atomic_file;
use crate::database;
use crate::prelude::*;
use crate::progress;
use crate::session::operator;

#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    /// Copy a database to a new one, also between SQLite and PostgreSQL, and verify the copy
    #[command(after_help = "Example: tidings store copy campus.db postgres://tidings@db.example.org/campus")]
    Copy {
        /// The database to copy; servers and commands can use it meanwhile
        #[arg(value_name = "FROM")]
        from: Location,
        /// The new database: a file that does not exist, or an empty database of a PostgreSQL server
        #[arg(value_name = "TO")]
        to: Location,
    },
    /// Show or change the time zone in which days are counted
    #[command(
        after_help = "Once a day is counted, another zone counts from its next midnight on, and the days until then stay as they\n\
                      are. Servers that run learn of it. Set their setting timezone to the new zone too, or remove it.\n\n\
                      Example: tidings store timezone Europe/Berlin"
    )]
    Timezone {
        /// The new zone, such as Asia/Seoul; without it, the zone of the database is shown
        #[arg(value_name = "ZONE")]
        zone: Option<Zone>,
    },
}

pub(crate) fn run(global: &Global, command: &Store) -> Exit {
    match command {
        Store::Copy { from, to } => copy(global, from, to),
        Store::Timezone { zone } => timezone(global, zone.as_ref()),
    }
}

fn timezone(global: &Global, zone: Option<&Zone>) -> Exit {
    operator(global)?;
    let settings = global.settings()?;
    let tidings = database::open_in_own_zone(&global.location(&settings), &settings)?;
    let now = match zone {
        Some(zone) => analysis::set_timezone(&tidings, &Caller::Operator, zone)?,
        None => analysis::timezone(&tidings)?,
    };
    Output::new(global).answer(&now, |page| {
        page.line(format!("Days are counted in the time zone {}.", now.zone));
        if let Some(next) = &now.next {
            page.line(format!("From {} on, days are counted in {}.", next.date, next.zone));
        }
    })
}

fn copy(global: &Global, from: &Location, to: &Location) -> Exit {
    let operator = operator(global)?;
    for database in [from, to].into_iter().filter_map(Location::file) {
        atomic_file::refuse_stdout(database)?;
    }
    let out = Output::new(global);
    let done = progress::of_steps(|show, stop| copy::copy(operator, from, to, show, stop))?;
    let report = done.map_err(|error| explained(&error))?;
    out.answer(&report, |page| show(page, from, to, &report))
}

fn show(page: &mut Page, from: &Location, to: &Location, report: &Report) {
    page.line(format!("{to} is a copy of {from}: {} rows, verified.", number(report.rows)));
    page.line("");
    notes(page, report);
    page.line("A database does not contain the key that signs tokens: copy the key file too, or all members have to sign in");
    page.line("again.");
}

pub(crate) fn notes(page: &mut Page, report: &Report) {
    if report.replaced > 0 {
        let texts = number(report.replaced);
        page.line(format!(
            "PostgreSQL cannot store the character U+0000: it was replaced by U+FFFD in {texts} texts."
        ));
    }
    for Check { name, detail, .. } in &report.failed {
        let name = name.replace('_', " ");
        page.line(format!("As in the source, the {name} are wrong: {detail}: tidings check --repair"));
    }
}

pub(crate) fn explained(error: &CopyError) -> Failure {
    let advice = match error {
        CopyError::Interrupted => return Failure::interrupted("interrupted: there is no new database"),
        CopyError::Same(_) => return Failure::usage(format!("{error}: name another database")),
        CopyError::InUse(_) => return Failure::in_use(format!("{error}: wait until it has ended")),
        CopyError::Missing(_) => "name another database",
        CopyError::Exists(_) => "name a file that does not exist",
        CopyError::Occupied { .. } => "name an empty database, which createdb makes",
        CopyError::Table { .. } => "tidings check says more about the source",
        CopyError::Different { .. } => {
            "stop other programs that write to the new database, check its disk, and copy again"
        }
        CopyError::Damaged { .. } => "check the disk, and tidings check the source; then copy again",
        CopyError::File { cause, .. } => match cause.kind() {
            ErrorKind::NotFound => "make the directory first",
            _ => "check its permissions, and whether the disk is full",
        },
        CopyError::Store { location, cause } => return store_failed(location, cause),
    };
    Failure::system(format!("{error}: {advice}"))
}

fn store_failed(location: &Location, cause: &StoreError) -> Failure {
    let advice = match cause {
        StoreError::Full => "the disk is full: make room, and copy again".to_owned(),
        StoreError::Disconnected(_) => format!("{cause}: copy again when the server answers"),
        StoreError::Other(_) if location.file().is_some() => {
            format!("{cause}: check whether the disk is full or broken")
        }
        StoreError::Foreign => "the file is not a tidings database: name another one".to_owned(),
        cause => of_store(cause),
    };
    Failure::system(format!("{location}: {advice}"))
}
