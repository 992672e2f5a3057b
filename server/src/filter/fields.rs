//! [`tidings_core::operation`] says which field is where. In a query and in a form fields are text: a number in digits, a list as
//! a repeated key or as one text with commas. In every format unknown fields are ignored, the last value of a repeated key counts,
//! an empty body has no fields, and a JSON field that is `null` is missing.

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;
use http::HeaderValue;
use percent_encoding::percent_decode;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;
use tidings_core::Error;
use tidings_core::error::{Code, Problem};
use tidings_core::operation::{QUERY, REST, Spec};

use crate::filter::reply::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Form,
}

impl Format {
    /// Without a content type, a body is JSON if it begins with `{`, or if it is empty.
    pub(crate) fn of(content_type: Option<&HeaderValue>, body: &[u8]) -> Result<Self, Refusal> {
        let is = |media_type: &[u8], name: &str| media_type.eq_ignore_ascii_case(name.as_bytes());
        match content_type.map(media_type) {
            _ if body.is_empty() => Ok(Self::Json),
            Some(media_type) if is(media_type, "application/json") => Ok(Self::Json),
            None if body.trim_ascii_start().starts_with(b"{") => Ok(Self::Json),
            Some(media_type) if is(media_type, "application/x-www-form-urlencoded") => Ok(Self::Form),
            _ => Err(Refusal::UnsupportedMediaType),
        }
    }
}

pub(crate) fn media_type(content_type: &HeaderValue) -> &[u8] {
    let bytes = content_type.as_bytes();
    let end = bytes.iter().position(|b| *b == b';').unwrap_or(bytes.len());
    bytes[..end].trim_ascii()
}

pub(crate) fn charset(content_type: &HeaderValue) -> Option<&str> {
    let parameters = content_type.to_str().ok()?.split(';').skip(1);
    let (_, charset) = parameters
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(charset.trim().trim_matches('"'))
}

const MALFORMED: Problem =
    Problem::new(Code::MalformedBody, "the body is neither a JSON object nor a form in UTF-8");
const QUERY_NOT_TEXT: Problem =
    Problem::new(Code::MalformedRequest, "a parameter of the address is not UTF-8");
const PATH_NOT_TEXT: Problem = Problem::new(Code::MalformedRequest, "the path is not UTF-8");
const WRONG_TYPE: &str = "this has the wrong type";

/// The message of a parser is dropped: it may quote a password.
#[derive(Debug, thiserror::Error)]
#[error("{0:?}")]
struct Fault(Problem);

impl de::Error for Fault {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self(MALFORMED)
    }

    fn missing_field(field: &'static str) -> Self {
        Self(Problem::missing(field, "this field is required"))
    }
}

pub(crate) struct Given {
    pub(crate) spec: Spec,
    /// The segments that the template names, percent-decoded.
    pub(crate) segments: Vec<Vec<u8>>,
    pub(crate) query: String,
    /// `None` for an operation without a body.
    pub(crate) body: Option<(Format, Bytes)>,
}

impl Given {
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let all = Field { name: REST, value: Source::All(self) };
        T::deserialize(all).map_err(|Fault(problem)| Error::BadRequest(problem))
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn of(query: &str, body: Option<(Format, Bytes)>) -> Self {
        let spec = Spec::get("", "/", tidings_core::operation::Access::Open);
        Self { spec, segments: Vec::new(), query: query.to_owned(), body }
    }

