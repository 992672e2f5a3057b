//! Orders that every server of a database can continue, published by a deferred write when a page says `next`. The caller may be
//! faster, so a server looks for an order for half a second, for a few callers at a time. Only the time of a published row
//! changes. The rows of members' orders omit the posts that the member has seen: the server that loads the order reads these.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::order::{FeedKind, Next, Order, PUBLISH_AGAIN_MS, Tail};
use super::order_cache::LIFETIME_MS;
use crate::base::clock::{Clock, SECOND_MS, Timestamp};
use crate::profile::history;
use crate::record::error::{Error, Result};
use crate::record::id::PostKey;
use crate::store::{Deferred, Isolation, Store, StoreError, TimeSlice, Topic, Tx, last_change_in};

mod sql;

/// Another server commits a deferred write within 0.2 seconds.
const LOOK_FOR: Duration = Duration::from_millis(500);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A server looks more than once for this number of callers at a time.
const WAITING_MAX: usize = 8;
/// Orders that wait to be published, as during an outage.
const QUEUE_MAX: usize = 4_096;
/// Orders that are written together: with approximately 1 kB each, they take a millisecond or two.
const TOGETHER: usize = 64;

/// A row of this age can no longer be continued: its time may be that of an earlier first page.
const EXPIRES_MS: i64 = LIFETIME_MS + PUBLISH_AGAIN_MS;
/// A row of this age is deleted: the age of a tail may exceed that of an order with it by [`TOUCH_MS`].
const DELETED_MS: i64 = EXPIRES_MS + 2 * TOUCH_MS;
const TOUCH_MS: i64 = 30 * SECOND_MS;
/// Approximate; beyond it, the oldest rows are deleted.
const BYTES_MAX: i64 = 256 << 20;
/// A server deletes rows after this number of published rows, or after this time in milliseconds.
const DELETE_AFTER: (usize, i64) = (500, 60 * SECOND_MS);
/// Rows that are deleted at a time; fewer are published in between.
const DELETE_MAX: i64 = 2_000;

pub(crate) struct PublishedOrders {
    store: Arc<Store>,
    clock: Clock,
    queue: Arc<Mutex<Queue>>,
    /// The callers for whom this server looks more than once.
    waiting: AtomicUsize,
    /// The loaded tails that orders in memory use, by the id of the order to which a tail belongs.
    tails: Mutex<HashMap<u64, Weak<Tail>>>,
}

#[derive(Default)]
struct Queue {
    orders: VecDeque<Arc<Order>>,
    /// Whether a deferred write exists that has not taken the orders yet.
    is_deferred: bool,
    /// The number of orders that this server has stored since it last deleted rows, and the time of that.
    published: (usize, Timestamp),
}

pub(crate) struct Found {
    pub(crate) order: Arc<Order>,
    /// In milliseconds, since the last first page.
    pub(crate) age: i64,
    /// The revision of the last change of posts that the publishing server may have seen.
    pub(crate) revision: i64,
}

impl PublishedOrders {
    /// `None` for a store in a file.
    pub(crate) fn of(store: &Arc<Store>, clock: &Clock) -> Option<Self> {
        store.is_on_server().then(|| Self {
            store: Arc::clone(store),
            clock: clock.clone(),
            queue: Arc::default(),
            waiting: AtomicUsize::new(0),
            tails: Mutex::default(),
        })
    }

    /// A caller gets the first page of the order now. Does nothing if the order was published recently.
    pub(crate) fn publish(&self, order: &Arc<Order>) {
        if !order.is_to_publish(self.clock.monotonic()) {
            return;
        }
        let mut queue = lock(&self.queue);
        if queue.orders.len() >= QUEUE_MAX
            && let Some(oldest) = queue.orders.pop_front()
        {
            oldest.publishing_failed();
        }
        queue.orders.push_back(Arc::clone(order));
        if !queue.is_deferred {
            let publication = Publication::new(Arc::clone(&self.queue), self.clock.clone());
            // If the queue of writes is full, the next order tries again.
            queue.is_deferred = self.store.defer(publication).is_ok();
        }
    }

