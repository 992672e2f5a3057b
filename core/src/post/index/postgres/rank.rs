//! The entries that have a word of a query, with their relevance.

use std::sync::Arc;

use super::bm25::Relevance;
use super::list::{CHUNK, List, Part};

/// The number of entries whose relevance is computed at the same time: their sums fit into the first cache of a core.
pub(super) const WINDOW: usize = 4_096;

/// An entry that matches, with its relevance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    pub(super) entry: u64,
    pub(super) relevance: f64,
}

/// A word of a query.
#[derive(Default)]
pub(super) struct Word {
    pub(super) token: String,
    pub(super) weight: f64,
    /// The factor of its relevance in every post.
    pub(super) factor: f64,
    /// Its postings, in the order of their entries.
    pub(super) lists: Vec<Arc<List>>,
}

impl Word {
    /// Returns the number of its postings.
    pub(super) fn count(&self) -> u64 {
        self.lists.iter().map(|list| list.count).sum()
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.lists.iter().flat_map(|list| list.parts())
    }
}

/// Calls `each` with every entry that has one of the words, in ascending order.
pub(super) fn for_each(words: &[Word], relevance: Relevance, mut each: impl FnMut(Match)) {
    let mut cursors: Vec<Cursor<'_>> = words.iter().map(|word| Cursor::new(word, relevance)).collect();
    let mut sums = vec![0.0; WINDOW];
    while let Some(begin) = cursors.iter().filter_map(Cursor::entry).min() {
        let mut used = 0;
        for cursor in &mut cursors {
            used = used.max(cursor.add(begin, &mut sums));
        }
        for (entry, sum) in (begin..).zip(&mut sums[..used]) {
            if *sum > 0.0 {
                each(Match { entry, relevance: std::mem::take(sum) });
            }
        }
    }
}

/// Reads the postings of a word in the order of their entries.
struct Cursor<'w> {
    parts: Box<dyn Iterator<Item = Part<'w>> + 'w>,
    relevance: Relevance,
    factor: f64,
    entries: [u64; CHUNK],
    relevances: [f64; CHUNK],
    /// The places of the next posting and of the end of the chunk.
    at: usize,
    end: usize,
}

impl<'w> Cursor<'w> {
    fn new(word: &'w Word, relevance: Relevance) -> Self {
        let parts = Box::new(word.parts());
        let (entries, relevances) = ([0; CHUNK], [0.0; CHUNK]);
        let mut cursor = Self { parts, relevance, factor: word.factor, entries, relevances, at: 0, end: 0 };
        cursor.next_chunk();
        cursor
    }

    fn next_chunk(&mut self) {
        self.at = 0;
        let Self { entries, relevances, .. } = self;
        let read = |part: Part<'_>| part.read(self.relevance, self.factor, entries, relevances);
        self.end = self.parts.next().map_or(0, read);
    }

    /// Returns the entry of the next posting.
    fn entry(&self) -> Option<u64> {
        self.entries[..self.end].get(self.at).copied()
    }

    /// Adds the relevance of the postings of a window to its sums. Returns the number of sums up to the last of them.
    fn add(&mut self, begin: u64, sums: &mut [f64]) -> usize {
        let mut used = 0;
        while self.at < self.end {
            let postings = self.entries[self.at..self.end].iter().zip(&self.relevances[self.at..self.end]);
            let before = self.at;
            for (entry, relevance) in postings {
                // No entry is before the window.
                let Some((at, sum)) =
                    usize::try_from(entry - begin).ok().and_then(|at| Some((at, sums.get_mut(at)?)))
                else {
                    return used;
                };
                *sum += relevance;
                used = at + 1;
                self.at += 1;
            }
            debug_assert!(self.at > before);
            self.next_chunk();
        }
        used
    }
}
