//! The writing thread and its queue: the thread commits queued writes in groups.
//!
//! While one group is written to disk, the next one collects in the queue. So under load more writes share a commit and
//! its fsync.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::gauges::Gauges;
use super::pending::Pending;
use super::sqlite::{self, Connection, Health};
use super::watch::Versions;
use super::{Deferred, StoreError, Tx};

mod group;

use group::{DeferredWrites, Finished, GROUP_SIZE, Work, commit_group};

/// Maximum number of queued writes; the store refuses more with [`StoreError::Overloaded`].
const QUEUE: usize = 4_096;
/// Maximum time that a deferred write waits for a commit of other writes; then it is committed alone.
const DEFER_TIME: Duration = Duration::from_millis(200);

enum Message {
    Write(Work),
    Defer(Box<dyn Deferred>),
}

/// The writing thread and the sending end of its queue.
pub(super) struct Writer {
    queue: Option<SyncSender<Message>>,
    gauges: Arc<Gauges>,
    thread: Option<JoinHandle<()>>,
}

/// The receiving end of the queue.
struct Inbox {
    messages: Receiver<Message>,
    gauges: Arc<Gauges>,
    health: Arc<Health>,
}

impl Inbox {
    /// Waits for the next message until the given time.
    fn next(&self, until: Option<Instant>) -> Result<Message, RecvTimeoutError> {
        let next = match until {
            None => self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => self.messages.recv_timeout(until.saturating_duration_since(Instant::now())),
        };
        next.inspect(|_| self.taken())
    }

    /// Returns the next message if one is queued.
    fn next_queued(&self) -> Option<Message> {
        self.messages.try_recv().ok().inspect(|_| self.taken())
    }

    fn taken(&self) {
        self.gauges.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        versions: Arc<Versions>,
        health: Arc<Health>,
    ) -> Result<Self, StoreError> {
        let (queue, messages) = sync_channel(QUEUE);
        let gauges = Arc::<Gauges>::default();
        let inbox = Inbox { messages, gauges: Arc::clone(&gauges), health };
        let thread = std::thread::Builder::new()
            .name("tidings-write".into())
            .spawn(move || write_all(&connection, &inbox, &versions));
        Ok(Self { queue: Some(queue), gauges, thread: Some(thread.map_err(StoreError::other)?) })
    }

    pub(super) fn gauges(&self) -> &Arc<Gauges> {
        &self.gauges
    }

    pub(super) fn submit<T, E>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E> + Send + 'static,
    ) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let work: Work = Box::new(move |tx| {
            let result = work(tx);
            let succeeded = result.is_ok();
            let answer = move |commit: Result<(), StoreError>| {
                // Fails when the caller has dropped the `Pending`.
                let _ = sender.send(result.and_then(|value| Ok(commit.map(|()| value)?)));
            };
            Finished { succeeded, answer: Box::new(answer) }
        });
        match self.send(Message::Write(work)) {
            Ok(()) => Pending::awaited(receiver),
            Err(error) => Pending::given(Err(error.into())),
        }
    }

    pub(super) fn defer(&self, write: impl Deferred) -> Result<(), StoreError> {
        self.send(Message::Defer(Box::new(write)))
    }

    fn send(&self, message: Message) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or(StoreError::Overloaded)?;
        // Counted first, because the writer may take the message before `try_send` returns.
        self.gauges.waiting.fetch_add(1, Ordering::Relaxed);
        queue.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) | TrySendError::Disconnected(_) => {
                self.gauges.waiting.fetch_sub(1, Ordering::Relaxed);
                StoreError::Overloaded
            }
        })
    }
}

impl Drop for Writer {
    /// Waits until the thread has written everything in the queue.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Commits groups until the queue closes, then the remaining deferred writes, and copies the write-ahead log into the
/// file.
fn write_all(connection: &Connection, inbox: &Inbox, versions: &Versions) {
    let mut deferred = DeferredWrites::new();
    let mut flush_at = Instant::now();
    loop {
        let first = match inbox.next((!deferred.is_empty()).then_some(flush_at)) {
            Ok(Message::Write(first)) => Some(first),
            Ok(Message::Defer(write)) => {
                if deferred.is_empty() {
                    flush_at = Instant::now() + DEFER_TIME;
                }
                deferred.push(write);
                if deferred.len() < GROUP_SIZE {
                    continue;
                }
                None
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        commit_group(connection, versions, first, inbox, &mut deferred);
        // Deferred writes with more data have already waited.
        flush_at = Instant::now();
    }
    while !deferred.is_empty() {
        commit_group(connection, versions, None, inbox, &mut deferred);
    }
    if inbox.health.must_abandon() {
        sqlite::abandon(connection);
        return;
    }
    // Fails when a reader in another process still uses the log.
    if let Err(error) = sqlite::checkpoint(connection) {
        tracing::warn!(%error, "the write-ahead log remains until the next start");
    }
}
