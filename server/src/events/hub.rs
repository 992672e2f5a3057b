//! The hub: a thread that follows the database, and the listeners that it wakes.
//!
//! The thread looks for changes only while there are listeners. It wakes them in batches with pauses between, so that other
//! requests do not wait for ten thousand writes to sockets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tidings_core::account::Client;
use tidings_core::events::{Event, Follower, News};
use tidings_core::{Error, Result, Tidings};
use tokio::sync::watch;

use super::frame;
use super::history::{History, Kinds, Next, Since};
use crate::config::Config;
use crate::filter::shares::{Part, Share, Shares};

/// The interval of the looks for changes.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The interval of the counts of today.
const COUNTS_EVERY: Duration = Duration::from_secs(5);
/// The pause after a failed start.
const RETRY: Duration = Duration::from_secs(1);
/// The time in which the first look must succeed for a new listener.
const START_MAX: Duration = Duration::from_secs(5);
/// The interval of heartbeats to a silent listener: between this …
const HEARTBEAT: Duration = Duration::from_secs(15);
/// … and a third more, so that the heartbeats of many listeners do not come at once.
const HEARTBEAT_SPREAD: u32 = 3;
/// The number of groups of listeners that are woken together.
const SHARDS: u32 = 64;
/// The number of woken listeners after which the thread pauses, and the pause.
const BATCH: usize = 128;
const PAUSE: Duration = Duration::from_millis(2);

/// The hub of a server.
pub(crate) struct Hub {
    tidings: Tidings,
    shared: Arc<Shared>,
    /// The thread, from the first listener on.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The data that the thread and the listeners share.
pub(super) struct Shared {
    state: Mutex<State>,
    /// The places of listeners.
    places: Arc<Shares<Client>>,
    /// Wakes the listeners of each group.
    shards: [watch::Sender<()>; SHARDS as usize],
    /// Whether the history has all changes up to the last look. While there is no listener, it has not.
    is_following: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    history: Option<History>,
    counts: Counts,
    is_closed: bool,
    /// The number of listeners so far.
    total: u32,
}

/// The counts of today as last told.
#[derive(Default)]
struct Counts {
    /// A number that grows with each change.
    number: u64,
    frame: Bytes,
}

/// A listener: its place, its position in the history, and what wakes it.
pub(super) struct Listener {
    shared: Arc<Shared>,
    _place: Share<Client>,
    pub(super) wake: watch::Receiver<()>,
    kinds: Kinds,
    /// The first frames that were not sent yet.
    begin: std::vec::IntoIter<Bytes>,
    position: u64,
    /// The number of the counts that were sent.
    counts: u64,
    /// The interval of heartbeats while there is nothing else.
    pub(super) heartbeat: Duration,
}

impl Hub {
    /// Returns the hub of a service, for at most `streams` listeners.
    pub(crate) fn new(tidings: Tidings, streams: usize) -> Self {
        let places = Shares::new(streams, Part::OfFree);
        let (shards, is_following) =
            (std::array::from_fn(|_| watch::Sender::new(())), watch::Sender::new(false));
        let shared = Arc::new(Shared { state: Mutex::default(), places, shards, is_following });
        Self { tidings, shared, thread: Mutex::default() }
    }

    /// Returns the number of listeners.
    pub(crate) fn listeners(&self) -> usize {
        self.shared.places.taken()
    }

    /// Ends all streams. There are none from then on.
    pub(crate) fn close(&self) {
        self.shared.state().is_closed = true;
        for shard in &self.shared.shards {
            shard.send_replace(());
        }
        self.wake_thread();
    }

    /// Returns a new listener of `client` to events of these kinds.
    ///
    /// # Errors
    /// `overloaded` if there are too many, or the database cannot be read; `too many requests` if the client has too many.
    pub(super) async fn listen(
        &self,
        config: &Config,
        client: Client,
        since: Since,
        kinds: Kinds,
    ) -> Result<Listener> {
        let (place, number) = self.admit(client)?;
        self.wake_thread();
        let mut is_following = self.shared.is_following.subscribe();
        let following = is_following.wait_for(|is_following| *is_following);
        if !matches!(tokio::time::timeout(START_MAX, following).await, Ok(Ok(_))) {
            return Err(Error::Overloaded);
        }
        // Before the history is read, so that no event after it is missed.
        let shard = number % SHARDS;
        let wake = self.shared.shards[shard as usize].subscribe();
        let state = self.shared.state();
        let history = state.history.as_ref().filter(|_| !state.is_closed).ok_or(Error::Overloaded)?;
        let (begin, position) = (history.begin(since, kinds), history.end());
        drop(state);
        // A library's timeout may be shorter than the interval.
        let interval = HEARTBEAT.min(config.idle_timeout / HEARTBEAT_SPREAD);
        let spread = interval / HEARTBEAT_SPREAD * shard / SHARDS;
        Ok(Listener {
            shared: Arc::clone(&self.shared),
            _place: place,
            wake,
            kinds,
            begin: begin.into_iter(),
            position,
            counts: 0,
            heartbeat: interval + spread,
        })
    }

