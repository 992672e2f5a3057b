//! Pointwise mutual information: how much more often words occur near each other than by chance.

use crate::corpus::END;
use crate::matrix::{ROWS_A_TIME, Sparse, share};
use crate::{Cancelled, Progress};

/// Reduces the weight of rare contexts. Source: Levy, Goldberg and Dagan, *Improving distributional similarity with lessons learned
/// from word embeddings*, TACL 3, 2015, section 3.2.
const SMOOTHING: f64 = 0.75;

/// In words whose pairs a histogram samples to find out which of the weakest pairs to drop.
const SAMPLE: usize = 5_000;
/// The low bits of a 32-bit number that its bin of the histogram leaves out, so a bin is up to 1/128 wide.
const BELOW_BIN: u32 = 16;

/// Computes the positive pointwise mutual information of each pair of `words` words, in a stream in which each post ends with
/// [`END`]: `max(0, ln(n(w, c) · Σ n(x)^¾ / (n(w) · n(c)^¾)))`, where `n(w, c)` is the sum of the weights of the occurrences of
/// `c` within `window` words of `w`, and `n(w)` is the sum of the weights of all such neighbours of `w`. The weight of an
/// occurrence falls with the distance, see [`weight`].
///
/// If there may be more than `pairs_max` pairs, the weakest are dropped, so that approximately `pairs_max` remain: those that
/// contribute least to the sum of the information, `n(w, c)` times the value. With a quarter of the pairs, 3 of 100 neighbours
/// fewer belong to the subject of their word. It would be 7 if the pairs with the lowest values were dropped, because many of the
/// greatest values are of rare words that are near each other by accident.
pub(crate) fn ppmi(
    stream: &[u32],
    words: usize,
    window: usize,
    pairs_max: usize,
    progress: Progress<'_>,
) -> Result<Sparse, Cancelled> {
    let mut pairs = Pairs::of(stream, words, window);
    let least = if pairs.at_most > pairs_max { pairs.least_of(pairs_max) } else { 0 };
    // Growing lists would leave holes in the heap, of half the size of the matrix.
    let room = pairs.at_most.min(pairs_max);
    let (columns, values) = (Vec::with_capacity(room), Vec::with_capacity(room));
    let mut matrix = Sparse { starts: vec![0], columns, values };
    for word in 0..words {
        if word % ROWS_A_TIME == 0 {
            progress(share(word, words))?;
        }
        pairs.row(word, |other, value, weight| {
            if bin(value * weight) >= least {
                matrix.columns.push(other);
                #[expect(clippy::cast_possible_truncation, reason = "an approximate logarithm suffices")]
                matrix.values.push(value as f32);
            }
        });
        matrix.starts.push(matrix.columns.len());
    }
    Ok(matrix)
}

/// Counted row by row, each from the positions of its word: there are many times more pairs than words, so they are never all in
/// memory, and never sorted.
struct Pairs<'a> {
    stream: &'a [u32],
    window: usize,
    places: Places,
    /// An upper bound of the number of distinct pairs.
    at_most: usize,
    neighbours: Vec<f64>,
    smoothed: Vec<f64>,
    sum: f64,
    /// The sums of the weights of the current row; 0 between rows.
    weights: Vec<f64>,
    seen: Vec<u32>,
}

impl<'a> Pairs<'a> {
    fn of(stream: &'a [u32], words: usize, window: usize) -> Self {
        let (neighbours, at_most) = neighbours(stream, words, window);
        let smoothed: Vec<f64> = neighbours.iter().map(|n| n.powf(SMOOTHING)).collect();
        let sum = smoothed.iter().sum();
        let places = Places::of(stream, words);
        let (weights, seen) = (vec![0.0; words], Vec::new());
        Self { stream, window, places, at_most, neighbours, smoothed, sum, weights, seen }
    }

