//! The posts that may match a query best: the newest ones with all its words in the title, the newest ones with all its words, then
//! the newest ones with its rarest words. The newest posts are those that were inserted last.
//!
//! PostgreSQL reads all posts with a word that is rare among the latest posts, 1.3 µs each. Where it is frequent among the
//! others, a search takes as long as there are such posts; `--query-timeout` bounds it.
//!

use std::collections::HashSet;

use super::entry::Counts;
#[cfg(feature = "postgres")]
use super::entry::hash;
use super::query::{Condition, Query};
use crate::base::clock::Timestamp;
use crate::record::id::PostKey;
#[cfg(feature = "postgres")]
use crate::store::Arg;
use crate::store::{Dialect, Row, StoreError, Tx};

/// The number of candidates that are ranked together. Those after them are less relevant than all of these.
pub(super) const TIER: usize = 1_000;
/// The number of candidates below which pairs of syllables find further ones.
const FEW: usize = 100;

/// A post that may match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) key: PostKey,
    pub(super) date: Timestamp,
    pub(super) relevance: f64,
}

/// Which posts are found.
#[derive(Clone, Copy)]
pub(super) struct Scope<'s> {
    /// A topic or tag that they have.
    pub(super) category: Option<&'s str>,
    /// The time that their end dates are after.
    pub(super) now: Timestamp,
}

/// Returns at most `limit` candidates, best first.
pub(super) fn ranked(
    tx: &mut dyn Tx,
    query: &Query,
    scope: Scope<'_>,
    limit: usize,
) -> Result<Vec<Candidate>, StoreError> {
    let mut found = Found {
        query,
        now: scope.now,
        limit,
        keys: HashSet::new(),
        posts: Vec::new(),
        #[cfg(feature = "postgres")]
        earlier: Vec::new(),
    };
    #[expect(clippy::cast_precision_loss, reason = "a thousand")]
    let few = TIER as f64 / 2.0;
    for condition in query.conditions(scope.category, few) {
        found.add(tx, &condition)?;
    }
    if found.posts.len() < FEW
        && let Some(condition) = query.of_pairs(scope.category)
    {
        found.add(tx, &condition)?;
    }
    let mut posts = found.posts;
    let by_relevance = |one: &Candidate, other: &Candidate| {
        let of = |post: &Candidate| (post.date, post.key);
        other.relevance.total_cmp(&one.relevance).then_with(|| of(other).cmp(&of(one)))
    };
    let tier = TIER.min(posts.len());
    let (first, rest) = posts.split_at_mut(tier);
    first.sort_unstable_by(by_relevance);
    rest.sort_unstable_by(by_relevance);
    if let Some(last) = first.last() {
        for post in rest {
            post.relevance = post.relevance.min(last.relevance);
        }
    }
    Ok(posts)
}

/// The candidates that were found so far.
struct Found<'q> {
    query: &'q Query,
    now: Timestamp,
    limit: usize,
    keys: HashSet<PostKey>,
    posts: Vec<Candidate>,
    /// The conditions that were met so far.
    #[cfg(feature = "postgres")]
    earlier: Vec<Condition>,
}

