//! A bounded queue of lines with a thread that writes them, so that a reader of the log who stalls does not stop the server.
//!
//! Lines that do not fit are dropped and counted. The count is logged when there is room again.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use tracing_subscriber::fmt::MakeWriter;

/// The maximum number of lines in the queue.
const LINES: usize = 4_096;
/// The time without a written line after which a flush gives up: nobody reads the log.
const STALLED_AFTER: Duration = Duration::from_secs(1);
/// The maximum number of these times that a flush takes.
const FLUSH_TURNS: usize = 10;

enum Message {
    Line(Vec<u8>),
    /// Answered when the lines before it are written.
    Flush(Sender<()>),
}

/// The sending end of the queue.
#[derive(Clone)]
pub(super) struct Queue {
    messages: Sender<Message>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    dropped: AtomicU64,
    written: AtomicU64,
}

impl Queue {
    /// Starts the thread that writes to `output`.
    pub(super) fn start(output: impl Write + Send + 'static) -> Self {
        let (messages, received) = bounded(LINES);
        let counts = Arc::<Counts>::default();
        let of_thread = Arc::clone(&counts);
        std::thread::spawn(move || write_all(output, &received, &of_thread));
        Self { messages, counts }
    }

    /// Waits until all lines are written, unless nobody reads them.
    pub(super) fn flush(&self) {
        let (done, is_done) = bounded(1);
        let mut message = Message::Flush(done);
        for _ in 0..FLUSH_TURNS {
            let written = self.counts.written.load(Ordering::Relaxed);
            match self.messages.send_timeout(message, STALLED_AFTER) {
                Ok(()) => break,
                Err(error) => message = error.into_inner(),
            }
            if self.counts.written.load(Ordering::Relaxed) == written {
                return;
            }
        }
        for _ in 0..FLUSH_TURNS {
            let written = self.counts.written.load(Ordering::Relaxed);
            let has_ended = is_done.recv_timeout(STALLED_AFTER).is_ok();
            if has_ended || self.counts.written.load(Ordering::Relaxed) == written {
                return;
            }
        }
    }
}

/// Writes lines until all senders are gone.
fn write_all(mut output: impl Write, messages: &Receiver<Message>, counts: &Counts) {
    for message in messages {
        match message {
            Message::Line(line) => {
                // If nobody can read the log, there is nobody to tell.
                let _ = output.write_all(&line);
                counts.written.fetch_add(1, Ordering::Relaxed);
            }
            Message::Flush(done) => drop(done.send(())),
        }
        if messages.is_empty() {
            let dropped = counts.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                tracing::warn!(
                    dropped,
                    "lines of this log are missing, because they were not read fast enough"
                );
            }
        }
    }
}

/// A line that is sent when it is dropped.
pub(super) struct Line<'q> {
    text: Vec<u8>,
    queue: &'q Queue,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        let line = std::mem::take(&mut self.text);
        if !line.is_empty() && self.queue.messages.try_send(Message::Line(line)).is_err() {
            self.queue.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<'q> MakeWriter<'q> for Queue {
    type Writer = Line<'q>;

    fn make_writer(&'q self) -> Line<'q> {
        Line { text: Vec::new(), queue: self }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use super::*;

    /// An output that writes after it has got a permit for each line.
    struct Output(Arc<Mutex<Vec<u8>>>, mpsc::Receiver<()>);

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.1.recv();
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn queue() -> (Queue, Arc<Mutex<Vec<u8>>>, mpsc::Sender<()>) {
        let (permits, received) = mpsc::channel();
        let written = Arc::<Mutex<Vec<u8>>>::default();
        (Queue::start(Output(Arc::clone(&written), received)), written, permits)
    }

    #[test]
    fn a_flush_writes_all_lines_in_order() {
        let (queue, written, permits) = queue();
        for n in 0..100 {
            writeln!(queue.make_writer(), "{n}").unwrap();
        }
        drop(permits);
        queue.flush();
        let lines = (0..100).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat();
        assert_eq!(String::from_utf8(written.lock().unwrap().clone()).unwrap(), lines);
    }

    #[test]
    fn a_stalled_reader_stops_neither_lines_nor_a_flush() {
        let (queue, written, permits) = queue();
        for n in 0..LINES + 11 {
            writeln!(queue.make_writer(), "{n}").unwrap();
        }
        // The thread may hold one line.
        let dropped = queue.counts.dropped.load(Ordering::Relaxed);
        assert!((10..=11).contains(&dropped), "{dropped}");
        queue.flush();
        assert!(written.lock().unwrap().is_empty());
        drop(permits);
        queue.flush();
        assert!(written.lock().unwrap().starts_with(b"0\n1\n2\n"));
    }
}
