//! How good the recommended feed is, measured on what members did: a look back at a moment of the past.
//!
//! At that moment each member's acts of before are their history, and the posts that they turned to from then on, for
//! the first time, are what a good feed would have shown them. The feed is made by the very code that serves it, of
//! the posts and the acts that there were; beside it stand rankings that know less. What the store does not keep
//! cannot be taken back: the views of guests, which have no dates of their own and count for no ranking; a view that
//! was repeated since, which has the date of the latest; the word model, which is the present one.
//!
//! Source: Herlocker, Konstan, Terveen and Riedl, *Evaluating collaborative filtering recommender systems*, ACM TOIS
//! 22(1), 2004; parted by time, as a feed is asked before its readers act.

use std::sync::Arc;

use serde::Serialize;

use super::index::FeedIndex;
use super::meaning::Lexicon;
use super::personal::recommend;
use crate::Tidings;
use crate::account::Caller;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::keyed::OwnSet;
use crate::post::feed_rows;

mod history;
mod metrics;
mod tf_idf;

use history::{Past, Tested};
use metrics::{Scores, TOP};
use tf_idf::TfIdf;

/// What a ranking is called, in the order of the report.
const RANKINGS: [&str; 4] = ["recommended", "newest", "popular", "tf-idf"];

/// There is nothing to measure by.
const NOBODY: &str = "nobody turned to a post from then on that was there before";

/// How much of the work is reading what all did.
const READING: f64 = 0.3;

/// What [`evaluate`] found.
#[derive(Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// The moment that the feeds were asked at.
    pub at: Timestamp,
    /// Members who turned to a post from then on.
    pub members: usize,
    /// The posts that feeds were made of.
    pub posts: usize,
    /// How good each ranking is, the recommended feed first.
    pub rows: Vec<Quality>,
}

/// How good a ranking is, each figure from 0 to 1.
#[derive(Debug, PartialEq, Serialize)]
pub struct Quality {
    /// `recommended`: the feed; `newest`; `popular`: the popular feed; `tf-idf`: of the newest 150 posts those first
    /// whose words and tags are most like those of the posts that the member had turned to.
    pub ranking: &'static str,
    /// Normalised discounted cumulative gain of the first ten, the mean over members.
    pub ndcg10: f64,
    /// The share of what a member turned to among the first thirty, the mean over members.
    pub recall30: f64,
    /// The share of all posts that stand among anybody's first ten.
    pub coverage: f64,
}

/// Asks the feeds as they would have been at the moment `at`, in RFC 3339 or a date, and compares them with what each
/// member did from then on; when not said, at the moment with a fifth of all likes and views behind it. What a member
/// has seen is in none of the rankings. `progress` is told how far it is, from 0 to 1. Nothing is written.
///
/// # Errors
/// `Not admin` unless the caller is the operator; `bad request` when `at` is no time, or nobody turned to a post from
/// then on that was there before.
pub fn evaluate(
    tidings: &Tidings,
    caller: &Caller,
    at: Option<&str>,
    progress: &mut dyn FnMut(f64),
) -> Result<Evaluation> {
    let operator = caller.operator()?;
    let at = match at {
        Some(at) => Some(Timestamp::parse(at).ok_or(Error::BadRequest("at is a date in RFC 3339"))?),
        None => history::fifth_from_last(tidings.store())?,
    };
    let at = at.ok_or(Error::BadRequest(NOBODY))?;
    let config = &tidings.config().feed;
    let mut past = Past::read(tidings.store(), operator, at, config, &mut |share| progress(share * READING))?;
    let mut posts = tidings.store().read(|tx| feed_rows::until(tx, at, config.posts))?;
    for row in &mut posts {
        row.heat = past.heats.remove(&row.key);
    }
    let lexicon = tidings.words().current().map(|model| Arc::new(Lexicon::new(model)));
    let index = FeedIndex::next(None, posts, &[], lexicon.as_ref(), 0, at, config);
    let tf_idf = TfIdf::read(tidings.store(), &index)?;
    let over: OwnSet<i64> = index.ended(at).map(|position| index.key(position)).collect();

    let mut scores = RANKINGS.map(|_| Scores::default());
    let all = past.tested.len();
    for (done, member) in past.tested.into_iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "nobody looks at the last digits")]
        progress(READING + (1.0 - READING) * done as f64 / all as f64);
        let Tested { acts, seen, turned_to } = Tested::read(tidings.store(), operator, member, at)?;
        let hidden: OwnSet<i64> = seen.iter().copied().chain(over.iter().copied()).collect();
        let can_be_shown = |key: &i64| index.position(*key).is_some() && !hidden.contains(key);
        let relevant: OwnSet<i64> = turned_to.into_iter().filter(can_be_shown).collect();
        if relevant.is_empty() {
            continue;
        }
        let first = |keys: &mut dyn Iterator<Item = i64>| -> Vec<i64> {
            keys.filter(|key| !hidden.contains(key)).take(TOP).collect()
        };
        let recommended = recommend(&index, &acts, &seen, member.key, config, at);
        let rankings = [
            match recommended {
                Some(keys) => first(&mut keys.into_iter()),
                None => first(&mut index.recommended_feed.order.keys()),
            },
            first(&mut index.newest()),
            first(&mut index.popular_feed.order.keys()),
            first(&mut tf_idf.ranking(tidings.store(), &acts)?.into_iter()),
        ];
        for (scores, ranking) in scores.iter_mut().zip(&rankings) {
            scores.add(ranking, &relevant);
        }
    }
    if scores[0].members() == 0 {
        return Err(Error::BadRequest(NOBODY));
    }
    let rows = RANKINGS.iter().zip(&scores).map(|(ranking, scores)| Quality {
        ranking,
        ndcg10: metrics::rounded(scores.ndcg10()),
        recall30: metrics::rounded(scores.recall30()),
        coverage: metrics::rounded(scores.coverage(index.len())),
    });
    Ok(Evaluation { at, members: scores[0].members(), posts: index.len(), rows: rows.collect() })
}

#[cfg(test)]
mod tests;
