//! The bytes of the index: numbers, the words of a post, posting lists, and the records of a block.
//!
//! A number has seven bits in each byte, the lowest first; every byte except the last has the highest bit (LEB128).
//!
//! | what | bytes |
//! |---|---|
//! | words of a post | the length of the post; for each distinct word: its size in bytes, the word, its occurrences |
//! | posting | the distance from the entry before, doubled, plus 1 if the word occurs more than once; then the occurrences; the length of the post |
//! | record | the number of bytes at the begin of the word that the word before has too; the size of the rest in bytes, the rest; the number of postings, their size in bytes, the postings |
//!
//! The first posting of a list has the distance from 0. Whatever the bytes are, reading them ends with an error or with
//! postings whose entries ascend, and allocates nothing.

use super::super::TITLE_WEIGHT;
use crate::post::token_fields::{Count, TokenFields};
use crate::store::StoreError;

/// The error of bytes that no program has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damaged;

impl From<Damaged> for StoreError {
    fn from(_: Damaged) -> Self {
        Self::other("the search index is damaged: repair the database")
    }
}

/// No entry is as great.
const ENTRIES_MAX: u64 = 1 << 62;
/// The maximum size of a posting in bytes.
pub(super) const POSTING_MAX: usize = 20;

/// Appends a number.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Takes a number from the begin of `bytes`.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> Result<u64, Damaged> {
    // Most numbers have one or two bytes.
    match **bytes {
        [first, ref rest @ ..] if first < 0x80 => {
            *bytes = rest;
            Ok(first.into())
        }
        [first, second, ref rest @ ..] if second < 0x80 => {
            *bytes = rest;
            Ok(u64::from(first & 0x7f) | u64::from(second) << 7)
        }
        [first, second, ref rest @ ..] => {
            *bytes = rest;
            take_more(bytes, u64::from(first & 0x7f) | u64::from(second & 0x7f) << 7)
        }
        _ => Err(Damaged),
    }
}

/// Takes the rest of a number whose first fourteen bits are `number`.
fn take_more(bytes: &mut &[u8], mut number: u64) -> Result<u64, Damaged> {
    for shift in (14..63).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Damaged)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(Damaged)
}

/// Takes bytes with their size before them.
pub(super) fn take_sized<'b>(bytes: &mut &'b [u8]) -> Result<&'b [u8], Damaged> {
    let size = usize::try_from(take(bytes)?).map_err(|_| Damaged)?;
    let (taken, rest) = bytes.split_at_checked(size).ok_or(Damaged)?;
    *bytes = rest;
    Ok(taken)
}

fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn narrow(number: u64) -> Result<u32, Damaged> {
    u32::try_from(number).map_err(|_| Damaged)
}

/// The bytes of the words of a post, and its length: the number of tokens, including repetitions.
pub(super) fn words(tokens: &TokenFields) -> (Vec<u8>, u32) {
    let TokenFields { token, counts, letters, .. } = tokens;
    let all = counts.iter().chain(letters.iter().map(|(_, count)| count));
    let length = all.map(|count| count.title + count.post).sum();
    let mut bytes = Vec::with_capacity(token.len() + 2 * counts.len() + 4);
    put(&mut bytes, u64::from(length));
    let mut put_word = |word: &str, count: &Count| {
        put_sized(&mut bytes, word.as_bytes());
        put(&mut bytes, u64::from(TITLE_WEIGHT) * u64::from(count.title) + u64::from(count.post));
    };
    token.split_ascii_whitespace().zip(counts).for_each(|(token, count)| put_word(token, count));
    for (letter, count) in letters {
        put_word(letter.encode_utf8(&mut [0; 4]), count);
    }
    (bytes, length)
}

/// Calls `each` with the distinct words of a post and their occurrences. Returns the length of the post.
pub(super) fn for_each_word<'b>(
    mut bytes: &'b [u8],
    mut each: impl FnMut(&'b [u8], u32),
) -> Result<u32, Damaged> {
    let length = narrow(take(&mut bytes)?)?;
    while !bytes.is_empty() {
        let word = take_sized(&mut bytes)?;
        each(word, narrow(take(&mut bytes)?)?);
    }
    Ok(length)
}

