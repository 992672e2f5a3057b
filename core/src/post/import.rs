//! Many posts at once, from a file or another system.

use std::io::BufRead;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::draft::TITLE_MISSING;
use super::keep::{self, New, Rest};
use super::terms::Terms;
use crate::Tidings;
use crate::account::{Caller, Identity};
use crate::answer::LineError;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::id::ObjectId;
use crate::store::{Pending, Tx};

mod line;
mod records;

use line::Line;
use records::{Record, Records};

/// The most bytes of a line, or of an element of an array.
pub const LINE_MAX: usize = 1 << 20;
/// The most lines that a report names; of those beyond it says how many there are.
pub const ERRORS_MAX: usize = 1_000;

/// The most posts that are written together, and the most bytes of text: what bounds the memory of an import.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 512 << 10;
/// How long an import writes before others who wait to write have their turn. The index and the disk come on
/// top of it, with about as much again.
const BATCH_TIME: Duration = Duration::from_millis(15);

/// What an import did.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportReport {
    /// Posts that were new.
    pub inserted: u64,
    /// Posts that changed.
    pub updated: u64,
    /// Posts that were the same already.
    pub skipped: u64,
    /// Lines that were left out, the first 1,000 of them, in order; when there are more, a last entry says how
    /// many.
    pub errors: Vec<LineError>,
}

/// Imports posts: one JSON object a line (NDJSON), or one JSON array of them, which the first byte tells.
///
/// The fields are those of [`Draft`](super::Draft), and of a post that is exported: `_id`, `view` and `fav_cnt`,
/// which a new post takes over. Others are ignored. `topic` and `tag` may also be one text with commas. `null`
/// stands for an empty text, an empty list, no end.
///
/// The url tells which post a line is: one that is there is updated with the fields that the line gives, and
/// keeps its id, its views and its likes; one that is the same already is not written. A line that breaks a rule
/// is reported and stops no other. Views and likes that are taken over have no dates, so they count, but do not
/// make a post popular.
///
/// The input is read as a stream. What is written is written in batches that let others write in between, so an
/// import that ends early leaves what came before; doing it again does no harm. `progress` is told how many
/// records were dealt with, batch by batch.
///
/// # Errors
/// `bad token`, `Not admin`; [`Error::Input`] when the input cannot be read to its end; `overloaded`.
pub fn import(
    tidings: &Tidings,
    caller: &Caller,
    input: impl BufRead,
    progress: &mut dyn FnMut(u64),
) -> Result<ImportReport> {
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| identity.admin(tx).map(drop))?;
    let mut import = Import::new(tidings, identity, progress);
    let read = import.read(input);
    // What was read is written, however the reading ended.
    let report = import.finish()?;
    read.map(|()| report)
}

/// An import on its way: while one batch is written, the next gathers.
struct Import<'t> {
    tidings: &'t Tidings,
    identity: Identity,
    progress: &'t mut dyn FnMut(u64),
    report: Report,
    batch: Vec<Line>,
    bytes: usize,
    written: Option<Pending<Written>>,
    done: u64,
}

impl<'t> Import<'t> {
    fn new(tidings: &'t Tidings, identity: Identity, progress: &'t mut dyn FnMut(u64)) -> Self {
        let (report, batch) = (Report::default(), Vec::new());
        Self { tidings, identity, progress, report, batch, bytes: 0, written: None, done: 0 }
    }

    fn read(&mut self, input: impl BufRead) -> Result<()> {
        let mut records = Records::new(input).map_err(Error::Input)?;
        let mut text = Vec::new();
        while let Some((number, record)) = records.next(&mut text).map_err(Error::Input)? {
            self.take(number, record, &text)?;
        }
        Ok(())
    }

    fn take(&mut self, number: u64, record: Record, text: &[u8]) -> Result<()> {
        let line = match record {
            Record::Text => Line::parse(number, text),
            Record::Broken(reason) => Err(reason.to_owned()),
        };
        match line {
            Ok(line) => {
                self.batch.push(line);
                self.bytes += text.len();
            }
            Err(reason) => {
                self.report.refuse(LineError { line: number, reason });
                self.done += 1;
            }
        }
        if self.batch.len() >= BATCH || self.bytes >= BATCH_BYTES { self.write_batch() } else { Ok(()) }
    }

