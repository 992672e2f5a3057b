//! The posts that feeds are made of, in memory: an unchanging [`FeedIndex`] that is swapped for the next one.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, OnceLock};

use super::features::{Feature, FeatureIndex, Features, Kind, feature};
use super::meaning::{Lexicon, Meanings};
use super::pages::{FeedKind, LIMIT, Order, render};
use super::ranking;
use crate::answer::Encoded;
use crate::clock::Timestamp;
use crate::config::Feed;
use crate::keyed::{OwnSet, Unkeyed};
use crate::post::Post;
use crate::post::feed_rows::FeedRow;

mod snapshot;
#[cfg(test)]
pub(super) mod tests;

use snapshot::Snapshot;

/// How much of the guests' recommended feed is made diverse; behind it the ranking stands as it is.
const DIVERSE_LENGTH: usize = 1_500;

/// One post, with what every feed needs of it.
pub(super) struct Item {
    pub(super) key: i64,
    /// The post as feeds answer it, a JSON object.
    pub(super) json: Box<str>,
    pub(super) end_date: Option<Timestamp>,
    heat: Option<f64>,
    about: Arc<About>,
}

/// What acts do not change of a post.
struct About {
    id: String,
    date: Timestamp,
    topic: Box<[Arc<str>]>,
    tag: Box<[Arc<str>]>,
    features: Features,
    /// Hashes of its topics and its site: what diversity looks at.
    labels: Box<[Feature]>,
    /// Tells whether any of this has changed.
    fingerprint: u64,
}

/// Every post that feeds show, with the orders and the answers that guests get.
pub(super) struct FeedIndex {
    /// The revision of the database that it shows.
    pub(super) revision: i64,
    /// How many came before it, by which two can be told apart.
    pub(super) number: u64,
    /// Newest first, ties by greatest id.
    items: Vec<Arc<Item>>,
    snapshot: Arc<Snapshot>,
    /// Popularity, by position.
    popular: Vec<f32>,
    /// When the first of the posts shown reaches its end.
    ends: Timestamp,
    pub(super) popular_feed: Guests,
    pub(super) recommended_feed: Guests,
    /// First pages of topic feeds, each made when it is first asked for.
    topic_pages: HashMap<Arc<str>, OnceLock<Arc<Encoded>>>,
}

/// A feed as every guest gets it.
pub(super) struct Guests {
    pub(super) order: Arc<Order>,
    /// The first page of the usual length.
    pub(super) first: Arc<Encoded>,
}

impl FeedIndex {
    /// The index after `changed` and `removed` posts, made of the one `before`, with the words of a model.
    pub(super) fn next(
        before: Option<&Self>,
        changed: Vec<FeedRow>,
        removed: &[i64],
        lexicon: Option<&Arc<Lexicon>>,
        revision: i64,
        now: Timestamp,
        config: &Feed,
    ) -> Self {
        let mut names = Names::default();
        let empty = Vec::new();
        let (items, snapshot) = match before {
            Some(before) => (&before.items, Some(&before.snapshot)),
            None => (&empty, None),
        };
        let position = |key: i64| snapshot.and_then(|c| c.positions.get(&key)).map(|at| *at as usize);
        let mut items = items.clone();
        let same_words = |snapshot: &Arc<Snapshot>| {
            snapshot.meanings.as_ref().map(|m| Arc::as_ptr(m.lexicon())) == lexicon.map(Arc::as_ptr)
        };
        let mut rebuilt = !snapshot.is_some_and(same_words);
        let mut new = Vec::new();
        let mut gone: OwnSet<i64> = removed.iter().copied().filter(|key| position(*key).is_some()).collect();
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
        rebuilt |= !gone.is_empty() || !new.is_empty();
        if rebuilt {
            items.retain(|item| !gone.contains(&item.key));
            items.append(&mut new);
            items.sort_by(|a, b| (b.about.date, &b.about.id).cmp(&(a.about.date, &a.about.id)));
            items.truncate(config.posts);
        }
        let snapshot = match snapshot.filter(|_| !rebuilt) {
            Some(snapshot) => Arc::clone(snapshot),
            None => Arc::new(Snapshot::new(&items, lexicon, config)),
        };
        let hottest = items.iter().filter_map(|item| item.heat).fold(f64::NEG_INFINITY, f64::max);
        #[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
        let popular = items.iter().map(|item| ranking::popularity(hottest, item.heat) as f32).collect();
        let ends = items.iter().filter_map(|item| item.end_date).filter(|end| *end > now).min();
        let mut index = Self {
            revision,
            number: before.map_or(0, |before| before.number + 1),
            topic_pages: snapshot.topics.keys().map(|name| (Arc::clone(name), OnceLock::new())).collect(),
            items,
            snapshot,
            popular,
            ends: ends.unwrap_or(Timestamp::MAX),
            popular_feed: Guests::none(),
            recommended_feed: Guests::none(),
        };
        // The tail of an order may only be shared while the posts are the same.
        let before = before.filter(|_| !rebuilt);
        let order = |kind, keys, feed: fn(&Self) -> &Guests| {
            Arc::new(Order::after(before.map(|before| &*feed(before).order), kind, keys, now))
        };
        let popular = order(FeedKind::Popular, index.most_popular(now), |l| &l.popular_feed);
        let recommended = index.most_recommendable(now, config);
        let recommended = order(FeedKind::Recommended, recommended, |l| &l.recommended_feed);
        index.popular_feed = index.guests(popular, now);
        index.recommended_feed = index.guests(recommended, now);
        index
    }

