//! A copy while it runs: the rows, the search index, the revisions, the verification.

use std::borrow::Cow;

use super::digest::{Difference, Digest};
use super::plan::Plan;
use super::{CancelFlag, CopyError, Last, Location, Report, Result, Step};
use crate::post::{recount as posts, reindex};
use crate::record::error::Error;
use crate::store::bulk::{COLUMNS_MAX, Snapshot, Table, Target};
use crate::store::{Arg, StoreError, Topic, Tx};
use crate::transfer::check::{self, Context};

/// The number of rows between two looks for a requested stop, and between two reports of the progress.
const LOOK_EVERY: u64 = 4_096;

/// A copy while it runs.
pub(super) struct Transfer<'t> {
    pub(super) from: &'t Location,
    pub(super) to: &'t Location,
    pub(super) context: &'t Context<'t>,
    pub(super) progress: &'t mut dyn FnMut(Step),
    pub(super) stop: &'t CancelFlag,
    pub(super) last: Option<Last<'t>>,
}

/// Counts the rows of a step.
struct Counter<'c> {
    done: u64,
    progress: &'c mut dyn FnMut(u64),
    stop: &'c CancelFlag,
}

impl Counter<'_> {
    /// Counts a row.
    ///
    /// # Errors
    /// `Interrupted` when a stop is requested.
    fn count(&mut self) -> Result<(), StoreError> {
        self.done += 1;
        if self.done.is_multiple_of(LOOK_EVERY) {
            (self.progress)(self.done);
            if self.stop.is_set() {
                return Err(StoreError::Interrupted);
            }
        }
        Ok(())
    }
}

impl Transfer<'_> {
    /// Fills and verifies the target. `is_without_nul` is whether it cannot store U+0000 in texts.
    pub(super) fn run(
        &mut self,
        mut source: Box<dyn Snapshot + '_>,
        target: &mut dyn Target,
        is_without_nul: bool,
    ) -> Result<Report> {
        let (of_source, of_target) = (CopyError::store(self.from), CopyError::store(self.to));
        let tables = source.tables().map_err(&of_source)?;
        let plan = Plan::new(&tables, &target.tables().map_err(&of_target)?);
        let plan =
            plan.map_err(|fault| CopyError::Schema { from: self.from.clone(), to: self.to.clone(), fault })?;
        if let Some(table) = target.first_with_rows(&plan.unused).map_err(&of_target)? {
            return Err(CopyError::Occupied { to: self.to.clone(), table });
        }
        let counts = plan.copied.iter().map(|table| source.count(table));
        let of = counts.sum::<Result<u64, StoreError>>().map_err(&of_source)?;
        target.begin(&plan.emptied).map_err(&of_target)?;
        let copied = self.copy_rows(&mut *source, target, &plan, of, is_without_nul)?;
        let revision = source.revision().map_err(&of_source)?;
        let last_keys = source.last_keys().map_err(&of_source)?;
        // Ends the snapshot, which keeps the source from reusing space.
        drop(source);
        target.commit(revision, &last_keys).map_err(&of_target)?;
        self.index(target)?;
        let first = |tx: &mut dyn Tx| first_revision(tx);
        target.inspected().write(first).map_err(&of_target)?;
        target.settle().map_err(&of_target)?;
        self.verify(target, &plan, &copied.digests, of)?;
        let failed = self.check(target)?;
        if let Some(last) = self.last {
            target.inspected().write(last).map_err(&of_target)?;
        }
        // From here on the copy is complete, and only its publication can fail.
        if self.stop.is_set() {
            return Err(CopyError::Interrupted);
        }
        Ok(Report { rows: of, replaced: copied.replaced, failed })
    }

    fn copy_rows(
        &mut self,
        source: &mut dyn Snapshot,
        target: &mut dyn Target,
        plan: &Plan,
        of: u64,
        is_without_nul: bool,
    ) -> Result<Copied> {
        let mut copied = Copied::default();
        let mut progress = |done| (self.progress)(Step::Rows { done, of });
        progress(0);
        let mut counter = Counter { done: 0, progress: &mut progress, stop: self.stop };
        for table in &plan.copied {
            let mut digest = Digest::new();
            let inserted = target.insert(table, &mut |insert| {
                source.for_each(table, &mut |cells| {
                    counter.count()?;
                    if is_without_nul && cells.iter().any(has_nul) {
                        return with_replaced(cells, &mut copied.replaced, &mut |cells| {
                            digest.add(cells);
                            insert(cells)
                        });
                    }
                    digest.add(cells);
                    insert(cells)
                })
            });
            inserted.map_err(|cause| of_table(self.to, table, cause))?;
            copied.digests.push(digest);
        }
        Ok(copied)
    }

    /// Makes the search index.
    fn index(&mut self, target: &dyn Target) -> Result<()> {
        let database = target.inspected();
        let of = posts::number(database).map_err(|error| self.failed(error))?;
        let (progress, stop) = (&mut *self.progress, self.stop);
        let indexed = reindex::fill_index(database, &mut |done| {
            progress(Step::Indexing { done, of });
            if stop.is_set() { Err(StoreError::Interrupted) } else { Ok(()) }
        });
        indexed.map_err(|error| self.failed(error))
    }

    /// Reads the copy, and compares it with the digests of the source.
    fn verify(&mut self, target: &mut dyn Target, plan: &Plan, digests: &[Digest], of: u64) -> Result<()> {
        let failed = CopyError::store(self.to);
        let mut progress = |done| (self.progress)(Step::Verifying { done, of });
        progress(0);
        let mut counter = Counter { done: 0, progress: &mut progress, stop: self.stop };
        let mut stored = target.stored().map_err(&failed)?;
        for (table, expected) in plan.copied.iter().zip(digests) {
            let mut digest = expected.counterpart();
            let read = stored.for_each(table, &mut |cells| {
                digest.add(cells);
                counter.count()
            });
            read.map_err(&failed)?;
            if let Some(difference) = expected.difference(&digest, table) {
                let what = match difference {
                    Difference::Rows(source, copy) => format!("{copy} rows instead of {source}"),
                    Difference::Column(column) => format!("the values of the column {column}"),
                };
                let (from, to, table) = (self.from.clone(), self.to.clone(), table.name.clone());
                return Err(CopyError::Different { from, to, table, what });
            }
        }
        Ok(())
    }

    /// Returns the checks of derived rows that fail on the copy.
    fn check(&mut self, target: &mut dyn Target) -> Result<Vec<check::Check>> {
        (self.progress)(Step::Checking);
        let faults = target.faults().map_err(CopyError::store(self.to))?;
        if !faults.is_empty() {
            return Err(CopyError::Damaged { to: self.to.clone(), fault: faults.join("; ") });
        }
        let checks = check::derived(target.inspected(), self.context, self.stop);
        Ok(checks.map_err(|error| self.failed(error))?.into_iter().filter(|check| !check.ok).collect())
    }

    /// Converts an error of an operation on the target.
    fn failed(&self, error: Error) -> CopyError {
        CopyError::store(self.to)(match error {
            _ if self.stop.is_set() => StoreError::Interrupted,
            Error::Store(cause) => cause,
            Error::Overloaded => StoreError::Overloaded,
            other => StoreError::other(other),
        })
    }
}