/// An occurrence of a word in a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    /// The entry of the post.
    pub(super) entry: u64,
    /// The number of occurrences of the word, of which each in the title counts [`TITLE_WEIGHT`] times.
    pub(super) occurrences: u32,
    /// The length of the post.
    pub(super) length: u32,
}

/// The bytes of a posting list that is being written.
#[derive(Debug, Default)]
pub(super) struct PostingList {
    pub(super) bytes: Vec<u8>,
    pub(super) count: u64,
    last: u64,
}

impl PostingList {
    /// Appends a posting, whose entry is greater than the last one.
    pub(super) fn push(&mut self, Posting { entry, occurrences, length }: Posting) {
        let distance = (entry - self.last) << 1;
        if occurrences == 1 {
            put(&mut self.bytes, distance);
        } else {
            put(&mut self.bytes, distance | 1);
            put(&mut self.bytes, occurrences.into());
        }
        put(&mut self.bytes, length.into());
        self.count += 1;
        self.last = entry;
    }

    /// Begins another list.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        (self.count, self.last) = (0, 0);
    }
}

/// Reads a posting list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Postings<'b> {
    bytes: &'b [u8],
    last: u64,
}

impl<'b> Postings<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, last: 0 }
    }

    /// Returns the next posting; `None` at the end.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Posting>, Damaged> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let first = take(&mut self.bytes)?;
        let occurrences = if first & 1 == 0 { 1 } else { narrow(take(&mut self.bytes)?)? };
        let length = narrow(take(&mut self.bytes)?)?;
        let (before, entry) = (self.last, self.last + (first >> 1));
        if entry <= before || entry >= ENTRIES_MAX {
            return Err(Damaged);
        }
        self.last = entry;
        Ok(Some(Posting { entry, occurrences, length }))
    }
}

/// The place of a record in a block, from which the next one is read.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// The number of bytes up to the end of the record.
    end: usize,
    pub(super) word: Vec<u8>,
    /// The number of postings.
    pub(super) count: u64,
    /// The size of the postings in bytes.
    size: usize,
}

impl Place {
    /// Goes to the next record of the block, or to the first one. Returns false at the end.
    pub(super) fn advance(&mut self, block: &[u8]) -> Result<bool, Damaged> {
        let mut rest = block.get(self.end..).ok_or(Damaged)?;
        if rest.is_empty() {
            return Ok(false);
        }
        let shared = usize::try_from(take(&mut rest)?).map_err(|_| Damaged)?;
        if shared > self.word.len() {
            return Err(Damaged);
        }
        self.word.truncate(shared);
        self.word.extend_from_slice(take_sized(&mut rest)?);
        self.count = take(&mut rest)?;
        self.size = take_sized(&mut rest)?.len();
        self.end = block.len() - rest.len();
        Ok(true)
    }

    /// Returns the bytes of the postings of the record.
    pub(super) fn postings<'b>(&self, block: &'b [u8]) -> &'b [u8] {
        block.get(self.end - self.size..self.end).unwrap_or_default()
    }
}

/// Returns the maximum size of the record of a word with so many bytes of postings.
pub(super) fn record_max(word: &str, postings: usize) -> usize {
    word.len() + postings + 14
}

