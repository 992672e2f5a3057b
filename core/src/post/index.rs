//! The full-text index over posts: all statements that use `post_index`.
//!
//! The statements are specific to SQLite (FTS5); PostgreSQL will need its own version of this file. The index receives
//! tokens separated by blanks, and its tokenizer treats every other character as a letter. So
//! [`tidings_text::tokens`] alone defines what a word is.

use super::Post;
use super::token_fields::TokenFields;
use crate::clock::Timestamp;
use crate::id::PostKey;
use crate::store::{Arg, Row, StoreError, Tx};

/// The weight of a word in the title relative to a word in the text.
const TITLE_WEIGHT: f64 = 4.0;
/// The maximum number of words of a search; further words are ignored.
pub(crate) const QUERY_TOKENS: usize = 32;
/// The maximum number of sites in a result.
const SITES_MAX: i64 = 50;

/// The weight of a similar word relative to a word of the search.
const SIMILAR_WEIGHT: f64 = 0.2;

/// The keys of the posts that match $1, with their relevance, where a word in the title weighs $2.
const FOUND: &str = "found AS MATERIALIZED (
    SELECT rowid AS key, -bm25(post_index, $2, 1.0) AS relevance FROM post_index WHERE post_index MATCH $1)";
/// Like [`FOUND`], with the posts that match $5 in addition, whose relevance is multiplied by $6.
const FOUND_SIMILAR: &str = "found AS MATERIALIZED (
    SELECT key, sum(relevance) AS relevance FROM (
        SELECT rowid AS key, -bm25(post_index, $2, 1.0) AS relevance FROM post_index WHERE post_index MATCH $1
        UNION ALL
        SELECT rowid, -bm25(post_index, $2, 1.0) * $6 FROM post_index WHERE post_index MATCH $5)
    GROUP BY key)";

/// A query. It matches a post that has one of its words or one of the similar words.
pub(crate) struct Query {
    words: String,
    similar: Option<String>,
}

impl Query {
    /// Creates a query for distinct tokens and words similar to them; `None` without tokens.
    pub(crate) fn new(tokens: &[String], similar: &[String]) -> Option<Self> {
        Some(Self { words: any_of(tokens)?, similar: any_of(similar) })
    }
}