/// Returns the error of a table that cannot be copied to `to`.
fn of_table(to: &Location, table: &Table, cause: StoreError) -> CopyError {
    match cause {
        StoreError::Full | StoreError::Disconnected(_) | StoreError::Interrupted => {
            CopyError::store(to)(cause)
        }
        cause => CopyError::Table { table: table.name.clone(), cause },
    }
}

/// The numbers of copied rows.
#[derive(Default)]
struct Copied {
    /// The digest of each table, in the order of the plan.
    digests: Vec<Digest>,
    /// The number of texts that had U+0000.
    replaced: u64,
}

/// Makes every cache load everything: a program may have a cache of an earlier database at the same place.
fn first_revision(tx: &mut dyn Tx) -> Result<(), StoreError> {
    for topic in Topic::ALL {
        tx.touch(topic);
    }
    posts::all_changed(tx)
}

fn has_nul(cell: &Arg<'_>) -> bool {
    matches!(cell, Arg::Text(text) if text.contains('\0'))
}

/// Calls `then` with a row in which U+0000 is replaced by U+FFFD, as in every argument of a statement on PostgreSQL.
fn with_replaced(
    cells: &[Arg<'_>],
    replaced: &mut u64,
    then: &mut dyn FnMut(&[Arg<'_>]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let texts: Vec<Cow<'_, str>> = cells
        .iter()
        .map(|cell| match cell {
            Arg::Text(text) if text.contains('\0') => Cow::Owned(text.replace('\0', "\u{fffd}")),
            Arg::Text(text) => Cow::Borrowed(*text),
            _ => Cow::Borrowed(""),
        })
        .collect();
    let mut row = [Arg::Null; COLUMNS_MAX];
    for ((place, cell), text) in row.iter_mut().zip(cells).zip(&texts) {
        *place = if let Arg::Text(_) = cell { Arg::Text(text) } else { *cell };
        *replaced += u64::from(matches!(text, Cow::Owned(_)));
    }
    then(&row[..cells.len()])
}