    fn fields(&self, names: &[&'static str]) -> Result<Vec<Field<'_>>, Fault> {
        let (mut fields, mut others) = (Vec::new(), Vec::new());
        for name in names.iter().copied() {
            let value = match (name, self.spec.parameters().position(|parameter| parameter == name)) {
                (QUERY, _) => Source::Query(self),
                (REST, _) => Source::All(self),
                (_, Some(index)) => {
                    let segment = self.segments.get(index).map(Vec::as_slice).unwrap_or_default();
                    Source::Texts(vec![segment_text(name, segment)?], "this is not a whole number")
                }
                (_, None) => {
                    others.push(name);
                    continue;
                }
            };
            fields.push(Field { name, value });
        }
        // A body of which the operation reads nothing must be well-formed too.
        if !others.is_empty() || !names.contains(&REST) {
            fields.extend(self.others(&others)?);
        }
        Ok(fields)
    }

    fn others(&self, names: &[&'static str]) -> Result<Vec<Field<'_>>, Fault> {
        match &self.body {
            // A query that the operation does not read may be anything.
            None if names.is_empty() => Ok(Vec::new()),
            None => form(self.query.as_bytes(), names, QUERY_NOT_TEXT),
            Some((Format::Form, body)) => form(body, names, MALFORMED),
            Some((Format::Json, body)) => {
                let body = if body.is_empty() { b"{}" } else { &body[..] };
                let object = object(body).map_err(Fault::custom)?;
                let field = |name: &&'static str| {
                    let value = object.get(*name).filter(|value| value.get() != "null")?;
                    Some(Field { name, value: Source::Json(value) })
                };
                Ok(names.iter().filter_map(field).collect())
            }
        }
    }
}

/// A name of an object, a member or a list, or a token, that is not UTF-8 is unknown: no name contains U+FFFD.
fn segment_text(name: &str, segment: &[u8]) -> Result<String, Fault> {
    let is_id = name.ends_with("_obi") || ["user_id", "type_num", "token"].contains(&name);
    match str::from_utf8(segment) {
        Err(_) if !is_id => Err(Fault(PATH_NOT_TEXT)),
        _ => Ok(String::from_utf8_lossy(segment).into_owned()),
    }
}

/// Values are checked but not built: a value of a few bytes can take a hundred times its size in memory.
fn object(body: &[u8]) -> serde_json::Result<BTreeMap<String, &RawValue>> {
    let mut json = serde_json::Deserializer::from_slice(body);
    serde_transcode::transcode(&mut json, &mut serde_json::Serializer::new(io::sink()))?;
    json.end()?;
    serde_json::from_slice(body)
}

/// Returns those of these fields that a form, or the query of an address, has. `not_text` is the problem with other text.
fn form<'a>(form: &[u8], names: &[&'static str], not_text: Problem) -> Result<Vec<Field<'a>>, Fault> {
    let mut fields: Vec<_> = names.iter().map(|name| (*name, Vec::new())).collect();
    for pair in form.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
        let mut parts = pair.splitn(2, |byte| *byte == b'=');
        let mut part = || text(parts.next().unwrap_or_default()).ok_or(Fault(not_text));
        let key = part()?;
        if let Some((_, texts)) = fields.iter_mut().find(|(name, _)| **name == *key) {
            texts.push(part()?);
        }
    }
    let given = fields.into_iter().filter(|(_, texts)| !texts.is_empty());
    Ok(given.map(|(name, texts)| Field { name, value: Source::Texts(texts, WRONG_TYPE) }).collect())
}

/// `+` is a space, `%` and two hexadecimal digits are a byte of UTF-8. Source: the WHATWG URL Standard,
/// application/x-www-form-urlencoded parsing. The standard replaces invalid UTF-8; this parser refuses it.
fn text(bytes: &[u8]) -> Option<String> {
    let spaces: Vec<u8> = bytes.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Some(percent_decode(&spaces).decode_utf8().ok()?.into_owned())
}

struct Field<'a> {
    name: &'static str,
    value: Source<'a>,
}

enum Source<'a> {
    /// At least one, in order, and the rule that a text breaks if it is not a number.
    Texts(Vec<String>, &'static str),
    Json(&'a RawValue),
    Query(&'a Given),
    All(&'a Given),
}

impl<'de> IntoDeserializer<'de, Fault> for Field<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Field<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let wrong = |_| Fault(Problem::invalid(self.name, WRONG_TYPE));
        match self.value {
            Source::Json(value) => value.deserialize_any(visitor).map_err(wrong),
            Source::Texts(mut texts, _) => {
                let text = texts.pop().unwrap_or_default();
                visitor.visit_string::<serde_json::Error>(text).map_err(wrong)
            }
            Source::Query(_) | Source::All(_) => Err(Fault::custom("these fields are a struct")),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Source::Texts(texts, rule) = &self.value else { return self.deserialize_any(visitor) };
        let number = texts.last().and_then(|text| text.parse().ok());
        visitor.visit_i64(number.ok_or(Fault(Problem::invalid(self.name, rule)))?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Source::Texts(texts, _) = self.value else { return self.deserialize_any(visitor) };
        let items = match &texts[..] {
            [list] => {
                list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Into::into).collect()
            }
            _ => texts,
        };
        let items = SeqDeserializer::<_, Fault>::new(items.into_iter());
        visitor.visit_seq(items).map_err(|_| Fault(Problem::invalid(self.name, WRONG_TYPE)))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let fields = match self.value {
            Source::Query(given) => form(given.query.as_bytes(), names, QUERY_NOT_TEXT)?,
            Source::All(given) => given.fields(names)?,
            Source::Json(_) | Source::Texts(..) => return self.deserialize_any(visitor),
        };
        visitor.visit_map(MapDeserializer::new(fields.into_iter().map(|field| (field.name, field))))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests;
