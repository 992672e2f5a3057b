//! The record of the last dated backup of a database, in a file next to it (`.backup`).
//!
//! [`backup`](crate::transfer::backup) writes it; the metrics and [`check`](crate::transfer::check) read the age of the backup.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::base::atomic_file;
use crate::base::clock::Timestamp;
use crate::base::files::beside;
use crate::base::location::Location;

/// The last dated backup of a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastBackup {
    /// When it was complete and verified.
    pub at: Timestamp,
    /// The backup.
    pub file: PathBuf,
}

impl LastBackup {
    /// Returns the last dated backup of a database; `None` if there is no record of one.
    pub fn of(database: &Location) -> Option<Self> {
        serde_json::from_slice(&fs::read(record_of(database)).ok()?).ok()
    }

    /// Replaces the record of the last backup.
    ///
    /// # Errors
    /// When its file cannot be written.
    pub(crate) fn write(&self, database: &Location) -> io::Result<()> {
        let path = record_of(database);
        let mut draft = atomic_file::beside(&path, true)?;
        draft.write_all(&serde_json::to_vec(self)?)?;
        draft.persist(&path)?;
        Ok(())
    }
}

/// Returns the path of the record.
pub(crate) fn record_of(database: &Location) -> PathBuf {
    beside(&database.base(), ".backup")
}
