//! `tidings config`: shows the settings in force and the source of each.

use std::process::ExitCode;

use clap::{Arg, CommandFactory as _};
use serde::Serialize;
use serde_json::Value as Json;
use tidings_client::shown::escape;
use tidings_core::Location;
use tidings_core::location::MASK;
use url::Url;

use crate::args::Cli;
use crate::failure::Failure;
use crate::global::Global;
use crate::output::{self, Column, Output, Style, Table};
use crate::session::operator;
use crate::settings::{self, Given, SECRETS, Settings, arguments, name};

#[derive(Serialize)]
struct Answer {
    settings: Vec<Setting>,
}

#[derive(Serialize)]
struct Setting {
    name: &'static str,
    /// `null` if the setting has no value.
    value: Json,
    source: Source,
}

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

    const fn of(source: Option<settings::Source>) -> Self {
        match source {
            Some(settings::Source::Flag) => Self::Flag,
            Some(settings::Source::Environment) => Self::Environment,
            Some(settings::Source::File(_)) => Self::File,
            None => Self::Default,
        }
    }
}

pub(crate) fn run(global: &Global, given: Settings) -> Result<ExitCode, Failure> {
    operator(global)?;
    let settings = given.complete(global.config.as_deref())?;
    // Refuses settings that break a rule, like `serve`.
    settings.own()?;
    settings.core()?;
    settings.server()?;
    for warning in settings.warnings(&Cli::command()) {
        output::note(&escape::block(&warning));
    }
    let answer = Answer { settings: all(global, &settings) };
    Output::new(global).list(&answer, &answer.settings, |page| {
        let columns = [Column::whole("Setting"), Column::text("Value"), Column::whole("From").optional()];
        let mut table = Table::new(columns);
        for Setting { name, value, source } in &answer.settings {
            let style = if *source == Source::Default { Style::Faint } else { Style::Plain };
            let value = if value.is_null() { "none".to_owned() } else { shown(value) };
            table.styled_row(style, [(*name).to_owned(), value, source.name().to_owned()]);
        }
        page.table(&table, "There are no settings.");
    })
}

fn all(global: &Global, settings: &Settings) -> Vec<Setting> {
    let file = settings::found(global.config.as_deref());
    let config = Setting {
        name: "config",
        value: file.map_or(Json::Null, |path| path.display().to_string().into()),
        source: Source::of(settings.source_of_config()),
    };
    let given = |name| settings.given(name);
    let database = Setting {
        name: settings::DB,
        value: mask_password(settings.database().to_string()).into(),
        source: Source::of(given(settings::DB).map(|given| given.source)),
    };
    let secrets = SECRETS.map(|(name, _)| {
        let is_set = settings::of_environment(name).is_some();
        let source = is_set.then_some(settings::Source::Environment);
        let value = if is_set { MASK.into() } else { Json::Null };
        Setting { name, value, source: Source::of(source) }
    });
    let others = arguments().iter().map(|argument| Setting {
        name: name(argument),
        value: json(argument, given(name(argument))),
        source: Source::of(given(name(argument)).map(|given| given.source)),
    });
    [config, database].into_iter().chain(secrets).chain(others).collect()
}

fn json(argument: &Arg, given: Option<&Given>) -> Json {
    let given = given.map(|given| given.texts.iter().map(|text| text.to_string_lossy().into_owned()));
    let texts: Vec<String> = match given {
        Some(texts) => texts.collect(),
        None => settings::default(argument).map(str::to_owned).into_iter().collect(),
    };
    let placeholder = argument.get_value_names().and_then(|names| names.first()).map_or("", |name| name);
    match &*texts {
        _ if settings::is_list(argument) && !texts.is_empty() => texts.into(),
        [text] if settings::is_flag(argument) => (text == "true").into(),
        [text] if ["N", "X", "DAYS", "N|full|entrance"].contains(&placeholder) => {
            text.parse::<serde_json::Number>().map_or_else(|_| text.clone().into(), Json::Number)
        }
        [text] if !text.is_empty() => mask_password(text.clone()).into(),
        _ => Json::Null,
    }
}

fn mask_password(text: String) -> String {
    if let Location::Postgres(url) = Location::from(&text) {
        return url.to_string();
    }
    let Ok(mut url) = Url::parse(&text) else { return text };
    // `set_password` fails only for an address that cannot have a password.
    if url.password().is_some() && url.set_password(Some(MASK)).is_ok() { url.to_string() } else { text }
}

fn shown(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
