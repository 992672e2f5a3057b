//! The similarity of posts to the nearest of a member's own posts.
//!
//! The interest of a member is one direction, the sum of all acts. A member of many interests has posts near to a few of
//! their own that are far from the sum.

use super::features::{Kind, Number};
use super::index::FeedIndex;
use crate::base::keyed::OwnMap;

/// Only the latest posts of the member are compared, which bounds the time.
pub(super) const OWN_MAX: usize = 16;
const NEAREST: usize = 3;

pub(super) struct Own<'i> {
    index: &'i FeedIndex,
    positions: Vec<u32>,
    /// Post after post.
    words: Vec<OwnWord>,
    /// The place in `words` of the last occurrence of each word.
    last: OwnMap<Number, u32>,
    /// The product of two word vectors times this factor is a cosine.
    unit: f32,
}

struct OwnWord {
    /// The number of the post.
    own: u32,
    weight: f32,
    /// The place of the previous occurrence of the same word.
    before: Option<u32>,
}

impl<'i> Own<'i> {
    /// `positions` are in the order of the acts, the latest first.
    pub(super) fn new(index: &'i FeedIndex, positions: impl Iterator<Item = u32>, word_share: f64) -> Self {
        let positions: Vec<u32> = positions.take(OWN_MAX).collect();
        let range = index.features().numbers(Kind::Word);
        let (mut words, mut last) = (Vec::new(), OwnMap::default());
        for (own, position) in (0..).zip(&positions) {
            for (number, weight) in index.features().vector(*position) {
                if range.contains(&(*number as usize)) {
                    #[expect(clippy::cast_possible_truncation, reason = "posts have far fewer words")]
                    let before = last.insert(*number, words.len() as u32);
                    words.push(OwnWord { own, weight: *weight, before });
                }
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "weights need no more digits")]
        let unit = if word_share > 0.0 { (1.0 / word_share) as f32 } else { 0.0 };
        Self { index, positions, words, last, unit }
    }

    /// From 0 to 1: half by words, half by meaning, or all by words without a word model.
    pub(super) fn nearest(&self, position: u32, sums: &mut Vec<f32>) -> f32 {
        if self.positions.is_empty() {
            return 0.0;
        }
        sums.clear();
        sums.resize(self.positions.len(), 0.0);
        for (number, weight) in self.index.features().vector(position) {
            let mut next = self.last.get(number).copied();
            while let Some(place) = next {
                let word = &self.words[place as usize];
                sums[word.own as usize] += self.unit * weight * word.weight;
                next = word.before;
            }
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
        let share = Interest::default().word_share;
        let nearest = |own: &[u32], position| {
            Own::new(&index, own.iter().copied(), share).nearest(position, &mut Vec::new())
        };
        assert!((nearest(&[0], 3) - 1.0).abs() < 1e-5, "the same words");
        assert!(nearest(&[1], 2) > 0.1 && nearest(&[1], 2) < 1.0, "one of two words");
        // The posts 0, 1 and 4 have nothing in common, and the nearest three are all there are.
        assert!((nearest(&[0, 1, 4], 3) - 1.0 / 3.0).abs() < 1e-5);
        assert!((nearest(&[0, 1, 4, 6, 0, 0], 3) - 1.0).abs() < 1e-5, "others do not lower it");
        assert!(nearest(&[], 3).abs() < f32::EPSILON && nearest(&[0], 6).abs() < f32::EPSILON);
    }
}
