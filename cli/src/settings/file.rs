//! Reads the TOML file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tidings_core::config::setting::{Form, Value};
use tidings_core::location::masked;

use super::{ENTRIES, Entry, Given, Source};
use crate::failure::Failure;
use crate::given::similarity;

/// The path of the default TOML file.
const FILE: &str = "tidings.toml";
/// The name of the table of the experimental settings, which may also be outside it.
const EXPERIMENTAL: &str = "experimental";

/// Returns the TOML file in force: the named one, or the default one if it exists.
pub(crate) fn found(named: Option<&Path>) -> Option<PathBuf> {
    named.map(Path::to_owned).or_else(|| Path::new(FILE).exists().then(|| PathBuf::from(FILE)))
}

type InFile = Vec<(&'static str, Given)>;

/// Reads the settings of the TOML file, and returns its path with them.
///
/// # Errors
/// When the file cannot be read or has an unknown key or a value of the wrong form, with its line.
pub(super) fn read(named: Option<&Path>) -> Result<(PathBuf, InFile), Failure> {
    let (path, text) = text(named)?;
    let given = from_text(&text, &path)?;
    Ok((path, given))
}

/// Returns the path and the text of the TOML file; the text is empty if there is no default file.
///
/// # Errors
/// When the file cannot be read.
fn text(named: Option<&Path>) -> Result<(PathBuf, String), Failure> {
    let path = named.unwrap_or(Path::new(FILE)).to_owned();
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path, text)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && named.is_none() => Ok((path, String::new())),
        Err(e) => Err(Failure::usage(format!("cannot read {}: {e}", path.display()))),
    }
}

/// Returns the failure of a file that is not TOML. The error shows the line.
fn malformed(path: &Path, error: &toml::de::Error) -> Failure {
    Failure::usage(format!("{}: {}", path.display(), masked(&error.to_string())))
}

/// Returns the name of a key with its place, for messages.
pub(super) fn place(path: &Path, line: usize, key: &str) -> String {
    format!("{}, line {line}, {key}", path.display())
}

/// Returns the line of a position in a text, from 1.
fn line_at(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

/// Reads the settings in the text of the file at `path`.
fn from_text(text: &str, path: &Path) -> Result<InFile, Failure> {
    let wrong = |e: toml::de::Error| malformed(path, &e);
    let table = toml::de::DeTable::parse(text).map_err(wrong)?;
    let lines = |table: &toml::de::DeTable<'_>| -> Vec<(usize, String)> {
        let line = |key: &toml::Spanned<_>| line_at(text, key.span().start);
        table.keys().map(|key| (line(key), key.get_ref().to_string())).collect()
    };
    let mut values: BTreeMap<String, Json> = toml::from_str(text).map_err(wrong)?;
    let mut keys = lines(table.get_ref());
    if let Some(toml::de::DeValue::Table(inner)) =
        table.get_ref().get(EXPERIMENTAL).map(toml::Spanned::get_ref)
    {
        keys.retain(|(_, key)| key != EXPERIMENTAL);
        for (line, key) in lines(inner) {
            let is_twice = keys.iter().any(|(_, other)| *other == key);
            let is_known = ENTRIES.iter().any(|entry| entry.is_experimental() && entry.about.name == key);
            if is_twice || !is_known {
                let what = if is_twice { "is set twice" } else { "is no experimental setting" };
                return Err(Failure::usage(format!("{}, line {line}: {key:?} {what}", path.display())));
            }
            keys.push((line, key));
        }
        if let Some(Json::Object(inner)) = values.remove(EXPERIMENTAL) {
            values.extend(inner);
        }
    }
    keys.sort();
    let mut given = Vec::new();
    let all = || ENTRIES.iter().filter(|entry| entry.about.form != Form::Secret);
    let known = |key: &str| all().find(|entry| entry.about.name == key);
    if let Some((line, key)) = keys.iter().find(|(_, key)| known(key).is_none()) {
        let meant = nearest(key, all()).map(|known| format!("; do you mean {known}?")).unwrap_or_default();
        let path = path.display();
        return Err(Failure::usage(format!("{path}, line {line}: there is no setting {key:?}{meant}")));
    }
    for (line, key) in keys {
        let (Some(entry), Some(json)) = (known(&key), values.get(&key)) else { continue };
        let value = value(entry.about.form, json).map_err(|rule| {
            let text = json.as_str().map_or_else(|| json.to_string(), str::to_owned);
            Failure::invalid(&masked(&text), place(path, line, &key), rule)
        })?;
        given.push((entry.about.name, Given { value, source: Source::File(line) }));
    }
    Ok(given)
}

