//! `post_terms` has the terms of each post with their occurrences ([`entry`]). SQLite finds candidates by an FTS5 table,
//! PostgreSQL by a GIN index of sections ([`candidates`]); the program ranks them ([`query`]) with the rarity of words in the
//! latest posts ([`frequencies`]). An incomplete index lacks the posts below its first entry ([`unindexed_before`]).

mod candidates;
mod entry;
mod frequencies;
mod query;
#[cfg(feature = "postgres")]
mod sections;
mod spelling;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::Post;
use crate::base::clock::Timestamp;
use crate::record::id::PostKey;
use crate::store::{Arg, Dialect, Row, StoreError, Tx, row_each, run_each};
use candidates::{Candidate, Scope, TIER};

pub(super) use entry::Entry;
pub(crate) use frequencies::{LatestTerms, TermFrequencies};
pub(crate) use query::Query;

/// Further words are ignored.
pub(crate) const QUERY_TOKENS: usize = 32;
pub(crate) const RESULTS_MAX: usize = 3_000;

/// Relative to a word of the search.
const FORM_WEIGHT: f64 = 0.8;
/// Relative to a word of the search.
pub(crate) const SIMILAR_WEIGHT: f64 = 0.2;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) words: Vec<String>,
    /// In other probable spellings.
    pub(crate) forms: Vec<String>,
    pub(crate) similar: Vec<String>,
}

impl Terms {
    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.iter().chain(&self.forms).chain(&self.similar).any(|term| term == word)
    }
}

pub(super) enum Change {
    /// The post must not be in the index.
    Insert(Entry),
    /// A post that is not in the index yet stays out.
    Update(Entry),
    Remove(PostKey),
}

pub(super) fn write(tx: &mut dyn Tx, changes: &[Change]) -> Result<(), StoreError> {
    let (mut inserts, mut removals, mut updates) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
    for change in changes {
        match change {
            Change::Insert(entry) => drop(inserts.insert(entry.key, entry)),
            Change::Update(entry) => match inserts.get_mut(&entry.key) {
                Some(inserted) => *inserted = entry,
                None => drop(updates.insert(entry.key, entry)),
            },
            Change::Remove(key) => {
                inserts.remove(key);
                updates.remove(key);
                removals.push(*key);
            }
        }
    }
    let keys: Vec<PostKey> = updates.keys().copied().collect();
    let were_in = remove(tx, &keys)?;
    remove(tx, &removals)?;
    let updates = updates.into_iter().zip(were_in).filter(|(_, was_in)| *was_in).map(|(update, _)| update);
    let mut entries: Vec<&Entry> = inserts.into_iter().chain(updates).map(|(_, entry)| entry).collect();
    entries.sort_unstable_by_key(|entry| entry.key);
    insert(tx, &entries)
}

