//! Words by their parts: for a word that is not known, those that are written much like it.
//!
//! A word's parts are its runs of a few characters, with a mark before its first and behind its last: of `cats` with
//! two to four characters `<c`, `ca`, `<ca`, `cats`, … A part that many words have tells little. What two words
//! share is the cosine of their parts, each weighing its inverse document frequency: so `webasembly` finds
//! `webassembly` and `게임들은` finds `게임`, for common endings tell least.
//!
//! Source: the parts are those of Bojanowski, Grave, Joulin and Mikolov, *Enriching word vectors with subword
//! information*, TACL 5, 2017. There each part learns a vector; here, where words have theirs from counts, the words
//! that share parts lend theirs.

#![expect(clippy::disallowed_types, reason = "`COMMON` bounds the cost of a collision")]

use std::hash::{Hash as _, Hasher as _};
use std::ops::RangeInclusive;

use rustc_hash::FxHasher;

/// The lengths of parts in most scripts.
const LETTERS: RangeInclusive<usize> = 2..=4;
/// The lengths of parts where a character is a syllable or a word: one of Hangul tells as much as two letters. (Parts
/// of syllables were tried and bring together what only ends alike: `먹었다` and `죽었다`.)
const SYLLABLES: RangeInclusive<usize> = 1..=3;
/// The first character of the scripts of the East: Hangul, and then Kana and Han.
const EAST: char = '\u{1100}';

/// How much the most alike word must share with an unknown one. Below that what they share is chance.
const LIKE_ENOUGH: f32 = 0.4;
/// How much the others must.
const LEND: f32 = 0.2;
/// How many words lend theirs at most.
const LENDERS: usize = 16;
/// The least letters of a word that may be a slip of another.
const SLIP_MIN: usize = 4;
/// A part of so many words is not looked up.
const COMMON: usize = 20_000;

/// Which known words have which parts.
pub(crate) struct Subwords {
    /// Where the words of each part begin in `words`. Parts are told apart by a hash: a few share an entry.
    starts: Vec<u32>,
    words: Vec<u32>,
    /// How long the vector of each word's parts is.
    lengths: Vec<f32>,
}

impl Subwords {
    /// Of these words, by their numbers.
    pub(crate) fn of<'w>(words: impl ExactSizeIterator<Item = &'w str> + Clone) -> Self {
        // Four entries for each word: there are about three different parts to one.
        let entries = (4 * words.len()).next_power_of_two().clamp(1 << 10, 1 << 24);
        let mut starts = vec![0_u32; entries + 1];
        let mut parts = Parts::new(entries);
        for word in words.clone() {
            for part in parts.of(word) {
                starts[*part + 1] += 1;
            }
        }
        for part in 0..entries {
            starts[part + 1] += starts[part];
        }
        let mut next = starts.clone();
        let mut having = vec![0; starts[entries] as usize];
        for (word, number) in words.clone().zip(0..) {
            for part in parts.of(word) {
                having[next[*part] as usize] = number;
                next[*part] += 1;
            }
        }
        let mut subwords = Self { starts, words: having, lengths: vec![0.0; words.len()] };
        for (number, word) in words.enumerate() {
            let square: f32 = parts.of(word).iter().map(|part| subwords.weight(*part)).sum();
            subwords.lengths[number] = square.sqrt();
        }
        subwords
    }

    /// The known words that share most with `word`, the most first, and how much that is, up to 1; none when it is
    /// too little.
    pub(crate) fn like(&self, word: &str) -> Vec<(u32, f32)> {
        let mut parts = Parts::new(self.starts.len() - 1);
        let mut shared = vec![0.0; self.lengths.len()];
        let mut found = Vec::new();
        let mut square = 0.0;
        for part in parts.of(word) {
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
        let mut found: Vec<(u32, f32)> = found.filter(|(_, cosine)| *cosine >= LEND).collect();
        // Of those that share as much the more frequent.
        found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(LENDERS);
        let knows = found.first().is_some_and(|(_, cosine)| *cosine >= LIKE_ENOUGH);
        if knows { found } else { Vec::new() }
    }

    fn having(&self, part: usize) -> &[u32] {
        &self.words[self.starts[part] as usize..self.starts[part + 1] as usize]
    }

    /// What a part adds to the inner product of two words that have it: the square of its inverse document frequency.
    #[expect(clippy::cast_precision_loss, reason = "the last digits tell nothing")]
    fn weight(&self, part: usize) -> f32 {
        (1.0 + self.lengths.len() as f32 / (self.having(part).len() as f32 + 0.5)).ln().powi(2)
    }
}

