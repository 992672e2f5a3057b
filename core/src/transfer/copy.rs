//! Copies a database to a new one, on the same engine or the other, from one snapshot with the same keys; `copy/plan.rs` says how
//! each table is copied. The numbers of rows and [`crate::transfer::check`] verify it. An interrupted copy never looks complete: a
//! file is renamed at the end, and no program opens a database on a server before.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::TempPath;

use crate::account::Operator;
use crate::base::atomic_file;
pub use crate::base::cancel::CancelFlag;
use crate::base::files::{self, beside, directory};
use crate::base::location::Location;
pub use crate::base::step::Step;
use crate::store::InspectedFile;
#[cfg(not(feature = "postgres"))]
use crate::store::ServerError;
use crate::store::inspect::Inspected;
#[cfg(feature = "postgres")]
use crate::store::{InspectedServer, ServerTarget};
use crate::store::{StoreError, Tx};
use crate::transfer::check::Check;

mod plan;
mod sql;
#[cfg(test)]
mod tests;
mod transfer;

use transfer::Transfer;

/// The result of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The rows of all tables together.
    pub rows: u64,
    /// The number of texts in which U+0000, which PostgreSQL cannot store, was replaced by U+FFFD.
    pub replaced: u64,
    /// The checks that failed on the copy: it has the rows of the source, so they fail on the source too.
    pub failed: Vec<Check>,
}

/// The error of a failed copy. The source is unchanged, and there is no new database.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// There is no database to copy.
    #[error("there is no database {0}")]
    Missing(Location),
    /// The source and the target are the same database.
    #[error("{0} cannot be copied to itself")]
    Same(Location),
    /// There is a file at the target.
    #[error("{0} already exists")]
    Exists(Location),
    /// The target is not empty.
    #[error("{to} is not empty: its table {table} has rows")]
    Occupied {
        /// The target.
        to: Location,
        /// A table with rows.
        table: String,
    },
    /// Another program copies to the target.
    #[error("another program copies to {0}")]
    InUse(Location),
    /// A row of the source cannot be inserted into the target, or a table cannot be read.
    #[error("the table {table} cannot be copied: {cause}")]
    Table {
        /// The table.
        table: String,
        /// The cause.
        cause: StoreError,
    },
    /// The target has other rows than the source.
    #[error("{to} differs from {from} in the table {table}: {what}")]
    Different {
        /// The source.
        from: Location,
        /// The target.
        to: Location,
        /// The first table that differs.
        table: String,
        /// The difference.
        what: String,
    },
    /// The engine has found faults in the target.
    #[error("{to} is damaged: {fault}")]
    Damaged {
        /// The target.
        to: Location,
        /// The faults.
        fault: String,
    },
    /// The caller cancelled the copy.
    #[error("the operation was cancelled")]
    Interrupted,
    /// A file could not be written.
    #[error("{}: {cause}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A database could not be read or written.
    #[error("{location}: {cause}")]
    Store {
        /// The database.
        location: Location,
        /// The cause.
        cause: StoreError,
    },
}

type Result<T, E = CopyError> = std::result::Result<T, E>;

impl CopyError {
    fn store(location: &Location) -> impl Fn(StoreError) -> Self {
        move |cause| match cause {
            StoreError::Interrupted => Self::Interrupted,
            cause => Self::Store { location: location.clone(), cause },
        }
    }

    fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        move |cause| Self::File { path: path.to_owned(), cause }
    }
}

/// Copies the database at `from` to `to`, which must not exist or be empty, and verifies the copy. Other processes may
/// read and write the source during the copy. The key that signs tokens is not part of a database and is not copied.
///
/// `progress` is called with the progress.
///
/// # Errors
/// When there is no source, or its schema is not that of this program; when the target has rows; when either database
/// fails; when the copy differs from the source; when `stop` is requested.
pub fn copy(
    _: Operator,
    from: &Location,
    to: &Location,
    progress: &mut dyn FnMut(Step),
    stop: &CancelFlag,
) -> Result<Report> {
    let mut run = Transfer { from, to, progress, stop, last: None };
    match to {
        Location::File(path) => {
            let path = &files::resolved(path).map_err(CopyError::file(path))?;
            refuse_occupied(from, path)?;
            let draft = Draft::write(&mut run, path)?;
            let report = draft.report.clone();
            draft.becomes(path)?;
            Ok(report)
        }
        Location::Postgres(_) => to_server(&mut run),
    }
}

/// Changes a verified copy before it becomes a database.
pub(crate) type Last<'l> = &'l dyn Fn(&mut dyn Tx) -> Result<(), StoreError>;

/// Runs `last` in a transaction after the rows are copied.
pub(crate) fn restore(
    from: &Path,
    to: &Location,
    last: Last<'_>,
    progress: &mut dyn FnMut(Step),
    stop: &CancelFlag,
) -> Result<Report> {
    let from = &Location::File(from.to_owned());
    to_server(&mut Transfer { from, to, progress, stop, last: Some(last) })
}

