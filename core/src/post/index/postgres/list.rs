//! Posting lists in the memory of a server.
//!
//! A list has its postings in chunks of up to [`CHUNK`]. Numbers in a chunk have a fixed width, so decoding needs no branch
//! for each. Each chunk has its range of entries and its [frontier](Part::frontier), so a search can tell without decoding
//! the chunk how relevant its postings are at most, and skip it.
//!
//! Reading a list from the database finds damage. A list in memory has none.

use super::bm25::Relevance;
use super::codec::{Damaged, Posting, Postings};

/// The maximum number of postings of a chunk.
pub(super) const CHUNK: usize = 128;

/// Some postings of a word, at least one, in the order of their entries.
#[derive(Debug, Default)]
pub(super) struct List {
    /// The number of postings.
    pub(super) count: u64,
    chunks: Vec<Chunk>,
    /// Of each chunk the distances between its entries, the lengths, and the occurrences.
    bytes: Vec<u8>,
    /// The frontiers of the chunks.
    frontiers: Vec<(u32, u32)>,
}

#[derive(Debug)]
struct Chunk {
    first: u64,
    last: u64,
    /// The places at which its bytes and its frontier begin.
    bytes: u32,
    frontier: u32,
    count: u8,
    distances: Width,
    lengths: Width,
    occurrences: Occurrences,
}

/// The number of bytes of each of some numbers.
#[derive(Clone, Copy, Debug)]
enum Width {
    One = 1,
    Two = 2,
    Four = 4,
    Eight = 8,
}

/// How a chunk has the occurrences of its postings.
#[derive(Clone, Copy, Debug)]
enum Occurrences {
    /// Each is 1.
    Once,
    /// The places in the chunk and the occurrences of so many postings; each of the others is 1.
    Some(u8, Width),
    /// Those of all postings.
    All(Width),
}

impl Width {
    /// Returns the width of numbers, none of which has other bits than this one.
    fn of(bits: u64) -> Self {
        match bits {
            0..0x100 => Self::One,
            0x100..0x1_0000 => Self::Two,
            0x1_0000..0x1_0000_0000 => Self::Four,
            _ => Self::Eight,
        }
    }

    /// Appends numbers.
    fn put(self, out: &mut Vec<u8>, numbers: impl Iterator<Item = u64>) {
        if matches!(self, Self::One) {
            out.extend(numbers.map(|number| number.to_le_bytes()[0]));
            return;
        }
        for number in numbers {
            out.extend_from_slice(&number.to_le_bytes()[..self as usize]);
        }
    }

    /// Takes so many numbers from the begin of `bytes`, and calls `each` with their places and values.
    #[inline]
    fn take(self, bytes: &mut &[u8], count: usize, mut each: impl FnMut(usize, u64)) {
        let (numbers, rest) = bytes.split_at(count * self as usize);
        *bytes = rest;
        match self {
            Self::One => numbers.iter().enumerate().for_each(|(at, number)| each(at, (*number).into())),
            Self::Two => {
                let numbers = numbers.as_chunks().0.iter().enumerate();
                numbers.for_each(|(at, number)| each(at, u16::from_le_bytes(*number).into()));
            }
            Self::Four => {
                let numbers = numbers.as_chunks().0.iter().enumerate();
                numbers.for_each(|(at, number)| each(at, u32::from_le_bytes(*number).into()));
            }
            Self::Eight => {
                let numbers = numbers.as_chunks().0.iter().enumerate();
                numbers.for_each(|(at, number)| each(at, u64::from_le_bytes(*number)));
            }
        }
    }
}

impl List {
    /// Returns the chunks.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        (0..self.chunks.len()).map(|at| Part { list: self, at })
    }

    /// Returns the first and the last entry; `None` without postings.
    pub(super) fn range(&self) -> Option<(u64, u64)> {
        Some((self.chunks.first()?.first, self.chunks.last()?.last))
    }

    /// Returns the size in memory in bytes.
    pub(super) fn size(&self) -> usize {
        size_of_val(self) + size_of_val(&*self.chunks) + size_of_val(&*self.frontiers) + self.bytes.len()
    }
}

/// A chunk of a list.
#[derive(Clone, Copy)]
pub(super) struct Part<'l> {
    list: &'l List,
    at: usize,
}

