//! Weights of the recommended feed that are learned from the acts of the store's members.
//!
//! Each visit of a member is a lesson: the posts that they turned to, among those that they had not seen. The weights
//! under which these choices are most probable (module `logit`) replace those of the settings if the feed would also have
//! been better in a cross-validation: on each fifth of the visits but the first, with weights learned from those before. A few
//! visits change little, because the weights of the settings are the ones that are expected. The age has a weight only if the
//! cross-validation shows that it is better by more than chance.
//!
//! A feed that learns from what it has shown confirms itself. So acts from all feeds and from searches count alike, the
//! posts that could have been chosen are those of all feeds, whether they were shown or not, and a recommended feed with
//! learned weights has at least a little of the noise of [`exploration`](crate::base::config::Feed::exploration).

mod half_life;
mod lift;
mod logit;
mod trials;
mod visits;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::clusters::Clusters;
use super::index::FeedIndex;
use super::popularity::{LearnedPopularity, POPULARITY, Popularity};
use super::recent::PastAct;
use super::signals::{SIGNALS, Scoring, Signal, SignalWeights, Weights};
use super::stored;

use crate::base::clock::Timestamp;
use crate::base::config::Feed;
use crate::base::keyed::OwnSet;
use crate::record::error::Result;
use crate::record::id::MemberKey;
use crate::store::{Store, StoreError, Tx};
use logit::{Choices, Prior, Vector};
use visits::{Walk, visits};

/// The name of the stored weights.
pub(super) const LEARNED: &str = "learned";

const VISITS_MIN: usize = 50;
/// In visits: the settings count like this number of visits that agree with them.
const PRIOR: f64 = 30.0;
/// The factor by which the freshness of a day is less expected to have a weight, because it hides what a member has missed.
const FRESH_PRIOR: f64 = 3.0;
/// Weights with the age must be better than those without by this number of standard errors. With fewer, question sites whose
/// members come back to old posts learned a weight by chance, and their feeds that are requested once were a fifth worse.
const AGE_ERRORS: f64 = 2.6;
/// The number of parts of the visits of the cross-validation.
///
/// Source: Tashman, *Out-of-sample tests of forecasting accuracy: an analysis and review*, International Journal of Forecasting
/// 16(4), 2000: with a rolling origin, because members choose in the order of time.
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
    /// The normalised discounted cumulative gain of the first ten posts of the feed with the weights of the settings, on all
    /// visits but the first fifth …
    pub ndcg10_of_settings: f64,
    /// … with weights learned from the fifths before that of the visit …
    pub ndcg10: f64,
    /// … and the standard error of the difference, with the visits of a member as one cluster.
    pub ndcg10_error: f64,
    /// Whether the weights are used: the gain with them is greater.
    #[schema(examples(true))]
    pub is_better: bool,
    /// The weights.
    #[schema(value_type = SignalWeights)]
    pub weights: Weights,
}

/// `None` where there are too few acts.
pub(super) struct Lessons {
    pub(super) popularity: Option<LearnedPopularity>,
    pub(super) weights: Option<Learned>,
}

impl Lessons {
    pub(super) fn store(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        if let Some(popularity) = &self.popularity {
            stored::write(tx, POPULARITY, &stored::json(popularity))?;
        }
        if let Some(weights) = &self.weights {
            stored::write(tx, LEARNED, &stored::json(weights))?;
        }
        Ok(())
    }
}

/// `acts` are in the order of their times. Learns how popularity is measured, and then the weights with this popularity unless
/// the settings turn this off. `before` is the popularity in use.
pub(super) fn learn_all(
    store: &Store,
    index: &FeedIndex,
    acts: &[PastAct],
    config: &Feed,
    before: Option<&LearnedPopularity>,
    at: Timestamp,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Lessons> {
    let mut popularity = half_life::learn(index, acts, before, at, is_stopped);
    let mut weights = None;
    if config.learn {
        let with_lift = |learned| lift::learn(store, index, acts, config, learned, is_stopped);
        popularity = popularity.map(with_lift).transpose()?;
        let in_use = Popularity::of(config, popularity.as_ref().or(before));
        weights = learn(store, index, acts, (in_use, config), at, is_stopped)?;
    }
    Ok(Lessons { popularity, weights })
}

/// `acts` are in the order of their times. Returns `None` if there are too few visits, or if `is_stopped`.
fn learn(
    store: &Store,
    index: &FeedIndex,
    acts: &[PastAct],
    (popularity, config): (Popularity, &Feed),
    at: Timestamp,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Option<Learned>> {
    let visits = visits(acts, index.len(), config);
    if visits.len() < VISITS_MIN {
        return Ok(None);
    }
    let mut walk = Walk::new(store, index, acts, (popularity, config), visits.len(), is_stopped);
    let mut all: Vec<(MemberKey, Choices)> = Vec::new();
    let of_settings = Scoring::of(config);
    let settings = of_settings.weights.0.map(f64::from);
    let mut before = Clusters::default();
    // Of weights without the age and with it, and of the difference.
    let (mut gains, mut of_age) = ([(); 2].map(|()| Clusters::default()), Clusters::default());
    for part in visits.chunks(visits.len().div_ceil(PARTS)) {
        let scoring = |has_age| {
            let weights = learned_from(&all, &settings, has_age);
            Scoring { weights, ..of_settings.clone() }
        };
        let learned = (!all.is_empty()).then(|| [false, true].map(scoring));
        walk.walk(part, |lesson| {
            let member = lesson.visit.member;
            if let Some(learned) = &learned {
                let gain = lesson.gain(&of_settings);
                before.add(member, gain);
                let [without, with] = learned.each_ref().map(|learned| lesson.gain(learned) - gain);
                gains.iter_mut().zip([without, with]).for_each(|(gains, gain)| gains.add(member, gain));
                of_age.add(member, with - without);
            }
            all.extend(lesson.choices().map(|choices| (member, choices)));
        })?;
    }
    if all.len() < VISITS_MIN || is_stopped() {
        return Ok(None);
    }
    let has_age = of_age.mean() > AGE_ERRORS * of_age.error();
    let gains = &gains[usize::from(has_age)];
    Ok(Some(Learned {
        at,
        visits: all.len(),
        members: all.iter().map(|(member, _)| *member).collect::<OwnSet<_>>().len(),
        ndcg10_of_settings: before.mean(),
        ndcg10: before.mean() + gains.mean(),
        ndcg10_error: gains.error(),
        is_better: gains.mean() > 0.0,
        weights: learned_from(&all, &settings, has_age),
    }))
}

/// The weights are on the scale of those of the settings.
fn learned_from(lessons: &[(MemberKey, Choices)], settings: &Vector, has_age: bool) -> Weights {
    let choices = || lessons.iter().map(|(_, choices)| choices);
    let scale = logit::scale(choices, settings);
    let variances = variances(choices());
    let precision = Signal::ALL.map(|signal| {
        let prior = match signal {
            Signal::Fresh => PRIOR * FRESH_PRIOR,
            Signal::Age if has_age => PRIOR,
            // A signal without a weight in the settings is off.
            signal if settings[signal as usize] > 0.0 => PRIOR,
            _ => return None,
        };
        Some(prior * variances[signal as usize]).filter(|precision| *precision > 0.0)
    });
    let fitted = logit::fit(choices, &Prior { mean: settings.map(|weight| scale * weight), precision });
    #[expect(clippy::cast_possible_truncation, reason = "weights need no more digits")]
    Weights(fitted.map(|weight| (weight / scale) as f32))
}

/// Among the posts that could have been chosen.
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