    pub(crate) fn find(&self, next: Next, kinds: &[FeedKind]) -> Result<Option<Found>> {
        let found = self.load(next, kinds)?;
        if found.is_some() {
            return Ok(found);
        }
        let (mut found, begin) = (Ok(None), Instant::now());
        if self.waiting.fetch_add(1, Ordering::Relaxed) < WAITING_MAX {
            while matches!(found, Ok(None)) && begin.elapsed() < LOOK_FOR {
                std::thread::sleep(LOOK_EVERY);
                found = self.load(next, kinds);
            }
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        found
    }

    fn load(&self, next: Next, kinds: &[FeedKind]) -> Result<Option<Found>> {
        let now = self.clock.now();
        self.store.read(|tx| {
            let Some(row) = sql::order(tx, next.order)? else { return Ok(None) };
            let kind = kinds.iter().find(|kind| kind.numbers() == row.kind);
            let (Some(kind), age) = (kind, now - row.begun) else { return Ok(None) };
            let damaged = || Error::Internal("a published order is damaged".into());
            let keys = unpacked(&row.keys).ok_or_else(damaged)?;
            let whole = |order, keys: Vec<PostKey>| {
                Arc::new(Tail { order, kind: *kind, keys: keys.into(), made: Timestamp::MIN })
            };
            let order = match row.tail {
                // The time may also be in the future, because the clock was set back.
                _ if age.abs() > EXPIRES_MS => return Ok(None),
                None => {
                    let tail = whole(next.order, keys);
                    let order = Order::restored(next.order, *kind, Vec::new(), tail, Vec::new());
                    Order { owns_tail: true, ..order }
                }
                Some(id) => {
                    let mut skip = unpacked(&row.skip).ok_or_else(damaged)?;
                    if let (FeedKind::Personal(member), true) = (kind, row.skips_seen) {
                        skip.extend(history::seen(tx, *member)?.into_iter().chain(keys.iter().copied()));
                        skip.sort_unstable();
                    }
                    let known = lock(&self.tails).get(&id).and_then(Weak::upgrade);
                    let owns_tail = known.is_none();
                    let tail = if let Some(tail) = known {
                        tail
                    } else {
                        let Some(row) = sql::order(tx, id)? else { return Ok(None) };
                        let tail = whole(id, unpacked(&row.keys).ok_or_else(damaged)?);
                        let mut tails = lock(&self.tails);
                        tails.retain(|_, tail| tail.strong_count() > 0);
                        tails.insert(id, Arc::downgrade(&tail));
                        tail
                    };
                    Order { owns_tail, ..Order::restored(next.order, *kind, keys, tail, skip) }
                }
            };
            // Not limited to the horizon: the other server may have seen changes beyond it.
            let revision = last_change_in(tx, Topic::Posts)?;
            Ok(Some(Found { order: Arc::new(order), age, revision }))
        })
    }
}

struct Publication {
    queue: Arc<Mutex<Queue>>,
    clock: Clock,
    orders: VecDeque<Arc<Order>>,
    written: usize,
    deletes: bool,
}

impl Publication {
    fn new(queue: Arc<Mutex<Queue>>, clock: Clock) -> Self {
        Self { queue, clock, orders: VecDeque::new(), written: 0, deletes: false }
    }

