//! Merges segments, so that there are few of them.
//!
//! A merge takes neighbouring segments of about the same size. It reads a snapshot, and writes the blocks of the new segment
//! in short transactions that delay no other write. One short transaction makes searches read the new segment in place of
//! the old ones, unless another merge has replaced one of these. What it leaves is deleted later.

use std::collections::VecDeque;
use std::ops::Range;

use super::block::{self, BlockWriter};
use super::codec::{Damaged, Place, Postings};
use super::entries::EntrySet;
use super::segment::{Segment, State};
use crate::store::{Access, Isolation, StoreError, Tx};

/// The number of segments of about one size that become one.
const MERGED: i64 = 8;
/// The number of entries that a segment of the second size has at least. Each size has [`MERGED`] times the entries.
const SECOND_SIZE: i64 = 512;
/// A segment is written again if more than one in this number of its entries are dead.
const DEAD: i64 = 4;
/// The number of blocks of an input that are read at once.
const READ_AT_ONCE: i64 = 64;
/// The number of blocks of replaced segments that one transaction deletes.
const DELETE_AT_ONCE: i64 = 512;

/// The number of deleted blocks from which on their space is made free for new ones. Each has about 8 kB.
///
/// An import merges faster than the server looks for deleted rows, and the table would become some six times as large as its
/// content. Smaller merges are soon followed by a larger one.
const RECLAIM: i64 = 512;

/// Returns the segments to merge next, if any.
fn plan(segments: &[Segment]) -> Option<Range<usize>> {
    let size = |segment: &Segment| {
        let live = (segment.entries - segment.dead).max(1);
        (live * MERGED / SECOND_SIZE).max(1).ilog(MERGED)
    };
    let sizes: Vec<u32> = segments.iter().map(size).collect();
    // Small ones first. Smaller ones before and between the others are merged with them: larger neighbours would separate
    // them from later ones of their size.
    for size in 0..=sizes.iter().copied().max().unwrap_or_default() {
        let (mut first, mut count) = (0, 0);
        for (at, found) in sizes.iter().enumerate() {
            if *found > size {
                (first, count) = (at + 1, 0);
            } else if *found == size {
                count += 1;
                if count == MERGED {
                    return Some(first..at + 1);
                }
            }
        }
    }
    let rotten = segments.iter().position(|segment| segment.dead * DEAD > segment.entries)?;
    Some(rotten..rotten + 1)
}

/// Returns whether segments should be merged.
pub(in crate::post::index) fn is_due(tx: &mut dyn Tx) -> Result<bool, StoreError> {
    Ok(plan(&Segment::ready(tx)?).is_some())
}

/// Merges segments as long as that is due, after it has deleted what killed processes have left.
///
/// # Errors
/// An error of the store; [`StoreError::Interrupted`] when `is_stopped` returns true; when the index is damaged.
pub(in crate::post::index) fn merge<A: Access + ?Sized>(
    database: &A,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), StoreError> {
    // Another process that merges at this time begins again.
    delete(database, &database.read(Segment::not_ready)?)?;
    let mut next = database.read(Merge::next)?;
    while let Some(merge) = next {
        merge.run(database, is_stopped)?;
        next = database.read(Merge::next)?;
        if next.is_some() && is_stopped() {
            return Err(StoreError::Interrupted);
        }
    }
    Ok(())
}

/// Deletes segments that searches do not read, and leaves others.
fn delete<A: Access + ?Sized>(database: &A, segments: &[i64]) -> Result<(), StoreError> {
    for segment in segments {
        let (segment, mut after) = (*segment, Some((String::new(), -1)));
        while let Some(begin) = after {
            after = database.write(Isolation::Locking, move |tx| delete_after(tx, segment, &begin))?;
        }
    }
    Ok(())
}

