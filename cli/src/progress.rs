//! Progress of long work, and Ctrl-C, which stops the work after the current batch. Only a terminal shows the progress.

use std::fmt;
use std::io::BufRead;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use serde::Serialize;
use tidings_core::backup::CancelFlag;
use tidings_core::copy::Step;

use crate::failure::INTERRUPTED;
use crate::input;
use crate::output::note;
use crate::prelude::*;

/// After this time the user learns why the process has not ended …
const NOTE_AFTER: Duration = Duration::from_secs(1);
/// … and after this further time it ends anyway; a batch ends within it on a slow disk, too. Another Ctrl-C ends it at once.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

static ENDS_AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Opening and writing a pipe or a device may block for ever. There is nothing to clean up: the reader sees that the output ends.
pub(crate) fn end_at_once() {
    ENDS_AT_ONCE.store(true, Ordering::Relaxed);
}

/// Ctrl-C and SIGTERM ask the work to stop, instead of ending the process at once.
pub(crate) fn stop() -> Result<CancelFlag, Failure> {
    let stop = CancelFlag::default();
    let asked = stop.clone();
    let set = ctrlc::set_handler(move || asked.set());
    set.map_err(|e| Failure::system(format!("cannot listen for Ctrl-C: {e}")))?;
    Ok(stop)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well-formed")
}

pub(crate) struct Watch {
    bar: ProgressBar,
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
            if asked.swap(true, Ordering::Relaxed) || ENDS_AT_ONCE.load(Ordering::Relaxed) {
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
        let style = style(&template).with_key("rate", |state: &ProgressState, out: &mut dyn fmt::Write| {
            // Writing to a string cannot fail.
            let _ = write!(out, "{:.0}/s", state.per_sec());
        });
        Self { bar: bar.with_style(style), then, interrupted }
    }

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
    ) -> Exit {
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

/// From 0 to 1.
pub(crate) fn of_share<T>(work: impl FnOnce(&mut dyn FnMut(f64)) -> T) -> T {
    let bar = ProgressBar::new(100).with_style(style("{wide_bar} {percent} %, {elapsed}"));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is from 0 to 1")]
    let done = work(&mut |share| bar.set_position((share * 100.0) as u64));
    bar.finish_and_clear();
    done
}

/// Ctrl-C and SIGTERM ask to stop.
pub(crate) fn of_steps<T>(work: impl FnOnce(&mut dyn FnMut(Step), &CancelFlag) -> T) -> Result<T, Failure> {
    let (stop, bar, mut shown) = (stop()?, ProgressBar::new(0), "");
    let done = work(&mut |step| show_step(&bar, &mut shown, step), &stop);
    bar.finish_and_clear();
    Ok(done)
}

fn show_step(bar: &ProgressBar, shown: &mut &'static str, step: Step) {
    const BYTES: &str = "{msg} {wide_bar} {bytes} of {total_bytes}, {elapsed}";
    const ROWS: &str = "{msg} {wide_bar} {human_pos} of {human_len} rows, {elapsed}";
    const POSTS: &str = "{msg} {wide_bar} {human_pos} of {human_len} posts, {elapsed}";
    let (what, template, done, of) = match step {
        Step::Copying { done, of } => ("copying", BYTES, done, of),
        Step::Rows { done, of } => ("copying", ROWS, done, of),
        Step::Indexing { done, of } => ("indexing", POSTS, done, of),
        Step::Verifying { done, of } => ("verifying", ROWS, done, of),
        Step::Compacting | Step::Checking => {
            bar.set_message(if matches!(step, Step::Checking) { "checking" } else { "compacting" });
            return bar.tick();
        }
    };
    if *shown != what {
        *shown = what;
        bar.set_style(style(template));
        bar.set_message(what);
    }
    bar.set_length(of);
    bar.set_position(done);
}

pub(crate) fn of_parts<T>(doing: &str, work: impl FnOnce(&mut dyn FnMut(&'static str)) -> T) -> T {
    let spinner = ProgressBar::new_spinner().with_style(style("{spinner} {msg}, {elapsed}"));
    spinner.enable_steady_tick(Duration::from_millis(100));
    let done = work(&mut |part| spinner.set_message(format!("{doing} {}", part.replace('_', " "))));
    spinner.finish_and_clear();
    done
}
