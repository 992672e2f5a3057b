//! The popularity of a post: the sum of its acts, each decayed by its own age, as one number that only acts change.
//!
//! An act of weight `w` at time `t` adds `w · 2^(t / half-life)` to the sum of its post. At any later time `now`, the
//! sum times `2^(-now / half-life)` is the popularity. The second factor is the same for all posts, so at every time
//! the order of the sums is the order of popularity, and it changes only with new acts. The sums grow without bound, so
//! the database holds their logarithms: the *heat*.
//!
//! Sums of different half-lives cannot be compared, so the half-life of all heats is stored in the database. The
//! process that opened the database last determines it ([`set_half_life`]), and every act reads it, so processes with
//! different settings do not mix their half-lives.
//!
//! Source: Cormode, Shkapenyuk, Srivastava and Xu, *Forward decay: a practical time decay model for streaming
//! systems*, ICDE 2009; the exponential `g`, with 1970 as landmark.

mod rebuild;

pub(crate) use rebuild::rebuild;

use super::change;
use crate::base::clock::{DAY_MS, Timestamp};
use crate::record::error::Result;
use crate::store::{Isolation, Store, StoreError, Topic, Tx};

/// The weight of a view.
pub(crate) const VIEW_WEIGHT: f64 = 1.0;

/// The half-life in days before there are enough acts to take it from.
pub(crate) const DEFAULT_HALF_LIFE_DAYS: f64 = 3.0;
/// The half-life in days where acts do not lose weight: as good as infinite.
pub(crate) const NO_DECAY_DAYS: f64 = 100_000.0;

/// The minimum half-life, one minute: with a shorter half-life, rounding errors dominate.
const HALF_LIFE_MIN_DAYS: f64 = 1.0 / (24.0 * 60.0);

/// A remaining share of a sum counts as zero if it is less than this number of rounding errors.
const ROUNDINGS: f64 = 4_096.0;

/// The rate at which acts lose their weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decay {
    /// The decrease of the natural logarithm of the weight in a day.
    rate: f64,
}

impl Decay {
    /// Creates the decay with which the weight of an act halves in this number of days.
    pub(crate) fn new(half_life_days: f64) -> Self {
        Self { rate: std::f64::consts::LN_2 / at_least_a_minute(half_life_days) }
    }

    /// Adds an act of `weight` at the time `at` to a heat. A weight of 0 or less adds nothing.
    ///
    /// Except for rounding, the result does not depend on the order of acts.
    pub(crate) fn add(self, heat: Option<f64>, weight: f64, at: Timestamp) -> Option<f64> {
        let Some(act) = self.act(weight, at) else { return heat };
        let Some(heat) = heat else { return Some(act) };
        // ln(e^a + e^b), computed without the powers, which would overflow.
        Some(heat.max(act) + (-(heat - act).abs()).exp().ln_1p())
    }

    /// Subtracts an act that was added with `weight` at the time `at`. Returns `None` if the rest is within the
    /// rounding error.
    ///
    /// A rest of less than about a billionth of the subtracted act is lost.
    pub(crate) fn take(self, heat: Option<f64>, weight: f64, at: Timestamp) -> Option<f64> {
        let Some(act) = self.act(weight, at) else { return heat };
        let heat = heat?;
        // The remaining share of the sum.
        let left = -(act - heat).exp_m1();
        (left > ROUNDINGS * f64::EPSILON * heat.abs().max(1.0)).then(|| heat + left.ln())
    }

    /// Limits a heat to that of acts with the total `weight` that all happened at `now`. A heat exceeds this limit only
    /// if acts have dates in the future, for example after the clock was ahead.
    pub(crate) fn bounded(self, heat: Option<f64>, weight: f64, now: Timestamp) -> Option<f64> {
        Some(heat?.min(self.act(weight, now)?))
    }

    /// Returns the popularity at `now`, in views at that time.
    pub(crate) fn worth(self, heat: Option<f64>, now: Timestamp) -> f64 {
        heat.map_or(0.0, |heat| (heat - self.grown(now)).exp())
    }

    /// Returns the logarithm of the summand of an act; `None` without a weight.
    fn act(self, weight: f64, at: Timestamp) -> Option<f64> {
        (weight > 0.0).then(|| weight.ln() + self.grown(at))
    }

    /// Returns the logarithm of the factor by which an act at this time exceeds one in 1970.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are far below 2^53")]
    fn grown(self, at: Timestamp) -> f64 {
        self.rate * (at.as_millis() as f64 / DAY_MS as f64)
    }
}

/// Returns the total weight of the acts of a post. A like weighs `like_weight`.
#[expect(clippy::cast_precision_loss, reason = "no post has 2^53 views")]
pub(crate) fn weight_of(views: i64, likes: i64, like_weight: f64) -> f64 {
    let likes = if like_weight > 0.0 { likes.max(0) as f64 * like_weight } else { 0.0 };
    views.max(0) as f64 * VIEW_WEIGHT + likes
}

