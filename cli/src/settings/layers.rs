//! How flags, variables and the TOML file are laid over each other.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{Args as _, Command, Parser};
use serde_json::{Map, Value};

use super::Settings;
use crate::failure::Failure;
use crate::global;

/// The TOML file that is read where none is named.
const FILE: &str = "tidings.toml";
/// How alike a key must be to one that there is, 0 to 1, to be taken for it; clap asks the same of flags.
const ALIKE: f64 = 0.7;

/// What the TOML file gave of the settings that are in force.
#[derive(Debug, Default)]
pub(super) struct FromFile {
    path: PathBuf,
    /// The line of each key, from 1.
    lines: BTreeMap<String, usize>,
}

impl Settings {
    /// These settings, with those of the environment (for a command that has no flags for them) and then
    /// those of the TOML file in the place of what is not given.
    ///
    /// # Errors
    /// When the file cannot be read, or has an unknown key or a value of another kind, with its line.
    pub(crate) fn complete(self, file: Option<&Path>) -> Result<Self, Failure> {
        let file = read_file(file)?;
        let given = overlay(from_environment()?, &self)?;
        overlay(file, &given)
    }

    /// What `read` makes of these settings; a failure with the place in the TOML file, where that is to blame.
    ///
    /// # Errors
    /// As `read`.
    pub(super) fn read<T>(&self, read: impl Fn(&Self) -> Result<T, Failure>) -> Result<T, Failure> {
        read(self).map_err(|failure| {
            // Without which all would be well.
            let to_blame = |key: &str| self.without(key).is_ok_and(|others| read(&others).is_ok());
            let named = |key: &str| {
                let mut words = failure.message().split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
                words.any(|word| word == key)
            };
            let lines = self.file.lines.iter().map(|(key, line)| (&**key, *line));
            let mut suspects: Vec<(&str, usize)> =
                lines.filter(|(key, _)| named(key) || to_blame(key)).collect();
            suspects.sort_by_key(|(key, line)| (!(named(key) && to_blame(key)), !named(key), *line));
            match suspects.first() {
                Some((key, line)) => {
                    let place = format!("{}, line {line}, {key}", self.file.path.display());
                    failure.at(&place)
                }
                None => failure,
            }
        })
    }

    /// These settings without one of them.
    fn without(&self, key: &str) -> Result<Self, Failure> {
        let mut values = self.values()?;
        values.remove(key);
        serde_json::from_value(Value::Object(values)).map_err(|e| Failure::usage(e.to_string()))
    }

    /// Whether the TOML file gave this key, and nothing else did.
    pub(crate) fn is_from_file(&self, key: &str) -> bool {
        self.file.lines.contains_key(key)
    }

    /// Every setting by its name, `null` where it is not given.
    pub(crate) fn values(&self) -> Result<Map<String, Value>, Failure> {
        match serde_json::to_value(self) {
            Ok(Value::Object(values)) => Ok(values),
            other => Err(Failure::system(format!("the settings are no object: {other:?}"))),
        }
    }
}

/// The TOML file that is in force: the one named, else the default one, if there is one.
pub(crate) fn found(named: Option<&Path>) -> Option<PathBuf> {
    named.map(Path::to_owned).or_else(|| Path::new(FILE).exists().then(|| PathBuf::from(FILE)))
}

/// The settings that the environment gives, for a command that has no flags for them.
fn from_environment() -> Result<Settings, Failure> {
    /// No flags, only what stands behind them.
    #[derive(Parser)]
    struct Environment {
        #[command(flatten)]
        settings: Settings,
    }
    let environment = Environment::try_parse_from(["tidings"]);
    environment.map(|e| e.settings).map_err(|refused| {
        Failure::usage(as_variable(&refused).map_or_else(|| refused.to_string(), |(_, message)| message))
    })
}

/// What is wrong with a `TIDINGS_…` variable, where it is that and no flag which clap refused.
pub(crate) fn wrong_variable(refused: &clap::Error) -> Option<String> {
    let (flag, message) = as_variable(refused)?;
    let is_flag = |argument: &str| {
        argument.strip_prefix(&*flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    let given = global::given().any(|argument| argument.to_str().is_some_and(is_flag));
    (!given).then_some(message)
}

/// The flag of the setting whose value clap refused, and what is wrong with it as its variable.
fn as_variable(refused: &clap::Error) -> Option<(String, String)> {
    let text = |kind| match refused.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    };
    // Such as `--pw-min <N>`.
    let flag = text(ContextKind::InvalidArg)?.split(' ').next()?;
    let value = text(ContextKind::InvalidValue)?;
    let settings = Settings::augment_args(Command::new("settings"));
    let mut arguments = settings.get_arguments();
    let argument = arguments.find(|argument| argument.get_long() == flag.strip_prefix("--"))?;
    let variable = argument.get_env()?.display();
    let why = match (refused.get(ContextKind::ValidValue), refused.source()) {
        (_, Some(cause)) => cause.to_string(),
        (Some(ContextValue::Strings(valid)), None) => format!("it is one of {}", valid.join(", ")),
        _ => return None,
    };
    Some((flag.to_owned(), format!("{variable}: {value:?}: {why}")))
}

/// The settings of the TOML file.
fn read_file(named: Option<&Path>) -> Result<Settings, Failure> {
    let path = named.unwrap_or(Path::new(FILE));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && named.is_none() => {
            return Ok(Settings::default());
        }
        Err(e) => return Err(Failure::usage(format!("cannot read {}: {e}", path.display()))),
    };
    from_text(&text, path)
}

