//! The quality of the recommended feed, measured on past acts of members.
//!
//! The evaluation splits the acts of each member at a time in the past. Earlier acts are the history of the member. A
//! good feed would have shown the posts that the member first liked or viewed later. The feed is computed by the code
//! that serves it, from the posts and acts before that time, and compared with simpler rankings.
//!
//! A feed that is asked once says little about one that is read every day. So the time after the split is replayed twice:
//!
//! - day by day: each day on which a member acted, the feed as of its beginning is compared with the acts of that day;
//! - act by act: the feed as of the moment before an act is compared with the post of the act.
//!
//! Rankings are compared in pairs: the standard error of a difference is that of the differences of each comparison, which is
//! smaller than the errors of the two figures suggest, because both rankings have the same hard and easy members.
//!
//! Some past data is not available: views by guests have no dates and do not count in any ranking, a repeated view has
//! only the date of the latest one, and the word model is the current one. In the replays, words also have their current
//! weights.
//!
//! Source: Herlocker, Konstan, Terveen and Riedl, *Evaluating collaborative filtering recommender systems*, ACM TOIS
//! 22(1), 2004; split by time, because a feed is requested before its readers act.

use std::sync::Arc;

use serde::Serialize;

use super::index::{AsOf, FeedIndex};
use super::learning::{self, Learned};
use super::meaning::Lexicon;
use super::popularity::Popularity;
use super::recent::PastAct;
use super::signals::Scoring;
use crate::Tidings;
use crate::account::Caller;
use crate::base::cancel::CancelFlag;
use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::keyed::OwnSet;
use crate::post::feed_rows;
use crate::record::error::{Code, Error, Problem, Result};
use crate::store::StoreError;

mod advice;
mod baselines;
mod history;
mod judge;
mod memo;
mod metrics;
mod neighbours;
mod state;
mod tf_idf;
mod trials;

use judge::{Judge, Period, Source, best_simple};
use state::PastState;
pub use trials::Trial;

/// The error if no member can be evaluated.
const NO_MEMBERS: Problem =
    Problem::new(Code::NotPossible, "no member liked or viewed an earlier post after that time");

/// The fractions of the progress up to the end of reading the acts, of the evaluation at the split, and of the replay of days.
const READING: f64 = 0.1;
const SPLIT: f64 = 0.2;
const DAYS: f64 = 0.5;

/// The maximum number of acts before which the feed is asked; they are the same number of acts apart.
const ACTS_MAX: usize = 2_000;
/// The maximum number of these acts times the number of posts, because the time of a feed grows with the posts.
const WORK_MAX: usize = 100_000_000;
/// The maximum number of these acts before which other weights are tried.
const TRIALS_MAX: usize = 400;

/// What is evaluated.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The service whose settings and word model the feed has.
    pub service: &'a Tidings,
    /// The service from which posts and acts are read: the same one, or one over a copy of its database, so that a served
    /// database has no work.
    pub copy: &'a Tidings,
}

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
    /// The ranking of the best simple order.
    pub best_simple: Option<&'static str>,
    /// The quality of feeds that are asked at the beginning of each day after that time.
    pub daily: Daily,
    /// The quality of feeds that are asked at the moments of acts after that time.
    pub before_acts: BeforeActs,
    /// Whether the settings let a server learn weights.
    pub learns: bool,
    /// The weights that were learned from the acts before the split; `None` from too few visits.
    pub learned: Option<Learned>,
    /// What the figures mean, and what to change, in sentences.
    pub advice: Vec<String>,
}

/// The quality of feeds that are asked at the beginning of each day (UTC).
#[derive(Debug, PartialEq, Serialize)]
pub struct Daily {
    /// The number of members who liked or viewed a post that was new to them, and was in the feeds when that day began.
    pub members: usize,
    /// The number of days on which they did, each counted for each member.
    pub days: usize,
    /// The quality of each ranking, averaged over these days; empty without such a day.
    pub rows: Vec<Quality>,
    /// The ranking of the best simple order; `None` without such a day.
    pub best_simple: Option<&'static str>,
}