/// Deletes the next blocks of a segment, after one with this word and part. Returns the last of them; `None` after the segment
/// itself was deleted.
///
/// It begins after the deleted blocks, because reading over them takes as long as if they were there.
fn delete_after(
    tx: &mut dyn Tx,
    segment: i64,
    (word, part): &(String, i64),
) -> Result<Option<(String, i64)>, StoreError> {
    let ready = State::Ready as i64;
    let sql =
        "SELECT b.first_word, b.part FROM post_segment s JOIN post_segment_block b ON b.segment = s.segment
               WHERE s.segment = $1 AND s.state <> $2 AND (b.first_word, b.part) > ($3, $4)
               ORDER BY b.first_word, b.part LIMIT 1 OFFSET $5";
    let args = [segment.into(), ready.into(), word.into(), (*part).into(), (DELETE_AT_ONCE - 1).into()];
    let Some(mut row) = tx.row(sql, &args)? else {
        // With the blocks that are left.
        let sql = "DELETE FROM post_segment WHERE segment = $1 AND state <> $2";
        tx.run(sql, &[segment.into(), ready.into()])?;
        return Ok(None);
    };
    let last: (String, i64) = (row.take(0)?, row.take(1)?);
    let sql = "DELETE FROM post_segment_block
               WHERE segment = $1 AND (first_word, part) > ($2, $3) AND (first_word, part) <= ($4, $5)";
    tx.run(sql, &[segment.into(), word.into(), (*part).into(), (&last.0).into(), last.1.into()])?;
    Ok(Some(last))
}

/// A merge: its inputs in the order of their entries, and the new segment, as they were in one snapshot.
struct Merge {
    inputs: Vec<Segment>,
    new: Segment,
    live: EntrySet,
}

impl Merge {
    /// Returns the next merge, if any is due.
    fn next(tx: &mut dyn Tx) -> Result<Option<Self>, StoreError> {
        let segments = Segment::ready(tx)?;
        let Some(inputs) = plan(&segments).and_then(|range| segments.get(range)) else { return Ok(None) };
        let [Some(first), Some(last)] = [inputs.first(), inputs.last()] else { return Ok(None) };
        let live = live(tx, first.first, last.last)?;
        let new = Segment::new(first.first, last.last, live.count());
        Ok(Some(Self { inputs: inputs.to_vec(), new, live }))
    }

    /// Replaces the inputs. If another process replaces one of them at the same time, nothing changes.
    fn run<A: Access + ?Sized>(&self, database: &A, is_stopped: &dyn Fn() -> bool) -> Result<(), StoreError> {
        if self.new.entries > 0 {
            let new = self.new.clone();
            database.write(Isolation::Concurrent, move |tx| new.insert(tx, State::Begun))?;
        }
        let written = self.write(database, is_stopped);
        match written.and_then(|blocks| self.publish(database, blocks)) {
            // Another process has taken the new segment for that of a killed one.
            Err(StoreError::Dangling) => Ok(()),
            Err(error) => Err(error),
            // Deletes either the inputs or what this merge has written.
            Ok(()) => {
                let all: Vec<i64> = self.inputs.iter().chain([&self.new]).map(|segment| segment.id).collect();
                delete(database, &all)?;
                let deleted: i64 = self.inputs.iter().map(|segment| segment.blocks).sum();
                if deleted >= RECLAIM
                    && let Err(error) = database.reclaim("post_segment_block", is_stopped)
                {
                    tracing::debug!(%error, "the space of replaced blocks is reused later");
                }
                Ok(())
            }
        }
    }

