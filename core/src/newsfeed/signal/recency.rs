//! The cadence of topics: how many posts of its topic have followed a post, and how many of them a member has missed.

use std::collections::HashMap;
use std::sync::Arc;

use super::ranking;
use crate::base::config::Feed;
use crate::newsfeed::index::item::Item;

/// By position.
pub(crate) struct TopicCadence {
    places: Vec<Place>,
    topics: usize,
    /// By the number of later posts, see [`ranking::age`].
    ages: Vec<f32>,
}

/// The recency and the age of the posts of all topics for a member at a moment.
pub(crate) struct Recency<'c> {
    cadence: &'c TopicCadence,
    /// By the number of the topic.
    falls: Vec<Fall>,
}

/// The place of a post among the posts of its topic with the most later posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The number of the topic; 0 for a post without a topic, for which all posts count.
    topic: u32,
    later: u32,
}

#[derive(Clone, Copy)]
struct Fall {
    rate: f32,
    /// Posts that do not count, because they do not exist yet.
    unpublished: u32,
}

impl TopicCadence {
    /// `items` are sorted newest first.
    pub(crate) fn new(items: &[Arc<Item>]) -> Self {
        let mut counts: Vec<u32> = vec![0];
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut next = 1;
        let places = items.iter().map(|item| {
            let places = item.about.topic.iter().map(|name| {
                let topic = *numbers.entry(name).or_insert_with(|| {
                    counts.push(0);
                    next += 1;
                    next - 1
                });
                let later = counts[topic as usize];
                counts[topic as usize] += 1;
                Place { topic, later }
            });
            let busiest = places.max_by_key(|place| place.later);
            let all = counts[0];
            counts[0] += 1;
            busiest.unwrap_or(Place { topic: 0, later: all })
        });
        let places = places.collect();
        Self { places, topics: counts.len(), ages: (0..counts[0]).map(ranking::age).collect() }
    }

    /// Returns the recency of the posts for a moment at which those from position `first` on exist, and a member who last
    /// acted when those from `missed` on existed.
    pub(crate) fn recency(&self, first: usize, missed: usize, config: &Feed) -> Recency<'_> {
        let count = |places: &[Place]| {
            let mut counts = vec![0_u32; self.topics];
            for place in places.iter().filter(|place| place.topic > 0) {
                counts[place.topic as usize] += 1;
            }
            #[expect(clippy::cast_possible_truncation, reason = "the settings allow far fewer posts")]
            let all = places.len() as u32;
            counts[0] = all;
            counts
        };
        let (unpublished, missed) =
            (count(&self.places[..first]), count(&self.places[first..missed.max(first)]));
        let falls = unpublished
            .into_iter()
            .zip(missed)
            .map(|(unpublished, missed)| Fall { rate: ranking::recency_rate(config, missed), unpublished });
        Recency { cadence: self, falls: falls.collect() }
    }
}

impl Recency<'_> {
    /// From 0 to 1.
    #[inline]
    pub(crate) fn recent(&self, position: usize) -> f32 {
        let Place { topic, later } = self.cadence.places[position];
        let fall = self.falls[topic as usize];
        ranking::recency(fall.rate, later - fall.unpublished.min(later))
    }

    /// How few posts of its topic have followed, from 0 to 1.
    #[inline]
    pub(crate) fn age(&self, position: usize) -> f32 {
        let Place { topic, later } = self.cadence.places[position];
        self.cadence.ages[(later - self.falls[topic as usize].unpublished.min(later)) as usize]
    }
}
