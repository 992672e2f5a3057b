//! Defines the flags and the environment variables of the settings.

use std::error::Error as _;
use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser as _, ValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use tidings_core::Location;
use tidings_core::config::Secret;
use tidings_core::config::setting::{Form, Value};
use tidings_core::location::masked;

use super::{DB, ENTRIES, Entry, Given, Settings, Source};
use crate::failure::Failure;
use crate::given;
use crate::raw_args;

impl Args for Settings {
    fn augment_args(command: Command) -> Command {
        command.args(ENTRIES.iter().filter(|entry| entry.is_flag()).map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn argument(entry: &Entry) -> Arg {
    let about = entry.about;
    let placeholder = match about.placeholder {
        "" => about.name.replace('-', "_").to_uppercase(),
        placeholder => placeholder.to_owned(),
    };
    let argument = Arg::new(about.name).long(about.name).value_name(placeholder).help(entry.help());
    // An empty variable, as compose files write it, counts as not set.
    let is_empty = std::env::var_os(about.variable()).is_some_and(|value| value.is_empty());
    let argument = if is_empty { argument } else { argument.env(OsString::from(about.variable())) };
    let argument = match entry.heading {
        _ if entry.is_experimental() => argument.help_heading(entry.heading).hide_short_help(true),
        "" => argument,
        heading => argument.help_heading(heading),
    };
    let words = |words: &'static [&str]| -> ValueParser {
        PossibleValuesParser::new(words).try_map(move |word| about.form.parse(&word)).into()
    };
    match about.form {
        Form::Flag => {
            argument.num_args(0..=1).default_missing_value("true").value_parser(words(&["true", "false"]))
        }
        Form::Switch => argument.value_parser(words(&["on", "off"])),
        Form::Choice(choice) => argument.value_parser(words(choice)),
        Form::List => argument.action(ArgAction::Append).value_delimiter(','),
        form => argument.value_parser(move |text: &str| {
            let value = form.parse(text)?;
            form.check(&value).map(|()| value)
        }),
    }
}

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut settings = Self::default();
        settings.update_from_arg_matches(matches)?;
        Ok(settings)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for entry in ENTRIES.iter().filter(|entry| entry.is_flag()) {
            let name = entry.about.name;
            let value = if entry.about.form == Form::List {
                matches.get_many::<String>(name).map(|texts| Value::List(texts.cloned().collect()))
            } else {
                matches.get_one::<Value>(name).cloned()
            };
            let given = value.and_then(|value| Some(Given { value, source: source(matches, name)? }));
            self.given.extend(given.map(|given| (name, given)));
        }
        // These are options of every command.
        if let (Ok(Some(database)), Some(source)) = (matches.try_get_one::<Location>(DB), source(matches, DB))
        {
            // With a masked password: the database that is opened is `Global::db`.
            self.given.insert(DB, Given { value: Value::Text(database.to_string()), source });
        }
        self.config = source(matches, "config");
        Ok(())
    }
}

/// Returns the source of an argument, if it is set.
fn source(matches: &ArgMatches, argument: &str) -> Option<Source> {
    // `value_source` panics if the command has no such argument.
    matches.try_contains_id(argument).ok()?;
    match matches.value_source(argument)? {
        ValueSource::CommandLine => Some(Source::Flag),
        ValueSource::EnvVariable => Some(Source::Environment),
        _ => None,
    }
}

/// Returns the settings in the environment, for a command without flags for them and for secrets.
///
/// # Errors
/// When a variable has a value of the wrong form.
pub(super) fn from_environment() -> Result<Vec<(&'static str, Given)>, Failure> {
    let matches = Settings::augment_args(Command::new("tidings")).try_get_matches_from(["tidings"]);
    let settings = matches.and_then(|matches| Settings::from_arg_matches(&matches)).map_err(|refused| {
        Failure::usage(as_variable(&refused).map_or_else(|| refused.to_string(), |(_, message)| message))
    })?;
    let mut given: Vec<_> = settings.given.into_iter().collect();
    for entry in ENTRIES.iter().filter(|entry| entry.about.form == Form::Secret) {
        if let Some(key) = std::env::var_os(entry.about.variable()) {
            let value = Value::Secret(Secret(key.into_encoded_bytes().into()));
            given.push((entry.about.name, Given { value, source: Source::Environment }));
        }
    }
    Ok(given)
}

/// Returns the message about a `TIDINGS_…` variable, if clap refused its value rather than that of a flag.
pub(crate) fn wrong_variable(refused: &clap::Error) -> Option<String> {
    let (flag, message) = as_variable(refused)?;
    let is_flag = |argument: &str| {
        argument.strip_prefix(&*flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    let given = raw_args::options().any(|argument| argument.to_str().is_some_and(is_flag));
    (!given).then_some(message)
}

/// Returns the flag of the setting whose value clap refused, and the message about its variable.
fn as_variable(refused: &clap::Error) -> Option<(String, String)> {
    let text = |kind| match refused.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    };
    // clap names the argument in this form: `--pw-min <N>`.
    let flag = text(ContextKind::InvalidArg)?.split(' ').next()?;
    let value = text(ContextKind::InvalidValue)?;
    let entry = ENTRIES.iter().find(|entry| Some(entry.about.name) == flag.strip_prefix("--"))?;
    let why = match (refused.get(ContextKind::ValidValue), refused.source()) {
        (_, Some(cause)) => cause.to_string(),
        (Some(ContextValue::Strings(valid)), None) => format!("it is one of {}", valid.join(", ")),
        _ => return None,
    };
    let place = entry.about.variable();
    Some((flag.to_owned(), format!("invalid value {} for {place}: {why}", given::shown(&masked(value)))))
}
