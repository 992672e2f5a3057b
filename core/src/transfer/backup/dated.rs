//! Dated backups: a directory with backups of a database, of which a [`Retention`] keeps some.
//!
//! The last one is on record ([`LastBackup`]), from which the metrics and [`check`](crate::transfer::check) read its age.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::{BackupError, CancelFlag, Form, Operator, Report, Result, Retention, Step, write_backup};
use crate::base::clock::{Clock, Timestamp};
use crate::base::files;
use crate::base::location::Location;
use crate::store::copy::Source;
use crate::transfer::backup::last::{LastBackup, record_of};

/// The end of the name of a dated backup.
const END: &str = ".backup";
/// The time in the name of a dated backup, in UTC. Its order is the order of time.
const TIME: &str = "%Y%m%dT%H%M%SZ";
/// The name of the file that is locked while a backup is made.
const LOCK: &str = ".tidings-backup.lock";

/// The result of a dated backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dated {
    /// The size of the backup.
    #[serde(flatten)]
    pub report: Report,
    /// The backup.
    pub file: PathBuf,
    /// The number of dated backups that are in the directory.
    pub kept: usize,
    /// The backups that were removed, the oldest first.
    pub removed: Vec<PathBuf>,
}

/// Makes a backup with the time in its name in `directory`, verifies it, and then removes the dated backups of the same
/// database that `retention` does not keep. Other files stay. `progress` is called with the progress.
///
/// # Errors
/// Those of [`backup`](super::backup); [`BackupError::Busy`] if another process makes a backup in the directory,
/// [`BackupError::JustMade`] if one was made in the same second. Nothing is removed then. When an old backup cannot be removed; the new one is complete then.
pub fn backup_dated(
    _: Operator,
    database: &Location,
    (directory, retention): (&Path, &Retention),
    clock: &Clock,
    progress: &mut dyn FnMut(Step),
    stop: &CancelFlag,
) -> Result<Dated> {
    let _lock = lock(directory)?;
    let name = Name::of(database);
    let at = clock.now();
    let file = directory.join(name.at(at));
    if file.exists() {
        return Err(BackupError::JustMade(file));
    }
    let report = write_backup(database, &file, Form::AsStored, progress, stop)?;
    verify(&file, &report)?;
    LastBackup { at: clock.now(), file: files::resolved(&file).unwrap_or_else(|_| file.clone()) }
        .write(database)
        .map_err(BackupError::file(&record_of(database)))?;
    let mut backups = name.all(directory)?;
    backups.sort();
    let times: Vec<DateTime> = backups.iter().map(|(made, _)| *made).collect();
    let mut dated = Dated { report, file, kept: 0, removed: Vec::new() };
    for ((_, path), keeps) in backups.into_iter().zip(retention.keeps(&times)) {
        // The clock may have been ahead when an older one was made, which is then the newest by its name.
        if keeps || path == dated.file {
            dated.kept += 1;
        } else {
            fs::remove_file(&path).map_err(BackupError::file(&path))?;
            dated.removed.push(path);
        }
    }
    Ok(dated)
}

/// Opens the complete backup under its own name, and counts its rows again.
fn verify(file: &Path, report: &Report) -> Result<()> {
    let rows = Source::open(file).and_then(|backup| backup.rows()).map_err(BackupError::store(file))?;
    if rows == report.rows {
        return Ok(());
    }
    let fault = format!("it has {rows} rows, and {} were written", report.rows);
    Err(BackupError::Damaged { path: file.to_owned(), fault })
}

/// The lock of a directory, which is held until it is dropped.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a program that another thread starts at this moment still has it open. If it fails, that
        // program ends the lock.
        let _ = self.0.unlock();
    }
}

