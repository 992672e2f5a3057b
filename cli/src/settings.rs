//! A flag takes precedence over its `TIDINGS_…` variable, then the TOML file, then the default. The types of the settings declare
//! them as arguments of clap: those of the core, of the server and of the command line ([`Own`]). A setting that is given is a text
//! with its source, and clap parses the texts that are in force.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use tidings_core::Location;
use tidings_core::config::value::socket_address;
use tidings_core::config::{Config, Invalid, Secret};
use tidings_core::location::masked;
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

mod file;
mod names;
#[cfg(test)]
mod tests;

pub(crate) use file::found;
pub(crate) use names::removed_flag;

/// Of the flag that every command has, and its default.
pub(crate) const DB: &str = "db";
pub(crate) const DATABASE: &str = "./tidings.db";
/// Only a variable can hold these. With their help.
pub(crate) const SECRETS: [(&str, &str); 3] = [
    ("token-key", "The key that signs access tokens, at least 32 bytes, instead of token-key-file"),
    ("token-key-previous", "A second key, whose tokens are accepted too, instead of token-key-previous-file"),
    ("oidc-client-secret", "The secret of this service at the issuer, instead of oidc-client-secret-file"),
];

#[derive(Args)]
#[group(skip)]
pub(crate) struct Own {
    /// The address to listen on.
    #[arg(long, value_name = "ADDR", value_parser = socket_address, default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// The form of the log on standard error.
    #[arg(long, default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// The messages in the log, as in `RUST_LOG`, which takes precedence.
    #[arg(long, value_name = "LEVEL", value_parser = LogLevel::parse, default_value = "info")]
    pub(crate) log_level: LogLevel,
}

const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// A level, or directives of `tracing_subscriber`'s [`EnvFilter`].
#[derive(Clone)]
pub(crate) struct LogLevel(String);

impl LogLevel {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        // `EnvFilter` takes a word that is no level for the name of a module, and then logs nothing else.
        let is_level = |word: &str| LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level));
        let is_directive = |part: &str| match part.rsplit_once('=') {
            Some((module, level)) => !module.is_empty() && module.trim() == module && is_level(level),
            None => is_level(part),
        };
        // Spans and fields have a syntax of their own: `[span{field=value}]=debug`.
        let is_valid = text.split(',').all(is_directive) || text.contains(['[', '{']);
        if !is_valid || EnvFilter::builder().parse(text).is_err() {
            let rule = "must be error, warn, info, debug, trace or off, or directives such as tidings=debug";
            return Err(rule.to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn filter(&self) -> EnvFilter {
        EnvFilter::new(&self.0)
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// In the order of the help.
pub(crate) fn arguments() -> &'static [Arg] {
    static ARGUMENTS: LazyLock<Vec<Arg>> = LazyLock::new(|| {
        let of = [command::<Own>(), command::<Config>(), command::<tidings_server::Config>()];
        of.iter().flat_map(Command::get_arguments).cloned().collect()
    });
    &ARGUMENTS
}

fn command<C: Args>() -> Command {
    let command = C::augment_args(Command::new("settings")).disable_help_flag(true).no_binary_name(true);
    command.mut_args(|argument| match argument.get_action() {
        // So that a flag can turn off what a variable or the file turns on.
        ArgAction::SetTrue => argument
            .action(ArgAction::Set)
            .num_args(0..=1)
            .default_missing_value("true")
            .default_value("false")
            .hide_default_value(true),
        _ => argument,
    })
}

pub(crate) fn name(argument: &Arg) -> &str {
    argument.get_long().unwrap_or_default()
}

pub(crate) fn variable(name: &str) -> String {
    format!("TIDINGS_{}", name.replace('-', "_").to_uppercase())
}

/// A setting that is true or false, and true without a value.
pub(crate) fn is_flag(argument: &Arg) -> bool {
    argument.get_num_args() == Some((0..=1).into())
}

pub(crate) fn is_list(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Append)
}

pub(crate) fn default(argument: &Arg) -> Option<&str> {
    let values = argument.get_default_values().iter().filter_map(|value| value.to_str());
    values.into_iter().find(|value| !value.is_empty())
}

/// By name; all others have their defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    given: BTreeMap<&'static str, Given>,
    file: PathBuf,
    /// Of the TOML file's name.
    pub(crate) config: Option<Source>,
}

