//! Copies of the database, and putting one in its place.
//!
//! A copy is of one moment, whatever is written meanwhile; it is written beside the file that it becomes, checked, and
//! renamed, so that file is always a whole one: the old or the new. It is a database as any other, in one file,
//! readable by its owner alone; the key that tokens are signed with is no part of it.
//!
//! A restore likewise puts the whole of a checked copy in the place of the old database, which is kept. For that nobody
//! may have the database open, in any process: who has is told by the locks that SQLite itself keeps on the file for as
//! long as a connection is open, which the system lets go of when a process ends, however that happens. No token from
//! before is good any more, for what was revoked since the copy was made would be valid again.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::account::Operator;
use crate::account::token::previous_file;
pub use crate::cancel::CancelFlag;
use crate::clock::Clock;
use crate::files::{self, beside, key_file};
use crate::store::copy::Source;
pub use crate::store::copy::Step;
use crate::store::{SCHEMA_VERSION, StoreError};

mod draft;
mod swap;
#[cfg(test)]
mod tests;

use draft::draft;

/// What a copy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Rows, all tables together.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// What the database holds now.
    #[serde(flatten)]
    pub report: Report,
    /// Where the database from before is; `None` when there was none.
    #[serde(skip)]
    pub kept: Option<PathBuf>,
}

/// Why nothing was copied or put in place: all is as it was.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is nothing to copy.
    #[error("there is no database {0}")]
    Missing(PathBuf),
    /// It is no database of this program.
    #[error("{0} is not a tidings database")]
    Foreign(PathBuf),
    /// It was written by a newer program.
    #[error("{path} has schema version {found}, this program knows {SCHEMA_VERSION}: use the newer program")]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: i64,
    },
    /// What was read is not whole.
    #[error("{path} is damaged: {fault}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// A process has it open.
    #[error("{0} is in use by another process")]
    InUse(PathBuf),
    /// The database would be its own copy.
    #[error("{0} is the database itself, or one of its files")]
    Itself(PathBuf),
    /// Something else would be lost.
    #[error("{0} is there already and is no backup of tidings")]
    Occupied(PathBuf),
    /// There is too little room for a copy.
    #[error("{} has room for {free} bytes, and {needed} are needed", .directory.display())]
    NoRoom {
        /// Where the copy would be.
        directory: PathBuf,
        /// The bytes of the copy.
        needed: u64,
        /// The bytes that are free.
        free: u64,
    },
    /// Whoever asked for it wanted it stopped.
    #[error("it was stopped")]
    Stopped,
    /// A file could not be read or written.
    #[error("{path}: {cause}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// SQLite could not read or write a file.
    #[error("{path}: {cause}")]
    Store {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: StoreError,
    },
}

type Result<T, E = BackupError> = std::result::Result<T, E>;

impl BackupError {
    /// An error of the store while it worked on `path`.
    fn store(path: &Path) -> impl Fn(StoreError) -> Self {
        move |cause| match cause {
            StoreError::Interrupted => Self::Stopped,
            StoreError::Foreign => Self::Foreign(path.to_owned()),
            StoreError::Damaged(fault) => Self::Damaged { path: path.to_owned(), fault },
            cause => Self::Store { path: path.to_owned(), cause },
        }
    }

    fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        move |cause| Self::File { path: path.to_owned(), cause }
    }
}

/// Copies the database at `database` to `to`, while servers and commands read and write it.
///
/// A backup that is there is replaced, at once and only by a whole one; any other file is not. `progress` is told how
/// far it is.
///
/// # Errors
/// When there is no database, no room, or a file that is no backup; when the disk fails; when what was written is not
/// what was read; when `stop` is asked. Whatever was at `to` is still there then.
pub fn backup(
    _: Operator,
    database: &Path,
    to: &Path,
    progress: &mut dyn FnMut(Step),
    stop: &CancelFlag,
) -> Result<Report> {
    let source = open(database)?;
    let to = files::resolved(to).map_err(BackupError::file(to))?;
    replaceable(database, &to)?;
    let draft = draft(&to, source, database, progress, stop)?;
    let report = draft.finished()?;
    draft.becomes(&to)?;
    Ok(report)
}

