//! The posts of all feeds in memory: an immutable [`FeedIndex`], replaced by the next one when posts change.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::base::clock::Timestamp;
use crate::base::config::{Feed, Interest};
use crate::base::keyed::OwnSet;
use crate::newsfeed::feed::order::{FeedKind, LIMIT, Next, Order};
use crate::newsfeed::feed::page::FeedPage;
use crate::newsfeed::signal::popularity;
use crate::post::feed_rows::FeedRow;
use crate::record::id::PostKey;
use features::FeatureIndex;
use item::{Item, Names, commonest_tags};
use load::AsOf;
use meaning::{Lexicon, Meanings};
use snapshot::{Similarity, Snapshot, Words};

pub(crate) mod diversity;
pub(crate) mod features;
pub(crate) mod item;
pub(crate) mod load;
pub(crate) mod meaning;
mod rankings;
pub(crate) mod snapshot;
pub(crate) mod story;
#[cfg(test)]
pub(crate) mod tests;

/// The newest posts, as many as the settings allow, with the orders and the first pages that guests get.
pub(crate) struct FeedIndex {
    pub(crate) as_of: AsOf,
    /// The number of indexes before this one, which identifies the index.
    pub(crate) number: u64,
    /// Newest first, ties by greatest id.
    items: Vec<Arc<Item>>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) popular: Vec<f32>,
    interest: Interest,
    /// The earliest end date of the posts shown; `Timestamp::MAX` if none of them ends.
    pub(crate) ends: Timestamp,
    pub(crate) popular_feed: GuestFeed,
    pub(crate) recommended_feed: GuestFeed,
    /// Each is computed at its first request.
    topic_pages: HashMap<Arc<str>, OnceLock<FeedPage>>,
}

pub(crate) struct GuestFeed {
    pub(crate) order: Arc<Order>,
    /// With [`LIMIT`] posts, already encoded.
    pub(crate) first: FeedPage,
}

impl FeedIndex {
    pub(crate) fn next(
        before: Option<&Self>,
        changed: Vec<FeedRow>,
        removed: &[PostKey],
        lexicon: Option<&Arc<Lexicon>>,
        as_of: AsOf,
        config: &Feed,
    ) -> Self {
        let mut names = Names::default();
        let words = Words::These(lexicon.cloned());
        let Some(before) = before else {
            let items = changed.into_iter().map(|row| Arc::new(Item::new(row, None, &mut names)));
            return Self::of(items.collect(), words, 0, as_of, config);
        };
        let number = before.number + 1;
        let mut items = before.items.clone();
        let position = |key: PostKey| before.position(key).map(|at| at as usize);
        let mut new = Vec::new();
        let mut gone: OwnSet<PostKey> =
            removed.iter().copied().filter(|key| position(*key).is_some()).collect();
        for row in changed {
            let key = row.key;
            match position(key).filter(|_| !gone.contains(&key)) {
                Some(at) => {
                    let item = Item::new(row, Some(&items[at]), &mut names);
                    if Arc::ptr_eq(&item.about, &items[at].about) && item.end_date == items[at].end_date {
                        items[at] = Arc::new(item);
                    } else {
                        gone.insert(key);
                        new.push(Arc::new(item));
                    }
                }
                None => new.push(Arc::new(Item::new(row, None, &mut names))),
            }
        }
        let words_before = before.meanings().map(|meanings| Arc::as_ptr(meanings.lexicon()));
        if gone.is_empty() && new.is_empty() && words_before == lexicon.map(Arc::as_ptr) {
            let snapshot = Arc::clone(&before.snapshot);
            return Self::with(items, snapshot, number, Some(before), as_of, config);
        }
        items.retain(|item| !gone.contains(&item.key));
        items.append(&mut new);
        Self::of(items, words, number, as_of, config)
    }

    pub(crate) fn of(
        mut items: Vec<Arc<Item>>,
        words: Words,
        number: u64,
        as_of: AsOf,
        config: &Feed,
    ) -> Self {
        // Newest first, ties by greatest id.
        items.sort_by(|a, b| (b.about.date, &b.about.id).cmp(&(a.about.date, &a.about.id)));
        items.truncate(config.posts);
        let snapshot = Arc::new(Snapshot::new(&items, words));
        Self::with(items, snapshot, number, None, as_of, config)
    }

    /// Computes the parts of an index that depend on views, likes and the time. Its orders share tails with those of
    /// `before`, which has the same posts.
    fn with(
        items: Vec<Arc<Item>>,
        snapshot: Arc<Snapshot>,
        number: u64,
        before: Option<&Self>,
        as_of: AsOf,
        config: &Feed,
    ) -> Self {
        let AsOf { now, popularity, .. } = as_of;
        let heats: Vec<Option<f64>> = items.iter().map(|item| item.heat).collect();
        let ends = items.iter().filter_map(|item| item.end_date).filter(|end| *end > now).min();
        let mut index = Self {
            as_of,
            number,
            topic_pages: snapshot.topics.keys().map(|name| (Arc::clone(name), OnceLock::new())).collect(),
            popular: popularity::of_posts(&heats),
            items,
            snapshot,
            interest: config.interest.clone(),
            ends: ends.unwrap_or(Timestamp::MAX),
            popular_feed: GuestFeed::empty(),
            recommended_feed: GuestFeed::empty(),
        };
        let order = |kind, keys, feed: fn(&Self) -> &GuestFeed| {
            Arc::new(Order::after(before.map(|before| &*feed(before).order), kind, keys, now))
        };
        let popular = order(FeedKind::Popular, index.most_popular(now, config), |i| &i.popular_feed);
        let recommended = index.most_recommendable(0, (&heats, popularity.decay()), now, config);
        let recommended = order(FeedKind::Recommended, recommended, |i| &i.recommended_feed);
        index.popular_feed = index.guest_feed(popular, now);
        index.recommended_feed = index.guest_feed(recommended, now);
        index
    }

