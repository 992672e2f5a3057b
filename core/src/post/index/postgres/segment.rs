//! The rows that describe segments.

use super::block::{self, Block};
use crate::base::random::random;
use crate::store::{Row, StoreError, Tx};

/// The states of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A merge is writing it.
    Begun = 0,
    /// Searches read it.
    Ready = 1,
    /// Another one has replaced it.
    Replaced = 2,
}

/// A segment that searches read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// A random number, so that no other segment of any database ever has it.
    pub(super) id: i64,
    /// The range of its entries. No other segment that is ready has entries in it.
    pub(super) first: u64,
    pub(super) last: u64,
    /// The number of entries with postings in it, and of those whose posts were changed or removed since.
    pub(super) entries: i64,
    pub(super) dead: i64,
    /// The number of its blocks.
    pub(super) blocks: i64,
}

impl Segment {
    /// Returns a segment of entries in a range, of which so many have postings in its blocks.
    pub(super) fn new(first: u64, last: u64, entries: i64) -> Self {
        Self { id: i64::from_be_bytes(random()), first, last, entries, dead: 0, blocks: 0 }
    }

    /// Returns the segments that are ready, in the order of their entries.
    pub(super) fn ready(tx: &mut dyn Tx) -> Result<Vec<Self>, StoreError> {
        let sql = "SELECT segment, first_entry, last_entry, entries, dead, blocks FROM post_segment
                   WHERE state = $1 ORDER BY first_entry";
        let segment = |mut row: Row| {
            Ok(Self {
                id: row.take(0)?,
                first: row.take::<i64>(1)?.cast_unsigned(),
                last: row.take::<i64>(2)?.cast_unsigned(),
                entries: row.take(3)?,
                dead: row.take(4)?,
                blocks: row.take(5)?,
            })
        };
        tx.rows(sql, &[(State::Ready as i64).into()])?.into_iter().map(segment).collect()
    }

    /// Returns the segments in another state.
    pub(super) fn not_ready(tx: &mut dyn Tx) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT segment FROM post_segment WHERE state <> $1";
        tx.rows(sql, &[(State::Ready as i64).into()])?.into_iter().map(|mut row| row.take(0)).collect()
    }

    /// Inserts the segment without its blocks.
    pub(super) fn insert(&self, tx: &mut dyn Tx, state: State) -> Result<(), StoreError> {
        let sql = "INSERT INTO post_segment (segment, first_entry, last_entry, entries, dead, blocks, state)
                   VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let Self { id, first, last, entries, dead, blocks } = *self;
        let [first, last] = [first, last].map(u64::cast_signed);
        let args = [id, first, last, entries, dead, blocks, state as i64].map(Into::into);
        tx.run(sql, &args).map(drop)
    }

    /// Inserts a segment of posts: their entries, in ascending order, and their words.
    pub(super) fn insert_of(tx: &mut dyn Tx, posts: &[(u64, Vec<u8>)]) -> Result<(), StoreError> {
        let [Some((first, _)), Some((last, _))] = [posts.first(), posts.last()] else { return Ok(()) };
        let blocks: Vec<Block> = block::blocks_of(posts)?;
        let count = |length: usize| i64::try_from(length).map_err(StoreError::other);
        let segment = Self { blocks: count(blocks.len())?, ..Self::new(*first, *last, count(posts.len())?) };
        segment.insert(tx, State::Ready)?;
        block::insert(tx, segment.id, &blocks)
    }
}
