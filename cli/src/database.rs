use tidings_client::shown::escape;
use tidings_core::{Builder, Location, Surface, Tidings};

use crate::failure::{Failure, cannot_open};
use crate::output;
use crate::settings::Settings;

/// A mistyped path must not create a new database.
fn check_exists(location: &Location) -> Result<(), Failure> {
    // Any error other than a missing file is reported when the database is opened.
    let Some(path) = location.file().filter(|path| matches!(path.try_exists(), Ok(false))) else {
        return Ok(());
    };
    let path = path.display().to_string();
    let path = escape::line(&path);
    Err(Failure::system(format!(
        "there is no database {path}: name it with --db, or create it with tidings init"
    )))
}

pub(crate) fn open(location: &Location, settings: &Settings) -> Result<Tidings, Failure> {
    check_exists(location)?;
    create(location, settings)
}

pub(crate) fn create(location: &Location, settings: &Settings) -> Result<Tidings, Failure> {
    let opened = builder(location, settings)?.open().map_err(|error| cannot_open(location, &error))?;
    Ok(opened.through(Surface::Cli))
}

/// Ignores the time zone of the settings: the database keeps its own.
pub(crate) fn open_in_own_zone(location: &Location, settings: &Settings) -> Result<Tidings, Failure> {
    check_exists(location)?;
    let mut config = settings.core()?;
    config.analysis.timezone = None;
    let opened = operated(Tidings::builder(location).config(config)).open();
    Ok(opened.map_err(|error| cannot_open(location, &error))?.through(Surface::Cli))
}

/// Creates the file if it does not exist, and starts the background work.
pub(crate) fn start(location: &Location, settings: &Settings) -> Result<Tidings, Failure> {
    builder(location, settings)?.start().map_err(|error| cannot_open(location, &error))
}

/// Under sudo, of the account that called sudo.
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

/// The beginning of a command that a user may run next. The URL of a PostgreSQL server may have a password, so it is not repeated.
pub(crate) fn next_command(database: &Location) -> String {
    match database.file() {
        None => String::from("tidings --db \"$TIDINGS_DB\""),
        Some(path) if path.as_os_str() == "tidings.db" => String::from("tidings"),
        Some(path) => format!("tidings --db {}", quoted(&path.to_string_lossy())),
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,@%:".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_database_as_a_shell_reads_it_and_no_password() {
        let of = |location: &str| next_command(&Location::from(location));
        assert_eq!(of("tidings.db"), "tidings");
        assert_eq!(of("demo.db"), "tidings --db demo.db");
        assert_eq!(of("a b/it's.db"), r"tidings --db 'a b/it'\''s.db'");
        assert_eq!(of("postgres://ann:secret@db/tidings"), r#"tidings --db "$TIDINGS_DB""#);
    }
}
