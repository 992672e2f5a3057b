//! Checks of the index itself.

use super::codec::{Damaged, Place, Postings, for_each_word};
use super::entries::EntrySet;
use super::search::for_each_recent;
use super::segment::Segment;
use crate::store::{StoreError, Tx};

/// Returns the faults of the segments and the recent posts, for people.
pub(in crate::post::index) fn damage(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
    let (segments, mut faults, mut last) = (Segment::ready(tx)?, Vec::new(), 0);
    for segment in &segments {
        match entries_of(tx, segment)? {
            Some(entries) => for_each_live(tx, last, segment.last, &mut |entry, post| {
                if !entries.contains(entry) {
                    faults.push(format!("the words of post number {post}"));
                }
            })?,
            None => faults.push(format!("the words of entries {} to {}", segment.first, segment.last)),
        }
        last = segment.last;
    }
    let mut recent = Vec::new();
    for_each_recent(tx, &segments, &mut |entry, words| {
        if for_each_word(&words, |_, _| ()).is_ok() {
            recent.push(entry);
        }
        Ok(())
    })?;
    for_each_live(tx, last, u64::MAX >> 1, &mut |entry, post| {
        if recent.binary_search(&entry).is_err() {
            faults.push(format!("the words of post number {post}"));
        }
    })?;
    Ok(faults)
}

/// Calls `each` with the entries of posts with words in a range, and with the posts.
fn for_each_live(
    tx: &mut dyn Tx,
    after: u64,
    last: u64,
    each: &mut dyn FnMut(u64, i64),
) -> Result<(), StoreError> {
    let sql = "SELECT entry, post FROM post_index WHERE entry > $1 AND entry <= $2 AND length > 0";
    tx.for_each(sql, &[after.cast_signed().into(), last.cast_signed().into()], &mut |row| {
        each(row.take::<i64>(0)?.cast_unsigned(), row.take(1)?);
        Ok(())
    })
}

/// Returns the entries that have words in a segment; `None` if one of its blocks is damaged or missing.
fn entries_of(tx: &mut dyn Tx, segment: &Segment) -> Result<Option<EntrySet>, StoreError> {
    let Ok(entries) = EntrySet::new(segment.first, segment.last) else { return Ok(None) };
    let mut reader = Reader { entries, word: Vec::new(), last: 0 };
    let (mut blocks, mut is_damaged) = (0, false);
    let sql = "SELECT data, first_word, last_word FROM post_segment_block WHERE segment = $1
               ORDER BY first_word, part";
    tx.for_each(sql, &[segment.id.into()], &mut |row| {
        let (data, first, last): (Vec<u8>, String, String) = (row.take(0)?, row.take(1)?, row.take(2)?);
        blocks += 1;
        is_damaged = is_damaged || reader.read(&data, first.as_bytes(), last.as_bytes()).is_err();
        Ok(())
    })?;
    Ok((!is_damaged && blocks == segment.blocks).then_some(reader.entries))
}

/// Reads the blocks of a segment in order.
struct Reader {
    entries: EntrySet,
    /// The word of the last record, and its last entry.
    word: Vec<u8>,
    last: u64,
}

impl Reader {
    /// Reads a block, of which these are the first and the last word.
    fn read(&mut self, block: &[u8], first: &[u8], last: &[u8]) -> Result<(), Damaged> {
        let (mut record, mut expected) = (Place::default(), Some(first));
        while record.advance(block)? {
            if expected.take().is_some_and(|first| record.word != first) || record.word < self.word {
                return Err(Damaged);
            }
            if record.word > self.word {
                self.word.clone_from(&record.word);
                self.last = 0;
            }
            let (mut postings, mut count) = (Postings::new(record.postings(block)), 0);
            while let Some(posting) = postings.next()? {
                if posting.entry <= std::mem::replace(&mut self.last, posting.entry) {
                    return Err(Damaged);
                }
                self.entries.insert(posting.entry)?;
                count += 1;
            }
            if count != record.count {
                return Err(Damaged);
            }
        }
        if self.word == last { Ok(()) } else { Err(Damaged) }
    }
}