/// Converts a value to this form.
///
/// # Errors
/// The rule that the value breaks.
fn value(form: Form, json: &Json) -> Result<Value, String> {
    let rule = match (form, json) {
        (Form::Flag, Json::Bool(on)) => return Ok(Value::Bool(*on)),
        (Form::Whole(..) | Form::WholeOrOff(_) | Form::WholeOr(..), Json::Number(number))
            if number.is_u64() =>
        {
            return form.parse(&number.to_string());
        }
        (Form::Number(..), Json::Number(number)) => return form.parse(&number.to_string()),
        (
            Form::Text | Form::Switch | Form::Choice(_) | Form::WholeOrOff(_) | Form::WholeOr(..),
            Json::String(text),
        ) => return form.parse(text),
        (Form::List, Json::Array(items)) => {
            let texts: Option<Vec<_>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
            match texts {
                Some(texts) => return Ok(Value::List(texts)),
                None => "must be a list of texts",
            }
        }
        (Form::Flag, _) => "must be true or false",
        (Form::Whole(..), _) => "must be a whole number",
        (Form::WholeOrOff(_), _) => "must be a whole number, or \"off\"",
        (Form::WholeOr(_, word), _) => return Err(format!("must be a whole number, or {word:?}")),
        (Form::Number(..), _) => "must be a number",
        (Form::List, _) => "must be a list of texts",
        (Form::Text | Form::Switch | Form::Choice(_) | Form::Secret, _) => "must be a text",
    };
    Err(rule.to_owned())
}

/// Returns the known key that the user probably meant.
fn nearest(key: &str, known: impl Iterator<Item = &'static Entry>) -> Option<&'static str> {
    let similar = known.filter_map(|entry| Some((similarity(key, entry.about.name)?, entry.about.name)));
    similar.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values of every TOML type, and invalid values.
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
        let known = ENTRIES.iter().map(|entry| entry.about.name).collect::<Vec<_>>();
        let key = prop_oneof![8 => prop::sample::select(known).prop_map(str::to_owned), 1 => "[a-z-]{1,12}", 1 => ".{0,6}"];
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

    /// Returns a value in TOML syntax.
    fn toml(name: &str, value: &Value) -> String {
        let form = ENTRIES.iter().find(|entry| entry.about.name == name).unwrap().about.form;
        let value: toml::Value = match value {
            Value::Bool(on) if form == Form::Flag => (*on).into(),
            // The parser reads numbers that a `toml::Value` cannot hold.
            Value::Whole(n) => return n.to_string(),
            Value::Number(x) => (*x).into(),
            Value::List(texts) => texts.clone().into(),
            value => form.text(value).into(),
        };
        value.to_string()
    }

    #[test]
    fn experimental_settings_may_be_in_a_table_of_their_own() {
        let read = |text: &str| {
            let given =
                from_text(text, Path::new("here.toml")).map_err(|failure| failure.message().to_owned())?;
            Ok::<_, String>(given.into_iter().map(|(name, given)| (name, given.source)).collect::<Vec<_>>())
        };
        let text = "novel-weight = 1\nlearn = \"off\"\n\n[experimental]\nnear-weight = 0.5\n";
        let lines = [("novel-weight", 1), ("learn", 2), ("near-weight", 5)];
        assert_eq!(read(text), Ok(lines.map(|(name, line)| (name, Source::File(line))).to_vec()));
        for (text, refused) in [
            ("[experimental]\nlearn = \"off\"\n", "here.toml, line 2: \"learn\" is no experimental setting"),
            ("[experimental]\nnear = 1\n", "here.toml, line 2: \"near\" is no experimental setting"),
            (
                "near-weight = 1\nexperimental.near-weight = 2\n",
                "here.toml, line 2: \"near-weight\" is set twice",
            ),
            ("experimental = 1\n", "here.toml, line 1: there is no setting \"experimental\""),
        ] {
            assert_eq!(read(text), Err(refused.to_owned()), "{text}");
        }
    }

    proptest! {
        /// `PROPTEST_CASES` sets the number of files for a longer run by hand.
        #[test]
        fn any_file_is_read_or_refused_by_its_name(lines in prop::collection::vec(line(), 0..6)) {
            let (text, path) = (lines.concat(), Path::new("here.toml"));
            match from_text(&text, path) {
                Err(failure) => {
                    prop_assert!(failure.message().contains("here.toml"), "{}", failure.message());
                }
                Ok(given) => {
                    let lines = given.iter().map(|(name, given)| format!("{name} = {}\n", toml(name, &given.value)));
                    let again = from_text(&lines.collect::<String>(), path).unwrap();
                    let values = |given: InFile| -> BTreeMap<_, _> {
                        given.into_iter().map(|(name, given)| (name, given.value)).collect()
                    };
                    prop_assert_eq!(values(again), values(given));
                }
            }
        }
    }
}