/// The quality of feeds that are asked just before acts. The post of the act is the relevant one.
#[derive(Debug, PartialEq, Serialize)]
pub struct BeforeActs {
    /// The number of members.
    pub members: usize,
    /// The number of moments. Acts of a member at the same time have one moment, with several relevant posts.
    pub moments: usize,
    /// The number of acts that could have been compared, of which 2,000 or fewer were.
    pub acts: usize,
    /// The quality of each ranking, averaged over these moments; empty without such a moment.
    pub rows: Vec<Quality>,
    /// The ranking of the best simple order; `None` without such a moment.
    pub best_simple: Option<&'static str>,
    /// How other weights would change the recommended feed, the greatest gain first.
    pub trials: Vec<Trial>,
}

/// The quality of a ranking. Figures are from 0 to 1, and differences from −1 to 1.
#[derive(Debug, PartialEq, Serialize)]
pub struct Quality {
    /// `recommended`: the recommended feed, with weights learned from the acts before the split, if it learns; `settings`:
    /// the recommended feed with the weights of the settings. The others are simple orders. `newest`: all posts, newest first;
    /// `topic`: the posts of the member's most frequent topic or site, newest first; `popular`: the popular feed; `tf-idf`: the
    /// newest 150 posts, ordered by the similarity of their words and tags to the posts that the member had liked or viewed;
    /// `others`: the posts of people who acted on the same posts; `topics`: the posts of all topics that the member had acted
    /// on, newest first, with tags in place of the topics of a post without topics; `popular-day`: by the likes and views of the
    /// last 24 hours; `neighbours`: by the sum of the cosines with the member's posts, where a post is the set of the members who
    /// acted on it.
    pub ranking: &'static str,
    /// The normalised discounted cumulative gain of the first ten posts, averaged.
    pub ndcg10: f64,
    /// The standard error of `ndcg10`, with the figures of a member as one cluster.
    pub ndcg10_error: f64,
    /// How much greater the `ndcg10` of the recommended feed is …
    pub lead: f64,
    /// … and the standard error of this difference of pairs, with the figures of a member as one cluster.
    pub lead_error: f64,
    /// The share of the relevant posts among the first thirty, averaged.
    pub recall30: f64,
    /// The standard error of `recall30`, with the figures of a member as one cluster.
    pub recall30_error: f64,
    /// The share of all posts that are among the first ten of at least one member.
    pub coverage: f64,
    /// How different the first ten posts are: 1 minus the mean cosine of all pairs, by topics, tags and words, averaged.
    pub diversity: f64,
}

/// Parses the time that splits the acts, a date or a time in RFC 3339.
///
/// # Errors
/// `bad request` if it is neither.
pub fn split_time(at: &str) -> Result<Timestamp> {
    Timestamp::parse(at).ok_or(Error::BadRequest(Problem::invalid("at", "at is a date in RFC 3339")))
}