impl Found<'_> {
    /// Adds the newest posts that meet a condition, up to the limit.
    fn add(&mut self, tx: &mut dyn Tx, condition: &Condition) -> Result<(), StoreError> {
        if self.posts.len() >= self.limit {
            return Ok(());
        }
        match tx.dialect() {
            Dialect::Sqlite => self.add_from_sqlite(tx, condition),
            #[cfg(feature = "postgres")]
            Dialect::Postgres => self.add_from_postgres(tx, condition),
        }
    }

    fn add_from_sqlite(&mut self, tx: &mut dyn Tx, condition: &Condition) -> Result<(), StoreError> {
        let sql = "SELECT t.post, t.date, t.counts
                   FROM post_index CROSS JOIN post_terms t ON t.post = post_index.rowid
                   WHERE post_index MATCH $1 AND (t.end_date IS NULL OR t.end_date > $2)
                   ORDER BY post_index.rowid DESC LIMIT $3";
        let (matching, limit) = (matching(condition), self.rows()?);
        tx.for_each(sql, &[(&matching).into(), self.now.into(), limit.into()], &mut |row| self.take(row))
    }

    /// Reads the posts from the newest on as long as enough of them are likely to match, else those that the index finds. Posts that
    /// an earlier condition has found are left out by the server.
    ///
    /// With 400,000 posts, reading and comparing a post took 0.4 µs, and reading one that the index has found 1.3 µs.
    #[cfg(feature = "postgres")]
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "numbers of posts")]
    fn add_from_postgres(&mut self, tx: &mut dyn Tx, condition: &Condition) -> Result<(), StoreError> {
        let earlier = std::mem::take(&mut self.earlier);
        let mut compared = vec![("", "@>", array(&condition.all)), ("", "&&", array(&condition.any))];
        compared.extend(
            earlier
                .iter()
                .filter(|other| other.any.is_empty())
                .map(|other| ("NOT ", "@>", array(&other.all))),
        );
        let any: Vec<String> = earlier.iter().flat_map(|other| other.any.iter().cloned()).collect();
        compared.push(("NOT ", "&&", array(&any)));
        compared.retain(|(_, _, terms)| terms != "{}");
        let matches = compared.iter().enumerate().map(|(place, (not, operator, _))| {
            format!("{not}terms {operator} CAST(CAST(${} AS text) AS integer[])", place + 4)
        });
        let matches = matches.collect::<Vec<_>>().join(" AND ");
        let wanted = "(end_date IS NULL OR end_date > $1) ORDER BY post DESC LIMIT $2";
        let columns = "post, date, end_date, terms, counts FROM post_terms";
        let left = self.limit - self.posts.len();
        let limit = i64::try_from(left).map_err(StoreError::other)?;
        let mut find = |found: &mut Self, sql: &str, bound: i64| {
            let mut args: Vec<Arg<'_>> = vec![found.now.into(), limit.into(), bound.into()];
            args.extend(compared.iter().map(|(_, _, terms)| Arg::from(terms)));
            tx.for_each(sql, &args, &mut |row| found.take(row))
        };
        let most = left as f64 / condition.share.max(f64::MIN_POSITIVE) * 2.0;
        if most * 0.4 < self.query.posts * condition.share * 1.3 {
            let sql = format!(
                "SELECT post, date, counts FROM (SELECT {columns} ORDER BY post DESC LIMIT $3) AS latest
                 WHERE {matches} AND {wanted}"
            );
            find(self, &sql, most as i64)?;
        }
        if self.posts.len() < self.limit {
            // With the offset, the server does not read all posts in the hope of finding enough of them soon.
            let sql = format!(
                "SELECT post, date, counts FROM (SELECT {columns} WHERE {matches} OFFSET $3) AS matching WHERE {wanted}"
            );
            find(self, &sql, 0)?;
        }
        self.earlier = earlier;
        self.earlier.push(condition.clone());
        Ok(())
    }

    /// Returns the maximum number of rows to read. Those that were found before are at most as many as are wanted no more.
    fn rows(&self) -> Result<i64, StoreError> {
        i64::try_from(self.limit).map_err(StoreError::other)
    }

    /// Adds a post, unless it was found before or there are enough.
    fn take(&mut self, row: &mut Row) -> Result<(), StoreError> {
        let key: PostKey = row.take(0)?;
        if self.posts.len() < self.limit && self.keys.insert(key) {
            let bytes: Vec<u8> = row.take(2)?;
            // A damaged entry is not worth failing the search.
            let Some(counts) = Counts::of(&bytes) else { return Ok(()) };
            let relevance = self.query.relevance(&counts);
            self.posts.push(Candidate { key, date: row.take(1)?, relevance });
        }
        Ok(())
    }
}

/// Returns the expression of FTS5 for a condition.
fn matching(condition: &Condition) -> String {
    let mut parts: Vec<String> = condition.all.iter().map(|term| quoted(term)).collect();
    if !condition.any.is_empty() {
        parts.push(format!("({})", any_of(&condition.any)));
    }
    parts.join(" AND ")
}

/// Returns the expression of FTS5 that matches any of these terms.
pub(super) fn any_of(terms: &[String]) -> String {
    terms.iter().map(|term| quoted(term)).collect::<Vec<_>>().join(" OR ")
}

/// Returns a term in quotes, so that FTS5 does not interpret it.
fn quoted(term: &str) -> String {
    format!("\"{}\"", term.replace('"', "\"\""))
}

/// Returns the hashes of terms as an array.
#[cfg(feature = "postgres")]
pub(super) fn array(terms: &[String]) -> String {
    let hashes: Vec<String> = terms.iter().map(|term| hash(term).cast_signed().to_string()).collect();
    format!("{{{}}}", hashes.join(","))
}
