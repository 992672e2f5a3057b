//! The full-text index over posts: all statements that use `post_index`.
//!
//! Each engine has an index of its own, in `index/`. All contain the tokens of [`tidings_tokens::tokens`], which alone
//! defines what a word is, and rank posts by the same formula.
#![cfg_attr(
    not(feature = "postgres"),
    expect(clippy::unnecessary_wraps, unused_variables, reason = "SQLite merges by itself")
)]

mod merger;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::Post;
use super::token_fields::TokenFields;
use crate::base::clock::Timestamp;
use crate::record::id::PostKey;
use crate::store::{Access, Arg, Dialect, Row, StoreError, Tx, Value};

pub(crate) use merger::Merger;

/// The weight of a word in the title relative to a word in the text.
const TITLE_WEIGHT: u8 = 4;
/// The maximum number of words of a search; further words are ignored.
pub(crate) const QUERY_TOKENS: usize = 32;

/// The weight of another form of a word relative to a word of the search.
const FORM_WEIGHT: f64 = 0.8;
/// The weight of a similar word relative to a word of the search.
pub(crate) const SIMILAR_WEIGHT: f64 = 0.2;

/// The distinct words to search, by their weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The words of the search.
    pub(crate) words: Vec<String>,
    /// Words that are probably the same as words of the search in another spelling: they count four fifths.
    pub(crate) forms: Vec<String>,
    /// Words with a similar meaning: they count a fifth.
    pub(crate) similar: Vec<String>,
}

impl Terms {
    /// Returns whether a word is one of the terms.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.iter().chain(&self.forms).chain(&self.similar).any(|term| term == word)
    }
}

/// A query. It matches a post that has one of its terms.
pub(crate) struct Query<'q> {
    terms: &'q Terms,
    #[cfg(feature = "postgres")]
    cache: &'q postgres::PostingCache,
}

/// The cache that the searches of a process share.
#[derive(Default)]
pub(crate) struct SearchCache {
    #[cfg(feature = "postgres")]
    postings: postgres::PostingCache,
}

impl<'q> Query<'q> {
    /// Creates a query for terms; `None` without words of the search.
    pub(crate) fn new(terms: &'q Terms, cache: &'q SearchCache) -> Option<Self> {
        (!terms.words.is_empty()).then_some(Self {
            terms,
            #[cfg(feature = "postgres")]
            cache: &cache.postings,
        })
    }

    /// Returns the terms of each weight, without weights that no term has.
    fn groups(&self) -> impl Iterator<Item = (&'q [String], f64)> {
        let Terms { words, forms, similar } = self.terms;
        [(words, 1.0), (forms, FORM_WEIGHT), (similar, SIMILAR_WEIGHT)]
            .into_iter()
            .map(|(terms, weight)| (&terms[..terms.len().min(QUERY_TOKENS)], weight))
            .filter(|(terms, _)| !terms.is_empty())
    }
}

/// Returns which of these words a post of the index has, or had until recently.
pub(crate) fn has_words(
    tx: &mut dyn Tx,
    words: &[String],
    cache: &SearchCache,
) -> Result<Vec<bool>, StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => sqlite::has_words(tx, words),
        #[cfg(feature = "postgres")]
        Dialect::Postgres => postgres::has_words(tx, words, &cache.postings),
    }
}

/// Some of the posts that match a query: a table `found` with their keys and their relevance.
struct Matches {
    /// The common table expressions, the last of which is `found`. They take the arguments from $3 on.
    sql: String,
    args: Vec<Value>,
}

impl Matches {
    /// Returns all posts that match a query.
    fn of(tx: &mut dyn Tx, query: &Query<'_>) -> Result<Self, StoreError> {
        match tx.dialect() {
            Dialect::Sqlite => sqlite::matches(tx, query),
            #[cfg(feature = "postgres")]
            Dialect::Postgres => Ok(postgres::Ranked::of(tx, query)?.all()),
        }
    }

    /// Returns the arguments of a statement, of which $1 and $2 are `first`.
    fn args<'a>(&'a self, first: [Arg<'a>; 2]) -> Vec<Arg<'a>> {
        first.into_iter().chain(self.args.iter().map(Into::into)).collect()
    }
}

/// The posts that match a query, in parts: each post is less relevant than all of the part before.
enum Parts {
    Sqlite(sqlite::Ranked),
    #[cfg(feature = "postgres")]
    Postgres(postgres::Ranked),
}

impl Parts {
    fn of(tx: &mut dyn Tx, query: &Query<'_>) -> Result<Self, StoreError> {
        match tx.dialect() {
            Dialect::Sqlite => Ok(Self::Sqlite(sqlite::Ranked::of(tx, query)?)),
            #[cfg(feature = "postgres")]
            Dialect::Postgres => Ok(Self::Postgres(postgres::Ranked::of(tx, query)?)),
        }
    }

    /// Returns whether the parts have only posts of the category.
    fn are_within(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }

