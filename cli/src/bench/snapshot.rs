//! A temporary copy of the database, so that long reading is no work for a served one.

use tempfile::TempDir;
use tidings_core::account::{Caller, Operator};
use tidings_core::backup::{self, BackupError, CancelFlag};
use tidings_core::{Location, Tidings};

use crate::failure::{Failure, cannot_open};
use crate::steps::StepBar;
use crate::store;

/// A copy of the database of a service in a temporary directory, which only its owner can read. Dropping it removes the copy.
pub(super) struct Snapshot {
    // Declared first, so that the database is closed before its directory is removed.
    pub(super) tidings: Tidings,
    _directory: TempDir,
}

impl Snapshot {
    /// Copies the database as one snapshot. Servers and commands can use it meanwhile.
    ///
    /// # Errors
    /// When the database cannot be read, or the copy cannot be written; when `stop` is requested.
    pub(super) fn take(operator: Operator, service: &Tidings, stop: &CancelFlag) -> Result<Self, Failure> {
        let directory = tempfile::Builder::new().prefix("tidings-").tempdir();
        let directory = directory.map_err(|error| {
            Failure::system(format!(
                "cannot create a temporary directory: {error}: name another place with TMPDIR"
            ))
        })?;
        let file = directory.path().join("copy.db");
        let bar = StepBar::new();
        let copied = backup::backup(operator, service.location(), &file, &mut |step| bar.show(step), stop);
        bar.clear();
        copied.map_err(|error| explained(&error))?;
        let mut config = service.config().clone();
        // The copy has the zone of the database.
        config.analysis.timezone = None;
        let location = Location::File(file);
        let opened = Tidings::builder(location.clone()).config(config).open();
        let tidings = opened.map_err(|error| cannot_open(&location, &error))?;
        Ok(Self { tidings, _directory: directory })
    }
}

/// Returns the proof that the operator gave the command.
///
/// # Errors
/// `Not admin` for other callers.
pub(super) fn operator(caller: &Caller) -> Result<Operator, Failure> {
    caller.operator().map_err(crate::session::refused_to_members)
}

fn explained(error: &BackupError) -> Failure {
    match error {
        BackupError::Interrupted => interrupted(),
        BackupError::Copy(error) => store::explained(error),
        BackupError::NoRoom { .. } => {
            Failure::system(format!("{error}: make room, or name another place for the copy with TMPDIR"))
        }
        error => Failure::system(format!("the database cannot be copied: {error}")),
    }
}

/// Returns the failure after Ctrl-C.
pub(super) fn interrupted() -> Failure {
    Failure::interrupted("interrupted: nothing was changed")
}
