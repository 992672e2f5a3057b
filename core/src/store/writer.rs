//! The one writer: it commits what is waiting together, and answers once that is on disk.
//!
//! While one group is being put on disk the next gathers in the queue, so the more there is to write, the
//! more each commit carries: throughput does not pay one disk flush for each request. Each work runs in a
//! savepoint of its own, so one that fails spoils no neighbour.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::gauges::Gauges;
use super::health::Health;
use super::sqlite::{self, Connection, SqliteTx};
use super::watch::Versions;
use super::{Ride, Rider, Slice, StoreError, Tx};
use crate::error::{Error, Result};

/// What may wait to be written; more is refused with `overloaded`.
const QUEUE: usize = 4_096;
/// Works and time that one commit may carry, so that the first of a group does not wait for ever.
const GROUP: usize = 1_024;
const GROUP_TIME: Duration = Duration::from_millis(20);
/// What of that time works leave to riders that wait; riders have it even where one work took longer than all of it.
const RIDE_SHARE: Duration = Duration::from_millis(5);
/// How long what rides along may wait for a commit to ride on.
const RIDE_TIME: Duration = Duration::from_millis(200);

/// An answer that comes once it is on disk: wait for it on a thread, or await it.
#[must_use = "nothing is known of the write until its answer is there"]
pub struct Pending<T>(Answer<T>);

enum Answer<T> {
    Given(Result<T>),
    Awaited(oneshot::Receiver<Result<T>>),
}

impl<T> Pending<T> {
    /// Waits, blocking the thread, until the answer is there.
    ///
    /// # Errors
    /// The operation's.
    pub fn wait(self) -> Result<T> {
        match self.0 {
            Answer::Given(result) => result,
            Answer::Awaited(receiver) => receiver.recv().unwrap_or_else(|_| Err(lost())),
        }
    }

    /// Waits, without blocking the thread, until the answer is there; on any runtime.
    ///
    /// # Errors
    /// The operation's.
    pub async fn done(self) -> Result<T> {
        match self.0 {
            Answer::Given(result) => result,
            Answer::Awaited(receiver) => receiver.await.unwrap_or_else(|_| Err(lost())),
        }
    }

    /// The answer, where it is known without waiting.
    #[cfg(test)]
    pub(super) fn given_already(self) -> std::result::Result<Result<T>, Self> {
        match self.0 {
            Answer::Given(result) => Ok(result),
            awaited @ Answer::Awaited(_) => Err(Self(awaited)),
        }
    }

    /// An answer that is known already.
    pub(crate) fn given(result: Result<T>) -> Self {
        Self(Answer::Given(result))
    }
}

/// Every work is answered before the thread ends, so only one that panicked is not.
fn lost() -> Error {
    Error::Internal("the write panicked and was undone".into())
}

/// A work whose outcome is known, but not on disk yet.
struct Finished {
    /// Whether what it wrote is to be kept.
    keep: bool,
    /// Gives the answer, told whether the commit went well.
    answer: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

type Work = Box<dyn FnOnce(&mut dyn Tx) -> Finished + Send>;

enum Message {
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
struct Inbox {
    messages: Receiver<Message>,
    gauges: Arc<Gauges>,
    health: Arc<Health>,
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
    fn next_already(&self) -> Option<Message> {
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

    pub(super) fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T> + Send + 'static,
    ) -> Pending<T> {
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
            Ok(()) => Pending(Answer::Awaited(receiver)),
            Err(error) => Pending::given(Err(error)),
        }
    }

    pub(super) fn ride(&self, rider: impl Rider) {
        // A full queue drops the rider, which knows what that means.
        let _ = self.send(Message::Ride(Box::new(rider)));
    }

