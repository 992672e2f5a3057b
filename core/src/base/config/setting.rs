//! Describes settings: each has a name, a help text, a form with bounds, and a field of a configuration.
//!
//! Each crate with a configuration has one table of its settings. Flags, environment variables, the keys of the TOML file,
//! `tidings config`, the documentation and the validation derive from these tables.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use url::Url;

use super::Secret;

/// The heading of the settings whose names and meanings may change.
pub const EXPERIMENTAL: &str = "Experimental";

/// Settings that are listed together.
pub struct Group<C: 'static> {
    /// The heading above them; empty for the first group.
    pub heading: &'static str,
    /// The settings, in the order in which they are listed.
    pub settings: &'static [Setting<C>],
}

/// A setting of the configuration `C`.
pub struct Setting<C> {
    /// The part of the description that does not depend on the configuration.
    pub about: About,
    field: Field<C>,
}

/// The name, the help and the form of a setting.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name, in lower case with hyphens. It is the flag and the key of the TOML file.
    pub name: &'static str,
    /// The effect of the setting, in one sentence without a full stop. `{min}` and `{max}` stand for its bounds.
    pub help: &'static str,
    /// The form and the bounds of a value.
    pub form: Form,
    /// The placeholder of the value in the help, such as `N` or `FILE`.
    pub placeholder: &'static str,
    /// The default in words, if it is not a value.
    pub unset: &'static str,
}

/// The form of a setting's value, with its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// `true` or `false`; without a value, `true`.
    Flag,
    /// `on` or `off`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number from the first to the second bound.
    Whole(u64, u64),
    /// A whole number up to the bound, or `off`, which is the same as 0.
    WholeOrOff(u64),
    /// A whole number up to the bound, or this word.
    WholeOr(u64, &'static str),
    /// A number from the first to the second bound.
    Number(f64, f64),
    /// Any text, which the field's setter parses.
    Text,
    /// Several texts; in one text, they are separated by commas.
    List,
    /// A secret, which only an environment variable can hold.
    Secret,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The value of a [`Form::Flag`] or a [`Form::Switch`].
    Bool(bool),
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
    /// A secret.
    Secret(Secret),
}

/// Reads and writes one field of the configuration `C`. Made by [`field!`](crate::field).
pub struct Field<C> {
    /// Returns the value of the field; `None` if it is not set.
    pub get: fn(&C) -> Option<Value>,
    /// Sets the field.
    ///
    /// # Errors
    /// The rule that the value breaks.
    pub set: fn(&mut C, &Value) -> Result<(), String>,
}

/// A setting whose value breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {rule}", settings[0])]
pub struct Invalid {
    /// The names of the setting and of the settings that the rule relates it to.
    pub settings: Vec<&'static str>,
    /// The rule.
    pub rule: String,
}

impl Invalid {
    pub(crate) fn new(settings: &[&'static str], rule: impl Into<String>) -> Self {
        Self { settings: settings.to_vec(), rule: rule.into() }
    }
}

const OFF: &str = "off";

impl<C> Setting<C> {
    /// Returns a setting that is stored in `field`.
    pub const fn new(name: &'static str, form: Form, field: Field<C>, help: &'static str) -> Self {
        let placeholder = match form {
            Form::Whole(..) | Form::WholeOrOff(_) | Form::WholeOr(..) => "N",
            Form::Number(..) => "X",
            _ => "",
        };
        Self { about: About { name, help, form, placeholder, unset: "" }, field }
    }

    /// Sets the placeholder of the value in the help.
    #[must_use]
    pub const fn takes(mut self, placeholder: &'static str) -> Self {
        self.about.placeholder = placeholder;
        self
    }

    /// Sets the default in words.
    #[must_use]
    pub const fn unset(mut self, words: &'static str) -> Self {
        self.about.unset = words;
        self
    }

    /// Returns the value in `config`; `None` if it is not set.
    pub fn get(&self, config: &C) -> Option<Value> {
        (self.field.get)(config)
    }

    /// Sets the value in `config`.
    ///
    /// # Errors
    /// When the value is out of bounds or cannot be parsed.
    pub fn set(&self, config: &mut C, value: &Value) -> Result<(), Invalid> {
        let set = self.about.form.check(value).and_then(|()| (self.field.set)(config, value));
        set.map_err(|rule| Invalid::new(&[self.about.name], rule))
    }

    /// Checks that the value in `config` is within its bounds.
    fn check(&self, config: &C) -> Result<(), Invalid> {
        let Some(value) = self.get(config) else { return Ok(()) };
        self.about.form.check(&value).map_err(|rule| Invalid::new(&[self.about.name], rule))
    }
}

/// Checks that each value in `config` is within its bounds.
///
/// # Errors
/// The first setting that is not.
pub fn check<C>(table: &[Group<C>], config: &C) -> Result<(), Invalid> {
    table.iter().flat_map(|group| group.settings).try_for_each(|setting| setting.check(config))
}

impl About {
    /// Returns the name of the setting's environment variable.
    pub fn variable(&self) -> String {
        format!("TIDINGS_{}", self.name.replace('-', "_").to_uppercase())
    }

