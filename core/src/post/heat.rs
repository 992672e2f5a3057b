//! The popularity of a post: the sum of its acts, each decayed by its own age. An act of weight `w` at time `t` adds `w·2^(t/h)`
//! to the sum for a half-life `h`, and the popularity at `now` is the sum times `2^(-now/h)`, so the order changes only with new
//! acts. The database holds the logarithms of the sums, the *heats*, for each half-life of a [grid](HALF_LIVES), so that the
//! half-life in effect can change without a change of any post. Between two of these, the logarithm of the popularity is
//! interpolated linearly over `1/h`: exact if all acts of the post have one age, otherwise too great. A half-life below the grid
//! continues the line of the two shortest ones, and gives too little. Source: Cormode, Shkapenyuk, Srivastava and Xu, *Forward
//! decay: a practical time decay model for streaming systems*, ICDE 2009; the exponential `g`, with 1970 as landmark.

use std::f64::consts::LN_2;

use crate::base::clock::{DAY_MS, Timestamp};
use crate::store::{Arg, Row, StoreError};

pub(crate) const VIEW_WEIGHT: f64 = 1.0;
pub(crate) const LIKE_WEIGHT: f64 = 3.0;

/// In days. It is in effect until the acts of a store show that another half-life predicts better.
pub(crate) const DEFAULT_HALF_LIFE_DAYS: f64 = 3.0;

pub(crate) const GRID: usize = 12;
/// In days, the shortest first. With the last one, acts lose no weight. The columns of the database are numbered in this order,
/// so it must not change.
pub(crate) const HALF_LIVES: [f64; GRID] =
    [0.09375, 0.1875, 0.375, 0.75, 1.5, 3.0, 6.0, 12.0, 24.0, 48.0, 96.0, f64::INFINITY];

/// The minimum half-life, one minute: with a shorter half-life, rounding errors dominate.
const HALF_LIFE_MIN_DAYS: f64 = 1.0 / (24.0 * 60.0);

/// A remaining share of a sum is lost if it is less than this number of rounding errors.
const ROUNDINGS: f64 = 4_096.0;

/// In the order of [`HALF_LIVES`].
macro_rules! heat_columns {
    () => {
        "heat_0, heat_1, heat_2, heat_3, heat_4, heat_5, heat_6, heat_7, heat_8, heat_9, heat_10, heat_11"
    };
}
pub(super) use heat_columns;

/// In the order of [`HALF_LIVES`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Heats([f64; GRID]);

impl Heats {
    /// A weight of 0 or less adds nothing. Except for rounding, the result does not depend on the order of acts.
    pub(crate) fn add(heats: Option<Self>, weight: f64, at: Timestamp) -> Option<Self> {
        let Some(ln_weight) = positive_ln(weight) else { return heats };
        Some(Self::plus(heats, Self::of_act(ln_weight, at)))
    }

    /// Subtracts an act that was added with `weight` at the time `at`. Returns `None` if no act is left. If the rest is within the
    /// rounding error, because the other acts are many half-lives older, its heat is estimated from those of the longer
    /// half-lives: the estimate continues their line, and so is at most the exact heat.
    pub(crate) fn take(heats: Option<Self>, weight: f64, at: Timestamp) -> Option<Self> {
        let Some(ln_weight) = positive_ln(weight) else { return heats };
        let (Self(sums), Self(act)) = (heats?, Self::of_act(ln_weight, at));
        let mut rest = [0.0; GRID];
        for place in (0..GRID).rev() {
            let error = ROUNDINGS * f64::EPSILON * sums[place].abs().max(1.0);
            let left = -(act[place] - sums[place]).exp_m1();
            rest[place] = if left > error {
                sums[place] + left.ln()
            } else if place == GRID - 1 {
                return None;
            } else {
                let largest = act[place] + error.ln();
                if place + 2 < GRID {
                    let [slower, slowest] = [rate(place + 1), rate(place + 2)];
                    let slope = (rest[place + 1] - rest[place + 2]) / (slower - slowest);
                    largest.min(rest[place + 1] + slope * (rate(place) - slower))
                } else {
                    largest
                }
            };
        }
        Some(Self(rest))
    }

    /// Limits the heats to those of acts with the total `weight` that all happened at `now`. Heats exceed this limit only
    /// if acts have dates in the future, for example after the clock was ahead.
    pub(crate) fn bounded(self, weight: f64, now: Timestamp) -> Option<Self> {
        let Self(bound) = Self::of_act(positive_ln(weight)?, now);
        Some(Self(std::array::from_fn(|place| self.0[place].min(bound[place]))))
    }

