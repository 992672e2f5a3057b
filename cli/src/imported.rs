//! The outcome of an import: what is printed, and the exit status.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use tidings_core::answer::LineError;
use tidings_core::import::About;
use tidings_tui::number::number;

use crate::failure::{Failure, REFUSED};
use crate::output::{Output, Page};
use crate::progress::Watch;

/// When an import with bad lines fails.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Strictness {
    /// End with exit status 1 if any line is left out, not only if all are
    #[arg(long)]
    strict: bool,
}

/// The counts of an import, and its refused lines.
pub(crate) struct Imported<'r> {
    pub(crate) inserted: u64,
    /// `None` for an import that never updates.
    pub(crate) updated: Option<u64>,
    pub(crate) skipped: u64,
    pub(crate) errors: &'r [LineError],
    pub(crate) about: &'r About,
}

impl Imported<'_> {
    /// Prints the outcome. An import that took nothing because of errors ends with exit status 1, and with `--strict` any
    /// error is enough.
    ///
    /// # Errors
    /// When the outcome cannot be written.
    pub(crate) fn answer<T: Serialize>(
        &self,
        watch: &Watch,
        out: &Output,
        body: &T,
        Strictness { strict }: Strictness,
    ) -> Result<ExitCode, Failure> {
        let status = watch.answer(out, body, |page| self.describe(page))?;
        let taken = self.inserted + self.updated.unwrap_or_default() + self.skipped;
        let left_out = self.left_out();
        if watch.is_interrupted() || left_out == 0 || (taken > 0 && !strict) {
            return Ok(status);
        }
        let lines = if self.about.are_entries {
            format!("{} of the entries were", number(left_out))
        } else {
            format!("{} of the lines were", number(left_out))
        };
        out.complain(&if taken == 0 {
            format!("nothing was imported: {lines} left out")
        } else {
            format!("--strict: {lines} left out; the others are imported")
        });
        Ok(ExitCode::from(REFUSED))
    }

    /// Returns the number of lines that were left out. A server tells only the errors.
    fn left_out(&self) -> u64 {
        self.about.left_out.max(self.errors.len() as u64)
    }

    /// Adds the counts and, as notes, the refused lines and the unknown columns.
    fn describe(&self, page: &mut Page) {
        let updated = self.updated.map(|updated| format!("{} updated, ", number(updated)));
        let (inserted, updated) = (number(self.inserted), updated.unwrap_or_default());
        let (skipped, left_out) = (number(self.skipped), number(self.left_out()));
        page.line(format!("{inserted} inserted, {updated}{skipped} already the same, {left_out} left out"));
        let what = if self.about.are_entries { "entry" } else { "line" };
        for LineError { line, reason } in self.errors {
            page.note(&format!("{what} {line}: {reason}"));
        }
        for column in &self.about.unknown_columns {
            page.note(&format!("the column {column:?} is not known and is not read"));
        }
    }
}
