//! The similarity of posts to the nearest of a member's own posts. The interest of a member is the sum of all acts, but a member
//! of many interests has posts near to a few of their own that are far from the sum.

use super::interest::unit_of;
use crate::base::config;
use crate::base::keyed::OwnMap;
use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::index::features::{FeatureIndex, Kind, Number};

/// Only the latest posts of the member are compared, which bounds the time.
pub(crate) const OWN_MAX: usize = 16;
const NEAREST: usize = 3;

pub(crate) struct Postings {
    last: OwnMap<Number, u32>,
    all: Vec<Posting>,
}

struct Posting {
    own: u32,
    weight: f32,
    before: Option<u32>,
}

impl Postings {
    pub(crate) fn new(features: &FeatureIndex, positions: impl Iterator<Item = u32>) -> Self {
        let (mut all, mut last) = (Vec::new(), OwnMap::default());
        for (own, position) in (0..).zip(positions) {
            for (number, weight) in features.vector(position) {
                #[expect(clippy::cast_possible_truncation, reason = "posts have far fewer features")]
                let before = last.insert(*number, all.len() as u32);
                all.push(Posting { own, weight: *weight, before });
            }
        }
        Self { last, all }
    }

    pub(crate) fn add_products(&self, vector: &[(Number, f32)], sums: &mut [f32]) {
        for (number, weight) in vector {
            let mut next = self.last.get(number).copied();
            while let Some(place) = next {
                let posting = &self.all[place as usize];
                sums[posting.own as usize] += weight * posting.weight;
                next = posting.before;
            }
        }
    }
}

/// The latest posts of a member, by the words and the meanings that they have.
pub(crate) struct Own<'i> {
    index: &'i FeedIndex,
    positions: Vec<u32>,
    words: Postings,
    /// The factor from a product of word vectors to a cosine.
    unit: f32,
}

impl<'i> Own<'i> {
    /// Gathers the posts at `positions`, the latest act first.
    pub(crate) fn new(
        index: &'i FeedIndex,
        positions: impl Iterator<Item = u32>,
        config: &config::Interest,
    ) -> Self {
        let (positions, features) = (positions.take(OWN_MAX).collect::<Vec<u32>>(), index.features());
        let words = Postings::new(features, positions.iter().copied());
        Self { index, positions, words, unit: unit_of(Kind::Word, config) }
    }

    /// From 0 to 1: half by words, half by meaning, or all by words without a word model.
    pub(crate) fn nearest(&self, position: u32, sums: &mut Vec<f32>) -> f32 {
        if self.positions.is_empty() {
            return 0.0;
        }
        sums.clear();
        sums.resize(self.positions.len(), 0.0);
        self.words.add_products(self.index.features().of_kind(position, Kind::Word), sums);
        for sum in &mut *sums {
            *sum *= self.unit;
        }
        if let Some(meanings) = self.index.meanings() {
            for (sum, own) in sums.iter_mut().zip(&self.positions) {
                *sum = f32::midpoint(*sum, meanings.cosine(position, *own).max(0.0));
            }
        }
        let count = NEAREST.min(sums.len());
        sums.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a));
        #[expect(clippy::cast_precision_loss, reason = "at most three")]
        let mean = sums[..count].iter().sum::<f32>() / count as f32;
        mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::{Feed, Interest};
    use crate::newsfeed::index::tests::{as_of_now, row};
    use crate::post::feed_rows::FeedRow;
    use crate::testing::NOW;

    #[test]
    fn the_nearest_own_posts_count_and_not_the_mean_of_all() {
        let words =
            ["stars moon", "soup bread", "soup salt", "stars moon", "chess rook", "soup bread", "violin"];
        let rows = words
            .iter()
            .zip(1..)
            .map(|(words, key)| FeedRow { keyword: (*words).into(), ..row(key, NOW - key, "all") });
        let index = FeedIndex::next(None, rows.collect(), &[], None, as_of_now(), &Feed::default());
        let config = Interest::default();
        let nearest = |own: &[u32], position| {
            Own::new(&index, own.iter().copied(), &config).nearest(position, &mut Vec::new())
        };
        assert!((nearest(&[0], 3) - 1.0).abs() < 1e-5, "the same words");
        assert!(nearest(&[1], 2) > 0.1 && nearest(&[1], 2) < 1.0, "one of two words");
        // The posts 0, 1 and 4 have nothing in common, and the nearest three are all there are.
        assert!((nearest(&[0, 1, 4], 3) - 1.0 / 3.0).abs() < 1e-5);
        assert!((nearest(&[0, 1, 4, 6, 0, 0], 3) - 1.0).abs() < 1e-5, "others do not lower it");
        assert!(nearest(&[], 3).abs() < f32::EPSILON && nearest(&[0], 6).abs() < f32::EPSILON);
    }
}
