//! Reads what others did from the store, first for the first feed of a member, and again while acts arrive.
//!
//! Reading everything again is simple, and what is withdrawn or removed is gone. It takes little of the time, because it
//! pauses for long after it took long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;

use super::{ACTS_MAX, Neighbours, Together};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::id::{MemberKey, PostKey};
use crate::keyed::{OwnMap, OwnSet};
use crate::post::feed_rows;
use crate::store::{Store, StoreError, Topic, Tx};

/// The number of members whose acts are read, those who acted last. With the acts of each, this bounds the memory.
const MEMBERS_MAX: i64 = 20_000;
/// The maximum number of acts in memory, approximately.
const ALL_ACTS_MAX: usize = 1_000_000;
/// The number of members per statement; a statement takes as many arguments.
const PAGE: usize = 16;
/// The minimum time between two readings, and how often longer than a reading it is.
const PAUSE: Duration = Duration::from_secs(30);
const PAUSE_FACTOR: u32 = 50;

/// Keeps what others did up to date.
pub(in crate::newsfeed) struct Keeper {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    store: Arc<Store>,
    /// The number of posts in the feeds.
    posts: usize,
    current: ArcSwapOption<Current>,
    stopped: AtomicBool,
}

/// The most similar posts at some moment.
pub(in crate::newsfeed) struct Current {
    /// The number of readings before.
    pub(in crate::newsfeed) number: u64,
    pub(in crate::newsfeed) neighbours: Neighbours,
    /// The version of the posts before the reading, and how long it took.
    version: i64,
    took: Duration,
}

impl Keeper {
    pub(in crate::newsfeed) fn new(store: Arc<Store>, posts: usize) -> Self {
        let current = ArcSwapOption::empty();
        let shared = Shared { store, posts, current, stopped: AtomicBool::new(false) };
        Self { shared: Arc::new(shared), thread: Mutex::default() }
    }

    /// Returns the most similar posts. The first call reads them and starts the thread.
    ///
    /// # Errors
    /// An error of the store; an internal error if the system cannot start a thread.
    pub(in crate::newsfeed) fn current(&self) -> Result<Arc<Current>> {
        if let Some(current) = self.shared.current.load_full() {
            return Ok(current);
        }
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            self.shared.read(0)?;
            let shared = Arc::clone(&self.shared);
            let keeper = std::thread::Builder::new().name("tidings-others".into());
            *thread = Some(keeper.spawn(move || shared.run()).map_err(|e| Error::Internal(e.into()))?);
        }
        self.shared.current.load_full().ok_or(Error::Overloaded)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.store.versions().wake();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        let versions = self.store.versions();
        let stopped = || self.stopped.load(Ordering::Acquire);
        while let Some(current) = self.current.load_full() {
            let pause = PAUSE.max(current.took * PAUSE_FACTOR);
            if !versions.sleep(pause, stopped) {
                return;
            }
            // Every act changes a post.
            versions.wait_for(Topic::Posts, current.version, Duration::MAX, stopped);
            if stopped() {
                return;
            }
            if let Err(error) = self.read(current.number + 1) {
                tracing::error!(cause = error.detail(), "the acts of others cannot be read");
            }
        }
    }

    fn read(&self, number: u64) -> Result<()> {
        let (version, began) = (self.store.version(Topic::Posts), Instant::now());
        let neighbours = Neighbours::new(&together(&self.store, self.posts)?);
        let current = Current { number, neighbours, version, took: began.elapsed() };
        self.current.store(Some(Arc::new(current)));
        Ok(())
    }
}

/// Reads the acts of the members who acted last on the newest `posts`.
fn together(store: &Store, posts: usize) -> Result<Together> {
    let (posts, members) = store.read(|tx| {
        let posts: OwnSet<PostKey> = feed_rows::newest(tx, posts)?.into_iter().collect();
        let sql = "SELECT member FROM member_acts ORDER BY revision DESC LIMIT $1";
        let mut members: Vec<MemberKey> = Vec::new();
        tx.for_each(sql, &[MEMBERS_MAX.into()], &mut |row| {
            members.push(row.take(0)?);
            Ok(())
        })?;
        Ok::<_, Error>((posts, members))
    })?;
    let (mut together, mut all) = (Together::default(), 0);
    for page in members.chunks(PAGE).take_while(|_| !posts.is_empty()) {
        let mut acts = store.read(|tx| acts_of(tx, page))?;
        acts.retain(|act| posts.contains(&act.post));
        acts.sort_unstable_by_key(|act| (act.member, act.at, act.post, act.is_like));
        for own in acts.chunk_by(|a, b| a.member == b.member) {
            // A post may have been viewed and liked.
            let own = &own[own.len().saturating_sub(2 * ACTS_MAX)..];
            for act in own {
                together.add(act.member, act.post, act.is_like);
            }
            all += own.len();
        }
        if all > ALL_ACTS_MAX {
            break;
        }
    }
    Ok(together)
}

/// An act on a post.
struct PostAct {
    member: MemberKey,
    post: PostKey,
    at: Timestamp,
    is_like: bool,
}

/// Returns the acts from which the interest of up to [`PAGE`] members is measured.
fn acts_of(tx: &mut dyn Tx, members: &[MemberKey]) -> Result<Vec<PostAct>, StoreError> {
    // Statements with as many parameters each time are prepared once.
    let keys = members.iter().chain(std::iter::repeat_n(&members[0], PAGE - members.len()));
    let args: Vec<_> = keys.map(|key| (*key).into()).collect();
    let list: Vec<String> = (1..=PAGE).map(|n| format!("${n}")).collect();
    let list = list.join(", ");
    let mut measured: OwnMap<MemberKey, Timestamp> = OwnMap::default();
    tx.for_each(
        &format!("SELECT key, measured_since FROM member WHERE key IN ({list})"),
        &args,
        &mut |row| {
            measured.insert(row.take(0)?, row.take(1)?);
            Ok(())
        },
    )?;
    let mut acts = Vec::new();
    for (table, is_like) in [("liked", true), ("viewed", false)] {
        let sql = format!("SELECT member, post, date FROM {table} WHERE member IN ({list})");
        tx.for_each(&sql, &args, &mut |row| {
            let act = PostAct { member: row.take(0)?, post: row.take(1)?, at: row.take(2)?, is_like };
            if measured.get(&act.member).is_some_and(|since| act.at >= *since) {
                acts.push(act);
            }
            Ok(())
        })?;
    }
    Ok(acts)
}
