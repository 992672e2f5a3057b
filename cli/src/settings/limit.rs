//! A limit that can be off.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const OFF: &str = "off";

/// So many a minute, or any number: written as the number, or `off`. `0` is off too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit(pub(super) Option<NonZeroU32>);

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => limit.fmt(f),
            None => f.write_str(OFF),
        }
    }
}

impl FromStr for Limit {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        if text == OFF {
            return Ok(Self(None));
        }
        let limit: u32 = text.parse().map_err(|_| "a limit is a whole number up to 4294967295, or off")?;
        Ok(Self(NonZeroU32::new(limit)))
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(limit) => limit.serialize(serializer),
            None => serializer.serialize_str(OFF),
        }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrOff;
        impl Visitor<'_> for NumberOrOff {
            type Value = Limit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or \"off\"")
            }

            fn visit_i64<E: serde::de::Error>(self, limit: i64) -> Result<Limit, E> {
                self.visit_str(&limit.to_string())
            }

            fn visit_u64<E: serde::de::Error>(self, limit: u64) -> Result<Limit, E> {
                self.visit_str(&limit.to_string())
            }

            fn visit_str<E: serde::de::Error>(self, limit: &str) -> Result<Limit, E> {
                limit.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(NumberOrOff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_off_wherever_it_is_written() {
        let limit = |n| Limit(NonZeroU32::new(n));
        for (text, expected) in [("60", limit(60)), ("off", limit(0)), ("0", limit(0))] {
            assert_eq!(text.parse(), Ok(expected));
        }
        for wrong in ["", "-1", "OFF", "1.5", "4294967296"] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
        for (json, expected) in
            [("60", limit(60)), ("\"60\"", limit(60)), ("0", limit(0)), ("\"off\"", limit(0))]
        {
            let read: Limit = serde_json::from_str(json).unwrap();
            assert_eq!(read, expected, "{json}");
            assert_eq!(serde_json::from_value::<Limit>(serde_json::to_value(read).unwrap()).unwrap(), read);
        }
        assert!(
            serde_json::from_str::<Limit>("-1").is_err() && serde_json::from_str::<Limit>("true").is_err()
        );
        assert_eq!((limit(60).to_string(), limit(0).to_string()), ("60".into(), "off".into()));
    }
}
