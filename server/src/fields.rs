//! The fields of a request: one type for each operation, read from a JSON object or from a form.
//!
//! A form says the same as JSON in texts: a number in its digits, a list as a repeated key or as one text with
//! commas. In both, what an operation does not know is ignored, of a key that stands twice the last one
//! counts, and a body of no bytes has no fields. A field that JSON sets to `null` is not there.

use std::borrow::Cow;
use std::collections::BTreeMap;

use http::HeaderValue;
use percent_encoding::percent_decode;
use serde::de::value::{Error as ValueError, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};
use tidings_core::Error;

use crate::reply::Refusal;

/// Reads the fields of a body.
///
/// A body without a content type is JSON when it begins like an object.
///
/// # Errors
/// `unsupported media type` when it is neither JSON nor a form; `bad request` when it is not what it says, or
/// lacks a field or has one of another type.
pub(crate) fn read<T: DeserializeOwned>(
    content_type: Option<&HeaderValue>,
    body: &[u8],
) -> Result<T, Refusal> {
    let begins_as_object = || body.trim_ascii_start().starts_with(b"{");
    let read = match content_type.map(media_type) {
        _ if body.is_empty() => {
            T::deserialize(Value::Object(Map::new())).or_bad_request("a field is missing")
        }
        Some(media_type) if media_type.eq_ignore_ascii_case(b"application/json") => json(body),
        None if begins_as_object() => json(body),
        Some(media_type) if media_type.eq_ignore_ascii_case(b"application/x-www-form-urlencoded") => {
            form(body)
        }
        _ => return Err(Refusal::UnsupportedMediaType),
    };
    Ok(read?)
}

/// Reads the parameters of an address, which are written like a form.
///
/// # Errors
/// `bad request` when a parameter is of another type.
pub(crate) fn query<T: DeserializeOwned>(query: &str) -> Result<T, Error> {
    form(query.as_bytes())
}

/// A content type without its parameters.
pub(crate) fn media_type(content_type: &HeaderValue) -> &[u8] {
    let bytes = content_type.as_bytes();
    let end = bytes.iter().position(|b| *b == b';').unwrap_or(bytes.len());
    bytes[..end].trim_ascii()
}

trait OrBadRequest<T> {
    /// The value, or `bad request` by this rule: what the parser says stays with it.
    fn or_bad_request(self, rule: &'static str) -> Result<T, Error>;
}

impl<T, E> OrBadRequest<T> for Result<T, E> {
    fn or_bad_request(self, rule: &'static str) -> Result<T, Error> {
        self.map_err(|_| Error::BadRequest(rule))
    }
}

fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    // Through a map, so that a key that stands twice is no error: the last one counts, as everywhere.
    let object: Map<String, Value> =
        serde_json::from_slice(body).or_bad_request("the body is a JSON object")?;
    T::deserialize(Value::Object(object)).or_bad_request("a field is missing or of another type")
}

fn form<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    let mut fields: BTreeMap<Cow<'_, str>, Texts<'_>> = BTreeMap::new();
    for pair in body.split(|b| *b == b'&').filter(|pair| !pair.is_empty()) {
        let equals = pair.iter().position(|b| *b == b'=').unwrap_or(pair.len());
        let value = pair.get(equals + 1..).unwrap_or_default();
        fields.entry(text(&pair[..equals])?).or_default().0.push(text(value)?);
    }
    T::deserialize(MapDeserializer::<_, ValueError>::new(fields.into_iter()))
        .or_bad_request("a field is missing or of another type")
}

/// A key or a value of a form: `+` is a blank, `%` and two digits a byte of UTF-8.
///
/// Source: the WHATWG URL Standard, application/x-www-form-urlencoded parsing; it replaces what is no UTF-8,
/// we refuse it.
fn text(bytes: &[u8]) -> Result<Cow<'_, str>, Error> {
    const RULE: &str = "a form is UTF-8";
    if !bytes.contains(&b'+') {
        return percent_decode(bytes).decode_utf8().or_bad_request(RULE);
    }
    let blanks: Vec<u8> = bytes.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect();
    let text = percent_decode(&blanks).decode_utf8().or_bad_request(RULE)?;
    Ok(Cow::Owned(text.into_owned()))
}

/// The texts that a form gives for a key, in their order; at least one.
#[derive(Default)]
struct Texts<'a>(Vec<Cow<'a, str>>);

