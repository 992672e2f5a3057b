//! The content of posts as numbers: topics, tags and words, and the index of posts by them. A feature is a kind and the hash of a
//! name: among 100,000 words, approximately five pairs share a hash, which changes a score by less than its noise.

use std::hash::{Hash as _, Hasher as _};
use std::ops::Range;

use crate::base::config::Interest;
use crate::base::keyed::{NumberMap, Unkeyed};

/// A kind in the lowest bits, and the hash of a name.
pub(crate) type Feature = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Topic,
    Tag,
    Word,
}

const KIND_BITS: u32 = 2;

impl Kind {
    /// In the order of their numbers.
    pub(crate) const ALL: [Self; 3] = [Self::Topic, Self::Tag, Self::Word];

    pub(crate) fn of(feature: Feature) -> Self {
        Self::ALL[(feature & ((1 << KIND_BITS) - 1)) as usize]
    }

    /// In the similarity of two posts.
    pub(crate) fn share(self, config: &Interest) -> f64 {
        match self {
            Self::Topic => config.topic_share,
            Self::Tag => config.tag_share,
            Self::Word => config.word_share,
        }
    }
}

/// Ignores case. It is the same in every process, so that all processes give the same feeds. Names with equal hashes count as one
/// name, which does no other harm, because the maps of features are keyed ([`NumberMap`]).
pub(crate) fn feature(kind: Kind, name: &str) -> Feature {
    of_hash(kind, hash(name))
}

/// In the order of [`Kind::ALL`].
pub(crate) fn of_all_kinds(name: &str) -> [Feature; Kind::ALL.len()] {
    let hash = hash(name);
    Kind::ALL.map(|kind| of_hash(kind, hash))
}

fn hash(name: &str) -> u64 {
    let mut hasher = Unkeyed::default();
    if name.is_ascii() {
        // The same hash in a fraction of the time.
        name.bytes().for_each(|byte| hasher.write_u32(byte.to_ascii_lowercase().into()));
    } else {
        name.chars().flat_map(char::to_lowercase).for_each(|c| c.hash(&mut hasher));
    }
    hasher.finish()
}

fn of_hash(kind: Kind, hash: u64) -> Feature {
    ((hash >> (32 + KIND_BITS)) as Feature) << KIND_BITS | kind as Feature
}

/// Topics, tags, and keywords in the order of their ranks.
#[derive(Debug)]
pub(crate) struct Features(Box<[Feature]>);

