//! `tidings post`: posts.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal as _, Read};
use std::path::Path;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use tidings_core::account::Caller;
use tidings_core::answer::LineError;
use tidings_core::{Tidings, post};

use crate::args::{Global, Post};
use crate::output::{self, Failure};

pub(crate) fn run(tidings: &Tidings, global: &Global, command: &Post) -> Result<ExitCode, Failure> {
    match command {
        Post::Import { file } => import(tidings, global, file),
    }
}

fn import(tidings: &Tidings, global: &Global, file: &Path) -> Result<ExitCode, Failure> {
    let progress = progress();
    let report =
        post::import(tidings, &Caller::Operator, open(file)?, &mut |posts| progress.set_position(posts))?;
    progress.finish_and_clear();
    report_errors(global, &report.errors);
    let text = summary(report.inserted, report.updated, report.skipped, report.errors.len());
    Ok(output::success(global.json, &report, &text))
}

/// A count of posts while somebody is looking.
fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {human_pos} posts, {per_sec}");
    ProgressBar::new_spinner().with_style(style.expect("the template is well-formed"))
}

/// Opens a file, or standard input for `-`.
pub(crate) fn open(file: &Path) -> Result<Box<dyn BufRead>, Failure> {
    let input: Box<dyn Read> = if file.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        let opened = File::open(file);
        Box::new(opened.map_err(|e| Failure::system(format!("cannot read {}: {e}", file.display())))?)
    };
    Ok(Box::new(BufReader::with_capacity(1 << 18, input)))
}

/// What an import did, for people.
pub(crate) fn summary(inserted: u64, updated: u64, skipped: u64, left_out: usize) -> String {
    format!("{inserted} inserted, {updated} updated, {skipped} already the same, {left_out} left out")
}

/// Says on standard error which lines were left out; `--json` has them in its object.
pub(crate) fn report_errors(global: &Global, errors: &[LineError]) {
    if !global.json {
        for LineError { line, reason } in errors {
            eprintln!("line {line}: {reason}");
        }
    }
}
