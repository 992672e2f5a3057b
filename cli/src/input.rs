//! The input of commands: files and standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use tidings_core::text_file;

use crate::failure::Failure;

mod interruptible;

use interruptible::Interruptible;

/// `-` is standard input. Skips a byte order mark.
pub(crate) fn open(file: &Path) -> Result<Box<dyn BufRead>, Failure> {
    let input = BufReader::with_capacity(1 << 18, unbuffered(file)?);
    Ok(Box::new(text_file::skip_mark(input).map_err(|e| unreadable(file, &e))?))
}

/// Reading a pipe or a terminal, which may block, fails once `stop` is set.
pub(crate) fn open_until(file: &Path, stop: &Arc<AtomicBool>) -> Result<Box<dyn BufRead>, Failure> {
    if file.is_file() {
        return open(file);
    }
    check(file)?;
    let file = file.to_owned();
    Ok(Box::new(Interruptible::for_input(move || opened(&file), Arc::clone(stop))))
}

/// Checks that a file can be opened, without waiting for the other end of a pipe.
pub(crate) fn check(file: &Path) -> Result<(), Failure> {
    let is_stdin = file.as_os_str() == "-";
    let checked = if file.is_file() { File::open(file).map(drop) } else { file.metadata().map(drop) };
    if is_stdin { Ok(()) } else { checked.map_err(|e| unreadable(file, &e)) }
}

fn unbuffered(file: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    opened(file).map_err(|e| unreadable(file, &e))
}

fn opened(file: &Path) -> io::Result<Box<dyn Read + Send>> {
    if file.as_os_str() == "-" { Ok(Box::new(io::stdin())) } else { Ok(Box::new(File::open(file)?)) }
}

pub(crate) fn unreadable(file: &Path, error: &io::Error) -> Failure {
    Failure::system(format!("cannot read {}: {error}", file.display()))
}

/// The maximum number of bytes read of a text: more than any valid text has.
const TEXT_MAX: u64 = 4 << 20;

/// A text, given as an argument or in a file.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Text {
    /// The text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    post: Option<String>,
    /// A file with the text, or - for standard input
    #[arg(long, value_name = "F")]
    post_file: Option<PathBuf>,
}

impl Text {
    /// Omits the line break at the end of a file.
    pub(crate) fn read(&self) -> Result<Option<String>, Failure> {
        let Some(file) = &self.post_file else { return Ok(self.post.clone()) };
        let mut text = String::new();
        let read = open(file)?.take(TEXT_MAX).read_to_string(&mut text);
        read.map_err(|e| unreadable(file, &e))?;
        let end = text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text).len());
        text.truncate(end.unwrap_or(text.len()));
        Ok(Some(text))
    }
}
