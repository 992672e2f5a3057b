//! Pages of a feed: the order that a first page began, kept so that the next ones continue it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::index::FeedIndex;
use crate::clock::{Monotonic, SECOND_MS, Timestamp};
use crate::id::random;
use crate::keyed::{self, OwnMap};

/// Posts of a page, unless the caller names a number.
pub const LIMIT: usize = 150;
/// The most posts of a page.
pub const LIMIT_MAX: usize = 300;

/// How long an order can be continued after it was last begun.
const KEPT_MS: i64 = 10 * 60 * SECOND_MS;
/// How much memory orders that have passed may take, about; the oldest make room earlier than their time.
const KEPT_BYTES: usize = 64 << 20;
/// How many orders of one member are kept: what a member does makes a new one each time, and few are continued.
const KEPT_OF_MEMBER: usize = 8;
/// How long the part of an order that no first page reaches may be of a little earlier.
const TAIL_MS: i64 = 10 * SECOND_MS;

/// Which feed an order is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FeedKind {
    Popular,
    /// The feed of the topic whose name has this hash.
    Topic(u64),
    Recommended,
    /// The recommended feed of the member with this key.
    Personal(i64),
}

impl FeedKind {
    /// The feed of the topic of this name.
    pub(super) fn topic(name: &str) -> Self {
        Self::Topic(keyed::hash(name))
    }
}

/// The order of a feed, from its first post to its last: the head, then the tail without what was before.
///
/// Acts change the order all the time. So that every order can be kept for as long as somebody may continue
/// it, those of some seconds share one tail, and only as much as a first page can show is their own.
#[derive(Debug)]
pub(super) struct Order {
    id: u64,
    kind: FeedKind,
    head: Box<[i64]>,
    tail: Arc<[i64]>,
    /// What of the tail is left out, sorted.
    skip: Box<[i64]>,
    tail_made: Timestamp,
    /// Whether the tail's memory is counted here.
    owns_tail: bool,
}

impl Order {
    fn new(kind: FeedKind, head: Box<[i64]>, tail: Arc<[i64]>, tail_made: Timestamp) -> Self {
        let id = u64::from_le_bytes(random());
        Self { id, kind, skip: Box::default(), head, tail, tail_made, owns_tail: true }
    }

    /// An order that stands as it is until posts come or go.
    pub(super) fn fixed(kind: FeedKind, keys: Arc<[i64]>) -> Self {
        Self::new(kind, Box::default(), keys, Timestamp::MIN)
    }

    /// The order `keys`, with the tail of the one `before` while that is recent. `before` must be of the same
    /// posts.
    pub(super) fn after(before: Option<&Self>, kind: FeedKind, keys: Vec<i64>, now: Timestamp) -> Self {
        match before.filter(|before| (0..TAIL_MS).contains(&(now - before.tail_made))) {
            None => Self::new(kind, Box::default(), keys.into(), now),
            Some(before) => {
                let head: Box<[i64]> = keys[..keys.len().min(LIMIT_MAX)].into();
                let skip = sorted(head.to_vec());
                let order = Self::new(kind, head, Arc::clone(&before.tail), before.tail_made);
                Self { skip, owns_tail: false, ..order }
            }
        }
    }

    /// A member's own order: `head`, then what the guests' order has beside it and what they have `seen`.
    pub(super) fn personal(member: i64, head: Vec<i64>, guests: &Self, seen: Vec<i64>) -> Self {
        let skip = sorted(head.iter().copied().chain(seen).collect());
        let order =
            Self::new(FeedKind::Personal(member), head.into(), Arc::clone(&guests.tail), guests.tail_made);
        Self { skip, owns_tail: false, ..order }
    }

    /// The keys from place `at` on, each with the place behind it.
    pub(super) fn from(&self, at: usize) -> impl Iterator<Item = (usize, i64)> {
        let head = self.head.iter().copied().enumerate().skip(at);
        let tail = self.tail.iter().copied().enumerate().skip(at.saturating_sub(self.head.len()));
        let tail = tail.filter(|(_, key)| self.skip.binary_search(key).is_err());
        let behind = self.head.len();
        head.chain(tail.map(move |(place, key)| (behind + place, key))).map(|(place, key)| (place + 1, key))
    }

    /// All keys, from the first on.
    pub(super) fn keys(&self) -> impl Iterator<Item = i64> {
        self.from(0).map(|(_, key)| key)
    }

    /// The memory it takes, about.
    fn bytes(&self) -> usize {
        let tail = if self.owns_tail { self.tail.len() } else { 0 };
        size_of::<Self>() + (self.head.len() + self.skip.len() + tail) * size_of::<i64>()
    }
}

fn sorted(mut keys: Vec<i64>) -> Box<[i64]> {
    keys.sort_unstable();
    keys.into()
}

/// A page as it is answered.
pub(super) struct Rendered {
    /// The complete answer.
    pub(super) answer: Vec<u8>,
    /// The posts on it.
    pub(super) keys: Vec<i64>,
}

