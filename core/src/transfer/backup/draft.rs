//! An unpublished copy: written to a temporary file next to its destination, and checked.

use std::fs::{File, OpenOptions};
use std::path::Path;

use tempfile::{NamedTempFile, TempPath};

use super::{BackupError, CancelFlag, Form, Report, Result, Step, is_ours};
use crate::base::atomic_file;
use crate::base::files::{self, directory};
use crate::store::copy::{Copied, Source};
use crate::transfer::copy;

/// A checked copy under a temporary name. Dropping it removes the file.
pub(super) struct Draft {
    pub(super) path: TempPath,
    rows: u64,
    /// The lock shows other processes that the writer is still running.
    _lock: File,
}

/// `source` is the database at `from`.
pub(super) fn draft(
    to: &Path,
    source: Source,
    from: &Path,
    form: Form,
    progress: &mut dyn FnMut(Step),
    stop: &CancelFlag,
) -> Result<Draft> {
    let directory = directory(to);
    let copies = if form == Form::Compact { 2 } else { 1 };
    let needed = source.bytes().map_err(BackupError::store(from))? * copies;
    if let Some(free) = files::free_bytes(directory).filter(|free| *free < needed) {
        return Err(BackupError::NoRoom { directory: directory.to_owned(), needed, free });
    }
    remove_strays(directory);
    let begin =
        || atomic_file::beside(to, true).map_err(BackupError::file(directory)).map(NamedTempFile::into_parts);
    let (mut lock, mut path) = begin()?;
    source.copy(&path, progress, stop).map_err(BackupError::store(to))?;
    let read = source.rows().map_err(BackupError::store(from))?;
    // Ends the read transaction, which prevents the write-ahead log from being reused.
    drop(source);
    if form == Form::Compact {
        progress(Step::Compacting);
        let (compact_lock, compact) = begin()?;
        let compacted = Copied::open(&path).and_then(|mut copy| copy.compact(&compact, stop));
        compacted.map_err(BackupError::store(to))?;
        (lock, path) = (compact_lock, compact);
    }
    progress(Step::Checking);
    let checked = Copied::open(&path).and_then(|mut copy| copy.check(stop));
    let rows = checked.map_err(BackupError::store(from))?;
    if stop.is_set() {
        return Err(BackupError::Interrupted);
    }
    if rows == read {
        return Ok(Draft { path, rows, _lock: lock });
    }
    let fault = format!("the copy has {rows} rows, the database {read}");
    Err(BackupError::Damaged { path: to.to_owned(), fault })
}

/// For all destinations: backups often have the date in their names, so a later backup has a different name.
pub(super) fn remove_strays(directory: &Path) {
    atomic_file::remove_strays(directory, |entry| {
        entry.file_type().is_ok_and(|kind| kind.is_file()) && is_ours(&entry.path())
    });
}

impl Draft {
    pub(super) fn copied(draft: copy::Draft) -> Result<Self> {
        let copy::Draft { path, lock, .. } = draft;
        let rows = Source::open(&path).and_then(|source| source.rows());
        let rows = rows.map_err(BackupError::store(&path))?;
        Ok(Self { path, rows, _lock: lock })
    }

    pub(super) fn finished(&self) -> Result<Report> {
        let failed = BackupError::file(&self.path);
        // Opened for writing, because some systems cannot sync a file that is opened for reading.
        let file = OpenOptions::new().write(true).open(&self.path).map_err(&failed)?;
        file.sync_all().map_err(&failed)?;
        Ok(Report { rows: self.rows, bytes: file.metadata().map_err(&failed)?.len() })
    }

    pub(super) fn becomes(self, to: &Path) -> Result<()> {
        self.path.persist(to).map_err(|e| BackupError::file(to)(e.error))?;
        files::sync_directory(directory(to)).map_err(BackupError::file(to))
    }
}