    /// Returns the next part, of a size for `num` posts; `None` after the last one. It may leave out posts that do not have the
    /// `category`. `border` is the least relevance of the posts found in earlier parts.
    fn next(
        &mut self,
        tx: &mut dyn Tx,
        num: i64,
        category: Option<&str>,
        border: f64,
    ) -> Result<Option<Matches>, StoreError> {
        match self {
            Self::Sqlite(ranked) => ranked.next(tx, num, category, border),
            #[cfg(feature = "postgres")]
            Self::Postgres(ranked) => ranked.next(tx, num, category),
        }
    }
}

/// A site with matching posts.
pub(crate) struct Site {
    pub(crate) host: String,
    /// The number of its matching posts.
    pub(crate) posts: i64,
    /// The title of the best match.
    pub(crate) best: String,
    /// The address of the newest matching post.
    pub(crate) newest: String,
}

/// A change to the index.
pub(super) enum Change {
    /// Inserts a post that is not in the index.
    Insert(PostKey, Arc<TokenFields>),
    /// Replaces the tokens of a post, or inserts the post.
    Update(PostKey, Arc<TokenFields>),
    /// Removes a post.
    Remove(PostKey),
}

/// Writes changes, in order.
pub(super) fn write(tx: &mut dyn Tx, changes: &[Change]) -> Result<(), StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => sqlite::write(tx, changes),
        #[cfg(feature = "postgres")]
        Dialect::Postgres => postgres::write(tx, changes),
    }
}

/// Makes the index wrong for a test: inserts an entry with a word, or removes one.
#[cfg(test)]
pub(crate) fn corrupt(tx: &mut dyn Tx, key: PostKey, word: Option<&str>) -> Result<(), StoreError> {
    let insert = |word| Change::Insert(key, Arc::new(TokenFields::of(word, "")));
    write(tx, &[word.map_or(Change::Remove(key), insert)])
}

/// Returns the keys of posts missing in the index, and of entries without a post.
pub(super) fn mismatches(tx: &mut dyn Tx) -> Result<Vec<PostKey>, StoreError> {
    let key = match tx.dialect() {
        Dialect::Sqlite => sqlite::KEY,
        #[cfg(feature = "postgres")]
        Dialect::Postgres => postgres::KEY,
    };
    let sql = format!(
        "SELECT key FROM (SELECT key FROM post EXCEPT SELECT {key} FROM post_index) missing
         UNION ALL SELECT {key} FROM (SELECT {key} FROM post_index EXCEPT SELECT key FROM post) left_over
         ORDER BY 1"
    );
    tx.rows(&sql, &[])?.into_iter().map(|mut row| row.take(0)).collect()
}

/// Returns the faults of the index itself, for people.
pub(super) fn damage(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
    match tx.dialect() {
        // SQLite checks it together with the file.
        Dialect::Sqlite => Ok(Vec::new()),
        #[cfg(feature = "postgres")]
        Dialect::Postgres => postgres::damage(tx),
    }
}

/// Empties the index, even if it is damaged.
pub(super) fn clear(tx: &mut dyn Tx) -> Result<(), StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => sqlite::clear(tx),
        #[cfg(feature = "postgres")]
        Dialect::Postgres => postgres::clear(tx),
    }
}

/// Returns whether parts of the index should be merged.
fn is_merge_due(tx: &mut dyn Tx) -> Result<bool, StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => Ok(false),
        #[cfg(feature = "postgres")]
        Dialect::Postgres => postgres::merge::is_due(tx),
    }
}

/// Merges parts of the index as long as that is due.
///
/// # Errors
/// An error of the store; [`StoreError::Interrupted`] when `is_stopped` returns true; when the index is damaged.
pub(super) fn merge<A: Access + ?Sized>(
    database: &A,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), StoreError> {
    if database.read(is_merge_due)? {
        #[cfg(feature = "postgres")]
        postgres::merge::merge(database, is_stopped)?;
    }
    Ok(())
}

/// Returns the key up to which posts are not in the index yet, because an update of the schema has emptied it.
pub(super) fn unindexed(tx: &mut dyn Tx) -> Result<Option<PostKey>, StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => Ok(None),
        #[cfg(feature = "postgres")]
        Dialect::Postgres => postgres::unindexed(tx),
    }
}

/// Sets what [`unindexed`] returns.
pub(super) fn set_unindexed(tx: &mut dyn Tx, key: Option<PostKey>) -> Result<(), StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => Ok(()),
        #[cfg(feature = "postgres")]
        Dialect::Postgres => postgres::set_unindexed(tx, key),
    }
}

