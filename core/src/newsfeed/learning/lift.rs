//! Chooses how much the acts on a topic lift its posts: earlier visits of members are replayed with each lift, and the one stays
//! with which their recommended feeds have the greatest gain.

use super::super::index::FeedIndex;
use super::super::popularity::{LearnedPopularity, Popularity, TriedLift};
use super::super::recent::PastAct;
use super::super::signals::Scoring;
use super::VISITS_MIN;
use super::trials::Trials;
use super::visits::{Visit, Walk, visits};
use crate::base::config::Feed;
use crate::record::error::Result;
use crate::store::Store;

const LIFTS: [f64; 4] = [0.0, 0.5, 1.0, 2.0];
/// Another lift must be better by this number of standard errors. With fewer, question sites, which a lift does not suit, chose
/// one by chance, and their feeds were a third worse.
const ERRORS: f64 = 2.6;
/// One of this number of visits counts, because each takes as long as several.
const ONE_IN: usize = 3;

/// Replaces the lift that was learned before.
pub(super) fn learn(
    store: &Store,
    index: &FeedIndex,
    acts: &[PastAct],
    config: &Feed,
    learned: LearnedPopularity,
    is_stopped: &dyn Fn() -> bool,
) -> Result<LearnedPopularity> {
    let visits: Vec<Visit> = visits(acts, index.len(), config).into_iter().step_by(ONE_IN).collect();
    let (popularity, scoring) = (Popularity::of(config, Some(&learned)), Scoring::of(config));
    let mut walk = Walk::new(store, index, acts, (popularity, config), visits.len(), is_stopped);
    let mut gains = Vec::new();
    walk.walk(&visits, |lesson| {
        let gain = |topic_lift| lesson.gain_with(Popularity { topic_lift, ..popularity }, &scoring);
        gains.push((lesson.visit.member, LIFTS.map(gain)));
    })?;
    if gains.len() < VISITS_MIN / ONE_IN || is_stopped() {
        return Ok(learned);
    }
    let before = LIFTS.iter().position(|lift| *lift >= learned.topic_lift).unwrap_or(0);
    let trials = Trials::of(gains, before);
    let tried = trials.figures().zip(LIFTS);
    Ok(LearnedPopularity {
        topic_lift: LIFTS[trials.best(ERRORS)],
        topic_lifts: tried.map(|((gain, error), topic_lift)| TriedLift { topic_lift, gain, error }).collect(),
        ..learned
    })
}