/// The settings in a text, which is the file's at `path`.
fn from_text(text: &str, path: &Path) -> Result<Settings, Failure> {
    let wrong = |e: toml::de::Error| Failure::usage(format!("{}: {e}", path.display()));
    let table = toml::de::DeTable::parse(text).map_err(wrong)?;
    let line = |at: usize| 1 + text[..at].matches('\n').count();
    let lines: BTreeMap<String, usize> =
        table.get_ref().keys().map(|key| (key.get_ref().to_string(), line(key.span().start))).collect();
    let known = Settings::default().values()?;
    let unknown = lines.iter().filter(|(key, _)| !known.contains_key(*key));
    if let Some((key, line)) = unknown.min_by_key(|(_, line)| **line) {
        let nearest = nearest(key, known.keys()).map(|known| format!("; do you mean {known}?"));
        let nearest = nearest.unwrap_or_default();
        return Err(Failure::usage(format!(
            "{}, line {line}: there is no setting {key:?}{nearest}",
            path.display()
        )));
    }
    let settings = toml::from_str::<Settings>(text).map_err(wrong)?;
    Ok(Settings { file: FromFile { path: path.to_owned(), lines }, ..settings })
}

/// Which of the keys that there are was probably meant.
fn nearest<'k>(key: &str, known: impl Iterator<Item = &'k String>) -> Option<&'k str> {
    let alike = known.map(|known| (strsim::jaro(key, known), &**known)).filter(|(alike, _)| *alike > ALIKE);
    alike.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, known)| known)
}

/// `base` with what `over` gives in its place.
fn overlay(base: Settings, over: &Settings) -> Result<Settings, Failure> {
    let (mut merged, given) = (base.values()?, over.values()?);
    let mut file = base.file;
    for (key, value) in given.into_iter().filter(|(_, value)| !value.is_null()) {
        file.lines.remove(&key);
        merged.insert(key, value);
    }
    let merged = serde_json::from_value(Value::Object(merged));
    merged.map(|merged| Settings { file, ..merged }).map_err(|e| Failure::usage(e.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values of every kind that TOML has, and what is none.
    const VALUES: [&str; 24] = [
        "true",
        "[]",
        "{}",
        "[\"10.0.0.0/8\"]",
        "[\"a\", 1]",
        "{ a = 1 }",
        "\"http\"",
        "\"on\"",
        "\"Asia/Seoul\"",
        "\"(\"",
        "'''",
        "\"\"\"a",
        "\"\\uD800\"",
        "0x7fffffffffffffff",
        "9223372036854775808",
        "-0",
        "1e400",
        "nan",
        "-inf",
        "1979-05-27T07:32:00Z",
        "1979-02-30",
        "[[[[[[[[",
        "1_0",
        "#",
    ];

    fn line() -> impl Strategy<Value = String> {
        let known = Settings::default().values().unwrap().keys().cloned().collect::<Vec<_>>();
        let key = prop_oneof![8 => prop::sample::select(known), 1 => "[a-z-]{1,12}", 1 => ".{0,6}"];
        let value = prop_oneof![
            prop::sample::select(&VALUES[..]).prop_map(str::to_owned),
            any::<i64>().prop_map(|number| number.to_string()),
            any::<f64>().prop_map(|number| format!("{number:?}")),
            "\"[a-z0-9.:/가]{0,12}\"",
            ".{0,10}",
        ];
        let between = prop::sample::select(&[" = ", " = ", " = ", "=", "\n= ", ".a = "][..]);
        (key, between, value).prop_map(|(key, between, value)| format!("{key}{between}{value}\n"))
    }

    proptest! {
        /// By hand with as many files as `PROPTEST_CASES` says.
        #[test]
        fn any_file_is_read_or_refused_by_its_name(lines in prop::collection::vec(line(), 0..6)) {
            let (text, path) = (lines.concat(), Path::new("here.toml"));
            let given = |text: &str| {
                let settings = from_text(text, path)?;
                let _ = settings.server();
                let mut given = settings.values()?;
                given.retain(|_, value| !value.is_null());
                Ok::<_, Failure>(given)
            };
            match given(&text) {
                Err(failure) => {
                    prop_assert!(failure.message().starts_with("here.toml"), "{}", failure.message());
                }
                Ok(settings) => {
                    let again = given(&toml::to_string(&settings).unwrap());
                    prop_assert!(again.is_ok_and(|again| again == settings));
                }
            }
        }
    }
}
