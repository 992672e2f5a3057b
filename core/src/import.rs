//! The common part of all imports: reads records one after another, writes them in batches, and reports the result.
//!
//! Each kind of import implements `Kind`, which parses records and writes batches. While one batch is written, the next
//! one is read. Other writes run between batches, so an import that fails or is stopped leaves the batches that it has
//! written, and running it again continues from there.

use std::io::{self, BufRead};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::{Admin, Caller, Identity};
use crate::answer::LineError;
pub use crate::error::Done;
use crate::error::{Error, Pending, Result};
use crate::scope::Scope;
use crate::store::{Isolation, StoreError, Tx};
use crate::trail::{Action, Entry};

pub(crate) mod csv;
mod fields;
mod records;
mod time;

pub(crate) use fields::{FieldKind, LineFields, fields, parse_fields};
use records::{Record, Records};
pub(crate) use time::BatchTime;

/// Maximum size of a line or of an array element, in bytes.
pub const LINE_MAX: usize = 1 << 20;
/// Maximum number of lines that a report lists; it contains only the number of further ones.
pub const ERRORS_MAX: usize = 1_000;

/// Maximum size of a batch in bytes of text, which bounds the memory of an import.
const BATCH_BYTES: usize = 1 << 20;
/// The number of lines of the first batch, and its size in bytes. The following ones grow while their lines fit into
/// their time.
const FIRST_BATCH: usize = 250;
const FIRST_BYTES: usize = 256 << 10;

/// A callback that receives the number of processed records after each batch and returns whether to continue.
pub type Progress<'p> = &'p mut dyn FnMut(u64) -> ControlFlow<()>;

/// A [`Progress`] that ignores the number and never stops the import.
pub fn to_the_end(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The result of an import of records that never change.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MoveReport {
    /// The number of new records.
    pub inserted: u64,
    /// The number of records that already existed.
    pub skipped: u64,
    /// The first 1,000 refused lines, in order; if there are more, a last entry has their number.
    pub errors: Vec<LineError>,
    /// Further information for people.
    #[serde(skip)]
    pub about: About,
}

/// Further information about an import, for people.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The number of refused lines, including those that are not listed.
    pub left_out: u64,
    /// Whether line numbers count the entries of a JSON array or a feed, from 1.
    pub are_entries: bool,
    /// The first ignored columns of a CSV file, as written there.
    pub unknown_columns: Vec<String>,
}

/// A kind of import, which writes its batches.
///
/// The value moves to the writing thread, so it must not contain the service itself.
pub(crate) trait Kind: Send + Sync + 'static {
    /// A valid line.
    type Line: Send + 'static;
    /// Maximum number of lines in a batch.
    const BATCH: usize;
    /// How the audit trail calls the import.
    const ACTION: Action;
    /// What an API key needs for it.
    const SCOPE: Scope;

    /// Returns the lines of a batch in the order in which they are written.
    fn arranged(&self, batch: Vec<Self::Line>) -> Vec<Self::Line> {
        batch
    }

    /// Runs after a batch was submitted, while it is written.
    fn submitted(&self, _: &Tidings) {}

    /// Writes the first lines of an arranged batch on behalf of an administrator, until its time is over. It may run more
    /// than once.
    ///
    /// # Errors
    /// When the store fails.
    fn write(
        &self,
        tx: &mut dyn Tx,
        admin: &Admin<'_>,
        batch: &[Self::Line],
        time: &BatchTime,
    ) -> Result<Written>;
}

/// A record of the input.
pub(crate) struct Item<L> {
    /// The number of its line, from 1; in an array or a feed, of the entry.
    pub(crate) number: u64,
    /// Whether it is an entry of an array or a feed.
    pub(crate) is_entry: bool,
    pub(crate) bytes: usize,
    /// The parsed line, or the fault, for people.
    pub(crate) line: Result<L, String>,
}

/// Returns the records of `input`, which is one JSON object per line or one JSON array; the first byte decides.
pub(crate) fn json<L>(
    input: impl BufRead,
    mut parse: impl FnMut(u64, &[u8]) -> Result<L, String>,
) -> impl Iterator<Item = io::Result<Item<L>>> {
    let (mut input, mut records, mut text) = (Some(input), None, Vec::new());
    std::iter::from_fn(move || {
        if let Some(input) = input.take() {
            match Records::new(input) {
                Ok(found) => records = Some(found),
                Err(error) => return Some(Err(error)),
            }
        }
        let records = records.as_mut()?;
        let (number, record) = match records.next(&mut text).transpose()? {
            Ok(next) => next,
            Err(error) => return Some(Err(error)),
        };
        let line = match record {
            Record::Text => parse(number, &text),
            Record::Broken(reason) => Err(reason.to_owned()),
        };
        Some(Ok(Item { number, is_entry: records.are_elements(), bytes: text.len(), line }))
    })
}

/// The numbers of all and of valid items in an input.
#[cfg(feature = "fuzzing")]
#[derive(Debug, Default)]
pub struct Read {
    /// All items.
    pub items: usize,
    /// Valid items.
    pub good: usize,
}