/// Locks a directory.
fn lock(directory: &Path) -> Result<Lock> {
    let path = directory.join(LOCK);
    let failed = |error: io::Error| {
        // The directory is what the user has named.
        let named = if error.kind() == io::ErrorKind::NotFound { directory } else { &path };
        BackupError::file(named)(error)
    };
    let file = files::private(OpenOptions::new().write(true).create(true).truncate(false))
        .open(&path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(BackupError::Busy(directory.to_owned())),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// The names of the dated backups of a database: `tidings-20261123T215411Z.backup` for `tidings.db`.
struct Name(String);

impl Name {
    fn of(database: &Location) -> Self {
        let stem = database.stem();
        let stem = stem.file_stem().unwrap_or_default().to_string_lossy();
        Self(format!("{stem}-"))
    }

    fn at(&self, at: Timestamp) -> String {
        let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or(jiff::Timestamp::MAX);
        format!("{}{}{END}", self.0, at.to_zoned(TimeZone::UTC).strftime(TIME))
    }

    /// Returns the time in a name; `None` for any other name.
    fn time(&self, name: &str) -> Option<DateTime> {
        let time = name.strip_prefix(&self.0)?.strip_suffix(END)?;
        let made = DateTime::strptime(TIME, time).ok()?;
        // Parsing allows more than what is written, such as spaces.
        (made.strftime(TIME).to_string() == time).then_some(made)
    }

    /// Returns the dated backups in a directory, with their times.
    fn all(&self, directory: &Path) -> Result<Vec<(DateTime, PathBuf)>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(directory).map_err(BackupError::file(directory))? {
            let entry = entry.map_err(BackupError::file(directory))?;
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if let Some(made) =
                entry.file_name().to_str().and_then(|name| self.time(name)).filter(|_| is_file)
            {
                all.push((made, directory.join(entry.file_name())));
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::service::stats::Stats;
    use crate::testing::{Service, operator, service};
    use crate::transfer::check;

    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != LOCK)
            .collect();
        names.sort();
        names
    }

    /// Returns the location of the database, whose record of the last backup is next to the file: on a server, it would
    /// be in the directory of the tests.
    fn location(service: &Service) -> Location {
        service.database.location().into()
    }

    fn make(location: &Location, directory: &TempDir, clock: &Clock, retention: &str) -> Result<Dated> {
        let to = (directory.path(), &retention.parse().unwrap());
        backup_dated(operator(), location, to, clock, &mut |_| {}, &CancelFlag::default())
    }

    #[test]
    fn backups_are_made_with_their_time_and_old_ones_are_removed() {
        let service = service();
        let (location, directory) = (location(&service), tempfile::tempdir().unwrap());
        assert_eq!(LastBackup::of(&location), None);
        let clock = Clock::fixed(Timestamp::from_millis(1_700_000_000_000));
        let others = ["notes.txt", "tidings-20200101T000000Z.db", "other-20200101T000000Z.backup"];
        for name in others {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let mut last = None;
        for _ in 0..5 {
            clock.advance(DAY_MS);
            last = Some(make(&location, &directory, &clock, "2d").unwrap());
        }
        let last = last.unwrap();
        assert_eq!((last.kept, last.removed.len()), (2, 1));
        assert!(last.report.rows > 0 && last.file.exists());
        let names = names(directory.path());
        assert!(others.iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");
        assert_eq!(names.len(), others.len() + 2);
        let recorded = LastBackup::of(&location).unwrap();
        assert_eq!((recorded.at, recorded.file.file_name()), (clock.now(), last.file.file_name()));
        clock.advance(3 * DAY_MS);
        let context = || check::Context { clock: clock.clone(), ..check::Context::default() };
        let checked = || {
            let checks =
                check::check(operator(), location.clone(), &context(), &mut |_| {}, &CancelFlag::default());
            checks.unwrap().checks.into_iter().find(|check| check.name == "backup").unwrap()
        };
        let recent = checked();
        assert!(recent.ok && recent.detail.starts_with("72 hours old: "), "{recent:?}");
        clock.advance(6 * DAY_MS);
        assert!(!checked().ok);
        let stats = Stats::of(&service);
        assert!(stats.backup_age_ms.is_some());
    }

    #[test]
    fn a_backup_that_fails_removes_nothing() {
        let service = service();
        let (location, directory) = (location(&service), tempfile::tempdir().unwrap());
        let clock = Clock::fixed(Timestamp::from_millis(1_700_000_000_000));
        for _ in 0..3 {
            clock.advance(DAY_MS);
            make(&location, &directory, &clock, "9d").unwrap();
        }
        let before = names(directory.path());
        let again = make(&location, &directory, &clock, "1d");
        assert!(matches!(again, Err(BackupError::JustMade(_))), "{again:?}");
        clock.advance(DAY_MS);
        let held = lock(directory.path()).unwrap();
        let busy = make(&location, &directory, &clock, "1d");
        assert!(matches!(busy, Err(BackupError::Busy(_))), "{busy:?}");
        // As a program has it that another thread starts at this moment.
        let _inherited = held.0.try_clone().unwrap();
        drop(held);
        drop(lock(directory.path()).unwrap());
        let stop = CancelFlag::default();
        stop.set();
        let to = (directory.path(), &"1d".parse().unwrap());
        let stopped = backup_dated(operator(), &location, to, &clock, &mut |_| {}, &stop);
        stopped.unwrap_err();
        assert_eq!(names(directory.path()), before);
    }

    #[test]
    fn a_clock_that_was_ahead_costs_no_new_backup() {
        let service = service();
        let (location, directory) = (location(&service), tempfile::tempdir().unwrap());
        let clock = Clock::fixed(Timestamp::from_millis(1_900_000_000_000));
        make(&location, &directory, &clock, "1d").unwrap();
        clock.set_by(-100 * DAY_MS);
        let made = make(&location, &directory, &clock, "1d").unwrap();
        assert!(made.file.exists() && made.kept == 2, "{made:?}");
    }

    #[test]
    fn only_names_that_the_program_writes_are_dated() {
        let name = Name::of(&Location::from("/srv/campus.db"));
        let at = Timestamp::from_millis(1_700_000_000_000);
        assert_eq!(name.at(at), "campus-20231114T221320Z.backup");
        assert!(name.time(&name.at(at)).is_some());
        for other in [
            "campus-20231114T221320Z.db",
            "campus-20231114T221320.backup",
            "campus-2023-11-14.backup",
            "campus-20231314T221320Z.backup",
            "campus- 20231114T221320Z.backup",
            "other-20231114T221320Z.backup",
            "campus-20231114T221320Z.backup.part",
        ] {
            assert_eq!(name.time(other), None, "{other}");
        }
    }
}
