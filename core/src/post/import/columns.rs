//! Posts in CSV. The columns have the names of the fields.

use csv::StringRecord;
use serde::Deserialize as _;
use serde_json::Value;

use super::line::{Fields, Line, Names};
use crate::import::csv::Columns;
use crate::import::{FieldKind, LineFields as _};

pub(super) const COLUMNS: Columns = Columns {
    is_known: |name| Fields::kind(name).is_some(),
    needed: &["url"],
    missing: "the first line names the fields, and url is not among them: title,url,post,img,topic,tag,date,end_date",
};

/// An empty value is read like `null` in JSON.
pub(super) fn line(number: u64, names: &[String], values: &StringRecord) -> Result<Line, String> {
    let mut fields = serde_json::Map::new();
    for (name, written) in names.iter().zip(values) {
        let Some(kind) = Fields::kind(name) else { continue };
        let value = match (kind, written.trim()) {
            (FieldKind::LongText, _) => Value::from(written.strip_suffix('\r').unwrap_or(written)),
            (_, "") => Value::Null,
            (FieldKind::Text, value) => Value::from(value),
            (FieldKind::List, value) => Value::from(Names::split(value, &[',', ';']).0),
            (FieldKind::Count, value) => {
                let count = value.parse::<i64>();
                Value::from(count.map_err(|_| format!("{name} is a whole number, 0 to 9007199254740992"))?)
            }
        };
        fields.insert(name.clone(), value);
    }
    Line::new(number, Fields::deserialize(Value::Object(fields)).map_err(|error| error.to_string())?)
}
