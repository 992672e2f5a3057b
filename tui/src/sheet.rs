//! Exports a table to a file: as JSON if the name of the file ends in `.json`, otherwise as CSV, in which a text that a
//! spreadsheet would run as a formula is prefixed with an apostrophe.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::{Error, Write as _};
use std::path::Path;

use serde_json::{Map, Value};
use tidings_core::clock::Timestamp;

use crate::ctx::Ctx;
use crate::problem::Problem;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sheet {
    pub(crate) name: String,
    pub(crate) head: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<Value>>,
}

/// The fields of a record that the API declares as times.
const TIMES: [&str; 7] =
    ["date", "next_fetch", "last_fetch", "last_success", "last_news", "failing_since", "subscribed_until"];

/// The fields of a record with these names; lists are joined.
pub(crate) fn values(names: &str, record: &Map<String, Value>, ctx: &Ctx) -> Value {
    let value = |name: &str| match record.get(name) {
        Some(Value::String(text)) if TIMES.contains(&name) => {
            Timestamp::parse(text).map_or_else(|| text.clone(), |at| ctx.stamp(at)).into()
        }
        Some(Value::Array(texts)) => {
            texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ").into()
        }
        value => value.cloned().unwrap_or_default(),
    };
    names.split(' ').map(value).collect()
}

/// Only the owner may read the file: most tables name members. Overwrites an existing file only if `replace` is set.
pub(crate) fn write(path: &Path, sheet: &Sheet, replace: bool) -> Result<(), Problem> {
    let failed = |error: Error| Problem::file("write", path, &error);
    let json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let bytes = if json { json_text(sheet) } else { csv_text(sheet) }.map_err(failed)?;
    let mut options = OpenOptions::new();
    options.write(true).create(replace).truncate(replace).create_new(!replace);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(failed)?;
    // The mode of an existing file stays until it is changed.
    #[cfg(unix)]
    if replace && file.metadata().is_ok_and(|about| about.is_file()) {
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(failed)?;
    }
    file.write_all(&bytes).map_err(failed)
}

fn csv_text(sheet: &Sheet) -> Result<Vec<u8>, Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&sheet.head)?;
    for row in &sheet.rows {
        writer.write_record(row.iter().map(|value| {
            match value {
                Value::String(text) => cell(text),
                Value::Null => Cow::default(),
                // A number cannot begin a formula.
                other => Cow::Owned(other.to_string()),
            }
            .into_owned()
        }))?;
    }
    writer.into_inner().map_err(|error| Error::other(error.to_string()))
}

/// Source: OWASP, *CSV Injection*. Excel treats the fullwidth signs of East Asian languages like the ASCII signs.
fn cell(text: &str) -> Cow<'_, str> {
    const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    if text.starts_with(FORMULA) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

fn json_text(sheet: &Sheet) -> Result<Vec<u8>, Error> {
    let object = |row: &Vec<Value>| {
        let fields = sheet.head.iter().zip(row);
        fields.map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<Map<_, _>>()
    };
    let rows: Vec<_> = sheet.rows.iter().map(object).collect();
    let mut bytes = serde_json::to_vec_pretty(&rows)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        Sheet {
            name: "notices".into(),
            head: vec!["title", "view"],
            rows: vec![vec!["도서관, \"열\"".into(), 3.into()], vec!["two\nlines".into(), Value::Null]],
        }
    }

    #[test]
    fn a_table_is_written_as_csv_or_json_and_replaces_a_file_only_on_request() {
        let dir = tempfile::tempdir().unwrap();
        let (csv, json) = (dir.path().join("a.csv"), dir.path().join("a.JSON"));
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        std::fs::write(&csv, "mine").unwrap();
        let refused = write(&csv, &sheet(), false).unwrap_err();
        assert!(refused.exists && read(&csv) == "mine", "{refused:?}");
        #[cfg(unix)]
        std::fs::set_permissions(&csv, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        write(&csv, &sheet(), true).unwrap();
        assert_eq!(read(&csv), "title,view\n\"도서관, \"\"열\"\"\",3\n\"two\nlines\",\n");
        #[cfg(unix)]
        let mode = std::os::unix::fs::MetadataExt::mode(&csv.metadata().unwrap()) & 0o777;
        #[cfg(unix)]
        assert_eq!(mode, 0o600, "only the owner reads it");
        write(&json, &sheet(), false).unwrap();
        let rows: Value = serde_json::from_str(&read(&json)).unwrap();
        assert_eq!(rows[0]["view"], 3);
        assert_eq!(rows[1], serde_json::json!({ "title": "two\nlines", "view": null }));
        assert!(!write(&dir.path().join("no/where.csv"), &sheet(), false).unwrap_err().exists);
    }

    #[test]
    fn formulas_are_escaped_in_csv_and_numbers_are_unchanged() {
        let texts = ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "＝1", "a=1", "'=1", ""];
        let written = ["'=1+1", "'+1", "'-1", "'@a", "'\t=1", "'\r=1", "'\n=1", "'＝1", "a=1", "'=1", ""];
        let sheet = Sheet {
            name: "members".into(),
            head: vec!["nickname", "n"],
            rows: texts.iter().map(|text| vec![(*text).into(), (-3).into()]).collect(),
        };
        let csv = csv_text(&sheet).unwrap();
        let mut reader = csv::Reader::from_reader(csv.as_slice());
        let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.iter().map(|row| &row[0]).collect::<Vec<_>>(), written);
        assert!(rows.iter().all(|row| &row[1] == "-3"));
        let json: Value = serde_json::from_slice(&json_text(&sheet).unwrap()).unwrap();
        assert_eq!(json[0]["nickname"], "=1+1", "JSON has it as it is");
    }
}