#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// One value, or those of a list.
    pub(crate) texts: Vec<OsString>,
    pub(crate) source: Source,
}

impl Given {
    fn text(&self) -> String {
        self.texts.join(OsStr::new(",")).to_string_lossy().into_owned()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Flag,
    Environment,
    /// The line in the TOML file.
    File(usize),
}

impl Args for Settings {
    fn augment_args(command: Command) -> Command {
        command.args(arguments())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut settings = Self::default();
        settings.update_from_arg_matches(matches)?;
        Ok(settings)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for argument in arguments() {
            let id = argument.get_id().as_str();
            if let (Some(source), Some(values)) = (source(matches, id), matches.get_raw(id)) {
                let texts = values.map(OsStr::to_owned).collect();
                self.given.insert(name(argument), Given { texts, source });
            }
        }
        // These are options of every command.
        if let (Ok(Some(database)), Some(source)) = (matches.try_get_one::<Location>(DB), source(matches, DB))
        {
            // With a masked password: the database that is opened is `Global::db`.
            self.given.insert(DB, Given { texts: vec![database.to_string().into()], source });
        }
        self.config = source(matches, "config");
        Ok(())
    }
}

fn source(matches: &ArgMatches, argument: &str) -> Option<Source> {
    // `value_source` panics if the command has no such argument.
    matches.try_contains_id(argument).ok()?;
    match matches.value_source(argument)? {
        ValueSource::CommandLine => Some(Source::Flag),
        ValueSource::EnvVariable => Some(Source::Environment),
        _ => None,
    }
}

impl Settings {
    /// Adds unset settings from the environment, and then from the TOML file.
    pub(crate) fn complete(mut self, file: Option<&Path>) -> Result<Self, Failure> {
        names::refuse_variables()?;
        for argument in arguments() {
            let Some(value) = of_environment(name(argument)) else { continue };
            let texts = match value.to_str() {
                Some(text) if is_list(argument) => text.split(',').map(OsString::from).collect(),
                _ => vec![value],
            };
            self.given.entry(name(argument)).or_insert(Given { texts, source: Source::Environment });
        }
        let (path, in_file) = file::read(file)?;
        for (name, given) in in_file {
            self.given.entry(name).or_insert(given);
        }
        Ok(Self { file: path, ..self })
    }

    pub(crate) fn given(&self, name: &str) -> Option<&Given> {
        self.given.get(name)
    }

    pub(crate) fn take(&mut self, name: &'static str, other: &Self) {
        match other.given(name) {
            Some(given) => self.given.insert(name, given.clone()),
            None => self.given.remove(name),
        };
    }

    pub(crate) fn database(&self) -> Location {
        self.given(DB).map_or_else(|| DATABASE.into(), |given| given.text().into())
    }

    /// Also checks the files with token keys, because the database may not exist yet.
    pub(crate) fn core(&self) -> Result<Config, Failure> {
        let config = self.core_with(|_| true)?;
        config.check().map_err(|invalid| self.refuse(&invalid))?;
        let keys = [
            ("token-key-file", &config.token_key, &config.token_key_file),
            ("token-key-previous-file", &config.token_key_previous, &config.token_key_previous_file),
        ];
        for (name, key, file) in keys {
            let Some(path) = file.as_ref().filter(|_| key.is_none()) else { continue };
            check_key(path).map_err(|rule| self.refuse(&Invalid { settings: vec![name], rule }))?;
        }
        Ok(config)
    }

