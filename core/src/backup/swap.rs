//! The moment in which one database takes the place of another.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::draft::Draft;
use super::{BackupError, Result, files_of};
use crate::account::{self, Operator};
use crate::clock::Clock;
use crate::files::{self, beside, directory};
use crate::store::StoreError;
use crate::store::copy::{Copied, settle};

/// Puts a draft in the place of a database; answers where that is now.
///
/// Whatever happens on the way, at the database's name is the old one or the new one, whole, and never a key or a log
/// of the other's.
pub(super) fn replace(
    operator: Operator,
    database: &Path,
    draft: Draft,
    clock: &Clock,
) -> Result<Option<PathBuf>> {
    let failed = BackupError::store(database);
    let copy = Copied::open(&draft.path).map_err(&failed)?;
    // With a key from the settings, which a restore cannot change, what was revoked would be good again otherwise.
    copy.write(|tx| account::revoke_everybodys_tokens(tx, operator)).map_err(&failed)?;
    copy.ready().map_err(&failed)?;
    draft.finished()?;
    let lock = lock_out(database)?;
    let kept = if lock.is_some() { Some(keep(database, clock)?) } else { None };
    // Before the new one is there, so that no token of the old one is ever good for it.
    for file in files_of(database).iter().skip(1) {
        remove(file)?;
    }
    draft.becomes(database)?;
    drop(lock);
    Ok(kept)
}

/// The lock that keeps everybody out of a database, all of which is in its file then; `None` when there is none.
pub(super) fn lock_out(database: &Path) -> Result<Option<File>> {
    loop {
        // What is in the log goes into the file. Where it is too damaged for that, the log is kept beside it.
        let settled = match settle(database) {
            Err(StoreError::Overloaded) => return Err(BackupError::InUse(database.to_owned())),
            settled => settled.is_ok(),
        };
        let file = match OpenOptions::new().read(true).write(true).open(database) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(BackupError::file(database))?,
        };
        if !files::lock_out_everybody(&file).map_err(BackupError::file(database))? {
            return Err(BackupError::InUse(database.to_owned()));
        }
        // Somebody may have come, written and been killed in between, or put another file there.
        let log = fs::metadata(beside(database, "-wal")).map_or(0, |about| about.len());
        let is_it = files::identity_of(&file) == files::identity(database);
        if is_it && (!settled || log == 0) {
            return Ok(Some(file));
        }
    }
}

/// Gives a database, its log and its words a second name with the time, which nothing else has; answers the name.
fn keep(database: &Path, clock: &Clock) -> Result<PathBuf> {
    let time = jiff::Timestamp::from_millisecond(clock.now().as_millis()).unwrap_or_default();
    let time = time.strftime(".%Y%m%dT%H%M%SZ").to_string();
    let mut kept = beside(database, &time);
    let mut number = 1;
    loop {
        match fs::hard_link(database, &kept) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                number += 1;
                kept = beside(database, &format!("{time}-{number}"));
            }
            linked => {
                linked.map_err(BackupError::file(&kept))?;
                break;
            }
        }
    }
    let [_, log, _, journal, _, words, _] = files_of(database);
    let [_, kept_log, _, kept_journal, _, kept_words, _] = files_of(&kept);
    for (file, kept) in [(log, kept_log), (journal, kept_journal), (words, kept_words)] {
        match fs::hard_link(&file, kept) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            linked => linked.map_err(BackupError::file(&file))?,
        }
    }
    files::sync_directory(directory(database)).map_err(BackupError::file(database))?;
    Ok(kept)
}

fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BackupError::file(file)(error)),
        _ => Ok(()),
    }
}