    /// Passes the words that occur near `word` to `take` if their value is above 0, with the value and `n(w, c)`.
    fn row(&mut self, word: usize, mut take: impl FnMut(u32, f64, f64)) {
        for place in self.places.of_word(word) {
            let (before, after) = (&self.stream[..place], &self.stream[place + 1..]);
            let before = before.iter().rev().take(self.window).take_while(|other| **other != END);
            let after = after.iter().take(self.window).take_while(|other| **other != END);
            for (distance, other) in (1..).zip(before).chain((1..).zip(after)) {
                let sum = &mut self.weights[*other as usize];
                if *sum == 0.0 {
                    self.seen.push(*other);
                }
                *sum += weight(distance);
            }
        }
        let row = self.sum / self.neighbours[word];
        for other in self.seen.drain(..) {
            let weight = std::mem::take(&mut self.weights[other as usize]);
            let ratio = weight * row / self.smoothed[other as usize];
            if ratio > 1.0 {
                take(other, ratio.ln(), weight);
            }
        }
    }

    fn least_of(&mut self, pairs_max: usize) -> usize {
        let words = self.neighbours.len();
        let step = words.div_ceil(SAMPLE);
        let mut bins = vec![0; 1 << (u32::BITS - BELOW_BIN)];
        for word in (step / 2..words).step_by(step) {
            self.row(word, |_, value, weight| bins[bin(value * weight)] += step);
        }
        let mut above = 0;
        let fits = |count: &&usize| {
            above += **count;
            above <= pairs_max
        };
        bins.len() - bins.iter().rev().take_while(fits).count()
    }
}

/// The bin of a number is its first bits, whose order is that of positive numbers.
fn bin(number: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "a bin is much wider")]
    let number = number as f32;
    (number.to_bits() >> BELOW_BIN) as usize
}

/// A near word says more about a word than a distant one. The least `distance` is 1. A weight that falls linearly gave neighbours
/// of equal quality, but recommended posts less well. Source: Pennington, Socher and Manning, *`GloVe`*, EMNLP 2014, section 4.2.
#[expect(clippy::cast_precision_loss, reason = "a window has a few words")]
fn weight(distance: usize) -> f64 {
    1.0 / distance as f64
}

/// The sum of the weights of the neighbours of each word, and the number of all neighbours.
fn neighbours(stream: &[u32], words: usize, window: usize) -> (Vec<f64>, usize) {
    // By the number of nearest neighbours on one side, the sum of their weights.
    let nearest = std::iter::once(0.0).chain((1..=window).scan(0.0, |sum, distance| {
        *sum += weight(distance);
        Some(*sum)
    }));
    let nearest: Vec<f64> = nearest.collect();
    let (mut neighbours, mut count) = (vec![0.0; words], 0);
    for post in stream.split(|word| *word == END) {
        for (at, word) in post.iter().enumerate() {
            let (before, after) = (at.min(window), (post.len() - 1 - at).min(window));
            neighbours[*word as usize] += nearest[before] + nearest[after];
            count += before + after;
        }
    }
    (neighbours, count)
}

