//! The order of the posts of a feed.

use std::sync::Arc;

use crate::clock::{SECOND_MS, Timestamp};
use crate::id::{MemberKey, PostKey, random};
use crate::keyed;

/// The number of posts of a page unless the caller asks for a different number.
pub const LIMIT: usize = 150;
/// The maximum number of posts of a page.
pub const LIMIT_MAX: usize = 300;

/// The maximum age of a tail that orders share.
const TAIL_MS: i64 = 10 * SECOND_MS;

/// The feed that an order belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FeedKind {
    Popular,
    /// The feed of the topic whose name has this hash.
    Topic(u64),
    Recommended,
    /// The recommended feed of the member with this key.
    Personal(MemberKey),
}

impl FeedKind {
    /// Returns the kind of a topic's feed.
    pub(super) fn topic(name: &str) -> Self {
        Self::Topic(keyed::hash(name))
    }
}

/// The keys of a feed's posts, from the first to the last: the head, then the tail without the keys in `skip`.
///
/// Views and likes change the order constantly, and each order is cached as long as a reader may continue it. To save
/// memory, the orders of a few seconds share one tail; each has only its own head, the part that a first page can show.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) id: u64,
    pub(super) kind: FeedKind,
    head: Box<[PostKey]>,
    tail: Arc<[PostKey]>,
    /// The keys of the tail to leave out, sorted.
    skip: Box<[PostKey]>,
    tail_made: Timestamp,
    /// Whether `bytes` includes the tail.
    owns_tail: bool,
}

impl Order {
    fn new(kind: FeedKind, head: Box<[PostKey]>, tail: Arc<[PostKey]>, tail_made: Timestamp) -> Self {
        let id = u64::from_le_bytes(random());
        Self { id, kind, skip: Box::default(), head, tail, tail_made, owns_tail: true }
    }

    /// Creates an order whose tail later orders do not share.
    pub(super) fn fixed(kind: FeedKind, keys: Arc<[PostKey]>) -> Self {
        Self::new(kind, Box::default(), keys, Timestamp::MIN)
    }

    /// Creates the order `keys`. It shares the tail of the order `before`, which must have the same posts, while that
    /// tail is recent.
    pub(super) fn after(before: Option<&Self>, kind: FeedKind, keys: Vec<PostKey>, now: Timestamp) -> Self {
        match before.filter(|before| (0..TAIL_MS).contains(&(now - before.tail_made))) {
            None => Self::new(kind, Box::default(), keys.into(), now),
            Some(before) => {
                let head: Box<[PostKey]> = keys[..keys.len().min(LIMIT_MAX)].into();
                let skip = sorted(head.to_vec());
                let order = Self::new(kind, head, Arc::clone(&before.tail), before.tail_made);
                Self { skip, owns_tail: false, ..order }
            }
        }
    }

    /// Creates a member's own order: `head`, then the posts of the guests' order that are neither in `head` nor in
    /// `seen`.
    pub(super) fn personal(member: MemberKey, head: Vec<PostKey>, guests: &Self, seen: Vec<PostKey>) -> Self {
        let skip = sorted(head.iter().copied().chain(seen).collect());
        let order =
            Self::new(FeedKind::Personal(member), head.into(), Arc::clone(&guests.tail), guests.tail_made);
        Self { skip, owns_tail: false, ..order }
    }

    /// Returns the keys from place `at` on, each with the place after it.
    pub(super) fn from(&self, at: usize) -> impl Iterator<Item = (usize, PostKey)> {
        let head = self.head.iter().copied().enumerate().skip(at);
        let tail = self.tail.iter().copied().enumerate().skip(at.saturating_sub(self.head.len()));
        let tail = tail.filter(|(_, key)| self.skip.binary_search(key).is_err());
        let behind = self.head.len();
        head.chain(tail.map(move |(place, key)| (behind + place, key))).map(|(place, key)| (place + 1, key))
    }

    /// Returns all keys in order.
    #[cfg(any(test, feature = "evaluation"))]
    pub(super) fn keys(&self) -> impl Iterator<Item = PostKey> {
        self.from(0).map(|(_, key)| key)
    }

    /// Returns the memory of the order in bytes, approximately. A shared tail counts once.
    pub(super) fn bytes(&self) -> usize {
        let tail = if self.owns_tail { self.tail.len() } else { 0 };
        size_of::<Self>() + (self.head.len() + self.skip.len() + tail) * size_of::<PostKey>()
    }
}

fn sorted(mut keys: Vec<PostKey>) -> Box<[PostKey]> {
    keys.sort_unstable();
    keys.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::posts;

    fn keys(order: &Order) -> Vec<PostKey> {
        order.keys().collect()
    }

    fn order(kind: FeedKind, keys: impl IntoIterator<Item = i64>) -> Order {
        Order::after(None, kind, posts(keys), Timestamp::default())
    }

    #[test]
    fn an_order_with_a_shared_tail_has_every_post_once_and_its_own_head_first() {
        let before = order(FeedKind::Popular, 0..1_000);
        let now = posts((0..1_000).rev());
        let after = Order::after(Some(&before), FeedKind::Popular, now.clone(), Timestamp::from_millis(5));
        assert!(Arc::ptr_eq(&after.tail, &before.tail));
        let mut shown = keys(&after);
        assert_eq!(shown[..LIMIT_MAX], now[..LIMIT_MAX]);
        shown.sort_unstable();
        assert_eq!(shown, posts(0..1_000));
        let later =
            Order::after(Some(&before), FeedKind::Popular, now.clone(), Timestamp::from_millis(TAIL_MS));
        assert_eq!(keys(&later), now);
    }

    #[test]
    fn a_personal_order_leaves_out_seen_posts() {
        let guests = order(FeedKind::Recommended, 1..=5);
        let personal = Order::personal(MemberKey::new(7), posts([4]), &guests, posts([2, 1]));
        assert_eq!(keys(&personal), posts([4, 3, 5]));
    }
}