/// Returns the decay of a database; `None` if no service has opened the database yet.
///
/// # Errors
/// Fails if the store fails.
pub(crate) fn decay(tx: &mut dyn Tx) -> Result<Option<Decay>, StoreError> {
    Ok(half_life_days(tx)?.map(Decay::new))
}

fn at_least_a_minute(half_life_days: f64) -> f64 {
    // `max` also replaces NaN.
    half_life_days.max(HALF_LIFE_MIN_DAYS)
}

/// Returns the half-life of a database in days; `None` if no service has opened the database yet.
///
/// # Errors
/// Fails if the store fails.
pub(crate) fn half_life_days(tx: &mut dyn Tx) -> Result<Option<f64>, StoreError> {
    tx.row("SELECT half_life_days FROM decay", &[])?.map(|mut row| row.take(0)).transpose()
}

/// Sets the half-life of the database when it is opened; without a setting, that of a new database.
///
/// # Errors
/// Fails if the store fails.
pub(crate) fn start(store: &Store, setting: Option<f64>, now: Timestamp) -> Result<()> {
    match setting {
        Some(days) => set_half_life(store, days, now),
        None if store.read(half_life_days)?.is_some() => Ok(()),
        None => set_half_life(store, DEFAULT_HALF_LIFE_DAYS, now),
    }
}

/// Sets the half-life of the database.
///
/// A changed half-life applies from `now` on: the heats are converted so that the popularity at `now` and the order of
/// posts remain. An unchanged one writes nothing.
///
/// # Errors
/// Fails if the store fails.
pub(crate) fn set_half_life(store: &Store, days: f64, now: Timestamp) -> Result<()> {
    let days = at_least_a_minute(days);
    let same = move |stored: Option<f64>| stored.is_some_and(|stored| stored.to_bits() == days.to_bits());
    if same(store.read(half_life_days)?) {
        return Ok(());
    }
    store.write_long(Isolation::Alone, move |tx| {
        let before = half_life_days(tx)?;
        if same(before) {
            return Ok(());
        }
        store_half_life(tx, days)?;
        if let Some(before) = before {
            let shift = Decay::new(days).grown(now) - Decay::new(before).grown(now);
            let sql = "UPDATE post_stats SET heat = heat + $1 WHERE heat IS NOT NULL";
            tx.run(sql, &[shift.into()])?;
            change::add_all(tx)?;
            tx.touch(Topic::Posts);
        }
        Ok(())
    })
}