    /// Writes the blocks of the new segment. Returns their number.
    fn write<A: Access + ?Sized>(
        &self,
        database: &A,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<i64, StoreError> {
        let (mut writer, mut count) = (BlockWriter::default(), 0);
        let mut inputs: Vec<Input> = self.inputs.iter().map(|segment| Input::of(segment.id)).collect();
        inputs.iter_mut().try_for_each(|input| input.advance(database))?;
        while let Some(word) = inputs.iter().filter_map(Input::word).min().map(ToOwned::to_owned) {
            writer.begin(&word);
            let mut last = 0;
            for input in &mut inputs {
                while input.word() == Some(&word) {
                    let mut postings = input.postings();
                    while let Some(posting) = postings.next()? {
                        if posting.entry <= std::mem::replace(&mut last, posting.entry) {
                            return Err(Damaged.into());
                        }
                        if self.live.contains(posting.entry) {
                            writer.push(posting);
                        }
                    }
                    input.advance(database)?;
                }
            }
            writer.end();
            if writer.len() >= block::AT_ONCE {
                count += self.insert(database, writer.take())?;
                if is_stopped() {
                    return Err(StoreError::Interrupted);
                }
            }
        }
        Ok(count + self.insert(database, writer.finish())?)
    }

    fn insert<A: Access + ?Sized>(&self, database: &A, blocks: Vec<block::Block>) -> Result<i64, StoreError> {
        let (segment, count) = (self.new.id, blocks.len());
        // Rows that no other transaction knows of. Another process may have deleted their segment.
        database.write(Isolation::Concurrent, move |tx| block::insert(tx, segment, &blocks))?;
        i64::try_from(count).map_err(StoreError::other)
    }

    /// Replaces the inputs with the new segment, unless another process has replaced one of them.
    fn publish<A: Access + ?Sized>(&self, database: &A, blocks: i64) -> Result<(), StoreError> {
        let (inputs, new) = (self.inputs.clone(), self.new.clone());
        // Alone, because posts may not be changed or removed meanwhile, nor segments replaced.
        database.write(Isolation::Alone, move |tx| {
            let current = Segment::ready(tx)?;
            let mut dead = 0;
            for input in &inputs {
                let Some(current) = current.iter().find(|current| current.id == input.id) else {
                    return Ok(());
                };
                dead += current.dead - input.dead;
            }
            let sql = "UPDATE post_segment SET state = $2, dead = $3, blocks = $4 WHERE segment = $1 AND state = $5";
            let [ready, begun, replaced] =
                [State::Ready, State::Begun, State::Replaced].map(|state| state as i64);
            let args = [new.id, ready, dead, blocks, begun].map(Into::into);
            if new.entries > 0 && tx.run(sql, &args)? == 0 {
                return Ok(());
            }
            for input in &inputs {
                let sql = "UPDATE post_segment SET state = $2 WHERE segment = $1";
                tx.run(sql, &[input.id.into(), replaced.into()])?;
            }
            Ok(())
        })
    }
}

/// Returns the entries in a range whose posts have not changed since.
fn live(tx: &mut dyn Tx, first: u64, last: u64) -> Result<EntrySet, StoreError> {
    let mut live = EntrySet::new(first, last)?;
    let sql = "SELECT entry FROM post_index WHERE entry >= $1 AND entry <= $2";
    tx.for_each(sql, &[first.cast_signed().into(), last.cast_signed().into()], &mut |row| {
        Ok(live.insert(row.take::<i64>(0)?.cast_unsigned())?)
    })?;
    Ok(live)
}

/// The records of a segment while they are read in order.
#[derive(Default)]
struct Input {
    segment: i64,
    /// The word and the part of the last block that was read.
    last: Option<(String, i64)>,
    blocks: VecDeque<Vec<u8>>,
    /// The current record, in the first block.
    record: Place,
    word: String,
    is_at_end: bool,
}

impl Input {
    fn of(segment: i64) -> Self {
        Self { segment, ..Self::default() }
    }

    /// Returns the word of the current record.
    fn word(&self) -> Option<&str> {
        (!self.is_at_end).then_some(&*self.word)
    }

    /// Returns the postings of the current record.
    fn postings(&self) -> Postings<'_> {
        Postings::new(self.blocks.front().map(|block| self.record.postings(block)).unwrap_or_default())
    }

    /// Goes to the next record.
    fn advance<A: Access + ?Sized>(&mut self, database: &A) -> Result<(), StoreError> {
        loop {
            let Some(block) = self.blocks.front() else {
                self.read(database)?;
                self.is_at_end = self.blocks.is_empty();
                if self.is_at_end {
                    return Ok(());
                }
                continue;
            };
            if self.record.advance(block)? {
                break;
            }
            self.blocks.pop_front();
            self.record = Place::default();
        }
        let word = str::from_utf8(&self.record.word).map_err(|_| Damaged)?;
        if word < &*self.word {
            return Err(Damaged.into());
        }
        self.word.clear();
        self.word.push_str(word);
        Ok(())
    }