    /// Returns the help text, with the bounds filled in.
    pub fn help(&self) -> String {
        let (min, max) = match self.form {
            Form::Whole(min, max) => (min.to_string(), max.to_string()),
            Form::Number(min, max) => (min.to_string(), max.to_string()),
            _ => return self.help.to_owned(),
        };
        self.help.replace("{min}", &min).replace("{max}", &max)
    }
}

impl Form {
    /// Parses the text of a flag or an environment variable. Does not check bounds.
    ///
    /// # Errors
    /// The reason why the text does not have this form.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let whole = || text.parse().map(Value::Whole).map_err(|e: std::num::ParseIntError| e.to_string());
        let word = |words: &[&str]| {
            let known = words.contains(&text);
            known.then_some(()).ok_or_else(|| format!("must be one of {}", words.join(", ")))
        };
        match self {
            Self::Flag => word(&["true", "false"]).map(|()| Value::Bool(text == "true")),
            Self::Switch => word(&["on", OFF]).map(|()| Value::Bool(text == "on")),
            Self::Choice(words) => word(words).map(|()| Value::Text(text.to_owned())),
            Self::Whole(..) => whole(),
            Self::WholeOrOff(_) if text == OFF => Ok(Value::Whole(0)),
            Self::WholeOrOff(_) => whole().map_err(|_| "must be a whole number, or off".to_owned()),
            Self::WholeOr(_, word) if text == *word => Ok(Value::Text(text.to_owned())),
            Self::WholeOr(_, word) => whole().map_err(|_| format!("must be a whole number, or {word}")),
            Self::Number(..) => {
                text.parse().map(Value::Number).map_err(|e: std::num::ParseFloatError| e.to_string())
            }
            Self::Text => Ok(Value::Text(text.to_owned())),
            Self::List => Ok(Value::List(text.split(',').map(str::to_owned).collect())),
            Self::Secret => Ok(Value::Secret(Secret(text.as_bytes().to_vec().into()))),
        }
    }

    /// Checks that a value of this form is within the bounds.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let within = match (self, value) {
            (Self::Whole(min, max), Value::Whole(n)) => (min..=max).contains(&n),
            (Self::WholeOrOff(max) | Self::WholeOr(max, _), Value::Whole(n)) => n <= max,
            (Self::Number(min, max), Value::Number(x)) => (min..=max).contains(&x),
            (Self::Choice(words), Value::Text(word)) => words.contains(&&**word),
            _ => true,
        };
        if within { Ok(()) } else { Err(format!("must be {}", self.bounds())) }
    }

    /// Returns the allowed values in words; empty if they depend on the setting.
    pub fn bounds(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Switch => "on or off".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Whole(min, max) => format!("from {min} to {max}"),
            Self::WholeOrOff(max) => format!("at most {max}, or off"),
            Self::WholeOr(max, word) => format!("at most {max}, or {word}"),
            Self::Number(min, max) => format!("from {min} to {max}"),
            Self::Text | Self::List | Self::Secret => String::new(),
        }
    }

    /// Returns the text that [`Form::parse`] reads as this value. Masks a secret.
    pub fn text(&self, value: &Value) -> String {
        match value {
            Value::Bool(on) if *self == Self::Switch => if *on { "on" } else { OFF }.to_owned(),
            Value::Whole(0) if matches!(self, Self::WholeOrOff(_)) => OFF.to_owned(),
            Value::Bool(on) => on.to_string(),
            Value::Whole(n) => n.to_string(),
            Value::Number(x) => x.to_string(),
            Value::Text(text) => text.clone(),
            Value::List(texts) => texts.join(","),
            Value::Secret(_) => MASK.to_owned(),
        }
    }
}

/// The text that is shown instead of a secret.
pub const MASK: &str = "***";

/// A type that a field of a configuration can have.
pub trait FieldType: Sized {
    /// Converts to the value of a setting; `None` if it is not set.
    fn to_value(&self) -> Option<Value>;

    /// Converts from the value of a setting.
    ///
    /// # Errors
    /// The rule that the value breaks.
    fn from_value(value: &Value) -> Result<Self, String>;
}

/// Returns the accessors of a field of a configuration, given by its path: `field!(Config, feed.posts)`. The type of the
/// field implements [`FieldType`](crate::base::config::setting::FieldType).
#[macro_export]
macro_rules! field {
    ($config:ty, $($path:ident).+) => {
        $crate::config::setting::Field {
            get: |config: &$config| $crate::config::setting::FieldType::to_value(&config.$($path).+),
            set: |config: &mut $config, value| {
                config.$($path).+ = $crate::config::setting::FieldType::from_value(value)?;
                Ok(())
            },
        }
    };
}
pub(crate) use field;

