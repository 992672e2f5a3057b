//! The one writer: it commits what is waiting together, and answers once that is on disk.
//!
//! While one group is being put on disk the next gathers in the queue, so the more there is to write, the
//! more each commit carries: throughput does not pay one disk flush for each request. Each work runs in a
//! savepoint of its own, so one that fails spoils no neighbour.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::gauges::Gauges;
use super::group::{Finished, GROUP, Riders, Work, commit_group};
use super::health::Health;
use super::pending::Pending;
use super::sqlite::{self, Connection};
use super::watch::Versions;
use super::{Rider, StoreError, Tx};

/// What may wait to be written; more is refused with `overloaded`.
const QUEUE: usize = 4_096;
/// How long what rides along may wait for a commit to ride on.
const RIDE_TIME: Duration = Duration::from_millis(200);

pub(super) enum Message {
    Write(Work),
    Ride(Box<dyn Rider>),
}

/// The queue to the writing thread, and the thread.
pub(super) struct Writer {
    queue: Option<SyncSender<Message>>,
    gauges: Arc<Gauges>,
    thread: Option<JoinHandle<()>>,
}

/// The writing thread's end of the queue.
pub(super) struct Inbox {
    messages: Receiver<Message>,
    pub(super) gauges: Arc<Gauges>,
    pub(super) health: Arc<Health>,
}

impl Inbox {
    /// The next message; waits for it, where a time is given until then.
    fn next(&self, until: Option<Instant>) -> Result<Message, RecvTimeoutError> {
        let next = match until {
            None => self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => self.messages.recv_timeout(until.saturating_duration_since(Instant::now())),
        };
        next.inspect(|_| self.taken())
    }

    /// The next message, if there is one already.
    pub(super) fn next_already(&self) -> Option<Message> {
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

    pub(super) fn gauges(&self) -> &Gauges {
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
            let keep = result.is_ok();
            let answer = move |commit: Result<(), StoreError>| {
                // Nobody is left to hear it when the caller has gone.
                let _ = sender.send(result.and_then(|value| Ok(commit.map(|()| value)?)));
            };
            Finished { keep, answer: Box::new(answer) }
        });
        match self.send(Message::Write(work)) {
            Ok(()) => Pending::awaited(receiver),
            Err(error) => Pending::given(Err(error.into())),
        }
    }

    pub(super) fn ride(&self, rider: impl Rider) {
        // A full queue drops the rider, which knows what that means.
        let _ = self.send(Message::Ride(Box::new(rider)));
    }

    fn send(&self, message: Message) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or(StoreError::Overloaded)?;
        // Before it can be taken.
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
    /// Lets the thread finish what is waiting.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The writing thread: groups until the queue closes, then what is left of the riders' work and a checkpoint.
fn write_all(connection: &Connection, inbox: &Inbox, versions: &Versions) {
    let mut riders = Riders::new();
    let mut sails_at = Instant::now();
    loop {
        let first = match inbox.next((!riders.is_empty()).then_some(sails_at)) {
            Ok(Message::Write(first)) => Some(first),
            Ok(Message::Ride(rider)) => {
                if riders.is_empty() {
                    sails_at = Instant::now() + RIDE_TIME;
                }
                riders.push(rider);
                if riders.len() < GROUP {
                    continue;
                }
                None
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        commit_group(connection, versions, first, inbox, &mut riders);
        // Those that go on have waited already.
        sails_at = Instant::now();
    }
    while !riders.is_empty() {
        commit_group(connection, versions, None, inbox, &mut riders);
    }
    if inbox.health.is_anothers() {
        sqlite::abandon(connection);
        return;
    }
    // Who reads in another process keeps it where it is.
    if let Err(error) = sqlite::checkpoint(connection) {
        tracing::warn!(%error, "the write-ahead log stays for the next start");
    }
}
