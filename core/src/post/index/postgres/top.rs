//! The most relevant entries, without reading the postings that cannot be among them.
//!
//! The entries are divided into intervals in which each word has postings of one chunk. A chunk tells how relevant its
//! postings are at most. In an interval whose chunks together do not reach the border of the best entries so far, nothing is
//! decoded. In others, the words that do not reach the border together are looked up only in the entries that other words
//! find, and only as long as the entry may reach the border with those that are left.
//!
//! The relevance of an entry is added up in the order of the words, so it is the same number as that of [`rank::for_each`].
//!
//! Sources: Turtle and Flood, *Query evaluation: strategies and optimizations*, Information Processing & Management 31(6),
//! 1995; Ding and Suel, *Faster top-k document retrieval using block-max indexes*, SIGIR 2011.
//!
//! [`rank::for_each`]: super::rank::for_each

use super::bm25::Relevance;
use super::list::{CHUNK, Part};
use super::rank::{Match, WINDOW, Word};
use super::sums::Sums;

/// The rounding of sums in another order is less than this part of them.
const ROUNDING: f64 = 1e-9;

/// Returns the most relevant entries: at least so many, if there are, and with each all of equal relevance.
pub(super) fn best(words: &[Word], relevance: Relevance, number: usize) -> Vec<Match> {
    let mut best = Best::new(number);
    let mut cursors = Vec::with_capacity(words.len());
    for word in words {
        let bound = |part: Part<'_>| word.factor * part.greatest(relevance).fold(0.0, f64::max);
        let chunks: Vec<(Part<'_>, f64)> = word.parts().map(|part| (part, bound(part))).collect();
        best.border = best.border.max(reached(word, relevance, &chunks, best.number));
        cursors.push(Cursor::new(word, relevance, chunks));
    }
    let (order, bounds, candidates) = Default::default();
    let mut search = Search { cursors, best, order, bounds, candidates };
    let (mut sums, mut begin) = (Sums::new(), 0);
    while let Some(interval) = search.interval(begin) {
        begin = interval.1;
        search.find(interval, &mut sums);
    }
    search.best.finish()
}

/// Returns whether no relevance up to `bound` reaches `border`.
fn is_below(bound: f64, border: f64) -> bool {
    bound * (1.0 + ROUNDING) < border
}

struct Search<'w> {
    /// One for each word.
    cursors: Vec<Cursor<'w>>,
    best: Best,
    /// The words that may have postings in the interval, those that add least first.
    order: Vec<usize>,
    /// The greatest relevance of so many of these words together.
    bounds: Vec<f64>,
    /// Entries that have essential words, with the relevance of these words.
    candidates: Vec<(u64, f64)>,
}

impl Search<'_> {
    /// Returns the next interval from `begin` on, which ends before its second entry; `None` after the last posting.
    fn interval(&mut self, begin: u64) -> Option<(u64, u64)> {
        let mut first = u64::MAX;
        for cursor in &mut self.cursors {
            cursor.skip_chunks(begin);
            first = first.min(cursor.first);
        }
        let begin = begin.max(first);
        let end = |cursor: &Cursor<'_>| if cursor.first <= begin { cursor.last + 1 } else { cursor.first };
        let end = self.cursors.iter().map(end).fold(begin.saturating_add(WINDOW as u64), u64::min);
        (first < u64::MAX).then_some((begin, end))
    }

    /// Adds the entries of an interval that may be among the best.
    fn find(&mut self, (begin, end): (u64, u64), sums: &mut Sums) {
        let Self { cursors, order, bounds, candidates, best } = self;
        let (mut all, border) = (0.0, best.border);
        order.clear();
        for (at, cursor) in cursors.iter_mut().enumerate() {
            if cursor.may_have(begin, end) {
                all += cursor.bound;
                order.push(at);
            }
        }
        if is_below(all, border) {
            return;
        }
        let bound = |at: &usize| cursors[*at].bound;
        order.sort_unstable_by(|one, other| bound(one).total_cmp(&bound(other)));
        bounds.clear();
        bounds.push(0.0);
        for at in &*order {
            bounds.push(bounds[bounds.len() - 1] + bound(at));
        }
        // The words before this one do not reach the border without one of the others, which are essential.
        let essential = (1..order.len()).take_while(|n| is_below(bounds[*n], border)).count();
        candidates.clear();
        match &order[essential..] {
            [only] => {
                let found = cursors[*only].postings(begin, end);
                let reaches = |relevance: f64| !is_below(relevance + bounds[essential], border);
                candidates.extend(found.filter(|(_, relevance)| reaches(*relevance)));
            }
            several => {
                for at in several {
                    for (entry, relevance) in cursors[*at].postings(begin, end) {
                        sums.add(entry - begin, relevance);
                    }
                }
                sums.take(|place, sum| {
                    if sum > 0.0 && !is_below(sum + bounds[essential], border) {
                        candidates.push((begin + place, sum));
                    }
                });
            }
        }
        for (entry, mut sum) in candidates.drain(..) {
            let is_found = (0..essential).rev().all(|n| {
                let reaches = !is_below(sum + bounds[n + 1], best.border);
                if reaches {
                    sum += cursors[order[n]].relevance_of(entry);
                }
                reaches
            });
            if is_found && !is_below(sum, best.border) {
                let relevance = cursors.iter_mut().map(|cursor| cursor.relevance_of(entry)).sum();
                best.add(Match { entry, relevance });
            }
        }
    }
}

