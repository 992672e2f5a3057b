//! An input that may block, but stops when asked to.

use std::io::{self, BufRead, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// The size of a chunk in bytes.
const CHUNK: usize = 1 << 16;
/// The maximum delay before a request to stop is noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) struct Interruptible {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    at: usize,
    stop: Arc<AtomicBool>,
}

impl Interruptible {
    /// Once `stop` is set, reading fails, so that half a line is never taken for a whole line. The thread also opens the input,
    /// because opening a pipe may block.
    pub(super) fn for_input<R: Read>(
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let (chunk_read, chunks) = sync_channel(2);
        // The thread ends with the input or with the program.
        thread::spawn(move || {
            let mut input = match open() {
                Ok(input) => input,
                Err(error) => {
                    // This fails only if the receiver is gone.
                    let _ = chunk_read.send(Err(error));
                    return;
                }
            };
            loop {
                let mut chunk = vec![0; CHUNK];
                let read = match input.read(&mut chunk) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Ok(0) => return,
                    Ok(length) => {
                        chunk.truncate(length);
                        Ok(chunk)
                    }
                    Err(error) => Err(error),
                };
                let failed = read.is_err();
                if chunk_read.send(read).is_err() || failed {
                    return;
                }
            }
        });
        Self { chunks, chunk: Vec::new(), at: 0, stop }
    }
}

impl BufRead for Interruptible {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.chunk.len() {
            match self.chunks.recv_timeout(POLL_INTERVAL) {
                Ok(chunk) => (self.chunk, self.at) = (chunk?, 0),
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => {
                    return Err(io::Error::other("reading was cancelled"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(&self.chunk[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount;
    }
}

impl Read for Interruptible {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(to)?;
        self.consume(read);
        Ok(read)
    }
}
