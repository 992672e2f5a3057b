//! The full-text index over the words of posts: every statement that names `post_index`.
//!
//! These are SQLite's alone (FTS5); PostgreSQL will need its own in place of this file. The index is handed
//! tokens with blanks between and takes everything else for a letter, so that what a word is stands in
//! [`tidings_text::tokens`] and nowhere else.

use super::Post;
use super::token_fields::TokenFields;
use crate::clock::Timestamp;
use crate::id::PostKey;
use crate::store::{Arg, Row, StoreError, Tx};

/// How much more a word in the title says about a post than the same word in its text.
const TITLE_WEIGHT: f64 = 4.0;
/// The most words of a search that are looked for; the first ones.
pub(crate) const QUERY_TOKENS: usize = 32;
/// The most sites that are answered.
const SITES_MAX: i64 = 50;

/// What a similar word tells of a post, beside a word that is looked for.
const SIMILAR_WEIGHT: f64 = 0.2;

/// The keys of the posts that match $1, with their relevance when a word in the title weighs $2.
const FOUND: &str = "found AS MATERIALIZED (
    SELECT rowid AS key, -bm25(post_index, $2, 1.0) AS relevance FROM post_index WHERE post_index MATCH $1)";
/// As [`FOUND`], also of those that match $5, whose relevance weighs $6.
const FOUND_SIMILAR: &str = "found AS MATERIALIZED (
    SELECT key, sum(relevance) AS relevance FROM (
        SELECT rowid AS key, -bm25(post_index, $2, 1.0) AS relevance FROM post_index WHERE post_index MATCH $1
        UNION ALL
        SELECT rowid, -bm25(post_index, $2, 1.0) * $6 FROM post_index WHERE post_index MATCH $5)
    GROUP BY key)";

/// The words that are looked for. A post is found when it has one of them, or one of the similar ones.
pub(crate) struct Query {
    words: String,
    similar: Option<String>,
}

impl Query {
    /// A query for these distinct tokens, and words similar to them; `None` when there are no tokens.
    pub(crate) fn new(tokens: &[String], similar: &[String]) -> Option<Self> {
        Some(Self { words: any_of(tokens)?, similar: any_of(similar) })
    }
}

/// The words in the index's language: any of them.
fn any_of(words: &[String]) -> Option<String> {
    // Quoted, so that nothing in them is taken for the language.
    let quoted = words.iter().take(QUERY_TOKENS).map(|word| format!("\"{}\"", word.replace('"', "\"\"")));
    let query = quoted.collect::<Vec<_>>().join(" OR ");
    (!query.is_empty()).then_some(query)
}

/// A site whose posts were found.
pub(crate) struct Site {
    pub(crate) host: String,
    /// How many of its posts were found.
    pub(crate) posts: i64,
    /// The title of the best of them.
    pub(crate) best: String,
    /// The address of the newest of them.
    pub(crate) newest: String,
}

/// Puts a post into the index that is not in it.
pub(super) fn insert(tx: &mut dyn Tx, key: PostKey, tokens: &TokenFields) -> Result<(), StoreError> {
    let sql = "INSERT INTO post_index (rowid, title, post) VALUES ($1, $2, $3)";
    tx.run(sql, &[key.into(), (&tokens.title).into(), (&tokens.post).into()])?;
    Ok(())
}

/// Takes a post out of the index.
pub(super) fn remove(tx: &mut dyn Tx, key: PostKey) -> Result<(), StoreError> {
    tx.run("DELETE FROM post_index WHERE rowid = $1", &[key.into()])?;
    Ok(())
}

/// Posts that are not in the index, and what is in it without being a post.
pub(super) fn mismatches(tx: &mut dyn Tx) -> Result<Vec<PostKey>, StoreError> {
    let sql = "SELECT key FROM (SELECT key FROM post EXCEPT SELECT rowid FROM post_index)
               UNION ALL SELECT rowid FROM (SELECT rowid FROM post_index EXCEPT SELECT key FROM post)";
    tx.rows(sql, &[])?.into_iter().map(|mut row| row.take(0)).collect()
}

/// Empties the index, whatever state it is in.
pub(super) fn clear(tx: &mut dyn Tx) -> Result<(), StoreError> {
    tx.run("INSERT INTO post_index (post_index) VALUES ('delete-all')", &[])?;
    Ok(())
}

/// The posts that match best, at most `num`, each with its relevance above 0; those past their end at `now`
/// are left out, and with a `category` those that have no such topic or tag.
///
/// Relevance is BM25, the sum over the words that are looked for of `idf · f · (k + 1) / (f + k · (1 - b + b · l))`:
/// `f` says how often the word stands in the post, in the title for four times, `l` how long the post is to the
/// average one, `idf` how rare the word is; `k` is 1.2 and `b` 0.75. A similar word counts a fifth. Of equal ones the
/// newest is best, then the one with the greatest id.
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
    // The best are chosen by what is short, and only they are read whole.
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

/// The sites with posts that match and are not past their end at `now`: most matches first, then the one with
/// the best match, then by name.
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
