//! Words that are spelled like an unknown one, by the cosine of their sequences of two to four characters, with a mark before the first
//! and after the last, weighted by inverse document frequency: common endings have the lowest weight, so `게임들은` finds `게임`.
//! Source of the subwords: Bojanowski, Grave, Joulin and Mikolov, *Enriching word vectors with subword information*, TACL 5, 2017.

#![expect(clippy::disallowed_types, reason = "`COMMON` bounds the cost of a collision")]

use std::hash::{Hash as _, Hasher as _};
use std::ops::RangeInclusive;

use rustc_hash::FxHasher;

const LETTERS: RangeInclusive<usize> = 2..=4;
/// In scripts whose characters are syllables or words: a Hangul syllable carries as much information as two letters. Subwords of
/// parts of syllables matched words that have only their endings in common, such as `먹었다` and `죽었다`.
const SYLLABLES: RangeInclusive<usize> = 1..=3;
/// Kana and Han follow it.
const FIRST_HANGUL: char = '\u{1100}';

/// Of the most similar known word. A smaller similarity is accidental.
const SIMILARITY_MIN: f32 = 0.4;
/// Of the other words.
const LENDER_MIN: f32 = 0.2;
const LENDERS_MAX: usize = 16;
const SWAP_MIN: usize = 4;
/// A subword that occurs in this number of words or more is ignored.
const COMMON: usize = 20_000;

pub(crate) struct Subwords {
    /// And the end of the last one's. Subwords are hashed, so a few share an entry.
    starts: Vec<u32>,
    words: Vec<u32>,
    lengths: Vec<f32>,
}

impl Subwords {
    pub(crate) fn of<'w>(words: impl ExactSizeIterator<Item = &'w str> + Clone) -> Self {
        // Four entries per word: there are approximately three distinct subwords per word.
        let entries = (4 * words.len()).next_power_of_two().clamp(1 << 10, 1 << 24);
        let mut starts = vec![0_u32; entries + 1];
        let mut splitter = Splitter::new(entries);
        for word in words.clone() {
            for part in splitter.of(word) {
                starts[*part + 1] += 1;
            }
        }
        for part in 0..entries {
            starts[part + 1] += starts[part];
        }
        let mut next = starts.clone();
        let mut having = vec![0; starts[entries] as usize];
        for (word, number) in words.clone().zip(0..) {
            for part in splitter.of(word) {
                having[next[*part] as usize] = number;
                next[*part] += 1;
            }
        }
        let mut subwords = Self { starts, words: having, lengths: vec![0.0; words.len()] };
        for (number, word) in words.enumerate() {
            let square: f32 = splitter.of(word).iter().map(|part| subwords.weight(*part)).sum();
            subwords.lengths[number] = square.sqrt();
        }
        subwords
    }

    /// Most similar first, with similarities up to 1; empty if no word is similar enough.
    pub(crate) fn like(&self, word: &str) -> Vec<(u32, f32)> {
        let mut splitter = Splitter::new(self.starts.len() - 1);
        let mut shared = vec![0.0; self.lengths.len()];
        let mut found = Vec::new();
        let mut square = 0.0;
        for part in splitter.of(word) {
            let weight = self.weight(*part);
            square += weight;
            let having = self.having(*part);
            if having.len() >= COMMON {
                continue;
            }
            for other in having {
                let shared = &mut shared[*other as usize];
                if *shared == 0.0 {
                    found.push(*other);
                }
                *shared += weight;
            }
        }
        let length = square.sqrt();
        let cosine = |other: u32| shared[other as usize] / (length * self.lengths[other as usize]);
        let found = found.into_iter().map(|other| (other, cosine(other)));
        let mut found: Vec<(u32, f32)> = found.filter(|(_, cosine)| *cosine >= LENDER_MIN).collect();
        // Of equally similar words, the more frequent one comes first.
        found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(LENDERS_MAX);
        let knows = found.first().is_some_and(|(_, cosine)| *cosine >= SIMILARITY_MIN);
        if knows { found } else { Vec::new() }
    }

    fn having(&self, part: usize) -> &[u32] {
        &self.words[self.starts[part] as usize..self.starts[part + 1] as usize]
    }

    /// The weight of a subword in the inner product of two words: the square of its inverse document frequency.
    #[expect(clippy::cast_precision_loss, reason = "an approximate weight suffices")]
    fn weight(&self, part: usize) -> f32 {
        (1.0 + self.lengths.len() as f32 / (self.having(part).len() as f32 + 0.5)).ln().powi(2)
    }
}