    /// Does not check that the settings agree. `is_wanted` chooses among the settings with flags.
    pub(crate) fn core_with(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Config, Failure> {
        let config = self.parse::<Config>(is_wanted)?;
        let [token_key, token_key_previous, client_secret] = SECRETS
            .map(|(name, _)| of_environment(name).map(|secret| Secret(secret.into_encoded_bytes().into())));
        let oidc = tidings_core::config::Oidc { client_secret, ..config.oidc };
        Ok(Config { token_key, token_key_previous, oidc, ..config })
    }

    pub(crate) fn server(&self) -> Result<tidings_server::Config, Failure> {
        let config = self.parse::<tidings_server::Config>(|_| true)?;
        config.check().map_err(|invalid| self.refuse(&invalid))?;
        Ok(config)
    }

    pub(crate) fn own(&self) -> Result<Own, Failure> {
        self.parse(|_| true)
    }

    fn parse<C: Args>(&self, is_wanted: impl Fn(&str) -> bool) -> Result<C, Failure> {
        // The texts of a list are already apart.
        let command = command::<C>().mut_args(|argument| argument.value_delimiter(None::<char>));
        let names = command.get_arguments().map(name).filter(|name| is_wanted(name));
        let given = names.filter_map(|name| Some((name, self.given(name)?)));
        let texts = given.flat_map(|(name, given)| {
            let flag = OsString::from(format!("--{name}"));
            given.texts.iter().map(move |text| [&*flag, text].join(OsStr::new("=")))
        });
        let texts: Vec<OsString> = texts.collect();
        let parsed = command.try_get_matches_from(texts).and_then(|matches| C::from_arg_matches(&matches));
        parsed.map_err(|refused| self.unreadable(&refused))
    }

    fn unreadable(&self, refused: &clap::Error) -> Failure {
        let text = |kind| match refused.get(kind) {
            Some(ContextValue::String(text)) => text.as_str(),
            _ => "",
        };
        // clap names the argument in this form: `--pw-min <N>`.
        let flag = text(ContextKind::InvalidArg).split([' ', '[', '=']).next().unwrap_or_default();
        let rule = match (refused.get(ContextKind::ValidValue), refused.source()) {
            (_, Some(cause)) => cause.to_string(),
            (Some(ContextValue::Strings(valid)), None) => format!("it is one of {}", valid.join(", ")),
            _ => "it is not a value of this setting".to_owned(),
        };
        let place = self.place(flag.trim_start_matches('-')).unwrap_or_else(|| flag.to_owned());
        Failure::invalid(&masked(text(ContextKind::InvalidValue)), place, rule)
    }

    /// Names the source of the first setting in the rule that is set.
    pub(crate) fn refuse(&self, Invalid { settings, rule }: &Invalid) -> Failure {
        let Some((name, place)) = settings.iter().find_map(|name| Some((*name, self.place(name)?))) else {
            return Failure::usage(format!("{}: {rule}", settings[0]));
        };
        match self.given(name) {
            Some(given) => Failure::invalid(&masked(&given.text()), place, rule),
            None => Failure::usage(format!("{place}: {rule}")),
        }
    }

    fn place(&self, name: &str) -> Option<String> {
        let is_secret = SECRETS.iter().any(|(secret, _)| *secret == name);
        if is_secret {
            return of_environment(name).map(|_| variable(name));
        }
        Some(match self.given(name)?.source {
            Source::Flag => format!("--{name}"),
            Source::Environment => variable(name),
            Source::File(line) => file::place(&self.file, line, name),
        })
    }
}

/// An empty variable, as compose files write it, counts as not set.
pub(crate) fn of_environment(name: &str) -> Option<OsString> {
    std::env::var_os(variable(name)).filter(|value| !value.is_empty())
}

fn check_key(path: &Path) -> Result<(), String> {
    let key = std::fs::read(path).map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
    Secret(key.into()).check().map_err(|rule| format!("{}: {rule}", path.display()))
}
