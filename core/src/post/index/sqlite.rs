//! The search index of SQLite: an FTS5 table.
//!
//! The index receives tokens separated by blanks, and its tokenizer treats every other character as a letter.

use super::{Change, Matches, Query, TITLE_WEIGHT};
use crate::post::token_fields::TokenFields;
use crate::record::id::PostKey;
use crate::store::{StoreError, Tx, Value};

/// The column with the key of the post.
pub(super) const KEY: &str = "rowid";

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

/// The posts that match a query, in two parts: the best ones, then all that are less relevant.
pub(super) struct Ranked {
    groups: Vec<(Value, f64)>,
    /// The number of parts that were taken.
    taken: usize,
}

impl Ranked {
    pub(super) fn of(tx: &mut dyn Tx, query: &Query<'_>) -> Result<Self, StoreError> {
        Ok(Self { groups: groups(tx, query)?, taken: 0 })
    }

    /// Returns the next part, only of posts of the category; `None` after the last one. The first part is for `num` posts and has
    /// more, because some do not count. The second part has the posts that are less relevant than `border`.
    pub(super) fn next(&mut self, num: i64, category: Option<&str>, border: f64) -> Option<Matches> {
        let mut args = Vec::new();
        let every = select(&self.groups, category, &mut args);
        let sql = match self.taken {
            0 => {
                let limit = arg(&mut args, Value::Integer(num.saturating_mul(4)));
                // Posts beyond the limit may be as relevant as the last one within it.
                format!(
                    "first AS MATERIALIZED ({every} ORDER BY relevance DESC LIMIT {limit}),
                     found AS (SELECT key, relevance FROM first WHERE relevance > (
                         SELECT CASE WHEN count(*) < {limit} THEN 0.0 ELSE min(relevance) END FROM first))"
                )
            }
            1 => {
                let border = arg(&mut args, Value::Real(border));
                format!(
                    "every AS MATERIALIZED ({every}),
                     found AS (SELECT key, relevance FROM every WHERE relevance < {border})"
                )
            }
            _ => return None,
        };
        self.taken += 1;
        Some(Matches { sql, args })
    }
}

/// Returns all posts that match a query.
pub(super) fn matches(tx: &mut dyn Tx, query: &Query<'_>) -> Result<Matches, StoreError> {
    let mut args = Vec::new();
    let sql = format!("found AS MATERIALIZED ({})", select(&groups(tx, query)?, None, &mut args));
    Ok(Matches { sql, args })
}

/// Returns an FTS5 expression for the terms of each weight.
fn groups(tx: &mut dyn Tx, query: &Query<'_>) -> Result<Vec<(Value, f64)>, StoreError> {
    let mut groups = Vec::new();
    for (number, (terms, weight)) in query.groups().enumerate() {
        // Forms are often in no post, and without them there is no sum for each post.
        if number == 0 || has_words(tx, terms)?.contains(&true) {
            groups.push((Value::Text(any_of(terms)), weight));
        }
    }
    Ok(groups)
}

/// Returns a statement that selects the key and the relevance of each post that matches, with a category only of its posts.
fn select(groups: &[(Value, f64)], category: Option<&str>, args: &mut Vec<Value>) -> String {
    // With the sign, FTS5 searches once, not once for each post of the category.
    let within = category.map_or_else(String::new, |category| {
        let category = arg(args, Value::Text(category.to_owned()));
        format!("AND +rowid IN (SELECT post FROM label WHERE name = {category})")
    });
    let select = |(terms, weight): &(Value, f64)| {
        let (weight, terms) = (arg(args, Value::Real(*weight)), arg(args, terms.clone()));
        format!(
            "SELECT rowid AS key, -bm25(post_index, {TITLE_WEIGHT}, 1.0) * {weight} AS relevance
             FROM post_index WHERE post_index MATCH {terms} {within}"
        )
    };
    let selects: Vec<String> = groups.iter().map(select).collect();
    match &*selects {
        [select] => select.clone(),
        _ => format!(
            "SELECT key, sum(relevance) AS relevance FROM ({}) GROUP BY key",
            selects.join(" UNION ALL ")
        ),
    }
}

/// Adds an argument, and returns its name.
fn arg(args: &mut Vec<Value>, value: Value) -> String {
    args.push(value);
    format!("${}", args.len() + 2)
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