/// The temporary file is next to `to`.
pub(crate) fn draft(
    from: &Location,
    to: &Path,
    progress: &mut dyn FnMut(Step),
    stop: &CancelFlag,
) -> Result<Draft> {
    let location = &Location::File(to.to_owned());
    Draft::write(&mut Transfer { from, to: location, progress, stop, last: None }, to)
}

/// A verified copy under a temporary name. Dropping it removes the file.
pub(crate) struct Draft {
    pub(crate) path: TempPath,
    pub(crate) report: Report,
    /// The lock shows other processes that the writer is still running.
    pub(crate) lock: File,
}

impl Draft {
    /// Next to `to`.
    fn write(run: &mut Transfer<'_>, to: &Path) -> Result<Self> {
        let source = open(run.from, run.stop)?;
        let draft = atomic_file::beside(to, true).map_err(CopyError::file(directory(to)))?;
        let (lock, path) = draft.into_parts();
        let failed = CopyError::store(run.to);
        let target = InspectedFile::create(&path, run.stop).map_err(&failed)?;
        let report = run.run(source, &target)?;
        let mut faults = target.integrity().map_err(&failed)?;
        let dangling = target.dangling().map_err(&failed)?;
        faults.extend(dangling.iter().map(|(table, rows)| format!("{rows} rows of {table} refer to no row")));
        if !faults.is_empty() {
            return Err(CopyError::Damaged { to: run.to.clone(), fault: faults.join("; ") });
        }
        drop(target);
        let synced = OpenOptions::new().write(true).open(&path).and_then(|file| file.sync_all());
        synced.map_err(CopyError::file(&path))?;
        Ok(Self { path, report, lock })
    }

    /// Fails if there is a file at `to` in the meantime.
    fn becomes(self, to: &Path) -> Result<()> {
        let renamed = self.path.persist_noclobber(to);
        renamed.map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => CopyError::Exists(Location::File(to.to_owned())),
            _ => CopyError::file(to)(error.error),
        })?;
        files::sync_directory(directory(to)).map_err(CopyError::file(to))
    }
}

/// The target must not exist, nor belong to the source.
fn refuse_occupied(from: &Location, to: &Path) -> Result<()> {
    if from.owns(to) {
        return Err(CopyError::Same(from.clone()));
    }
    // A log without its database shows that a process has it open, or that it was lost.
    let occupied = [to.to_owned(), beside(to, "-wal"), beside(to, "-journal")];
    match occupied.iter().find(|file| fs::symlink_metadata(file).is_ok()) {
        Some(file) => Err(CopyError::Exists(Location::File(file.clone()))),
        None => Ok(()),
    }
}

#[cfg(feature = "postgres")]
fn to_server(run: &mut Transfer<'_>) -> Result<Report> {
    let Location::Postgres(url) = run.to else { return Err(CopyError::Missing(run.to.clone())) };
    let failed = CopyError::store(run.to);
    let open_target = || {
        ServerTarget::open(url, run.stop).map_err(|error| match error {
            StoreError::Overloaded => CopyError::InUse(run.to.clone()),
            error => failed(error),
        })
    };
    let (source, mut target): (Box<dyn Inspected>, _) = match run.from {
        Location::File(_) => (open(run.from, run.stop)?, open_target()?),
        Location::Postgres(from) => {
            let source = InspectedServer::open_to_copy(from, run.stop).map_err(CopyError::store(run.from))?;
            let target = open_target()?;
            // The source is being filled, and the program that fills it is this one.
            if source.is_being_filled().map_err(CopyError::store(run.from))? {
                return Err(CopyError::Same(run.from.clone()));
            }
            (Box::new(source), target)
        }
    };
    if !target.is_begun()
        && let Some(table) = target.inspected().read(sql::first_with_rows).map_err(&failed)?
    {
        return Err(CopyError::Occupied { to: run.to.clone(), table: table.to_owned() });
    }
    target.begin().map_err(&failed)?;
    let report = run.run(source, target.inspected())?;
    target.finish().map_err(failed)?;
    Ok(report)
}

#[cfg(not(feature = "postgres"))]
fn to_server(run: &mut Transfer<'_>) -> Result<Report> {
    Err(CopyError::store(run.to)(ServerError::NotBuilt.into()))
}

fn open(from: &Location, stop: &CancelFlag) -> Result<Box<dyn Inspected>> {
    let failed = CopyError::store(from);
    match from {
        Location::File(path) => {
            if matches!(path.try_exists(), Ok(false)) {
                return Err(CopyError::Missing(from.clone()));
            }
            Ok(Box::new(InspectedFile::open_to_copy(path, stop).map_err(failed)?))
        }
        #[cfg(feature = "postgres")]
        Location::Postgres(url) => Ok(Box::new(InspectedServer::open_to_copy(url, stop).map_err(failed)?)),
        #[cfg(not(feature = "postgres"))]
        Location::Postgres(_) => Err(failed(ServerError::NotBuilt.into())),
    }
}