/// Returns the error for a value of a different form, which only a program can set.
pub(crate) fn another_form<T>() -> Result<T, String> {
    Err("the value has another form".to_owned())
}

impl FieldType for bool {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Bool(*self))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        if let Value::Bool(on) = value { Ok(*on) } else { another_form() }
    }
}

impl FieldType for f64 {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Number(*self))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        if let Value::Number(x) = value { Ok(*x) } else { another_form() }
    }
}

impl FieldType for u64 {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Whole(*self))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        if let Value::Whole(n) = value { Ok(*n) } else { another_form() }
    }
}

impl FieldType for u32 {
    fn to_value(&self) -> Option<Value> {
        u64::from(*self).to_value()
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        u64::from_value(value)?.try_into().map_err(|_| format!("must be at most {}", Self::MAX))
    }
}

impl FieldType for usize {
    fn to_value(&self) -> Option<Value> {
        u64::try_from(*self).unwrap_or(u64::MAX).to_value()
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        u64::from_value(value)?.try_into().map_err(|_| format!("must be at most {}", Self::MAX))
    }
}

/// Stored in whole seconds, rounded up.
impl FieldType for Duration {
    fn to_value(&self) -> Option<Value> {
        self.as_secs().saturating_add((self.subsec_nanos() > 0).into()).to_value()
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        u64::from_value(value).map(Self::from_secs)
    }
}

impl FieldType for PathBuf {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.display().to_string()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        if let Value::Text(path) = value { Ok(path.into()) } else { another_form() }
    }
}

impl FieldType for String {
    fn to_value(&self) -> Option<Value> {
        (!self.is_empty()).then(|| Value::Text(self.clone()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        parse(value)
    }
}

impl FieldType for Vec<String> {
    fn to_value(&self) -> Option<Value> {
        (!self.is_empty()).then(|| Value::List(self.clone()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let Value::List(texts) = value else { return another_form() };
        let texts = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
        Ok(texts.map(str::to_owned).collect())
    }
}

/// An address of the web, without a user, a query or a fragment.
impl FieldType for Url {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let Value::Text(text) = value else { return another_form() };
        let is_plain = |url: &Self| {
            let has_more = url.query().is_some() || url.fragment().is_some();
            let has_user = !url.username().is_empty() || url.password().is_some();
            matches!(url.scheme(), "https" | "http") && !has_more && !has_user
        };
        Self::parse(text).ok().filter(is_plain).ok_or_else(|| {
            "must be an address that begins with https:// or http://, without a user and a query".to_owned()
        })
    }
}

impl FieldType for SocketAddr {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }

    /// A port without an address is one of this machine's loopback address.
    fn from_value(value: &Value) -> Result<Self, String> {
        let Value::Text(text) = value else { return another_form() };
        text.parse().ok().or_else(|| of_loopback(text)).ok_or_else(|| {
            "must be an IP address and a port, such as 127.0.0.1:8080, or a port of this machine alone"
                .to_owned()
        })
    }
}

/// Reads an address as `8080`, `:8080` or `localhost:8080`.
fn of_loopback(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let is_loopback = host.is_empty() || host.eq_ignore_ascii_case("localhost");
    (is_number && is_loopback).then(|| Some((Ipv4Addr::LOCALHOST, port.parse().ok()?).into()))?
}

impl<T: FieldType> FieldType for Option<T> {
    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(T::to_value)
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        T::from_value(value).map(Some)
    }
}

/// Parses a value that is a text.
///
/// # Errors
/// The rule that the text breaks.
pub fn parse<T: FromStr<Err: fmt::Display>>(value: &Value) -> Result<T, String> {
    let Value::Text(text) = value else { return another_form() };
    text.parse().map_err(|e: T::Err| format!("{text:?}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_is_of_this_machine() {
        let address = |text: &str| SocketAddr::from_value(&Value::Text(text.into())).map(|a| a.to_string());
        for text in ["8080", ":8080", "localhost:8080", "LocalHost:8080", "127.0.0.1:8080"] {
            assert_eq!(address(text).unwrap(), "127.0.0.1:8080", "{text}");
        }
        assert_eq!(address("0").unwrap(), "127.0.0.1:0");
        assert_eq!(address("[::]:80").unwrap(), "[::]:80");
        for text in ["", ":", "localhost", "+80", ":+80", "65536", "a.example:80", "127.0.0.1", "::80", "-1"]
        {
            assert!(address(text).unwrap_err().contains("must be an IP address and a port"), "{text}");
        }
    }
}
