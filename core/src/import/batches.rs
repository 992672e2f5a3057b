//! The loop of an import: while one batch is written, the next one is read. Other writes run between batches.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{ERRORS_MAX, Item, Kind, Progress, Report, Written};
use crate::Tidings;
use crate::account::{Caller, Identity};
use crate::audit::trail::Entry;
use crate::base::lock::lock;
use crate::record::answer::LineError;
use crate::record::error::{Done, Error, Pending, Result};
use crate::store::{Isolation, StoreError};

/// In bytes of text; bounds the memory of an import.
const BATCH_BYTES: usize = 1 << 20;
/// In lines and in bytes. The following batches grow while their lines fit into their time.
const FIRST_BATCH: usize = 250;
const FIRST_BYTES: usize = 256 << 10;
/// The time that a batch has for its rows while other writes wait. The search index and the disk add approximately the same time.
const SHARED: Duration = Duration::from_millis(10);
/// The time that it has while no other write waits. A write that arrives later than [`SHARED`] ends the batch, so it
/// waits only for the search index and the disk.
const ALONE: Duration = Duration::from_millis(30);

pub(crate) fn run<K: Kind>(
    tidings: &Tidings,
    caller: &Caller,
    kind: K,
    items: impl Iterator<Item = Result<Item<K::Line>>>,
    progress: Progress<'_>,
) -> Result<Report> {
    check::<K>(tidings, caller)?;
    let mut import = Batches {
        tidings,
        identity: caller.identify(tidings),
        kind: Arc::new(kind),
        progress,
        report: Report::empty::<K::Operation>(),
        last_refused: 0,
        batch: Vec::new(),
        bytes: 0,
        size: FIRST_BATCH.min(K::BATCH),
        bytes_max: FIRST_BYTES,
        written: None,
        done: 0,
        stopped: false,
        is_recorded: false,
    };
    let read = import.read(items);
    // Writes the last batch even after a read error.
    let finished = import.write_batch().and_then(|()| import.settle(0)).and_then(|_| import.record());
    let read = match read {
        // A caller that stops the import may also have closed the input.
        Err(Error::Input(_)) if import.stopped => Ok(()),
        read => read,
    };
    let done = import.counts();
    match finished.and(read) {
        Ok(()) => Ok(import.finish()),
        // Records that went into a replaced file are lost, so the import cannot continue from there.
        Err(Error::Store(cause @ StoreError::Replaced { .. })) => Err(cause.into()),
        Err(Error::Store(cause)) if done != Done::default() => Err(Error::Unfinished { cause, done }),
        Err(error) => Err(error),
    }
}

pub(crate) fn check<K: Kind>(tidings: &Tidings, caller: &Caller) -> Result<()> {
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| identity.with_scope(tx, K::SCOPE).map(drop))
}

/// Shared with the write, which may run more than once.
type Shared<L> = Arc<Mutex<Vec<L>>>;

struct Batches<'t, K: Kind> {
    tidings: &'t Tidings,
    identity: Identity,
    kind: Arc<K>,
    progress: Progress<'t>,
    report: Report,
    /// The number of the last refused line that the report does not list.
    last_refused: u64,
    batch: Vec<K::Line>,
    bytes: usize,
    /// In lines that probably fit into the time of a batch.
    size: usize,
    bytes_max: usize,
    written: Option<(Shared<K::Line>, Pending<Written>)>,
    done: u64,
    stopped: bool,
    is_recorded: bool,
}

