//! Backs up and restores the database. A backup is one snapshot in one file, readable only by its owner, without the key that
//! signs tokens; it is written next to its destination, checked, and renamed. A restore keeps the old database under another name,
//! and ends all tokens, because those that were revoked after the backup would otherwise be valid again.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::account::{self, Operator};
use crate::audit::trail::Surface;
use crate::audit::trail::{Action, Entry, Origin};
pub use crate::base::cancel::CancelFlag;
use crate::base::clock::Clock;
use crate::base::files::{self, belongs, beside, files_of, same};
use crate::base::location::Location;
pub use crate::base::step::Step;
use crate::store::copy::Source;
use crate::store::{SCHEMA_VERSION, StoreError, Tx};
use crate::transfer::copy::{self, CopyError};

mod draft;
mod revoked;
mod swap;
#[cfg(test)]
mod tests;

use draft::{Draft, draft};
pub use revoked::RevokedAgain;

/// The size of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Rows of all tables together.
    pub rows: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The size of the restored database.
    #[serde(flatten)]
    pub report: Report,
    /// The new path of the old database; `None` when there was none.
    #[serde(skip)]
    pub previous: Option<PathBuf>,
    /// The report of restoring to a server; `None` for a file.
    #[serde(skip)]
    pub copied: Option<copy::Report>,
    /// What the old database had revoked since the backup, and what is therefore revoked again; `None` when there was no old
    /// database that could be read. Part of the JSON only if something was.
    #[serde(skip_serializing_if = "is_nothing")]
    pub revoked: Option<RevokedAgain>,
}

#[expect(clippy::ref_option, reason = "serde passes it so")]
fn is_nothing(revoked: &Option<RevokedAgain>) -> bool {
    revoked.as_ref().is_none_or(RevokedAgain::is_empty)
}

/// The error of a failed backup or restore, which has changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is no database to copy.
    #[error("there is no database {0}")]
    Missing(PathBuf),
    /// The file is not a tidings database.
    #[error("{0} is not a tidings database")]
    Foreign(PathBuf),
    /// The database was written by a newer program.
    #[error(
        "{path} has schema version {found}, and this program supports {SCHEMA_VERSION}: use the newer program"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: i64,
    },
    /// The database or its copy is damaged.
    #[error("{path} is damaged: {fault}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// SQLite's message.
        fault: String,
    },
    /// A process has the database open.
    #[error("{0} is in use by another process")]
    InUse(PathBuf),
    /// The backup is the database itself or one of its files.
    #[error("{0} is the database itself, or one of its files")]
    Itself(PathBuf),
    /// A file that is not a backup is at the destination.
    #[error("{0} already exists and is not a backup of tidings, or was opened as a database since")]
    Occupied(PathBuf),
    /// There is something other than a file, such as a pipe.
    #[error("{0} is not a file")]
    NotAFile(PathBuf),
    /// There is too little space for a copy.
    #[error("{} has space for {free} bytes, and {needed} are needed", .directory.display())]
    NoRoom {
        /// The directory of the copy.
        directory: PathBuf,
        /// The bytes of the copy.
        needed: u64,
        /// The bytes that are free.
        free: u64,
    },
    /// The caller cancelled the operation.
    #[error("the operation was cancelled")]
    Interrupted,
    /// A file could not be read or written.
    #[error("{path}: {cause}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
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
    /// A database on a server could not be copied to a file, or a file to a server.
    #[error(transparent)]
    Copy(#[from] CopyError),
}

type Result<T, E = BackupError> = std::result::Result<T, E>;

impl BackupError {
    /// About `path`.
    fn store(path: &Path) -> impl Fn(StoreError) -> Self {
        move |cause| match cause {
            StoreError::Interrupted => Self::Interrupted,
            StoreError::Foreign => Self::Foreign(path.to_owned()),
            StoreError::Damaged(fault) => Self::Damaged { path: path.to_owned(), fault },
            cause => Self::Store { path: path.to_owned(), cause },
        }
    }

    fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        move |cause| Self::File { path: path.to_owned(), cause }
    }
}

/// Copies the database at `database` to the file `to`. Other processes may read and write it during the copy.
///
/// An earlier backup at `to` is replaced atomically by the complete new one; any other file is left unchanged.
/// `progress` is called with the progress.
///
/// # Errors
/// When there is no database or too little space; when a file that is not a backup is at `to`; when the disk or the
/// server fails; when the copy differs from the database; when `stop` is requested. On error the file at `to` is
/// unchanged.
pub fn backup(
    _: Operator,
    database: &Location,
    to: &Path,
    progress: &mut dyn FnMut(Step),
    stop: &CancelFlag,
) -> Result<Report> {
    write_backup(database, to, Form::AsStored, progress, stop)
}

/// Does the same as [`backup`], and leaves out what SQLite keeps of deleted rows in unused parts of the file. It takes about
/// twice the time and, meanwhile, the space. A backup of a database on a server never has deleted rows.
///
/// # Errors
/// Those of [`backup`].
pub fn backup_compact(
    _: Operator,
    database: &Location,
    to: &Path,
    progress: &mut dyn FnMut(Step),
    stop: &CancelFlag,
) -> Result<Report> {
    write_backup(database, to, Form::Compact, progress, stop)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Copies unused pages too.
    AsStored,
    Compact,
}

