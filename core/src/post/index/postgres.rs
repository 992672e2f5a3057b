//! The search index of PostgreSQL: a `tsvector` for each post, with a GIN index.
//!
//! A lexeme is a token of the post, and its only position is the number of its occurrences, of which each in the title
//! counts [`TITLE_WEIGHT`] times. The weight of the position is the range of the number: D is 1, C is 2 or 3, B is more, so
//! that `ts_rank` orders posts roughly. No stored position has the weight A, which a query gives to its words to tell them
//! from the others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{Change, Matches, Query, SIMILAR_WEIGHT, TITLE_WEIGHT};
use crate::id::PostKey;
use crate::post::token_fields::TokenFields;
use crate::store::{Arg, StoreError, Tx, Value, row_each, run_each};

/// The column with the key of the post.
pub(super) const KEY: &str = "post";

/// The maximum position of a lexeme, and the maximum size of the lexemes of a `tsvector` with their positions, in bytes.
///
/// Source: section 8.11.1 of the PostgreSQL documentation, and `tsvectorin` in `tsvector.c`.
const POSITION_MAX: u32 = 16_383;
const LEXEMES_MAX: usize = (1 << 20) - 1;

/// The maximum number of posts that one statement inserts, which are in memory a second time for it.
const AT_ONCE: usize = 256;

/// The posts that match $3, which is a condition for any of the words $4. The relevance of a word in $5 is multiplied by
/// $6.
///
/// `matched` has the matching posts with only the words of the query, `occurring` has a row for each of these words, and
/// `word` has the rarity of each, which is never negative as in FTS5. The size is found by its key, because the planner
/// expects thousands of rows of a table that has no statistics yet, and would compile the statement for seconds.
const FOUND: &str = "matched AS MATERIALIZED (
    SELECT post, length, ts_filter(setweight(words, 'A', string_to_array($4, ' ')), '{a}') AS words
    FROM post_index WHERE words @@ CAST(CAST($3 AS TEXT) AS TSQUERY)),
occurring AS MATERIALIZED (
    SELECT m.post, m.length, w.lexeme, CAST(w.positions[1] AS DOUBLE PRECISION) AS f
    FROM matched m CROSS JOIN unnest(m.words) w),
word AS MATERIALIZED (
    SELECT lexeme, greatest(ln((greatest(s.posts - n, 0) + CAST(0.5 AS DOUBLE PRECISION)) / (n + 0.5)), 1e-6)
           * CASE WHEN lexeme = ANY (string_to_array($5, ' ')) THEN CAST($6 AS DOUBLE PRECISION) ELSE 1 END AS idf
    FROM (SELECT lexeme, count(*) AS n FROM occurring GROUP BY lexeme) counted JOIN post_index_size s ON s.one = 1),
found AS MATERIALIZED (
    SELECT o.post AS key,
           sum(w.idf * o.f * 2.2 / (o.f + 1.2 * (0.25 + 0.75 * o.length * s.posts / greatest(s.length, 1)))
               ORDER BY o.lexeme) AS relevance
    FROM occurring o JOIN word w ON w.lexeme = o.lexeme JOIN post_index_size s ON s.one = 1
    GROUP BY o.post)";

/// Writes changes: removes the entries of all posts that may have one, then inserts those that posts have after the last change.
/// Then writes the number and the length of all posts, which is one row.
pub(super) fn write(tx: &mut dyn Tx, changes: &[Change]) -> Result<(), StoreError> {
    let (mut removals, mut inserts) = (BTreeSet::new(), BTreeMap::new());
    for change in changes {
        match change {
            Change::Insert(key, tokens) => drop(inserts.insert(*key, tokens)),
            Change::Update(key, tokens) => {
                removals.insert(*key);
                inserts.insert(*key, tokens);
            }
            Change::Remove(key) => {
                removals.insert(*key);
                inserts.remove(key);
            }
        }
    }
    let mut size = Size::default();
    size.remove(tx, &removals)?;
    size.insert(tx, &inserts)?;
    let sql = "UPDATE post_index_size SET posts = posts + $1, length = length + $2 WHERE one = 1";
    tx.run(sql, &[size.posts.into(), size.length.into()])?;
    Ok(())
}

/// The change in the size of the index.
#[derive(Default)]
struct Size {
    posts: i64,
    length: i64,
}