/// The words that differ from `word` by two swapped letters: `form` for `fomr`. Such a swap changes most subwords. Short words,
/// and words in scripts without letters, have none.
pub(crate) fn swaps(word: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = word.chars().collect();
    let last = if letters.len() < SWAP_MIN || letters.iter().any(|c| *c >= FIRST_HANGUL) {
        0
    } else {
        letters.len() - 1
    };
    (0..last).map(move |at| {
        let mut meant = letters.clone();
        meant.swap(at, at + 1);
        meant.into_iter().collect()
    })
}

struct Splitter {
    /// The number of entries; subwords have smaller numbers.
    entries: usize,
    letters: Vec<char>,
    numbers: Vec<usize>,
}

impl Splitter {
    fn new(entries: usize) -> Self {
        Self { entries, letters: Vec::new(), numbers: Vec::new() }
    }

    fn of(&mut self, word: &str) -> &[usize] {
        self.letters.clear();
        self.letters.extend(['<'].into_iter().chain(word.chars()).chain(['>']));
        let lengths = if word.chars().any(|c| c >= FIRST_HANGUL) { SYLLABLES } else { LETTERS };
        self.numbers.clear();
        for part in lengths.flat_map(|length| self.letters.windows(length)) {
            // The marks alone are in every word, so they are skipped.
            if part != ['<'] && part != ['>'] {
                // Subwords that share an entry are treated as one subword; [`COMMON`] bounds the cost.
                let mut hasher = FxHasher::default();
                part.hash(&mut hasher);
                let hash = (hasher.finish() >> 20) as usize;
                self.numbers.push(hash % self.entries);
            }
        }
        self.numbers.sort_unstable();
        self.numbers.dedup();
        &self.numbers
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WORDS: &str =
        "government webassembly assembly survey service server 게임 사람 사람들은 도서관 학교는 음악";

    fn like(word: &str) -> Vec<&'static str> {
        let words: Vec<&str> = WORDS.split(' ').collect();
        let found = Subwords::of(words.iter().copied()).like(word);
        found.into_iter().map(|(number, _)| words[number as usize]).collect()
    }

    #[test]
    fn a_misspelled_word_finds_the_right_one() {
        for (typed, meant) in [
            ("goverment", "government"),
            ("webasembly", "webassembly"),
            ("survy", "survey"),
            ("servce", "service"),
        ] {
            assert_eq!(like(typed)[0], meant, "{typed}");
        }
    }

    #[test]
    fn a_korean_word_finds_its_stem_and_not_words_with_equal_endings() {
        assert_eq!(like("게임들은")[0], "게임");
        assert_eq!(like("도서관에서는")[0], "도서관");
    }

    #[test]
    fn two_adjacent_letters_may_be_swapped() {
        let swaps = |word| super::swaps(word).collect::<Vec<_>>();
        assert_eq!(swaps("fomr"), ["ofmr", "fmor", "form"]);
        assert!(swaps("fro").is_empty() && swaps("").is_empty() && swaps("게임이름").is_empty());
    }

    #[test]
    fn a_word_without_similar_spelling_finds_none() {
        for word in ["zyx", "꿹뛣쀍", "", "q", "<>"] {
            assert!(like(word).is_empty(), "{word}: {:?}", like(word));
        }
        assert!(Subwords::of(std::iter::empty::<&str>()).like("word").is_empty());
    }

    proptest! {
        #[test]
        fn similarities_are_at_most_1(words in prop::collection::vec("[a-d가-각]{1,6}", 1..20), word in "[a-d가-각]{0,6}") {
            let subwords = Subwords::of(words.iter().map(String::as_str));
            let found = subwords.like(&word);
            prop_assert!(found.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            prop_assert!(found.iter().all(|(_, share)| *share > 0.0 && *share < 1.001), "{found:?}");
            if let Some(at) = words.iter().position(|known| *known == word) {
                let own = u32::try_from(at).unwrap();
                prop_assert!(found.iter().any(|(number, share)| *number == own && *share > 0.999) || found.len() == LENDERS_MAX);
            }
        }
    }
}
