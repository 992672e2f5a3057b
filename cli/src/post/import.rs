//! `tidings post import`: many posts at once.

use std::path::Path;
use std::process::ExitCode;

use tidings_core::post;

use crate::failure::Failure;
use crate::input;
use crate::progress::Watch;
use crate::session::Session;

pub(crate) fn run(session: &Session, file: &Path) -> Result<ExitCode, Failure> {
    let watch = Watch::start("posts");
    let told = &mut |done| watch.told(done);
    let report = post::import(&session.tidings, &session.caller, input::open(file)?, told)?;
    watch.answer(&session.out, &report, |page| {
        page.imported(report.inserted, Some(report.updated), report.skipped, &report.errors);
    })
}