impl Features {
    /// `keywords` are separated by blanks.
    pub(crate) fn new<'a>(
        topics: impl Iterator<Item = &'a str>,
        tags: impl Iterator<Item = &'a str>,
        keywords: &str,
    ) -> Self {
        let mut all = Vec::with_capacity(64);
        all.extend(topics.map(|name| feature(Kind::Topic, name)));
        all.extend(tags.map(|name| feature(Kind::Tag, name)));
        all.extend(keywords.split_ascii_whitespace().map(|word| feature(Kind::Word, word)));
        Self(all.into())
    }

    /// Not normalised: topics and tags all have the same weight, and the weight of keywords decreases with their rank.
    pub(crate) fn weighted(&self) -> impl Iterator<Item = (Feature, f32)> {
        let mut rank = 0.0;
        self.0.iter().map(move |feature| {
            if Kind::of(*feature) != Kind::Word {
                return (*feature, 1.0);
            }
            let weight = 1.0 / (1.0 + rank / 8.0);
            rank += 1.0;
            (*feature, weight)
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// In the order of their ranks.
    pub(crate) fn words(&self) -> &[Feature] {
        &self.0[self.0.partition_point(|feature| Kind::of(*feature) != Kind::Word)..]
    }

    /// Returns the factor by which the similarity of the post counts, so that the kinds of features that it has carry the shares
    /// of those that it lacks: the words and the meaning of a post without topics and tags carry all of it. `has_meaning` tells
    /// whether a word model gives words a meaning.
    pub(crate) fn spread(&self, config: &Interest, has_meaning: bool) -> f32 {
        let share = |kind: Kind| {
            let meaning = if has_meaning && kind == Kind::Word { config.meaning_share } else { 0.0 };
            kind.share(config) + meaning
        };
        let all: f64 = Kind::ALL.into_iter().map(share).sum();
        let has = |kind: &Kind| self.0.iter().any(|feature| Kind::of(*feature) == *kind);
        let own: f64 = Kind::ALL.into_iter().filter(has).map(share).sum();
        #[expect(clippy::cast_possible_truncation, reason = "shares need no more digits")]
        let factor = if own > 0.0 { (all / own) as f32 } else { 1.0 };
        factor
    }
}

/// The number of a feature in an index. The features of a kind have consecutive numbers, in the order of the features.
pub(crate) type Number = u32;

/// In bytes: what a processor usually reads from memory at a time.
const CACHE_LINE: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct FeatureIndex {
    numbers: NumberMap<Feature, Number>,
    kind_ends: [usize; Kind::ALL.len()],
    /// The inverse document frequency and the range in `postings` of each feature, by number.
    entries: Vec<Entry>,
    /// Positions of posts with the weight of the feature in the post.
    postings: Vec<(u32, f32)>,
    /// The vectors of the posts by position, one after the other.
    vectors: Vec<(Number, f32)>,
    ends: Vec<u32>,
}

#[derive(Debug, Default)]
struct Entry {
    idf: f32,
    start: u32,
    end: u32,
}

impl FeatureIndex {
    /// Posts are identified by their positions. Also returns the number of each feature of each post, post after post, which saves
    /// look-ups. The vector of a post has a block for each kind, whose length is the square root of the kind's share. So the inner
    /// product of two vectors is the sum of three cosines, each times the share. Within a block, the weight of a feature is that
    /// of [`Features::weighted`] times the inverse document frequency. Source: Salton and Buckley, *Term-weighting approaches in
    /// automatic text retrieval*, Information Processing & Management 24(5), 1988.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "positions fit 32 bits")]
    pub(crate) fn new<'a>(
        posts: impl ExactSizeIterator<Item = &'a Features> + Clone,
        config: &Interest,
    ) -> (Self, Vec<Number>) {
        // Numbers in the order of the first occurrences, until all features are known.
        let (mut seen, mut counts) = (NumberMap::<Feature, Number>::default(), Vec::<u32>::new());
        let count = posts.len();
        let mut numbered = Vec::with_capacity(posts.clone().map(Features::len).sum());
        for feature in posts.clone().flat_map(|post| &post.0) {
            let number = *seen.entry(*feature).or_insert(counts.len() as u32);
            if number as usize == counts.len() {
                counts.push(0);
            }
            counts[number as usize] += 1;
            numbered.push(number);
        }
        let mut sorted: Vec<(Feature, Number)> = seen.into_iter().collect();
        sorted.sort_unstable_by_key(|(feature, _)| (Kind::of(*feature) as usize, *feature));
        let kind_ends = Kind::ALL
            .map(|kind| sorted.partition_point(|(feature, _)| Kind::of(*feature) as usize <= kind as usize));
        let (mut start, mut entries) = (0, Vec::with_capacity(sorted.len()));
        let mut renumbered = vec![0; sorted.len()];
        for ((_, first), number) in sorted.iter().zip(0..) {
            let posts = counts[*first as usize];
            entries.push(Entry { idf: (1.0 + count as f32 / posts as f32).ln(), start, end: start });
            renumbered[*first as usize] = number;
            start += posts;
        }
        for number in &mut numbered {
            *number = renumbered[*number as usize];
        }
        let numbers = sorted.into_iter().zip(0..).map(|((feature, _), number)| (feature, number)).collect();
        let mut postings = vec![(0, 0.0); start as usize];
        let (mut vectors, mut ends) = (Vec::with_capacity(start as usize), Vec::with_capacity(count));
        for (position, post) in posts.enumerate() {
            let begin = vectors.len();
            let weighted = numbered[begin..].iter().zip(post.weighted());
            vectors.extend(weighted.map(|(number, (_, raw))| (*number, raw * entries[*number as usize].idf)));
            normalise_kinds(&mut vectors[begin..], post, config);
            for (number, weight) in &vectors[begin..] {
                let entry = &mut entries[*number as usize];
                postings[entry.end as usize] = (position as u32, *weight);
                entry.end += 1;
            }
            ends.push(vectors.len() as u32);
        }
        (Self { numbers, kind_ends, entries, postings, vectors, ends }, numbered)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// `None` if no post has the feature.
    pub(crate) fn number(&self, feature: Feature) -> Option<Number> {
        self.numbers.get(&feature).copied()
    }

    pub(crate) fn numbers(&self, kind: Kind) -> Range<usize> {
        let kind = kind as usize;
        kind.checked_sub(1).map_or(0, |before| self.kind_ends[before])..self.kind_ends[kind]
    }

    /// In no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Feature, Number)> {
        self.numbers.iter().map(|(feature, number)| (*feature, *number))
    }

    /// As a unit vector weighted by inverse document frequency.
    pub(crate) fn named(&self, named: impl Iterator<Item = Feature>) -> Vec<(Feature, Number, f32)> {
        let idf = |feature| self.number(feature).map(|number| (feature, number, self.idf_of(number)));
        let mut vector: Vec<_> = named.filter_map(idf).collect();
        let norm = 1.0 / vector.iter().map(|(.., idf)| idf * idf).sum::<f32>().sqrt();
        for (.., weight) in &mut vector {
            *weight *= norm;
        }
        vector
    }

    /// A searched word may be the name of a topic or a tag.
    pub(crate) fn searched(&self, words: &str) -> Vec<(Feature, Number, f32)> {
        self.named(words.split_ascii_whitespace().flat_map(of_all_kinds))
    }

    pub(crate) fn idf_of(&self, number: Number) -> f32 {
        self.entries[number as usize].idf
    }

    pub(crate) fn vector(&self, position: u32) -> &[(Number, f32)] {
        let position = position as usize;
        let begin = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.vectors[begin as usize..self.ends[position] as usize]
    }

    pub(crate) fn of_kind(&self, position: u32, kind: Kind) -> &[(Number, f32)] {
        let (vector, numbers) = (self.vector(position), self.numbers(kind));
        let end = |of: usize| vector.partition_point(|(number, _)| (*number as usize) < of);
        &vector[end(numbers.start)..end(numbers.end)]
    }

    /// Reads the vectors of many posts into the processor's cache at a time. A loop that computes with one vector after the other
    /// would wait for each of them, which takes most of its time.
    pub(crate) fn fetch(&self, positions: impl Iterator<Item = u32>) {
        let mut any = 0;
        for position in positions {
            for (number, _) in self.vector(position).iter().step_by(CACHE_LINE / size_of::<(Number, f32)>()) {
                any ^= number;
            }
        }
        // Otherwise the compiler would remove the reads.
        std::hint::black_box(any);
    }

    pub(crate) fn scores(&self, query: &[(Number, f32)], posts: usize) -> Vec<f32> {
        let mut scores = vec![0.0; posts];
        for (number, weight) in query {
            let entry = &self.entries[*number as usize];
            add(&mut scores, &self.postings[entry.start as usize..entry.end as usize], *weight);
        }
        scores
    }
}

#[inline]
pub(crate) fn add(sums: &mut [f32], values: &[(u32, f32)], weight: f32) {
    // Steps of constant length have no counter, which would take a third of the instructions.
    let (steps, rest) = values.as_chunks::<8>();
    for step in steps {
        for (number, value) in step {
            sums[*number as usize] += weight * value;
        }
    }
    for (number, value) in rest {
        sums[*number as usize] += weight * value;
    }
}

/// The features of `post` are ordered by kind.
fn normalise_kinds(mut vector: &mut [(Number, f32)], post: &Features, config: &Interest) {
    for kind in Kind::ALL {
        let len = post.0.iter().filter(|feature| Kind::of(**feature) == kind).count();
        let (block, rest) = vector.split_at_mut(len);
        normalise(block, kind, config);
        vector = rest;
    }
}

/// To the square root of the kind's share.
pub(crate) fn normalise(block: &mut [(Number, f32)], kind: Kind, config: &Interest) {
    let square: f32 = block.iter().map(|(_, weight)| weight * weight).sum();
    #[expect(clippy::cast_possible_truncation, reason = "shares need no more digits")]
    let factor = if square > 0.0 { (kind.share(config) as f32 / square).sqrt() } else { 0.0 };
    for (_, weight) in block {
        *weight *= factor;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn post(topics: &str, tags: &str, words: &str) -> Features {
        Features::new(topics.split_whitespace(), tags.split_whitespace(), words)
    }

    #[test]
    fn a_post_is_most_similar_to_itself_and_not_to_one_without_common_features() {
        let posts = [
            post("rust", "async", "future waker"),
            post("rust", "lang", "future pin"),
            post("cats", "", "fur"),
        ];
        let config = Interest::default();
        let (index, _) = FeatureIndex::new(posts.iter(), &config);
        let scores = index.scores(index.vector(0), posts.len());
        let shares: f64 = Kind::ALL.iter().map(|kind| kind.share(&config)).sum();
        assert!((f64::from(scores[0]) - shares).abs() < 1e-5, "{scores:?}");
        assert!(scores[1] > 0.1 && scores[1] < scores[0], "{scores:?}");
        assert!(scores[2].abs() < f32::EPSILON, "{scores:?}");
    }

    #[test]
    fn a_rare_feature_weighs_more_than_a_common_one() {
        let posts: Vec<_> = (0..100).map(|n| post("news", if n == 7 { "rare" } else { "" }, "")).collect();
        let (index, _) = FeatureIndex::new(posts.iter(), &Interest::default());
        let idf = |kind, name| index.number(feature(kind, name)).map(|number| index.idf_of(number));
        assert!(idf(Kind::Tag, "rare").unwrap() > 4.0 * idf(Kind::Topic, "news").unwrap());
        assert!(idf(Kind::Word, "unheard").is_none());
    }

    #[test]
    fn a_name_has_one_feature_in_upper_and_lower_case() {
        for (name, lower) in [("Rust 2024_x", "rust 2024_x"), ("ÄRA", "ära"), ("학교", "학교")] {
            assert_eq!(feature(Kind::Tag, name), feature(Kind::Tag, lower));
        }
    }

    proptest! {
        #[test]
        fn the_characters_of_ascii_have_the_same_hash_alone_and_beside_others(name in "[a-zA-Z0-9_+.]{0,9}") {
            let mut hasher = Unkeyed::default();
            name.chars().flat_map(char::to_lowercase).for_each(|c| c.hash(&mut hasher));
            prop_assert_eq!(hash(&name), hasher.finish());
            prop_assert_eq!(of_all_kinds(&name), Kind::ALL.map(|kind| feature(kind, &name)));
        }
    }

    #[test]
    fn names_of_different_kinds_are_different_features() {
        assert_ne!(feature(Kind::Tag, "rust"), feature(Kind::Topic, "rust"));
        assert!(Kind::ALL.iter().all(|kind| Kind::of(feature(*kind, "rust")) == *kind));
    }
}