/// The page of `limit` posts from place `at` of an order on.
///
/// Posts that are gone or past their end are left out and others move up, so only the last page is short.
pub(super) fn render(index: &FeedIndex, order: &Order, at: usize, limit: usize, now: Timestamp) -> Rendered {
    let mut answer = br#"{"result":"success","newsfeed":["#.to_vec();
    let mut keys = Vec::with_capacity(limit);
    let mut shown = order.from(at).filter_map(|(place, key)| {
        let item = index.item(key).filter(|item| !item.is_over(now))?;
        Some((place, item))
    });
    let mut place = at;
    for (behind, item) in shown.by_ref().take(limit) {
        if !keys.is_empty() {
            answer.push(b',');
        }
        answer.extend_from_slice(item.json.as_bytes());
        keys.push(item.key);
        place = behind;
    }
    let next = shown.next().map(|_| Next { order: order.id, place, limit }.write());
    answer.extend_from_slice(b"],\"next\":");
    answer.extend_from_slice(next.map_or("null".into(), |next| format!("\"{next}\"")).as_bytes());
    answer.push(b'}');
    Rendered { answer, keys }
}

/// What a `next` says: which order, from which place on, how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) order: u64,
    pub(super) place: usize,
    pub(super) limit: usize,
}

impl Next {
    fn write(self) -> String {
        format!("{:016x}{:08x}{:03x}", self.order, self.place, self.limit)
    }

    /// Reads what [`Next::write`] wrote; `None` for anything else.
    pub(super) fn read(text: &str) -> Option<Self> {
        let digits = |range: std::ops::Range<usize>| {
            let digits = text.get(range)?;
            let plain = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            u64::from_str_radix(digits, 16).ok().filter(|_| plain)
        };
        let (order, place, limit) = (digits(0..16)?, digits(16..24)?, digits(24..27)?);
        let next = Self { order, place: usize::try_from(place).ok()?, limit: usize::try_from(limit).ok()? };
        (text.len() == 27 && (1..=LIMIT_MAX).contains(&next.limit)).then_some(next)
    }
}

/// Reads a `next` and writes it again.
#[cfg(feature = "fuzzing")]
pub(crate) fn rewritten_next(text: &str) -> Option<String> {
    Next::read(text).map(Next::write)
}

/// The orders that have passed but may still be continued.
#[derive(Default)]
pub(super) struct Orders(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// By ids that are drawn at random.
    orders: OwnMap<u64, (Arc<Order>, Monotonic)>,
    /// Ids by the time they were last begun; an id that was begun again since stands here twice.
    begun: VecDeque<(Monotonic, u64)>,
    /// The orders of each member, the oldest first.
    of_members: OwnMap<i64, VecDeque<u64>>,
    bytes: usize,
}

impl Kept {
    fn insert(&mut self, order: &Arc<Order>, now: Monotonic) {
        self.begun.push_back((now, order.id));
        if self.orders.insert(order.id, (Arc::clone(order), now)).is_some() {
            return;
        }
        self.bytes += order.bytes();
        if let FeedKind::Personal(member) = order.kind {
            let own = self.of_members.entry(member).or_default();
            own.push_back(order.id);
            if own.len() > KEPT_OF_MEMBER
                && let Some(oldest) = own.front().copied()
            {
                self.remove(oldest);
            }
        }
    }

    fn remove(&mut self, id: u64) {
        let Some((order, _)) = self.orders.remove(&id) else { return };
        self.bytes -= order.bytes();
        if let FeedKind::Personal(member) = order.kind
            && let Some(own) = self.of_members.get_mut(&member)
        {
            own.retain(|other| *other != id);
            if own.is_empty() {
                self.of_members.remove(&member);
            }
        }
    }

    /// Lets go of what has had its time, and of the oldest while there is too much.
    fn clear(&mut self, now: Monotonic) {
        // What was begun again, or is gone, is looked over once it is the most of the queue.
        if self.begun.len() > 2 * self.orders.len() + 1_024 {
            let orders = &self.orders;
            self.begun.retain(|(at, id)| orders.get(id).is_some_and(|(_, begun)| begun == at));
        }
        while let Some((at, id)) = self.begun.front().copied() {
            let is_over = self.orders.get(&id).is_none_or(|(_, begun)| *begun != at);
            if !is_over && now - at <= KEPT_MS && self.bytes <= KEPT_BYTES {
                break;
            }
            self.begun.pop_front();
            if !is_over {
                self.remove(id);
            }
        }
    }
}

impl Orders {
    /// Keeps an order for ten minutes from `now` on, by the monotonic clock: nobody's pages end or stay when the date
    /// is set.
    pub(super) fn keep(&self, order: &Arc<Order>, now: Monotonic) {
        let mut kept = self.lock();
        kept.insert(order, now);
        kept.clear(now);
    }

