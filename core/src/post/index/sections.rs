//! PostgreSQL's index, by sections of consecutive posts: a term is eight bits of the section, then 24 bits of the hash. A search
//! reads sections from the newest on until it has enough, and imports change only the pages of the newest one. With as few bits
//! another term may be found, so the program compares the counts, and the post's topics and tags.

use std::ops::Range;

use super::entry::hash;
use crate::base::clock::Timestamp;
use crate::record::id::PostKey;
use crate::store::{Arg, Row, StoreError, Tx};

/// The number of posts of a section: with a word in every post, reading a section takes about 20 ms.
const POSTS: i64 = 16_384;
/// Then their terms are repeated.
const SECTIONS: i64 = 256;
const HASH_BITS: u32 = 24;

pub(super) fn newest(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    let newest: Option<i64> = tx.one("SELECT max(post) FROM post_terms", &[])?.take(0)?;
    Ok(newest.unwrap_or(0) / POSTS)
}

pub(super) const fn first_post(section: i64) -> PostKey {
    PostKey::from_stored(section * POSTS)
}

/// Returns how many sections probably contain `posts` matching posts, where `share` is the share of matching posts.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "far more than there are")]
pub(super) fn expected(posts: usize, share: f64) -> i64 {
    ((posts as f64 / share.max(f64::MIN_POSITIVE)) as i64 / POSTS).saturating_add(1)
}

pub(super) fn of_post(key: PostKey, terms: &[String]) -> String {
    array(terms.iter().map(|term| in_section(term, key.as_i64() / POSTS)))
}

/// Passes the key, the date and the counts of at most `limit` posts to `take`, the newest first: posts of these sections before
/// the post `before` that have a term of each list and have not ended.
pub(super) fn find(
    tx: &mut dyn Tx,
    alternatives: &[&[String]],
    sections: Range<i64>,
    before: PostKey,
    now: Timestamp,
    limit: i64,
    take: &mut dyn FnMut(&mut Row) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let lists: Vec<String> = alternatives.iter().map(|terms| in_sections(terms, &sections)).collect();
    // The keys are found before the counts are read, which sorting would move.
    let sql = format!(
        "SELECT post, date, counts FROM post_terms WHERE post = ANY (ARRAY(
             SELECT post FROM (SELECT post, end_date FROM post_terms WHERE {}) AS found
             WHERE post >= $1 AND post < $2 AND (end_date IS NULL OR end_date > $3) ORDER BY post DESC LIMIT $4
         )) ORDER BY post DESC",
        with_terms(5, lists.len())
    );
    let mut args: Vec<Arg<'_>> =
        vec![first_post(sections.start).into(), before.into(), now.into(), limit.into()];
    args.extend(lists.iter().map(Arg::from));
    tx.for_each(&sql, &args, take)
}

/// Looks in the newest section first.
pub(super) fn has(tx: &mut dyn Tx, word: &String) -> Result<bool, StoreError> {
    // With a limit of one row, the server would read all posts in the hope of finding it soon.
    let sql = format!(
        "SELECT count(*) FROM (SELECT counts FROM post_terms WHERE {}) AS found WHERE position($1 IN counts) > 0",
        with_terms(2, 1)
    );
    let (hash, newest) = (hash(word).to_le_bytes().to_vec(), newest(tx)?);
    for sections in [newest..newest + 1, 0..newest] {
        let terms = in_sections(std::slice::from_ref(word), &sections);
        let posts: i64 = tx.one(&sql, &[Arg::from(&hash), Arg::from(&terms)])?.take(0)?;
        if posts > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `first` is the number of the first parameter. The lists are subqueries, because the planner would rather read all posts than
/// look up a long list that it knows. The offset keeps it from combining the condition with others.
fn with_terms(first: usize, lists: usize) -> String {
    let has = |at: usize| format!("terms && (SELECT CAST(CAST(${at} AS text) AS integer[]))");
    format!("{} OFFSET 0", (first..first + lists).map(has).collect::<Vec<_>>().join(" AND "))
}

fn in_sections(terms: &[String], sections: &Range<i64>) -> String {
    let sections = sections.start.max(sections.end - SECTIONS)..sections.end;
    array(sections.flat_map(|section| terms.iter().map(move |term| in_section(term, section))))
}

fn in_section(term: &str, section: i64) -> i32 {
    let section = u32::try_from(section.rem_euclid(SECTIONS)).expect("it is below 256");
    ((section << HASH_BITS) | (hash(term) & ((1 << HASH_BITS) - 1))).cast_signed()
}

fn array(numbers: impl Iterator<Item = i32>) -> String {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    format!("{{{}}}", numbers.join(","))
}
