//! Long work: a count while somebody is looking, and Ctrl-C, which ends it with the next batch.

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
use tidings_core::Error;

use crate::failure::{Failure, INTERRUPTED};
use crate::input;
use crate::output::{Output, Page, note};

/// How long a work may take to end.
const PATIENCE: Duration = Duration::from_secs(3);

/// Watches a work that goes on batch by batch.
pub(crate) struct Watch {
    bar: ProgressBar,
    /// What is said to whoever interrupts it.
    then: &'static str,
    interrupted: Arc<AtomicBool>,
}

/// What a work did before it was interrupted.
#[derive(Serialize)]
struct Interrupted<'a, T> {
    result: &'static str,
    #[serde(flatten)]
    body: &'a T,
}

impl Watch {
    /// Begins to count `things`. From here on Ctrl-C asks the work to end, and ends the program when it does not.
    pub(crate) fn start(things: &str) -> Self {
        let template = format!("{{spinner}} {{human_pos}} {things}, {{rate}}");
        let then = "what is counted here is done; begin again, and it goes on from there";
        Self::with(ProgressBar::new_spinner(), &template, then)
    }

    /// As [`Watch::start`], of a work that is done after `all` of `things`; `then` is said when it is interrupted.
    pub(crate) fn towards(all: u64, things: &str, then: &'static str) -> Self {
        let template = format!("{{wide_bar}} {{human_pos}} of {{human_len}} {things}, {{elapsed}}");
        Self::with(ProgressBar::new(all), &template, then)
    }

    fn with(bar: ProgressBar, template: &str, then: &'static str) -> Self {
        let interrupted = Arc::<AtomicBool>::default();
        let asked = Arc::clone(&interrupted);
        let handled = ctrlc::set_handler(move || {
            asked.store(true, Ordering::Relaxed);
            std::thread::sleep(PATIENCE);
            note(&format!("tidings: interrupted: {then}"));
            std::process::exit(INTERRUPTED.into());
        });
        if let Err(error) = handled {
            // The signal ends the program then, which leaves what is written.
            tracing::debug!(%error, "the signal cannot be handled");
        }
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template(template).expect("the template is well-formed");
        let style = style.with_key("rate", |state: &ProgressState, out: &mut dyn fmt::Write| {
            // A text takes all that is written to it.
            let _ = write!(out, "{:.0}/s", state.per_sec());
        });
        Self { bar: bar.with_style(style), then, interrupted }
    }

    /// Opens what the work reads; waiting for more of it ends with Ctrl-C.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn open(&self, file: &Path) -> Result<Box<dyn BufRead>, Failure> {
        input::open_until(file, &self.interrupted)
    }

    /// What an import did; nothing, where Ctrl-C came before the first of its input.
    ///
    /// # Errors
    /// When it failed for another reason.
    pub(crate) fn imported<T: Default>(&self, report: Result<T, Error>) -> Result<T, Failure> {
        match report {
            Err(Error::Input(_)) if self.is_interrupted() => Ok(T::default()),
            report => Ok(report?),
        }
    }

    /// Is told how far the work is; says whether to go on.
    pub(crate) fn told(&self, done: u64) -> ControlFlow<()> {
        self.bar.set_position(done);
        if self.is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Says what the work did, and whether it came to its end.
    ///
    /// # Errors
    /// When it cannot be written.
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
        if out.is_for_programs() {
            let object = serde_json::to_vec(&Interrupted { result: "interrupted", body });
            out.object(&object.expect("a report has text keys and nothing that fails"))?;
        } else {
            out.answer(body, people)?;
        }
        note(&format!("tidings: interrupted: {}", self.then));
        Ok(ExitCode::from(INTERRUPTED))
    }

    /// Whether somebody wants it to end.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// How far a work is that knows its own end, while somebody is looking.
pub(crate) struct Share(ProgressBar);

impl Share {
    pub(crate) fn start() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{wide_bar} {percent} %, {elapsed}");
        Self(ProgressBar::new(100).with_style(style.expect("the template is well-formed")))
    }

    /// Is told how far the work is, from 0 to 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is from 0 to 1")]
    pub(crate) fn told(&self, share: f64) {
        self.0.set_position((share * 100.0) as u64);
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
