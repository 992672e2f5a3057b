//! Searches: reads the postings of the words of a query, and computes the relevance of every matching entry.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::super::{Matches, Query};
use super::bm25::{Relevance, rarity};
use super::cache::{Key, PostingCache};
use super::codec::{Damaged, Posting, for_each_word};
use super::list::{List, ListWriter};
use super::rank::{self, Match, Word};
use super::records::Records;
use super::segment::Segment;
use super::top;
use crate::store::{Row, StoreError, Tx, Value};

/// The number of entries after which a search in a category reads the category, because few of its posts match.
const NARROWED_AFTER: usize = 4_000;

/// The table `found` of the entries and the relevances in $3 and $4. Entries of posts that were changed or removed are in no
/// row of `post_index`.
const FOUND: &str = "found AS MATERIALIZED (
    SELECT i.post AS key, f.relevance
    FROM unnest(CAST(CAST($3 AS TEXT) AS BIGINT[]), CAST(CAST($4 AS TEXT) AS DOUBLE PRECISION[])) AS f (entry, relevance)
    JOIN post_index i ON i.entry = f.entry)";

/// The same table for a statement that selects the most relevant posts. The server reads the rows in this order, and no more of
/// them than are selected.
const FOUND_IN_ORDER: &str = "found AS (
    SELECT i.post AS key, f.relevance
    FROM (SELECT entry, relevance
          FROM unnest(CAST(CAST($3 AS TEXT) AS BIGINT[]), CAST(CAST($4 AS TEXT) AS DOUBLE PRECISION[]))
              AS f (entry, relevance)
          ORDER BY relevance DESC) f
    JOIN post_index i ON i.entry = f.entry)";

/// The block of each segment in $1 that contains the word at the same place in $2, or would contain it, or all parts of a word
/// with several, one after the other.
const BLOCKS: &str = "SELECT p.n, b.data
    FROM unnest(CAST(string_to_array($1, ' ') AS BIGINT[]), string_to_array($2, ' ')) WITH ORDINALITY AS p (segment, word, n)
    CROSS JOIN LATERAL (
        SELECT c.first_word FROM post_segment_block c
        WHERE c.segment = p.segment AND c.first_word <= p.word COLLATE \"C\"
        ORDER BY c.first_word DESC LIMIT 1) f
    CROSS JOIN LATERAL (
        SELECT string_agg(o.data, '') AS data FROM (
            SELECT c.data FROM post_segment_block c
            WHERE c.segment = p.segment AND c.first_word = f.first_word AND c.last_word >= p.word COLLATE \"C\"
            ORDER BY c.part) o) b
    WHERE b.data IS NOT NULL";

/// The entries that match a query, in parts: each is less relevant than all of the part before.
pub(in crate::post::index) struct Ranked {
    words: Vec<Word>,
    relevance: Relevance,
    /// The number of entries in earlier parts, and the least relevance of these.
    given: usize,
    border: f64,
    /// The entries that are less relevant, once there was a second part, in ascending order.
    rest: Option<Vec<Match>>,
    is_narrowed: bool,
}

impl Ranked {
    /// Reads the postings of a query.
    pub(in crate::post::index) fn of(tx: &mut dyn Tx, query: &Query<'_>) -> Result<Self, StoreError> {
        let mut words: Vec<Word> = Vec::new();
        for (terms, weight) in query.groups() {
            words.extend(terms.iter().map(|token| Word { token: token.clone(), weight, ..Word::default() }));
        }
        let mut row = tx.one("SELECT posts, length FROM post_index_size WHERE one = 1", &[])?;
        let (posts, length): (i64, i64) = (row.take(0)?, row.take(1)?);
        let segments = Segment::ready(tx)?;
        read_segments(tx, query.cache, &segments, &mut words)?;
        read_recent(tx, &segments, &mut words)?;
        for word in &mut words {
            let ranges = word.lists.iter().filter_map(|list| list.range());
            if !ranges.is_sorted_by(|(_, last), (first, _)| last < first) {
                return Err(Damaged.into());
            }
            word.factor = 2.2 * word.weight * rarity(posts, word.count());
        }
        words.retain(|word| !word.lists.is_empty());
        let relevance = Relevance::new(posts, length);
        Ok(Self { words, relevance, given: 0, border: f64::INFINITY, rest: None, is_narrowed: false })
    }