fn store_half_life(tx: &mut dyn Tx, days: f64) -> Result<(), StoreError> {
    let sql = "INSERT INTO decay (one, half_life_days) VALUES (1, $1)
               ON CONFLICT (one) DO UPDATE SET half_life_days = excluded.half_life_days";
    tx.run(sql, &[days.into()])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{self, NOW};

    /// Generates a time within the last `days`.
    fn lately(days: i64) -> impl Strategy<Value = Timestamp> {
        (-days * DAY_MS..0).prop_map(|ms| NOW + ms)
    }

    fn close(one: Option<f64>, other: Option<f64>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) => (one - other).abs() < 1e-8,
            (one, other) => one == other,
        }
    }

    #[test]
    fn an_act_halves_in_a_half_life_and_a_like_equals_several_views() {
        let decay = Decay::new(3.0);
        let heat = decay.add(None, 1.0, NOW);
        assert!((decay.worth(heat, NOW) - 1.0).abs() < 1e-9);
        assert!((decay.worth(heat, NOW + 3 * DAY_MS) - 0.5).abs() < 1e-9);
        assert!((decay.worth(heat, NOW + 30 * DAY_MS) - 1.0 / 1_024.0).abs() < 1e-9);
        let views = (0..3).fold(None, |heat, _| decay.add(heat, 1.0, NOW));
        assert!(close(views, decay.add(None, 3.0, NOW)));
        assert!(decay.worth(None, NOW) == 0.0);
    }

    #[test]
    fn one_view_today_is_more_than_a_thousand_a_month_ago() {
        let decay = Decay::new(3.0);
        let old = (0..1_000).fold(None, |heat, _| decay.add(heat, 1.0, NOW - 31 * DAY_MS));
        assert!(old < decay.add(None, 1.0, NOW));
        assert!(old > decay.add(None, 1.0, NOW - 2 * DAY_MS));
    }

    #[test]
    fn invalid_weights_and_half_lives_do_no_harm() {
        let decay = Decay::new(3.0);
        assert_eq!(decay.add(None, 0.0, NOW), None);
        assert_eq!(decay.add(Some(1.0), -1.0, NOW), Some(1.0));
        assert_eq!(decay.take(Some(1.0), f64::NAN, NOW), Some(1.0));
        for days in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Decay::new(days).add(None, 1.0, NOW).is_some_and(f64::is_finite), "{days}");
        }
    }

    #[test]
    fn a_bounded_heat_is_at_most_that_of_acts_at_present() {
        let decay = Decay::new(3.0);
        let future = decay.add(decay.add(None, 1.0, NOW), 3.0, NOW + 300 * DAY_MS);
        assert!((decay.worth(decay.bounded(future, 4.0, NOW), NOW) - 4.0).abs() < 1e-6);
        let past = decay.add(None, 1.0, NOW - DAY_MS);
        assert_eq!(decay.bounded(past, 1.0, NOW), past);
        for (heat, weight) in [(None, 4.0), (future, 0.0), (future, f64::NAN)] {
            assert_eq!(decay.bounded(heat, weight, NOW), None);
        }
        assert!((weight_of(7, 2, 3.0) - 13.0).abs() < 1e-9);
        assert!(weight_of(-1, -1, 3.0) == 0.0 && weight_of(0, 1, f64::NAN) == 0.0);
    }

    proptest! {
        #[test]
        fn the_order_of_acts_does_not_matter(
            acts in proptest::collection::vec((0.5..5.0, lately(100)), 1..40),
            days in 0.1..400.0,
        ) {
            let decay = Decay::new(days);
            let sum = |acts: &[(f64, Timestamp)]| {
                acts.iter().fold(None, |heat, (weight, at)| decay.add(heat, *weight, *at))
            };
            let forward = sum(&acts);
            let mut turned = acts;
            turned.reverse();
            prop_assert!(close(forward, sum(&turned)));
            turned.sort_by(|one, other| one.0.total_cmp(&other.0));
            prop_assert!(close(forward, sum(&turned)));
        }

        #[test]
        fn subtracting_an_act_restores_the_heat(
            acts in proptest::collection::vec((0.5..5.0, lately(30)), 0..40),
            weight in 0.5..5.0,
            at in lately(30),
        ) {
            let decay = Decay::new(3.0);
            let before = acts.iter().fold(None, |heat, (weight, at)| decay.add(heat, *weight, *at));
            let after = decay.take(decay.add(before, weight, at), weight, at);
            prop_assert!(close(before, after), "{before:?} {after:?}");
        }

        #[test]
        fn subtracting_an_act_that_was_not_added_is_never_nan(heat: f64, weight: f64, ms: i64) {
            let at = Timestamp::from_millis(ms);
            let left = Decay::new(3.0).take(Some(heat).filter(|heat| heat.is_finite()), weight, at);
            prop_assert!(left.is_none_or(|left| !left.is_nan()));
        }
    }

    #[test]
    fn a_changed_half_life_keeps_the_popularity_and_the_order_of_posts() {
        let service = testing::service();
        let (old, new) = (Decay::new(3.0), Decay::new(10.0));
        let heats = [old.add(None, 1.0, NOW - 9 * DAY_MS), old.add(None, 3.0, NOW), None];
        let insert = move |tx: &mut dyn Tx| {
            for (key, heat) in (1..).zip(heats) {
                let sql =
                    "INSERT INTO post (key, id, url, host, title, img, topic, tag, keyword, date, token,
                           post) VALUES ($1, $2, $2, '', '', '', '[]', '[]', '', 0, '', '')";
                tx.run(sql, &[i64::into(key), (&key.to_string()).into()])?;
                let sql = "INSERT INTO post_stats (post, view, fav, heat) VALUES ($1, 0, 0, $2)";
                tx.run(sql, &[key.into(), heat.into()])?;
            }
            Ok::<_, StoreError>(())
        };
        service.store().write(Isolation::Alone, insert).unwrap();
        let stored = || {
            let read = service.store().read(|tx| {
                let decay = Decay::new(tx.one("SELECT half_life_days FROM decay", &[])?.take(0)?);
                let rows = tx.rows("SELECT heat FROM post_stats ORDER BY post", &[])?;
                let heats = rows.into_iter().map(|mut row| row.take(0));
                Ok::<_, StoreError>((decay, heats.collect::<Result<Vec<Option<f64>>, _>>()?))
            });
            read.unwrap()
        };
        let version = service.store().version(Topic::Posts);
        set_half_life(service.store(), 3.0, NOW).unwrap();
        assert_eq!(stored(), (old, heats.to_vec()));
        assert_eq!(service.store().version(Topic::Posts), version, "an unchanged half-life writes nothing");

        set_half_life(service.store(), 10.0, NOW).unwrap();
        let (decay, after) = stored();
        assert_eq!(decay, new);
        for (before, after) in heats.iter().zip(&after) {
            assert!((old.worth(*before, NOW) - new.worth(*after, NOW)).abs() < 1e-9);
        }
        assert!((new.worth(after[1], NOW + 10 * DAY_MS) - 1.5).abs() < 1e-9);
        assert!(service.store().version(Topic::Posts) > version);
    }
}