impl<K: Kind> Batches<'_, K> {
    fn read(&mut self, mut items: impl Iterator<Item = Result<Item<K::Line>>>) -> Result<()> {
        while !self.stopped
            && let Some(item) = items.next()
        {
            let Item { number, is_entry, bytes, line } = item?;
            self.report.about.are_entries |= is_entry;
            match line {
                Ok(line) => {
                    self.batch.push(line);
                    self.bytes += bytes;
                }
                Err(reason) => {
                    self.refuse(LineError { line: number, reason });
                    self.done += 1;
                }
            }
            if self.batch.len() >= self.size || self.bytes >= self.bytes_max {
                self.write_batch()?;
            }
        }
        Ok(())
    }

    fn write_batch(&mut self) -> Result<()> {
        let mut left = self.settle(usize::MAX)?;
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
            let admin = identity.with_scope(tx, K::SCOPE)?;
            if is_first {
                admin.record(tx, Entry::new(K::ACTION).after("began"))?;
            }
            let lines = lock(&lines);
            kind.write(tx, &admin, &lines, &BatchTime::begin(waiting.clone()))
        });
        self.written = Some((batch, written));
    }

    /// Waits until the submitted batch is written, except for up to `most` lines that also fit into the next batch. Returns
    /// those lines.
    fn settle(&mut self, most: usize) -> Result<Vec<K::Line>> {
        loop {
            let Some((batch, written)) = self.written.take() else { return Ok(Vec::new()) };
            let Written { inserted, updated, skipped, errors } = written.wait()?;
            self.report.inserted += inserted;
            self.report.updated = self.report.updated.map(|before| before + updated);
            self.report.skipped += skipped;
            let done = inserted + updated + skipped + errors.len() as u64;
            let mut left = std::mem::take(&mut *lock(&batch));
            left.drain(..usize::try_from(done).unwrap_or(usize::MAX).min(left.len()));
            if left.is_empty() {
                self.size = (self.size * 2).min(K::BATCH);
                self.bytes_max = (self.bytes_max * 2).min(BATCH_BYTES);
            } else {
                self.size = usize::try_from(done).unwrap_or(K::BATCH).clamp(1, K::BATCH);
            }
            self.done += done;
            for error in errors {
                self.refuse(error);
            }
            self.stopped |= (self.progress)(self.done).is_break();
            if left.len() <= self.size.min(most) {
                return Ok(left);
            }
            self.submit(left);
        }
    }

    fn refuse(&mut self, error: LineError) {
        self.report.about.left_out += 1;
        if self.report.errors.len() < ERRORS_MAX {
            self.report.errors.push(error);
        } else {
            self.last_refused = self.last_refused.max(error.line);
        }
    }

    fn counts(&self) -> Done {
        let Report { inserted, updated, skipped, .. } = self.report;
        Done { inserted, updated: updated.unwrap_or_default(), skipped }
    }

    fn record(&self) -> Result<()> {
        let Done { inserted, updated, skipped } = self.counts();
        let totals = format!("inserted {inserted}, updated {updated}, skipped {skipped}");
        let identity = self.identity.clone();
        self.tidings.store().write(Isolation::Alone, move |tx| {
            let admin = identity.with_scope(tx, K::SCOPE)?;
            Ok(admin.record(tx, Entry::new(K::ACTION).after(&totals))?)
        })
    }

    fn finish(self) -> Report {
        let mut report = self.report;
        // Parsing reports its errors before the store reports those of earlier lines.
        report.errors.sort_by_key(|error| error.line);
        let unlisted = report.about.left_out - report.errors.len() as u64;
        if unlisted > 0 {
            let lines = if report.about.are_entries { "entries" } else { "lines" };
            let reason = format!("{unlisted} more {lines}, up to this one, were left out");
            report.errors.push(LineError { line: self.last_refused, reason });
        }
        report
    }
}

/// Long batches are faster, because they write the pages of indexes less often.
pub(crate) struct BatchTime {
    began: Instant,
    /// `None` if the time is unlimited.
    waiting: Option<Box<dyn Fn() -> usize>>,
}

impl BatchTime {
    fn begin(waiting: impl Fn() -> usize + 'static) -> Self {
        Self { began: Instant::now(), waiting: Some(Box::new(waiting)) }
    }

    /// For a transaction that delays no other write.
    #[cfg(feature = "demo")]
    pub(crate) fn unlimited() -> Self {
        Self { began: Instant::now(), waiting: None }
    }

    pub(crate) fn is_over(&self) -> bool {
        let Some(waiting) = &self.waiting else { return false };
        let elapsed = self.began.elapsed();
        elapsed > SHARED && (elapsed > ALONE || waiting() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_over(ms: u64, waiting: usize) -> bool {
        let began = Instant::now().checked_sub(Duration::from_millis(ms)).unwrap();
        BatchTime { began, waiting: Some(Box::new(move || waiting)) }.is_over()
    }

    #[test]
    fn a_batch_ends_earlier_if_other_writes_wait() {
        assert!(is_over(11, 1) && is_over(11, 100));
        assert!(is_over(31, 0) && is_over(31, 1));
        assert!(!is_over(0, 1) && !is_over(0, 0));
    }
}
