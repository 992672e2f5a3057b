//! `tidings act`: imports what members did in another system.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use tidings_core::act::ImportActs;

use crate::failure::Failure;
use crate::imported::{self, Strictness};
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Act {
    /// Import views, likes, searches and opened newsfeeds from another system; each counts on the day of its date
    #[command(
        after_help = "Lines:\n  {\"id\": \"ann\", \"type\": \"view\", \"url\": \"https://…\", \"date\": \"2024-03-01T09:00:00Z\"}\n  \
                      {\"id\": \"ann\", \"type\": \"search\", \"search\": \"…\", \"date\": \"…\"}\n\
                      The types: view and like with url, search with search, newsfeed with newsfeed_name\n\
                      Example: tidings act import acts.jsonl"
    )]
    Import {
        /// The file with one JSON object per line or one JSON array, or - for standard input
        file: PathBuf,
        #[command(flatten)]
        strictness: Strictness,
    },
}

pub(crate) fn run(session: &Session, command: &Act) -> Result<ExitCode, Failure> {
    let Act::Import { file, strictness } = command;
    imported::run(session, ("acts", file), *strictness, ImportActs {})
}
