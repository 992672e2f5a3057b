//! The search index of PostgreSQL: an inverted index in immutable segments.
//!
//! # Structure
//!
//! A post gets an **entry**, a number that is greater than all before, each time its words are indexed. `post_index` has the
//! live entry of each post. When a post changes or is removed, its old entry is dead: it stays in its segment, and the
//! join with `post_index` leaves it out of the results.
//!
//! - The words of the latest posts are **recent**: a row for each, which every search reads.
//! - A **segment** has the words of a range of entries: for each word a posting list, which has the entries, the
//!   occurrences and the lengths of the posts ([`codec`]). The lists are in blocks of up to 4 KB, the rows of
//!   `post_segment_block`. A segment never changes.
//! - A write that would exceed [`RECENT_MAX`] recent posts makes a segment of them, and one with many posts makes one of
//!   these. Eight neighbouring segments of about the same size are [merged](merge) into one without their dead entries,
//!   together with smaller ones before and between them. So the number of segments grows with the logarithm of the number of
//!   posts.
//!
//! A search reads the posting lists of its words in all segments, as far as they are not in the [`cache`], finds the entries
//! with the greatest relevance in this process, and asks the database for their posts ([`search`]). In memory the lists have
//! another form ([`list`]), so that the postings that cannot be among the best are skipped ([`top`]). The relevance of an entry
//! is its BM25 over all words, whichever postings are skipped. The number of posts with a word includes dead entries until they
//! are merged; everything else in the formula is exact.
//!
//! All changes to posts run alone, so an entry is allocated by reading and adding.
//!
//! # Source
//!
//! O'Neil, Cheng, Gawlick and O'Neil, *The log-structured merge-tree*, Acta Informatica 33(4), 1996. Apache Lucene has the
//! same structure of segments.
//!
//! # Why not GIN
//!
//! With a `tsvector` and a GIN index, the server reads the row of every matching post, 11 µs each, and a common word
//! matches hundreds of thousands. Merging the pending list of the index took 0.2 ms for a post of 84 words.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Change;
use crate::post::token_fields::TokenFields;
use crate::record::id::PostKey;
use crate::store::{Arg, StoreError, Tx, row_each, run_each};

mod block;
mod bm25;
mod cache;
mod check;
mod codec;
mod entries;
mod list;
pub(super) mod merge;
mod rank;
mod records;
mod search;
mod segment;
mod sums;
#[cfg(test)]
mod tests;
mod top;

pub(super) use cache::PostingCache;
pub(super) use check::damage;
pub(super) use search::{Ranked, has_words};
use segment::Segment;

/// The column with the key of the post.
pub(super) const KEY: &str = "post";

/// The maximum number of recent posts, all of which a search reads.
const RECENT_MAX: usize = 512;
/// The number of posts of one write from which on they become a segment at once.
const SEGMENT_MIN: usize = 64;

/// Writes changes: removes the entries of all posts that may have one, then inserts those that posts have after the last
/// change. Also writes the number and the length of all posts, which is one row.
pub(super) fn write(tx: &mut dyn Tx, changes: &[Change]) -> Result<(), StoreError> {
    let (mut removals, mut inserts) = (BTreeSet::new(), BTreeMap::new());
    for change in changes {
        match change {
            Change::Insert(key, tokens) => drop(inserts.insert(*key, tokens)),
            Change::Update(key, tokens) => {
                removals.insert(*key);
                inserts.insert(*key, tokens);
            }
            Change::Remove(key) => {
                removals.insert(*key);
                inserts.remove(key);
            }
        }
    }
    let removed = Removed::remove(tx, &removals)?;
    insert(tx, &inserts, &removed)
}

/// The entries that were removed.
#[derive(Default)]
struct Removed {
    posts: i64,
    length: i64,
}

