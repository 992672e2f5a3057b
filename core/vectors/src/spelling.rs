//! Corrections: the known words of which an unknown one is probably a misspelling.
//!
//! The distance of two words is the number of letters that were inserted, left out, replaced, or swapped with the next
//! one. Hangul is compared by the letters of its syllables. Of words at the same distance, one with the same first letter comes
//! first, because few misspellings change it, then the more frequent one.
//!
//! Source: Damerau, *A technique for computer detection and correction of spelling errors*, CACM 7(3), 1964; the order is
//! that of a noisy channel in which each further error is much rarer than any word: Kernighan, Church and Gale, *A spelling
//! correction program based on a noisy channel model*, COLING 1990.

use std::cmp::Reverse;

/// The maximum number of corrections.
const CORRECTIONS: usize = 8;
/// The minimum number of letters of a word with a correction. Shorter words are mostly abbreviations.
const LETTERS_MIN: usize = 4;
/// The number of letters from which on a word may have two errors, and the number in Hangul, whose words have more letters
/// in common.
const TWO_ERRORS: usize = 6;
const TWO_ERRORS_HANGUL: usize = 12;

/// Returns the most probable corrections of an unknown word among known words with their frequencies, most probable first.
///
/// A short word, and one with a digit or a sign, has none: it is a code or an abbreviation.
///
/// ```
/// use tidings_vectors::spelling::corrections;
///
/// let known = [("telescopes", 9), ("telescope", 3), ("south", 7)];
/// assert_eq!(corrections("telescpoe", known.into_iter()), ["telescope", "telescopes"]);
/// ```
pub fn corrections<'w>(word: &str, known: impl Iterator<Item = (&'w str, u32)>) -> Vec<&'w str> {
    let mut typed = Vec::new();
    push_letters(word, &mut typed);
    let is_word = typed.iter().all(|c| c.is_alphabetic() || matches!(c, '.' | '_' | '\''));
    if typed.len() < LETTERS_MIN || !is_word {
        return Vec::new();
    }
    let two_errors = if typed.iter().any(|c| is_hangul(*c)) { TWO_ERRORS_HANGUL } else { TWO_ERRORS };
    let most = if typed.len() < two_errors { 1 } else { 2 };
    let (mask, mut letters, mut rows) = (mask(&typed), Vec::new(), Rows::default());
    let mut found = Vec::new();
    for (candidate, frequency) in known {
        letters.clear();
        push_letters(candidate, &mut letters);
        // Most words differ in more letters, which needs no comparison.
        if letters.len().abs_diff(typed.len()) > most
            || (self::mask(&letters) ^ mask).count_ones() as usize > 2 * most
            // One more letter at the end of a short word makes another word: `rusty`.
            || most == 1 && typed.starts_with(&letters)
        {
            continue;
        }
        let distance = rows.distance(&typed, &letters);
        if (1..=most).contains(&distance) {
            found.push((distance, typed.first() != letters.first(), Reverse(frequency), candidate));
        }
    }
    found.sort_unstable();
    found.truncate(CORRECTIONS);
    found.into_iter().map(|(.., word)| word).collect()
}

fn is_hangul(c: char) -> bool {
    ('\u{1100}'..='\u{11ff}').contains(&c)
}

/// Adds the letters of a word: its characters, and those of which Hangul syllables consist.
fn push_letters(word: &str, letters: &mut Vec<char>) {
    for c in word.chars() {
        if !('가'..='힣').contains(&c) {
            letters.push(c);
            continue;
        }
        // Source: Unicode standard, section 3.12.
        let syllable = u32::from(c) - u32::from('가');
        let parts = [0x1100 + syllable / 588, 0x1161 + syllable % 588 / 28, 0x11a7 + syllable % 28];
        let count = if syllable.is_multiple_of(28) { 2 } else { 3 };
        letters.extend(parts[..count].iter().filter_map(|part| char::from_u32(*part)));
    }
}

/// Returns a set of the letters: each error changes at most two bits.
fn mask(letters: &[char]) -> u64 {
    letters.iter().fold(0, |mask, c| mask | 1 << (u32::from(*c) % 64))
}

/// The last three rows of the table of distances, kept for the next comparison.
#[derive(Default)]
struct Rows([Vec<usize>; 3]);

impl Rows {
    /// Returns the number of errors that make one word of the other, of which no two concern the same letters.
    fn distance(&mut self, one: &[char], other: &[char]) -> usize {
        let Self([before, above, row]) = self;
        above.clear();
        above.extend(0..=other.len());
        for (i, a) in one.iter().enumerate() {
            row.clear();
            row.push(i + 1);
            for (j, b) in other.iter().enumerate() {
                let replaced = above[j] + usize::from(a != b);
                let mut least = replaced.min(above[j + 1] + 1).min(row[j] + 1);
                if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                    least = least.min(before[j - 1] + 1);
                }
                row.push(least);
            }
            std::mem::swap(before, above);
            std::mem::swap(above, row);
        }
        above[other.len()]
    }
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

    fn first(word: &str) -> Option<&str> {
        corrections(word, KNOWN.into_iter()).first().copied()
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
            assert_eq!(first(typed), Some(meant), "{typed}");
        }
    }

    #[test]
    fn a_short_word_a_code_and_a_distant_word_have_no_correction() {
        for word in ["", "abc", "2027", "cs101", "c++", "학", "museum", "telephones"] {
            assert_eq!(first(word), None, "{word}");
        }
    }

    #[test]
    fn the_nearest_word_comes_first_then_the_most_frequent_one() {
        let known = [("boats", 1), ("boars", 9), ("roast", 90), ("boasts", 3)];
        assert_eq!(corrections("boast", known.into_iter()), ["boasts", "boats", "roast"]);
        assert!(corrections("rusty", [("rust", 9)].into_iter()).is_empty(), "another word");
    }

    proptest! {
        #[test]
        fn corrections_are_other_known_words(word in "[a-c가-각.]{4,9}", known in prop::collection::vec("[a-c가-각.]{1,9}", 0..20)) {
            let found = corrections(&word, known.iter().map(|word| (word.as_str(), 1)));
            for other in found {
                prop_assert!(other != word && known.iter().any(|word| word == other));
            }
        }
    }
}
