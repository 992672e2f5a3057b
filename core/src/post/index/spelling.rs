//! Known words from which an unknown one differs least, by letters inserted, left out, replaced, or swapped; then those with the
//! same first letter, which few misspellings change, then the more frequent. Sources: Damerau, *A technique for computer detection
//! and correction of spelling errors*, CACM 7(3), 1964; Kernighan, Church and Gale, COLING 1990.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use strsim::osa_distance;
use unicode_normalization::UnicodeNormalization as _;

const CORRECTIONS: usize = 8;
/// Shorter words are mostly abbreviations.
const LETTERS_MIN: usize = 4;
/// The number of letters from which on a word may have two errors, and that number in Hangul, whose words have more letters in
/// common.
const TWO_ERRORS: usize = 6;
const TWO_ERRORS_HANGUL: usize = 12;

/// By first letter and number of letters, each word with the set of its letters. A correction begins with the first letter of the
/// misspelling, or with its second one, if the first two were swapped.
#[derive(Clone, Default)]
pub(super) struct KnownWords(HashMap<(Option<char>, usize), Vec<Known>>);

type Known = (u64, Arc<str>);

impl KnownWords {
    pub(super) fn insert(&mut self, word: &Arc<str>) {
        if is_word(word) {
            let letters = letters(word);
            let (length, set) = measure(&letters);
            self.0.entry((letters.chars().next(), length)).or_default().push((set, Arc::clone(word)));
        }
    }

    /// Most probable first. `frequency` is that of a known word. A short word, and one with a digit or a sign, has no corrections:
    /// it is a code or an abbreviation.
    pub(super) fn corrections(&self, word: &str, frequency: impl Fn(&str) -> u32) -> Vec<String> {
        let typed = letters(word);
        let (length, set) = measure(&typed);
        if length < LETTERS_MIN || !is_word(word) {
            return Vec::new();
        }
        let two_errors = if typed.contains(is_hangul) { TWO_ERRORS_HANGUL } else { TWO_ERRORS };
        let most = if length < two_errors { 1 } else { 2 };
        let mut found = Vec::new();
        let mut firsts: Vec<Option<char>> = typed.chars().take(2).map(Some).collect();
        firsts.dedup();
        let buckets =
            firsts.iter().flat_map(|first| (length - most..=length + most).map(|length| (*first, length)));
        for (other_set, candidate) in buckets.filter_map(|bucket| self.0.get(&bucket)).flatten() {
            // Each error adds at most one letter to the set and removes at most one.
            if (set & !other_set).count_ones() > 2 || (other_set & !set).count_ones() > 2 {
                continue;
            }
            let known = letters(candidate);
            // One more letter at the end of a short word makes a different word: `rusty`.
            if most == 1 && typed.starts_with(&*known) {
                continue;
            }
            let distance = osa_distance(&typed, &known);
            if distance <= most {
                let has_other_first = typed.chars().next() != known.chars().next();
                found.push((distance, has_other_first, Reverse(frequency(candidate)), candidate));
            }
        }
        found.sort_unstable();
        found.truncate(CORRECTIONS);
        found.into_iter().map(|(.., word)| word.to_string()).collect()
    }
}

/// In place of Hangul syllables, the letters of which they consist.
fn letters(word: &str) -> Cow<'_, str> {
    if word.is_ascii() { word.into() } else { word.nfd().collect::<String>().into() }
}

fn is_word(word: &str) -> bool {
    word.chars().all(|c| c.is_alphabetic() || matches!(c, '.' | '_' | '\''))
}

fn is_hangul(c: char) -> bool {
    ('\u{1100}'..='\u{11ff}').contains(&c)
}

/// The number of letters, and a set of them in which some letters share a bit.
fn measure(letters: &str) -> (usize, u64) {
    letters.chars().fold((0, 0), |(length, set), c| (length + 1, set | 1 << (u32::from(c) % 64)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KNOWN: [(&str, u32); 12] = [
        ("government", 9),
        ("governments", 2),
        ("telescope", 3),
        ("survey", 5),
        ("surly", 1),
        ("library", 8),
        ("node.js", 2),
        ("도서관", 7),
        ("도서관에서", 2),
        ("2026", 50),
        ("학교", 9),
        ("кафедра", 1),
    ];

    fn corrections(word: &str, known: &[(&str, u32)]) -> Vec<String> {
        let mut words = KnownWords::default();
        for (word, _) in known {
            words.insert(&(*word).into());
        }
        words.corrections(word, |word| known.iter().find(|(known, _)| *known == word).unwrap().1)
    }

    #[test]
    fn a_mistyped_word_is_corrected() {
        for (typed, meant) in [
            ("telescpoe", "telescope"),
            ("teelscope", "telescope"),
            ("telescop", "telescope"),
            ("tellescope", "telescope"),
            ("telezcope", "telescope"),
            ("etlescope", "telescope"),
            ("goverment", "government"),
            ("survye", "survey"),
            ("ndoe.js", "node.js"),
            ("도서곤", "도서관"),
            ("кафедар", "кафедра"),
        ] {
            assert_eq!(corrections(typed, &KNOWN).first().map(String::as_str), Some(meant), "{typed}");
        }
    }

    #[test]
    fn a_short_word_a_code_and_a_distant_word_have_no_correction() {
        for word in ["", "abc", "2027", "cs101", "c++", "학", "museum", "telephones"] {
            assert!(corrections(word, &KNOWN).is_empty(), "{word}");
        }
    }

    #[test]
    fn of_words_with_the_same_first_letter_the_nearest_comes_first_then_the_most_frequent() {
        let known = [("boats", 1), ("boaxts", 9), ("roast", 90), ("boasts", 3)];
        assert_eq!(corrections("boast", &known), ["boasts", "boats"]);
        assert!(corrections("rusty", &[("rust", 9)]).is_empty(), "another word");
    }

    proptest! {
        #[test]
        fn corrections_are_other_known_words(word in "[a-c가-각.]{4,9}", known in prop::collection::hash_set("[a-c가-각.]{1,9}", 0..20)) {
            let known: Vec<(&str, u32)> = known.iter().map(|word| (word.as_str(), 1)).collect();
            for other in corrections(&word, &known) {
                prop_assert!(other != word && known.iter().any(|(word, _)| *word == other));
            }
        }
    }
}