/// Returns the posts that match best, at most `num`, each with its relevance above 0. Posts whose end date is not after
/// `now` are left out; with a `category`, posts without this topic or tag are also left out.
///
/// The relevance is BM25, the sum over the words of the query of `idf · f · (k + 1) / (f + k · (1 - b + b · l))`, where
/// `f` is the number of occurrences of the word in the post, each in the title counted four times, `l` is the length of
/// the post relative to the average, `idf` measures the rarity of the word, `k` is 1.2 and `b` is 0.75. Another form of
/// a word counts four fifths, and a similar word a fifth. Posts of equal relevance are ordered by date, then by id, greatest first.
///
/// Source: Robertson and Zaragoza, *The probabilistic relevance framework: BM25 and beyond*, Foundations and
/// Trends in Information Retrieval 3(4), 2009.
pub(crate) fn find(
    tx: &mut dyn Tx,
    query: &Query<'_>,
    category: Option<&str>,
    now: Timestamp,
    num: i64,
) -> Result<Vec<(Post, f64)>, StoreError> {
    let (mut parts, mut found) = (Parts::of(tx, query)?, Vec::<(Post, f64)>::new());
    while let left @ 1.. = num - i64::try_from(found.len()).unwrap_or(num)
        && let border = found.last().map_or(f64::MAX, |(_, relevance)| *relevance)
        && let Some(matches) = parts.next(tx, num, category, border)?
    {
        let category = category.filter(|_| !parts.are_within());
        found.extend(find_among(tx, &matches, category, now, left)?);
    }
    Ok(found)
}

/// Does the same as [`find`] among some of the posts that match.
fn find_among(
    tx: &mut dyn Tx,
    matches: &Matches,
    category: Option<&str>,
    now: Timestamp,
    num: i64,
) -> Result<Vec<(Post, f64)>, StoreError> {
    let mut args = matches.args([now.into(), num.into()]);
    let mut within = String::new();
    if let Some(category) = category {
        args.push(category.into());
        within = format!("JOIN label l ON l.post = p.key AND l.name = ${}", args.len());
    }
    // The inner query selects the best posts by short columns; the outer one reads only those completely.
    let sql = format!(
        "WITH {}, best AS MATERIALIZED (
             SELECT p.key, f.relevance FROM found f JOIN post p ON p.key = f.key {within}
             WHERE p.end_date IS NULL OR p.end_date > $1
             ORDER BY f.relevance DESC, p.date DESC, p.id DESC LIMIT $2)
         SELECT {}, b.relevance FROM best b JOIN post p ON p.key = b.key JOIN post_stats s ON s.post = b.key
         ORDER BY b.relevance DESC, p.date DESC, p.id DESC",
        matches.sql,
        Post::COLUMNS
    );
    let rows = tx.rows(&sql, &args)?;
    rows.into_iter().map(|mut row| Ok((Post::take(&mut row)?, row.take(Post::WIDTH)?))).collect()
}

/// Returns the sites with matching posts whose end date is after `now`, ordered by the number of matches, the relevance
/// of the best match, and the name: the first `num`.
pub(crate) fn sites(
    tx: &mut dyn Tx,
    query: &Query<'_>,
    now: Timestamp,
    num: i64,
) -> Result<Vec<Site>, StoreError> {
    let matches = Matches::of(tx, query)?;
    // Only the sites of the answer need a title and an address: those of their posts that are the best or the newest. With
    // `IS TRUE`, PostgreSQL hashes the keys once instead of reading all for each site.
    let sql = format!(
        "WITH {}, site AS MATERIALIZED (
             SELECT p.host, count(*) AS posts, max(f.relevance) AS relevance, max(p.date) AS newest
             FROM found f JOIN post p ON p.key = f.key
             WHERE p.end_date IS NULL OR p.end_date > $1
             GROUP BY p.host ORDER BY posts DESC, relevance DESC, p.host LIMIT $2),
         candidate AS MATERIALIZED (
             SELECT p.host, f.relevance, p.title, p.date, p.id FROM found f JOIN post p ON p.key = f.key
             WHERE f.relevance IN (SELECT relevance FROM site) AND (p.end_date IS NULL OR p.end_date > $1)),
         best AS (
             SELECT s.host, s.posts, s.relevance, s.newest, c.title,
                    row_number() OVER (PARTITION BY s.host ORDER BY c.date DESC, c.id DESC) AS place
             FROM site s JOIN candidate c ON c.host = s.host AND c.relevance = s.relevance)
         SELECT host, posts, title, (
             SELECT p.url FROM post p
             WHERE p.date = b.newest AND p.host = b.host AND (p.key IN (SELECT key FROM found)) IS TRUE
                 AND (p.end_date IS NULL OR p.end_date > $1)
             ORDER BY p.id DESC LIMIT 1)
         FROM best b WHERE place = 1
         ORDER BY posts DESC, relevance DESC, host",
        matches.sql
    );
    let rows = tx.rows(&sql, &matches.args([now.into(), num.into()]))?;
    let site = |mut row: Row| {
        Ok(Site { host: row.take(0)?, posts: row.take(1)?, best: row.take(2)?, newest: row.take(3)? })
    };
    rows.into_iter().map(site).collect()
}