    /// Returns all entries that match.
    pub(in crate::post::index) fn all(&self) -> Matches {
        let mut all = Vec::new();
        rank::for_each(&self.words, self.relevance, |found| all.push(found));
        found(FOUND, &all)
    }

    /// Returns the next part of the entries; `None` after the last one. The first part has about twice as many entries as
    /// are wanted, because some are of posts that do not count, and each further part has four times as many. With a category,
    /// later parts may leave out entries of posts of other categories.
    pub(in crate::post::index) fn next(
        &mut self,
        tx: &mut dyn Tx,
        wanted: i64,
        category: Option<&str>,
    ) -> Result<Option<Matches>, StoreError> {
        let wanted = usize::try_from(wanted).unwrap_or_default();
        if self.given == 0 {
            return Ok(self.given(&top::best(&self.words, self.relevance, 2 * wanted)));
        }
        let mut rest = match self.rest.take() {
            Some(rest) => rest,
            None => self.less_relevant(),
        };
        if self.given >= NARROWED_AFTER
            && let Some(category) = category
            && !std::mem::replace(&mut self.is_narrowed, true)
        {
            let entries = entries_of(tx, category)?;
            rest.retain(|found| entries.binary_search(&found.entry).is_ok());
        }
        let mut from = rest.len().saturating_sub(3 * self.given);
        // Entries of equal relevance are in one part, whose statement orders them.
        while from > 0 && rest[from - 1].relevance.total_cmp(&rest[from].relevance).is_eq() {
            from -= 1;
        }
        let part = rest.split_off(from);
        self.rest = Some(rest);
        Ok(self.given(&part))
    }

    fn given(&mut self, part: &[Match]) -> Option<Matches> {
        self.border = part.iter().fold(self.border, |least, found| least.min(found.relevance));
        self.given += part.len();
        (!part.is_empty()).then(|| found(FOUND_IN_ORDER, part))
    }

    /// Returns the entries that are less relevant than those of earlier parts, in ascending order.
    fn less_relevant(&self) -> Vec<Match> {
        let mut rest = Vec::new();
        rank::for_each(&self.words, self.relevance, |found| {
            if found.relevance < self.border {
                rest.push(found);
            }
        });
        rest.sort_unstable_by(|one, other| one.relevance.total_cmp(&other.relevance));
        rest
    }
}

/// Returns which of these words a post has, or had until the last merge.
pub(in crate::post::index) fn has_words(
    tx: &mut dyn Tx,
    words: &[String],
    cache: &PostingCache,
) -> Result<Vec<bool>, StoreError> {
    let word = |token: &String| Word { token: token.clone(), ..Word::default() };
    let mut words: Vec<Word> = words.iter().map(word).collect();
    let segments = Segment::ready(tx)?;
    read_segments(tx, cache, &segments, &mut words)?;
    read_recent(tx, &segments, &mut words)?;
    Ok(words.iter().map(|word| word.count() > 0).collect())
}

/// Reads the postings of words in segments.
fn read_segments(
    tx: &mut dyn Tx,
    cache: &PostingCache,
    segments: &[Segment],
    words: &mut [Word],
) -> Result<(), StoreError> {
    // The segments of a word are in the order of their entries.
    let keys =
        words.iter().flat_map(|word| segments.iter().map(|segment| (segment.id, (*word.token).into())));
    let keys: Vec<Key> = keys.collect();
    let mut lists = cache.get(&keys);
    let missing: Vec<usize> = (0..keys.len()).filter(|at| lists[*at].is_none()).collect();
    let read = read_lists(tx, &missing.iter().map(|at| &keys[*at]).collect::<Vec<_>>())?;
    for (at, read) in missing.iter().zip(&read) {
        lists[*at] = Some(Arc::clone(read));
    }
    for (word, lists) in words.iter_mut().zip(lists.chunks(segments.len().max(1))) {
        word.lists.extend(lists.iter().flatten().filter(|list| list.count > 0).cloned());
    }
    cache.insert(missing.into_iter().map(|at| keys[at].clone()).zip(read));
    Ok(())
}

