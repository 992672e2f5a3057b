use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use clap::Args;
use tidings_core::text_file;

use crate::failure::Failure;

/// `-` is standard input. Skips a byte order mark.
pub(crate) fn open(file: &Path) -> Result<Box<dyn BufRead>, Failure> {
    let input = opened(file).map_err(|e| unreadable(file, &e))?;
    let input = BufReader::with_capacity(1 << 18, input);
    Ok(Box::new(text_file::skip_mark(input).map_err(|e| unreadable(file, &e))?))
}

/// Reading a pipe or a terminal, which may block, fails once `stop` is set.
pub(crate) fn open_until(file: &Path, stop: &Arc<AtomicBool>) -> Result<Box<dyn BufRead>, Failure> {
    if file.is_file() {
        return open(file);
    }
    check(file)?;
    Ok(Box::new(BufReader::with_capacity(1 << 16, Interruptible::open(file.to_owned(), stop))))
}

/// Without waiting for the other end of a pipe.
pub(crate) fn check(file: &Path) -> Result<(), Failure> {
    let is_stdin = file.as_os_str() == "-";
    let checked = if file.is_file() { File::open(file).map(drop) } else { file.metadata().map(drop) };
    if is_stdin { Ok(()) } else { checked.map_err(|e| unreadable(file, &e)) }
}

fn opened(file: &Path) -> io::Result<Box<dyn Read + Send>> {
    if file.as_os_str() == "-" { Ok(Box::new(io::stdin())) } else { Ok(Box::new(File::open(file)?)) }
}

pub(crate) fn unreadable(file: &Path, error: &io::Error) -> Failure {
    Failure::system(format!("cannot read {}: {error}", file.display()))
}

/// In bytes: more than any valid text has.
const TEXT_MAX: u64 = 4 << 20;

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

struct Interruptible {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
    stop: Arc<AtomicBool>,
}

impl Interruptible {
    /// Once `stop` is set, reading fails, so that half a line is never taken for a whole line.
    fn open(file: PathBuf, stop: &Arc<AtomicBool>) -> Self {
        let (chunk_read, chunks) = sync_channel(2);
        // Opening a pipe may block, too. The thread ends with the input or with the program.
        thread::spawn(move || {
            let mut input = match opened(&file) {
                Ok(input) => BufReader::with_capacity(1 << 16, input),
                // Sending fails only if the receiver is gone.
                Err(error) => return drop(chunk_read.send(Err(error))),
            };
            loop {
                let read = match input.fill_buf() {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Ok([]) => return,
                    read => read.map(<[u8]>::to_vec),
                };
                let length = read.as_ref().map_or(0, Vec::len);
                input.consume(length);
                if chunk_read.send(read).is_err() || length == 0 {
                    return;
                }
            }
        });
        Self { chunks, chunk: Cursor::default(), stop: Arc::clone(stop) }
    }
}

impl Read for Interruptible {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        const POLL_INTERVAL: Duration = Duration::from_millis(50);
        loop {
            let read = self.chunk.read(to)?;
            if read > 0 || to.is_empty() {
                return Ok(read);
            }
            match self.chunks.recv_timeout(POLL_INTERVAL) {
                Ok(chunk) => self.chunk = Cursor::new(chunk?),
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => {
                    return Err(io::Error::other("reading was cancelled"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}
