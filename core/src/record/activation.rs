//! Types with two states, which JSON and the database represent as `activation`, 0 or 1.

use crate::record::error::{Error, Problem, Result};

pub(crate) const RULE: Problem = Problem::invalid("activation", "activation is 0 or 1");

pub(crate) fn is_on(switch: Option<i64>, rule: Problem) -> Result<bool> {
    match switch {
        None | Some(0) => Ok(false),
        Some(1) => Ok(true),
        Some(_) => Err(Error::BadRequest(rule)),
    }
}

macro_rules! activation {
    ($(#[$doc:meta])* $name:ident { $(#[$zero_doc:meta])* $zero:ident, $(#[$one_doc:meta])* $one:ident }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[$zero_doc])*
            $zero,
            $(#[$one_doc])*
            $one,
        }

        impl $name {
            /// Returns the state with this number; `None` unless it is 0 or 1.
            pub const fn from_activation(activation: i64) -> Option<Self> {
                match activation {
                    0 => Some(Self::$zero),
                    1 => Some(Self::$one),
                    _ => None,
                }
            }

            /// Returns the number of the state, 0 or 1.
            pub const fn activation(self) -> i64 {
                match self {
                    Self::$zero => 0,
                    Self::$one => 1,
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_i64(self.activation())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let number = <i64 as serde::Deserialize>::deserialize(deserializer)?;
                Self::from_activation(number).ok_or_else(|| serde::de::Error::custom("this is 0 or 1"))
            }
        }

        impl From<$name> for crate::store::Arg<'_> {
            fn from(state: $name) -> Self {
                state.activation().into()
            }
        }

        impl crate::store::FromValue for $name {
            fn from_value(value: &mut crate::store::Value) -> Option<Self> {
                i64::from_value(value).and_then(Self::from_activation)
            }
        }
    };
}

pub(crate) use activation;
