use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, ValueEnum};
use tidings_client::Address;
use tidings_core::Location;

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::settings::{self, Settings};

/// The options of every command, before or after its name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    #[arg(
        long = settings::DB,
        help = "The database: an SQLite file, or the postgres:// URL of a PostgreSQL database [default: ./tidings.db]",
        global = true,
        env = "TIDINGS_DB",
        value_name = "PATH|URL",
        hide_env_values = true
    )]
    pub(crate) db: Option<Location>,
    #[arg(
        long,
        help = "The address of a server, such as https://tidings.example.org, instead of a database: see tidings login",
        global = true,
        env = "TIDINGS_SERVER",
        value_name = "URL",
        hide_env_values = true
    )]
    pub(crate) server: Option<Address>,
    /// The sign-in on a server, instead of a database: see tidings profile list
    #[arg(long, global = true, env = "TIDINGS_PROFILE", value_name = "NAME", hide_env_values = true, add = ids(Kind::Profile))]
    pub(crate) profile: Option<String>,
    /// A TOML file with settings [default: ./tidings.toml, if it exists]
    #[arg(long, global = true, env = "TIDINGS_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print one JSON object, as HTTP would send it
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print the elements of a list as one JSON object per line, each as soon as it is available
    #[arg(long, global = true, conflicts_with = "json")]
    pub(crate) ndjson: bool,
    /// Act as this member, with only the member's rights
    #[arg(long = "as", global = true, value_name = "ID", add = ids(Kind::Member))]
    pub(crate) acting: Option<String>,
    #[arg(
        long,
        help = "When to use colours; auto uses them on a terminal unless NO_COLOR is set",
        global = true,
        value_name = "WHEN",
        default_value = "auto"
    )]
    pub(crate) color: Color,
}

impl Global {
    pub(crate) fn names_server(&self) -> bool {
        self.server.is_some() || self.profile.is_some()
    }

    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        Settings::default().complete(self.config.as_deref())
    }

    /// The flag or the variable takes precedence over the TOML file, and that over the default.
    pub(crate) fn location(&self, settings: &Settings) -> Location {
        self.db.clone().unwrap_or_else(|| settings.database())
    }

    /// An option takes precedence over the variables of the others, so that a script that names its database does not change a
    /// server. The error is two options that contradict each other.
    pub(crate) fn settle(&mut self, matches: &ArgMatches) -> Result<(), [&'static str; 2]> {
        let is_flag = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        let [db, server, profile] = [settings::DB, "server", "profile"].map(is_flag);
        if db && (server || profile) {
            return Err(["--db", if server { "--server" } else { "--profile" }]);
        }
        if db || (profile && !server) {
            self.server = self.server.take().filter(|_| server);
        }
        if db || (server && !profile) {
            self.profile = self.profile.take().filter(|_| profile);
        }
        Ok(())
    }
}

/// Even if clap cannot parse them.
pub(crate) fn typed_options() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1).take_while(|argument| argument != "--")
}

pub(crate) fn typed_value(flag: &str) -> Option<String> {
    let mut arguments = typed_options();
    while let Some(argument) = arguments.next() {
        match argument.to_str().and_then(|argument| argument.strip_prefix(flag)) {
            Some("") => return arguments.next()?.into_string().ok(),
            Some(rest) if rest.starts_with('=') => return Some(rest[1..].to_owned()),
            // Another option, or an argument.
            Some(_) | None => {}
        }
    }
    None
}

pub(crate) fn color() -> Color {
    let value = typed_value("--color");
    value.and_then(|value| Color::from_str(&value, false).ok()).unwrap_or(Color::Auto)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}