impl IntoDeserializer<'_> for Texts<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Texts<'_> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_string(self.0.pop().unwrap_or_default().into_owned())
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let number = self.0.last().and_then(|text| text.parse().ok());
        visitor.visit_i64(number.ok_or_else(|| ValueError::custom("no number"))?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let one = |text: Cow<'_, str>| text.into_owned();
        let items: Vec<String> = match self.0.as_slice() {
            [list] => {
                list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Into::into).collect()
            }
            _ => self.0.into_iter().map(one).collect(),
        };
        visitor.visit_seq(SeqDeserializer::new(items.into_iter()))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    struct Fields {
        title: Option<String>,
        activation: Option<i64>,
        tag: Option<Vec<String>>,
    }

    const JSON: &str = "application/json";
    const FORM: &str = "application/x-www-form-urlencoded";

    fn read(content_type: &str, body: impl AsRef<[u8]>) -> Result<Fields, String> {
        let content_type = HeaderValue::from_str(content_type).unwrap();
        super::read(Some(&content_type), body.as_ref()).map_err(|e| e.to_string())
    }

    fn fields(title: &str, activation: i64, tag: &[&str]) -> Fields {
        let tag = tag.iter().map(ToString::to_string).collect();
        Fields { title: Some(title.into()), activation: Some(activation), tag: Some(tag) }
    }

    #[test]
    fn a_form_says_what_json_says() {
        let expected = fields("A & B: 대학", 0, &["x", "y z"]);
        let json = r#"{"title": "A & B: 대학", "activation": 0, "tag": ["x", "y z"], "more": {"a": [1]}}"#;
        assert_eq!(read(JSON, json).unwrap(), expected);
        let title = "title=A+%26+B%3A+%EB%8C%80%ED%95%99&activation=0&more[a]=1&flag";
        for tags in ["tag=x&tag=y+z", "tag=x%2C+y+z,", "tag=,x,y%20z"] {
            assert_eq!(read(FORM, format!("{title}&{tags}")).unwrap(), expected, "{tags}");
        }
        assert_eq!(read(FORM, format!("&{title}&&tag=x&tag=y z&")).unwrap(), expected);
    }

    #[test]
    fn content_types_are_read_in_any_case_and_with_parameters() {
        let expected = fields("a", 1, &["x"]);
        let json = r#"{"title":"a","activation":1,"tag":["x"]}"#;
        for json_type in ["Application/JSON", "application/json; charset=utf-8", "application/json ;x"] {
            assert_eq!(read(json_type, json).unwrap(), expected, "{json_type}");
        }
        let form = "title=a&activation=1&tag=x";
        assert_eq!(read("application/x-www-form-urlencoded; charset=UTF-8", form).unwrap(), expected);
        assert_eq!(super::read::<Fields>(None, format!(" {json}").as_bytes()).unwrap(), expected);
        for other in ["text/plain", "multipart/form-data; boundary=x", "", "application/jsonx"] {
            assert_eq!(read(other, json).unwrap_err(), "unsupported media type", "{other}");
        }
        assert!(matches!(super::read::<Fields>(None, form.as_bytes()), Err(Refusal::UnsupportedMediaType)));
    }

    #[test]
    fn nothing_is_no_fields_and_null_is_none() {
        for (content_type, body) in [(JSON, ""), (FORM, ""), ("text/plain", ""), (JSON, "{}"), (FORM, "&")] {
            assert_eq!(read(content_type, body).unwrap(), Fields::default(), "{content_type} {body}");
        }
        assert_eq!(read(JSON, r#"{"title":null,"activation":null,"tag":null}"#).unwrap(), Fields::default());
    }

    #[test]
    fn of_a_field_that_stands_twice_the_last_counts() {
        let expected = Fields { title: Some("b".into()), ..Fields::default() };
        assert_eq!(read(JSON, r#"{"title":"a","title":"b"}"#).unwrap(), expected);
        assert_eq!(read(FORM, "title=a&title=b").unwrap(), expected);
    }

    #[test]
    fn what_is_not_what_it_says_is_refused() {
        let deep = format!(r#"{{"more":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let wrong = [
            "{",
            "[]",
            "null",
            "\"text\"",
            "{}x",
            r#"{"title":1}"#,
            r#"{"activation":"1"}"#,
            r#"{"activation":1.5}"#,
            r#"{"activation":99999999999999999999}"#,
            r#"{"activation":1e400}"#,
            r#"{"tag":"x"}"#,
            r#"{"tag":[1]}"#,
            r#"{"title":"\ud800"}"#,
            &deep,
        ];
        for body in wrong {
            assert_eq!(read(JSON, body).unwrap_err(), "bad request", "{body:.40}");
        }
        assert_eq!(read(JSON, b"{\"title\":\"\xff\"}").unwrap_err(), "bad request");
        for body in
            ["activation=", "activation=one", "activation=1.5", "title=%ff", "%ff=1", "activation=0x1"]
        {
            assert_eq!(read(FORM, body).unwrap_err(), "bad request", "{body}");
        }
        assert_eq!(read(FORM, b"title=\xff").unwrap_err(), "bad request");
    }

    #[test]
    fn what_is_no_escape_stands_for_itself() {
        assert_eq!(read(FORM, "title=100%&activation=1").unwrap().title.as_deref(), Some("100%"));
        assert_eq!(read(FORM, "title=a%00b=c").unwrap().title.as_deref(), Some("a\0b=c"));
        assert_eq!(query::<Fields>("title=%F0%9F%A6%80").unwrap().title.as_deref(), Some("🦀"));
        assert_eq!(query::<Fields>("").unwrap(), Fields::default());
    }
}