/// Reads the postings of a word, chunk by chunk. A chunk is decoded when a posting of it is needed.
struct Cursor<'w> {
    /// The range of the current chunk, and the greatest relevance in it. After the last chunk the range is beyond all entries.
    first: u64,
    last: u64,
    bound: f64,
    is_decoded: bool,
    /// The place of the first decoded posting that is not before the interval, and the number of them.
    next: usize,
    end: usize,
    relevance: Relevance,
    factor: f64,
    chunks: std::vec::IntoIter<(Part<'w>, f64)>,
    part: Option<Part<'w>>,
    entries: [u64; CHUNK],
    relevances: [f64; CHUNK],
}

impl<'w> Cursor<'w> {
    fn new(word: &Word, relevance: Relevance, chunks: Vec<(Part<'w>, f64)>) -> Self {
        let mut cursor = Self {
            first: 0,
            last: 0,
            bound: 0.0,
            is_decoded: false,
            next: 0,
            end: 0,
            relevance,
            factor: word.factor,
            chunks: chunks.into_iter(),
            part: None,
            entries: [0; CHUNK],
            relevances: [0.0; CHUNK],
        };
        cursor.advance();
        cursor
    }

    /// Goes to the next chunk.
    fn advance(&mut self) {
        self.is_decoded = false;
        let chunk = self.chunks.next();
        self.part = chunk.map(|(part, _)| part);
        (self.first, self.last, self.bound) =
            chunk.map_or((u64::MAX, u64::MAX - 1, 0.0), |(part, bound)| (part.first(), part.last(), bound));
    }

    /// Goes to the first chunk that ends at `begin` or later.
    fn skip_chunks(&mut self, begin: u64) {
        while self.last < begin && self.part.is_some() {
            self.advance();
        }
    }

    /// Returns whether an interval may have postings.
    fn may_have(&mut self, begin: u64, end: u64) -> bool {
        self.first < end && !(self.is_decoded && self.skip_to(begin).is_none_or(|entry| entry >= end))
    }

    fn decode(&mut self) {
        if let Some(part) = self.part.filter(|_| !self.is_decoded) {
            self.end = part.read(self.relevance, self.factor, &mut self.entries, &mut self.relevances);
            (self.is_decoded, self.next) = (true, 0);
        }
    }

    /// Skips the postings of the decoded chunk before `begin`. Returns the next entry.
    fn skip_to(&mut self, begin: u64) -> Option<u64> {
        let entries = &self.entries[self.next..self.end];
        if entries.first().is_some_and(|entry| *entry < begin) {
            self.next += entries.partition_point(|entry| *entry < begin);
        }
        self.entries[..self.end].get(self.next).copied()
    }

    /// Returns the postings of an interval in the chunk.
    fn postings(&mut self, begin: u64, end: u64) -> impl Iterator<Item = (u64, f64)> {
        self.decode();
        self.skip_to(begin);
        let entries = &self.entries[self.next..self.end];
        let postings = entries.iter().zip(&self.relevances[self.next..self.end]);
        postings.map(|(entry, relevance)| (*entry, *relevance)).take_while(move |(entry, _)| *entry < end)
    }

    /// Returns the relevance of the word in an entry of the interval, which is 0 if the entry does not have it. No entry before
    /// it is asked for later.
    fn relevance_of(&mut self, entry: u64) -> f64 {
        if entry < self.first {
            return 0.0;
        }
        self.decode();
        if self.skip_to(entry) == Some(entry) { self.relevances[self.next] } else { 0.0 }
    }
}

/// Returns the relevance that so many entries have at least by this word alone; 0 for a word with fewer entries.
fn reached(word: &Word, relevance: Relevance, chunks: &[(Part<'_>, f64)], number: usize) -> f64 {
    // The greatest relevance in a chunk is that of one of its entries.
    let mut relevances: Vec<f64> = chunks.iter().map(|(_, greatest)| *greatest).collect();
    if relevances.len() < number && word.count() >= number as u64 {
        let (mut entries, mut read) = ([0; CHUNK], [0.0; CHUNK]);
        relevances.clear();
        for (part, _) in chunks {
            let count = part.read(relevance, word.factor, &mut entries, &mut read);
            relevances.extend_from_slice(&read[..count]);
        }
    }
    if relevances.len() < number {
        return 0.0;
    }
    *relevances.select_nth_unstable_by(number - 1, |one, other| other.total_cmp(one)).1
}

/// Keeps the most relevant of many entries: at least so many, if there are, and with each all of equal relevance.
struct Best {
    number: usize,
    /// The relevance that an entry has at least to be kept.
    border: f64,
    kept: Vec<Match>,
    /// The number of kept entries at which the least relevant ones are dropped.
    full: usize,
}

impl Best {
    fn new(number: usize) -> Self {
        let number = number.max(1);
        Self { number, border: 0.0, kept: Vec::new(), full: 2 * number }
    }

    fn add(&mut self, found: Match) {
        if found.relevance >= self.border && found.relevance > 0.0 {
            self.kept.push(found);
            if self.kept.len() >= self.full {
                self.shrink();
            }
        }
    }

    fn finish(mut self) -> Vec<Match> {
        if self.kept.len() > self.number {
            self.shrink();
        }
        self.kept
    }

    fn shrink(&mut self) {
        let descending = |one: &Match, other: &Match| other.relevance.total_cmp(&one.relevance);
        let (_, last, _) = self.kept.select_nth_unstable_by(self.number - 1, descending);
        self.border = last.relevance;
        self.kept.retain(|found| found.relevance >= self.border);
        // Many may have the same relevance.
        self.full = self.kept.len() + self.number;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::codec::Posting;
    use super::super::list::ListWriter;
    use super::super::rank;
    use super::*;

    /// A word: every how many entries have one of its postings on average, how often it occurs in these at most, its factor,
    /// and the number of its lists.
    type Kind = (u64, u32, f64, u64);

    fn kinds() -> impl Strategy<Value = Vec<Kind>> {
        let density = prop_oneof![Just(1), 2_u64..8, 8_u64..100, 100_u64..5_000, Just(1_000_000)];
        let occurrences = prop_oneof![Just(1), 2_u32..4, Just(300)];
        let factor = prop_oneof![Just(2e-6), Just(1.0), 0.1..20.0];
        prop::collection::vec((density, occurrences, factor, 1_u64..4), 1..9)
    }

    /// The number of entries.
    const ENTRIES: u64 = 20_000;

    /// Returns words of these kinds, with their postings.
    fn words(kinds: &[Kind], seed: u64, lengths: u32) -> Vec<(Word, Vec<Posting>)> {
        let mut random = seed;
        let mut next = move |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % bound
        };
        // Neighbouring entries have similar lengths in some parts, so that chunks differ.
        let length = |number: u64| {
            1 + u32::try_from(number * 7_919 % 97 * (1 + number / 4_096 % 3)).unwrap() % lengths
        };
        let mut word = |(density, occurrences, factor, lists): &Kind| {
            let (mut postings, mut writers) = (Vec::new(), Vec::new());
            writers.resize_with(usize::try_from(*lists).unwrap(), ListWriter::default);
            for entry in (0..ENTRIES).filter(|_| next(*density) == 0).collect::<Vec<_>>() {
                let occurrences = 1 + u32::try_from(next((*occurrences).into())).unwrap();
                let posting = Posting { entry: entry * entry, occurrences, length: length(entry) };
                writers[usize::try_from(entry * lists / ENTRIES).unwrap()].push(posting).unwrap();
                postings.push(posting);
            }
            let lists = writers.into_iter().map(|writer| Arc::new(writer.finish().unwrap())).collect();
            (Word { factor: *factor, lists, ..Word::default() }, postings)
        };
        kinds.iter().map(&mut word).collect()
    }

    fn sorted(mut found: Vec<Match>) -> Vec<(u64, u64)> {
        found.sort_unstable_by_key(|found| found.entry);
        found.into_iter().map(|found| (found.entry, found.relevance.to_bits())).collect()
    }

    #[test]
    fn the_best_entries_are_kept_with_all_of_equal_relevance() {
        // Of three relevances, so that there are many equal ones; the best two entries have different ones.
        let relevance = |entry: u64| match entry {
            77 => 9.0,
            entry if entry % 10 == 3 => 5.0,
            _ => 1.0,
        };
        let mut best = Best::new(2);
        (0..1_000).for_each(|entry| best.add(Match { entry, relevance: relevance(entry) }));
        assert_eq!(best.finish().len(), 101);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn the_best_entries_are_those_of_all_with_the_same_relevance(
            kinds in kinds(), seed: u64, number in 1_usize..700, lengths in prop_oneof![Just(1_u32), 2_u32..400, Just(70_000)],
        ) {
            let relevance = Relevance::new(1_000, 84_000);
            let (words, postings): (Vec<_>, Vec<_>) = words(&kinds, seed, lengths).into_iter().unzip();
            // Of every posting of every word.
            let mut sums = std::collections::BTreeMap::<u64, f64>::new();
            for (word, postings) in words.iter().zip(&postings) {
                for Posting { entry, occurrences, length } in postings {
                    *sums.entry(*entry).or_default() += word.factor * relevance.of(*occurrences, *length);
                }
            }
            let all: Vec<Match> = sums.into_iter().map(|(entry, relevance)| Match { entry, relevance }).collect();
            let mut found = Vec::new();
            rank::for_each(&words, relevance, |one| found.push(one));
            prop_assert_eq!(sorted(found), sorted(all.clone()));
            let mut expected = Best::new(number);
            for one in all {
                expected.add(one);
            }
            prop_assert_eq!(sorted(best(&words, relevance, number)), sorted(expected.finish()));
        }
    }
}