    /// Reads the next blocks. If another process has replaced the segment, it has none any more, and the merge is not
    /// published.
    fn read<A: Access + ?Sized>(&mut self, database: &A) -> Result<(), StoreError> {
        let sql = "SELECT first_word, part, data FROM post_segment_block
                   WHERE segment = $1 AND (first_word, part) > ($2, $3) ORDER BY first_word, part LIMIT $4";
        let (word, part) = self.last.take().unwrap_or((String::new(), -1));
        let args = [self.segment.into(), (&word).into(), part.into(), READ_AT_ONCE.into()];
        for mut row in database.read(|tx| tx.rows(sql, &args))? {
            self.last = Some((row.take(0)?, row.take(1)?));
            self.blocks.push_back(row.take(2)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(entries: &[(i64, i64)]) -> Vec<Segment> {
        let mut first = 1;
        let segment = |(entries, dead): &(i64, i64)| {
            let segment = Segment { dead: *dead, ..Segment::new(first, first + 9, *entries) };
            first += 10;
            segment
        };
        entries.iter().map(segment).collect()
    }

    #[test]
    fn eight_neighbours_of_one_size_are_merged() {
        assert_eq!(plan(&[]), None);
        assert_eq!(plan(&segments(&[(200, 0); 7])), None);
        assert_eq!(plan(&segments(&[(200, 0); 9])), Some(0..8));
        let (large, small) = ((30_000, 0), (100, 0));
        let mixed: Vec<_> = [[large; 7].to_vec(), [small; 8].to_vec()].concat();
        assert_eq!(plan(&segments(&mixed)), Some(7..15), "small ones first");
        let between: Vec<_> = [[large; 4].to_vec(), [small; 2].to_vec(), [large; 4].to_vec()].concat();
        assert_eq!(plan(&segments(&between)), Some(0..10));
        let before: Vec<_> = [vec![large], [small; 2].to_vec(), [(600, 0); 8].to_vec()].concat();
        assert_eq!(plan(&segments(&before)), Some(1..11));
        let interrupted: Vec<_> = [[small; 4].to_vec(), vec![large], [small; 4].to_vec()].concat();
        assert_eq!(plan(&segments(&interrupted)), None);
    }

    #[test]
    fn a_segment_with_many_dead_entries_is_written_again() {
        assert_eq!(plan(&segments(&[(1_000, 250), (100, 26)])), Some(1..2));
        assert_eq!(plan(&segments(&[(1_000, 250), (100, 25)])), None);
    }

    #[test]
    fn the_number_of_segments_grows_with_the_logarithm_of_their_entries() {
        // Of one size, then of different ones as those of an import.
        for (sizes, bound) in [([200; 4], 30), ([128, 256, 600, 384], 50)] {
            let (most, written) = most_and_written(sizes);
            assert!(most <= bound && written <= 4_000_000, "{sizes:?}: {most} {written}");
        }
    }

    /// Inserts segments of a million entries together, whose sizes alternate in no regular way. Returns the greatest number of
    /// segments at a time, and the number of entries that merges wrote.
    fn most_and_written(sizes: [i64; 4]) -> (usize, i64) {
        let (mut all, mut most, mut written, mut random, mut inserted) = (Vec::new(), 0, 0, 1_u32, 0);
        while inserted < 1_000_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let entries = sizes[(random >> 30) as usize];
            inserted += entries;
            all.push((entries, 0));
            while let Some(range) = plan(&segments(&all)) {
                let entries = all[range.clone()].iter().map(|(entries, _)| entries).sum::<i64>();
                written += entries;
                all.splice(range, [(entries, 0)]);
            }
            most = most.max(all.len());
        }
        (most, written)
    }
}
