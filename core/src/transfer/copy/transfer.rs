//! A copy while it runs: the rows, the search index, the revisions, the verification.

use super::{CancelFlag, CopyError, Last, Location, Report, Result, Step, plan, sql};
use crate::post::{recount as posts, reindex};
use crate::record::error::Error;
use crate::store::inspect::Inspected;
use crate::store::{Arg, Dialect, Need, StoreError, Topic, Tx, Value};
use crate::transfer::check;

/// A page is inserted in one transaction.
const PAGE_ROWS: usize = 1_000;
/// A page with this many bytes of texts is inserted.
const PAGE_BYTES: usize = 1 << 20;

pub(super) struct Transfer<'t> {
    pub(super) from: &'t Location,
    pub(super) to: &'t Location,
    pub(super) progress: &'t mut dyn FnMut(Step),
    pub(super) stop: &'t CancelFlag,
    pub(super) last: Option<Last<'t>>,
}

#[derive(Default)]
struct Copied {
    /// In the order of the plan.
    rows: Vec<u64>,
    /// Texts that had U+0000, which a server cannot store.
    replaced: u64,
}

impl Transfer<'_> {
    pub(super) fn run(&mut self, source: Box<dyn Inspected + '_>, target: &dyn Inspected) -> Result<Report> {
        let (of_source, of_target) = (CopyError::store(self.from), CopyError::store(self.to));
        let mut copied = None;
        source.read_with(&mut |tx| copied = Some(self.copy_rows(tx, target))).map_err(&of_source)?;
        let copied = match copied.expect("`read_with` has run the work") {
            // The error may be that of a statement that waited.
            Err(_) if self.stop.is_set() => return Err(CopyError::Interrupted),
            copied => copied?,
        };
        drop(source);
        self.index(target)?;
        target.write(first_revision).map_err(&of_target)?;
        self.verify(target, &copied.rows)?;
        let failed = self.check(target)?;
        if let Some(last) = self.last {
            target.write(last).map_err(&of_target)?;
        }
        // From here on the copy is complete, and only its publication can fail.
        if self.stop.is_set() {
            return Err(CopyError::Interrupted);
        }
        Ok(Report { rows: copied.rows.iter().sum(), replaced: copied.replaced, failed })
    }

    fn copy_rows(&mut self, source: &mut dyn Tx, target: &dyn Inspected) -> Result<Copied> {
        let (of_source, of_target) = (CopyError::store(self.from), CopyError::store(self.to));
        let revision = sql::revision(source).map_err(&of_source)?;
        let last_keys = sql::last_keys(source).map_err(&of_source)?;
        let counts = plan::copied().map(|table| sql::count(source, table));
        let of = counts.sum::<Result<u64, StoreError>>().map_err(&of_source)?;
        target.write(sql::empty).map_err(&of_target)?;
        let (mut copied, mut done) = (Copied::default(), 0);
        (self.progress)(Step::Rows { done, of });
        for table in plan::copied() {
            let before = done;
            let inserted = self.copy_table(source, target, table, &mut copied.replaced, &mut |rows| {
                done += rows;
                Step::Rows { done, of }
            });
            inserted.map_err(|cause| of_table(self.to, table, cause))?;
            copied.rows.push(done - before);
        }
        let continues = |tx: &mut dyn Tx| sql::continue_after(tx, revision, &last_keys);
        target.write(continues).map_err(of_target)?;
        Ok(copied)
    }

    /// `step` counts rows and returns the progress.
    fn copy_table(
        &mut self,
        source: &mut dyn Tx,
        target: &dyn Inspected,
        table: &str,
        replaced: &mut u64,
        step: &mut dyn FnMut(u64) -> Step,
    ) -> Result<(), StoreError> {
        let (columns, is_without_nul) = target
            .read(|tx| Ok::<_, StoreError>((sql::columns(tx, table)?, tx.dialect() != Dialect::Sqlite)))?;
        let width = columns.len();
        let insert = sql::insert(table, &columns);
        let (mut page, mut bytes) = (Vec::with_capacity(PAGE_ROWS * width), 0);
        let mut write = |page: &mut Vec<Value>| {
            if self.stop.is_set() {
                return Err(StoreError::Interrupted);
            }
            let rows = (page.len() / width) as u64;
            target.write(|tx| {
                let args: Vec<Arg<'_>> = page.iter().map(Arg::from).collect();
                tx.run_many(Need::Changed, &insert, width, &args)?.answer(tx)
            })?;
            page.clear();
            (self.progress)(step(rows));
            Ok(())
        };
        let select = format!("SELECT {} FROM {}", columns.join(", "), sql::rows_of(source.dialect(), table));
        source.for_each(&select, &[], &mut |row| {
            for column in 0..width {
                let value: Value = row.take(column)?;
                if let Value::Text(text) = &value {
                    bytes += text.len();
                    *replaced += u64::from(is_without_nul && text.contains('\0'));
                }
                page.push(value);
            }
            if page.len() >= PAGE_ROWS * width || bytes >= PAGE_BYTES {
                bytes = 0;
                write(&mut page)?;
            }
            Ok(())
        })?;
        if page.is_empty() { Ok(()) } else { write(&mut page) }
    }

    fn index(&mut self, target: &dyn Inspected) -> Result<()> {
        let of = posts::number(target).map_err(|error| self.failed(error))?;
        let (progress, stop) = (&mut *self.progress, self.stop);
        let indexed = reindex::fill_index(target, &mut |done| {
            progress(Step::Indexing { done, of });
            if stop.is_set() { Err(StoreError::Interrupted) } else { Ok(()) }
        });
        indexed.map_err(|error| self.failed(error))
    }

    fn verify(&mut self, target: &dyn Inspected, expected: &[u64]) -> Result<()> {
        let (mut done, of) = (0, expected.iter().sum());
        (self.progress)(Step::Verifying { done, of });
        for (table, expected) in plan::copied().zip(expected) {
            let counted = target.write(|tx| {
                #[cfg(feature = "postgres")]
                sql::analyze(tx, table)?;
                sql::count(tx, table)
            });
            let rows = counted.map_err(CopyError::store(self.to))?;
            if rows != *expected {
                let what = format!("{rows} rows instead of {expected}");
                let (from, to, table) = (self.from.clone(), self.to.clone(), table.to_owned());
                return Err(CopyError::Different { from, to, table, what });
            }
            done += rows;
            (self.progress)(Step::Verifying { done, of });
        }
        Ok(())
    }

    /// Those that fail on the copy.
    fn check(&mut self, target: &dyn Inspected) -> Result<Vec<check::Check>> {
        (self.progress)(Step::Checking);
        let checks = check::derived(target, self.stop);
        Ok(checks.map_err(|error| self.failed(error))?.into_iter().filter(|check| !check.ok).collect())
    }

    fn failed(&self, error: Error) -> CopyError {
        CopyError::store(self.to)(match error {
            _ if self.stop.is_set() => StoreError::Interrupted,
            Error::Store(cause) => cause,
            Error::Overloaded => StoreError::Overloaded,
            other => StoreError::other(other),
        })
    }
}

fn of_table(to: &Location, table: &str, cause: StoreError) -> CopyError {
    match cause {
        StoreError::Full | StoreError::Disconnected(_) | StoreError::Interrupted => {
            CopyError::store(to)(cause)
        }
        cause => CopyError::Table { table: table.to_owned(), cause },
    }
}

/// Lets every cache load everything: a program may have a cache of an earlier database at the same place.
fn first_revision(tx: &mut dyn Tx) -> Result<(), StoreError> {
    for topic in Topic::ALL {
        tx.touch(*topic);
    }
    posts::all_changed(tx)
}