/// Reads the postings of each word in its segment.
fn read_lists(tx: &mut dyn Tx, keys: &[&Key]) -> Result<Vec<Arc<List>>, StoreError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let segments: Vec<String> = keys.iter().map(|(segment, _)| segment.to_string()).collect();
    let words: Vec<&str> = keys.iter().map(|(_, word)| &**word).collect();
    let (segments, words) = (segments.join(" "), words.join(" "));
    let none: Arc<List> = Arc::default();
    let mut lists: Vec<Arc<List>> = keys.iter().map(|_| Arc::clone(&none)).collect();
    tx.for_each(BLOCKS, &[(&segments).into(), (&words).into()], &mut |row| {
        let (number, data): (i64, Vec<u8>) = (row.take(0)?, row.take(1)?);
        // The server numbers the pairs of a segment and a word from 1 on.
        let at = usize::try_from(number - 1).ok().filter(|at| *at < keys.len()).ok_or(Damaged)?;
        lists[at] = Arc::new(read_blocks(&data, keys[at].1.as_bytes())?);
        Ok(())
    })?;
    Ok(lists)
}

/// Returns the postings of a word in the blocks that have it.
fn read_blocks(blocks: &[u8], word: &[u8]) -> Result<List, Damaged> {
    let (mut records, mut list) = (Records::of(word, blocks), ListWriter::default());
    while let Some((number, postings)) = records.next()? {
        let count = list.count() + number;
        list.read(postings)?;
        if list.count() != count {
            return Err(Damaged);
        }
    }
    list.finish()
}

/// Reads the words of recent posts, which are in no segment.
fn read_recent(tx: &mut dyn Tx, segments: &[Segment], words: &mut [Word]) -> Result<(), StoreError> {
    let mut lists: Vec<ListWriter> = words.iter().map(|_| ListWriter::default()).collect();
    let places: HashMap<&[u8], usize> = words.iter().map(|word| word.token.as_bytes()).zip(0..).collect();
    let mut found = Vec::new();
    for_each_recent(tx, segments, &mut |entry, bytes| {
        let length = for_each_word(&bytes, |word, occurrences| {
            if let Some(place) = places.get(word) {
                found.push((*place, occurrences));
            }
        })?;
        for (place, occurrences) in found.drain(..) {
            lists[place].push(Posting { entry, occurrences, length })?;
        }
        Ok(())
    })?;
    for (word, list) in words.iter_mut().zip(lists) {
        let list = list.finish()?;
        if list.count > 0 {
            word.lists.push(Arc::new(list));
        }
    }
    Ok(())
}

/// Calls `each` with the entry and the words of each post that is in no segment, in the order of the entries.
pub(super) fn for_each_recent(
    tx: &mut dyn Tx,
    segments: &[Segment],
    each: &mut dyn FnMut(u64, Vec<u8>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let last = segments.iter().map(|segment| segment.last).max().unwrap_or_default();
    let sql = "SELECT entry, words FROM post_index_recent WHERE entry > $1 ORDER BY entry";
    let mut before = last;
    tx.for_each(sql, &[last.cast_signed().into()], &mut |row| {
        let entry = row.take::<i64>(0)?.cast_unsigned();
        if entry <= std::mem::replace(&mut before, entry) {
            return Err(Damaged.into());
        }
        each(entry, row.take(1)?)
    })
}

/// Returns the entries of the posts of a category, in ascending order.
fn entries_of(tx: &mut dyn Tx, category: &str) -> Result<Vec<u64>, StoreError> {
    let sql = "SELECT i.entry FROM label l JOIN post_index i ON i.post = l.post WHERE l.name = $1";
    let mut entries = Vec::new();
    tx.for_each(sql, &[category.into()], &mut |row: &mut Row| {
        entries.push(row.take::<i64>(0)?.cast_unsigned());
        Ok(())
    })?;
    entries.sort_unstable();
    Ok(entries)
}

/// Returns the table `found` of some entries.
fn found(sql: &'static str, matches: &[Match]) -> Matches {
    let [mut entries, mut relevances] = [String::from("{"), String::from("{")];
    for (number, Match { entry, relevance }) in matches.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        // Writing to a text does not fail. A number is written with the digits from which it is read exactly.
        let _ = write!(entries, "{comma}{entry}");
        let _ = write!(relevances, "{comma}{relevance:e}");
    }
    let args = [entries, relevances].map(|text| Value::Text(text + "}"));
    Matches { sql: sql.to_owned(), args: args.into() }
}
