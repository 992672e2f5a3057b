//! A copy on its way: written beside the file that it becomes, and checked.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::path::Path;

use tempfile::TempPath;

use super::{BackupError, Report, Result, Step, Stop};
use crate::files::{self, directory};
use crate::store::copy::{Copied, Source};

/// A whole and checked copy that has no name of its own yet; it goes when it is dropped.
pub(super) struct Draft {
    pub(super) path: TempPath,
    rows: u64,
}

/// Copies `source`, which is at `from`, to a file beside `to`, and checks it.
pub(super) fn draft(
    to: &Path,
    source: Source,
    from: &Path,
    progress: &mut dyn FnMut(Step),
    stop: &Stop,
) -> Result<Draft> {
    let directory = directory(to);
    let needed = source.bytes().map_err(BackupError::store(from))?;
    if let Some(free) = files::free_bytes(directory).filter(|free| *free < needed) {
        return Err(BackupError::NoRoom { directory: directory.to_owned(), needed, free });
    }
    let name = to.file_name().unwrap_or_default();
    remove_strays(directory, &draft_name(name));
    // For its owner alone, whatever the mask says.
    let path = tempfile::Builder::new().prefix(&draft_name(name)).suffix(DRAFT).tempfile_in(directory);
    let path = path.map_err(BackupError::file(directory))?.into_temp_path();
    source.copy(&path, progress, stop).map_err(BackupError::store(to))?;
    let read = source.rows().map_err(BackupError::store(from))?;
    // Its moment ends here: as long as it is read, the write-ahead log cannot begin anew.
    drop(source);
    progress(Step::Checking);
    let checked = Copied::open(&path).and_then(|mut copy| copy.check(stop));
    let rows = checked.map_err(BackupError::store(from))?;
    if stop.is_asked() {
        return Err(BackupError::Stopped);
    }
    if rows == read {
        return Ok(Draft { path, rows });
    }
    let fault = format!("it has {rows} rows where {read} were read");
    Err(BackupError::Damaged { path: to.to_owned(), fault })
}

/// The end of the names of drafts.
const DRAFT: &str = ".part";
/// How long a draft that nobody writes to may lie about: a minute would do, but who knows the clock of the disk.
const STRAY_S: u64 = 60 * 60;

/// How the names of drafts of a file begin.
fn draft_name(name: &OsStr) -> OsString {
    let mut begin = OsString::from(".");
    begin.push(name);
    begin.push(".");
    begin
}

/// Removes what earlier copies that were killed have left behind, so that they do not fill the disk. What cannot be
/// removed is in nobody's way.
fn remove_strays(directory: &Path, begin: &OsStr) {
    let is_draft = |name: &OsStr| {
        let (name, begin) = (name.as_encoded_bytes(), begin.as_encoded_bytes());
        name.starts_with(begin) && name.ends_with(DRAFT.as_bytes())
    };
    let is_old = |entry: &fs::DirEntry| {
        let changed = entry.metadata().and_then(|about| about.modified());
        changed.ok().and_then(|at| at.elapsed().ok()).is_some_and(|age| age.as_secs() > STRAY_S)
    };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if is_draft(&entry.file_name()) && is_old(&entry) {
            let _ = fs::remove_file(entry.path());
        }
    }
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
