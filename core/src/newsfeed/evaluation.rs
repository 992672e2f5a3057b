//! The quality of the recommended feed, measured on past acts of members.
//!
//! The evaluation splits the acts of each member at a time in the past. Earlier acts are the history of the member. A
//! good feed would have shown the posts that the member first liked or viewed later. The feed is computed by the code
//! that serves it, from the posts and acts before that time, and compared with simpler rankings.
//!
//! Some past data is not available: views by guests have no dates and do not count in any ranking, a repeated view has
//! only the date of the latest one, and the word model is the current one.
//!
//! Source: Herlocker, Konstan, Terveen and Riedl, *Evaluating collaborative filtering recommender systems*, ACM TOIS
//! 22(1), 2004; split by time, because a feed is requested before its readers act.

use std::sync::Arc;

use serde::Serialize;

use super::index::FeedIndex;
use super::meaning::Lexicon;
use super::personal::recommend;
use crate::Tidings;
use crate::account::Caller;
use crate::clock::Timestamp;
use crate::error::{Code, Error, Problem, Result};
use crate::id::PostKey;
use crate::keyed::OwnSet;
use crate::post::feed_rows;

mod history;
mod metrics;
mod tf_idf;

use history::{PastActs, Tested};
use metrics::{Scores, TOP};
use tf_idf::TfIdf;

/// The names of the rankings in the order of the report.
const RANKINGS: [&str; 4] = ["recommended", "newest", "popular", "tf-idf"];

/// The error if no member can be evaluated.
const NO_MEMBERS: Problem =
    Problem::new(Code::NotPossible, "no member liked or viewed an earlier post after that time");

/// The fraction of the progress that reading the acts takes.
const READING: f64 = 0.3;

/// The result of [`evaluate`].
#[derive(Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// The time that splits the acts.
    pub at: Timestamp,
    /// The number of members who liked or viewed a new post after that time.
    pub members: usize,
    /// The number of posts that the feeds were computed from.
    pub posts: usize,
    /// The quality of each ranking, the recommended feed first.
    pub rows: Vec<Quality>,
}

/// The quality of a ranking; each figure is from 0 to 1.
#[derive(Debug, PartialEq, Serialize)]
pub struct Quality {
    /// `recommended`: the recommended feed; `newest`: all posts, newest first; `popular`: the popular feed; `tf-idf`:
    /// the newest 150 posts, ordered by the similarity of their words and tags to the posts that the member had liked
    /// or viewed.
    pub ranking: &'static str,
    /// The normalised discounted cumulative gain of the first ten posts, averaged over members.
    pub ndcg10: f64,
    /// The share of the relevant posts among the first thirty, averaged over members.
    pub recall30: f64,
    /// The share of all posts that are among the first ten of at least one member.
    pub coverage: f64,
}

/// Computes the feeds as of the time `at`, a date or a time in RFC 3339, and compares them with the later acts of each
/// member. By default, a fifth of all likes and views come after `at`. No ranking contains posts that the member had
/// seen. `progress` receives values from 0 to 1. The database is not changed.
///
/// # Errors
/// `Not admin` unless the caller is the operator; `bad request` if `at` is not a time, or if no member liked or
/// viewed an earlier post after it.
pub fn evaluate(
    tidings: &Tidings,
    caller: &Caller,
    at: Option<&str>,
    progress: &mut dyn FnMut(f64),
) -> Result<Evaluation> {
    let operator = caller.operator()?;
    let at = match at {
        Some(at) => Some(
            Timestamp::parse(at)
                .ok_or(Error::BadRequest(Problem::invalid("at", "at is a date in RFC 3339")))?,
        ),
        None => history::fifth_from_last(tidings.store())?,
    };
    let at = at.ok_or(Error::BadRequest(NO_MEMBERS))?;
    let config = &tidings.config().feed;
    let mut past =
        PastActs::read(tidings.store(), operator, at, config, &mut |share| progress(share * READING))?;
    let mut posts = tidings.store().read(|tx| feed_rows::until(tx, at, config.posts))?;
    for row in &mut posts {
        row.heat = past.heats.remove(&row.key);
    }
    let lexicon = tidings.words().current().map(|model| Arc::new(Lexicon::new(model)));
    let index = FeedIndex::next(None, posts, &[], lexicon.as_ref(), 0, at, config);
    let tf_idf = TfIdf::read(tidings.store(), &index)?;
    let ended: OwnSet<PostKey> = index.ended(at).map(|position| index.key(position)).collect();

    let mut scores = RANKINGS.map(|_| Scores::default());
    let all = past.tested.len();
    for (done, member) in past.tested.into_iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "an approximate progress suffices")]
        progress(READING + (1.0 - READING) * done as f64 / all as f64);
        let Tested { acts, seen, turned_to } = Tested::read(tidings.store(), operator, member, at)?;
        let hidden: OwnSet<PostKey> = seen.iter().copied().chain(ended.iter().copied()).collect();
        let can_be_shown = |key: &PostKey| index.position(*key).is_some() && !hidden.contains(key);
        let relevant: OwnSet<PostKey> = turned_to.into_iter().filter(can_be_shown).collect();
        if relevant.is_empty() {
            continue;
        }
        let first = |keys: &mut dyn Iterator<Item = PostKey>| -> Vec<PostKey> {
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
        return Err(Error::BadRequest(NO_MEMBERS));
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