/// Puts the copy at `from` in the place of the database at `database`, which is kept under a name with the time.
///
/// The copy is checked first, and stays as it is. One of an older program is brought up to date when it is next opened.
/// `progress` is told how far it is.
///
/// # Errors
/// When `from` is no whole database of ours, or newer than this program; when a process has the database open; when
/// there is no room or the disk fails; when `stop` is asked. The database is as it was then.
pub fn restore(
    operator: Operator,
    database: &Path,
    from: &Path,
    clock: &Clock,
    progress: &mut dyn FnMut(Step),
    stop: &CancelFlag,
) -> Result<Restored> {
    let source = open(from)?;
    let found = source.schema_version().map_err(BackupError::store(from))?;
    if found > SCHEMA_VERSION {
        return Err(BackupError::Newer { path: from.to_owned(), found });
    }
    let database = &files::resolved(database).map_err(BackupError::file(database))?;
    if files_of(database).iter().any(|file| same(file, from)) {
        return Err(BackupError::Itself(from.to_owned()));
    }
    if fs::metadata(database).is_ok_and(|about| about.len() > 0) && !is_ours(database) {
        return Err(BackupError::Foreign(database.clone()));
    }
    // Told now rather than when all the work is done; looked at again then.
    drop(swap::lock_out(database)?);
    let draft = draft(database, source, from, progress, stop)?;
    let report = draft.finished()?;
    let kept = swap::replace(operator, database, draft, clock)?;
    Ok(Restored { report, kept })
}

/// Removes the unfinished copies that killed restores left beside the database, as a later backup or restore does.
pub(crate) fn remove_strays(database: &Path) {
    let database = files::resolved(database).unwrap_or_else(|_| database.to_owned());
    draft::remove_strays(files::directory(&database));
}

/// A database that is to be copied.
fn open(path: &Path) -> Result<Source> {
    match fs::metadata(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return Err(BackupError::Missing(path.to_owned()));
        }
        Err(cause) => return Err(BackupError::File { path: path.to_owned(), cause }),
        Ok(about) if about.is_dir() => {
            let cause = io::ErrorKind::IsADirectory.into();
            return Err(BackupError::File { path: path.to_owned(), cause });
        }
        Ok(_) => {}
    }
    Source::open(path).map_err(BackupError::store(path))
}

/// The database, and then the files that belong to it.
fn files_of(database: &Path) -> [PathBuf; 7] {
    let [file, log, index, journal] = ["", "-wal", "-shm", "-journal"].map(|end| beside(database, end));
    let key = key_file(database);
    let previous = previous_file(&key);
    [file, log, index, journal, key, files::word_model(database), previous]
}

/// Whether two names are of one file, there or not.
fn same(one: &Path, other: &Path) -> bool {
    one == other || files::identity(one).is_some_and(|one| files::identity(other) == Some(one))
}

/// Whether `file` is the database at `database`, or a file that belongs to it.
pub(crate) fn belongs(database: &Path, file: &Path) -> bool {
    // Where nothing can be found, nothing of ours is either.
    let (Ok(database), Ok(file)) = (files::resolved(database), files::resolved(file)) else { return false };
    files_of(&database).iter().any(|own| same(own, &file))
}

/// Refuses a place for a backup where something else is.
fn replaceable(database: &Path, to: &Path) -> Result<()> {
    if belongs(database, to) {
        return Err(BackupError::Itself(to.to_owned()));
    }
    let about = match fs::metadata(to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        about => about.map_err(BackupError::file(to))?,
    };
    if about.is_dir() {
        return Err(BackupError::File { path: to.to_owned(), cause: io::ErrorKind::IsADirectory.into() });
    }
    // A log beside it is of somebody who has it open, or would be taken for the new file's.
    if fs::exists(beside(to, "-wal")).unwrap_or(true) || fs::exists(beside(to, "-journal")).unwrap_or(true) {
        return Err(BackupError::InUse(to.to_owned()));
    }
    if about.len() == 0 && about.is_file() || is_ours(to) {
        return Ok(());
    }
    Err(BackupError::Occupied(to.to_owned()))
}

/// Whether the head of a file says that it is a database of this program.
fn is_ours(path: &Path) -> bool {
    let mut head = [0; 72];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && crate::store::is_head_of_ours(&head)
}