impl Size {
    fn insert(
        &mut self,
        tx: &mut dyn Tx,
        inserts: &BTreeMap<PostKey, &Arc<TokenFields>>,
    ) -> Result<(), StoreError> {
        let words: Vec<(PostKey, Words)> =
            inserts.iter().map(|(key, tokens)| (*key, Words::of(tokens))).collect();
        let rows: Vec<[Arg<'_>; 3]> = words
            .iter()
            .map(|(key, words)| [(*key).into(), words.length.into(), (&words.words).into()])
            .collect();
        let sql = "INSERT INTO post_index (post, length, words) VALUES ($1, $2, CAST(CAST($3 AS TEXT) AS TSVECTOR))";
        for rows in rows.chunks(AT_ONCE) {
            run_each(tx, sql, rows)?;
        }
        for (_, words) in &words {
            self.posts += 1;
            self.length += words.length;
        }
        Ok(())
    }

    fn remove(&mut self, tx: &mut dyn Tx, keys: &BTreeSet<PostKey>) -> Result<(), StoreError> {
        let keys: Vec<[Arg<'_>; 1]> = keys.iter().map(|key| [(*key).into()]).collect();
        let removed = row_each(tx, "DELETE FROM post_index WHERE post = $1 RETURNING length", &keys)?;
        for mut row in removed.into_iter().flatten() {
            self.posts -= 1;
            self.length -= row.take::<i64>(0)?;
        }
        Ok(())
    }
}

/// Empties the index.
pub(super) fn clear(tx: &mut dyn Tx) -> Result<(), StoreError> {
    tx.run("DELETE FROM post_index", &[])?;
    tx.run("UPDATE post_index_size SET posts = 0, length = 0", &[])?;
    Ok(())
}

/// Returns the posts that match a query.
pub(super) fn matches(query: &Query<'_>) -> Matches {
    let all = [query.words, query.similar].concat();
    let any_of: Vec<String> = all.iter().map(|word| quoted(word)).collect();
    let texts = [any_of.join(" | "), all.join(" "), query.similar.join(" ")].map(Value::Text);
    let args = texts.into_iter().chain([Value::Real(SIMILAR_WEIGHT)]).collect();
    Matches { sql: FOUND, args }
}

/// The words of a post.
struct Words {
    /// The text form of the `tsvector`.
    words: String,
    /// The number of tokens, including repetitions.
    length: i64,
}

impl Words {
    fn of(tokens: &TokenFields) -> Self {
        let (mut occurrences, mut length) = (HashMap::<&str, u32>::new(), 0);
        for (stream, weight) in [(&tokens.title, u32::from(TITLE_WEIGHT)), (&tokens.post, 1)] {
            for token in stream.split_ascii_whitespace() {
                *occurrences.entry(token).or_default() += weight;
                length += 1;
            }
        }
        let (mut words, mut bytes) = (String::new(), 0);
        // The first tokens stay if there are too many, which needs almost 100,000 characters of Han without a repetition.
        for token in tokens.token.split_ascii_whitespace() {
            // Aligned to two bytes, then the number of positions and the position, of two bytes each.
            bytes += token.len().next_multiple_of(2) + 4;
            if bytes > LEXEMES_MAX {
                break;
            }
            let n = occurrences[token].min(POSITION_MAX);
            let range = match n {
                1 => "D",
                2 | 3 => "C",
                _ => "B",
            };
            words.extend([&*quoted(token), ":", &*n.to_string(), range, " "]);
        }
        Self { words, length }
    }
}

/// Returns a word in the text form of a `tsvector` or a `tsquery`.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\\', r"\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(title: &str, post: &str) -> Words {
        Words::of(&TokenFields::of(title, post))
    }

    #[test]
    fn a_lexeme_has_the_number_of_its_occurrences_as_its_position() {
        let Words { words, length } = words("Rust 1.95", "Rust's cargo, node.js; cargo and o'reilly");
        assert_eq!(words, "'rust':5B '1.95':4B 'cargo':2C 'node.js':1D 'o''reilly':1D ");
        assert_eq!(length, 7);
    }

    #[test]
    fn a_post_without_words_has_an_empty_vector() {
        let Words { words, length } = words("!!!", "");
        assert_eq!((words.as_str(), length), ("", 0));
    }

    #[test]
    fn the_longest_posts_fit_into_a_vector() {
        let text = "rust ".repeat(20_000);
        assert_eq!(words("Rust", &text).words, "'rust':16383B ");
        // All pairs of these characters are different tokens, of eight bytes each.
        let han: Vec<char> = ('\u{20000}'..'\u{20140}').collect();
        let mut text = String::new();
        for (n, first) in han.iter().enumerate() {
            for second in &han[..n] {
                text.extend([*first, *second]);
            }
        }
        let text: String = text.chars().take(100_000).collect();
        let Words { words, length } = words("", &text);
        let bytes: usize = words.split_ascii_whitespace().map(|word| word.len() - "'':1D".len() + 4).sum();
        assert!(length > 90_000 && bytes <= LEXEMES_MAX && bytes > LEXEMES_MAX - 12, "{length} {bytes}");
    }
}
