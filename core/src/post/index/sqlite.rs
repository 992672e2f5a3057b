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

/// The posts that match a query, in parts: the best of the posts with both words of a search, the best of all, and the rest.
pub(super) struct Ranked {
    groups: Vec<(String, f64)>,
    /// The words of a search for two.
    both: Option<[String; 2]>,
    /// The number of parts of all posts that were taken.
    taken: usize,
}

impl Ranked {
    pub(super) fn of(tx: &mut dyn Tx, query: &Query<'_>) -> Result<Self, StoreError> {
        let groups = groups(tx, query)?;
        let word = |word| any_of(std::slice::from_ref(word));
        let both = match &*query.terms.words {
            [one, other] if groups.len() == 1 => Some([word(one), word(other)]),
            _ => None,
        };
        Ok(Self { groups, both, taken: 0 })
    }

    /// Returns the next part, only of posts of the category; `None` after the last one. The best are four times `num`, because
    /// some do not count. All are less relevant than `border`.
    pub(super) fn next(
        &mut self,
        tx: &mut dyn Tx,
        num: i64,
        category: Option<&str>,
        border: f64,
    ) -> Result<Option<Matches>, StoreError> {
        let limit = num.saturating_mul(4);
        if let Some(words) = self.both.take()
            && let Some(least) = least_of_both(tx, &words, limit)?
        {
            return Ok(Some(best(&[(words.join(" AND "), 1.0)], category, least, border, limit)));
        }
        self.taken += 1;
        Ok(match self.taken {
            1 => Some(best(&self.groups, category, 0.0, border, limit)),
            2 => Some(best(&self.groups, category, 0.0, border, i64::MAX)),
            _ => None,
        })
    }
}

/// Returns the relevance that only posts with both words can exceed; `None` if these posts are probably fewer than the limit.
fn least_of_both(tx: &mut dyn Tx, words: &[String; 2], limit: i64) -> Result<Option<f64>, StoreError> {
    // At least the number of posts, and found without counting them.
    let posts: f64 = tx.one("SELECT CAST(coalesce(max(key), 0) AS REAL) FROM post", &[])?.take(0)?;
    let sql = "SELECT CAST(count(*) AS REAL) FROM post_index WHERE post_index MATCH $1 HAVING count(*) >= $2";
    let mut rarities = [0.0; 2];
    for (word, rarity) in words.iter().zip(&mut rarities) {
        let Some(mut row) = tx.row(sql, &[word.into(), limit.into()])? else { return Ok(None) };
        let number: f64 = row.take(0)?;
        *rarity = ((posts - number + 0.5) / (number + 0.5)).ln().max(1e-6);
    }
    let [common, rare] = [rarities[0].min(rarities[1]), rarities[0].max(rarities[1])];
    // A word adds less than 2.2 times its rarity. Numbers are rounded, so the bound is slightly higher.
    Ok((rare < 2.0 * common).then_some(2.200_001 * rare))
}

/// Returns the posts that match best, those with a relevance between the bounds, without the last ones within the limit if
/// others beyond it may be as relevant.
fn best(groups: &[(String, f64)], category: Option<&str>, least: f64, border: f64, limit: i64) -> Matches {
    let mut args = Vec::new();
    let select = select(groups, category, &mut args);
    let [least, border] = [least, border].map(|number| arg(&mut args, Value::Real(number)));
    let limit = arg(&mut args, Value::Integer(limit));
    let sql = format!(
        "top AS MATERIALIZED ({select} ORDER BY relevance DESC LIMIT {limit}),
         found AS (SELECT key, relevance FROM top WHERE relevance < {border} AND relevance > (
             SELECT CASE WHEN count(*) < {limit} THEN {least} ELSE max({least}, min(relevance)) END FROM top))"
    );
    Matches { sql, args }
}

/// Returns all posts that match a query.
pub(super) fn matches(tx: &mut dyn Tx, query: &Query<'_>) -> Result<Matches, StoreError> {
    let mut args = Vec::new();
    let sql = format!("found AS MATERIALIZED ({})", select(&groups(tx, query)?, None, &mut args));
    Ok(Matches { sql, args })
}

/// Returns an FTS5 expression for the terms of each weight.
fn groups(tx: &mut dyn Tx, query: &Query<'_>) -> Result<Vec<(String, f64)>, StoreError> {
    let mut groups = Vec::new();
    for (number, (terms, weight)) in query.groups().enumerate() {
        // Forms are often in no post, and without them there is no sum for each post.
        if number == 0 || has_words(tx, terms)?.contains(&true) {
            groups.push((any_of(terms), weight));
        }
    }
    Ok(groups)
}

/// Returns a statement that selects the key and the relevance of each post that matches, with a category only of its posts.
fn select(groups: &[(String, f64)], category: Option<&str>, args: &mut Vec<Value>) -> String {
    // With the sign, FTS5 searches once, not once for each post of the category.
    let within = category.map_or_else(String::new, |category| {
        let category = arg(args, Value::Text(category.to_owned()));
        format!("AND +rowid IN (SELECT post FROM label WHERE name = {category})")
    });
    let select = |(terms, weight): &(String, f64)| {
        let (weight, terms) = (arg(args, Value::Real(*weight)), arg(args, Value::Text(terms.clone())));
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