    /// Hands over what has gathered, once the batch before it is written.
    fn write_batch(&mut self) -> Result<()> {
        self.settle()?;
        let batch = std::mem::take(&mut self.batch);
        self.bytes = 0;
        self.submit(batch);
        Ok(())
    }

    fn submit(&mut self, batch: Vec<Line>) {
        let (identity, clock) = (self.identity.clone(), self.tidings.clock().clone());
        self.written = Some(self.tidings.store().submit(move |tx| write(tx, &identity, &clock, batch)));
    }

    /// Waits until the batch that was handed over is written, all of it.
    fn settle(&mut self) -> Result<()> {
        while let Some(written) = self.written.take() {
            let Written { inserted, updated, skipped, errors, left } = written.wait()?;
            self.report.counted.inserted += inserted;
            self.report.counted.updated += updated;
            self.report.counted.skipped += skipped;
            self.done += inserted + updated + skipped + errors.len() as u64;
            for error in errors {
                self.report.refuse(error);
            }
            (self.progress)(self.done);
            // Before any other batch, or two lines with one url could change places.
            if !left.is_empty() {
                self.submit(left);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ImportReport> {
        self.write_batch()?;
        self.settle()?;
        Ok(self.report.finish())
    }
}

/// The report as it grows.
#[derive(Default)]
struct Report {
    counted: ImportReport,
    /// The number of lines that were left out and are not named, and the last of them.
    unnamed: u64,
    last: u64,
}

impl Report {
    fn refuse(&mut self, error: LineError) {
        if self.counted.errors.len() < ERRORS_MAX {
            self.counted.errors.push(error);
        } else {
            self.unnamed += 1;
            self.last = self.last.max(error.line);
        }
    }

    fn finish(mut self) -> ImportReport {
        // What the rules refuse is known before what the store does.
        self.counted.errors.sort_by_key(|error| error.line);
        if self.unnamed > 0 {
            let reason = format!("{} more lines, up to this one, were left out", self.unnamed);
            self.counted.errors.push(LineError { line: self.last, reason });
        }
        self.counted
    }
}

/// What a batch did.
#[derive(Default)]
struct Written {
    inserted: u64,
    updated: u64,
    skipped: u64,
    errors: Vec<LineError>,
    /// What its time did not suffice for.
    left: Vec<Line>,
}

fn write(tx: &mut dyn Tx, identity: &Identity, clock: &Clock, batch: Vec<Line>) -> Result<Written> {
    identity.admin(tx)?;
    let began = Instant::now();
    let (mut written, mut rest) = (Written::default(), Rest::default());
    let mut lines = batch.into_iter();
    for line in lines.by_ref() {
        write_line(tx, clock, line, &mut written, &mut rest)?;
        if began.elapsed() > BATCH_TIME {
            break;
        }
    }
    written.left = lines.collect();
    if written.inserted + written.updated > 0 {
        rest.write(tx)?;
    }
    Ok(written)
}

fn write_line(
    tx: &mut dyn Tx,
    clock: &Clock,
    line: Line,
    written: &mut Written,
    rest: &mut Rest,
) -> Result<()> {
    let Line { number, url, change, terms, id, view, fav } = line;
    if let Some(old) = keep::by_url(tx, &url)? {
        let new = change.onto(&old.content);
        if new == old.content {
            written.skipped += 1;
        } else {
            keep::update(tx, &old, &new, terms, rest)?;
            written.updated += 1;
        }
        return Ok(());
    }
    let refused = match &id {
        _ if change.title.is_none() => Some(TITLE_MISSING),
        Some(id) if keep::has_id(tx, id)? => Some("another post has this _id: leave it out for a new one"),
        _ => None,
    };
    if let Some(reason) = refused {
        written.errors.push(LineError { line: number, reason: reason.to_owned() });
        return Ok(());
    }
    let content = change.into_new(clock.now())?;
    let id = id.unwrap_or_else(|| ObjectId::new(clock).to_string());
    let terms = terms.unwrap_or_else(|| Terms::of(&content.title, &content.post));
    keep::insert(tx, New { id: &id, content: &content, terms, view, fav }, rest)?;
    written.inserted += 1;
    Ok(())
}

#[cfg(test)]
mod tests;
