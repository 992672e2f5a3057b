//! The options of every command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tidings_access::Address;
use tidings_core::Location;

use crate::{raw_args, settings};

/// The options of every command, before or after its name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    #[arg(
        long = settings::DB, help = settings::help(settings::DB), global = true, env = "TIDINGS_DB",
        value_name = "PATH|URL", hide_env_values = true
    )]
    pub(crate) db: Option<Location>,
    /// The address of a server, such as <https://tidings.example.org>, instead of a database: see tidings login
    #[arg(long, global = true, env = "TIDINGS_SERVER", value_name = "URL", hide_env_values = true)]
    pub(crate) server: Option<Address>,
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
    #[arg(long = "as", global = true, value_name = "ID")]
    pub(crate) acting: Option<String>,
    /// When to use colours; auto uses them on a terminal unless `NO_COLOR` is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// Returns when to use colours, even if clap cannot parse the command line.
pub(crate) fn color() -> Color {
    const FLAG: &str = "--color";
    let mut arguments = raw_args::options();
    while let Some(argument) = arguments.next() {
        let Some(rest) = argument.to_str().and_then(|argument| argument.strip_prefix(FLAG)) else { continue };
        let value = match rest.strip_prefix('=') {
            None if rest.is_empty() => arguments.next().and_then(|value| value.into_string().ok()),
            value => value.map(str::to_owned),
        };
        return value.and_then(|value| Color::from_str(&value, false).ok()).unwrap_or(Color::Auto);
    }
    Color::Auto
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}
