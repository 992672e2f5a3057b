//! `tidings words`: the word model.

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use indicatif::HumanCount;
use tidings_core::{Error, words};

use crate::failure::Failure;
use crate::input;
use crate::progress::Share;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Words {
    /// Learn the words of the posts now, in the place of what was learned or loaded
    #[command(after_help = "Example: tidings words train")]
    Train,
    /// Write the words and their vectors in word2vec's text form
    #[command(after_help = "Example: tidings words export vectors.txt")]
    Export {
        /// The file
        file: PathBuf,
    },
    /// Load vectors in word2vec's or fastText's text form in the place of what was learned, until words train
    #[command(after_help = "Example: tidings words load cc.ko.300.vec")]
    Load {
        /// The file, or - for standard input
        file: PathBuf,
    },
}

pub(crate) fn run(session: &Session, command: &Words) -> Result<ExitCode, Failure> {
    session.operator_only()?;
    let tidings = &session.tidings;
    let progress = Share::start();
    let mut told = |share: f64| progress.told(share);
    let (done, text) = match command {
        Words::Train => (words::train(tidings, &mut told), "learned"),
        Words::Load { file } => (words::load(tidings, input::open(file)?, &mut told), "loaded"),
        Words::Export { file } => {
            let name = file.display();
            let out = File::create(file);
            let out = out.map_err(|e| Failure::system(format!("cannot write {name}: {e}")))?;
            (words::export(tidings, out), "exported")
        }
    };
    progress.finish();
    let report = done.map_err(|error| match error {
        Error::Overloaded => Failure::refused(&error, "another process is learning words: try again later"),
        Error::NotFound => Failure::refused(&error, "there are no words yet: tidings words train"),
        error => error.into(),
    })?;
    let words = HumanCount(report.words as u64);
    session.out.answer(&report, |page| page.line(format!("{words} words {text} in {:.2} s", report.seconds)))
}
