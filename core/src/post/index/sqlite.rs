//! The search index of SQLite: an FTS5 table.
//!
//! The index receives tokens separated by blanks, and its tokenizer treats every other character as a letter.

use super::{Change, Matches, Query, TITLE_WEIGHT};
use crate::post::token_fields::TokenFields;
use crate::record::id::PostKey;
use crate::store::{StoreError, Tx, Value};

/// The column with the key of the post.
pub(super) const KEY: &str = "rowid";

/// The posts that match $3, where a word in the title weighs $4.
const FOUND: &str = "found AS MATERIALIZED (
    SELECT rowid AS key, -bm25(post_index, $4, 1.0) AS relevance FROM post_index WHERE post_index MATCH $3)";
/// Like [`FOUND`], with the posts that match $5 in addition, whose relevance is multiplied by $6.
const FOUND_BY_2: &str = "found AS MATERIALIZED (
    SELECT key, sum(relevance) AS relevance FROM (
        SELECT rowid AS key, -bm25(post_index, $4, 1.0) AS relevance FROM post_index WHERE post_index MATCH $3
        UNION ALL
        SELECT rowid, -bm25(post_index, $4, 1.0) * $6 FROM post_index WHERE post_index MATCH $5)
    GROUP BY key)";
/// Like [`FOUND_BY_2`], with the posts that match $7 in addition, whose relevance is multiplied by $8.
const FOUND_BY_3: &str = "found AS MATERIALIZED (
    SELECT key, sum(relevance) AS relevance FROM (
        SELECT rowid AS key, -bm25(post_index, $4, 1.0) AS relevance FROM post_index WHERE post_index MATCH $3
        UNION ALL
        SELECT rowid, -bm25(post_index, $4, 1.0) * $6 FROM post_index WHERE post_index MATCH $5
        UNION ALL
        SELECT rowid, -bm25(post_index, $4, 1.0) * $8 FROM post_index WHERE post_index MATCH $7)
    GROUP BY key)";

/// Writes changes, in order.
pub(super) fn write(tx: &mut dyn Tx, changes: &[Change]) -> Result<(), StoreError> {
    for change in changes {
        match change {
            Change::Insert(key, tokens) => insert(tx, *key, tokens)?,
            Change::Update(key, tokens) => {
                remove(tx, *key)?;
                insert(tx, *key, tokens)?;
            }
            Change::Remove(key) => remove(tx, *key)?,
        }
    }
    Ok(())
}

fn insert(tx: &mut dyn Tx, key: PostKey, tokens: &TokenFields) -> Result<(), StoreError> {
    let sql = "INSERT INTO post_index (rowid, title, post) VALUES ($1, $2, $3)";
    let [title, post] = tokens.indexed();
    tx.run(sql, &[key.into(), (&*title).into(), (&*post).into()])?;
    Ok(())
}

fn remove(tx: &mut dyn Tx, key: PostKey) -> Result<(), StoreError> {
    tx.run("DELETE FROM post_index WHERE rowid = $1", &[key.into()])?;
    Ok(())
}

/// Empties the index, even if it is damaged.
pub(super) fn clear(tx: &mut dyn Tx) -> Result<(), StoreError> {
    tx.run("INSERT INTO post_index (post_index) VALUES ('delete-all')", &[])?;
    Ok(())
}

/// Returns the posts that match a query.
pub(super) fn matches(query: &Query<'_>) -> Matches {
    let mut args = Vec::new();
    for (group, (terms, weight)) in query.groups().enumerate() {
        // The words of the search come first; their relevance has no factor.
        let number = if group == 0 { TITLE_WEIGHT.into() } else { weight };
        args.extend([Value::Text(any_of(terms)), Value::Real(number)]);
    }
    let sql = match args.len() / 2 {
        1 => FOUND,
        2 => FOUND_BY_2,
        _ => FOUND_BY_3,
    };
    Matches { sql, args }
}

/// Returns which of these words a post of the index has.
pub(super) fn has_words(tx: &mut dyn Tx, words: &[String]) -> Result<Vec<bool>, StoreError> {
    let sql = "SELECT 1 FROM post_index WHERE post_index MATCH $1 LIMIT 1";
    let has = |word| Ok(tx.row(sql, &[(&any_of(std::slice::from_ref(word))).into()])?.is_some());
    words.iter().map(has).collect()
}

/// Returns an FTS5 expression that matches any of the words.
fn any_of(words: &[String]) -> String {
    // Quoted, so that FTS5 does not interpret them.
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
    quoted.join(" OR ")
}
