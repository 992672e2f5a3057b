//! `tidings words`: the word model.

use std::fs::File;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use tidings_core::{Error, Tidings, words};

use crate::args::{Global, Words};
use crate::output::{self, Failure};
use crate::post::open;

pub(crate) fn run(tidings: &Tidings, global: &Global, command: &Words) -> Result<ExitCode, Failure> {
    let progress = progress();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is from 0 to 1")]
    let mut told = |share: f64| progress.set_position((share * 100.0) as u64);
    let (done, text) = match command {
        Words::Train => (words::train(tidings, &mut told), "learned"),
        Words::Load { file } => (words::load(tidings, open(file)?, &mut told), "loaded"),
        Words::Export { file } => {
            let name = file.display();
            let out = File::create(file);
            let out = out.map_err(|e| Failure::system(format!("cannot write {name}: {e}")))?;
            (words::export(tidings, out), "exported")
        }
    };
    progress.finish_and_clear();
    let report = done.map_err(|error| match error {
        Error::Overloaded => Failure::refused(&error, "another process is learning words: try again later"),
        Error::NotFound => Failure::refused(&error, "there are no words yet: tidings words train"),
        error => error.into(),
    })?;
    let text = format!("{} words {text} in {:.2} s", report.words, report.seconds);
    Ok(output::success(global.json, &report, &text))
}

/// A bar while somebody is looking.
fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {percent} %, {elapsed}");
    ProgressBar::new(100).with_style(style.expect("the template is well-formed"))
}
