//! The content of posts as numbers: topics, tags and words, and the index of posts by them.
//!
//! A feature is a kind and the hash of a name, so no dictionary is needed. Among 100,000 words, approximately five
//! pairs share a hash, which changes a score by less than its noise.

use std::hash::{Hash as _, Hasher as _};
use std::ops::Range;

use crate::config::Interest;
use crate::keyed::{NumberMap, Unkeyed};

/// A kind in the lowest bits, and the hash of a name.
pub(super) type Feature = u32;

/// The kind of name that a feature represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Topic,
    Tag,
    Word,
}

/// The number of bits for the kind.
const KIND_BITS: u32 = 2;

impl Kind {
    /// All kinds, in the order of their numbers.
    pub(super) const ALL: [Self; 3] = [Self::Topic, Self::Tag, Self::Word];

    /// Returns the kind of a feature.
    pub(super) fn of(feature: Feature) -> Self {
        Self::ALL[(feature & ((1 << KIND_BITS) - 1)) as usize]
    }

    /// Returns the weight of this kind in the similarity of two posts.
    pub(super) fn share(self, config: &Interest) -> f64 {
        match self {
            Self::Topic => config.topic_share,
            Self::Tag => config.tag_share,
            Self::Word => config.word_share,
        }
    }
}

/// Returns the feature of a name, regardless of case.
///
/// It is the same in every process, so that all processes give the same feeds. Names with equal hashes count as one
/// name, which does no other harm, because the maps of features are keyed ([`NumberMap`]).
pub(super) fn feature(kind: Kind, name: &str) -> Feature {
    let mut hasher = Unkeyed::default();
    name.chars().flat_map(char::to_lowercase).for_each(|c| c.hash(&mut hasher));
    ((hasher.finish() >> (32 + KIND_BITS)) as Feature) << KIND_BITS | kind as Feature
}

/// The features of a post with their unnormalised weights.
#[derive(Debug)]
pub(super) struct Features(Box<[(Feature, f32)]>);

impl Features {
    /// Creates the features of topics and tags, all with the same weight, and of keywords, whose weight decreases with
    /// their rank.
    pub(super) fn new<'a>(
        topics: impl Iterator<Item = &'a str>,
        tags: impl Iterator<Item = &'a str>,
        keywords: impl Iterator<Item = &'a str>,
    ) -> Self {
        let topics = topics.map(|name| (feature(Kind::Topic, name), 1.0));
        let tags = tags.map(|name| (feature(Kind::Tag, name), 1.0));
        let words = keywords.enumerate().map(|(rank, name)| {
            #[expect(clippy::cast_precision_loss, reason = "a few dozen keywords")]
            let weight = 1.0 / (1.0 + rank as f32 / 8.0);
            (feature(Kind::Word, name), weight)
        });
        Self(topics.chain(tags).chain(words).collect())
    }

    /// Returns the keywords with their weights.
    pub(super) fn words(&self) -> impl Iterator<Item = (Feature, f32)> {
        self.0.iter().copied().filter(|(feature, _)| Kind::of(*feature) == Kind::Word)
    }
}

/// The number of a feature in an index. The features of a kind have consecutive numbers, in the order of the features.
pub(super) type Number = u32;

/// The posts by their features, and the weights of the features.
#[derive(Debug, Default)]
pub(super) struct FeatureIndex {
    numbers: NumberMap<Feature, Number>,
    /// The end of the numbers of each kind.
    kind_ends: [usize; Kind::ALL.len()],
    /// The inverse document frequency and the range in `postings` of each feature, by number.
    entries: Vec<Entry>,
    /// Positions of posts with the weight of the feature in the post.
    postings: Vec<(u32, f32)>,
    /// The vectors of the posts by position, one after the other.
    vectors: Vec<(Number, f32)>,
    /// The end of each post's vector.
    ends: Vec<u32>,
}

#[derive(Debug, Default)]
struct Entry {
    idf: f32,
    start: u32,
    end: u32,
}

