//! Progress of long work, and Ctrl-C, which stops the work after the current batch.

use std::fmt;
use std::io::{BufRead, IsTerminal as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde::Serialize;

use crate::failure::{Failure, INTERRUPTED};
use crate::input;
use crate::interrupt;
use crate::output::{Output, Page, note};

/// The time after which the user learns why the process has not ended …
const NOTE_AFTER: Duration = Duration::from_secs(1);
/// … and the further time after which it ends anyway: the batches that are being written end on a slow disk, too. Another
/// Ctrl-C ends it at once.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Watch {
    bar: ProgressBar,
    /// The message after an interruption.
    then: &'static str,
    interrupted: Arc<AtomicBool>,
}

impl Watch {
    /// Ctrl-C then asks the work to stop, and ends the process if the work does not stop in time or Ctrl-C is pressed again.
    pub(crate) fn start(things: &str) -> Self {
        Self::towards(None, things, "what is counted here is saved; run the command again to continue")
    }

    /// For work that ends with a whole file or with none.
    pub(crate) fn whole(things: &str) -> Self {
        Self::towards(None, things, "no file was changed; run the command again from the beginning")
    }

    /// `all` is the total if it is known; `then` is the message after an interruption.
    pub(crate) fn towards(all: Option<u64>, things: &str, then: &'static str) -> Self {
        let (bar, template) = match all {
            None => (ProgressBar::new_spinner(), format!("{{spinner}} {{human_pos}} {things}, {{rate}}")),
            Some(all) => (
                ProgressBar::new(all),
                format!("{{wide_bar}} {{human_pos}} of {{human_len}} {things}, {{elapsed}}"),
            ),
        };
        let interrupted = Arc::<AtomicBool>::default();
        let (asked, shown) = (Arc::clone(&interrupted), bar.clone());
        let end = move || {
            note(&format!("error: interrupted: {then}"));
            std::process::exit(INTERRUPTED.into());
        };
        let handled = ctrlc::set_handler(move || {
            if asked.swap(true, Ordering::Relaxed) || interrupt::ends_at_once() {
                end();
            }
            let bar = shown.clone();
            std::thread::spawn(move || {
                std::thread::sleep(NOTE_AFTER);
                bar.suspend(|| note("note: stopping; Ctrl-C again ends it at once"));
                std::thread::sleep(STOP_TIMEOUT);
                end();
            });
        });
        if let Err(error) = handled {
            // If no handler can be installed, the signal ends the process; the committed batches stay.
            tracing::debug!(%error, "the signal cannot be handled");
        }
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template(&template).expect("the template is well-formed");
        let style = style.with_key("rate", |state: &ProgressState, out: &mut dyn fmt::Write| {
            // Writing to a string cannot fail.
            let _ = write!(out, "{:.0}/s", state.per_sec());
        });
        Self { bar: bar.with_style(style), then, interrupted }
    }

    /// Ctrl-C ends waiting for more input.
    pub(crate) fn open(&self, file: &Path) -> Result<Box<dyn BufRead>, Failure> {
        input::open_until(file, &self.interrupted)
    }

    pub(crate) fn told(&self, done: u64) -> ControlFlow<()> {
        self.bar.set_position(done);
        if self.is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    pub(crate) fn answer<T: Serialize>(
        &self,
        out: &Output,
        body: &T,
        people: impl FnOnce(&mut Page),
    ) -> Result<ExitCode, Failure> {
        self.bar.finish_and_clear();
        if !self.is_interrupted() {
            return out.answer(body, people);
        }
        out.answer_with_result("interrupted", body, people)?;
        note(&format!("error: interrupted: {}", self.then));
        Ok(ExitCode::from(INTERRUPTED))
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

pub(crate) struct Percent(ProgressBar);

impl Percent {
    pub(crate) fn start() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{wide_bar} {percent} %, {elapsed}");
        Self(ProgressBar::new(100).with_style(style.expect("the template is well-formed")))
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is from 0 to 1")]
    pub(crate) fn told(&self, share: f64) {
        self.0.set_position((share * 100.0) as u64);
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
