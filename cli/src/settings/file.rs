use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tidings_core::location::masked;
use toml::{Spanned, Value};

use super::names::{instead_of, meant};
use super::{DB, Given, Source, arguments, is_list, name};
use crate::failure::Failure;

const FILE: &str = "tidings.toml";

/// The named file, or the default one if it exists.
pub(crate) fn found(named: Option<&Path>) -> Option<PathBuf> {
    named.map(Path::to_owned).or_else(|| Path::new(FILE).exists().then(|| PathBuf::from(FILE)))
}

type InFile = Vec<(&'static str, Given)>;

/// There are no settings in a default file that does not exist.
pub(super) fn read(named: Option<&Path>) -> Result<(PathBuf, InFile), Failure> {
    let path = named.unwrap_or(Path::new(FILE)).to_owned();
    let text = match std::fs::read_to_string(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound && named.is_none() => String::new(),
        read => read.map_err(|e| Failure::usage(format!("cannot read {}: {e}", path.display())))?,
    };
    let given = from_text(&text, &path)?;
    Ok((path, given))
}

pub(super) fn place(path: &Path, line: usize, key: &str) -> String {
    format!("{}, line {line}, {key}", path.display())
}

fn from_text(text: &str, path: &Path) -> Result<InFile, Failure> {
    let values: BTreeMap<String, Spanned<Value>> = toml::from_str(text)
        .map_err(|e| Failure::usage(format!("{}: {}", path.display(), masked(&e.to_string()))))?;
    let line = |value: &Spanned<Value>| 1 + text[..value.span().start].matches('\n').count();
    let mut values: Vec<_> = values.iter().map(|(key, value)| (line(value), key, value.get_ref())).collect();
    values.sort_by_key(|(line, ..)| *line);
    let read = |(line, key, value): (usize, &String, &Value)| {
        let wrong = |what: String| Failure::usage(format!("{}, line {line}: {what}", path.display()));
        if let Some(instead) = instead_of(key) {
            return Err(wrong(format!("the setting {key:?} was removed: {instead}")));
        }
        let Some((name, is_list)) = known().find(|(name, _)| name == key) else {
            let meant = meant(key, known().map(|(name, _)| name), "");
            return Err(wrong(format!("there is no setting {key:?}{meant}")));
        };
        let texts = texts(value, is_list)
            .map_err(|rule| Failure::invalid(&masked(&value.to_string()), place(path, line, key), rule))?;
        Ok((name, Given { texts, source: Source::File(line) }))
    };
    values.into_iter().map(read).collect()
}

fn known() -> impl Iterator<Item = (&'static str, bool)> {
    let of_arguments = arguments().iter().map(|argument| (name(argument), is_list(argument)));
    of_arguments.chain([(DB, false)])
}

fn texts(value: &Value, is_list: bool) -> Result<Vec<OsString>, &'static str> {
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.into()),
        Value::Array(_) | Value::Table(_) => {
            Err(if is_list { "must be a list of texts" } else { "must be one value" })
        }
        value => Ok(value.to_string().into()),
    };
    match value {
        Value::Array(items) if is_list => items.iter().map(text).collect(),
        value => Ok(vec![text(value)?]),
    }
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
        let known = known().map(|(name, _)| name).collect::<Vec<_>>();
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

    proptest! {
        /// `PROPTEST_CASES` sets the number of files for a longer run by hand.
        #[test]
        fn any_file_is_read_or_refused_by_its_name(lines in prop::collection::vec(line(), 0..6)) {
            let (text, path) = (lines.concat(), Path::new("here.toml"));
            match from_text(&text, path) {
                Err(failure) => {
                    prop_assert!(failure.message.contains("here.toml"), "{}", failure.message);
                }
                Ok(given) => {
                    let places = given.iter().map(|(_, given)| given.source);
                    prop_assert!(places.into_iter().all(|place| matches!(place, Source::File(1..))));
                }
            }
        }
    }
}