fn insert(tx: &mut dyn Tx, entries: &[&Entry]) -> Result<(), StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => {
            let terms: Vec<String> = entries.iter().map(|entry| entry.terms.join(" ")).collect();
            let found_by: Vec<[Arg<'_>; 2]> =
                entries.iter().zip(&terms).map(|(entry, terms)| [entry.key.into(), terms.into()]).collect();
            run_each(tx, "INSERT INTO post_index (rowid, terms) VALUES ($1, $2)", &found_by)?;
            let rows: Vec<[Arg<'_>; 4]> = entries.iter().map(|entry| columns(entry)).collect();
            let sql = "INSERT INTO post_terms (post, date, end_date, counts) VALUES ($1, $2, $3, $4)";
            run_each(tx, sql, &rows).map(drop)
        }
        #[cfg(feature = "postgres")]
        Dialect::Postgres => {
            let terms: Vec<String> =
                entries.iter().map(|entry| sections::of_post(entry.key, &entry.terms)).collect();
            let rows = entries.iter().zip(&terms).map(|(entry, terms)| {
                let [key, date, end_date, counts] = columns(entry);
                [key, date, end_date, counts, terms.into()]
            });
            let rows: Vec<[Arg<'_>; 5]> = rows.collect();
            let sql = "INSERT INTO post_terms (post, date, end_date, counts, terms)
                       VALUES ($1, $2, $3, $4, CAST(CAST($5 AS text) AS integer[]))";
            run_each(tx, sql, &rows).map(drop)
        }
    }
}

fn columns(entry: &Entry) -> [Arg<'_>; 4] {
    [entry.key.into(), entry.date.into(), entry.end_date.into(), (&entry.counts).into()]
}

/// Returns whether each had an entry.
fn remove(tx: &mut dyn Tx, keys: &[PostKey]) -> Result<Vec<bool>, StoreError> {
    let keys: Vec<[Arg<'_>; 1]> = keys.iter().map(|key| [(*key).into()]).collect();
    if tx.dialect() == Dialect::Sqlite {
        run_each(tx, "DELETE FROM post_index WHERE rowid = $1", &keys)?;
    }
    let removed = run_each(tx, "DELETE FROM post_terms WHERE post = $1", &keys)?;
    Ok(removed.into_iter().map(|rows| rows > 0).collect())
}

/// Makes the index wrong for a test: inserts an entry with a word, or removes one.
#[cfg(test)]
pub(crate) fn corrupt(tx: &mut dyn Tx, key: PostKey, word: Option<&str>) -> Result<(), StoreError> {
    use super::token_fields::TokenFields;
    let time = Timestamp::from_millis(0);
    let insert =
        |word| Change::Insert(Entry::new(key, &TokenFields::of(word, ""), std::iter::empty(), time, None));
    write(tx, &[word.map_or(Change::Remove(key), insert)])
}

/// Returns the keys of posts without an entry, and of entries without a post.
pub(super) fn mismatches(tx: &mut dyn Tx) -> Result<Vec<PostKey>, StoreError> {
    let without =
        |one: &str, other: &str| format!("SELECT key FROM (SELECT {one} EXCEPT SELECT {other}) AS k");
    let (posts, entries) = ("key FROM post", "post AS key FROM post_terms");
    let mut parts = vec![without(posts, entries), without(entries, posts)];
    if tx.dialect() == Dialect::Sqlite {
        let found_by = "rowid AS key FROM post_index";
        parts.extend([without(entries, found_by), without(found_by, entries)]);
    }
    let sql = format!("{} ORDER BY 1", parts.join(" UNION "));
    tx.rows(&sql, &[])?.into_iter().map(|mut row| row.take(0)).collect()
}

/// Works even if the index is damaged.
pub(super) fn clear(tx: &mut dyn Tx) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Sqlite {
        tx.run("INSERT INTO post_index (post_index) VALUES ('delete-all')", &[])?;
    }
    tx.run("DELETE FROM post_terms", &[]).map(drop)
}

/// Returns the key before which posts are not in the index yet; `None` if the index is complete.
pub(super) fn unindexed_before(tx: &mut dyn Tx) -> Result<Option<PostKey>, StoreError> {
    let first: Option<PostKey> = tx.one("SELECT min(post) FROM post_terms", &[])?.take(0)?;
    let first = first.unwrap_or(PostKey::MAX);
    let is_incomplete = tx.row("SELECT 1 FROM post WHERE key < $1 LIMIT 1", &[first.into()])?.is_some();
    Ok(is_incomplete.then_some(first))
}

pub(crate) fn has_words(tx: &mut dyn Tx, words: &[String]) -> Result<Vec<bool>, StoreError> {
    let has = |word: &String| match tx.dialect() {
        Dialect::Sqlite => {
            let sql = "SELECT 1 FROM post_index WHERE post_index MATCH $1 LIMIT 1";
            let matching = candidates::any_of(std::slice::from_ref(word));
            Ok(tx.row(sql, &[(&matching).into()])?.is_some())
        }
        #[cfg(feature = "postgres")]
        Dialect::Postgres => sections::has(tx, word),
    };
    words.iter().map(has).collect()
}

/// Returns at most `num` posts, each with its relevance above 0, the best first. Leaves out posts whose end date is not after
/// `now`, and, with a `category`, posts without this topic or tag. The relevance is BM25, the sum over the words of the query of
/// `idf · f · (k + 1) / (f + k · (1 - b + b · l))`, where `f` is the number of occurrences of the word in the post, each in the
/// title counted six times, `l` is the number of distinct words of the post relative to the average, `idf` measures the rarity of
/// the word among the latest posts, `k` is 0.9 and `b` is 0.75. Another form of a word counts four fifths, a similar word a fifth.
/// A Hangul word of two or more syllables counts by its pairs of syllables alone. Posts of equal relevance are ordered by date,
/// then by their insertion, latest first. The posts are the best of 1,000 candidates: the newest with all words of the search in
/// the title, the newest with all words, then the newest with its rarest words. The posts after them are those of the next 2,000,
/// and no more relevant than these. Source: Robertson and Zaragoza, *The probabilistic relevance framework: BM25 and beyond*,
/// Foundations and Trends in Information Retrieval 3(4), 2009.
pub(crate) fn find(
    tx: &mut dyn Tx,
    query: &Query,
    category: Option<&str>,
    now: Timestamp,
    num: usize,
) -> Result<Vec<(Post, f64)>, StoreError> {
    let limit = if num <= TIER { TIER } else { RESULTS_MAX };
    let mut best = candidates::ranked(tx, query, Scope { category, now }, limit)?;
    best.truncate(num);
    // A term of the index may also be that of another topic or tag.
    let sql = format!(
        "SELECT {} FROM post p JOIN post_stats s ON s.post = p.key
         WHERE p.key = $1 AND ($2 = '' OR EXISTS (SELECT 1 FROM label WHERE name = $2 AND post = p.key))",
        Post::COLUMNS
    );
    let args: Vec<[Arg<'_>; 2]> =
        best.iter().map(|candidate| [candidate.key.into(), category.unwrap_or("").into()]).collect();
    let posts = row_each(tx, &sql, &args)?.into_iter().zip(best);
    let found = posts.filter_map(|(row, Candidate { relevance, .. })| Some((row?, relevance)));
    found.map(|(mut row, relevance)| Ok((Post::take(&mut row)?, relevance))).collect()
}

fn rows(tx: &mut dyn Tx, sql: &str, of: &[Candidate]) -> Result<Vec<Option<Row>>, StoreError> {
    row_each(tx, sql, &of.iter().map(|candidate| [candidate.key.into()]).collect::<Vec<_>>())
}

pub(crate) struct Site {
    pub(crate) host: String,
    pub(crate) posts: i64,
    /// Its title.
    pub(crate) best: String,
    /// The address of the newest matching post.
    pub(crate) newest: String,
}

struct OfSite {
    posts: i64,
    best: Candidate,
    newest: Candidate,
}

/// Only counts the 3,000 posts that match best. Ordered by the number of these posts, the relevance of the best match, and the
/// name.
pub(crate) fn sites(
    tx: &mut dyn Tx,
    query: &Query,
    now: Timestamp,
    num: usize,
) -> Result<Vec<Site>, StoreError> {
    let mut matches = candidates::ranked(tx, query, Scope { category: None, now }, RESULTS_MAX)?;
    let hosts = rows(tx, "SELECT host FROM post WHERE key = $1", &matches)?;
    let mut sites: BTreeMap<String, OfSite> = BTreeMap::new();
    for (row, candidate) in hosts.into_iter().zip(matches.drain(..)) {
        let Some(mut row) = row else { continue };
        let found = OfSite { posts: 0, best: candidate, newest: candidate };
        let found = sites.entry(row.take(0)?).or_insert(found);
        found.posts += 1;
        if (candidate.date, candidate.key) > (found.newest.date, found.newest.key) {
            found.newest = candidate;
        }
    }
    let mut sites: Vec<(String, OfSite)> = sites.into_iter().collect();
    // The sort is stable, so equal sites stay ordered by their names.
    sites.sort_by(|(_, one), (_, other)| {
        other.posts.cmp(&one.posts).then(other.best.relevance.total_cmp(&one.best.relevance))
    });
    sites.truncate(num);
    let mut texts = |column: &str, of: fn(&OfSite) -> Candidate| -> Result<Vec<String>, StoreError> {
        let of: Vec<Candidate> = sites.iter().map(|(_, found)| of(found)).collect();
        let rows = rows(tx, &format!("SELECT {column} FROM post WHERE key = $1"), &of)?;
        rows.into_iter().map(|row| row.map_or(Ok(String::new()), |mut row| row.take(0))).collect()
    };
    let (best, newest) = (texts("title", |found| found.best)?, texts("url", |found| found.newest)?);
    let site = |((host, found), (best, newest)): ((String, OfSite), (String, String))| Site {
        host,
        posts: found.posts,
        best,
        newest,
    };
    Ok(sites.into_iter().zip(best.into_iter().zip(newest)).map(site).collect())
}
