//! The quality of the recommended feed, measured on past acts of members.
//!
//! The evaluation splits the acts of each member at a time in the past. Earlier acts are the history of the member. A
//! good feed would have shown the posts that the member first liked or viewed later. The feed is computed by the code
//! that serves it, from the posts and acts before that time, and compared with simpler rankings.
//!
//! A feed that is asked once says little about one that is read every day. So the time after the split is also walked day
//! by day: each day on which a member acted, the feed as of its beginning is compared with the acts of that day.
//!
//! Some past data is not available: views by guests have no dates and do not count in any ranking, a repeated view has
//! only the date of the latest one, and the word model is the current one. In the walk, words also have their current
//! weights.
//!
//! Source: Herlocker, Konstan, Terveen and Riedl, *Evaluating collaborative filtering recommender systems*, ACM TOIS
//! 22(1), 2004; split by time, because a feed is requested before its readers act.

use std::sync::Arc;

use serde::Serialize;

use super::index::{AsOf, FeedIndex};
use super::learning;
use super::meaning::Lexicon;
use super::past::Replay;
use super::popularity::Popularity;
use super::recent::PastAct;
use super::scoring_context::ScoringContext;
use super::signals::Scoring;
use crate::Tidings;
use crate::account::Caller;
use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::keyed::OwnSet;
use crate::post::feed_rows;
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::id::{MemberKey, PostKey};

mod baselines;
mod history;
mod metrics;
mod tf_idf;

use history::Tested;
use metrics::{Scores, TOP};
use tf_idf::TfIdf;

/// The names of the rankings in the order of the report.
const RANKINGS: [&str; 7] = ["recommended", "settings", "newest", "topic", "popular", "tf-idf", "others"];

/// The error if no member can be evaluated.
const NO_MEMBERS: Problem =
    Problem::new(Code::NotPossible, "no member liked or viewed an earlier post after that time");

/// The fractions of the progress that reading the acts and the evaluation at the split take.
const READING: f64 = 0.2;
const SPLIT: f64 = 0.3;

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
    /// The quality of feeds that are asked at the beginning of each day after that time.
    pub daily: Daily,
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
}

/// The quality of a ranking; each figure is from 0 to 1.
#[derive(Debug, PartialEq, Serialize)]
pub struct Quality {
    /// `recommended`: the recommended feed, with weights learned from the acts before the split, if it learns; `settings`:
    /// the recommended feed with the weights of the settings; `newest`: all posts, newest first; `topic`: the posts of the member's most
    /// frequent topic or site, newest first; `popular`: the popular feed; `tf-idf`: the newest 150 posts, ordered by the
    /// similarity of their words and tags to the posts that the member had liked or viewed; `others`: the posts of people
    /// who acted on the same posts.
    pub ranking: &'static str,
    /// The normalised discounted cumulative gain of the first ten posts, averaged.
    pub ndcg10: f64,
    /// The standard error of `ndcg10`, with the figures of a member as one cluster.
    pub ndcg10_error: f64,
    /// The share of the relevant posts among the first thirty, averaged.
    pub recall30: f64,
    /// The share of all posts that are among the first ten of at least one member.
    pub coverage: f64,
    /// How different the first ten posts are: 1 minus the mean cosine of all pairs, by topics, tags and words, averaged.
    pub diversity: f64,
}

/// Computes the feeds as of the time `at`, a date or a time in RFC 3339, and compares them with the later acts of each
/// member; then those at the beginning of each later day. By default, a fifth of all likes and views come after `at`. No
/// ranking contains posts that the member had seen. `progress` receives values from 0 to 1. The database is not changed.
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
    let acts = history::all(tidings.store(), operator, &mut |share| progress(share * READING))?;
    let lexicon = tidings.words().current().map(|model| Arc::new(Lexicon::new(model)));
    let config = &tidings.config().feed;
    let index = |until: Timestamp, popularity: Popularity| -> Result<FeedIndex> {
        let as_of = AsOf { revision: 0, now: at, popularity };
        let posts = tidings.store().read(|tx| feed_rows::until(tx, until, config.posts))?;
        Ok(FeedIndex::next(None, posts, &[], lexicon.as_ref(), as_of, config))
    };

    let split = index(at, Popularity::of(config, None))?;
    let (earlier, later) = acts.split_at(acts.partition_point(|act| act.at < at));
    // The feed as it would have been at that time.
    let learned = learning::learn_all(tidings.store(), &split, earlier, config, None, at, &|| false)?;
    let popularity = Popularity::of(config, learned.popularity.as_ref());
    let better = learned.weights.filter(|learned| learned.is_better);
    let scoring =
        better.map_or_else(|| Scoring::of(config), |learned| Scoring::learned(learned.weights, config));
    let mut judge = Judge::new(tidings, &split, popularity, &scoring)?;
    let mut replay = Replay::new(&split, &acts, config);
    replay.go_to(at);
    let period = Period { from: at, until: Timestamp::MAX, acts: later };
    judge.judge(&replay, &period, &mut |share| {
        progress(READING + share * (SPLIT - READING));
    })?;
    let (members, _, rows) = judge.report();
    if members == 0 {
        return Err(Error::BadRequest(NO_MEMBERS));
    }

    let index = index(Timestamp::MAX, popularity)?;
    let mut judge = Judge::new(tidings, &index, popularity, &scoring)?;
    let mut replay = Replay::new(&index, &acts, config);
    let day = |at: Timestamp| at.as_millis().div_euclid(DAY_MS);
    let mut done = 0;
    for acts in later.chunk_by(|a, b| day(a.at) == day(b.at)) {
        let from = Timestamp::from_millis(day(acts[0].at) * DAY_MS);
        replay.go_to(from);
        let period = Period { from, until: from + DAY_MS, acts };
        judge.judge(&replay, &period, &mut |_| {})?;
        done += acts.len();
        #[expect(clippy::cast_precision_loss, reason = "an approximate progress suffices")]
        progress(SPLIT + (1.0 - SPLIT) * done as f64 / later.len() as f64);
    }
    let (of_days, days, daily) = judge.report();
    let daily = Daily { members: of_days, days, rows: if days > 0 { daily } else { Vec::new() } };
    Ok(Evaluation { at, members, posts: split.len(), rows, daily })
}

