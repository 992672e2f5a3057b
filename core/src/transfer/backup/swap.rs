use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::draft::Draft;
use super::revoked::{RevokedAgain, revoke_again};
use super::{BackupError, By, CancelFlag, Result};
use crate::account::Operator;
use crate::base::clock::Clock;
use crate::base::files::{self, beside, directory, files_of};
use crate::store::InspectedFile;
use crate::store::copy::{Copied, settle};
use crate::store::{SCHEMA_VERSION, StoreError};

/// Returns the new path of the old database, and what it had revoked since the draft. At every point, even after a crash, there is
/// a complete database at the path, old or new, and never together with the key or the log of the other.
pub(super) fn replace(
    operator: Operator,
    database: &Path,
    draft: Draft,
    by: By<'_>,
) -> Result<(Option<PathBuf>, Option<RevokedAgain>)> {
    let failed = BackupError::store(database);
    let mut copy = Copied::open(&draft.path).map_err(&failed)?;
    copy.migrate().map_err(&failed)?;
    // Needed if the key comes from the settings: a restore cannot change it, and revoked tokens would be valid again.
    let mut revoked = None;
    // An old database that cannot be read, perhaps the reason for the restore, shows no revocations.
    let old = InspectedFile::open(database, &CancelFlag::default()).ok();
    let old = old.filter(|old| old.schema_version().is_ok_and(|version| version == SCHEMA_VERSION));
    if let Some(old) = old {
        let again = copy.write(|tx| {
            revoked = Some(revoke_again(tx, &old, operator, &super::origin(by))?);
            Ok::<_, StoreError>(())
        });
        if again.is_err() {
            revoked = None;
        }
    }
    copy.write(|tx| super::finish(tx, operator, by)).map_err(&failed)?;
    copy.ready().map_err(&failed)?;
    draft.finished()?;
    let lock = lock_out(database)?;
    let kept = if lock.is_some() { Some(link_old(database, by.clock)?) } else { None };
    // The old key is removed before the new database is in place, so that no old token is ever valid for it.
    for file in files_of(database).iter().skip(1) {
        remove(file)?;
    }
    if lock.is_some() {
        // The administrator who restores is seldom the user of the service, who must be able to open the database.
        files::give_to_owner_of(database, &draft.path).map_err(BackupError::file(&draft.path))?;
    }
    draft.becomes(database)?;
    drop(lock);
    Ok((kept, revoked))
}

/// Locks the database exclusively, and copies its log into the file. Returns `None` if there is no database.
pub(super) fn lock_out(database: &Path) -> Result<Option<File>> {
    loop {
        // If the database is so damaged that its log cannot be copied into it, the log stays next to it.
        let settled = match settle(database) {
            Err(StoreError::Overloaded) => return Err(BackupError::InUse(database.to_owned())),
            settled => settled.is_ok(),
        };
        let file = match OpenOptions::new().read(true).write(true).open(database) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(BackupError::file(database))?,
        };
        if !files::lock_exclusively(&file).map_err(BackupError::file(database))? {
            return Err(BackupError::InUse(database.to_owned()));
        }
        // Before the lock, another process may have written and been killed, or replaced the file.
        let log = fs::metadata(beside(database, "-wal")).map_or(0, |about| about.len());
        let is_it = files::identity_of(&file) == files::identity(database);
        if is_it && (!settled || log == 0) {
            return Ok(Some(file));
        }
    }
}

/// Links a database and its log to unused names that contain the time, and returns the database's.
fn link_old(database: &Path, clock: &Clock) -> Result<PathBuf> {
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
    let [_, log, _, journal, ..] = files_of(database);
    let [_, kept_log, _, kept_journal, ..] = files_of(&kept);
    for (file, kept) in [(log, kept_log), (journal, kept_journal)] {
        match fs::hard_link(&file, kept) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            linked => linked.map_err(BackupError::file(&file))?,
        }
    }
    files::sync_directory(directory(database)).map_err(BackupError::file(database))?;
    Ok(kept)
}

pub(super) fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BackupError::file(file)(error)),
        _ => Ok(()),
    }
}
