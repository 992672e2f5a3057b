//! What posts are about, as numbers: topics, tags and words, and the index that finds posts by them.
//!
//! A feature is its kind and the hash of its name, so there is no dictionary to keep. Of 100,000 words some five
//! pairs share a hash, on average; what that does to one score is below its noise.

use std::hash::{Hash as _, Hasher as _};

use crate::config::Interest;
use crate::keyed::{NumberMap, Unkeyed};

/// A kind, in the lowest bits, and the hash of a name.
pub(super) type Feature = u32;

/// What a feature is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Topic,
    Tag,
    Word,
}

/// How many bits of a feature are its kind.
const KIND_BITS: u32 = 2;

impl Kind {
    /// Every kind, in the order of their numbers.
    pub(super) const ALL: [Self; 3] = [Self::Topic, Self::Tag, Self::Word];

    /// The kind of a feature.
    pub(super) fn of(feature: Feature) -> Self {
        Self::ALL[(feature & ((1 << KIND_BITS) - 1)) as usize]
    }

    /// Its share in how alike two posts are.
    pub(super) fn share(self, config: &Interest) -> f64 {
        match self {
            Self::Topic => config.topic_share,
            Self::Tag => config.tag_share,
            Self::Word => config.word_share,
        }
    }
}

/// The feature of this name, in whatever case it is written.
///
/// It is the same in every process, so that feeds are. Whoever makes up names that share one makes them one name, and no
/// more posts have that than posts there are; where numbers stand is under a key ([`NumberMap`]).
pub(super) fn feature(kind: Kind, name: &str) -> Feature {
    let mut hasher = Unkeyed::default();
    name.chars().flat_map(char::to_lowercase).for_each(|c| c.hash(&mut hasher));
    ((hasher.finish() >> (32 + KIND_BITS)) as Feature) << KIND_BITS | kind as Feature
}

/// The features of one post, before anything is known of the others.
#[derive(Debug)]
pub(super) struct Features(Box<[(Feature, f32)]>);

impl Features {
    /// Of topics and tags, each weighing the same, and of keywords, which weigh less towards the end.
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

    /// The keywords, with their weights.
    pub(super) fn words(&self) -> impl Iterator<Item = (Feature, f32)> {
        self.0.iter().copied().filter(|(feature, _)| Kind::of(*feature) == Kind::Word)
    }
}

/// Which posts have which features, and how much each tells.
#[derive(Debug, Default)]
pub(super) struct FeatureIndex {
    /// For each feature, its inverse document frequency and its part of `postings`.
    entries: NumberMap<Feature, Entry>,
    /// Positions of posts with the weight of the feature in them.
    postings: Vec<(u32, f32)>,
    /// The vectors of the posts, one behind the other, by position.
    vectors: Vec<(Feature, f32)>,
    /// Where each post's vector ends.
    ends: Vec<u32>,
}

#[derive(Debug, Default)]
struct Entry {
    idf: f32,
    start: u32,
    end: u32,
}

impl FeatureIndex {
    /// The index over posts, each named by its position.
    ///
    /// A post's vector has three blocks, one for each kind, each of unit length times the square root of its
    /// share: the inner product of two vectors is the sum of three cosines, each times its share. Within a block a feature
    /// weighs as [`Features`] says, times its inverse document frequency.
    ///
    /// Source: Salton and Buckley, *Term-weighting approaches in automatic text retrieval*, Information
    /// Processing & Management 24(5), 1988.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "positions fit 32 bits")]
    pub(super) fn new<'a>(posts: impl Iterator<Item = &'a Features> + Clone, config: &Interest) -> Self {
        let mut entries: NumberMap<Feature, Entry> = NumberMap::default();
        let mut count = 0_usize;
        for post in posts.clone() {
            count += 1;
            for (feature, _) in &post.0 {
                entries.entry(*feature).or_default().end += 1;
            }
        }
        let mut start = 0;
        for entry in entries.values_mut() {
            let posts = std::mem::replace(&mut entry.end, start);
            entry.idf = (1.0 + count as f32 / posts as f32).ln();
            entry.start = start;
            start += posts;
        }
        let mut postings = vec![(0, 0.0); start as usize];
        let (mut vectors, mut ends) = (Vec::with_capacity(start as usize), Vec::with_capacity(count));
        for (position, post) in posts.enumerate() {
            let begin = vectors.len();
            vectors.extend(weigh(&entries, post, config));
            for (feature, weight) in &vectors[begin..] {
                let entry = entries.get_mut(feature).expect("every feature was counted above");
                postings[entry.end as usize] = (position as u32, *weight);
                entry.end += 1;
            }
            ends.push(vectors.len() as u32);
        }
        Self { entries, postings, vectors, ends }
    }

    /// The vector of the post at a position.
    pub(super) fn vector(&self, position: u32) -> &[(Feature, f32)] {
        let position = position as usize;
        let begin = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.vectors[begin as usize..self.ends[position] as usize]
    }

    /// The weight of one word, topic or tag that was searched for or opened; 0 when no post has it.
    pub(super) fn idf(&self, feature: Feature) -> f32 {
        self.entries.get(&feature).map_or(0.0, |entry| entry.idf)
    }

    /// The inner product of `query` with each of `posts` posts.
    pub(super) fn scores(&self, query: &[(Feature, f32)], posts: usize) -> Vec<f32> {
        let mut scores = vec![0.0; posts];
        for (feature, weight) in query {
            let Some(entry) = self.entries.get(feature) else { continue };
            for (position, posting) in &self.postings[entry.start as usize..entry.end as usize] {
                scores[*position as usize] += weight * posting;
            }
        }
        scores
    }
}

fn weigh(entries: &NumberMap<Feature, Entry>, post: &Features, config: &Interest) -> Vec<(Feature, f32)> {
    let mut vector: Vec<(Feature, f32)> =
        post.0.iter().map(|(feature, raw)| (*feature, raw * entries[feature].idf)).collect();
    normalise(&mut vector, config);
    vector
}

/// Makes each kind's part of a vector as long as the square root of its share.
pub(super) fn normalise(vector: &mut [(Feature, f32)], config: &Interest) {
    let mut squares = [0.0; Kind::ALL.len()];
    for (feature, weight) in &*vector {
        squares[Kind::of(*feature) as usize] += weight * weight;
    }
    #[expect(clippy::cast_possible_truncation, reason = "shares need no more digits")]
    let factors = Kind::ALL.map(|kind| match squares[kind as usize] {
        square if square > 0.0 => (kind.share(config) as f32 / square).sqrt(),
        _ => 0.0,
    });
    for (feature, weight) in vector {
        *weight *= factors[Kind::of(*feature) as usize];
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
    fn a_post_is_most_like_itself_and_nothing_like_one_that_shares_nothing() {
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
    fn what_every_post_has_tells_less_than_what_one_has() {
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
