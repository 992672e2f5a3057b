//! `tidings roster`: the university's members.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use tidings_core::account;

use crate::failure::Failure;
use crate::input;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Roster {
    /// Import the roster: CSV with the header id,name,major,password
    #[command(after_help = "Example: tidings roster import members.csv")]
    Import {
        /// The file, or - for standard input
        file: PathBuf,
    },
}

pub(crate) fn run(session: &Session, command: &Roster) -> Result<ExitCode, Failure> {
    session.operator_only()?;
    let Roster::Import { file } = command;
    let report = account::import_roster(&session.tidings, input::open(file)?)?;
    session.out.answer(&report, |page| {
        page.imported(report.inserted, Some(report.updated), report.skipped, &report.errors);
    })
}
