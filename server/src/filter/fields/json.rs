//! Reads the fields of an operation from a JSON object, without copying the rest of the object.
//!
//! The parser reads the object once. It stores the bytes of each field's value, which are then parsed as the field's
//! type, and discards all other values. The whole object has to be JSON as `serde_json` reads it: UTF-8, numbers in
//! range, at most 128 levels deep.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::value::RawValue;

use super::fault::Fault;

pub(super) struct Object<'a>(pub(super) &'a [u8]);

impl<'a> Object<'a> {
    /// Returns those of these fields that the object has.
    pub(super) fn given(&self, names: &[&'static str]) -> Result<Vec<(&'static str, Field<'a>)>, Fault> {
        let mut json = serde_json::Deserializer::from_slice(self.0);
        let values = json.deserialize_map(Values(names)).map_err(Fault::custom)?;
        json.end().map_err(Fault::custom)?;
        let given = names.iter().zip(values).filter_map(|(name, value)| {
            let value = value.filter(|value| value.get() != "null")?;
            Some((*name, Field { name, value }))
        });
        Ok(given.collect())
    }
}

/// The bytes of a value, which is not null.
pub(super) struct Field<'a> {
    name: &'static str,
    value: &'a RawValue,
}

impl<'a> IntoDeserializer<'a, Fault> for Field<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Field<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.value.deserialize_any(visitor).map_err(|_| Fault::Type(self.name))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The last value of a repeated key counts.
struct Values<'n>(&'n [&'static str]);

impl<'de> Visitor<'de> for Values<'_> {
    type Value = Vec<Option<&'de RawValue>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut values = vec![None; self.0.len()];
        while let Some(index) = object.next_key_seed(Key(self.0))? {
            let Some(index) = index else {
                object.next_value::<Skipped>()?;
                continue;
            };
            if let Some(earlier) = values[index].replace(object.next_value::<&RawValue>()?) {
                Skipped::deserialize(earlier).map_err(A::Error::custom)?;
            }
        }
        Ok(values)
    }
}

/// Reads a key as its index among the names.
struct Key<'n>(&'n [&'static str]);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<Option<usize>, D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|name| *name == key))
    }
}

/// A value that is checked and discarded. Unlike serde's `IgnoredAny`, it has the same checks of depth, number range and UTF-8 as
/// a value that is stored.
struct Skipped;

impl<'de> Deserialize<'de> for Skipped {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Skipped {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self, A::Error> {
        while object.next_key_seed(Key(&[]))?.is_some() {
            object.next_value::<Self>()?;
        }
        Ok(self)
    }
}
