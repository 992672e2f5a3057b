//! A copy on its way: written beside the file that it becomes, and checked.

use std::fs::{File, OpenOptions};
use std::path::Path;

use tempfile::TempPath;

use super::{BackupError, CancelFlag, Report, Result, Step, is_ours};
use crate::draft_file;
use crate::files::{self, directory};
use crate::store::copy::{Copied, Source};

/// A whole and checked copy that has no name of its own yet; it goes when it is dropped.
pub(super) struct Draft {
    pub(super) path: TempPath,
    rows: u64,
    /// Says that its writer lives, for as long as it is open.
    _lock: File,
}

/// Copies `source`, which is at `from`, to a file beside `to`, and checks it.
pub(super) fn draft(
    to: &Path,
    source: Source,
    from: &Path,
    progress: &mut dyn FnMut(Step),
    stop: &CancelFlag,
) -> Result<Draft> {
    let directory = directory(to);
    let needed = source.bytes().map_err(BackupError::store(from))?;
    if let Some(free) = files::free_bytes(directory).filter(|free| *free < needed) {
        return Err(BackupError::NoRoom { directory: directory.to_owned(), needed, free });
    }
    remove_strays(directory);
    let (lock, path) = draft_file::beside(to, true).map_err(BackupError::file(directory))?.into_parts();
    source.copy(&path, progress, stop).map_err(BackupError::store(to))?;
    let read = source.rows().map_err(BackupError::store(from))?;
    // Its moment ends here: as long as it is read, the write-ahead log cannot begin anew.
    drop(source);
    progress(Step::Checking);
    let checked = Copied::open(&path).and_then(|mut copy| copy.check(stop));
    let rows = checked.map_err(BackupError::store(from))?;
    if stop.is_set() {
        return Err(BackupError::Stopped);
    }
    if rows == read {
        return Ok(Draft { path, rows, _lock: lock });
    }
    let fault = format!("it has {rows} rows where {read} were read");
    Err(BackupError::Damaged { path: to.to_owned(), fault })
}

/// Removes the copies in a directory that were never finished and that nobody writes any more, whatever name they were
/// for: backups often have the day in their names.
pub(super) fn remove_strays(directory: &Path) {
    draft_file::remove_strays(directory, |entry| {
        entry.file_type().is_ok_and(|kind| kind.is_file()) && is_ours(&entry.path())
    });
}

impl Draft {
    /// Puts it on disk.
    pub(super) fn finished(&self) -> Result<Report> {
        let failed = BackupError::file(&self.path);
        // Opened to write, for not every system puts on disk what was opened to read.
        let file = OpenOptions::new().write(true).open(&self.path).map_err(&failed)?;
        file.sync_all().map_err(&failed)?;
        Ok(Report { rows: self.rows, bytes: file.metadata().map_err(&failed)?.len() })
    }

    /// Gives it its name.
    pub(super) fn becomes(self, to: &Path) -> Result<()> {
        self.path.persist(to).map_err(|e| BackupError::file(to)(e.error))?;
        files::sync_directory(directory(to)).map_err(BackupError::file(to))
    }
}
