//! The database: finding it and opening it.

use tidings_core::{Builder, Location, Surface, Tidings};

use crate::failure::{Failure, cannot_open, no_database};
use crate::global::Global;
use crate::output;
use crate::settings::Settings;

/// A mistyped path must not create a new database.
pub(crate) fn open(location: &Location, settings: &Settings) -> Result<Tidings, Failure> {
    // Any error other than a missing file is reported when the database is opened.
    match location.file() {
        Some(path) if matches!(path.try_exists(), Ok(false)) => Err(no_database(path)),
        _ => create(location, settings),
    }
}

/// Like [`open`], but creates the file if it does not exist.
pub(crate) fn create(location: &Location, settings: &Settings) -> Result<Tidings, Failure> {
    let opened = builder(location, settings)?.open().map_err(|error| cannot_open(location, &error))?;
    Ok(opened.through(Surface::Cli))
}

/// Ignores the time zone of the settings: the database keeps its own.
pub(crate) fn open_in_own_zone(location: &Location, settings: &Settings) -> Result<Tidings, Failure> {
    if let Some(path) = location.file()
        && matches!(path.try_exists(), Ok(false))
    {
        return Err(no_database(path));
    }
    let mut config = settings.core()?;
    config.analysis.timezone = None;
    let opened = operated(Tidings::builder(location).config(config)).open();
    Ok(opened.map_err(|error| cannot_open(location, &error))?.through(Surface::Cli))
}

/// Creates the file if it does not exist, and starts the background work.
pub(crate) fn start(location: &Location, settings: &Settings) -> Result<Tidings, Failure> {
    builder(location, settings)?.start().map_err(|error| cannot_open(location, &error))
}

/// Returns the name of the account that runs the program; under sudo, of the account that called sudo.
pub(crate) fn account_name() -> Option<String> {
    let caller = std::env::var("SUDO_USER").ok().or_else(|| whoami::username().ok());
    caller.filter(|name| !name.trim().is_empty())
}

/// Warns when only the key of the database exists.
fn builder(location: &Location, settings: &Settings) -> Result<Builder, Failure> {
    if let Some(key) = Tidings::key_without_database(location) {
        let key = key.display();
        output::note(&format!(
            "note: there is no database {location}, but its key {key}: a new, empty database is created. If a \
             database was there before, stop this and restore a backup: tidings restore FILE"
        ));
    }
    Ok(operated(Tidings::builder(location).config(settings.core()?)))
}

fn operated(builder: Builder) -> Builder {
    match account_name() {
        Some(name) => builder.operator(&name),
        None => builder,
    }
}

/// For a command that needs no other setting.
pub(crate) fn named(global: &Global) -> Result<Location, Failure> {
    let settings = Settings::default().complete(global.config.as_deref())?;
    Ok(location(global, &settings))
}

/// The flag or the variable takes precedence over the TOML file, and that over the default.
pub(crate) fn location(global: &Global, settings: &Settings) -> Location {
    global.db.clone().unwrap_or_else(|| settings.database())
}
