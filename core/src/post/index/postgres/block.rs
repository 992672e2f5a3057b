//! Writes the blocks of a segment.

use super::codec::{Damaged, POSTING_MAX, Posting, PostingList, for_each_word, put_record, record_max};
use crate::store::{Arg, StoreError, Tx, run_each};

/// The maximum size of the records of a block, so that two blocks with their words fit into a page of 8 KiB.
const BLOCK_MAX: usize = 3_900;
/// The maximum number of blocks that one statement inserts.
pub(super) const AT_ONCE: usize = 128;

/// A block: the records of neighbouring words, or a part of the postings of a word that has more than a block of them.
///
/// The blocks of a word with several parts have this word as their first one, and numbers in the order of the entries. So
/// a word is in the blocks with the greatest first word that is not after it, unless their last word is before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) first_word: String,
    pub(super) part: i64,
    pub(super) last_word: String,
    pub(super) data: Vec<u8>,
}

/// Writes blocks from words in ascending order.
#[derive(Default)]
pub(super) struct BlockWriter {
    /// The complete blocks.
    blocks: Vec<Block>,
    /// The block to which records are added.
    open: Option<Block>,
    word: String,
    /// The number of complete blocks of the word.
    parts: i64,
    list: PostingList,
}

impl BlockWriter {
    /// Begins a word that is after the one before.
    pub(super) fn begin(&mut self, word: &str) {
        self.word.clear();
        self.word.push_str(word);
        self.parts = 0;
    }

    /// Adds a posting of the word, whose entry is greater than those before.
    pub(super) fn push(&mut self, posting: Posting) {
        if record_max(&self.word, self.list.bytes.len() + POSTING_MAX) > BLOCK_MAX {
            self.close();
            self.add();
            self.close();
            self.parts += 1;
        }
        self.list.push(posting);
    }

    /// Ends the word. It leaves nothing if it had no postings.
    pub(super) fn end(&mut self) {
        let size = record_max(&self.word, self.list.bytes.len());
        if self.open.as_ref().is_some_and(|open| open.data.len() + size > BLOCK_MAX) {
            self.close();
        }
        if self.list.count > 0 {
            self.add();
        }
    }

    /// Adds the postings so far to the open block.
    fn add(&mut self) {
        let block = self.open.get_or_insert_with(|| Block {
            first_word: self.word.clone(),
            part: self.parts,
            last_word: String::new(),
            data: Vec::with_capacity(BLOCK_MAX),
        });
        put_record(&mut block.data, &block.last_word, &self.word, &self.list);
        block.last_word.clone_from(&self.word);
        self.list.clear();
    }

    fn close(&mut self) {
        self.blocks.extend(self.open.take());
    }

    /// Returns the number of complete blocks that were not taken.
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Takes the complete blocks.
    pub(super) fn take(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.blocks)
    }

    /// Returns all blocks that were not taken, after the last word.
    pub(super) fn finish(mut self) -> Vec<Block> {
        self.close();
        self.blocks
    }
}

/// Returns the blocks of posts: their entries, in ascending order, and their words.
pub(super) fn blocks_of(posts: &[(u64, Vec<u8>)]) -> Result<Vec<Block>, Damaged> {
    let mut postings = Vec::new();
    for (entry, words) in posts {
        // The length comes before the words.
        let length = for_each_word(words, |_, _| ())?;
        for_each_word(words, |word, occurrences| {
            postings.push((prefix(word), word, Posting { entry: *entry, occurrences, length }));
        })?;
    }
    // Most words differ in their first bytes, which are compared as one number. This takes half the time of a map.
    postings.sort_unstable_by(|(prefix, word, one), (other_prefix, other_word, other)| {
        prefix.cmp(other_prefix).then_with(|| word.cmp(other_word)).then(one.entry.cmp(&other.entry))
    });
    let mut writer = BlockWriter::default();
    for postings in postings.chunk_by(|(_, word, _), (_, next, _)| word == next) {
        let [(_, word, _), ..] = postings else { continue };
        writer.begin(str::from_utf8(word).map_err(|_| Damaged)?);
        for (_, _, posting) in postings {
            writer.push(*posting);
        }
        writer.end();
    }
    Ok(writer.finish())
}

/// Returns the first bytes of a word as a number, whose order is that of the bytes.
fn prefix(word: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let size = word.len().min(bytes.len());
    bytes[..size].copy_from_slice(&word[..size]);
    u64::from_be_bytes(bytes)
}

/// Inserts blocks of a segment.
pub(super) fn insert(tx: &mut dyn Tx, segment: i64, blocks: &[Block]) -> Result<(), StoreError> {
    let sql = "INSERT INTO post_segment_block (segment, first_word, part, last_word, data) VALUES ($1, $2, $3, $4, $5)";
    for blocks in blocks.chunks(AT_ONCE) {
        let mut rows: Vec<[Arg<'_>; 5]> = Vec::with_capacity(blocks.len());
        for Block { first_word, part, last_word, data } in blocks {
            rows.push([segment.into(), first_word.into(), (*part).into(), last_word.into(), data.into()]);
        }
        run_each(tx, sql, &rows)?;
    }
    Ok(())
}