/// Returns an FTS5 expression that matches any of the words; `None` without words.
fn any_of(words: &[String]) -> Option<String> {
    // Quoted, so that FTS5 does not interpret them.
    let quoted = words.iter().take(QUERY_TOKENS).map(|word| format!("\"{}\"", word.replace('"', "\"\"")));
    let query = quoted.collect::<Vec<_>>().join(" OR ");
    (!query.is_empty()).then_some(query)
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

/// Inserts a post that is not in the index.
pub(super) fn insert(tx: &mut dyn Tx, key: PostKey, tokens: &TokenFields) -> Result<(), StoreError> {
    let sql = "INSERT INTO post_index (rowid, title, post) VALUES ($1, $2, $3)";
    tx.run(sql, &[key.into(), (&tokens.title).into(), (&tokens.post).into()])?;
    Ok(())
}

/// Removes a post from the index.
pub(super) fn remove(tx: &mut dyn Tx, key: PostKey) -> Result<(), StoreError> {
    tx.run("DELETE FROM post_index WHERE rowid = $1", &[key.into()])?;
    Ok(())
}

/// Returns the keys of posts missing in the index, and of entries without a post.
pub(super) fn mismatches(tx: &mut dyn Tx) -> Result<Vec<PostKey>, StoreError> {
    let sql = "SELECT key FROM (SELECT key FROM post EXCEPT SELECT rowid FROM post_index)
               UNION ALL SELECT rowid FROM (SELECT rowid FROM post_index EXCEPT SELECT key FROM post)";
    tx.rows(sql, &[])?.into_iter().map(|mut row| row.take(0)).collect()
}

/// Empties the index, even if it is damaged.
pub(super) fn clear(tx: &mut dyn Tx) -> Result<(), StoreError> {
    tx.run("INSERT INTO post_index (post_index) VALUES ('delete-all')", &[])?;
    Ok(())
}

/// Returns the posts that match best, at most `num`, each with its relevance above 0. Posts whose end date is not after
/// `now` are left out; with a `category`, posts without this topic or tag are also left out.
///
/// The relevance is BM25, the sum over the words of the query of `idf · f · (k + 1) / (f + k · (1 - b + b · l))`, where
/// `f` is the number of occurrences of the word in the post, each in the title counted four times, `l` is the length of
/// the post relative to the average, `idf` measures the rarity of the word, `k` is 1.2 and `b` is 0.75. A similar word
/// counts a fifth. Posts of equal relevance are ordered by date, then by id, greatest first.
///
/// Source: Robertson and Zaragoza, *The probabilistic relevance framework: BM25 and beyond*, Foundations and
/// Trends in Information Retrieval 3(4), 2009.
pub(crate) fn find(
    tx: &mut dyn Tx,
    query: &Query,
    category: Option<&str>,
    now: Timestamp,
    num: i64,
) -> Result<Vec<(Post, f64)>, StoreError> {
    let mut args = vec![(&query.words).into(), TITLE_WEIGHT.into(), now.into(), num.into()];
    let mut found = FOUND;
    if let Some(similar) = &query.similar {
        found = FOUND_SIMILAR;
        args.extend([Arg::from(similar), SIMILAR_WEIGHT.into()]);
    }
    let mut within = String::new();
    if let Some(category) = category {
        args.push(category.into());
        within = format!("JOIN label l ON l.post = p.key AND l.name = ${}", args.len());
    }
    // The inner query selects the best posts by short columns; the outer one reads only those completely.
    let sql = format!(
        "WITH {found}, best AS MATERIALIZED (
             SELECT p.key, f.relevance FROM found f JOIN post p ON p.key = f.key {within}
             WHERE p.end_date IS NULL OR p.end_date > $3
             ORDER BY f.relevance DESC, p.date DESC, p.id DESC LIMIT $4)
         SELECT {}, b.relevance FROM best b JOIN post p ON p.key = b.key JOIN post_stats s ON s.post = b.key
         ORDER BY b.relevance DESC, p.date DESC, p.id DESC",
        Post::COLUMNS
    );
    let rows = tx.rows(&sql, &args)?;
    rows.into_iter().map(|mut row| Ok((Post::take(&mut row)?, row.take(Post::WIDTH)?))).collect()
}

/// Returns the sites with matching posts whose end date is after `now`, ordered by the number of matches, the relevance
/// of the best match, and the name.
pub(crate) fn sites(tx: &mut dyn Tx, query: &Query, now: Timestamp) -> Result<Vec<Site>, StoreError> {
    let sql = format!(
        "WITH {FOUND}, ranked AS (
             SELECT p.host, p.title, f.relevance,
                    count(*) OVER (PARTITION BY p.host) AS posts,
                    first_value(p.url) OVER (PARTITION BY p.host ORDER BY p.date DESC, p.id DESC) AS newest,
                    row_number() OVER (
                        PARTITION BY p.host ORDER BY f.relevance DESC, p.date DESC, p.id DESC) AS place
             FROM found f JOIN post p ON p.key = f.key
             WHERE p.end_date IS NULL OR p.end_date > $3)
         SELECT host, posts, title, newest FROM ranked WHERE place = 1
         ORDER BY posts DESC, relevance DESC, host LIMIT $4"
    );
    let rows = tx.rows(&sql, &[(&query.words).into(), TITLE_WEIGHT.into(), now.into(), SITES_MAX.into()])?;
    let site = |mut row: Row| {
        Ok(Site { host: row.take(0)?, posts: row.take(1)?, best: row.take(2)?, newest: row.take(3)? })
    };
    rows.into_iter().map(site).collect()
}
