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

/// The messages in the log: a level, or directives of `tracing_subscriber`'s [`EnvFilter`].
#[derive(Clone)]
pub(crate) struct LogLevel(String);

impl LogLevel {
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
        let valid = EnvFilter::builder().parse(text);
        valid.map(|_| Self(text.clone())).map_err(|error| format!("{text:?}: {error}"))
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
