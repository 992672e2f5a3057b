//! The settings of the command line itself.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use tidings_core::config::value::socket_address;
use tracing_subscriber::EnvFilter;

/// The settings of the command line.
#[derive(Args)]
#[group(skip)]
pub(crate) struct Own {
    /// The address to listen on.
    #[arg(long, value_name = "ADDR", value_parser = socket_address, default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// The form of the log on standard error.
    #[arg(long, default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// The messages in the log, as in `RUST_LOG`, which takes precedence.
    #[arg(long, value_name = "LEVEL", value_parser = LogLevel::parse, default_value = "info")]
    pub(crate) log_level: LogLevel,
}

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

/// The format of the log.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
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
