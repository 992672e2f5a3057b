//! How popular posts are: the half-life in which acts lose their weight, and how much the acts on a topic lift its posts.
//!
//! The half-life is that of the settings, or the one that the store's own acts show (module `learning`), or 3 days. The lift
//! belongs to the recommended feed alone: a fresh post has no acts yet, but those on its topic tell how many to expect. The
//! acts on a topic are divided among its posts, to each as much as an act at its publication would still weigh.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::cadence::TopicCadence;
use super::stored;
use crate::base::clock::Timestamp;
use crate::base::config::Feed;
use crate::post::heat::{DEFAULT_HALF_LIFE_DAYS, Decay};
use crate::store::{StoreError, Tx};

/// The name of the stored popularity.
pub(super) const POPULARITY: &str = "popularity";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Popularity {
    /// May be infinite.
    pub(super) half_life_days: f64,
    pub(super) topic_lift: f64,
}

impl Popularity {
    /// The settings take precedence over what was learned.
    pub(super) fn of(config: &Feed, learned: Option<&LearnedPopularity>) -> Self {
        let half_life_days = || learned.map_or(DEFAULT_HALF_LIFE_DAYS, LearnedPopularity::half_life_days);
        Self {
            half_life_days: config.popular_half_life_days.unwrap_or_else(half_life_days),
            topic_lift: learned.filter(|_| config.learn).map_or(0.0, |learned| learned.topic_lift),
        }
    }

    pub(super) fn current(tx: &mut dyn Tx, config: &Feed) -> Result<Self, StoreError> {
        Ok(Self::of(config, learned(tx)?.as_ref()))
    }

    pub(super) fn decay(self) -> Decay {
        Decay::new(self.half_life_days)
    }

    /// In the recommended feed, by position: the square root of the ratio of the acts to those on the most popular post.
    pub(super) fn of_posts(self, heats: &[Option<f64>], at: &PostsAt<'_>) -> Vec<f32> {
        let decay = self.decay();
        let hottest = heats.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut acts: Vec<f64> =
            heats.iter().map(|heat| heat.map_or(0.0, |heat| (heat - hottest).exp())).collect();
        if self.topic_lift > 0.0 {
            let lifts = of_topics(&acts, decay, at);
            acts.iter_mut().zip(lifts).for_each(|(acts, lift)| *acts += self.topic_lift * lift);
        }
        // The root raises the popularity of all but the first post.
        let most = acts.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        #[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
        let popular = acts.into_iter().map(|acts| (acts / most).sqrt() as f32).collect();
        popular
    }
}

pub(super) struct PostsAt<'i> {
    pub(super) dates: &'i [Timestamp],
    pub(super) cadences: &'i TopicCadence,
    /// The position of the newest post that exists.
    pub(super) first: usize,
    pub(super) at: Timestamp,
}

/// The acts on a topic are divided among its posts. `acts` are those on each post.
fn of_topics(acts: &[f64], decay: Decay, at: &PostsAt<'_>) -> Vec<f64> {
    let grown = |date: Timestamp| decay.grown(date.min(at.at));
    let newest = at.dates.get(at.first).map_or(0.0, |newest| grown(*newest));
    let mut parts: Vec<f64> = at.dates.iter().map(|date| (grown(*date) - newest).exp()).collect();
    parts[..at.first].fill(0.0);
    for posts in at.cadences.of_topics() {
        let sum = |of: &[f64]| posts.iter().map(|at| of[*at as usize]).sum::<f64>();
        let (acts, weights) = (sum(acts), sum(&parts));
        // The weights of the posts of a topic without newer ones may have underflowed.
        let factor = if weights >= f64::MIN_POSITIVE { acts / weights } else { 0.0 };
        for at in posts {
            parts[*at as usize] *= factor;
        }
    }
    parts
}

/// What the acts of members show about popularity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LearnedPopularity {
    /// The time at which the acts were read.
    pub at: Timestamp,
    /// The number of acts for which the orders of popularity were compared.
    pub acts: usize,
    /// The number of members who made them.
    pub members: usize,
    /// The half-life in days under which the next acts rank highest; `None` if acts lose no weight.
    pub half_life_days: Option<f64>,
    /// What each half-life gives.
    pub half_lives: Vec<TriedHalfLife>,
    /// The lift with which the recommended feeds of members have the greatest gain.
    pub topic_lift: f64,
    /// What each lift gives.
    pub topic_lifts: Vec<TriedLift>,
}

/// The gain of the popular feed with a half-life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TriedHalfLife {
    /// The half-life in days; `None` if acts lose no weight.
    pub half_life_days: Option<f64>,
    /// The mean of 1 / log2(1 + rank) of the post of each act, among the posts on which the member had not acted.
    pub gain: f64,
    /// The standard error of its difference from the gain of the half-life before, with the acts of a member as one cluster.
    pub error: f64,
}

/// The gain of the recommended feeds of members with a lift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TriedLift {
    /// How much the acts on its topic lift a post.
    pub topic_lift: f64,
    /// The mean of the normalised discounted cumulative gain of the first ten posts, at the visits of members.
    pub gain: f64,
    /// The standard error of its difference from the gain of the lift before.
    pub error: f64,
}

impl LearnedPopularity {
    pub(super) fn half_life_days(&self) -> f64 {
        self.half_life_days.unwrap_or(f64::INFINITY)
    }
}

/// The popularity in use.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PopularityInUse {
    /// The half-life in days, of the setting, or learned, or 3; `None` if acts lose no weight.
    #[schema(exclusive_minimum = 0, maximum = 100_000, examples(3.0))]
    pub half_life_days: Option<f64>,
    /// How much the acts on its topic lift a post of the recommended feed: 1 adds the acts that it is expected to get.
    #[schema(minimum = 0, maximum = 2, examples(0.0))]
    pub topic_lift: f64,
    /// What the acts of the members show; `None` if there are too few.
    pub learned: Option<LearnedPopularity>,
}

impl PopularityInUse {
    pub(super) fn read(tx: &mut dyn Tx, config: &Feed) -> Result<Self, StoreError> {
        let learned = learned(tx)?;
        let Popularity { half_life_days, topic_lift } = Popularity::of(config, learned.as_ref());
        Ok(Self { half_life_days: finite(half_life_days), topic_lift, learned })
    }
}

pub(super) fn learned(tx: &mut dyn Tx) -> Result<Option<LearnedPopularity>, StoreError> {
    stored::read(tx, POPULARITY)
}

/// `None` if the half-life is infinite.
pub(super) fn finite(half_life_days: f64) -> Option<f64> {
    Some(half_life_days).filter(|days| days.is_finite())
}

#[cfg(test)]
mod tests;
