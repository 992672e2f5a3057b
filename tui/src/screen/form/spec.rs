//! The fields of forms, and the records of the API that they show and change.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tidings_client::shown::time;
use tidings_core::clock::Timestamp;

use crate::screen::Ctx;
use crate::widget::fields::{Field, NO, YES};
use crate::widget::input::Input;

pub(crate) type Record = Map<String, Value>;

pub(crate) fn record(of: &impl Serialize) -> Record {
    match serde_json::to_value(of) {
        Ok(Value::Object(record)) => record,
        _ => unreachable!("a record is an object"),
    }
}

/// The operation, or the part of it, that has these fields.
pub(crate) fn filled<T: DeserializeOwned>(fields: Record) -> T {
    serde_json::from_value(Value::Object(fields)).expect("the fields are those of the operation")
}

/// A field as the operation declares it.
#[derive(Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) holds: Holds,
    pub(crate) hint: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Text,
    Password,
    /// Separated by commas.
    Names,
    /// In the zone of the screens.
    Time,
    Number,
    Switch,
}

impl Spec {
    pub(crate) const fn new(
        name: &'static str,
        label: &'static str,
        holds: Holds,
        hint: &'static str,
    ) -> Self {
        Self { name, label, holds, hint }
    }

    pub(super) fn text(&self, record: &Record, ctx: &Ctx) -> String {
        match (self.holds, record.get(self.name)) {
            (Holds::Switch, value) => if value == Some(&1.into()) { YES } else { NO }.to_owned(),
            (Holds::Time, Some(Value::String(text))) => typed_time(text, ctx),
            (_, Some(Value::String(text))) => text.clone(),
            (_, Some(Value::Number(number))) => number.to_string(),
            (_, Some(Value::Array(names))) => {
                names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            _ => String::new(),
        }
    }

    pub(super) fn field(&self, text: &str) -> Field {
        match self.holds {
            Holds::Switch => Field::toggle(self.label, text == YES),
            Holds::Password => Field::new(self.label, Input::hidden(), self.hint),
            _ => Field::new(self.label, Input::new(text), self.hint),
        }
    }

    pub(super) fn value(&self, text: &str, ctx: &Ctx) -> Result<Value, &'static str> {
        Ok(match (self.holds, text.trim()) {
            (Holds::Text | Holds::Password, _) => text.into(),
            (Holds::Names, text) => {
                text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect::<Vec<_>>().into()
            }
            (Holds::Time, "") => "".into(),
            (Holds::Time, text) => {
                let at = time::parse(text, &ctx.zone);
                at.ok_or("A time looks like 2026-12-01 or 2026-12-01 09:00.")?.to_string().into()
            }
            (Holds::Number, "") => 0.into(),
            (Holds::Number, text) => text.parse::<i64>().map_err(|_| "Type a number, or nothing.")?.into(),
            (Holds::Switch, text) => u8::from(text == YES).into(),
        })
    }
}

/// The text below the fields.
pub(crate) const POST: Spec = Spec::new("post", "", Holds::Text, "");

/// In the zone of the screens, unless the time has seconds.
pub(crate) fn typed_time(text: &str, ctx: &Ctx) -> String {
    let at = Timestamp::parse(text).filter(|at| at.as_millis().rem_euclid(60_000) == 0);
    at.map_or_else(|| text.to_owned(), |at| ctx.stamp(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_typed_in_the_zone_of_the_screens() {
        let ctx = Ctx::of_tests(Timestamp::MIN);
        let of = |text: &str| Spec::new("date", "Published", Holds::Time, "now").value(text, &ctx);
        assert_eq!(of(" 2026-12-01 09:30 "), Ok("2026-12-01T00:30:00.000Z".into()));
        assert_eq!(of(""), Ok("".into()));
    }
}
