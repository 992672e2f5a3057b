//! The arguments of statements, and the values of the rows that they return.

use super::StoreError;
use crate::clock::Timestamp;

pub(super) const ARGS_MAX: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Arg<'a> {
    Null,
    /// Also a time, in milliseconds.
    Integer(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
}

macro_rules! from {
    ($($given:ty => $variant:ident),+) => {
        $(impl<'a> From<$given> for Arg<'a> {
            fn from(value: $given) -> Self {
                Self::$variant(value)
            }
        })+
    };
}

from!(i64 => Integer, f64 => Real, &'a str => Text, &'a String => Text, &'a Vec<u8> => Blob);

impl From<Timestamp> for Arg<'_> {
    fn from(time: Timestamp) -> Self {
        Self::Integer(time.as_millis())
    }
}

impl<'a> From<&'a Value> for Arg<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(value) => Self::Integer(*value),
            Value::Real(value) => Self::Real(*value),
            Value::Text(value) => Self::Text(value),
            Value::Blob(value) => Self::Blob(value),
        }
    }
}

impl<'a, T: Into<Arg<'a>>> From<Option<T>> for Arg<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl From<&Arg<'_>> for Value {
    fn from(arg: &Arg<'_>) -> Self {
        match *arg {
            Arg::Null => Self::Null,
            Arg::Integer(value) => Self::Integer(value),
            Arg::Real(value) => Self::Real(value),
            Arg::Text(value) => Self::Text(value.to_owned()),
            Arg::Blob(value) => Self::Blob(value.to_owned()),
        }
    }
}

pub trait FromValue: Sized {
    /// Returns `None` when the value has a different type.
    fn from_value(value: &mut Value) -> Option<Self>;
}

impl FromValue for Value {
    fn from_value(value: &mut Value) -> Option<Self> {
        Some(std::mem::replace(value, Self::Null))
    }
}

impl FromValue for i64 {
    fn from_value(value: &mut Value) -> Option<Self> {
        if let Value::Integer(value) = value { Some(*value) } else { None }
    }
}

impl FromValue for Timestamp {
    fn from_value(value: &mut Value) -> Option<Self> {
        i64::from_value(value).map(Self::from_millis)
    }
}

impl FromValue for f64 {
    fn from_value(value: &mut Value) -> Option<Self> {
        if let Value::Real(value) = value { Some(*value) } else { None }
    }
}

impl FromValue for bool {
    fn from_value(value: &mut Value) -> Option<Self> {
        i64::from_value(value).map(|value| value != 0)
    }
}

impl FromValue for String {
    fn from_value(value: &mut Value) -> Option<Self> {
        if let Value::Text(value) = value { Some(std::mem::take(value)) } else { None }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: &mut Value) -> Option<Self> {
        if let Value::Blob(value) = value { Some(std::mem::take(value)) } else { None }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &mut Value) -> Option<Self> {
        if *value == Value::Null { Some(None) } else { T::from_value(value).map(Some) }
    }
}

#[derive(Debug)]
pub struct Row(pub(super) Vec<Value>);

impl Row {
    /// Takes the value of column `index`, counted from 0, out of the row: a text or bytes are moved, so they can be taken only
    /// once. Fails when the column does not exist or has a different type, which is a mistake in the statement.
    pub fn take<T: FromValue>(&mut self, index: usize) -> Result<T, StoreError> {
        self.0
            .get_mut(index)
            .and_then(T::from_value)
            .ok_or_else(|| StoreError::other(format!("column {index} is missing or has a different type")))
    }
}