    /// Also inserts the tails that belong to other orders.
    fn insert(tx: &mut dyn Tx, orders: &[Arc<Order>], now: Timestamp) -> Result<(), StoreError> {
        let (mut rows, mut tails) = (Vec::with_capacity(orders.len()), BTreeMap::new());
        for Order { id, kind, head, tail, skip, skips_seen, .. } in orders.iter().map(Arc::as_ref) {
            let whole = NewOrder { id: *id, kind: *kind, tail: None, keys: &tail.keys, skip: Some(&[]) };
            if tail.order == *id {
                rows.push(whole);
            } else {
                let skip = (!skips_seen).then_some(&**skip);
                rows.push(NewOrder { tail: Some(tail.order), keys: head, skip, ..whole });
                tails.insert(tail.order, tail);
            }
        }
        let begun = sql::begun(tx, tails.keys().copied())?;
        for (tail, begun) in tails.values().zip(begun) {
            match begun {
                None => {
                    let (id, kind, keys) = (tail.order, tail.kind, &tail.keys);
                    rows.push(NewOrder { id, kind, tail: None, keys, skip: Some(&[]) });
                }
                Some(begun) if now - begun > TOUCH_MS => sql::touch(tx, tail.order, now)?,
                Some(_) => {}
            }
        }
        rows.sort_unstable_by_key(|row| row.id);
        rows.dedup_by_key(|row| row.id);
        sql::insert(tx, &rows, now)
    }
}

struct NewOrder<'o> {
    id: u64,
    kind: FeedKind,
    tail: Option<u64>,
    keys: &'o [PostKey],
    /// The posts of the tail to leave out; `None` for those of the head and all that the member has seen.
    skip: Option<&'o [PostKey]>,
}

impl Deferred for Publication {
    fn isolation(&self) -> Isolation {
        Isolation::Concurrent
    }

    fn write(&mut self, tx: &mut dyn Tx, time: TimeSlice) -> Result<(), StoreError> {
        let now = self.clock.now();
        let (published, since) = {
            let mut queue = lock(&self.queue);
            queue.is_deferred = false;
            self.orders.extend(queue.orders.drain(..));
            queue.published
        };
        self.written = 0;
        for orders in self.orders.make_contiguous().chunks(TOGETHER) {
            Self::insert(tx, orders, now)?;
            self.written += orders.len();
            if time.is_over() {
                break;
            }
        }
        let (rows, age) = DELETE_AFTER;
        self.deletes = (published >= rows || (now - since).abs() >= age) && !time.is_over();
        if self.deletes {
            sql::delete_oldest(tx, now - DELETED_MS)?;
        }
        Ok(())
    }

    fn done(&mut self, written: Result<(), StoreError>) -> ControlFlow<()> {
        if let Err(error) = written {
            tracing::warn!(cause = error.to_string(), "other servers cannot continue some pages of feeds");
            self.orders.drain(..).for_each(|order| order.publishing_failed());
            return ControlFlow::Break(());
        }
        let mut queue = lock(&self.queue);
        if self.deletes {
            queue.published = (0, self.clock.now());
        }
        queue.published.0 += self.orders.drain(..self.written).len();
        if self.orders.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first of the 64 characters of a packed text.
const FIRST: u8 = b'0';
/// Set in a character after which the number continues.
const CONTINUES: u8 = 32;

/// Each key is a number of five bits a character, the lowest first.
fn packed(keys: &[PostKey]) -> String {
    let mut text = String::with_capacity(keys.len() * 4);
    for key in keys {
        let mut rest = key.as_i64().cast_unsigned();
        loop {
            let digit = (rest % 32) as u8;
            rest /= 32;
            text.push(char::from(FIRST + digit + if rest > 0 { CONTINUES } else { 0 }));
            if rest == 0 {
                break;
            }
        }
    }
    text
}

/// `None` for a text that [`packed`] does not write.
fn unpacked(text: &str) -> Option<Vec<PostKey>> {
    let mut keys = Vec::with_capacity(text.len() / 4);
    let (mut number, mut shift) = (0_u64, 0);
    for byte in text.bytes() {
        let digit = byte.checked_sub(FIRST).filter(|digit| *digit < 2 * CONTINUES)?;
        number |= u64::from(digit % CONTINUES).checked_shl(shift)?;
        shift += 5;
        if digit < CONTINUES {
            keys.push(PostKey::from_stored(number.cast_signed()));
            (number, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(keys)
}

struct OrderRow {
    kind: (i64, i64),
    begun: Timestamp,
    /// The id of the order whose keys follow.
    tail: Option<u64>,
    keys: String,
    skip: String,
    skips_seen: bool,
}

#[cfg(test)]
mod tests;
