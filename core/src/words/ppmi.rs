//! How much more often words stand near each other than chance would have it.

use super::corpus::END;
use super::matrix::{ROWS_A_TIME, Sparse, share};
use super::{Go, Stopped};

/// The power that the frequencies of contexts are raised to, so that rare ones tell less.
///
/// Source: Levy, Goldberg and Dagan, *Improving distributional similarity with lessons learned from word
/// embeddings*, TACL 3, 2015, section 3.2.
const SMOOTHING: f64 = 0.75;

/// For each pair of `words` words the positive pointwise mutual information, in a stream in which each post ends
/// with [`END`]: `max(0, ln(n(w, c) · Σ n(x)^¾ / (n(w) · n(c)^¾)))`, where `n(w, c)` says how often `c` stands
/// within `window` words of `w`, and `n(w)` how many such neighbours `w` has in all.
///
/// Row by row, each from the places where its word stands: so the pairs, of which there are many times more than
/// words, are never all in memory, nor sorted.
pub(super) fn ppmi(stream: &[u32], words: usize, window: usize, go: Go<'_>) -> Result<Sparse, Stopped> {
    let neighbours = neighbours(stream, words, window);
    let smoothed: Vec<f64> = neighbours.iter().map(|n| n.powf(SMOOTHING)).collect();
    let sum: f64 = smoothed.iter().sum();
    let places = Places::of(stream, words);
    let mut matrix = Sparse { starts: vec![0], columns: Vec::new(), values: Vec::new() };
    let (mut counts, mut seen) = (vec![0_u32; words], Vec::new());
    for (word, neighbours) in neighbours.into_iter().enumerate() {
        if word % ROWS_A_TIME == 0 {
            go(share(word, words))?;
        }
        for place in places.of_word(word) {
            let (before, after) = (&stream[..place], &stream[place + 1..]);
            let before = before.iter().rev().take(window).take_while(|other| **other != END);
            let after = after.iter().take(window).take_while(|other| **other != END);
            for other in before.chain(after) {
                let count = &mut counts[*other as usize];
                if *count == 0 {
                    seen.push(*other);
                }
                *count += 1;
            }
        }
        let row = sum / neighbours;
        for other in seen.drain(..) {
            let count = std::mem::take(&mut counts[other as usize]);
            let ratio = f64::from(count) * row / smoothed[other as usize];
            if ratio > 1.0 {
                matrix.columns.push(other);
                #[expect(clippy::cast_possible_truncation, reason = "counts do not know more digits")]
                matrix.values.push(ratio.ln() as f32);
            }
        }
        matrix.starts.push(matrix.columns.len());
    }
    Ok(matrix)
}

/// How many neighbours each word has in all.
fn neighbours(stream: &[u32], words: usize, window: usize) -> Vec<f64> {
    let mut neighbours = vec![0.0; words];
    for post in stream.split(|word| *word == END) {
        for (at, word) in post.iter().enumerate() {
            let count = at.min(window) + (post.len() - 1 - at).min(window);
            #[expect(clippy::cast_precision_loss, reason = "a window has a few words")]
            let count = count as f64;
            neighbours[*word as usize] += count;
        }
    }
    neighbours
}

/// Where each word stands in a stream.
struct Places {
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl Places {
    fn of(stream: &[u32], words: usize) -> Self {
        let mut starts = vec![0; words + 1];
        let standing = || stream.iter().zip(0_u32..).filter(|(word, _)| **word != END);
        for (word, _) in standing() {
            starts[*word as usize + 1] += 1;
        }
        for word in 0..words {
            starts[word + 1] += starts[word];
        }
        let mut next = starts.clone();
        let mut places = vec![0; starts[words] as usize];
        for (word, place) in standing() {
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
    use rustc_hash::FxHashMap;

    use super::*;
    use crate::words::go_on;

    /// The formula, pair by pair.
    fn plainly(stream: &[u32], words: usize, window: usize) -> FxHashMap<(u32, u32), f64> {
        let mut pairs: FxHashMap<(u32, u32), f64> = FxHashMap::default();
        for post in stream.split(|word| *word == END) {
            for (a, word) in post.iter().enumerate() {
                for (b, other) in post.iter().enumerate() {
                    if a != b && a.abs_diff(b) <= window {
                        *pairs.entry((*word, *other)).or_default() += 1.0;
                    }
                }
            }
        }
        let of = |word: u32| pairs.iter().filter(|((w, _), _)| *w == word).map(|(_, n)| n).sum::<f64>();
        let words = 0..u32::try_from(words).unwrap();
        let sum: f64 = words.map(|word| of(word).powf(0.75)).sum();
        let value = |w: u32, c: u32, n: f64| (n * sum / (of(w) * of(c).powf(0.75))).ln();
        pairs.iter().map(|((w, c), n)| ((*w, *c), value(*w, *c, *n))).filter(|(_, v)| *v > 1e-9).collect()
    }

    #[test]
    fn windows_end_with_their_post() {
        let matrix = ppmi(&[0, 1, END, 2, 3, END, END, 0, END], 4, 10, &mut go_on).unwrap();
        assert_eq!(matrix.columns, [1, 0, 3, 2]);
        assert_eq!(matrix.starts, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_stream_without_words_has_no_pairs() {
        assert_eq!(ppmi(&[], 0, 10, &mut go_on).unwrap().starts, [0]);
        assert_eq!(ppmi(&[END, 0, END], 1, 10, &mut go_on).unwrap().starts, [0, 0]);
    }

    proptest! {
        #[test]
        fn rows_hold_what_the_formula_says(
            posts in prop::collection::vec(prop::collection::vec(0_u32..6, 0..12), 0..6),
            window in 1_usize..5,
        ) {
            let stream: Vec<u32> = posts.into_iter().flat_map(|post| post.into_iter().chain([END])).collect();
            let matrix = ppmi(&stream, 6, window, &mut go_on).unwrap();
            let mut expected = plainly(&stream, 6, window);
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
    }
}
