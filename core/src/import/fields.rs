//! The fields of a line: their names and types, and the errors of a line that breaks them.

use std::fmt;

use serde::de::IgnoredAny;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Text,
    /// A text whose white space counts.
    LongText,
    List,
    Count,
}

/// Declares a struct that a line is read into, and the table of its fields. Each row is the name in the input, the name in the
/// struct, the Rust type and the [`FieldKind`]. A line may leave out any field; other fields are ignored.
macro_rules! fields {
    ($(#[$all:meta])* $visibility:vis struct $fields:ident {
        $($(#[$attribute:meta])* $name:literal $field:ident: $type:ty = $kind:ident,)+
    }) => {
        $(#[$all])*
        #[derive(Default, serde::Deserialize)]
        $visibility struct $fields {
            $(
                #[serde(rename = $name)]
                $(#[$attribute])*
                pub(super) $field: Option<$type>,
            )+
        }

        impl $crate::import::LineFields for $fields {
            const KINDS: &'static [(&'static str, $crate::import::FieldKind)] =
                &[$(($name, $crate::import::FieldKind::$kind)),+];
        }
    };
}
pub(crate) use fields;

pub(crate) trait LineFields: serde::de::DeserializeOwned {
    const KINDS: &'static [(&'static str, FieldKind)];

    fn kind(name: &str) -> Option<FieldKind> {
        Self::KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }
}

impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text | Self::LongText => "a text in quotes",
            Self::List => "a list of texts in quotes",
            Self::Count => "a whole number",
        })
    }
}

impl FieldKind {
    fn fits(self, value: &serde_json::Value) -> bool {
        match self {
            _ if value.is_null() => true,
            Self::Text | Self::LongText => value.is_string(),
            Self::Count => value.is_i64(),
            Self::List => {
                value.is_string()
                    || value.as_array().is_some_and(|list| list.iter().all(serde_json::Value::is_string))
            }
        }
    }
}

/// `example` describes the form of a line. The error tells a person how to correct the line.
pub(crate) fn parse_fields<F: LineFields>(json: &[u8], example: &str) -> Result<F, String> {
    let json = json.trim_ascii();
    // Serde would also accept an array of the values.
    let object = json.starts_with(b"{").then(|| serde_json::from_slice(json));
    if let Some(Ok(fields)) = object { Ok(fields) } else { Err(explain(json, F::KINDS, example)) }
}

fn explain(json: &[u8], kinds: &[(&str, FieldKind)], example: &str) -> String {
    if std::str::from_utf8(json).is_err() {
        return "it is not UTF-8: save the file in that encoding".to_owned();
    }
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(json) {
        let reason = error.to_string();
        let (reason, column) = (reason.split(" at line ").next().unwrap_or_default(), error.column());
        return match error.line() {
            1 => format!("it is not JSON: {reason} at byte {column}"),
            line => format!("it is not JSON: {reason} in its line {line} at byte {column}"),
        };
    }
    if !json.starts_with(b"{") {
        return format!("it is not a JSON object: {example}");
    }
    let Ok(object) = serde_json::from_slice::<serde_json::Map<_, serde_json::Value>>(json) else {
        return "a field is nested too deeply: its value is a text or a list of texts".to_owned();
    };
    let wrong = kinds.iter().find(|(name, kind)| object.get(*name).is_some_and(|value| !kind.fits(value)));
    match wrong {
        Some((name, kind)) => format!("{name} is not {kind}"),
        None => "a field is given twice".to_owned(),
    }
}
