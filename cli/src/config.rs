//! `tidings config`: the settings in force, and where each comes from.

use std::path::Path;
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, Command, CommandFactory as _};
use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::args::Cli;
use crate::database;
use crate::failure::Failure;
use crate::global::Global;
use crate::output::{Column, Output, Style, Table};
use crate::session::operator_only;
use crate::settings::{self, Settings};

#[derive(Serialize)]
struct Answer {
    settings: Vec<Setting>,
}

#[derive(Serialize)]
struct Setting {
    name: String,
    /// `null` where there is none.
    value: Value,
    source: Source,
}

/// Where a setting comes from.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    Flag,
    Environment,
    File,
    Default,
}

impl Source {
    const fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Default => "default",
        }
    }

    /// Where clap has an argument from, if it has one.
    fn of(matches: &ArgMatches, argument: &str) -> Option<Self> {
        match matches.value_source(argument)? {
            ValueSource::CommandLine => Some(Self::Flag),
            ValueSource::EnvVariable => Some(Self::Environment),
            _ => None,
        }
    }
}

pub(crate) fn run(global: &Global, given: Settings) -> Result<ExitCode, Failure> {
    operator_only(global.acting.is_some())?;
    let settings = given.complete(global.config.as_deref())?;
    // Settings that make no sense are told as `serve` would.
    settings.core()?;
    settings.server()?;
    let answer = Answer { settings: all(global, &settings)? };
    Output::new(global).list(&answer, &answer.settings, |page| {
        let columns = [Column::whole("Setting"), Column::text("Value"), Column::whole("From").optional()];
        let mut table = Table::new(columns);
        for Setting { name, value, source } in &answer.settings {
            let style = if *source == Source::Default { Style::Faint } else { Style::Plain };
            table.styled_row(style, [name.clone(), shown(value), source.name().to_owned()]);
        }
        page.table(&table, "There are no settings.");
    })
}

fn all(global: &Global, settings: &Settings) -> Result<Vec<Setting>, Failure> {
    // Read once more, for what was parsed says no longer where it came from.
    let matches = Cli::command().try_get_matches_from(std::env::args_os());
    let matches = matches.map_err(|e| Failure::usage(e.to_string()))?;
    let matches = matches.subcommand_matches("config").unwrap_or(&matches);
    let source = |argument: &str, name: &str| {
        let in_file = settings.is_from_file(name).then_some(Source::File);
        Source::of(matches, argument).or(in_file).unwrap_or(Source::Default)
    };
    let file = settings::found(global.config.as_deref());
    let database = database::path(global, settings);
    let mut all = vec![
        setting("config", file.as_deref().map_or(Value::Null, path), source("config", "config")),
        setting("db", path(&database), source("db", "db")),
        secret("token-key", settings::TOKEN_KEY),
        secret("token-key-previous", settings::TOKEN_KEY_PREVIOUS),
    ];
    let (mut values, mut defaults) = (settings.values()?, Settings::defaults().values()?);
    if let Some(Value::String(url)) = values.get_mut("verifier-url") {
        mask_password(url);
    }
    for argument in Settings::augment_args(Command::new("config")).get_arguments() {
        let Some(name) = argument.get_long() else { continue };
        let given = values.remove(name).filter(|value| !value.is_null());
        let value = given.or_else(|| defaults.remove(name)).unwrap_or_default();
        all.push(setting(name, value, source(argument.get_id().as_str(), name)));
    }
    Ok(all)
}

fn setting(name: &str, value: Value, source: Source) -> Setting {
    Setting { name: name.to_owned(), value, source }
}

fn path(path: &Path) -> Value {
    path.display().to_string().into()
}

/// What stands in the place of a secret.
const MASK: &str = "***";

/// A key, which only a variable gives.
fn secret(name: &str, variable: &str) -> Setting {
    match std::env::var_os(variable) {
        Some(_) => setting(name, MASK.into(), Source::Environment),
        None => setting(name, Value::Null, Source::Default),
    }
}

/// Masks the password that an address may hold.
fn mask_password(address: &mut String) {
    let Ok(mut url) = Url::parse(address) else { return };
    // An address that can have no password has none.
    if url.password().is_some() && url.set_password(Some(MASK)).is_ok() {
        *address = url.to_string();
    }
}

/// A value as people read it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
