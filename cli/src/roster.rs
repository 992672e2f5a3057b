//! `tidings roster`: the university's members.

use std::process::ExitCode;

use tidings_core::{Tidings, account};

use crate::args::{Global, Roster};
use crate::output::{self, Failure};
use crate::post::{open, report_errors, summary};

pub(crate) fn run(tidings: &Tidings, global: &Global, command: &Roster) -> Result<ExitCode, Failure> {
    let Roster::Import { file } = command;
    let report = account::import_roster(tidings, open(file)?)?;
    report_errors(global, &report.errors);
    let text = summary(report.inserted, report.updated, report.skipped, report.errors.len());
    Ok(output::success(global.json, &report, &text))
}