impl<'l> Part<'l> {
    fn chunk(self) -> &'l Chunk {
        &self.list.chunks[self.at]
    }

    /// Returns the first entry.
    #[inline]
    pub(super) fn first(self) -> u64 {
        self.chunk().first
    }

    /// Returns the last entry.
    #[inline]
    pub(super) fn last(self) -> u64 {
        self.chunk().last
    }

    /// Returns the number of postings.
    pub(super) fn count(self) -> usize {
        self.chunk().count.into()
    }

    /// Returns the occurrences and the lengths of the postings that are not certainly less relevant than another posting of the
    /// chunk: it has as many occurrences in a post that is no longer. Whatever the average length of posts is, one of these is
    /// the most relevant.
    fn frontier(self) -> &'l [(u32, u32)] {
        let end = self.list.chunks.get(self.at + 1).map(|next| next.frontier as usize);
        &self.list.frontiers[self.chunk().frontier as usize..end.unwrap_or(self.list.frontiers.len())]
    }

    /// Returns the relevance of the postings of the frontier, apart from the factor of the word.
    pub(super) fn greatest(self, relevance: Relevance) -> impl Iterator<Item = f64> + use<'l> {
        self.frontier().iter().map(move |(occurrences, length)| relevance.of(*occurrences, *length))
    }

    /// Reads the entries and the relevance of all postings. Returns their number.
    pub(super) fn read(
        self,
        relevance: Relevance,
        factor: f64,
        entries: &mut [u64; CHUNK],
        relevances: &mut [f64; CHUNK],
    ) -> usize {
        let (chunk, count) = (self.chunk(), self.count());
        let mut bytes = &self.list.bytes[chunk.bytes as usize..];
        let mut entry = chunk.first;
        entries[0] = entry;
        let others = &mut entries[1..count];
        chunk.distances.take(&mut bytes, count - 1, |at, distance| {
            entry += distance;
            others[at] = entry;
        });
        let mut lengths = [0; CHUNK];
        let lengths = &mut lengths[..count];
        chunk.lengths.take(&mut bytes, count, |at, length| lengths[at] = narrow(length));
        let mut occurrences = [1; CHUNK];
        match chunk.occurrences {
            Occurrences::Once => {}
            Occurrences::Some(some, width) => {
                let (places, mut rest) = bytes.split_at(some.into());
                let mut put =
                    |at: usize, number| occurrences[usize::from(places[at]) % CHUNK] = narrow(number);
                width.take(&mut rest, some.into(), &mut put);
            }
            Occurrences::All(width) => {
                width.take(&mut bytes, count, |at, number| occurrences[at] = narrow(number));
            }
        }
        for ((out, occurrences), length) in relevances.iter_mut().zip(&occurrences).zip(lengths) {
            *out = factor * relevance.of(*occurrences, *length);
        }
        count
    }
}

/// Returns a number that a chunk has of 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "it was written from as many bits")]
fn narrow(number: u64) -> u32 {
    number as u32
}

/// Writes a list.
pub(super) struct ListWriter {
    list: List,
    open: Open,
}

/// The postings of the chunk that is being written.
struct Open {
    count: usize,
    first: u64,
    last: u64,
    /// From the entry before to each entry; 0 for the first one.
    distances: [u64; CHUNK],
    lengths: [u32; CHUNK],
    occurrences: [u32; CHUNK],
}

impl Default for ListWriter {
    fn default() -> Self {
        let open = Open {
            count: 0,
            first: 0,
            last: 0,
            distances: [0; CHUNK],
            lengths: [0; CHUNK],
            occurrences: [0; CHUNK],
        };
        Self { list: List::default(), open }
    }
}

impl ListWriter {
    /// Reads the bytes of a posting list, whose entries are after those before.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(), Damaged> {
        let mut postings = Postings::new(bytes);
        while let Some(posting) = postings.next()? {
            self.push(posting)?;
        }
        Ok(())
    }

    /// Appends a posting.
    ///
    /// # Errors
    /// When its entry is not greater than those before.
    #[inline]
    pub(super) fn push(&mut self, Posting { entry, occurrences, length }: Posting) -> Result<(), Damaged> {
        if entry <= self.open.last && self.count() > 0 {
            return Err(Damaged);
        }
        if self.open.count == CHUNK {
            self.close()?;
        }
        let open = &mut self.open;
        let at = open.count % CHUNK;
        if at == 0 {
            (open.first, open.last) = (entry, entry);
        }
        open.distances[at] = entry - open.last;
        open.lengths[at] = length;
        open.occurrences[at] = occurrences;
        open.last = entry;
        open.count += 1;
        Ok(())
    }

    /// Returns the number of postings.
    pub(super) fn count(&self) -> u64 {
        self.list.count + self.open.count as u64
    }

    /// Returns the list.
    pub(super) fn finish(mut self) -> Result<List, Damaged> {
        self.close()?;
        let List { chunks, bytes, frontiers, .. } = &mut self.list;
        chunks.shrink_to_fit();
        bytes.shrink_to_fit();
        frontiers.shrink_to_fit();
        Ok(self.list)
    }

    /// Ends the chunk.
    fn close(&mut self) -> Result<(), Damaged> {
        let Self { list: List { count, chunks, bytes, frontiers }, open } = self;
        if open.count == 0 {
            return Ok(());
        }
        let place = |size: usize| u32::try_from(size).map_err(|_| Damaged);
        let (all_distances, all_lengths, all_occurrences) =
            (&open.distances[..open.count], &open.lengths[..open.count], &open.occurrences[..open.count]);
        let distances = Width::of(all_distances.iter().fold(0, |bits, number| bits | number));
        let lengths = Width::of(all_lengths.iter().fold(0, |bits, number| bits | number).into());
        let occurrences = Width::of(all_occurrences.iter().fold(0, |bits, number| bits | number).into());
        let several = || (0..).zip(all_occurrences).filter(|(_, occurrences)| **occurrences != 1);
        let chunk = Chunk {
            first: open.first,
            last: open.last,
            bytes: place(bytes.len())?,
            frontier: place(frontiers.len())?,
            count: u8::try_from(open.count).map_err(|_| Damaged)?,
            distances,
            lengths,
            occurrences: match u8::try_from(several().count()).map_err(|_| Damaged)? {
                0 => Occurrences::Once,
                some if 2 * usize::from(some) < open.count => Occurrences::Some(some, occurrences),
                _ => Occurrences::All(occurrences),
            },
        };
        distances.put(bytes, all_distances[1..].iter().copied());
        lengths.put(bytes, all_lengths.iter().copied().map(u64::from));
        match chunk.occurrences {
            Occurrences::Once => {}
            Occurrences::Some(_, width) => {
                Width::One.put(bytes, several().map(|(at, _)| at));
                width.put(bytes, several().map(|(_, occurrences)| u64::from(*occurrences)));
            }
            Occurrences::All(width) => {
                width.put(bytes, all_occurrences.iter().copied().map(u64::from));
            }
        }
        put_frontier(frontiers, all_occurrences, all_lengths);
        *count += open.count as u64;
        chunks.push(chunk);
        open.count = 0;
        Ok(())
    }
}

