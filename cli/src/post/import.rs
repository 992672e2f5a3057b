//! `tidings post import`: imports many posts at once.

use std::io::BufRead as _;
use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use tidings_core::post::{self, ImportPosts};

use crate::failure::Failure;
use crate::imported::{self, Strictness};
use crate::input;
use crate::progress::Watch;
use crate::session::Session;

/// The format of a file of posts.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object per line, or one JSON array
    Jsonl,
    /// Comma-separated values after a line with the names of the fields
    Csv,
    /// RSS, Atom or JSON Feed
    Feed,
}

impl From<Format> for post::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Jsonl => Self::Json,
            Format::Csv => Self::Csv,
            Format::Feed => Self::Feed,
        }
    }
}

pub(crate) fn run(
    session: &Session,
    file: &Path,
    format: Option<Format>,
    strictness: Strictness,
) -> Result<ExitCode, Failure> {
    let watch = Watch::start("posts");
    let mut input = watch.open(file)?;
    let format = if let Some(format) = format {
        format.into()
    } else {
        match input.fill_buf() {
            Ok(head) => post::Format::of(&file.to_string_lossy(), head),
            // The import below fails in the same way and reports the interruption.
            Err(_) if watch.is_interrupted() => post::Format::Json,
            Err(error) => return Err(input::unreadable(file, &error)),
        }
    };
    imported::read(session, &watch, input, strictness, ImportPosts { format, charset: None })
}