impl Removed {
    /// Removes the entries of posts.
    fn remove(tx: &mut dyn Tx, keys: &BTreeSet<PostKey>) -> Result<Self, StoreError> {
        let keys: Vec<[Arg<'_>; 1]> = keys.iter().map(|key| [(*key).into()]).collect();
        let rows = row_each(tx, "DELETE FROM post_index WHERE post = $1 RETURNING entry, length", &keys)?;
        let (mut removed, mut entries) = (Self::default(), Vec::new());
        for mut row in rows.into_iter().flatten() {
            entries.push(row.take::<i64>(0)?);
            removed.posts += 1;
            removed.length += row.take::<i64>(1)?;
        }
        if !entries.is_empty() {
            let recent: Vec<[Arg<'_>; 1]> = entries.iter().map(|entry| [(*entry).into()]).collect();
            let were_recent = run_each(tx, "DELETE FROM post_index_recent WHERE entry = $1", &recent)?;
            let others = entries.into_iter().zip(were_recent).filter(|(_, rows)| *rows == 0);
            Self::count_dead(tx, others.map(|(entry, _)| entry.cast_unsigned()))?;
        }
        Ok(removed)
    }

    /// Counts entries as dead in their segments.
    fn count_dead(tx: &mut dyn Tx, entries: impl Iterator<Item = u64>) -> Result<(), StoreError> {
        let (segments, mut dead) = (Segment::ready(tx)?, BTreeMap::<i64, i64>::new());
        for entry in entries {
            let segment = segments.iter().find(|segment| (segment.first..=segment.last).contains(&entry));
            if let Some(segment) = segment {
                *dead.entry(segment.id).or_default() += 1;
            }
        }
        let rows: Vec<[Arg<'_>; 2]> =
            dead.into_iter().map(|(segment, more)| [segment.into(), more.into()]).collect();
        run_each(tx, "UPDATE post_segment SET dead = dead + $2 WHERE segment = $1", &rows).map(drop)
    }
}

/// Inserts posts, and writes the change in the number and the length of all posts.
fn insert(
    tx: &mut dyn Tx,
    inserts: &BTreeMap<PostKey, &Arc<TokenFields>>,
    removed: &Removed,
) -> Result<(), StoreError> {
    let words: Vec<(Vec<u8>, u32)> = inserts.values().map(|tokens| codec::words(tokens)).collect();
    let length = words.iter().map(|(_, length)| i64::from(*length)).sum::<i64>() - removed.length;
    let number = i64::try_from(words.len()).map_err(StoreError::other)?;
    let sql = "UPDATE post_index_size
               SET posts = posts + $1, length = length + $2, last_entry = last_entry + $3 WHERE one = 1
               RETURNING last_entry";
    let args = [(number - removed.posts).into(), length.into(), number.into()];
    let last: i64 = tx.one(sql, &args)?.take(0)?;
    if words.is_empty() {
        return Ok(());
    }
    let first = last - number + 1;
    let rows: Vec<[Arg<'_>; 3]> = inserts
        .keys()
        .zip(first..)
        .zip(&words)
        .map(|((key, entry), (_, length))| [(*key).into(), entry.into(), i64::from(*length).into()])
        .collect();
    run_each(tx, "INSERT INTO post_index (post, entry, length) VALUES ($1, $2, $3)", &rows)?;
    let posts: Vec<(u64, Vec<u8>)> =
        (first.cast_unsigned()..).zip(words.into_iter().map(|(words, _)| words)).collect();
    if posts.len() < SEGMENT_MIN && recent(tx)? + posts.len() <= RECENT_MAX {
        let rows: Vec<[Arg<'_>; 2]> =
            posts.iter().map(|(entry, words)| [entry.cast_signed().into(), words.into()]).collect();
        return run_each(tx, "INSERT INTO post_index_recent (entry, words) VALUES ($1, $2)", &rows).map(drop);
    }
    let (segments, mut all) = (Segment::ready(tx)?, Vec::new());
    search::for_each_recent(tx, &segments, &mut |entry, words| {
        all.push((entry, words));
        Ok(())
    })?;
    if !all.is_empty() {
        tx.run("DELETE FROM post_index_recent", &[])?;
    }
    all.extend(posts);
    Segment::insert_of(tx, &all)
}

/// Returns the number of recent posts.
fn recent(tx: &mut dyn Tx) -> Result<usize, StoreError> {
    // From the first one on, because the index has the entries of deleted rows until it is vacuumed.
    let sql = "SELECT count(*) FROM post_index_recent
               WHERE entry > (SELECT coalesce(max(last_entry), 0) FROM post_segment WHERE state = 1)";
    usize::try_from(tx.one(sql, &[])?.take::<i64>(0)?).map_err(StoreError::other)
}

/// Returns the key up to which posts are not in the index yet.
pub(super) fn unindexed(tx: &mut dyn Tx) -> Result<Option<PostKey>, StoreError> {
    tx.one("SELECT unindexed FROM post_index_size WHERE one = 1", &[])?.take(0)
}

/// Sets the key up to which posts are not in the index yet.
pub(super) fn set_unindexed(tx: &mut dyn Tx, key: Option<PostKey>) -> Result<(), StoreError> {
    tx.run("UPDATE post_index_size SET unindexed = $1 WHERE one = 1", &[key.into()]).map(drop)
}

/// Empties the index.
pub(super) fn clear(tx: &mut dyn Tx) -> Result<(), StoreError> {
    for table in ["post_index", "post_index_recent", "post_segment"] {
        tx.run(&format!("DELETE FROM {table}"), &[])?;
    }
    tx.run("UPDATE post_index_size SET posts = 0, length = 0, unindexed = NULL", &[])?;
    Ok(())
}