    /// The order that `next` continues, of the kind that is asked for: the `current` one, or one that has
    /// passed less than ten minutes ago by the monotonic clock.
    pub(super) fn find(
        &self,
        next: Next,
        kinds: &[FeedKind],
        current: Option<&Arc<Order>>,
        now: Monotonic,
    ) -> Option<Arc<Order>> {
        if let Some(current) = current.filter(|current| current.id == next.order) {
            return Some(Arc::clone(current));
        }
        let kept = self.lock();
        let (order, begun) = kept.orders.get(&next.order)?;
        (now - *begun <= KEPT_MS && kinds.contains(&order.kind)).then(|| Arc::clone(order))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(order: &Order) -> Vec<i64> {
        order.keys().collect()
    }

    fn order(kind: FeedKind, keys: Vec<i64>) -> Arc<Order> {
        Arc::new(Order::after(None, kind, keys, Timestamp::default()))
    }

    #[test]
    fn an_order_with_an_earlier_tail_has_every_post_once_and_its_own_head_first() {
        let before = order(FeedKind::Popular, (0..1_000).collect());
        let now: Vec<i64> = (0..1_000).rev().collect();
        let after = Order::after(Some(&before), FeedKind::Popular, now.clone(), Timestamp::from_millis(5));
        assert!(Arc::ptr_eq(&after.tail, &before.tail));
        let mut shown = keys(&after);
        assert_eq!(shown[..LIMIT_MAX], now[..LIMIT_MAX]);
        shown.sort_unstable();
        assert_eq!(shown, (0..1_000).collect::<Vec<_>>());
        let later =
            Order::after(Some(&before), FeedKind::Popular, now.clone(), Timestamp::from_millis(TAIL_MS));
        assert_eq!(keys(&later), now);
    }

    #[test]
    fn a_personal_order_leaves_out_what_was_seen() {
        let guests = order(FeedKind::Recommended, vec![1, 2, 3, 4, 5]);
        let personal = Order::personal(7, vec![4], &guests, vec![2, 1]);
        assert_eq!(keys(&personal), [4, 3, 5]);
    }

    #[test]
    fn an_order_is_found_for_ten_minutes_after_it_was_last_begun_and_only_for_its_feed() {
        let (orders, kept) = (Orders::default(), order(FeedKind::Personal(7), vec![1, 2]));
        let next = Next { order: kept.id, place: 1, limit: 1 };
        let found = |kind, ms| orders.find(next, &[kind], None, Monotonic::from_millis(ms)).is_some();
        orders.keep(&kept, Monotonic::from_millis(0));
        orders.keep(&kept, Monotonic::from_millis(KEPT_MS));
        assert!(found(FeedKind::Personal(7), 2 * KEPT_MS));
        assert!(!found(FeedKind::Personal(8), 0) && !found(FeedKind::Popular, 0));
        assert!(!found(FeedKind::Personal(7), 2 * KEPT_MS + 1));
        orders.keep(&order(FeedKind::Popular, vec![]), Monotonic::from_millis(2 * KEPT_MS + 1));
        assert_eq!(orders.lock().orders.len(), 1, "what is over makes room");
    }

    #[test]
    fn kept_orders_take_bounded_memory() {
        let orders = Orders::default();
        for _ in 0..100 {
            orders.keep(&order(FeedKind::Popular, vec![0; 1 << 18]), Monotonic::from_millis(0));
        }
        let kept = orders.lock();
        assert!(kept.bytes <= KEPT_BYTES && kept.orders.len() > 20, "{} orders", kept.orders.len());
        assert_eq!(kept.begun.len(), kept.orders.len());
    }

    #[test]
    fn a_member_who_does_much_takes_no_room_from_others() {
        let (orders, guests) = (Orders::default(), order(FeedKind::Popular, vec![1, 2]));
        orders.keep(&guests, Monotonic::from_millis(0));
        let own: Vec<_> = (0..10_000).map(|_| order(FeedKind::Personal(7), vec![0; 5])).collect();
        for order in &own {
            orders.keep(order, Monotonic::from_millis(0));
        }
        let kept = orders.lock();
        assert_eq!(kept.orders.len(), KEPT_OF_MEMBER + 1);
        assert!(kept.begun.len() < 2_048);
        assert!(kept.orders.contains_key(&guests.id) && kept.orders.contains_key(&own[9_999].id));
    }

    proptest! {
        #[test]
        fn a_next_is_read_as_it_was_written(order: u64, place: u32, limit in 1..=LIMIT_MAX) {
            let next = Next { order, place: place as usize, limit };
            prop_assert_eq!(Next::read(&next.write()), Some(next));
        }

        #[test]
        fn no_text_is_read_as_a_next_by_mistake(text in "[0-9a-fA-F+ é]{0,30}") {
            if let Some(next) = Next::read(&text) {
                prop_assert_eq!(next.write(), text);
            }
        }
    }
}