/// Reads all items and passes the valid ones to `take`.
#[cfg(feature = "fuzzing")]
pub(crate) fn read_all<L>(items: impl Iterator<Item = io::Result<Item<L>>>, mut take: impl FnMut(L)) -> Read {
    let mut read = Read::default();
    for item in items {
        read.items += 1;
        match item.expect("reading from memory does not fail").line {
            Ok(line) => {
                read.good += 1;
                take(line);
            }
            Err(reason) => assert!(!reason.is_empty() && reason.len() < 1_000, "{reason:.2000}"),
        }
    }
    read
}

/// The result of a batch: each line that was written counts once.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) inserted: u64,
    pub(crate) updated: u64,
    pub(crate) skipped: u64,
    pub(crate) errors: Vec<LineError>,
}

impl Written {
    /// Reports a refused line.
    pub(crate) fn refuse(&mut self, line: u64, reason: impl Into<String>) {
        self.errors.push(LineError { line, reason: reason.into() });
    }
}

/// The totals of an import.
#[derive(Default)]
pub(crate) struct Totals {
    pub(crate) inserted: u64,
    pub(crate) updated: u64,
    pub(crate) skipped: u64,
    pub(crate) errors: Vec<LineError>,
    pub(crate) about: About,
}

impl Totals {
    fn done(&self) -> Done {
        let Self { inserted, updated, skipped, .. } = *self;
        Done { inserted, updated, skipped }
    }

    /// Sets the ignored columns.
    pub(crate) fn with_unknown(mut self, columns: Vec<String>) -> Self {
        self.about.unknown_columns = columns;
        self
    }
}

impl From<Totals> for MoveReport {
    fn from(Totals { inserted, skipped, errors, about, .. }: Totals) -> Self {
        Self { inserted, skipped, errors, about }
    }
}

/// Imports the items of an input.
///
/// # Errors
/// `bad token`, `Not admin`; [`Error::Input`] when the input cannot be read to its end; [`Error::Unfinished`] when the
/// store fails after a part was written; `overloaded`.
pub(crate) fn run<K: Kind>(
    tidings: &Tidings,
    caller: &Caller,
    kind: K,
    items: impl Iterator<Item = io::Result<Item<K::Line>>>,
    progress: Progress<'_>,
) -> Result<Totals> {
    run_prepared(tidings, caller, kind, items.map(|item| item.map_err(Error::Input)), progress)
}

/// Does the same as [`run`] for items that were processed after reading.
///
/// # Errors
/// The errors of [`run`] and of the items.
pub(crate) fn run_prepared<K: Kind>(
    tidings: &Tidings,
    caller: &Caller,
    kind: K,
    items: impl Iterator<Item = Result<Item<K::Line>>>,
    progress: Progress<'_>,
) -> Result<Totals> {
    check::<K>(tidings, caller)?;
    let identity = caller.identify(tidings);
    let mut import = Import::new(tidings, identity, kind, progress);
    let read = import.read(items);
    // Writes the last batch even after a read error.
    let (totals, stopped, finished) = import.finish();
    let read = match read {
        // A caller that stops the import may also have closed the input.
        Err(Error::Input(_)) if stopped => Ok(()),
        read => read,
    };
    match finished.and(read) {
        Ok(()) => Ok(totals),
        // Records that went into a replaced file are lost, so the import cannot continue from there.
        Err(Error::Store(cause @ StoreError::Replaced { .. })) => Err(cause.into()),
        Err(Error::Store(cause)) if totals.done() != Done::default() => {
            Err(Error::Unfinished { cause, done: totals.done() })
        }
        Err(error) => Err(error),
    }
}

/// Checks that the caller may run an import of this kind.
///
/// # Errors
/// `bad token`, `Not admin`.
pub(crate) fn check<K: Kind>(tidings: &Tidings, caller: &Caller) -> Result<()> {
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| identity.admin(tx, K::SCOPE).map(drop))
}

/// A running import.
struct Import<'t, K: Kind> {
    tidings: &'t Tidings,
    identity: Identity,
    kind: Arc<K>,
    progress: Progress<'t>,
    report: Report,
    batch: Vec<K::Line>,
    bytes: usize,
    /// The number of lines that probably fit into the time of a batch.
    size: usize,
    bytes_max: usize,
    written: Option<Submitted<K::Line>>,
    done: u64,
    stopped: bool,
    /// Whether the audit trail tells of the import.
    is_recorded: bool,
}

/// A batch that is being written. Its lines are shared with the write, which may run more than once.
struct Submitted<L> {
    batch: Arc<Mutex<Vec<L>>>,
    written: Pending<Written>,
}

impl<'t, K: Kind> Import<'t, K> {
    fn new(tidings: &'t Tidings, identity: Identity, kind: K, progress: Progress<'t>) -> Self {
        Self {
            tidings,
            identity,
            kind: Arc::new(kind),
            progress,
            report: Report::default(),
            batch: Vec::new(),
            bytes: 0,
            size: FIRST_BATCH.min(K::BATCH),
            bytes_max: FIRST_BYTES,
            written: None,
            done: 0,
            stopped: false,
            is_recorded: false,
        }
    }