    fn send(&self, message: Message) -> Result<()> {
        let queue = self.queue.as_ref().ok_or(Error::Overloaded)?;
        // Before it can be taken.
        self.gauges.waiting.fetch_add(1, Ordering::Relaxed);
        queue.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) | TrySendError::Disconnected(_) => {
                self.gauges.waiting.fetch_sub(1, Ordering::Relaxed);
                Error::Overloaded
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

/// The riders that wait for a commit.
type Riders = Vec<Box<dyn Rider>>;

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

/// One transaction: the first work, what has gathered behind it, and the riders for the rest of its time.
fn commit_group(
    connection: &Connection,
    versions: &Versions,
    first: Option<Work>,
    inbox: &Inbox,
    riders: &mut Riders,
) {
    let mut answers = Vec::new();
    let mut tx = match inbox.health.look().and_then(|()| SqliteTx::begin_write(connection)) {
        Ok(tx) => tx,
        Err(error) => {
            inbox.health.committed(Err(&error));
            if let Some(work) = first {
                refuse(work, &error);
            }
            for rider in riders.drain(..) {
                refuse_rider(rider, &error);
            }
            return;
        }
    };
    let began = Instant::now();
    let (mut kept, mut broken) = (false, None);
    let mut next = first;
    while let Some(work) = next {
        answers.extend(run_work(&mut tx, work, &mut kept, &mut broken));
        next = None;
        while next.is_none()
            && broken.is_none()
            && answers.len() < GROUP
            && began.elapsed() < time_of_works(riders)
        {
            match inbox.next_already() {
                Some(Message::Write(work)) => next = Some(work),
                Some(Message::Ride(rider)) => riders.push(rider),
                None => break,
            }
        }
    }
    let end = (began + GROUP_TIME).max(Instant::now() + RIDE_SHARE);
    let mut aboard = Vec::new();
    // All of them, whatever the time: there is one for each who defers writes, and what it does at least is little.
    for rider in riders.drain(..) {
        aboard.extend(run_rider(&mut tx, rider, Slice::until(end), &mut kept, &mut broken));
    }
    let revision = tx.revision();
    let committed = match broken {
        Some(error) => {
            tx.rollback();
            Err(error)
        }
        // What went into a file that has just lost its path is not acknowledged.
        None if kept => {
            let committed = tx.commit().and_then(|topics| inbox.health.look().map(|()| topics));
            committed.inspect(|_| inbox.gauges.committed(answers.len() + aboard.len()))
        }
        // Who was refused costs the disk nothing.
        None => {
            tx.rollback();
            Ok(Vec::new())
        }
    };
    if kept || committed.is_err() {
        inbox.health.committed(committed.as_ref().map(drop));
    }
    if let Ok(topics) = &committed
        && !topics.is_empty()
    {
        versions.publish(topics, revision);
    }
    let committed = committed.map(|_| ());
    for answer in answers {
        answer(committed.clone());
    }
    for (mut rider, result) in aboard {
        let written = result.and_then(|()| Ok(committed.clone()?));
        if rider.arrive(written) == Ride::GoesOn {
            riders.push(rider);
        }
    }
}

/// How long the works of a group may take.
fn time_of_works(riders: &Riders) -> Duration {
    if riders.is_empty() { GROUP_TIME } else { GROUP_TIME.saturating_sub(RIDE_SHARE) }
}

type Give = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Runs a work; what gives its answer, unless it has been answered or panicked.
fn run_work(
    tx: &mut SqliteTx<'_>,
    work: Work,
    kept: &mut bool,
    broken: &mut Option<StoreError>,
) -> Option<Give> {
    if let Err(error) = savepoint(tx, broken) {
        refuse(work, &error);
        return None;
    }
    let run = |tx: &mut SqliteTx<'_>| {
        let finished = work(tx);
        (finished.keep, finished.answer)
    };
    run_one(tx, run, kept, broken)
}

/// Runs a slice of a rider's work; the rider and what became of it, unless it has been told or panicked.
fn run_rider(
    tx: &mut SqliteTx<'_>,
    mut rider: Box<dyn Rider>,
    slice: Slice,
    kept: &mut bool,
    broken: &mut Option<StoreError>,
) -> Option<(Box<dyn Rider>, Result<()>)> {
    if let Err(error) = savepoint(tx, broken) {
        refuse_rider(rider, &error);
        return None;
    }
    let run = |tx: &mut SqliteTx<'_>| {
        let result = rider.write(tx, slice);
        (result.is_ok(), (rider, result))
    };
    run_one(tx, run, kept, broken)
}

/// Begins a savepoint. `broken` is set once SQLite has undone the whole transaction.
fn savepoint(tx: &mut SqliteTx<'_>, broken: &mut Option<StoreError>) -> Result<(), StoreError> {
    match broken {
        Some(error) => Err(error.clone()),
        None => tx.run("SAVEPOINT work", &[]).map(|_| ()).inspect_err(|error| *broken = Some(error.clone())),
    }
}

/// Runs one work in the savepoint that was begun for it; it says whether what it did is to be kept. `kept` is set
/// when that stays, `broken` once SQLite has undone the whole transaction.
fn run_one<T>(
    tx: &mut SqliteTx<'_>,
    work: impl FnOnce(&mut SqliteTx<'_>) -> (bool, T),
    kept: &mut bool,
    broken: &mut Option<StoreError>,
) -> Option<T> {
    let counted = tx.counted();
    let finished = catch_unwind(AssertUnwindSafe(|| work(tx)));
    let keep = finished.as_ref().is_ok_and(|(keep, _)| *keep);
    *kept |= keep;
    if !keep {
        tx.uncount(counted);
    }
    let undone = if keep { Ok(0) } else { tx.run("ROLLBACK TO work", &[]) };
    if let Err(error) = undone.and_then(|_| tx.run("RELEASE work", &[])) {
        *broken = Some(error);
    } else if !tx.is_open() {
        *broken = Some(StoreError::other("the transaction was undone"));
    }
    if finished.is_err() {
        // Dropped with the work, the sender tells its caller.
        tracing::error!("a write panicked and was undone");
    }
    Some(finished.ok()?.1)
}

/// A transaction that refuses everything.
struct Refusing<'e>(&'e StoreError);

impl Tx for Refusing<'_> {
    fn rows(&mut self, _: &str, _: &[super::Arg<'_>]) -> Result<Vec<super::Row>, StoreError> {
        Err(self.0.clone())
    }
    fn run(&mut self, _: &str, _: &[super::Arg<'_>]) -> Result<u64, StoreError> {
        Err(self.0.clone())
    }
    fn revision(&self) -> i64 {
        0
    }
    fn touch(&mut self, _: super::Topic) {}
    fn count(&mut self, _: i64, _: Option<i64>, _: i64) {}
    fn count_on(&mut self, _: i64, _: i64, _: i64) {}
}

/// Answers a work that cannot run, by running it on a transaction that refuses everything.
fn refuse(work: Work, error: &StoreError) {
    (work(&mut Refusing(error)).answer)(Err(error.clone()));
}

/// As [`refuse`], a rider, which goes no further.
fn refuse_rider(mut rider: Box<dyn Rider>, error: &StoreError) {
    let refused = rider.write(&mut Refusing(error), Slice::endless());
    let _ = rider.arrive(refused.and_then(|()| Err(error.clone().into())));
}
