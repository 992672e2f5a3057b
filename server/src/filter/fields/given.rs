//! The fields of a request: the segments of its path, its query and its body, as one object.
//!
//! [`tidings_core::operation`] says which field is where.

use std::borrow::Cow;

use bytes::Bytes;
use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use tidings_core::Error;
use tidings_core::operation::{QUERY, REST, Spec};

use super::fault::Fault;
use super::json::Object;
use super::{Field, Form, Format, json};

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
        Ok(T::deserialize(Whole(self))?)
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn of_body(
        content_type: Option<&http::HeaderValue>,
        body: &[u8],
    ) -> Result<Self, crate::filter::reply::Refusal> {
        let format = Format::of(content_type, body)?;
        Ok(Self { body: Some((format, Bytes::copy_from_slice(body))), ..Self::of_query("") })
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn of_query(query: &str) -> Self {
        let spec = Spec::get("", "/", tidings_core::operation::Access::Open);
        Self { spec, segments: Vec::new(), query: query.to_owned(), body: None }
    }

    fn segment(&self, name: &str) -> Option<&[u8]> {
        let index = self.spec.parameters().position(|parameter| parameter == name)?;
        self.segments.get(index).map(Vec::as_slice)
    }

    /// Returns those of these fields that the query of a `GET` or the body of a `POST` has.
    fn given(&self, names: &[&'static str]) -> Result<Vec<(&'static str, Value<'_>)>, Fault> {
        match &self.body {
            // A query that the operation does not read may be anything.
            None if names.is_empty() => Ok(Vec::new()),
            None => Ok(texts(Form(self.query.as_bytes()).given(names).map_err(Fault::of_query)?)),
            Some((Format::Form, body)) => Ok(texts(Form(body).given(names)?)),
            Some((Format::Json, body)) => {
                let body = if body.is_empty() { b"{}" } else { &body[..] };
                let fields = Object(body).given(names)?.into_iter();
                Ok(fields.map(|(name, field)| (name, Value::Json(field))).collect())
            }
        }
    }
}

fn texts<'a>(fields: Vec<(&'static str, Field<'a>)>) -> Vec<(&'static str, Value<'a>)> {
    fields.into_iter().map(|(name, field)| (name, Value::Text(field))).collect()
}

/// Deserializes all fields of an operation as a struct.
struct Whole<'a>(&'a Given);

impl<'de> Deserializer<'de> for Whole<'de> {
    type Error = Fault;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let (mut fields, mut others) = (Vec::new(), Vec::new());
        for name in names {
            match (*name, self.0.segment(name)) {
                (QUERY, _) => fields.push((*name, Value::Query(self.0))),
                (REST, _) => fields.push((*name, Value::Rest(self.0))),
                (_, Some(segment)) => fields.push((*name, Value::Segment(name, segment))),
                (_, None) => others.push(*name),
            }
        }
        // A body of which the operation reads nothing must be well-formed too.
        if !others.is_empty() || fields.iter().all(|(name, _)| *name != REST) {
            fields.extend(self.0.given(&others)?);
        }
        visitor.visit_map(MapDeserializer::new(fields.into_iter()))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
        Err(Fault::custom("the fields of an operation are a struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

enum Value<'a> {
    Segment(&'static str, &'a [u8]),
    Text(Field<'a>),
    Json(json::Field<'a>),
    Query(&'a Given),
    /// Contains the further fields, which have no place of their own.
    Rest(&'a Given),
}

impl<'a> IntoDeserializer<'a, Fault> for Value<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// A name of an object, a member or a list that is not UTF-8 is unknown: no name contains U+FFFD.
fn text<'a>(name: &str, segment: &'a [u8]) -> Result<Cow<'a, str>, Fault> {
    let text = String::from_utf8_lossy(segment);
    let is_id = name.ends_with("_obi") || ["user_id", "type_num"].contains(&name);
    if is_id || matches!(text, Cow::Borrowed(_)) { Ok(text) } else { Err(Fault::Path) }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self {
            Self::Segment(name, segment) => visitor.visit_string(text(name, segment)?.into_owned()),
            Self::Text(field) => field.deserialize_any(visitor),
            Self::Json(field) => field.deserialize_any(visitor),
            Self::Query(_) | Self::Rest(_) => Err(Fault::custom("these fields are a struct")),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self {
            Self::Segment(name, segment) => {
                visitor.visit_i64(text(name, segment)?.parse().map_err(|_| Fault::Number(name))?)
            }
            Self::Text(field) => field.deserialize_i64(visitor),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self {
            Self::Text(field) => field.deserialize_seq(visitor),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let fields = match self {
            Self::Query(given) => texts(Form(given.query.as_bytes()).given(names).map_err(Fault::of_query)?),
            Self::Rest(given) => given.given(names)?,
            Self::Json(field) => return field.deserialize_struct(name, names, visitor),
            Self::Text(_) | Self::Segment(..) => return self.deserialize_any(visitor),
        };
        visitor.visit_map(MapDeserializer::new(fields.into_iter()))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct tuple tuple_struct map enum identifier ignored_any
    }
}
