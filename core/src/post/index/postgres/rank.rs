//! The relevance of entries: BM25 of all that have a word of a query.

use std::sync::Arc;

use super::codec::{Damaged, Posting, Postings};

/// The number of entries whose relevance is computed at the same time: their sums fit into the first cache of a core.
const WINDOW: usize = 4_096;
/// The lengths of posts whose part of the formula is computed once for a search.
const LENGTHS: u32 = 1_024;

/// An entry that matches, with its relevance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    pub(super) entry: u64,
    pub(super) relevance: f64,
}

/// Returns the rarity of a word that `n` of so many posts contain, which is never negative as in FTS5.
#[expect(clippy::cast_precision_loss, reason = "a number of posts")]
pub(super) fn rarity(posts: i64, n: u64) -> f64 {
    let (posts, n) = (posts as f64, n as f64);
    (((posts - n).max(0.0) + 0.5) / (n + 0.5)).ln().max(1e-6)
}

/// The part of the formula that depends on the length of a post.
pub(super) struct Relevance {
    /// What one token adds.
    each: f64,
    /// The relevance of a word that occurs once in a short post, by the length of the post: most postings are such, and
    /// a division takes longer than all else that one needs.
    once: Vec<f64>,
}

impl Relevance {
    #[expect(clippy::cast_precision_loss, reason = "numbers of posts and tokens")]
    pub(super) fn new(posts: i64, length: i64) -> Self {
        let each = 1.2 * 0.75 * posts as f64 / length.max(1) as f64;
        Self { each, once: (0..LENGTHS).map(|length| saturated(1, each, length)).collect() }
    }

    /// Returns the relevance of a posting, apart from the factor of its word.
    #[inline]
    fn of(&self, Posting { occurrences, length, .. }: Posting) -> f64 {
        match self.once.get(length as usize) {
            Some(once) if occurrences == 1 => *once,
            _ => saturated(occurrences, self.each, length),
        }
    }
}

fn saturated(occurrences: u32, each: f64, length: u32) -> f64 {
    let occurrences = f64::from(occurrences);
    occurrences / (occurrences + 0.3 + each * f64::from(length))
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

/// Some postings of a word, in the order of their entries.
#[derive(Debug)]
pub(super) struct List {
    pub(super) count: u64,
    pub(super) bytes: Vec<u8>,
}

/// Calls `each` with every entry that has one of the words, in ascending order.
pub(super) fn for_each(
    words: &[Word],
    relevance: &Relevance,
    mut each: impl FnMut(Match),
) -> Result<(), Damaged> {
    let mut cursors = words.iter().map(Cursor::new).collect::<Result<Vec<_>, _>>()?;
    let mut sums = vec![0.0; WINDOW];
    while let Some(begin) = cursors.iter().filter_map(|cursor| cursor.next).map(|posting| posting.entry).min()
    {
        let mut used = 0;
        for cursor in &mut cursors {
            used = used.max(cursor.add(begin, &mut sums, relevance)?);
        }
        for (entry, sum) in (begin..).zip(&mut sums[..used]) {
            if *sum > 0.0 {
                each(Match { entry, relevance: std::mem::take(sum) });
            }
        }
    }
    Ok(())
}

/// Reads the postings of a word.
struct Cursor<'w> {
    factor: f64,
    lists: std::slice::Iter<'w, Arc<List>>,
    postings: Postings<'w>,
    next: Option<Posting>,
}

impl<'w> Cursor<'w> {
    fn new(word: &'w Word) -> Result<Self, Damaged> {
        let mut cursor =
            Self { factor: word.factor, lists: word.lists.iter(), postings: Postings::default(), next: None };
        cursor.begin_list(0)?;
        Ok(cursor)
    }

    /// Goes on with the next list, whose entries are after `last`.
    fn begin_list(&mut self, last: u64) -> Result<(), Damaged> {
        self.next = None;
        while self.next.is_none()
            && let Some(list) = self.lists.next()
        {
            self.postings = Postings::new(&list.bytes);
            self.next = self.postings.next()?;
        }
        if self.next.is_some_and(|next| next.entry <= last) { Err(Damaged) } else { Ok(()) }
    }

    /// Adds the relevance of the postings of a window to its sums. Returns the number of sums up to the last of them.
    fn add(&mut self, begin: u64, sums: &mut [f64], relevance: &Relevance) -> Result<usize, Damaged> {
        let mut used = 0;
        while let Some(posting) = self.next {
            // No entry is before the window, and a window has fewer entries than a number has values.
            let Some(sum) = usize::try_from(posting.entry - begin).ok().and_then(|at| sums.get_mut(at))
            else {
                break;
            };
            *sum += self.factor * relevance.of(posting);
            used = posting.entry - begin + 1;
            self.next = self.postings.next()?;
            if self.next.is_none() {
                self.begin_list(posting.entry)?;
            }
        }
        Ok(usize::try_from(used).unwrap_or(sums.len()))
    }
}

/// Keeps the most relevant of many entries: at least so many, if there are, and with each all of equal relevance.
pub(super) struct Best {
    number: usize,
    /// The relevance that an entry has at least to be kept.
    border: f64,
    kept: Vec<Match>,
    /// The number of kept entries at which the least relevant ones are dropped.
    full: usize,
}

impl Best {
    pub(super) fn new(number: usize) -> Self {
        let number = number.max(1);
        Self { number, border: 0.0, kept: Vec::new(), full: 8 * number }
    }

    pub(super) fn add(&mut self, found: Match) {
        if found.relevance >= self.border {
            self.kept.push(found);
            if self.kept.len() >= self.full {
                self.shrink();
            }
        }
    }

    pub(super) fn finish(mut self) -> Vec<Match> {
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
        self.full = self.kept.len() + 7 * self.number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