    /// The orders that an index after this one no longer has, so that they can be kept.
    pub(super) fn orders_before(&self, next: &Self) -> Vec<Arc<Order>> {
        let mut orders = vec![Arc::clone(&self.popular_feed.order), Arc::clone(&self.recommended_feed.order)];
        if !Arc::ptr_eq(&self.snapshot, &next.snapshot) {
            let begun = self.topic_pages.iter().filter(|(_, page)| page.get().is_some());
            orders.extend(begun.map(|(name, _)| Arc::clone(&self.snapshot.topics[name])));
        }
        orders
    }

    /// How many posts there are.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// The post with this key.
    pub(super) fn item(&self, key: i64) -> Option<&Item> {
        self.position(key).map(|at| &*self.items[at as usize])
    }

    /// The key of the post at a position.
    pub(super) fn key(&self, position: u32) -> i64 {
        self.items[position as usize].key
    }

    /// The keys of all posts, the newest first.
    pub(super) fn newest(&self) -> impl Iterator<Item = i64> {
        self.items.iter().map(|item| item.key)
    }

    /// Where the post with this key stands.
    pub(super) fn position(&self, key: i64) -> Option<u32> {
        self.snapshot.positions.get(&key).copied()
    }

    /// The labels that diversity looks at, of the post at a position.
    pub(super) fn labels(&self, position: u32) -> &[Feature] {
        &self.items[position as usize].about.labels
    }

    /// The index of the features.
    pub(super) fn features(&self) -> &FeatureIndex {
        &self.snapshot.features
    }

    /// What the posts mean, where there is a word model.
    pub(super) fn meanings(&self) -> Option<&Meanings> {
        self.snapshot.meanings.as_ref()
    }

    /// Freshness and popularity, by position.
    fn standing(&self) -> impl Iterator<Item = (f32, f32)> {
        self.snapshot.fresh.iter().copied().zip(self.popular.iter().copied())
    }

    /// Recency and popularity, by position.
    pub(super) fn lately(&self) -> impl Iterator<Item = (f32, f32)> {
        self.snapshot.recent.iter().copied().zip(self.popular.iter().copied())
    }

    /// How many posts are newer than a time: those of the first positions.
    pub(super) fn newer_than(&self, time: Timestamp) -> usize {
        self.items.partition_point(|item| item.about.date > time)
    }

    /// Whether answers made before `now` may show a post that has reached its end since.
    pub(super) fn has_ended(&self, now: Timestamp) -> bool {
        now >= self.ends
    }

    /// The positions of the posts that are past their end.
    pub(super) fn over(&self, now: Timestamp) -> impl Iterator<Item = u32> {
        self.snapshot.ending.iter().copied().filter(move |at| self.items[*at as usize].is_over(now))
    }

    /// When a post next reaches its end.
    pub(super) fn ends(&self) -> Timestamp {
        self.ends
    }

    /// The order of a topic's feed; `None` when no post carries it.
    pub(super) fn topic(&self, name: &str) -> Option<&Arc<Order>> {
        self.snapshot.topics.get(name)
    }

    /// The first page of a topic's feed, of the usual length.
    pub(super) fn topic_page(&self, name: &str, now: Timestamp) -> Option<&Arc<Encoded>> {
        let (page, order) = (self.topic_pages.get(name)?, self.topic(name)?);
        Some(page.get_or_init(|| Arc::new(Encoded::new(render(self, order, 0, LIMIT, now).answer))))
    }

    /// The commonest tags of posts, most common first, ties by name, at most ten.
    pub(super) fn commonest_tags(&self, keys: &[i64]) -> Vec<String> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for tag in keys.iter().filter_map(|key| self.item(*key)).flat_map(|item| &item.about.tag) {
            *counts.entry(tag).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable_by_key(|(tag, count)| (std::cmp::Reverse(*count), *tag));
        counts.into_iter().take(10).map(|(tag, _)| tag.to_owned()).collect()
    }

