use std::ffi::OsString;
use std::sync::mpsc;
use std::time::Duration;

use tracing::Level;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, fmt, registry, reload};

use crate::failure::Failure;
use crate::settings::{LogFormat, LogLevel, Own};

/// Takes precedence over `--log-level`.
const VARIABLE: &str = "RUST_LOG";
/// Later lines are dropped.
const LINES: usize = 4_096;
/// Longer than the guard waits for the lines.
const END: Duration = Duration::from_secs(3);

pub(super) struct LogControl(Option<reload::Handle<EnvFilter, Registry>>);

impl LogControl {
    /// False if `RUST_LOG` is set: `--log-level` then has no effect.
    pub(super) fn follows_settings(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn set(&self, level: &LogLevel) {
        // This fails only if the log has ended.
        let _ = self.0.as_ref().map(|filter| filter.reload(level.filter()));
    }
}

/// Writes the lines that wait when it is dropped, for [`END`] at most.
pub(super) struct LogEnd(Option<WorkerGuard>);

impl Drop for LogEnd {
    fn drop(&mut self) {
        let (guard, (ended, end)) = (self.0.take(), mpsc::channel::<()>());
        // The guard prints to standard output if no line can be written, and both outputs may be blocked or closed.
        let thread = std::thread::Builder::new().spawn(move || {
            drop(guard);
            drop(ended);
        });
        if thread.is_ok() {
            let _ = end.recv_timeout(END);
        }
    }
}

pub(super) fn start(own: &Own, colour: bool) -> Result<(LogControl, LogEnd), Failure> {
    let named = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let parse = |value: OsString| {
        let value = value.to_string_lossy();
        LogLevel::parse(&value).map_err(|rule| Failure::invalid(&value, VARIABLE, rule))
    };
    let named = named.map(parse).transpose()?;
    let follows_settings = named.is_none();
    let (filter, control) = reload::Layer::new(named.as_ref().unwrap_or(&own.log_level).filter());
    // A reader of the log who stalls must not stop the server.
    let queue = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(LINES);
    let (writer, end) = queue.finish(std::io::stderr());
    let lines = fmt::layer().with_writer(writer).with_ansi(colour);
    let lines = match own.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    // The details of libraries contain secrets: the addresses of webhooks, the values of statements.
    let no_secrets =
        filter_fn(|about| *about.level() <= Level::INFO || about.target().starts_with("tidings"));
    registry().with(filter).with(no_secrets).with(lines).init();
    Ok((LogControl(follows_settings.then_some(control)), LogEnd(Some(end))))
}
