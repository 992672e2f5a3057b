//! The posts that a source brings.
//!
//! A post belongs to the source that brought it first. That source also changes its texts, when its entry changes; topics, tags
//! and dates stay as administrators have left them.

use std::sync::Arc;

use super::change;
use super::draft::{Change, Draft};
use super::rows::{self, DerivedChanges, New};
use super::token_fields::TokenFields;
use crate::account::Admin;
use crate::base::clock::Clock;
use crate::record::error::{Error, Result};
use crate::record::id::{ObjectId, PostKey, SourceKey};
use crate::store::{StoreError, Topic, Tx, row_each, run_each};

/// An entry of a source that is new or has changed.
pub(crate) struct Arrival {
    change: Change,
    url: String,
    tokens: Arc<TokenFields>,
    /// Whether the entry was there before. If it has no post any more, an administrator has removed it.
    is_known: bool,
}

/// The outcome of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    Inserted {
        id: String,
        title: String,
    },
    Updated,
    /// It is the post of another source, its post has these texts already, or its post was removed.
    Skipped,
}

impl Arrival {
    /// Checks an entry.
    ///
    /// # Errors
    /// Returns the reason, for people.
    pub(crate) fn new(draft: &Draft, is_known: bool) -> Result<Self, String> {
        let change = Change::parse(draft).map_err(|rule| {
            let error = Error::from(rule);
            error.detail().unwrap_or_else(|| error.to_string())
        })?;
        let url = change.address.as_ref().map(|address| address.url.clone()).unwrap_or_default();
        let texts = [&change.title, &change.post].map(|text| text.as_deref().unwrap_or_default());
        let tokens = Arc::new(TokenFields::of(texts[0], texts[1]));
        Ok(Self { change, url, tokens, is_known })
    }

    /// Returns the address of the post.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

/// Writes the posts of entries with distinct addresses. The transaction must run alone.
///
/// # Errors
/// When the store fails.
pub(crate) fn write(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    source: SourceKey,
    clock: &Clock,
    arrivals: &[Arrival],
) -> Result<Vec<Arrived>> {
    let mut derived = DerivedChanges::default();
    let stored = rows::by_urls(tx, arrivals.iter().map(|arrival| &*arrival.url))?;
    let posts: Vec<_> = stored.iter().flatten().map(|post| [post.key.into()]).collect();
    let sources = row_each(tx, "SELECT source FROM post_source WHERE post = $1", &posts)?;
    let sources: Vec<Option<SourceKey>> = sources
        .into_iter()
        .map(|row| row.map(|mut row| row.take(0)).transpose())
        .collect::<Result<_, _>>()?;
    let (mut sources, mut arrived) = (sources.into_iter(), Vec::with_capacity(arrivals.len()));
    let (mut new, mut adopted) = (Vec::new(), Vec::new());
    for (arrival, old) in arrivals.iter().zip(stored) {
        let Arrival { change, tokens, is_known, .. } = arrival;
        let Some(old) = old else {
            arrived.push(Arrived::Skipped);
            if !is_known {
                let content = change.of_new(clock.now())?;
                new.push((arrived.len() - 1, ObjectId::new(clock).to_string(), content, Arc::clone(tokens)));
            }
            continue;
        };
        let owner = sources.next().flatten();
        let content = change.texts_onto(&old.content);
        let is_same = content == old.content;
        if owner.is_some_and(|owner| owner != source) || is_same {
            arrived.push(Arrived::Skipped);
        } else {
            rows::update(tx, admin, &old, &content, Some(Arc::clone(tokens)), &mut derived)?;
            arrived.push(Arrived::Updated);
        }
        if owner.is_none() {
            adopted.push(old.key);
        }
    }
    let posts: Vec<New<'_>> = new
        .iter()
        .map(|(_, id, content, tokens)| New { id, content, tokens: Arc::clone(tokens), view: 0, fav: 0 })
        .collect();
    if !adopted.is_empty() {
        change::add_each(tx, &adopted)?;
        tx.touch(Topic::PostTexts);
    }
    adopted.extend(rows::insert(tx, admin, &posts, &mut derived)?);
    link(tx, source, &adopted)?;
    for (at, id, content, _) in new {
        arrived[at] = Arrived::Inserted { id, title: content.title };
    }
    if arrived.iter().any(|one| *one != Arrived::Skipped) {
        derived.write(tx)?;
    }
    Ok(arrived)
}

/// Records that posts are of a source.
fn link(tx: &mut dyn Tx, source: SourceKey, posts: &[PostKey]) -> Result<(), StoreError> {
    let rows: Vec<_> = posts.iter().map(|post| [(*post).into(), source.into()]).collect();
    run_each(tx, "INSERT INTO post_source (post, source) VALUES ($1, $2)", &rows).map(drop)
}
