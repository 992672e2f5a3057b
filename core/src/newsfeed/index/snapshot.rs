use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::features::{Feature, FeatureIndex, Number};
use super::item::Item;
use super::meaning::{Lexicon, Meanings};
use super::story::Sketch;
use crate::base::clock::Timestamp;
use crate::base::config::Interest;
use crate::base::keyed::{NumberMap, OwnMap};
use crate::newsfeed::feed::order::{FeedKind, Order};
use crate::newsfeed::signal::recency::TopicCadence;
use crate::record::id::PostKey;
use crate::words::ModelCache;

/// Computed once when posts are added, changed or removed, and shared until the next such change.
pub(crate) struct Snapshot {
    pub(crate) positions: OwnMap<PostKey, u32>,
    /// By position.
    pub(crate) keys: Vec<PostKey>,
    /// By position.
    pub(crate) dates: Vec<Timestamp>,
    pub(crate) labels: Labels,
    /// By topic, tag or source, newest first.
    pub(crate) topics: HashMap<Arc<str>, Arc<Order>>,
    pub(crate) cadences: TopicCadence,
    /// By position.
    pub(crate) sketches: Vec<Sketch>,
    /// The positions of posts with an end date.
    pub(crate) ending: Vec<u32>,
    words: Words,
    similarity: OnceLock<Similarity>,
}

/// Only the feeds of members need it. It takes longer to compute than the feeds of guests.
pub(crate) struct Similarity {
    pub(crate) features: FeatureIndex,
    /// `None` without a word model.
    pub(crate) meanings: Option<Meanings>,
    /// By position, see [`Features::spread`].
    ///
    /// [`Features::spread`]: super::features::Features::spread
    pub(crate) spread: Vec<f32>,
}

#[derive(Clone)]
pub(crate) enum Words {
    /// `None` without a word model.
    These(Option<Arc<Lexicon>>),
    /// The model that is current when the directions are computed.
    Current(Arc<ModelCache>),
}

impl Words {
    fn lexicon(&self) -> Option<Arc<Lexicon>> {
        match self {
            Self::These(lexicon) => lexicon.clone(),
            Self::Current(words) => words.current().map(|model| Arc::new(Lexicon::new(model))),
        }
    }
}

impl Snapshot {
    /// Of posts that are sorted newest first.
    pub(crate) fn new(items: &[Arc<Item>], words: Words) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the settings allow far fewer posts")]
        let at_positions = || items.iter().enumerate().map(|(at, item)| (at as u32, item));
        let ending = at_positions().filter(|(_, item)| item.end_date.is_some()).map(|(at, _)| at).collect();
        let mut labelled: HashMap<Arc<str>, Vec<PostKey>> = HashMap::new();
        for item in items {
            if let Some(source) = &item.about.source {
                labelled.entry(Arc::clone(source)).or_default().push(item.key);
            }
            for (at, name) in item.about.topic.iter().chain(&item.about.tag).enumerate() {
                // A tag with the name of a topic does not list the post twice.
                let topics = &item.about.topic;
                if at < topics.len() || !topics.contains(name) {
                    labelled.entry(Arc::clone(name)).or_default().push(item.key);
                }
            }
        }
        Self {
            positions: at_positions().map(|(at, item)| (item.key, at)).collect(),
            keys: items.iter().map(|item| item.key).collect(),
            dates: items.iter().map(|item| item.about.date).collect(),
            labels: Labels::new(items.iter().map(|item| &*item.about.labels)),
            sketches: items.iter().map(|item| item.about.sketch).collect(),
            ending,
            words,
            similarity: OnceLock::new(),
            topics: labelled
                .into_iter()
                .map(|(name, keys)| {
                    let order = Order::fixed(FeedKind::topic(&name), keys);
                    (name, Arc::new(order))
                })
                .collect(),
            cadences: TopicCadence::new(items),
        }
    }

    /// The first call computes it; others wait for it.
    pub(crate) fn similarity(&self, items: &[Arc<Item>], config: &Interest) -> &Similarity {
        self.similarity.get_or_init(|| {
            let of_items = || items.iter().map(|item| &item.about.features);
            let (features, numbers) = FeatureIndex::new(of_items(), config);
            let lexicon = self.words.lexicon();
            let meanings = lexicon.map(|lexicon| Meanings::new(&lexicon, of_items(), &features, &numbers));
            let spread = of_items().map(|post| post.spread(config, meanings.is_some())).collect();
            Similarity { features, meanings, spread }
        })
    }
}

/// Topics and sites, by position.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    numbers: NumberMap<Feature, Number>,
    /// Of all posts, one post after the other.
    of_posts: Vec<Number>,
    ends: Vec<u32>,
}

impl Labels {
    /// `posts` are in the order of their positions.
    #[expect(clippy::cast_possible_truncation, reason = "the settings allow far fewer posts")]
    pub(crate) fn new<'a>(posts: impl Iterator<Item = &'a [Feature]>) -> Self {
        let mut labels = Self::default();
        for post in posts {
            for label in post {
                let next = labels.numbers.len() as Number;
                labels.of_posts.push(*labels.numbers.entry(*label).or_insert(next));
            }
            labels.ends.push(labels.of_posts.len() as u32);
        }
        labels
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// `None` if no post has the label.
    pub(crate) fn number(&self, label: Feature) -> Option<Number> {
        self.numbers.get(&label).copied()
    }

    /// The site if the post has no topics.
    pub(crate) fn topics_of(&self, position: u32) -> &[Number] {
        match self.of(position) {
            // The site is the last label.
            [topics @ .., _] if !topics.is_empty() => topics,
            labels => labels,
        }
    }

    pub(crate) fn of(&self, position: u32) -> &[Number] {
        let position = position as usize;
        let begin = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.of_posts[begin as usize..self.ends[position] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_with_a_common_label_have_a_common_number() {
        let posts: [&[Feature]; 4] = [&[70, 80], &[], &[80, 90], &[70]];
        let labels = Labels::new(posts.into_iter());
        assert_eq!([0, 1, 2, 3].map(|post| labels.of(post)), [&[0, 1][..], &[], &[1, 2], &[0]]);
        assert_eq!((labels.len(), labels.number(90), labels.number(7)), (3, Some(2), None));
    }
}
