use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::order::{FeedKind, Next, Order};
use crate::base::clock::{Monotonic, SECOND_MS};
use crate::base::keyed::OwnMap;
use crate::record::id::MemberKey;

/// How long an order can be continued after its last first page.
pub(crate) const LIFETIME_MS: i64 = 10 * 60 * SECOND_MS;
/// Approximate; beyond it, the oldest orders are dropped early.
const BYTES_MAX: usize = 64 << 20;
/// Each act of the member creates a new order, and few orders are continued.
const ORDERS_OF_MEMBER: usize = 8;

/// Orders that are no longer current but can still be continued.
#[derive(Default)]
pub(crate) struct OrderCache(Mutex<Entries>);

struct Entries {
    /// By the random id, with the time of the last first page, which puts an order last.
    orders: LruCache<u64, (Arc<Order>, Monotonic)>,
    /// The oldest first.
    of_members: OwnMap<MemberKey, VecDeque<u64>>,
    bytes: usize,
}

impl Default for Entries {
    fn default() -> Self {
        Self { orders: LruCache::unbounded(), of_members: OwnMap::default(), bytes: 0 }
    }
}

impl Entries {
    fn insert(&mut self, order: &Arc<Order>, now: Monotonic) {
        if self.orders.put(order.id, (Arc::clone(order), now)).is_some() {
            return;
        }
        self.bytes += order.bytes();
        if let FeedKind::Personal(member) = order.kind {
            let own = self.of_members.entry(member).or_default();
            own.push_back(order.id);
            if own.len() > ORDERS_OF_MEMBER
                && let Some(oldest) = own.front().copied()
            {
                self.remove(oldest);
            }
        }
    }

    fn remove(&mut self, id: u64) {
        let Some((order, _)) = self.orders.pop(&id) else { return };
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

    fn prune(&mut self, now: Monotonic) {
        while let Some((id, (_, begun))) = self.orders.peek_lru()
            && (now - *begun > LIFETIME_MS || self.bytes > BYTES_MAX)
        {
            self.remove(*id);
        }
    }
}

impl OrderCache {
    /// Caches the order for ten minutes. `now` is monotonic, so a change of the date has no effect.
    pub(crate) fn insert(&self, order: &Arc<Order>, now: Monotonic) {
        let mut entries = self.lock();
        entries.insert(order, now);
        entries.prune(now);
    }

    /// Returns the `current` order if `next` continues it, or a cached one of one of these kinds that has not expired.
    pub(crate) fn find(
        &self,
        next: Next,
        kinds: &[FeedKind],
        current: Option<&Arc<Order>>,
        now: Monotonic,
    ) -> Option<Arc<Order>> {
        if let Some(current) = current.filter(|current| current.id == next.order) {
            return Some(Arc::clone(current));
        }
        let entries = self.lock();
        let (order, begun) = entries.orders.peek(&next.order)?;
        (now - *begun <= LIFETIME_MS && kinds.contains(&order.kind)).then(|| Arc::clone(order))
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::testing::posts;

    const ANN: MemberKey = MemberKey::new(7);
    const BEN: MemberKey = MemberKey::new(8);

    fn at(ms: i64) -> Monotonic {
        Monotonic::from_millis(ms)
    }

    fn order(kind: FeedKind, keys: Vec<i64>) -> Arc<Order> {
        Arc::new(Order::after(None, kind, posts(keys), Timestamp::default()))
    }

    #[test]
    fn an_order_is_cached_for_ten_minutes_after_its_last_first_page() {
        let (cache, order_7) = (OrderCache::default(), order(FeedKind::Personal(ANN), vec![1, 2]));
        let next = Next { order: order_7.id, place: 1, limit: 1 };
        let found = |kind, now| cache.find(next, &[kind], None, now).is_some();
        cache.insert(&order_7, at(0));
        cache.insert(&order_7, at(LIFETIME_MS));
        assert!(found(FeedKind::Personal(ANN), at(2 * LIFETIME_MS)));
        assert!(!found(FeedKind::Personal(BEN), at(0)) && !found(FeedKind::Popular, at(0)));
        assert!(!found(FeedKind::Personal(ANN), at(2 * LIFETIME_MS + 1)));
        cache.insert(&order(FeedKind::Popular, vec![]), at(2 * LIFETIME_MS + 1));
        assert_eq!(cache.lock().orders.len(), 1, "the expired order is removed");
    }

    #[test]
    fn cached_orders_take_bounded_memory() {
        let cache = OrderCache::default();
        for _ in 0..100 {
            cache.insert(&order(FeedKind::Popular, vec![0; 1 << 18]), at(0));
        }
        let entries = cache.lock();
        assert!(entries.bytes <= BYTES_MAX && entries.orders.len() > 20, "{} orders", entries.orders.len());
    }

    #[test]
    fn an_active_member_does_not_displace_the_orders_of_others() {
        let (cache, guests) = (OrderCache::default(), order(FeedKind::Popular, vec![1, 2]));
        cache.insert(&guests, at(0));
        let own: Vec<_> = (0..10_000).map(|_| order(FeedKind::Personal(ANN), vec![0; 5])).collect();
        for order in &own {
            cache.insert(order, at(0));
        }
        let entries = cache.lock();
        assert_eq!(entries.orders.len(), ORDERS_OF_MEMBER + 1);
        assert!(entries.orders.contains(&guests.id) && entries.orders.contains(&own[9_999].id));
    }
}
