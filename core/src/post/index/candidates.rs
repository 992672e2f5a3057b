//! The posts that may match a query best: the newest with all its words in the title, then with all its words, then with its
//! rarest words. PostgreSQL finds them by sections of posts ([`sections`]).

use std::collections::HashSet;

use super::entry::Counts;
use super::query::{Condition, Query};
#[cfg(feature = "postgres")]
use super::sections;
use crate::base::clock::Timestamp;
use crate::record::id::PostKey;
use crate::store::{Dialect, Row, StoreError, Tx};

/// Candidates that are ranked together. The others are less relevant than all of these.
pub(super) const TIER: usize = 1_000;
/// With fewer candidates, pairs of syllables find further ones.
const FEW: usize = 100;

#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) key: PostKey,
    pub(super) date: Timestamp,
    pub(super) relevance: f64,
}

#[derive(Clone, Copy)]
pub(super) struct Scope<'s> {
    pub(super) category: Option<&'s str>,
    /// Posts that have ended at this time are left out.
    pub(super) now: Timestamp,
}

/// Best first.
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
        newest: None,
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

struct Found<'q> {
    query: &'q Query,
    now: Timestamp,
    limit: usize,
    keys: HashSet<PostKey>,
    posts: Vec<Candidate>,
    /// `None` until it is read.
    #[cfg(feature = "postgres")]
    newest: Option<i64>,
}

impl Found<'_> {
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
        tx.for_each(sql, &[(&matching).into(), self.now.into(), limit.into()], &mut |row| {
            self.take(row, &|_| true).map(drop)
        })
    }

    /// Reads the newest sections that are expected to contain enough posts, and then always eight times as many until there are
    /// enough. The first read takes at most 16 sections: words that the latest posts lack may be frequent in others.
    #[cfg(feature = "postgres")]
    fn add_from_postgres(&mut self, tx: &mut dyn Tx, condition: &Condition) -> Result<(), StoreError> {
        let newest = match self.newest {
            Some(newest) => newest,
            None => *self.newest.insert(sections::newest(tx)?),
        };
        let any = (!condition.any.is_empty()).then_some(&condition.any[..]);
        let alternatives: Vec<&[String]> =
            condition.all.iter().map(std::slice::from_ref).chain(any).collect();
        let matches = |counts: &Counts<'_>| condition.matches(counts);
        let mut width = sections::expected(self.limit * 5 / 4, condition.share).min(16);
        let (mut above, mut before, mut left) = (newest + 1, PostKey::MAX, self.rows()?);
        while above > 0 && left > 0 && self.posts.len() < self.limit {
            let first = (above - width).max(0);
            let (rows, mut read) = (left, 0);
            sections::find(tx, &alternatives, first..above, before, self.now, rows, &mut |row| {
                read += 1;
                before = row.take(0)?;
                left -= i64::from(self.take(row, &matches)?);
                Ok(())
            })?;
            // Otherwise there may be further posts: some of those read were found by another term.
            if read < rows {
                (above, before, width) = (first, sections::first_post(first), width * 8);
            }
        }
        Ok(())
    }

    /// Enough even if all posts that were found before are among the rows.
    fn rows(&self) -> Result<i64, StoreError> {
        i64::try_from(self.limit).map_err(StoreError::other)
    }

    /// Adds a post unless it was found before or there are enough. Returns whether its counts match.
    fn take(&mut self, row: &mut Row, matches: &dyn Fn(&Counts<'_>) -> bool) -> Result<bool, StoreError> {
        let (key, bytes): (PostKey, Vec<u8>) = (row.take(0)?, row.take(2)?);
        // A damaged entry must not make the search fail.
        let Some(counts) = Counts::of(&bytes).filter(matches) else { return Ok(false) };
        if self.posts.len() < self.limit && self.keys.insert(key) {
            let relevance = self.query.relevance(&counts);
            self.posts.push(Candidate { key, date: row.take(1)?, relevance });
        }
        Ok(true)
    }
}

fn matching(condition: &Condition) -> String {
    let mut parts: Vec<String> = condition.all.iter().map(|term| quoted(term)).collect();
    if !condition.any.is_empty() {
        parts.push(format!("({})", any_of(&condition.any)));
    }
    parts.join(" AND ")
}

pub(super) fn any_of(terms: &[String]) -> String {
    terms.iter().map(|term| quoted(term)).collect::<Vec<_>>().join(" OR ")
}

/// So that FTS5 does not interpret the term.
fn quoted(term: &str) -> String {
    format!("\"{}\"", term.replace('"', "\"\""))
}
