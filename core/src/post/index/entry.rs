//! The entry of a post in the search index: its terms, and how often it has each.

use std::collections::BTreeMap;

use tidings_tokens::{hangul, tokens};

use crate::base::clock::Timestamp;
use crate::post::token_fields::TokenFields;
use crate::record::id::PostKey;

/// Relative to a word in the text.
const TITLE_WEIGHT: u32 = 6;

/// Precede terms that are not words. They are for private use, so no word begins with one.
const PAIR: char = '\u{e000}';
const LABEL: char = '\u{e001}';
const TITLE: char = '\u{e002}';

/// In bytes, in [`Counts`]: the number of words, and each term.
const HEAD: usize = 4;
const TERM: usize = 5;

pub(super) fn pair(pair: &str) -> String {
    format!("{PAIR}{pair}")
}

pub(super) fn in_title(word: &str) -> String {
    format!("{TITLE}{word}")
}

pub(super) fn label(name: &str) -> String {
    // Terms have no blanks, and names may have any characters.
    format!("{LABEL}{:08x}{:08x}", hash(name), hash(&format!("{LABEL}{name}")))
}

/// Returns the term as [`Counts`] has it; `None` for a topic or tag.
#[cfg(feature = "postgres")]
pub(super) fn counted(term: &str) -> Option<&str> {
    (!term.starts_with(LABEL)).then(|| term.strip_prefix(TITLE).unwrap_or(term))
}

/// Pairs of Hangul syllables, and the characters of a pair of Han and Kana.
pub(super) fn parts(token: &str) -> impl Iterator<Item = String> {
    hangul::pairs(token).map(pair).chain(tokens::letters(token).map(String::from))
}

/// FNV-1a with 64 bits, of which the halves are combined. It must never change, because databases contain the hashes. Two terms
/// rarely have the same hash: one in 4,000 searches for a word of a million finds another word, too.
pub(super) fn hash(term: &str) -> u32 {
    let hash = term.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
    let folded = (hash ^ (hash >> 32)) as u32;
    folded
}

#[derive(Clone, Debug)]
pub(in crate::post) struct Entry {
    pub(super) key: PostKey,
    pub(super) date: Timestamp,
    pub(super) end_date: Option<Timestamp>,
    pub(super) terms: Vec<String>,
    pub(super) counts: Vec<u8>,
}

impl Entry {
    pub(in crate::post) fn new<'n>(
        key: PostKey,
        tokens: &TokenFields,
        labels: impl Iterator<Item = &'n String>,
        date: Timestamp,
        end_date: Option<Timestamp>,
    ) -> Self {
        let mut of_parts: BTreeMap<String, u32> = BTreeMap::new();
        let mut counted: Vec<(u32, u32)> = Vec::with_capacity(tokens.counts.len());
        let mut terms: Vec<String> = Vec::with_capacity(tokens.counts.len());
        for (token, count) in tokens.token.split_ascii_whitespace().zip(&tokens.counts) {
            let occurrences = TITLE_WEIGHT * count.title + count.post;
            for part in parts(token) {
                *of_parts.entry(part).or_default() += occurrences;
            }
            counted.push((hash(token), occurrences));
            terms.push(token.to_owned());
            if count.title > 0 {
                terms.push(in_title(token));
            }
        }
        let words = counted.len();
        for (part, occurrences) in of_parts {
            counted.push((hash(&part), occurrences));
            terms.push(part);
        }
        counted.sort_by_key(|(hash, _)| *hash);
        // A character may also be a token itself.
        counted.dedup_by(|(hash, more), (kept, occurrences)| {
            let is_same = hash == kept;
            *occurrences += if is_same { *more } else { 0 };
            is_same
        });
        terms.extend(labels.map(|name| label(name)));
        let mut counts = Vec::with_capacity(HEAD + TERM * counted.len());
        counts.extend(u32::try_from(words).unwrap_or(u32::MAX).to_le_bytes());
        counts.extend(counted.iter().flat_map(|(hash, _)| hash.to_le_bytes()));
        counts.extend(counted.iter().map(|(_, occurrences)| u8::try_from(*occurrences).unwrap_or(u8::MAX)));
        Self { key, date, end_date, terms, counts }
    }
}

