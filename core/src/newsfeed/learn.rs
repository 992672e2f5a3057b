//! Learns the weights of the recommended feed. Each visit of a member is a lesson: the posts that they turned to, among those that
//! they had not seen. A feed that learns from what it has shown confirms itself, so acts from all feeds and from searches count
//! alike, and the posts that could have been chosen are those of all feeds.

#[cfg(feature = "evaluation")]
pub mod evaluation;
mod gain;
mod half_life;
pub(crate) mod learner;
mod logit;
mod recent;
mod visits;
pub(crate) mod weights;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::signal::popularity::{LearnedPopularity, POPULARITY, Popularity};
use crate::newsfeed::signal::{SIGNALS, Scoring, Signal, SignalWeights, Weights};
use crate::newsfeed::stored;
use gain::Clusters;
use recent::PastAct;

use crate::base::clock::Timestamp;
use crate::base::config::Feed;
use crate::base::keyed::OwnSet;
use crate::record::error::Result;
use crate::record::id::MemberKey;
use crate::store::{Store, StoreError, Tx};
use logit::{Choices, Prior, Vector};
use visits::{visits, walk};

pub(crate) const LEARNED: &str = "learned";

const VISITS_MIN: usize = 50;
/// In visits: the settings count like this number of visits that agree with them.
const PRIOR: f64 = 30.0;
/// The number of standard errors by which other weights must be better: with fewer, question sites learned some by chance, and
/// the feeds that they were asked for once were a quarter worse.
const ERRORS: f64 = 2.0;
/// The number of parts of the visits of the cross-validation. Source: Tashman, *Out-of-sample tests of forecasting accuracy: an
/// analysis and review*, International Journal of Forecasting 16(4), 2000: with a rolling origin, because members choose in the
/// order of time.
const PARTS: usize = 5;

/// What was learned from the acts of members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Learned {
    /// The time at which the acts were read.
    pub at: Timestamp,
    /// The number of visits whose choices were compared.
    pub visits: usize,
    /// The number of members who made them.
    pub members: usize,
    /// The normalised discounted cumulative gain of the first ten posts of the feed with the weights in use before, on all
    /// visits but the first fifth …
    pub ndcg10_before: f64,
    /// … with weights learned from the fifths before that of the visit …
    pub ndcg10: f64,
    /// … and the standard error of the difference, with the visits of a member as one cluster.
    pub ndcg10_error: f64,
    /// Whether the weights are used: with them, the gain was greater by more than two errors when they were learned. They
    /// stay in use until others are.
    #[schema(examples(true))]
    pub is_better: bool,
    /// The weights.
    #[schema(value_type = SignalWeights)]
    pub weights: Weights,
}

/// `None` where there are too few acts.
pub(crate) struct Lessons {
    pub(crate) popularity: Option<LearnedPopularity>,
    pub(crate) weights: Option<Learned>,
}

impl Lessons {
    pub(crate) fn store(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        if let Some(popularity) = &self.popularity {
            stored::write(tx, POPULARITY, popularity)?;
        }
        if let Some(weights) = &self.weights {
            stored::write(tx, LEARNED, weights)?;
        }
        Ok(())
    }
}

/// Learns from `acts`, in the order of their times, how popularity is measured unless the settings say it, and then the weights
/// with this popularity unless the settings turn this off. `before` is what was learned before.
pub(crate) fn learn_all(
    store: &Store,
    index: &FeedIndex,
    acts: &[PastAct],
    config: &Feed,
    before: Option<Learned>,
    at: Timestamp,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Lessons> {
    let learns_popularity = config.popular_half_life_days.is_none();
    let popularity = learns_popularity.then(|| half_life::learn(index, acts, at, is_stopped)).flatten();
    let weights = if config.learn {
        let in_use = Popularity::of(config, popularity.as_ref());
        learn(store, index, acts, (in_use, config), before, at, is_stopped)?
    } else {
        None
    };
    Ok(Lessons { popularity, weights })
}

/// `acts` are in the order of their times. Returns `None` if there are too few visits, or if `is_stopped`.
fn learn(
    store: &Store,
    index: &FeedIndex,
    acts: &[PastAct],
    (popularity, config): (Popularity, &Feed),
    before: Option<Learned>,
    at: Timestamp,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Option<Learned>> {
    let visits = visits(acts, index.len(), config);
    if visits.len() < VISITS_MIN {
        return Ok(None);
    }
    let mut all: Vec<(MemberKey, Choices)> = Vec::new();
    let settings = Weights::of(config);
    let before = before.filter(|before| before.is_better).map(|before| before.weights);
    let in_use = before.map_or_else(|| Scoring::of(config), |before| Scoring::learned(before, config));
    // With the weights in use, and how much more with learned ones.
    let (mut gains, mut differences) = (Clusters::default(), Clusters::default());
    let (mut part, mut learned) = (0, None);
    let per_part = visits.len().div_ceil(PARTS);
    walk(store, index, acts, (popularity, config), &visits, is_stopped, |number, lesson| {
        if number / per_part != part {
            part = number / per_part;
            learned = (!all.is_empty()).then(|| Scoring::learned(learned_from(&all, &settings), config));
        }
        let member = lesson.visit.member;
        if let Some(learned) = &learned {
            let gain = lesson.gain(&in_use);
            gains.add(member, gain);
            differences.add(member, lesson.gain(learned) - gain);
        }
        all.extend(lesson.choices().map(|choices| (member, choices)));
    })?;
    if all.len() < VISITS_MIN || is_stopped() {
        return Ok(None);
    }
    let is_better = differences.mean() > ERRORS * differences.error();
    Ok(Some(Learned {
        at,
        visits: all.len(),
        members: all.iter().map(|(member, _)| *member).collect::<OwnSet<_>>().len(),
        ndcg10_before: gains.mean(),
        ndcg10: gains.mean() + differences.mean(),
        ndcg10_error: differences.error(),
        is_better: is_better || before.is_some(),
        weights: before.filter(|_| !is_better).unwrap_or_else(|| learned_from(&all, &settings)),
    }))
}

/// Returns the weights that explain choices, on the scale of those of the settings. A signal that the settings turn off has none.
fn learned_from(lessons: &[(MemberKey, Choices)], settings: &Weights) -> Weights {
    let choices = || lessons.iter().map(|(_, choices)| choices);
    let expected = settings.0.map(f64::from);
    let scale = logit::scale(choices, &expected);
    let variances = variances(choices());
    let precision = Signal::ALL.map(|signal| {
        let precision = PRIOR * variances[signal as usize];
        Some(precision).filter(|precision| *precision > 0.0 && signal.is_on(settings))
    });
    let fitted = logit::fit(choices, &Prior { mean: expected.map(|weight| scale * weight), precision });
    #[expect(clippy::cast_possible_truncation, reason = "weights need no more digits")]
    Weights(fitted.map(|weight| (weight / scale) as f32))
}

fn variances<'c>(choices: impl Iterator<Item = &'c Choices>) -> Vector {
    let (mut count, mut sums, mut squares) = (0.0, [0.0; SIGNALS], [0.0; SIGNALS]);
    for (x, offset) in choices.flat_map(|choices| &choices.others) {
        let weight = offset.exp();
        count += weight;
        for i in 0..SIGNALS {
            sums[i] += weight * x[i];
            squares[i] += weight * x[i] * x[i];
        }
    }
    std::array::from_fn(|i| squares[i] / count - (sums[i] / count).powi(2))
}

#[cfg(test)]
mod tests;