    /// Returns a place, and the number of the listener.
    fn admit(&self, client: Client) -> Result<(Share<Client>, u32)> {
        let mut state = self.shared.state();
        if state.is_closed {
            return Err(Error::Overloaded);
        }
        let place = self.shared.places.take(client, 1)?;
        state.total = state.total.wrapping_add(1);
        Ok((place, state.total))
    }

    /// Starts the thread, or wakes it if it waits for listeners.
    fn wake_thread(&self) {
        if *self.shared.is_following.borrow() && !self.shared.state().is_closed {
            return;
        }
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        match &*thread {
            Some(thread) => thread.thread().unpark(),
            None if self.shared.state().is_closed => {}
            None => {
                let (shared, tidings) = (Arc::clone(&self.shared), self.tidings.clone());
                let follow = move || shared.follow(&tidings);
                match thread::Builder::new().name("tidings-events".into()).spawn(follow) {
                    Ok(started) => *thread = Some(started),
                    Err(error) => tracing::error!(%error, "live events cannot be followed"),
                }
            }
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread was printed.
            let _ = thread.join();
        }
    }
}

impl Listener {
    /// Returns the next of the first frames.
    pub(super) fn first(&mut self) -> Option<Bytes> {
        self.begin.next()
    }

    /// Returns the next frame after the first ones. `is_due` is whether it is a heartbeat if there is nothing else.
    pub(super) fn next(&mut self, is_due: bool) -> Next {
        let state = self.shared.state();
        let Some(history) = state.history.as_ref().filter(|_| !state.is_closed) else { return Next::Lost };
        match history.next(&mut self.position, self.kinds) {
            Next::Nothing => {}
            other => return other,
        }
        if self.kinds.has_counts() && self.counts != state.counts.number {
            self.counts = state.counts.number;
            return Next::Frame(state.counts.frame.clone());
        }
        if is_due { Next::Frame(history.heartbeat()) } else { Next::Nothing }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the database until the hub closes.
    fn follow(&self, tidings: &Tidings) {
        let (mut follower, mut counted): (Option<Follower>, Option<Instant>) = (None, None);
        while self.has_listeners() {
            let following = match &mut follower {
                Some(follower) => follower,
                None => match Follower::start(tidings) {
                    Ok((new, first, news)) => {
                        self.state().history = Some(History::new(first));
                        self.publish(&new, news, None);
                        follower.insert(new)
                    }
                    Err(error) => {
                        tracing::error!(cause = error.detail(), "live events cannot be followed");
                        thread::park_timeout(RETRY);
                        continue;
                    }
                },
            };
            let news = following.look();
            let mut counts = None;
            if counted.is_none_or(|then| then.elapsed() >= COUNTS_EVERY) {
                counted = Some(Instant::now());
                counts = following.counts().unwrap_or_else(|error| {
                    tracing::debug!(cause = error.detail(), "the counts of today cannot be read");
                    None
                });
            }
            let has_news = !news.events.is_empty() || counts.is_some();
            self.publish(following, news, counts.as_ref());
            self.is_following.send_if_modified(|is_following| !std::mem::replace(is_following, true));
            if has_news {
                self.wake();
            }
            thread::park_timeout(LOOK_EVERY);
        }
    }

    /// Waits until there is a listener. Returns false when the hub is closed.
    fn has_listeners(&self) -> bool {
        loop {
            let state = self.state();
            if state.is_closed || self.places.taken() > 0 {
                return !state.is_closed;
            }
            // While the lock is held: a listener that comes later sees that it has to wake the thread.
            self.is_following.send_replace(false);
            drop(state);
            thread::park();
        }
    }

    fn publish(&self, follower: &Follower, news: News, counts: Option<&Event>) {
        // Encoded before the lock is taken.
        let events: Vec<_> = news.events.iter().map(|event| (event.mark, frame::event(event))).collect();
        let counts = counts.map(frame::event);
        let mut state = self.state();
        if let Some(frame) = counts {
            state.counts = Counts { number: state.counts.number + 1, frame };
        }
        let Some(history) = &mut state.history else { return };
        for subject in news.withdrawn {
            history.withdraw(subject);
        }
        for (mark, frame) in events {
            history.push(mark, frame);
        }
        history.set_end(follower.place(), follower.last());
    }

    /// Wakes all listeners, some at a time.
    fn wake(&self) {
        let mut woken = 0;
        for shard in &self.shards {
            woken += shard.receiver_count();
            shard.send_replace(());
            if woken >= BATCH {
                thread::sleep(PAUSE);
                woken = 0;
            }
        }
    }
}
