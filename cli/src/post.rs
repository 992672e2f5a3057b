//! `tidings post`: posts.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Session;

mod import;

#[derive(Debug, Subcommand)]
pub(crate) enum Post {
    /// Import posts, one JSON object a line or one JSON array; the same url updates
    #[command(after_help = "Example: tidings post import posts.jsonl")]
    Import {
        /// The file, or - for standard input
        file: PathBuf,
    },
}

pub(crate) fn run(session: &Session, command: &Post) -> Result<ExitCode, Failure> {
    match command {
        Post::Import { file } => import::run(session, file),
    }
}
