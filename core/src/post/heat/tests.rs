//! Tests of heats for all half-lives.

use proptest::prelude::*;

use super::*;
use crate::testing::NOW;

/// Generates a time within the last `days`.
fn lately(days: i64) -> impl Strategy<Value = Timestamp> {
    (-days * DAY_MS..0).prop_map(|ms| NOW + ms)
}

fn acts(days: i64, most: usize) -> impl Strategy<Value = Vec<(f64, Timestamp)>> {
    proptest::collection::vec((0.5..5.0, lately(days)), 1..most)
}

fn sum(acts: &[(f64, Timestamp)]) -> Option<Heats> {
    acts.iter().fold(None, |heats, (weight, at)| Heats::add(heats, *weight, *at))
}

fn worth(heats: Option<Heats>, days: f64, now: Timestamp) -> f64 {
    let decay = Decay::new(days);
    decay.worth(heats.map(|heats| decay.heat(&heats)), now)
}

fn difference(one: Option<Heats>, other: Option<Heats>) -> f64 {
    let (Some(one), Some(other)) = (one, other) else {
        return if one == other { 0.0 } else { f64::INFINITY };
    };
    (0..GRID).map(|place| (one.at(place) - other.at(place)).abs()).fold(0.0, f64::max)
}

#[test]
fn an_act_halves_in_each_half_life_and_a_like_equals_several_views() {
    let heats = Heats::add(None, 1.0, NOW);
    for days in [0.01, 0.09375, 0.1, 0.75, 2.0, 3.0, 90.0, 96.0, 1_000.0] {
        #[expect(clippy::cast_possible_truncation, reason = "a test")]
        let later = NOW + (days * 86_400_000.0) as i64;
        assert!((worth(heats, days, NOW) - 1.0).abs() < 1e-6, "{days}");
        assert!((worth(heats, days, later) - 0.5).abs() < 1e-6, "{days}");
    }
    assert!((worth(heats, f64::INFINITY, NOW + 9_999 * DAY_MS) - 1.0).abs() < 1e-9);
    assert!((Decay::new(2.0).after_a_day() - 0.5_f64.sqrt()).abs() < 1e-12);
    let views = (0..3).fold(None, |heats, _| Heats::add(heats, 1.0, NOW));
    assert!(difference(views, Heats::add(None, 3.0, NOW)) < 1e-9);
    assert!(worth(None, 3.0, NOW) == 0.0);
}

#[test]
fn invalid_weights_and_half_lives_do_no_harm() {
    let heats = Heats::add(None, 1.0, NOW);
    assert_eq!(Heats::add(None, 0.0, NOW), None);
    assert_eq!(Heats::add(heats, -1.0, NOW), heats);
    assert_eq!(Heats::take(heats, f64::NAN, NOW), heats);
    for days in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Decay::new(days).heat(&heats.unwrap()).is_finite(), "{days}");
    }
}

#[test]
fn bounded_heats_are_at_most_those_of_acts_at_present() {
    let future = Heats::add(Heats::add(None, 1.0, NOW), 3.0, NOW + 300 * DAY_MS).unwrap();
    for days in [0.09375, 2.0, 3.0, 96.0, f64::INFINITY] {
        assert!((worth(future.bounded(4.0, NOW), days, NOW) - 4.0).abs() < 1e-6);
        let decay = Decay::new(days);
        assert!(decay.bounded(Some(decay.heat(&future)), 4.0, NOW).unwrap() <= decay.heat(&future));
    }
    let past = Heats::add(None, 1.0, NOW - DAY_MS).unwrap();
    assert_eq!(past.bounded(1.0, NOW), Some(past));
    for weight in [0.0, f64::NAN] {
        assert_eq!(future.bounded(weight, NOW), None);
        assert_eq!(Decay::new(3.0).bounded(Some(1.0), weight, NOW), None);
    }
    assert!((weight_of(7, 2) - 13.0).abs() < 1e-9);
    assert!(weight_of(-1, -1) == 0.0);
}

#[test]
fn a_like_that_is_taken_back_leaves_acts_of_many_half_lives_before() {
    let old = sum(&[(5.0, NOW - 20 * DAY_MS), (2.0, NOW - 30 * DAY_MS)]);
    let left = Heats::take(Heats::add(old, 3.0, NOW), 3.0, NOW).unwrap();
    for place in 0..GRID {
        let (left, old) = (left.at(place), old.unwrap().at(place));
        assert!(left <= old + 1e-3 && left > old - 40.0, "{place}: {left} {old}");
    }
    assert!((left.at(8) - old.unwrap().at(8)).abs() < 1e-6);
    assert_eq!(Heats::take(Heats::add(None, 3.0, NOW), 3.0, NOW), None);
}

proptest! {
    #[test]
    fn the_order_of_acts_does_not_matter(acts in acts(100, 40)) {
        let forward = sum(&acts);
        let mut turned = acts;
        turned.reverse();
        prop_assert!(difference(forward, sum(&turned)) < 1e-8);
        turned.sort_by(|one, other| one.0.total_cmp(&other.0));
        prop_assert!(difference(forward, sum(&turned)) < 1e-8);
    }

    #[test]
    fn a_half_life_of_the_grid_is_exact_and_others_are_between(acts in acts(20, 20), days in 0.1..500.0) {
        let exact = |days: f64| -> f64 {
            acts.iter().map(|(weight, at)| weight * (-days_between(*at) / days).exp2()).sum()
        };
        for days in HALF_LIVES {
            prop_assert!((worth(sum(&acts), days, NOW) / exact(days) - 1.0).abs() < 1e-6, "{}", days);
        }
        prop_assert!(worth(sum(&acts), days, NOW) >= exact(days) * (1.0 - 1e-6));
        let longer = HALF_LIVES.into_iter().find(|of_grid| *of_grid >= days).unwrap();
        prop_assert!(worth(sum(&acts), days, NOW) <= exact(longer) * (1.0 + 1e-6));
    }

    #[test]
    fn taking_back_a_recent_act_restores_the_heats(acts in acts(1, 40), weight in 0.5..5.0, at in lately(1)) {
        let before = sum(&acts);
        let after = Heats::take(Heats::add(before, weight, at), weight, at);
        // A day is 11 of the shortest half-lives.
        prop_assert!(difference(before, after) < 1e-5, "{before:?} {after:?}");
    }

    #[test]
    fn taking_back_an_act_that_was_not_added_is_never_nan(acts in acts(400, 5), ms: i64) {
        let left = Heats::take(sum(&acts), 1.0, Timestamp::from_millis(ms));
        prop_assert!(left.is_none_or(|left| (0..GRID).all(|place| !left.at(place).is_nan())));
    }
}

fn days_between(at: Timestamp) -> f64 {
    days(NOW) - days(at)
}