    /// Returns those that the index `next` no longer has, for the order cache.
    pub(crate) fn orders_before(&self, next: &Self) -> Vec<Arc<Order>> {
        let mut orders = vec![Arc::clone(&self.popular_feed.order), Arc::clone(&self.recommended_feed.order)];
        if !Arc::ptr_eq(&self.snapshot, &next.snapshot) {
            let begun = self.topic_pages.iter().filter(|(_, page)| page.get().is_some());
            orders.extend(begun.map(|(name, _)| Arc::clone(&self.snapshot.topics[name])));
        }
        orders
    }

    /// `at` is a place of the order. Skips posts that were removed or have ended, so that only the last page has fewer than
    /// `limit` posts.
    pub(crate) fn page(&self, order: &Order, at: usize, limit: usize, now: Timestamp) -> FeedPage {
        self.page_without(&OwnSet::default(), order, at, limit, now)
    }

    /// Like [`FeedIndex::page`], without `hidden` posts.
    pub(crate) fn page_without(
        &self,
        hidden: &OwnSet<PostKey>,
        order: &Order,
        at: usize,
        limit: usize,
        now: Timestamp,
    ) -> FeedPage {
        let mut shown = order.from(at).filter_map(|(place, key)| {
            let item = &self.items[self.position(key)? as usize];
            (!item.has_ended(now) && !hidden.contains(&key)).then_some((place, item))
        });
        let (mut items, mut place, mut ranked) = (Vec::with_capacity(limit), at, 0);
        let own = if let FeedKind::Personal(_) = order.kind { order.head.len() } else { 0 };
        for (behind, item) in shown.by_ref().take(limit) {
            items.push(Arc::clone(item));
            place = behind;
            ranked += usize::from(behind <= own);
        }
        let next = shown.next().map(|_| Next { order: order.id, place, limit });
        FeedPage::new(order.kind, items, ranked, next)
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn item(&self, position: u32) -> &Item {
        &self.items[position as usize]
    }

    pub(crate) fn key(&self, position: u32) -> PostKey {
        self.snapshot.keys[position as usize]
    }

    pub(crate) fn date(&self, position: u32) -> Timestamp {
        self.snapshot.dates[position as usize]
    }

    pub(crate) fn position(&self, key: PostKey) -> Option<u32> {
        self.snapshot.positions.get(&key).copied()
    }

    pub(crate) fn features(&self) -> &FeatureIndex {
        &self.similarity().features
    }

    pub(crate) fn similarity(&self) -> &Similarity {
        self.snapshot.similarity(&self.items, &self.interest)
    }

    /// `None` without a word model.
    pub(crate) fn meanings(&self) -> Option<&Meanings> {
        self.similarity().meanings.as_ref()
    }

    /// Returns the number of posts newer than `time`, which have the first positions. The first `before` posts are
    /// known to be newer; the result is found fastest if it is close to `before`.
    pub(crate) fn newer_than(&self, time: Timestamp, before: usize) -> usize {
        let dates = &self.snapshot.dates[before..];
        let mut end = 1;
        while end < dates.len() && dates[end - 1] > time {
            end *= 2;
        }
        before + dates[..end.min(dates.len())].partition_point(|date| *date > time)
    }

    /// A precomputed page may show a post that has ended.
    pub(crate) fn has_ended(&self, now: Timestamp) -> bool {
        now >= self.ends
    }

    pub(crate) fn ended(&self, now: Timestamp) -> impl Iterator<Item = u32> {
        self.snapshot.ending.iter().copied().filter(move |at| self.items[*at as usize].has_ended(now))
    }

    /// `None` if no post has this topic or tag.
    pub(crate) fn topic(&self, name: &str) -> Option<&Arc<Order>> {
        self.snapshot.topics.get(name)
    }

    /// With [`LIMIT`] posts.
    pub(crate) fn topic_page(&self, name: &str, now: Timestamp) -> Option<&FeedPage> {
        let (page, order) = (self.topic_pages.get(name)?, self.topic(name)?);
        Some(page.get_or_init(|| self.page(order, 0, LIMIT, now)))
    }

    /// Of the first page at the time `at`.
    pub(crate) fn topic_tags(&self, name: &str, at: Timestamp) -> Vec<String> {
        let keys = self.topic(name).into_iter().flat_map(|order| order.from(0)).map(|(_, key)| key);
        let items = keys.filter_map(|key| Some(&*self.items[self.position(key)? as usize]));
        commonest_tags(items.filter(|item| item.about.date <= at && !item.has_ended(at)).take(LIMIT))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the settings allow far fewer posts")]
    fn positions(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.items.len() as u32
    }

    fn guest_feed(&self, order: Arc<Order>, now: Timestamp) -> GuestFeed {
        let first = self.page(&order, 0, LIMIT, now);
        // Encoded now, so that no request has to wait for it.
        first.answer();
        GuestFeed { order, first }
    }
}

impl GuestFeed {
    /// A placeholder until the feed is computed.
    fn empty() -> Self {
        let order = Arc::new(Order::fixed(FeedKind::Popular, Vec::new()));
        Self { order, first: FeedPage::empty(FeedKind::Popular) }
    }
}
