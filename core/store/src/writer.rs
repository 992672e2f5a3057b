//! The writing thread and its queue: the thread commits queued writes in groups.
//!
//! While one group is written to disk, the next one gathers in the queue, so under load more writes share an fsync.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::engine::Committer;
use super::gauges::Gauges;
use super::pending::Pending;
use super::watch::Versions;
use super::{Deferred, Isolation, StoreError, Tx};

mod deferred;
mod gather;
mod group;
mod refuse;
mod transaction;
mod work;

use deferred::DeferredWrites;
pub use gather::Gathered;
use group::commit_group;
use work::Work;

/// The maximum number of writes of one commit.
const GROUP_SIZE: usize = 1_024;
/// The store refuses more writes with [`StoreError::Overloaded`].
const QUEUE: usize = 4_096;
/// Deferred writes gather data for this time; then they join the next commit, or are committed alone. With more data at once,
/// they write each page for more rows.
pub(super) const DEFER_TIME: Duration = Duration::from_millis(100);
/// Writes share a transaction if they were sent within this time. So they are about as old when its outcome stays unknown:
/// clients repeat a refused write soon after they sent it.
pub(super) const JOIN_FOR: Duration = Duration::from_secs(2);

/// The longest pause: a fraction of the time of a group.
const PAUSE_MAX: Duration = Duration::from_millis(1);
const PAUSE_STEP: Duration = Duration::from_micros(100);

enum Message {
    Write(Box<dyn Work>),
    /// A write that takes the current deferred writes into its commit.
    Flush(Box<dyn Work>),
    Defer(Box<dyn Deferred>),
}

pub(super) struct Writer {
    queue: Option<SyncSender<Message>>,
    gauges: Arc<Gauges>,
    thread: Option<JoinHandle<()>>,
}

struct Inbox {
    messages: Receiver<Message>,
    gauges: Arc<Gauges>,
    is_replaying: bool,
}

impl Inbox {
    fn next(&self, until: Option<Instant>) -> Result<Message, RecvTimeoutError> {
        let next = match until {
            None => self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => self.messages.recv_timeout(until.saturating_duration_since(Instant::now())),
        };
        next.inspect(|_| self.taken())
    }

    fn next_queued(&self) -> Option<Message> {
        self.messages.try_recv().ok().inspect(|_| self.taken())
    }

    fn waiting(&self) -> usize {
        self.gauges.waiting.load(Ordering::Relaxed)
    }

    fn taken(&self) {
        self.gauges.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Writer {
    pub(super) fn start(
        committer: impl Committer,
        versions: Arc<Versions>,
        is_replaying: bool,
    ) -> Result<Self, StoreError> {
        let (queue, messages) = sync_channel(QUEUE);
        let gauges = Arc::<Gauges>::default();
        let inbox = Inbox { messages, gauges: Arc::clone(&gauges), is_replaying };
        let thread = std::thread::Builder::new()
            .name("tidings-write".into())
            .spawn(move || write_all(committer, &inbox, &versions));
        Ok(Self { queue: Some(queue), gauges, thread: Some(thread.map_err(StoreError::other)?) })
    }

    pub(super) fn gauges(&self) -> &Arc<Gauges> {
        &self.gauges
    }

    /// With `is_long`, the failure of another write does not make it run again.
    pub(super) fn submit<T, E>(
        &self,
        isolation: Isolation,
        work: impl FnMut(&mut dyn Tx) -> Result<T, E> + Send + 'static,
        is_long: bool,
    ) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (work, result) = work::queued(isolation, work, is_long);
        self.sent(Message::Write(work), result)
    }

    pub(super) fn flush(&self) -> Pending<(), StoreError> {
        // It changes nothing, and its transaction has to admit all deferred writes.
        let (work, result) = work::queued(Isolation::Alone, |_| Ok(()), false);
        self.sent(Message::Flush(work), result)
    }

    fn sent<T, E: From<StoreError>>(&self, message: Message, result: Pending<T, E>) -> Pending<T, E> {
        self.send(message).map_or_else(|error| Pending::given(Err(error.into())), |()| result)
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
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The pause before a group of writes, in which the callers of the last group join it. Used where several servers write.
///
/// A group costs the database about as much as 100 likes, and until its commit others wait for the rows that it has locked. A
/// server that has the database for itself answers all callers of a group at once, and while they send their next writes, nothing
/// is lost by a small group. Several servers share its processors, so small groups of one delay the others. With three servers on
/// two processors, the pause gives a tenth more writes in a second.
#[derive(Default)]
struct Pause {
    /// The writes that the last group answered, and those that waited at its end: about as many callers are writing.
    callers: usize,
}

impl Pause {
    /// Waits until most callers have sent a write, but not for long. The first write was taken already.
    fn wait(&self, inbox: &Inbox) {
        let until = Instant::now() + PAUSE_MAX;
        while !self.are_most(inbox.waiting() + 1) && Instant::now() < until {
            std::thread::sleep(PAUSE_STEP);
        }
    }

    /// Nine tenths of the callers.
    fn are_most(&self, writes: usize) -> bool {
        writes * 10 >= self.callers * 9
    }

    fn ended(&mut self, writes: usize, inbox: &Inbox) {
        self.callers = writes + inbox.waiting();
    }
}

fn write_all(mut committer: impl Committer, inbox: &Inbox, versions: &Versions) {
    let (mut deferred, mut pause) = (DeferredWrites::default(), Pause::default());
    loop {
        let first = match inbox.next(deferred.due) {
            Ok(Message::Defer(write)) => {
                deferred.push(write);
                if deferred.writes.len() < GROUP_SIZE {
                    continue;
                }
                deferred.flush();
                None
            }
            Ok(Message::Write(first)) => Some(first),
            Ok(Message::Flush(first)) => {
                deferred.flush();
                Some(first)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        if first.is_some() && committer.shares_database() {
            pause.wait(inbox);
        }
        let writes = commit_group(&mut committer, versions, first, inbox, &mut deferred);
        pause.ended(writes, inbox);
        committer.after_group();
    }
    deferred.flush();
    while !deferred.is_empty() {
        commit_group(&mut committer, versions, None, inbox, &mut deferred);
    }
    committer.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_caller_is_answered_at_once_and_of_ten_the_last_is_not_waited_for() {
        for (callers, enough) in [(0, 1), (1, 1), (2, 2), (10, 9), (48, 44)] {
            let pause = Pause { callers };
            assert!(pause.are_most(enough), "{callers}");
            assert!(enough == 1 || !pause.are_most(enough - 1), "{callers}");
        }
    }
}