/// The bytes are the number of its distinct words; the hashes of its terms in ascending order; for each, the number of
/// occurrences, each in the title counted six times, at most 255. Numbers are little-endian.
pub(super) struct Counts<'b> {
    pub(super) words: u32,
    hashes: &'b [[u8; 4]],
    occurrences: &'b [u8],
}

impl<'b> Counts<'b> {
    /// `None` if the bytes are damaged.
    pub(super) fn of(bytes: &'b [u8]) -> Option<Self> {
        let (words, terms) = bytes.split_first_chunk::<HEAD>()?;
        let (hashes, occurrences) = terms.split_at(terms.len() / TERM * (TERM - 1));
        let (hashes, rest) = hashes.as_chunks();
        (rest.is_empty() && hashes.len() == occurrences.len()).then(|| Self {
            words: u32::from_le_bytes(*words),
            hashes,
            occurrences,
        })
    }

    /// `terms` are pairs of a hash and a weight, in the order of the hashes. `each` gets the weight and the number of occurrences
    /// of each term that the post has.
    pub(super) fn each(&self, terms: &[(u32, f64)], mut each: impl FnMut(f64, u8)) {
        let mut at = 0;
        for (hash, weight) in terms {
            let hash_at = |at: usize| self.hashes.get(at).map(|bytes| u32::from_le_bytes(*bytes));
            while hash_at(at).is_some_and(|other| other < *hash) {
                at += 1;
            }
            if hash_at(at) == Some(*hash) {
                each(*weight, self.occurrences[at]);
            }
        }
    }

    #[cfg(feature = "postgres")]
    pub(super) fn has(&self, hash: u32) -> bool {
        self.hashes.binary_search_by_key(&hash, |bytes| u32::from_le_bytes(*bytes)).is_ok()
    }

    #[cfg(test)]
    pub(super) fn occurrences(&self, hash: u32) -> u8 {
        let mut found = 0;
        self.each(&[(hash, 1.0)], |_, occurrences| found = occurrences);
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(title: &str, post: &str) -> Entry {
        let labels = ["sea".to_owned()];
        let time = Timestamp::from_millis(1);
        Entry::new(PostKey::new(1), &TokenFields::of(title, post), labels.iter(), time, None)
    }

    #[test]
    fn an_entry_has_words_pairs_of_syllables_characters_and_labels() {
        let entry = entry("도서관에서 whales", "図書 whales 책");
        let sea = label("sea");
        let words = "도서관에서 \u{e002}도서관에서 도서관 \u{e002}도서관 whales \u{e002}whales 図書 책";
        let parts = "図 書 \u{e000}관에 \u{e000}도서 \u{e000}서관 \u{e000}에서";
        assert_eq!(entry.terms.join(" "), [words, parts, &sea].join(" "));
        let counts = Counts::of(&entry.counts).unwrap();
        assert_eq!(counts.words, 5);
        for (term, number) in
            [("도서관", 6), ("whales", 7), ("책", 1), ("書", 1), ("\u{e000}도서", 12), ("sea", 0)]
        {
            assert_eq!(counts.occurrences(hash(term)), number, "{term}");
        }
    }

    #[test]
    fn a_term_of_a_label_has_no_blanks_and_the_hash_is_that_of_every_program() {
        assert_eq!(label("Deep  Sea").chars().count(), 17);
        assert_ne!(label("sea"), label("Sea"));
        assert_eq!(["", "w1", "도서관"].map(hash), [0x4fd0_bfc1, 0xbda6_fc02, 0xfa23_1aac]);
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_tokens(title: String, post in "[a-c가나 ]{0,600}") {
            let (tokens, entry) = (TokenFields::of(&title, &post), entry(&title, &post));
            let counts = Counts::of(&entry.counts).unwrap();
            for (token, count) in tokens.token.split_ascii_whitespace().zip(&tokens.counts) {
                let expected = u8::try_from(6 * count.title + count.post).unwrap_or(u8::MAX);
                prop_assert!(counts.occurrences(hash(token)) >= expected);
            }
            prop_assert!(entry.terms.iter().all(|term| !term.contains(char::is_whitespace)));
        }

        #[test]
        fn damaged_counts_are_refused_or_read(bytes: Vec<u8>, hash: u32) {
            if let Some(counts) = Counts::of(&bytes) {
                prop_assert!(counts.occurrences(hash) > 0 || bytes.len() >= HEAD);
            }
        }
    }
}
