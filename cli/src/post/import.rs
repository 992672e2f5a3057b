//! `tidings post import`: many posts at once.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use tidings_core::post;

use crate::failure::Failure;
use crate::input;
use crate::session::Session;

pub(crate) fn run(session: &Session, file: &Path) -> Result<ExitCode, Failure> {
    let progress = progress();
    let told = &mut |posts| progress.set_position(posts);
    let report = post::import(&session.tidings, &session.caller, input::open(file)?, told)?;
    progress.finish_and_clear();
    session.out.answer(&report, |page| {
        page.imported(report.inserted, Some(report.updated), report.skipped, &report.errors);
    })
}

/// A count of posts while somebody is looking.
fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {human_pos} posts, {per_sec}");
    ProgressBar::new_spinner().with_style(style.expect("the template is well-formed"))
}
