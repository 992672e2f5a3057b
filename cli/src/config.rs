//! `tidings config`: shows the settings in force and the source of each.

use std::process::ExitCode;

use clap::CommandFactory as _;
use serde::Serialize;
use serde_json::Value as Json;
use tidings_client::shown::escape;
use tidings_core::Location;
use tidings_core::config::setting::{Form, MASK, Value};
use url::Url;

use crate::args::Cli;
use crate::failure::Failure;
use crate::global::Global;
use crate::output::{self, Column, Output, Style, Table};
use crate::session::operator;
use crate::settings::{self, ENTRIES, Settings};

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

/// The source of a setting.
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
            let unset =
                || ENTRIES.iter().find(|entry| entry.about.name == *name).map(|entry| entry.about.unset);
            let value = match value {
                Json::Null => unset().filter(|words| !words.is_empty()).unwrap_or("none").to_owned(),
                value => shown(value),
            };
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
    // The settings without a flag of this command come first.
    let (flags, others): (Vec<_>, Vec<_>) = ENTRIES.iter().partition(|entry| entry.is_flag());
    let entries = others.into_iter().chain(flags).map(|entry| {
        let given = settings.given(entry.about.name);
        let value = given.map(|given| &given.value).or(entry.default.as_ref());
        Setting {
            name: entry.about.name,
            value: value.map_or(Json::Null, |value| json(entry.about.form, value)),
            source: Source::of(given.map(|given| given.source)),
        }
    });
    std::iter::once(config).chain(entries).collect()
}

fn json(form: Form, value: &Value) -> Json {
    match value {
        Value::Bool(on) if form == Form::Flag => (*on).into(),
        Value::Whole(n) if *n > 0 || !matches!(form, Form::WholeOrOff(_)) => (*n).into(),
        Value::Number(x) => (*x).into(),
        Value::List(texts) => texts.clone().into(),
        value => mask_password(form.text(value)).into(),
    }
}

/// Masks the password in an address.
fn mask_password(text: String) -> String {
    if let Location::Postgres(url) = Location::from(&text) {
        return url.to_string();
    }
    let Ok(mut url) = Url::parse(&text) else { return text };
    // `set_password` fails only for an address that cannot have a password.
    if url.password().is_some() && url.set_password(Some(MASK)).is_ok() { url.to_string() } else { text }
}

/// Returns a value as people read it.
fn shown(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
