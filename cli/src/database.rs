//! The database file: finding it and opening it.

use std::path::{Path, PathBuf};

use tidings_core::{Builder, Tidings};

use crate::failure::{Failure, cannot_open, no_database};
use crate::global::Global;
use crate::output;
use crate::settings::Settings;

/// Opens an existing database with these settings. A mistyped path must not create a new database.
pub(crate) fn open(path: &Path, settings: &Settings) -> Result<Tidings, Failure> {
    // Any error other than a missing file is reported when the database is opened.
    if matches!(path.try_exists(), Ok(false)) {
        return Err(no_database(path));
    }
    create(path, settings)
}

/// Opens the database as [`open`] does, creating it if it does not exist.
pub(crate) fn create(path: &Path, settings: &Settings) -> Result<Tidings, Failure> {
    builder(path, settings)?.open().map_err(|error| cannot_open(path, &error))
}

/// Opens the database for a service, creating it if it does not exist, and starts the background work.
pub(crate) fn start(path: &Path, settings: &Settings) -> Result<Tidings, Failure> {
    builder(path, settings)?.start().map_err(|error| cannot_open(path, &error))
}

/// Returns a builder with these settings, and warns when only the key of the database exists.
fn builder(path: &Path, settings: &Settings) -> Result<Builder, Failure> {
    if let Some(key) = Tidings::key_without_database(path) {
        let (path, key) = (path.display(), key.display());
        output::note(&format!(
            "tidings: there is no database {path}, but its key {key}: a new, empty database is created. If a \
             database was there before, stop this and restore a backup: tidings restore FILE"
        ));
    }
    Ok(Tidings::builder(path).config(settings.core()?))
}

/// Returns the path of the database, for commands that need no other setting.
pub(crate) fn path_of(global: &Global) -> Result<PathBuf, Failure> {
    let settings = Settings::default().complete(global.config.as_deref())?;
    Ok(path(global, &settings))
}

/// Returns the path of the database: from the flag or the variable, otherwise from the TOML file, otherwise the
/// default.
pub(crate) fn path(global: &Global, settings: &Settings) -> PathBuf {
    global.db.clone().unwrap_or_else(|| settings.database())
}
