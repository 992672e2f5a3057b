use tidings_core::Error;
use tidings_core::newsfeed;
use tidings_core::words::{self, WordsReport};

use crate::atomic_file::{AtomicFile, Readers, unwritable};
use crate::input;
use crate::prelude::*;
use crate::progress;
use crate::session::refused_to_members;

#[derive(Debug, Subcommand)]
pub(crate) enum Words {
    /// Train the model on the posts, replacing the trained or loaded words
    #[command(after_help = "Example: tidings words train")]
    Train,
    /// Write the words and their vectors in the text format of word2vec
    #[command(after_help = "Example: tidings words export vectors.txt")]
    Export {
        /// The file
        file: PathBuf,
    },
    /// Load vectors in the text format of word2vec or fastText, replacing the trained words until words train
    #[command(after_help = "Example: tidings words load cc.ko.300.vec")]
    Load {
        /// The file, or - for standard input
        file: PathBuf,
    },
}

pub(crate) fn run(session: &Session, command: &Words) -> Exit {
    let ((tidings, caller), out) = (session.database()?, &session.out);
    let (report, text) = match command {
        Words::Train => {
            (progress::of_share(|told| words::train(tidings, caller, told)).map_err(explained)?, "learned")
        }
        Words::Load { file } => {
            let input = input::open(file)?;
            let loaded = progress::of_share(|told| words::load(tidings, caller, input, told));
            (loaded.map_err(explained)?, "loaded")
        }
        Words::Export { file } => (export(session, file)?, "exported"),
    };
    if matches!(command, Words::Train | Words::Load { .. }) {
        // The feed compares posts by their words.
        newsfeed::learn(tidings, caller)?;
    }
    let words = number(report.words as u64);
    out.answer(&report, |page| page.line(format!("{words} words {text} in {:.2} s", report.seconds)))
}

fn export(session: &Session, file: &Path) -> Result<WordsReport, Failure> {
    let (tidings, caller) = session.database()?;
    let mut whole = AtomicFile::beside(&session.service, file, Readers::Umask)?;
    let report = words::export(tidings, caller, &mut whole.out).map_err(|error| match error {
        Error::Internal(cause) => unwritable(file, &cause),
        error => explained(error),
    })?;
    whole.keep()?;
    Ok(report)
}

fn explained(error: Error) -> Failure {
    match error {
        Error::Overloaded => {
            Failure::refused(&error.into(), "another process is learning words: try again later")
        }
        Error::NotFound => Failure::refused(&error.into(), "there are no words yet: tidings words train"),
        error => refused_to_members(error),
    }
}
