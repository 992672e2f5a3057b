//! The progress of copying a database.

use std::cell::Cell;
use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressStyle};
use tidings_core::copy::Step;

pub(crate) struct StepBar {
    bar: ProgressBar,
    shown: Cell<Option<&'static str>>,
}

impl StepBar {
    pub(crate) fn new() -> Self {
        let is_shown = std::io::stderr().is_terminal();
        let bar = if is_shown { ProgressBar::new(0) } else { ProgressBar::hidden() };
        Self { bar, shown: Cell::new(None) }
    }

    pub(crate) fn show(&self, step: Step) {
        const ROWS: &str = "{msg} {wide_bar} {human_pos} of {human_len} rows, {elapsed}";
        match step {
            Step::Copying { done, of } => {
                self.set("copying", "{msg} {wide_bar} {bytes} of {total_bytes}, {elapsed}", done, of);
            }
            Step::Rows { done, of } => self.set("copying", ROWS, done, of),
            Step::Indexing { done, of } => {
                self.set(
                    "indexing",
                    "{msg} {wide_bar} {human_pos} of {human_len} posts, {elapsed}",
                    done,
                    of,
                );
            }
            Step::Verifying { done, of } => self.set("verifying", ROWS, done, of),
            Step::Compacting => {
                self.bar.set_message("compacting");
                self.bar.tick();
            }
            Step::Checking => {
                self.bar.set_message("checking");
                self.bar.tick();
            }
        }
    }

    fn set(&self, what: &'static str, template: &str, done: u64, of: u64) {
        if self.shown.replace(Some(what)) != Some(what) {
            self.bar.set_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
            self.bar.set_message(what);
        }
        self.bar.set_length(of);
        self.bar.set_position(done);
    }

    pub(crate) fn clear(self) {
        self.bar.finish_and_clear();
    }
}
