//! The fields of a request: one type for each operation, read from a JSON object or a form.
//!
//! A form has the same fields as text: a number in digits, a list as a repeated key or as one text with commas. In
//! both formats unknown fields are ignored, the last value of a repeated key counts, an empty body has no fields, and
//! a JSON field that is `null` is missing.

use std::borrow::Cow;

use http::HeaderValue;
use percent_encoding::percent_decode;
use serde::de::value::SeqDeserializer;
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::filter::reply::Refusal;

use fault::Fault;

mod fault;
mod given;
mod json;

pub(crate) use given::Given;

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

/// Removes the parameters.
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

/// A form, or the query of an address. Only the values of an operation's fields are stored, and values without escapes are not
/// copied.
struct Form<'a>(&'a [u8]);

impl<'a> Form<'a> {
    /// Returns those of these fields that the form has.
    fn given(&self, names: &[&'static str]) -> Result<Vec<(&'static str, Field<'a>)>, Fault> {
        // Most queries are empty.
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let mut fields: Vec<Texts<'_>> = names.iter().map(|_| Texts::default()).collect();
        for pair in self.0.split(|b| *b == b'&').filter(|pair| !pair.is_empty()) {
            let equals = pair.iter().position(|b| *b == b'=').unwrap_or(pair.len());
            let key = text(&pair[..equals])?;
            if let Some(index) = names.iter().position(|name| **name == *key) {
                fields[index].0.push(text(pair.get(equals + 1..).unwrap_or_default())?);
            }
        }
        let given = names.iter().copied().zip(fields).filter(|(_, texts)| !texts.0.is_empty());
        Ok(given.map(|(name, texts)| (name, Field { name, texts })).collect())
    }
}

/// `+` is a space, `%` and two hexadecimal digits are a byte of UTF-8.
///
/// Source: the WHATWG URL Standard, application/x-www-form-urlencoded parsing. The standard replaces invalid UTF-8; this parser
/// refuses it.
fn text(bytes: &[u8]) -> Result<Cow<'_, str>, Fault> {
    if !bytes.contains(&b'+') {
        return percent_decode(bytes).decode_utf8().map_err(Fault::custom);
    }
    let spaces: Vec<u8> = bytes.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect();
    let text = percent_decode(&spaces).decode_utf8().map_err(Fault::custom)?;
    Ok(Cow::Owned(text.into_owned()))
}

/// In order; at least one.
#[derive(Default)]
struct Texts<'a>(Vec<Cow<'a, str>>);

struct Field<'a> {
    name: &'static str,
    texts: Texts<'a>,
}

impl IntoDeserializer<'_, Fault> for Field<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Field<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Fault> {
        let text = self.texts.0.pop().unwrap_or_default().into_owned();
        visitor.visit_string::<Fault>(text).map_err(|_| Fault::Type(self.name))
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let number = self.texts.0.last().and_then(|text| text.parse().ok());
        visitor.visit_i64(number.ok_or(Fault::Type(self.name))?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let one = |text: Cow<'_, str>| text.into_owned();
        let items: Vec<String> = match self.texts.0.as_slice() {
            [list] => {
                list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Into::into).collect()
            }
            _ => self.texts.0.into_iter().map(one).collect(),
        };
        visitor
            .visit_seq(SeqDeserializer::<_, Fault>::new(items.into_iter()))
            .map_err(|_| Fault::Type(self.name))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests;