    /// The commonest tags of the first page of a topic's feed, as it was at some time.
    pub(super) fn topic_tags(&self, name: &str, at: Timestamp) -> Vec<String> {
        let shown =
            |key: &i64| self.item(*key).is_some_and(|item| item.about.date <= at && !item.is_over(at));
        let keys = self.topic(name).into_iter().flat_map(|order| order.from(0)).map(|(_, key)| key);
        let keys: Vec<i64> = keys.filter(shown).take(LIMIT).collect();
        self.commonest_tags(&keys)
    }

    /// Hottest first; posts without acts follow, newest first.
    fn most_popular(&self, now: Timestamp) -> Vec<i64> {
        let shown = || self.items.iter().filter(|item| !item.is_over(now));
        let mut acted: Vec<_> = shown().filter_map(|item| Some((item.heat?, item.key))).collect();
        // Stable, so that ties stay newest first.
        acted.sort_by(|a, b| b.0.total_cmp(&a.0));
        let quiet = shown().filter(|item| item.heat.is_none()).map(|item| item.key);
        acted.into_iter().map(|(_, key)| key).chain(quiet).collect()
    }

    /// Fresh and popular posts across topics.
    fn most_recommendable(&self, now: Timestamp, config: &Feed) -> Vec<i64> {
        #[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
        let (fresh_weight, popular_weight) = (config.fresh_weight as f32, config.popular_weight as f32);
        let scores: Vec<f32> =
            self.standing().map(|(fresh, popular)| fresh_weight * fresh + popular_weight * popular).collect();
        let mut best: Vec<u32> =
            self.positions().filter(|at| !self.items[*at as usize].is_over(now)).collect();
        best.sort_by(|a, b| scores[*b as usize].total_cmp(&scores[*a as usize]));
        let diverse = ranking::diversify(&best, |at| self.labels(at), |_| config.diverse_max, DIVERSE_LENGTH);
        let first: OwnSet<u32> = diverse.iter().copied().collect();
        let rest = best.into_iter().filter(|at| !first.contains(at));
        diverse.iter().copied().chain(rest).map(|at| self.key(at)).collect()
    }

    #[expect(clippy::cast_possible_truncation, reason = "the settings hold far fewer posts")]
    fn positions(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.items.len() as u32
    }

    fn guests(&self, order: Arc<Order>, now: Timestamp) -> Guests {
        let first = render(self, &order, 0, LIMIT, now).answer;
        Guests { order, first: Arc::new(Encoded::new(first)) }
    }
}

impl Guests {
    /// Stands in an index until its feeds are made.
    fn none() -> Self {
        let order = Arc::new(Order::fixed(FeedKind::Popular, Arc::from([])));
        Self { order, first: Arc::new(Encoded::new(Vec::new())) }
    }
}

impl Item {
    /// The item of a row; what acts do not change is shared with `before` when it is the same.
    fn new(row: FeedRow, before: Option<&Self>, names: &mut Names) -> Self {
        // Compared with the same post's alone: who makes two versions of a post alike harms nobody else.
        let mut hasher = Unkeyed::default();
        (&row.title, &row.url, &row.host, &row.img, row.date).hash(&mut hasher);
        (&row.topic, &row.tag, &row.keyword).hash(&mut hasher);
        let fingerprint = hasher.finish();
        let same = before.filter(|before| before.about.fingerprint == fingerprint);
        let json = serde_json::to_string(&post(&row)).expect("a post has text keys and nothing that fails");
        let about = match same {
            Some(before) => Arc::clone(&before.about),
            None => Arc::new(About {
                features: Features::new(
                    row.topic.iter().map(String::as_str),
                    row.tag.iter().map(String::as_str),
                    row.keyword.split_ascii_whitespace(),
                ),
                labels: labels(&row),
                id: row.id,
                date: row.date,
                topic: row.topic.iter().map(|name| names.get(name)).collect(),
                tag: row.tag.iter().map(|name| names.get(name)).collect(),
                fingerprint,
            }),
        };
        Self { key: row.key, json: json.into(), end_date: row.end_date, heat: row.heat, about }
    }

    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.end_date.is_some_and(|end| end <= now)
    }
}

/// The post as feeds answer it.
fn post(row: &FeedRow) -> Post {
    Post {
        id: row.id.clone(),
        title: row.title.clone(),
        date: row.date,
        img: row.img.clone(),
        fav_cnt: row.fav,
        view: row.view,
        url: row.url.clone(),
        end_date: row.end_date,
    }
}

/// A site counts as a label of its own, apart from topics of the same name.
fn labels(row: &FeedRow) -> Box<[Feature]> {
    let topics = row.topic.iter().map(|name| feature(Kind::Topic, name));
    topics.chain([feature(Kind::Word, &row.host)]).collect()
}

/// Names that many posts share, each kept once.
#[derive(Default)]
struct Names(HashSet<Arc<str>>);

impl Names {
    fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(name) = self.0.get(name) {
            return Arc::clone(name);
        }
        let name: Arc<str> = name.into();
        self.0.insert(Arc::clone(&name));
        name
    }
}
