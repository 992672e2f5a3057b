//! Reads the postings of one word in the blocks of a segment.

use std::cmp::Ordering;

use super::codec::{Damaged, take, take_sized};

/// The records of a word in neighbouring blocks, which are read as one: the first record of a block has all bytes of its word.
///
/// The words of other records are not put together: of each, it is known how many bytes it has in common with the word.
pub(super) struct Records<'b> {
    rest: &'b [u8],
    word: &'b [u8],
    /// The size of the word of the last record, and the number of bytes at the begin that the word has too.
    size: usize,
    common: usize,
}

impl<'b> Records<'b> {
    pub(super) fn of(word: &'b [u8], blocks: &'b [u8]) -> Self {
        Self { rest: blocks, word, size: 0, common: 0 }
    }

    /// Returns the number and the bytes of the postings of the next record of the word; `None` at the end, or after a greater
    /// word.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &'b [u8])>, Damaged> {
        while !self.rest.is_empty() {
            let shared = usize::try_from(take(&mut self.rest)?).map_err(|_| Damaged)?;
            if shared > self.size {
                return Err(Damaged);
            }
            let others = take_sized(&mut self.rest)?;
            let count = take(&mut self.rest)?;
            let postings = take_sized(&mut self.rest)?;
            self.size = shared + others.len();
            // Otherwise the word differs where the one before did.
            if shared <= self.common {
                let expected = &self.word[shared..];
                let same = others.iter().zip(expected).take_while(|(one, other)| one == other).count();
                self.common = shared + same;
                match others[same..].cmp(&expected[same..]) {
                    Ordering::Less => {}
                    Ordering::Equal => return Ok(Some((count, postings))),
                    Ordering::Greater => self.rest = &[],
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::codec::{Posting, PostingList, put_record};
    use super::*;

    fn list(count: u64) -> PostingList {
        let mut list = PostingList::default();
        for entry in 1..=count {
            list.push(Posting { entry, occurrences: 1, length: 84 });
        }
        list
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Words of few letters often begin with the same ones or are the begin of another.
        #[test]
        fn the_records_of_a_word_are_found_among_those_of_others(
            words in prop::collection::btree_map("[a-c]{1,6}", 1_u64..5, 0..30), word in "[a-c]{1,6}", parts in 0_u64..3,
        ) {
            let mut expected: Vec<u64> = vec![7; usize::try_from(parts).unwrap()];
            let mut blocks = Vec::new();
            for part in &expected {
                put_record(&mut blocks, "", &word, &list(*part));
            }
            // Of a word with parts, the block with the last one has only later words.
            let mut before = "";
            for (other, count) in words.iter().filter(|(other, _)| parts == 0 || **other >= word) {
                put_record(&mut blocks, before, other, &list(*count));
                before = other;
                expected.extend((*other == word).then_some(*count));
            }
            let (mut records, mut found) = (Records::of(word.as_bytes(), &blocks), Vec::new());
            while let Some((count, postings)) = records.next().unwrap() {
                prop_assert_eq!(postings, &list(count).bytes);
                found.push(count);
            }
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn other_bytes_end_with_an_error_or_the_end(bytes in prop::collection::vec(0_u8..9, 0..200)) {
            let mut records = Records::of(&[1, 2, 3], &bytes);
            while let Ok(Some((_, postings))) = records.next() {
                prop_assert!(postings.len() < bytes.len());
            }
        }
    }
}
