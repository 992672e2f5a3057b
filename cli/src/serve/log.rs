//! The log of `tidings serve`, on standard error.

use std::io::stderr;

use tracing::Level;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, fmt, registry, reload};

use crate::settings::{LogFormat, LogLevel, Own};

/// Changes the level of the log while the server runs.
pub(super) struct LogControl(Option<reload::Handle<EnvFilter, Registry>>);

impl LogControl {
    /// Returns whether `--log-level` has an effect: `RUST_LOG` is not set.
    pub(super) fn follows_settings(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn set(&self, level: &LogLevel) {
        // This fails only if the log has ended.
        let _ = self.0.as_ref().map(|filter| filter.reload(level.filter()));
    }
}

/// Starts the log: `RUST_LOG` or `--log-level` selects the messages, `--log-format` their format.
pub(super) fn start(own: &Own, colour: bool) -> LogControl {
    let named = EnvFilter::try_from_default_env().ok();
    let follows_settings = named.is_none();
    let (filter, control) = reload::Layer::new(named.unwrap_or_else(|| own.log_level.filter()));
    let lines = fmt::layer().with_writer(stderr).with_ansi(colour);
    let lines = match own.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    // The details of libraries contain secrets: the addresses of webhooks, the values of statements.
    let no_secrets =
        filter_fn(|about| *about.level() <= Level::INFO || about.target().starts_with("tidings"));
    registry().with(filter).with(no_secrets).with(lines).init();
    LogControl(follows_settings.then_some(control))
}