/// Appends the [frontier](Part::frontier) of a chunk.
fn put_frontier(frontiers: &mut Vec<(u32, u32)>, occurrences: &[u32], lengths: &[u32]) {
    let begin = frontiers.len();
    let mut once = u32::MAX;
    for (&occurrences, &length) in occurrences.iter().zip(lengths) {
        if occurrences == 1 {
            once = once.min(length);
        } else if !frontiers[begin..].iter().any(|other| other.0 >= occurrences && other.1 <= length) {
            let mut at = begin;
            while at < frontiers.len() {
                if frontiers[at].0 <= occurrences && frontiers[at].1 >= length {
                    frontiers.swap_remove(at);
                } else {
                    at += 1;
                }
            }
            frontiers.push((occurrences, length));
        }
    }
    if occurrences.contains(&1) && frontiers[begin..].iter().all(|other| other.0 == 0 || other.1 > once) {
        frontiers.push((1, once));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::codec::tests::ascending;
    use super::*;

    fn postings() -> impl Strategy<Value = Vec<Posting>> {
        let distance = prop_oneof![20 => 1_u64..200, 1 => 1_u64..1 << 16, 1 => 1_u64..1 << 40];
        let number = prop_oneof![30 => Just(1_u32), 10 => 1_u32..200, 1 => any::<u32>()];
        ascending(distance, number, 400)
    }

    #[test]
    fn entries_ascend() {
        let posting = |entry| Posting { entry, occurrences: 1, length: 9 };
        let mut list = ListWriter::default();
        for entry in 1..=CHUNK as u64 {
            assert_eq!(list.push(posting(entry)), Ok(()));
        }
        assert_eq!(list.push(posting(CHUNK as u64)), Err(Damaged), "the first of a chunk");
        assert_eq!(list.push(posting(CHUNK as u64 + 1)), Ok(()));
        assert_eq!(list.push(posting(CHUNK as u64 + 1)), Err(Damaged));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn postings_are_read_as_they_were_written(postings in postings(), length in 1_i64..100_000) {
            let (relevance, mut writer) = (Relevance::new(1_000, length), ListWriter::default());
            for posting in &postings {
                writer.push(*posting).unwrap();
            }
            let list = writer.finish().unwrap();
            prop_assert_eq!(list.count, postings.len() as u64);
            let range = postings.first().zip(postings.last()).map(|(first, last)| (first.entry, last.entry));
            prop_assert_eq!(list.range(), range);
            for (part, postings) in list.parts().zip(postings.chunks(CHUNK)) {
                let (mut entries, mut relevances) = ([0; CHUNK], [0.0; CHUNK]);
                let count = part.read(relevance, 3.0, &mut entries, &mut relevances);
                let read: Vec<_> = entries.into_iter().zip(relevances).take(count).collect();
                let of = |posting: &Posting| 3.0 * relevance.of(posting.occurrences, posting.length);
                let written: Vec<_> = postings.iter().map(|posting| (posting.entry, of(posting))).collect();
                prop_assert_eq!((part.first(), part.last()), (entries[0], entries[count - 1]));
                let greatest = |relevances: &mut dyn Iterator<Item = f64>| relevances.fold(0.0, f64::max);
                let expected = greatest(&mut read.iter().map(|(_, relevance)| *relevance));
                let found = 3.0 * greatest(&mut part.greatest(relevance));
                prop_assert!((found - expected).abs() <= 1e-12 * expected, "{} {}", found, expected);
                prop_assert_eq!(read, written);
            }
        }
    }
}