/// The words of which `word` is a slip of two fingers: `form` of `fomr`. Such a slip leaves few of a word's parts
/// whole. Too short words, and those of scripts without letters, have none.
pub(crate) fn slips(word: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = word.chars().collect();
    let last =
        if letters.len() < SLIP_MIN || letters.iter().any(|c| *c >= EAST) { 0 } else { letters.len() - 1 };
    (0..last).map(move |at| {
        let mut meant = letters.clone();
        meant.swap(at, at + 1);
        meant.into_iter().collect()
    })
}

/// Takes words apart.
struct Parts {
    /// Parts are numbered below it.
    entries: usize,
    letters: Vec<char>,
    numbers: Vec<usize>,
}

impl Parts {
    fn new(entries: usize) -> Self {
        Self { entries, letters: Vec::new(), numbers: Vec::new() }
    }

    /// The different parts of a word.
    fn of(&mut self, word: &str) -> &[usize] {
        self.letters.clear();
        self.letters.extend(['<'].into_iter().chain(word.chars()).chain(['>']));
        let lengths = if word.chars().any(|c| c >= EAST) { SYLLABLES } else { LETTERS };
        self.numbers.clear();
        for part in lengths.flat_map(|length| self.letters.windows(length)) {
            // The marks alone are parts of every word.
            if part != ['<'] && part != ['>'] {
                // Parts that share a number are looked through like a common one, of which [`COMMON`] is the bound.
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

    const WORDS: [&str; 12] = [
        "government",
        "webassembly",
        "assembly",
        "survey",
        "service",
        "server",
        "게임",
        "사람",
        "사람들은",
        "도서관",
        "학교는",
        "음악",
    ];

    fn like(word: &str) -> Vec<&str> {
        let found = Subwords::of(WORDS.into_iter()).like(word);
        found.into_iter().map(|(number, _)| WORDS[number as usize]).collect()
    }

    #[test]
    fn a_word_that_was_mistyped_finds_the_right_one() {
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
    fn a_korean_word_finds_its_stem_not_what_ends_alike() {
        assert_eq!(like("게임들은")[0], "게임");
        assert_eq!(like("도서관에서는")[0], "도서관");
    }

    #[test]
    fn two_letters_may_have_changed_places() {
        let slips = |word| super::slips(word).collect::<Vec<_>>();
        assert_eq!(slips("fomr"), ["ofmr", "fmor", "form"]);
        assert!(slips("fro").is_empty() && slips("").is_empty() && slips("게임이름").is_empty());
    }

    #[test]
    fn a_word_that_is_like_none_finds_none() {
        for word in ["zyx", "꿹뛣쀍", "", "q", "<>"] {
            assert!(like(word).is_empty(), "{word}: {:?}", like(word));
        }
        assert!(Subwords::of(std::iter::empty::<&str>()).like("word").is_empty());
    }

    proptest! {
        #[test]
        fn what_is_shared_is_at_most_everything(words in prop::collection::vec("[a-d가-각]{1,6}", 1..20), word in "[a-d가-각]{0,6}") {
            let subwords = Subwords::of(words.iter().map(String::as_str));
            let found = subwords.like(&word);
            prop_assert!(found.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            prop_assert!(found.iter().all(|(_, share)| *share > 0.0 && *share < 1.001), "{found:?}");
            if let Some(at) = words.iter().position(|known| *known == word) {
                let own = u32::try_from(at).unwrap();
                prop_assert!(found.iter().any(|(number, share)| *number == own && *share > 0.999) || found.len() == LENDERS);
            }
        }
    }
}