    pub(crate) fn at(&self, place: usize) -> f64 {
        self.0[place]
    }

    fn of_act(ln_weight: f64, at: Timestamp) -> Self {
        Self(std::array::from_fn(|place| ln_weight + rate(place) * days(at)))
    }

    fn plus(one: Option<Self>, Self(other): Self) -> Self {
        let Some(Self(one)) = one else { return Self(other) };
        // ln(e^a + e^b), computed without the powers, which would overflow.
        let sum = |place: usize| {
            let (a, b): (f64, f64) = (one[place], other[place]);
            a.max(b) + (-(a - b).abs()).exp().ln_1p()
        };
        Self(std::array::from_fn(sum))
    }

    /// `None` for a post without acts.
    pub(super) fn take_from(row: &mut Row, first: usize) -> Result<Option<Self>, StoreError> {
        let mut heats = [0.0; GRID];
        for (heat, column) in heats.iter_mut().zip(first..) {
            let Some(stored) = row.take(column)? else { return Ok(None) };
            *heat = stored;
        }
        Ok(Some(Self(heats)))
    }

    pub(super) fn column(heats: Option<Self>, place: usize) -> Arg<'static> {
        heats.map(|heats| heats.at(place)).into()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decay {
    /// The decrease of the natural logarithm of the weight in a day.
    rate: f64,
    /// The half-life is between this place of the grid and the next one.
    place: usize,
    share: f64,
}

impl Decay {
    /// The half-life may be infinite.
    pub(crate) fn new(half_life_days: f64) -> Self {
        // `max` also replaces NaN.
        let rate = LN_2 / half_life_days.max(HALF_LIFE_MIN_DAYS);
        let place = (0..GRID - 2).find(|place| self::rate(place + 1) <= rate).unwrap_or(GRID - 2);
        let (shorter, longer) = (self::rate(place), self::rate(place + 1));
        Self { rate, place, share: (shorter - rate) / (shorter - longer) }
    }

    pub(crate) fn heat(self, Heats(heats): &Heats) -> f64 {
        self.between(heats[self.place], heats[self.place + 1])
    }

    pub(super) fn columns(self) -> String {
        format!("s.heat_{}, s.heat_{}", self.place, self.place + 1)
    }

    /// The columns from `first` on are those of [`Decay::columns`]. `None` for a post without acts.
    pub(super) fn take_from(self, row: &mut Row, first: usize) -> Result<Option<f64>, StoreError> {
        let (shorter, longer): (Option<f64>, Option<f64>) = (row.take(first)?, row.take(first + 1)?);
        Ok(shorter.zip(longer).map(|(shorter, longer)| self.between(shorter, longer)))
    }

    fn between(self, shorter: f64, longer: f64) -> f64 {
        (1.0 - self.share) * shorter + self.share * longer
    }

    pub(crate) fn bounded(self, heat: Option<f64>, weight: f64, now: Timestamp) -> Option<f64> {
        Some(heat?.min(positive_ln(weight)? + self.grown(now)))
    }

    /// In views at that time.
    pub(crate) fn worth(self, heat: Option<f64>, now: Timestamp) -> f64 {
        heat.map_or(0.0, |heat| (heat - self.grown(now)).exp())
    }

    /// The logarithm of the factor by which it exceeds one in 1970.
    pub(crate) fn grown(self, at: Timestamp) -> f64 {
        self.rate * days(at)
    }

    /// The share of its weight that an act still has.
    pub(crate) fn after_a_day(self) -> f64 {
        (-self.rate).exp()
    }
}

fn positive_ln(weight: f64) -> Option<f64> {
    (weight > 0.0).then(|| weight.ln())
}

fn rate(place: usize) -> f64 {
    LN_2 / HALF_LIVES[place]
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are far below 2^53")]
fn days(at: Timestamp) -> f64 {
    at.as_millis() as f64 / DAY_MS as f64
}

#[expect(clippy::cast_precision_loss, reason = "no post has 2^53 views")]
pub(crate) fn weight_of(views: i64, likes: i64) -> f64 {
    views.max(0) as f64 * VIEW_WEIGHT + likes.max(0) as f64 * LIKE_WEIGHT
}

#[cfg(test)]
mod tests;
