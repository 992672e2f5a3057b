//! The hub: a thread that follows the database and tells listeners of changes. The thread looks for changes from the first
//! listener on. Events go to all listeners at once, and into the history for those that continue after an event.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tidings_core::account::Client;
use tidings_core::events::{Event, Follower, Kind, News};
use tidings_core::{Error, Result, Tidings};
use tokio::sync::{broadcast, watch};

use super::history::{History, Kinds, LENGTH, Since, Told};
use crate::config::Config;
use crate::filter::shares::{Part, Share, Shares};

const LOOK_EVERY: Duration = Duration::from_millis(200);
const COUNTS_EVERY: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_secs(1);
/// For the first look of a new listener.
const START_MAX: Duration = Duration::from_secs(5);
/// The interval of heartbeats to a silent listener: between this …
const HEARTBEAT: Duration = Duration::from_secs(15);
/// … and a third more, so that the heartbeats of many listeners do not come at once.
const HEARTBEAT_SPREAD: u32 = 3;
const SPREAD_STEPS: u32 = 64;

pub(crate) struct Hub {
    tidings: Tidings,
    shared: Arc<Shared>,
    thread: OnceLock<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    places: Arc<Shares<Client>>,
    is_started: watch::Sender<bool>,
}

struct State {
    sender: Option<broadcast::Sender<Arc<Told>>>,
    history: Option<History>,
    counts: Option<Arc<Told>>,
}

pub(super) struct Listener {
    shared: Arc<Shared>,
    _place: Share<Client>,
    receiver: broadcast::Receiver<Arc<Told>>,
    kinds: Kinds,
    pub(super) heartbeat: Duration,
}

impl Hub {
    pub(crate) fn new(tidings: Tidings, streams: usize) -> Self {
        let sender = Some(broadcast::Sender::new(LENGTH));
        let state = Mutex::new(State { sender, history: None, counts: None });
        let (places, is_started) = (Shares::new(streams, Part::OfFree), watch::Sender::new(false));
        Self { tidings, shared: Arc::new(Shared { state, places, is_started }), thread: OnceLock::new() }
    }

    pub(crate) fn listeners(&self) -> usize {
        self.shared.places.taken()
    }

    pub(crate) fn close(&self) {
        self.shared.state().sender = None;
        if let Some(thread) = self.thread.get() {
            thread.thread().unpark();
        }
    }

    /// Also returns the first frames. Fails if there are too many listeners, the client has too many, or the database cannot be read.
    pub(super) async fn listen(
        &self,
        config: &Config,
        client: Client,
        since: Since,
        kinds: Kinds,
    ) -> Result<(Vec<Bytes>, Listener)> {
        if self.shared.is_closed() {
            return Err(Error::Overloaded);
        }
        let place = self.shared.places.take(client, 1)?;
        self.thread.get_or_init(|| {
            let (shared, tidings) = (Arc::clone(&self.shared), self.tidings.clone());
            let thread = thread::Builder::new().name("tidings-events".into());
            thread.spawn(move || shared.follow(&tidings)).expect("the system can start a thread")
        });
        let mut is_started = self.shared.is_started.subscribe();
        let started = is_started.wait_for(|is_started| *is_started);
        if !matches!(tokio::time::timeout(START_MAX, started).await, Ok(Ok(_))) {
            return Err(Error::Overloaded);
        }
        // Under one lock, so that no event is missed.
        let state = self.shared.state();
        let (Some(sender), Some(history)) = (&state.sender, &state.history) else {
            return Err(Error::Overloaded);
        };
        let (receiver, mut begin) = (sender.subscribe(), history.begin(since, &kinds));
        if kinds.contains(Kind::Counts.name()) {
            begin.extend(state.counts.iter().map(|counts| counts.frame.clone()));
        }
        // A library's timeout may be shorter than the interval.
        let interval = HEARTBEAT.min(config.idle_timeout / HEARTBEAT_SPREAD);
        let step = u32::try_from(sender.receiver_count()).unwrap_or_default() % SPREAD_STEPS;
        let spread = interval / HEARTBEAT_SPREAD * step / SPREAD_STEPS;
        let (shared, heartbeat) = (Arc::clone(&self.shared), interval + spread);
        Ok((begin, Listener { shared, _place: place, receiver, kinds, heartbeat }))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Listener {
    /// `None` if events are lost because the listener is too slow, and when the hub is closed.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            let told = self.receiver.recv().await.ok()?;
            if told.is_for(&self.kinds) {
                return Some(told.frame.clone());
            }
        }
    }

    pub(super) fn heartbeat(&self) -> Option<Bytes> {
        let state = self.shared.state();
        state.history.as_ref().filter(|_| self.receiver.is_empty()).map(History::heartbeat)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closed(&self) -> bool {
        self.state().sender.is_none()
    }

    fn follow(&self, tidings: &Tidings) {
        let Some(mut follower) = self.begin(tidings) else { return };
        let mut counted: Option<Instant> = None;
        while !self.is_closed() {
            let news = follower.look();
            let mut counts = None;
            if counted.is_none_or(|then| then.elapsed() >= COUNTS_EVERY) {
                counted = Some(Instant::now());
                counts = follower.counts().unwrap_or_else(|error| {
                    tracing::debug!(cause = error.detail(), "the counts of today cannot be read");
                    None
                });
            }
            self.tell(&follower, news, counts.as_ref());
            self.is_started.send_if_modified(|is_started| !std::mem::replace(is_started, true));
            thread::park_timeout(LOOK_EVERY);
        }
    }

    /// The history begins with the last posts. Returns `None` if the hub closes before.
    fn begin(&self, tidings: &Tidings) -> Option<Follower> {
        while !self.is_closed() {
            match Follower::start(tidings) {
                Ok((follower, first, news)) => {
                    self.state().history = Some(History::new(first));
                    self.tell(&follower, news, None);
                    return Some(follower);
                }
                Err(error) => {
                    tracing::error!(cause = error.detail(), "live events cannot be followed");
                    thread::park_timeout(RETRY);
                }
            }
        }
        None
    }

    fn tell(&self, follower: &Follower, news: News, counts: Option<&Event>) {
        // Encoded before the lock is taken.
        let events: Vec<_> = news.events.iter().map(Told::new).collect();
        let counts = counts.map(Told::new);
        let mut state = self.state();
        let State { sender: Some(sender), history: Some(history), counts: last, .. } = &mut *state else {
            return;
        };
        news.withdrawn.into_iter().for_each(|subject| history.withdraw(subject));
        for event in events {
            history.push(Arc::clone(&event));
            let _ = sender.send(event);
        }
        if let Some(counts) = counts {
            let _ = sender.send(Arc::clone(&counts));
            *last = Some(counts);
        }
        history.set_end(follower.place(), follower.last());
    }
}
