//! The comparison of rankings with the posts that members chose.

use super::super::co_visits::SimilarPosts;
use super::super::gain::ndcg;
use super::super::index::FeedIndex;
use super::super::popularity::Popularity;
use super::super::recent::PastAct;
use super::super::scoring_context::ScoringContext;
use super::super::signals::Scoring;
use super::Quality;
use super::history::Tested;
use super::memo::Memo;
use super::metrics::{Scores, TOP};
use super::state::PastState;
use super::tf_idf::TfIdf;
use super::trials::{Trial, Trials};
use crate::base::cancel::CancelFlag;
use crate::base::clock::Timestamp;
use crate::base::config::Feed;
use crate::base::keyed::OwnSet;
use crate::record::error::Result;
use crate::record::id::{MemberKey, PostKey};
use crate::store::{Store, StoreError};

/// The names of the rankings in the order of the report.
pub(super) const RANKINGS: [&str; 10] = [
    "recommended",
    "settings",
    "newest",
    "topic",
    "popular",
    "tf-idf",
    "others",
    "topics",
    "popular-day",
    "neighbours",
];
/// The number of the rankings that are variants of the recommended feed. The others are simple orders.
pub(super) const FEEDS: usize = 2;

/// The store from which acts are read, with the settings of the feed.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) store: &'a Store,
    pub(super) config: &'a Feed,
    pub(super) stop: &'a CancelFlag,
}

/// A time in which members acted.
pub(super) struct Period<'a> {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    /// The acts whose members are asked for.
    pub(super) acts: &'a [PastAct],
    /// Whether other weights are tried.
    pub(super) with_trials: bool,
}

/// Compares rankings with acts.
pub(super) struct Judge<'a> {
    source: Source<'a>,
    index: &'a FeedIndex,
    popularity: Popularity,
    scorings: [Scoring; FEEDS],
    tf_idf: TfIdf,
    scores: [Scores; RANKINGS.len()],
    trials: Trials,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        source: Source<'a>,
        index: &'a FeedIndex,
        popularity: Popularity,
        scoring: &Scoring,
    ) -> Result<Self> {
        let scorings = [scoring.clone(), Scoring::of(source.config)];
        let tf_idf = TfIdf::read(source.store, index)?;
        let trials = Trials::of(scoring);
        Ok(Self { source, index, popularity, scorings, tf_idf, scores: Default::default(), trials })
    }

    /// Compares the rankings at the beginning of a period, up to which `past` was replayed, with the acts of each member in it.
    pub(super) fn judge(
        &mut self,
        past: &PastState<'_>,
        period: &Period<'_>,
        progress: &mut dyn FnMut(f64),
    ) -> Result<()> {
        let Source { store, config, stop } = self.source;
        let keys: OwnSet<MemberKey> = period.acts.iter().map(|act| act.member).collect();
        let mut asked: Vec<MemberKey> = keys.into_iter().collect();
        asked.sort_unstable();
        let popular = past.replay.popular(self.popularity, period.from);
        let together: &dyn SimilarPosts = &Memo::new(&past.replay.together);
        let moment = ScoringContext::past(self.index, period.from, popular, together);
        let (popular, of_guests) =
            (moment.most_popular(&past.replay.heats(self.popularity.decay())), moment.of_guests(config));
        let of_day = moment.popular_of(past.last_day(period.from), config.like_weight);
        let ended = moment.ended();
        let all = asked.len();
        for (done, member) in asked.into_iter().enumerate() {
            if stop.is_set() {
                return Err(StoreError::Interrupted.into());
            }
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
            let feed = |scoring: &Scoring| match moment.recommend(&acts, &seen, member, scoring, config) {
                Some(keys) => first(&mut keys.into_iter()),
                None => first(&mut of_guests.iter().copied()),
            };
            let [recommended, of_settings] = self.scorings.each_ref().map(feed);
            let neighbours = past.neighbours.ranking(member).into_iter();
            let rankings = [
                recommended,
                of_settings,
                first(&mut moment.newest()),
                first(&mut moment.newest_of_label(&seen)),
                first(&mut popular.iter().copied()),
                first(&mut self.tf_idf.ranking(store, moment.newest(), &acts)?.into_iter()),
                first(&mut moment.of_others(&acts).into_iter()),
                first(&mut moment.newest_of_topics(&seen)),
                first(&mut of_day.iter().copied()),
                first(&mut neighbours.map(|position| self.index.key(position))),
            ];
            let gain = ndcg(&rankings[0], &relevant);
            for (scores, ranking) in self.scores.iter_mut().zip(&rankings) {
                scores.add(member, ranking, &relevant, gain, self.index);
            }
            if period.with_trials {
                self.trials.add(member, |scoring| ndcg(&feed(scoring), &relevant) - gain);
            }
        }
        Ok(())
    }

    /// Returns the numbers of members and of comparisons, and the quality of each ranking; no ranking without comparisons.
    pub(super) fn report(&self) -> (usize, usize, Vec<Quality>) {
        let rows =
            RANKINGS.iter().zip(&self.scores).map(|(ranking, scores)| scores.quality(ranking, self.index));
        let (members, count) = (self.scores[0].members(), self.scores[0].count());
        (members, count, if count > 0 { rows.collect() } else { Vec::new() })
    }

    /// Returns how other weights would change the feed.
    pub(super) fn trials(&self) -> Vec<Trial> {
        self.trials.report()
    }
}

/// Returns the simple order with the greatest `ndcg10`, the first of several; `None` without rows.
pub(super) fn best_simple(rows: &[Quality]) -> Option<&'static str> {
    let simple = rows.iter().skip(FEEDS).rev();
    simple.max_by(|a, b| a.ndcg10.total_cmp(&b.ndcg10)).map(|row| row.ranking)
}