/// Computes the feeds as of the time `at`, and compares them with the later acts of each
/// member; then those at the beginning of each later day, and those just before later acts. By default, a fifth of all likes and
/// views come after `at`. No ranking contains posts that the member had seen. `progress` receives values from 0 to 1. The database
/// is not changed.
///
/// # Errors
/// `Not admin` unless the caller is the operator; `bad request` if no member liked or viewed an earlier post after `at`;
/// [`StoreError::Interrupted`] when `stop` is requested.
pub fn evaluate(
    Subject { service, copy }: Subject<'_>,
    caller: &Caller,
    at: Option<Timestamp>,
    progress: &mut dyn FnMut(f64),
    stop: &CancelFlag,
) -> Result<Evaluation> {
    let operator = caller.operator()?;
    let (store, config) = (copy.store(), &service.config().feed);
    let at = match at {
        Some(at) => at,
        None => history::fifth_from_last(store)?.ok_or(Error::BadRequest(NO_MEMBERS))?,
    };
    let acts = history::all(store, operator, &mut |share| progress(share * READING))?;
    let lexicon = service.words().current().map(|model| Arc::new(Lexicon::new(model)));
    let index = |until: Timestamp, popularity: Popularity| -> Result<FeedIndex> {
        let as_of = AsOf { revision: 0, now: at, popularity };
        let posts = store.read(|tx| feed_rows::until(tx, until, config.posts))?;
        Ok(FeedIndex::next(None, posts, &[], lexicon.as_ref(), as_of, config))
    };

    let split = index(at, Popularity::of(config, None))?;
    let (earlier, later) = acts.split_at(acts.partition_point(|act| act.at < at));
    // The feed as it would have been at that time.
    let lessons = learning::learn_all(store, &split, earlier, config, None, at, &|| stop.is_set())?;
    if stop.is_set() {
        return Err(StoreError::Interrupted.into());
    }
    let popularity = Popularity::of(config, lessons.popularity.as_ref());
    let learned = lessons.weights;
    let better = learned.as_ref().filter(|learned| learned.is_better);
    let scoring =
        better.map_or_else(|| Scoring::of(config), |learned| Scoring::learned(learned.weights, config));
    let replay = |index: &FeedIndex, periods: &[Period<'_>], progress: &mut dyn FnMut(f64)| {
        let mut judge = Judge::new(Source { store, config, stop }, index, popularity, &scoring)?;
        let mut past = PastState::new(index, &acts, config);
        let all: usize = periods.iter().map(|period| period.acts.len()).sum();
        let mut done = 0;
        for period in periods {
            past.go_to(period.from);
            #[expect(clippy::cast_precision_loss, reason = "an approximate progress suffices")]
            judge.judge(&past, period, &mut |share| {
                progress((done as f64 + share * period.acts.len() as f64) / all as f64);
            })?;
            done += period.acts.len();
        }
        let (members, count, rows) = judge.report();
        Ok::<_, Error>((members, count, rows, judge.trials()))
    };
    let part = |from: f64, until: f64| move |share: f64| from + share * (until - from);

    let once = Period { from: at, until: Timestamp::MAX, acts: later, with_trials: false };
    let of_split = part(READING, SPLIT);
    let (members, _, rows, _) = replay(&split, &[once], &mut |share| progress(of_split(share)))?;
    if members == 0 {
        return Err(Error::BadRequest(NO_MEMBERS));
    }
    let posts = split.len();
    drop(split);

    let index = index(Timestamp::MAX, popularity)?;
    let of_days = part(SPLIT, DAYS);
    let (of_daily, days, daily, _) = replay(&index, &days(later), &mut |share| progress(of_days(share)))?;
    let daily = Daily { members: of_daily, days, best_simple: best_simple(&daily), rows: daily };

    let (chosen, all) = comparable(&index, &acts, at);
    let of_acts = part(DAYS, 1.0);
    let (of_moments, count, before, trials) =
        replay(&index, &moments(&chosen), &mut |share| progress(of_acts(share)))?;
    let before_acts = BeforeActs {
        members: of_moments,
        moments: count,
        acts: all,
        best_simple: best_simple(&before),
        rows: before,
        trials,
    };
    let mut evaluation = Evaluation {
        at,
        members,
        posts,
        best_simple: best_simple(&rows),
        rows,
        daily,
        before_acts,
        learns: config.learn,
        learned,
        advice: Vec::new(),
    };
    evaluation.advice = advice::advice(&evaluation);
    Ok(evaluation)
}

/// Returns the days (UTC) of acts, in the order of their times.
fn days(acts: &[PastAct]) -> Vec<Period<'_>> {
    let day = |at: Timestamp| at.as_millis().div_euclid(DAY_MS);
    let of_days = acts.chunk_by(|a, b| day(a.at) == day(b.at)).map(|acts| {
        let from = Timestamp::from_millis(day(acts[0].at) * DAY_MS);
        Period { from, until: from + DAY_MS, acts, with_trials: false }
    });
    of_days.collect()
}

/// Returns the acts from the time `at` on whose post existed and was new to the member, as many as are compared, and the number of
/// all such acts.
fn comparable(index: &FeedIndex, acts: &[PastAct], at: Timestamp) -> (Vec<PastAct>, usize) {
    let mut known = OwnSet::default();
    let mut all: Vec<PastAct> = Vec::new();
    for act in acts {
        let existed = index.position(act.post).is_some_and(|position| index.date(position) <= act.at);
        if known.insert((act.member, act.post)) && act.at >= at && existed {
            all.push(*act);
        }
    }
    let count = all.len().min(ACTS_MAX).min(WORK_MAX / index.len().max(1)).max(1);
    ((0..count.min(all.len())).map(|n| all[n * all.len() / count]).collect(), all.len())
}

/// Returns the moments of acts, in the order of their times.
fn moments(acts: &[PastAct]) -> Vec<Period<'_>> {
    let step = acts.len().div_ceil(TRIALS_MAX).max(1);
    let of_moments = acts.chunk_by(|a, b| a.at == b.at).enumerate().map(|(number, acts)| Period {
        from: acts[0].at,
        until: acts[0].at + 1,
        acts,
        with_trials: number % step == 0,
    });
    of_moments.collect()
}

#[cfg(test)]
mod tests;
