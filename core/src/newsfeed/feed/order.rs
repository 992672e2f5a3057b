//! The order of the posts of a feed, and how a caller continues it.

use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::base::clock::{Monotonic, SECOND_MS, Timestamp};
use crate::base::keyed::Unkeyed;
use crate::base::random::random;
use crate::record::id::{MemberKey, PostKey};

/// The number of posts of a page unless the caller asks for a different number.
pub const LIMIT: usize = 150;
/// The maximum number of posts of a page.
pub const LIMIT_MAX: usize = 300;

/// The maximum age of a shared tail.
const TAIL_MS: i64 = 10 * SECOND_MS;
/// An order that is still the first page of callers is published again after this time.
pub(crate) const PUBLISH_AGAIN_MS: i64 = 60 * SECOND_MS;
/// For an order that was never published: so early that every time is later by more than an interval.
const NEVER: i64 = i64::MIN / 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedKind {
    Popular,
    /// By the hash of the name of the topic.
    Topic(u64),
    Recommended,
    Personal(MemberKey),
}

impl FeedKind {
    /// These numbers of the feed and of its owner distinguish the kind from all others, also on other servers.
    pub(crate) const fn numbers(self) -> (i64, i64) {
        match self {
            Self::Popular => (0, 0),
            Self::Topic(name) => (1, name.cast_signed()),
            Self::Recommended => (2, 0),
            Self::Personal(member) => (3, member.as_i64()),
        }
    }

    /// All servers need the same hash. Where two names collide, the order of one topic also continues under the name of the
    /// other, which shows nothing that the caller could not read anyway.
    pub(crate) fn topic(name: &str) -> Self {
        let mut hasher = Unkeyed::default();
        name.hash(&mut hasher);
        Self::Topic(hasher.finish())
    }
}

/// The head, then the tail without the keys in `skip`. Views and likes change the order constantly, and each order is cached as
/// long as a reader may continue it. To save memory, the orders of a few seconds share one tail; each has only its own head, the
/// part that a first page can show.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) id: u64,
    pub(crate) kind: FeedKind,
    pub(crate) head: Box<[PostKey]>,
    pub(crate) tail: Arc<Tail>,
    /// The sorted keys of the tail to leave out.
    pub(crate) skip: Box<[PostKey]>,
    /// Whether `skip` consists of the head and the posts that the member has seen. Other servers can compute both.
    pub(crate) skips_seen: bool,
    pub(crate) owns_tail: bool,
    /// The monotonic time of the last first page that made the order known to other servers, in milliseconds.
    pub(crate) published: AtomicI64,
}

#[derive(Debug)]
pub(crate) struct Tail {
    /// The id of the first order with this tail. It has no head: its keys are those of the tail.
    pub(crate) order: u64,
    pub(crate) kind: FeedKind,
    pub(crate) keys: Box<[PostKey]>,
    /// [`Timestamp::MIN`] if no later order shares it.
    pub(crate) made: Timestamp,
}

impl Order {
    fn whole(kind: FeedKind, keys: Vec<PostKey>, made: Timestamp) -> Self {
        let id = random_id();
        let tail = Arc::new(Tail { order: id, kind, keys: keys.into(), made });
        Self { owns_tail: true, ..Self::restored(id, kind, Vec::new(), tail, Vec::new()) }
    }

    /// Later orders do not share its tail.
    pub(crate) fn fixed(kind: FeedKind, keys: Vec<PostKey>) -> Self {
        Self::whole(kind, keys, Timestamp::MIN)
    }

    /// Assembles an order, such as one that another server has published. `skip` is sorted.
    pub(crate) fn restored(
        id: u64,
        kind: FeedKind,
        head: Vec<PostKey>,
        tail: Arc<Tail>,
        skip: Vec<PostKey>,
    ) -> Self {
        let published = AtomicI64::new(NEVER);
        let (head, skip) = (head.into(), skip.into());
        Self { id, kind, head, tail, skip, skips_seen: false, owns_tail: false, published }
    }

    /// Shares the tail of the order `before`, which must have the same posts, while that tail is recent.
    pub(crate) fn after(before: Option<&Self>, kind: FeedKind, keys: Vec<PostKey>, now: Timestamp) -> Self {
        match before.filter(|before| (0..TAIL_MS).contains(&(now - before.tail.made))) {
            None => Self::whole(kind, keys, now),
            Some(before) => {
                let head = keys[..keys.len().min(LIMIT_MAX)].to_vec();
                let skip = sorted(head.clone());
                Self::restored(random_id(), kind, head, Arc::clone(&before.tail), skip)
            }
        }
    }

    /// `head`, then the posts of the guests' order that are neither in `head` nor in `seen`.
    pub(crate) fn personal(member: MemberKey, head: Vec<PostKey>, guests: &Self, seen: Vec<PostKey>) -> Self {
        let skip = sorted(head.iter().copied().chain(seen).collect());
        Self::restored(random_id(), FeedKind::Personal(member), head, Arc::clone(&guests.tail), skip)
    }

    /// Each key comes with the place after it.
    pub(crate) fn from(&self, at: usize) -> impl Iterator<Item = (usize, PostKey)> {
        let head = self.head.iter().copied().enumerate().skip(at);
        let tail = self.tail.keys.iter().copied().enumerate().skip(at.saturating_sub(self.head.len()));
        let tail = tail.filter(|(_, key)| self.skip.binary_search(key).is_err());
        let behind = self.head.len();
        head.chain(tail.map(move |(place, key)| (behind + place, key))).map(|(place, key)| (place + 1, key))
    }

    /// Returns whether this first page must make the order known to other servers: true for one caller a minute.
    pub(crate) fn is_to_publish(&self, now: Monotonic) -> bool {
        let (before, now) = (self.published.load(Ordering::Relaxed), now.as_millis());
        now - before >= PUBLISH_AGAIN_MS
            && self.published.compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn publishing_failed(&self) {
        self.published.store(NEVER, Ordering::Relaxed);
    }

    /// Approximate. A shared tail counts once.
    pub(crate) fn bytes(&self) -> usize {
        let tail = if self.owns_tail { self.tail.keys.len() } else { 0 };
        size_of::<Self>() + (self.head.len() + self.skip.len() + tail) * size_of::<PostKey>()
    }
}

/// The `next` of a page: a place in an order, and the number of posts of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub(crate) order: u64,
    pub(crate) place: usize,
    pub(crate) limit: usize,
}

impl Next {
    /// 27 hexadecimal digits.
    pub(crate) fn write(self) -> String {
        format!("{:016x}{:08x}{:03x}", self.order, self.place, self.limit)
    }

    /// `None` for a text that [`Next::write`] does not write.
    pub(crate) fn read(text: &str) -> Option<Self> {
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

#[cfg(feature = "fuzzing")]
pub(crate) fn rewritten(text: &str) -> Option<String> {
    Next::read(text).map(Next::write)
}

/// Unique among all servers, and not guessable.
fn random_id() -> u64 {
    u64::from_le_bytes(random())
}

fn sorted(mut keys: Vec<PostKey>) -> Vec<PostKey> {
    keys.sort_unstable();
    keys
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::posts;

    fn keys(order: &Order) -> Vec<PostKey> {
        order.from(0).map(|(_, key)| key).collect()
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

    proptest! {
        #[test]
        fn a_next_is_read_as_it_was_written(order: u64, place: u32, limit in 1..=LIMIT_MAX) {
            let next = Next { order, place: place as usize, limit };
            prop_assert_eq!(Next::read(&next.write()), Some(next));
        }
    }
}