/// Appends the record of a word to a block, after that of the word before.
pub(super) fn put_record(block: &mut Vec<u8>, before: &str, word: &str, list: &PostingList) {
    let shared = before.bytes().zip(word.bytes()).take_while(|(one, other)| one == other).count();
    put(block, shared as u64);
    put_sized(block, &word.as_bytes()[shared..]);
    put(block, list.count);
    put_sized(block, &list.bytes);
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list_of(postings: &[Posting]) -> PostingList {
        let mut list = PostingList::default();
        for posting in postings {
            list.push(*posting);
        }
        list
    }

    fn read(bytes: &[u8]) -> Result<Vec<Posting>, Damaged> {
        let (mut postings, mut read) = (Postings::new(bytes), Vec::new());
        while let Some(posting) = postings.next()? {
            read.push(posting);
        }
        Ok(read)
    }

    /// Returns lists of fewer than `count` postings with such distances between their entries, and with such lengths and
    /// occurrences.
    pub(in super::super) fn ascending(
        distance: impl Strategy<Value = u64>,
        number: impl Strategy<Value = u32> + Clone,
        count: usize,
    ) -> impl Strategy<Value = Vec<Posting>> {
        prop::collection::vec((distance, number.clone(), number), 0..count).prop_map(|rows| {
            let mut entry = 0;
            let posting = |(distance, occurrences, length)| {
                entry += distance;
                Posting { entry, occurrences, length }
            };
            rows.into_iter().map(posting).collect()
        })
    }

    fn postings() -> impl Strategy<Value = Vec<Posting>> {
        let number = prop_oneof![1_u32..4, any::<u32>()];
        ascending(prop_oneof![1_u64..9, 1_u64..1 << 40], number, 40)
    }

    #[test]
    fn the_words_of_a_post_count_four_times_in_the_title() {
        let tokens = TokenFields::of("Rust 1.95", "Rust's cargo, node.js; cargo and o'reilly");
        let (bytes, length) = words(&tokens);
        let mut found = Vec::new();
        let read = for_each_word(&bytes, |word, n| found.push((str::from_utf8(word).unwrap(), n)));
        let name = [("node.js", 1), ("node", 1), ("js", 1), ("o'reilly", 1), ("reilly", 1)];
        assert_eq!(found, [&[("rust", 5), ("1.95", 4), ("cargo", 2)][..], &name].concat());
        assert_eq!((read, length), (Ok(10), 10));
        let (bytes, _) = words(&TokenFields::of("茶", "図書"));
        let mut found = Vec::new();
        let read = for_each_word(&bytes, |word, n| found.push((str::from_utf8(word).unwrap(), n)));
        assert_eq!((found, read), (vec![("茶", 4), ("図書", 1), ("図", 1), ("書", 1)], Ok(4)));
        assert_eq!(words(&TokenFields::of("!!!", "")), (vec![0], 0));
    }

    #[test]
    fn a_posting_of_a_common_word_takes_two_bytes() {
        let posting = |entry| Posting { entry, occurrences: 1, length: 84 };
        assert_eq!(list_of(&[posting(1), posting(40)]).bytes, [2, 84, 78, 84]);
    }

    proptest! {
        #[test]
        fn numbers_are_read_as_they_were_written(number in 0..1_u64 << 63) {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            let mut rest = &*bytes;
            prop_assert_eq!(take(&mut rest), Ok(number));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn postings_are_read_as_they_were_written(postings in postings()) {
            let list = list_of(&postings);
            prop_assert!(list.bytes.len() <= postings.len() * POSTING_MAX);
            prop_assert_eq!(list.count, postings.len() as u64);
            prop_assert_eq!(read(&list.bytes), Ok(postings));
        }

        #[test]
        fn records_are_read_as_they_were_written(words in prop::collection::vec((".{0,70}", postings()), 0..6)) {
            let (mut block, mut sizes, mut before) = (Vec::new(), 0, "");
            for (word, postings) in &words {
                let list = list_of(postings);
                sizes += record_max(word, list.bytes.len());
                put_record(&mut block, before, word, &list);
                before = word;
            }
            prop_assert!(block.len() <= sizes);
            let mut place = Place::default();
            for (word, postings) in &words {
                prop_assert_eq!(place.advance(&block), Ok(true));
                prop_assert_eq!((&*place.word, place.count), (word.as_bytes(), postings.len() as u64));
                prop_assert_eq!(&read(place.postings(&block)).unwrap(), postings);
            }
            prop_assert_eq!(place.advance(&block), Ok(false));
        }

        #[test]
        fn any_bytes_are_read_or_damaged(bytes: Vec<u8>) {
            if let Ok(postings) = read(&bytes) {
                prop_assert!(postings.is_sorted_by(|one, other| one.entry < other.entry));
            }
            let mut place = Place::default();
            while place.advance(&bytes) == Ok(true) {}
            let _ = for_each_word(&bytes, |_, _| ());
        }

        #[test]
        fn a_list_that_ends_early_is_damaged(postings in postings(), cut in 1_usize..4) {
            let list = list_of(&postings);
            let Some(end) = list.bytes.len().checked_sub(cut) else { return Ok(()) };
            // It may end between two postings.
            prop_assert!(read(&list.bytes[..end]).map_or(true, |read| read.len() < postings.len()));
        }
    }
}
