//! What an index knows of its posts that acts do not change, found once for all when posts come or go.

use std::collections::HashMap;
use std::sync::Arc;

use super::Item;
use crate::clock::Timestamp;
use crate::config::Feed;
use crate::keyed::OwnMap;
use crate::newsfeed::features::FeatureIndex;
use crate::newsfeed::meaning::{Lexicon, Meanings};
use crate::newsfeed::pages::{FeedKind, Order};
use crate::newsfeed::ranking;

/// What acts do not change of all posts.
pub(super) struct Snapshot {
    pub(super) positions: OwnMap<i64, u32>,
    pub(super) features: FeatureIndex,
    /// What the posts mean; none without a word model.
    pub(super) meanings: Option<Meanings>,
    /// The posts that carry a topic or a tag, newest first.
    pub(super) topics: HashMap<Arc<str>, Arc<Order>>,
    /// Freshness, by position.
    pub(super) fresh: Vec<f32>,
    /// Recency, by position.
    pub(super) recent: Vec<f32>,
    /// The positions of the posts that have an end.
    pub(super) ending: Vec<u32>,
}

impl Snapshot {
    /// Of posts that stand newest first, with the words of a model.
    pub(super) fn new(items: &[Arc<Item>], lexicon: Option<&Arc<Lexicon>>, config: &Feed) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the settings hold far fewer posts")]
        let at_positions = || items.iter().enumerate().map(|(at, item)| (at as u32, item));
        let ending = at_positions().filter(|(_, item)| item.end_date.is_some()).map(|(at, _)| at).collect();
        let mut labelled: HashMap<Arc<str>, Vec<i64>> = HashMap::new();
        for item in items {
            for (at, name) in item.about.topic.iter().chain(&item.about.tag).enumerate() {
                // A tag of the same name as a topic does not show the post twice.
                let topics = &item.about.topic;
                if at < topics.len() || !topics.contains(name) {
                    labelled.entry(Arc::clone(name)).or_default().push(item.key);
                }
            }
        }
        let newest = items.first().map_or(Timestamp::MIN, |item| item.about.date);
        #[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
        let fresh = items.iter().map(|item| ranking::freshness(config, newest, item.about.date) as f32);
        #[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
        let recent = later_of_topics(items).into_iter().map(|later| ranking::recency(config, later) as f32);
        let of_items = || items.iter().map(|item| &item.about.features);
        let features = FeatureIndex::new(of_items(), &config.interest);
        Self {
            positions: at_positions().map(|(at, item)| (item.key, at)).collect(),
            ending,
            meanings: lexicon.map(|lexicon| Meanings::new(lexicon, of_items(), &features)),
            features,
            topics: labelled
                .into_iter()
                .map(|(name, keys)| {
                    let order = Order::fixed(FeedKind::topic(&name), keys.into());
                    (name, Arc::new(order))
                })
                .collect(),
            fresh: fresh.collect(),
            recent: recent.collect(),
        }
    }
}

/// How many posts of its topics came after each post, newest first: in the topic of it that has most of them. For one
/// without a topic all posts count.
pub(super) fn later_of_topics(items: &[Arc<Item>]) -> Vec<u32> {
    let mut counts: HashMap<&str, u32> = HashMap::new();
    let later = items.iter().zip(0..).map(|(item, all)| {
        let later = item.about.topic.iter().map(|name| {
            let count = counts.entry(name).or_default();
            *count += 1;
            *count - 1
        });
        later.max().unwrap_or(all)
    });
    later.collect()
}
