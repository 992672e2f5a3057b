//! The settings of the command line itself.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tidings_core::Location;
use tidings_core::config::setting::{FieldType, Form, Group, Setting, Value};
use tidings_core::field;
use tracing_subscriber::EnvFilter;

use super::DB;

/// The settings of the command line.
pub(crate) struct Own {
    /// The address on which `serve` listens.
    pub(crate) listen: SocketAddr,
    pub(crate) log_format: LogFormat,
    pub(crate) log_level: LogLevel,
    /// The database. The password of a URL is masked.
    pub(crate) db: Location,
}

impl Default for Own {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            log_format: LogFormat::Text,
            log_level: LogLevel::default(),
            db: "./tidings.db".into(),
        }
    }
}

pub(super) static SETTINGS: &[Group<Own>] = &[Group {
    heading: "",
    settings: &[
        Setting::new(
            DB,
            Form::Text,
            field!(Own, db),
            "The database: an SQLite file, or the postgres:// URL of a PostgreSQL database",
        )
        .takes("PATH|URL"),
        Setting::new("listen", Form::Text, field!(Own, listen), "The address to listen on").takes("ADDR"),
        Setting::new(
            "log-format",
            Form::Choice(LogFormat::NAMES),
            field!(Own, log_format),
            "The form of the log on standard error",
        ),
        Setting::new(
            "log-level",
            Form::Text,
            field!(Own, log_level),
            "The messages in the log, as in RUST_LOG, which takes precedence",
        )
        .takes("LEVEL"),
    ],
}];

/// The levels of messages in the log.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

fn has_blank_end(text: &str) -> bool {
    text.trim().len() < text.len()
}

/// Returns whether directives select spans or fields, which have a syntax of their own: `[span{field=value}]=debug`.
fn has_fields(text: &str) -> bool {
    text.contains(['[', '{'])
}

/// The messages in the log: a level, or directives of `tracing_subscriber`'s [`EnvFilter`].
#[derive(Clone)]
pub(crate) struct LogLevel(String);

impl LogLevel {
    /// Reads a level, or directives separated by commas.
    ///
    /// # Errors
    /// The rule that the text breaks.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        // `EnvFilter` takes a word that is no level for the name of a module, and then logs nothing else.
        let is_level = |word: &str| LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level));
        let is_directive = |part: &str| match part.rsplit_once('=') {
            Some((module, level)) => !module.is_empty() && !has_blank_end(module) && is_level(level),
            None => is_level(part),
        };
        let is_valid = text.split(',').all(is_directive) || has_fields(text);
        if !is_valid || EnvFilter::builder().parse(text).is_err() {
            let rule = "must be error, warn, info, debug, trace or off, or directives such as tidings=debug";
            return Err(rule.to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn filter(&self) -> EnvFilter {
        EnvFilter::new(&self.0)
    }
}

impl Default for LogLevel {
    fn default() -> Self {
        Self("info".to_owned())
    }
}

impl FieldType for LogLevel {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.0.clone()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let Value::Text(text) = value else { return Err("must be a text".to_owned()) };
        Self::parse(text)
    }
}

/// The format of the log.
#[derive(Clone, Copy)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl LogFormat {
    const NAMES: &[&str] = &["text", "json"];
}

impl FieldType for LogFormat {
    fn to_value(&self) -> Option<Value> {
        let name = match self {
            Self::Text => "text",
            Self::Json => "json",
        };
        Some(Value::Text(name.to_owned()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let is_json = Self::Json.to_value().as_ref() == Some(value);
        Ok(if is_json { Self::Json } else { Self::Text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_known_or_refused() {
        for text in
            ["error", "INFO", "off", "tidings=debug", "warn,tidings_server=trace,hyper=off", "[span]=debug"]
        {
            LogLevel::parse(text).unwrap();
        }
        for text in [
            "warning",
            "WARNING",
            "verbose",
            "err",
            "info ",
            "",
            "tidings=warning",
            "=debug",
            "info, hyper=warn",
            "info,,warn",
        ] {
            let refused = LogLevel::parse(text).err().unwrap_or_default();
            assert!(
                refused.contains("must be error, warn, info, debug, trace or off, or directives"),
                "{text:?}"
            );
        }
    }
}
