use std::collections::BTreeMap;

use clap::{Arg, CommandFactory as _};
use serde::Serialize;
use serde_json::Value as Json;
use tidings_client::shown::escape;
use tidings_core::Location;
use tidings_core::location::MASK;
use url::Url;

use crate::args::Cli;
use crate::output;
use crate::prelude::*;
use crate::session::operator;
use crate::settings::{self, DB, Given, SECRETS, Settings, Source, arguments, name};

#[derive(Serialize)]
struct Setting {
    name: &'static str,
    /// `null` if the setting has no value.
    value: Json,
    source: &'static str,
}

const fn name_of(source: Option<Source>) -> &'static str {
    match source {
        Some(Source::Flag) => "flag",
        Some(Source::Environment) => "environment",
        Some(Source::File(_)) => "file",
        None => "default",
    }
}

pub(crate) fn run(global: &Global, given: Settings) -> Exit {
    operator(global)?;
    let settings = given.complete(global.config.as_deref())?;
    // Refuses settings that break a rule, like `serve`.
    settings.own()?;
    settings.core()?;
    settings.server()?;
    for warning in settings.warnings(&Cli::command()) {
        output::note(&escape::block(&warning));
    }
    let all = all(global, &settings);
    Output::new(global).table(
        &BTreeMap::from([("settings", &all)]),
        &all,
        "There are no settings.",
        |table| {
            table
                .whole("Setting", |setting| setting.name.to_owned())
                .text("Value", |setting| shown(&setting.value))
                .optional_whole("From", |setting| setting.source.to_owned())
                .styled(|setting| if setting.source == "default" { Style::Faint } else { Style::Plain })
        },
    )
}

fn all(global: &Global, settings: &Settings) -> Vec<Setting> {
    let setting = |name, value, source| Setting { name, value, source: name_of(source) };
    let source = |name| settings.given(name).map(|given| given.source);
    let file = settings::found(global.config.as_deref());
    let file = file.map_or(Json::Null, |path| path.display().to_string().into());
    let database = mask_password(settings.database().to_string()).into();
    let secrets = SECRETS.map(|(name, _)| match settings::of_environment(name) {
        Some(_) => setting(name, MASK.into(), Some(Source::Environment)),
        None => setting(name, Json::Null, None),
    });
    let others = arguments().iter().map(|argument| {
        let name = name(argument);
        setting(name, json(argument, settings.given(name)), source(name))
    });
    [setting("config", file, settings.config), setting(DB, database, source(DB))]
        .into_iter()
        .chain(secrets)
        .chain(others)
        .collect()
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
        Json::Null => "none".to_owned(),
        Json::String(text) => text.clone(),
        Json::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