struct Places {
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl Places {
    fn of(stream: &[u32], words: usize) -> Self {
        let mut starts = vec![0; words + 1];
        let positions = || stream.iter().zip(0_u32..).filter(|(word, _)| **word != END);
        for (word, _) in positions() {
            starts[*word as usize + 1] += 1;
        }
        for word in 0..words {
            starts[word + 1] += starts[word];
        }
        let mut next = starts.clone();
        let mut places = vec![0; starts[words] as usize];
        for (word, place) in positions() {
            let next = &mut next[*word as usize];
            places[*next as usize] = place;
            *next += 1;
        }
        Self { starts, places }
    }

    fn of_word(&self, word: usize) -> impl Iterator<Item = usize> {
        let range = self.starts[word] as usize..self.starts[word + 1] as usize;
        self.places[range].iter().map(|place| *place as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ignore_progress;
    use std::collections::HashMap;

    const ALL: usize = usize::MAX;

    fn weights(stream: &[u32], window: usize) -> HashMap<(u32, u32), f64> {
        let mut pairs: HashMap<(u32, u32), f64> = HashMap::default();
        for post in stream.split(|word| *word == END) {
            for (a, word) in post.iter().enumerate() {
                for (b, other) in post.iter().enumerate() {
                    if a != b && a.abs_diff(b) <= window {
                        *pairs.entry((*word, *other)).or_default() += weight(a.abs_diff(b));
                    }
                }
            }
        }
        pairs
    }

    fn by_formula(stream: &[u32], words: usize, window: usize) -> HashMap<(u32, u32), f64> {
        let pairs = weights(stream, window);
        let of = |word: u32| pairs.iter().filter(|((w, _), _)| *w == word).map(|(_, n)| n).sum::<f64>();
        let words = 0..u32::try_from(words).unwrap();
        let sum: f64 = words.map(|word| of(word).powf(0.75)).sum();
        let value = |w: u32, c: u32, n: f64| (n * sum / (of(w) * of(c).powf(0.75))).ln();
        pairs.iter().map(|((w, c), n)| ((*w, *c), value(*w, *c, *n))).filter(|(_, v)| *v > 1e-9).collect()
    }

    #[test]
    fn a_pair_of_rare_words_is_weaker_than_one_that_is_seen_often() {
        // 0 and 1 are neighbours ten times; 2 and 3 once, which says more of each, but may be an accident.
        let stream: Vec<u32> = [0, 1, END].repeat(10).into_iter().chain([2, 3, END]).collect();
        let all = ppmi(&stream, 4, 1, ALL, &mut ignore_progress).unwrap();
        assert!(all.values[2] > all.values[0], "{:?}", all.values);
        assert_eq!(ppmi(&stream, 4, 1, 2, &mut ignore_progress).unwrap().starts, [0, 1, 2, 2, 2]);
    }

    proptest! {
        #[test]
        fn rows_match_the_formula(
            posts in prop::collection::vec(prop::collection::vec(0_u32..6, 0..12), 0..6),
            window in 1_usize..5,
        ) {
            let stream: Vec<u32> = posts.into_iter().flat_map(|post| post.into_iter().chain([END])).collect();
            let matrix = ppmi(&stream, 6, window, ALL, &mut ignore_progress).unwrap();
            let mut expected = by_formula(&stream, 6, window);
            for word in 0..6_u32 {
                for at in matrix.starts[word as usize]..matrix.starts[word as usize + 1] {
                    let found = f64::from(matrix.values[at]);
                    if let Some(value) = expected.remove(&(word, matrix.columns[at])) {
                        prop_assert!((found - value).abs() < 1e-5, "{found} {value}");
                    } else {
                        prop_assert!(found < 1e-8);
                    }
                }
            }
            prop_assert!(expected.is_empty(), "{expected:?}");
        }

        #[test]
        fn the_weakest_of_too_many_pairs_are_dropped(
            posts in prop::collection::vec(prop::collection::vec(0_u32..9, 0..12), 0..9),
            pairs_max in 0_usize..40,
        ) {
            let stream: Vec<u32> = posts.into_iter().flat_map(|post| post.into_iter().chain([END])).collect();
            let all = ppmi(&stream, 9, 3, ALL, &mut ignore_progress).unwrap();
            let limited = ppmi(&stream, 9, 3, pairs_max, &mut ignore_progress).unwrap();
            prop_assert!(limited.values.len() <= pairs_max && limited.starts.len() == 10);
            // A dropped pair contributes no more than the weakest remaining pair, but for the width of a bin.
            let weights = weights(&stream, 3);
            let contributions = |matrix: &Sparse| -> HashMap<(u32, u32), f64> {
                let of_row = |row: u32| {
                    let places = matrix.starts[row as usize]..matrix.starts[row as usize + 1];
                    let pairs = places.map(move |at| ((row, matrix.columns[at]), matrix.values[at]));
                    pairs.map(|(pair, value)| (pair, f64::from(value) * weights[&pair])).collect::<Vec<_>>()
                };
                (0..9).flat_map(of_row).collect()
            };
            let (kept, mut dropped) = (contributions(&limited), contributions(&all));
            dropped.retain(|pair, _| !kept.contains_key(pair));
            prop_assert_eq!(kept.len() + dropped.len(), all.values.len());
            let weakest = kept.values().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(dropped.values().all(|value| *value <= weakest * (1.0 + 1.0 / 64.0)), "{weakest} {dropped:?}");
            if dropped.is_empty() {
                prop_assert_eq!(limited.columns, all.columns);
            }
        }
    }
}