fn write_backup(
    database: &Location,
    to: &Path,
    form: Form,
    progress: &mut dyn FnMut(Step),
    stop: &CancelFlag,
) -> Result<Report> {
    let draft = match database {
        Location::File(database) => {
            let source = open(database)?;
            let to = resolved(to)?;
            replaceable(database, &to)?;
            draft(&to, source, database, form, progress, stop)?
        }
        Location::Postgres(_) => {
            let to = resolved(to)?;
            replaceable(&database.stem(), &to)?;
            remove_strays(&to);
            Draft::copied(copy::draft(database, &to, progress, stop)?)?
        }
    };
    let report = draft.finished()?;
    draft.becomes(&resolved(to)?)?;
    Ok(report)
}

/// How a restore came, for the audit trail.
#[derive(Clone, Copy)]
pub struct By<'a> {
    /// The clock of its time.
    pub clock: &'a Clock,
    /// The way in which it came.
    pub surface: Surface,
    /// The name of the operator's account on the system, if it is known.
    pub account: Option<&'a str>,
}

/// Replaces the database at `database` with a copy of the backup at `from`. Keeps an old database file under a name with
/// the time; a database on a server must have no rows.
///
/// The copy is checked first; the backup itself does not change. The schema of an older backup is updated; it
/// cannot be restored to a server. What the old database file had revoked since the backup is revoked again: API keys, rights of
/// administrators, scopes of roles, and webhooks; and members whom it had blacklisted are blacklisted. The audit trail of the
/// database tells of the restore, and `by` whom it was made. `progress` is called with the progress.
///
/// # Errors
/// When `from` is damaged, not a tidings database, or newer than this program; when a process has the database file
/// open; when there is too little space or the disk or the server fails; when `stop` is requested. On error the database
/// file is unchanged, and the database on a server is empty or marked as incomplete.
pub fn restore(
    operator: Operator,
    database: &Location,
    from: &Path,
    by: By<'_>,
    progress: &mut dyn FnMut(Step),
    stop: &CancelFlag,
) -> Result<Restored> {
    let source = open(from)?;
    let found = source.schema_version().map_err(BackupError::store(from))?;
    if found > SCHEMA_VERSION {
        return Err(BackupError::Newer { path: from.to_owned(), found });
    }
    let named = database.stem();
    let database = match database {
        Location::File(database) => &resolved(database)?,
        Location::Postgres(_) => {
            let failed = BackupError::store(from);
            let report =
                Report { rows: source.rows().map_err(&failed)?, bytes: source.bytes().map_err(&failed)? };
            drop(source);
            let last: copy::Last<'_> = &|tx| finish(tx, operator, by);
            let copied = copy::restore(from, database, last, progress, stop)?;
            return Ok(Restored { report, previous: None, copied: Some(copied), revoked: None });
        }
    };
    if files_of(database).iter().any(|file| same(file, from)) {
        return Err(BackupError::Itself(from.to_owned()));
    }
    if fs::metadata(database).is_ok_and(|about| about.len() > 0) && !is_ours(database) {
        return Err(BackupError::Foreign(database.clone()));
    }
    // An early check, before the copying; `swap::replace` checks again.
    drop(swap::lock_out(database)?);
    let draft = draft(database, source, from, Form::AsStored, progress, stop)?;
    let report = draft.finished()?;
    let (previous, revoked) = swap::replace(operator, database, draft, by)?;
    // An earlier version may have stored a key beside a link to the database.
    if named.is_symlink() {
        let key = files::key_file(&named);
        for key in [files::previous_key_file(&key), key] {
            swap::remove(&key)?;
        }
    }
    Ok(Restored { report, previous, copied: None, revoked })
}

/// Revokes all tokens of a restored database, because tokens that were revoked after the backup would otherwise be valid again,
/// and records the restore.
fn finish(tx: &mut dyn Tx, operator: Operator, by: By<'_>) -> Result<(), StoreError> {
    account::revoke_everybodys_tokens(tx, operator)?;
    operator.record(tx, &origin(by), Entry::new(Action::StoreRestore))
}

fn origin(By { clock, surface, account }: By<'_>) -> Origin {
    Origin { at: clock.now(), surface, operator: account.map(Into::into) }
}

fn resolved(path: &Path) -> Result<PathBuf> {
    files::resolved(path).map_err(BackupError::file(path))
}

/// A killed restore leaves an incomplete copy next to the database. A later backup or restore removes it too.
pub(crate) fn remove_strays(database: &Path) {
    let database = files::resolved(database).unwrap_or_else(|_| database.to_owned());
    draft::remove_strays(files::directory(&database));
}

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
        Ok(about) if !about.is_file() => return Err(BackupError::NotAFile(path.to_owned())),
        Ok(_) => {}
    }
    Source::open(path).map_err(BackupError::store(path))
}

/// Only a backup may be replaced.
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
    if !about.is_file() {
        return Err(BackupError::NotAFile(to.to_owned()));
    }
    // A log next to the file means that a process has it open. SQLite would later use this log for the new file.
    if fs::exists(beside(to, "-wal")).unwrap_or(true) || fs::exists(beside(to, "-journal")).unwrap_or(true) {
        return Err(BackupError::InUse(to.to_owned()));
    }
    if about.len() == 0 && about.is_file() || is_backup(to) {
        return Ok(());
    }
    Err(BackupError::Occupied(to.to_owned()))
}

fn is_ours(path: &Path) -> bool {
    head(path).is_some_and(|head| crate::store::is_head_of_ours(&head))
}

/// Opening a database, also a backup, changes its header to that of one with a write-ahead log.
fn is_backup(path: &Path) -> bool {
    head(path).is_some_and(|head| crate::store::is_head_of_ours(&head) && head[18..20] == [1, 1])
}

fn head(path: &Path) -> Option<[u8; 72]> {
    let mut head = [0; 72];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).ok()?;
    Some(head)
}