/// A time in which members acted.
struct Period<'a> {
    from: Timestamp,
    until: Timestamp,
    acts: &'a [PastAct],
}

/// Compares rankings with acts.
struct Judge<'t> {
    tidings: &'t Tidings,
    index: &'t FeedIndex,
    popularity: Popularity,
    scorings: [Scoring; 2],
    tf_idf: TfIdf,
    scores: [Scores; RANKINGS.len()],
}

impl<'t> Judge<'t> {
    fn new(
        tidings: &'t Tidings,
        index: &'t FeedIndex,
        popularity: Popularity,
        scoring: &Scoring,
    ) -> Result<Self> {
        let scorings = [scoring.clone(), Scoring::of(&tidings.config().feed)];
        let tf_idf = TfIdf::read(tidings.store(), index)?;
        Ok(Self { tidings, index, popularity, scorings, tf_idf, scores: Default::default() })
    }

    /// Compares the rankings at the beginning of a period, up to which acts were replayed, with the acts of each member in it.
    fn judge(
        &mut self,
        replay: &Replay<'_>,
        period: &Period<'_>,
        progress: &mut dyn FnMut(f64),
    ) -> Result<()> {
        let store = self.tidings.store();
        let keys: OwnSet<MemberKey> = period.acts.iter().map(|act| act.member).collect();
        let mut asked: Vec<MemberKey> = keys.into_iter().collect();
        asked.sort_unstable();
        let config = &self.tidings.config().feed;
        let popular = replay.popular(self.popularity, period.from);
        let moment = ScoringContext::past(self.index, period.from, popular, &replay.together);
        let (popular, of_guests) =
            (moment.most_popular(&replay.heats(self.popularity.decay())), moment.of_guests(config));
        let ended = moment.ended();
        let all = asked.len();
        for (done, member) in asked.into_iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "an approximate progress suffices")]
            progress(done as f64 / all as f64);
            let Tested { acts, seen, turned_to } = Tested::read(store, member, period.from, period.until)?;
            let hidden: OwnSet<PostKey> = seen.iter().copied().chain(ended.iter().copied()).collect();
            let can_be_shown = |key: &PostKey| moment.has(*key) && !hidden.contains(key);
            let relevant: OwnSet<PostKey> = turned_to.into_iter().filter(can_be_shown).collect();
            if relevant.is_empty() {
                continue;
            }
            let first = |keys: &mut dyn Iterator<Item = PostKey>| -> Vec<PostKey> {
                keys.filter(can_be_shown).take(TOP).collect()
            };
            let [recommended, of_settings] = self.scorings.each_ref().map(|scoring| {
                match moment.recommend(&acts, &seen, member, scoring, config) {
                    Some(keys) => first(&mut keys.into_iter()),
                    None => first(&mut of_guests.iter().copied()),
                }
            });
            let rankings = [
                recommended,
                of_settings,
                first(&mut moment.newest()),
                first(&mut moment.newest_of_label(&seen)),
                first(&mut popular.iter().copied()),
                first(&mut self.tf_idf.ranking(store, moment.newest(), &acts)?.into_iter()),
                first(&mut moment.of_others(&acts).into_iter()),
            ];
            for (scores, ranking) in self.scores.iter_mut().zip(&rankings) {
                scores.add(member, ranking, &relevant, self.index);
            }
        }
        Ok(())
    }

    /// Returns the numbers of members and of comparisons, and the quality of each ranking.
    fn report(&self) -> (usize, usize, Vec<Quality>) {
        let rows =
            RANKINGS.iter().zip(&self.scores).map(|(ranking, scores)| scores.quality(ranking, self.index));
        (self.scores[0].members(), self.scores[0].count(), rows.collect())
    }
}

#[cfg(test)]
mod tests;