impl FeatureIndex {
    /// Creates the index of posts, which are identified by their positions.
    ///
    /// The vector of a post has a block for each kind, whose length is the square root of the kind's share. So the
    /// inner product of two vectors is the sum of three cosines, each times the share. Within a block, the weight of a
    /// feature is that of [`Features`] times the inverse document frequency.
    ///
    /// Source: Salton and Buckley, *Term-weighting approaches in automatic text retrieval*, Information Processing &
    /// Management 24(5), 1988.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "positions fit 32 bits")]
    pub(super) fn new<'a>(posts: impl Iterator<Item = &'a Features> + Clone, config: &Interest) -> Self {
        let mut counts: NumberMap<Feature, u32> = NumberMap::default();
        let mut count = 0_usize;
        for post in posts.clone() {
            count += 1;
            for (feature, _) in &post.0 {
                *counts.entry(*feature).or_default() += 1;
            }
        }
        let mut sorted: Vec<(Feature, u32)> = counts.into_iter().collect();
        sorted.sort_unstable_by_key(|(feature, _)| (Kind::of(*feature) as usize, *feature));
        let kind_ends = Kind::ALL
            .map(|kind| sorted.partition_point(|(feature, _)| Kind::of(*feature) as usize <= kind as usize));
        let mut start = 0;
        let entries = sorted.iter().map(|(_, posts)| {
            let idf = (1.0 + count as f32 / *posts as f32).ln();
            let entry = Entry { idf, start, end: start };
            start += posts;
            entry
        });
        let mut entries: Vec<Entry> = entries.collect();
        let numbers = sorted.into_iter().zip(0..).map(|((feature, _), number)| (feature, number)).collect();
        let mut postings = vec![(0, 0.0); start as usize];
        let (mut vectors, mut ends) = (Vec::with_capacity(start as usize), Vec::with_capacity(count));
        for (position, post) in posts.enumerate() {
            let begin = vectors.len();
            vectors.extend(weigh(&numbers, &entries, post, config));
            for (number, weight) in &vectors[begin..] {
                let entry = &mut entries[*number as usize];
                postings[entry.end as usize] = (position as u32, *weight);
                entry.end += 1;
            }
            ends.push(vectors.len() as u32);
        }
        Self { numbers, kind_ends, entries, postings, vectors, ends }
    }

    /// Returns the number of features.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of a feature; `None` if no post has it.
    pub(super) fn number(&self, feature: Feature) -> Option<Number> {
        self.numbers.get(&feature).copied()
    }

    /// Returns the numbers of the features of a kind.
    pub(super) fn numbers(&self, kind: Kind) -> Range<usize> {
        let kind = kind as usize;
        kind.checked_sub(1).map_or(0, |before| self.kind_ends[before])..self.kind_ends[kind]
    }

    /// Returns the vector of the post at a position.
    pub(super) fn vector(&self, position: u32) -> &[(Number, f32)] {
        let position = position as usize;
        let begin = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.vectors[begin as usize..self.ends[position] as usize]
    }

    /// Returns the inverse document frequency of a feature; 0 if no post has it.
    pub(super) fn idf(&self, feature: Feature) -> f32 {
        self.number(feature).map_or(0.0, |number| self.entries[number as usize].idf)
    }

    /// Returns the inner product of `query` with each of `posts` posts.
    pub(super) fn scores(&self, query: &[(Number, f32)], posts: usize) -> Vec<f32> {
        let mut scores = vec![0.0; posts];
        for (number, weight) in query {
            let entry = &self.entries[*number as usize];
            add(&mut scores, &self.postings[entry.start as usize..entry.end as usize], *weight);
        }
        scores
    }
}

/// Adds `weight` times each value to the element of `sums` with its number.
#[inline]
pub(super) fn add(sums: &mut [f32], values: &[(u32, f32)], weight: f32) {
    for (number, value) in values {
        sums[*number as usize] += weight * value;
    }
}

fn weigh(
    numbers: &NumberMap<Feature, Number>,
    entries: &[Entry],
    post: &Features,
    config: &Interest,
) -> Vec<(Number, f32)> {
    let weights = post.0.iter().map(|(feature, raw)| {
        let number = numbers[feature];
        (number, raw * entries[number as usize].idf)
    });
    let mut vector: Vec<(Number, f32)> = weights.collect();
    // The features of a post are ordered by kind.
    let mut rest = &mut vector[..];
    for kind in Kind::ALL {
        let len = post.0.iter().filter(|(feature, _)| Kind::of(*feature) == kind).count();
        let (block, others) = rest.split_at_mut(len);
        normalise(block, kind, config);
        rest = others;
    }
    vector
}

/// Scales the weights of features of a kind to the square root of the kind's share.
pub(super) fn normalise(block: &mut [(Number, f32)], kind: Kind, config: &Interest) {
    let square: f32 = block.iter().map(|(_, weight)| weight * weight).sum();
    #[expect(clippy::cast_possible_truncation, reason = "shares need no more digits")]
    let factor = if square > 0.0 { (kind.share(config) as f32 / square).sqrt() } else { 0.0 };
    for (_, weight) in block {
        *weight *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(topics: &str, tags: &str, words: &str) -> Features {
        let [topics, tags, words] = [topics, tags, words].map(str::split_whitespace);
        Features::new(topics, tags, words)
    }

    #[test]
    fn a_post_is_most_similar_to_itself_and_not_to_one_without_common_features() {
        let posts = [
            post("rust", "async", "future waker"),
            post("rust", "lang", "future pin"),
            post("cats", "", "fur"),
        ];
        let config = Interest::default();
        let index = FeatureIndex::new(posts.iter(), &config);
        let scores = index.scores(index.vector(0), posts.len());
        let shares: f64 = Kind::ALL.iter().map(|kind| kind.share(&config)).sum();
        assert!((f64::from(scores[0]) - shares).abs() < 1e-5, "{scores:?}");
        assert!(scores[1] > 0.1 && scores[1] < scores[0], "{scores:?}");
        assert!(scores[2].abs() < f32::EPSILON, "{scores:?}");
    }

    #[test]
    fn a_rare_feature_weighs_more_than_a_common_one() {
        let posts: Vec<_> = (0..100).map(|n| post("news", if n == 7 { "rare" } else { "" }, "")).collect();
        let index = FeatureIndex::new(posts.iter(), &Interest::default());
        assert!(index.idf(feature(Kind::Tag, "rare")) > 4.0 * index.idf(feature(Kind::Topic, "news")));
        assert!(index.idf(feature(Kind::Word, "unheard")).abs() < f32::EPSILON);
    }

    #[test]
    fn names_of_different_kinds_are_different_features() {
        assert_ne!(feature(Kind::Tag, "rust"), feature(Kind::Topic, "rust"));
        assert!(Kind::ALL.iter().all(|kind| Kind::of(feature(*kind, "rust")) == *kind));
    }
}
