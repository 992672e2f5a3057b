//! How popular posts are: the half-life in which acts lose their weight is that of the settings, or the one that the store's
//! own acts show (module `learning`), or 3 days.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::clock::Timestamp;
use crate::base::config::Feed;
use crate::newsfeed::stored;
use crate::post::heat::{DEFAULT_HALF_LIFE_DAYS, Decay};
use crate::store::{StoreError, Tx};

pub(crate) const POPULARITY: &str = "popularity";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Popularity {
    /// May be infinite.
    pub(crate) half_life_days: f64,
}

impl Popularity {
    /// The settings take precedence over what was learned.
    pub(crate) fn of(config: &Feed, learned: Option<&LearnedPopularity>) -> Self {
        let of_learned = |learned: &LearnedPopularity| learned.half_life_days.unwrap_or(f64::INFINITY);
        let half_life_days = || learned.map_or(DEFAULT_HALF_LIFE_DAYS, of_learned);
        Self { half_life_days: config.popular_half_life_days.unwrap_or_else(half_life_days) }
    }

    pub(crate) fn current(tx: &mut dyn Tx, config: &Feed) -> Result<Self, StoreError> {
        Ok(Self::of(config, learned(tx)?.as_ref()))
    }

    pub(crate) fn decay(self) -> Decay {
        Decay::new(self.half_life_days)
    }
}

/// Returns the popularity of posts in the recommended feed by position, given their heats: the square root of the ratio of the
/// acts to those on the most popular post. The root raises the popularity of all others.
pub(crate) fn of_posts(heats: &[Option<f64>]) -> Vec<f32> {
    let hottest = heats.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    #[expect(clippy::cast_possible_truncation, reason = "scores need no more digits")]
    let popular = |heat: f64| (0.5 * (heat - hottest)).exp() as f32;
    heats.iter().map(|heat| heat.map_or(0.0, popular)).collect()
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
    /// The half-life in days under which the acts of the next day rank highest; `None` if acts lose no weight.
    pub half_life_days: Option<f64>,
    /// What each half-life gives.
    pub half_lives: Vec<TriedHalfLife>,
}

/// The gain of the popular feed with a half-life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TriedHalfLife {
    /// The half-life in days; `None` if acts lose no weight.
    pub half_life_days: Option<f64>,
    /// The mean of 1 / log2(1 + rank) of the post of each act, among the posts on which the member had not acted.
    pub gain: f64,
    /// The standard error of its difference from the greatest gain, with the acts of a member as one cluster.
    pub error: f64,
}

/// The popularity in use.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PopularityInUse {
    /// The half-life in days, of the setting, or learned, or 3; `None` if acts lose no weight.
    #[schema(exclusive_minimum = 0, maximum = 100_000, examples(3.0))]
    pub half_life_days: Option<f64>,
    /// What the acts of the members show; `None` if there are too few.
    pub learned: Option<LearnedPopularity>,
}

impl PopularityInUse {
    pub(crate) fn read(tx: &mut dyn Tx, config: &Feed) -> Result<Self, StoreError> {
        let learned = learned(tx)?;
        let half_life_days = finite(Popularity::of(config, learned.as_ref()).half_life_days);
        Ok(Self { half_life_days, learned })
    }
}

pub(crate) fn learned(tx: &mut dyn Tx) -> Result<Option<LearnedPopularity>, StoreError> {
    stored::read(tx, POPULARITY)
}

/// `None` if the half-life is infinite.
pub(crate) fn finite(half_life_days: f64) -> Option<f64> {
    Some(half_life_days).filter(|days| days.is_finite())
}

#[cfg(test)]
mod tests;