    fn read(&mut self, items: impl Iterator<Item = Result<Item<K::Line>>>) -> Result<()> {
        for item in items {
            self.take(item?)?;
            if self.stopped {
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, Item { number, is_entry, bytes, line }: Item<K::Line>) -> Result<()> {
        self.report.totals.about.are_entries |= is_entry;
        match line {
            Ok(line) => {
                self.batch.push(line);
                self.bytes += bytes;
            }
            Err(reason) => {
                self.report.refuse(LineError { line: number, reason });
                self.done += 1;
            }
        }
        if self.batch.len() >= self.size || self.bytes >= self.bytes_max {
            self.write_batch()
        } else {
            Ok(())
        }
    }

    /// Submits the current batch after the previous one is written.
    fn write_batch(&mut self) -> Result<()> {
        let mut left = self.settle()?;
        while left.len() > self.size {
            self.submit(left);
            left = self.settle()?;
        }
        // Before the lines of the current batch, so that lines about the same record stay in order.
        left.append(&mut self.batch);
        self.bytes = 0;
        self.submit(left);
        Ok(())
    }

    fn submit(&mut self, batch: Vec<K::Line>) {
        let (identity, kind) = (self.identity.clone(), Arc::clone(&self.kind));
        let waiting = self.tidings.store().waiting_writes();
        let batch = Arc::new(Mutex::new(kind.arranged(batch)));
        let lines = Arc::clone(&batch);
        let is_first = !std::mem::replace(&mut self.is_recorded, true);
        let written = self.tidings.store().submit_long(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx, K::SCOPE)?;
            if is_first {
                admin.record(tx, Entry::new(K::ACTION).after("began"))?;
            }
            let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            kind.write(tx, &admin, &lines, &BatchTime::begin(waiting.clone()))
        });
        self.written = Some(Submitted { batch, written });
        self.kind.submitted(self.tidings);
    }

    /// Waits until the submitted batch is written. Returns the lines that did not fit into its time.
    fn settle(&mut self) -> Result<Vec<K::Line>> {
        let Some(Submitted { batch, written }) = self.written.take() else { return Ok(Vec::new()) };
        let Written { inserted, updated, skipped, errors } = written.wait()?;
        self.report.totals.inserted += inserted;
        self.report.totals.updated += updated;
        self.report.totals.skipped += skipped;
        let done = inserted + updated + skipped + errors.len() as u64;
        let mut left = std::mem::take(&mut *batch.lock().unwrap_or_else(PoisonError::into_inner));
        left.drain(..usize::try_from(done).unwrap_or(usize::MAX).min(left.len()));
        if left.is_empty() {
            self.size = (self.size * 2).min(K::BATCH);
            self.bytes_max = (self.bytes_max * 2).min(BATCH_BYTES);
        } else {
            self.size = usize::try_from(done).unwrap_or(K::BATCH).clamp(1, K::BATCH);
        }
        self.done += done;
        for error in errors {
            self.report.refuse(error);
        }
        self.stopped |= (self.progress)(self.done).is_break();
        Ok(left)
    }

    /// Writes the last batch. Returns the totals, whether the import was stopped, and the result of the writing.
    fn finish(mut self) -> (Totals, bool, Result<()>) {
        let written = self.write_batch().and_then(|()| self.write_rest()).and_then(|()| self.record());
        (self.report.finish(), self.stopped, written)
    }

    /// Appends the end of the import to the audit trail.
    fn record(&self) -> Result<()> {
        let Done { inserted, updated, skipped } = self.report.totals.done();
        let totals = format!("inserted {inserted}, updated {updated}, skipped {skipped}");
        let identity = self.identity.clone();
        self.tidings.store().write(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx, K::SCOPE)?;
            Ok(admin.record(tx, Entry::new(K::ACTION).after(&totals))?)
        })
    }

    /// Waits until the submitted batch is completely written.
    fn write_rest(&mut self) -> Result<()> {
        loop {
            let left = self.settle()?;
            if left.is_empty() {
                return Ok(());
            }
            self.submit(left);
        }
    }
}

/// The totals so far.
#[derive(Default)]
struct Report {
    totals: Totals,
    /// The number of refused lines that are not listed.
    unnamed: u64,
    /// The number of the last of those lines.
    last: u64,
}

impl Report {
    fn refuse(&mut self, error: LineError) {
        self.totals.about.left_out += 1;
        if self.totals.errors.len() < ERRORS_MAX {
            self.totals.errors.push(error);
        } else {
            self.unnamed += 1;
            self.last = self.last.max(error.line);
        }
    }

    fn finish(mut self) -> Totals {
        // Parsing reports its errors before the store reports those of earlier lines.
        self.totals.errors.sort_by_key(|error| error.line);
        if self.unnamed > 0 {
            let lines = if self.totals.about.are_entries { "entries" } else { "lines" };
            let reason = format!("{} more {lines}, up to this one, were left out", self.unnamed);
            self.totals.errors.push(LineError { line: self.last, reason });
        }
        self.totals
    }
}
