//! Tests of the choice on stores whose members act in a known way.

use super::*;
use crate::base::clock::DAY_MS;
use crate::base::config::Feed;
use crate::newsfeed::index::tests::{as_of_now, row};
use crate::newsfeed::signal::popularity::Popularity;
use crate::testing::NOW;

const POSTS: i64 = 120;
const HOUR_MS: i64 = DAY_MS / 24;

/// Posts that are all older than the acts.
fn old_posts() -> FeedIndex {
    let rows = (0..POSTS).map(|key| row(key, NOW - (100 + key) * DAY_MS, "news")).collect();
    FeedIndex::next(None, rows, &[], None, as_of_now(), &Feed::default())
}

/// Returns an act every half an hour of 40 members in turn, on the post that `choice` gives for its number and a number without
/// a pattern.
fn acts(count: i64, mut choice: impl FnMut(i64, i64) -> i64) -> Vec<PastAct> {
    let mut state = 7_u64;
    let mut dice = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(state >> 33).unwrap()
    };
    let act = |n: i64| PastAct {
        at: NOW - (count - n) * HOUR_MS / 2,
        member: MemberKey::new(1 + n % 40),
        post: PostKey::new(choice(n, dice()).rem_euclid(POSTS)),
        is_like: false,
    };
    (0..count).map(act).collect()
}

fn learned(index: &FeedIndex, acts: &[PastAct]) -> Option<LearnedPopularity> {
    learn(index, acts, NOW, &|| false)
}

fn gain(learned: &LearnedPopularity, days: Option<f64>) -> f64 {
    learned.half_lives.iter().find(|tried| tried.half_life_days == days).unwrap().gain
}

/// Each day, members act on five other posts.
fn trends(n: i64, dice: i64) -> i64 {
    n / 48 * 5 + dice % 5
}

/// A fifth of the posts gets most acts.
fn of_a_fifth(dice: i64) -> i64 {
    let dice = dice % 10_000;
    dice * dice / 1_000_000 * dice / 10_000
}

#[test]
fn where_trends_last_a_day_the_half_life_is_short() {
    let learned = learned(&old_posts(), &acts(2_000, trends)).unwrap();
    assert!(learned.half_life_days.is_some_and(|days| days <= 1.5), "{learned:?}");
    assert!(gain(&learned, learned.half_life_days) > gain(&learned, Some(3.0)) + 0.02, "{learned:?}");
    assert!(learned.acts >= 800 && learned.members == 40, "{learned:?}");
}

#[test]
fn where_acts_do_not_age_they_lose_no_weight_or_little() {
    let learned = learned(&old_posts(), &acts(2_500, |_, dice| of_a_fifth(dice))).unwrap();
    assert!(learned.half_life_days.is_none_or(|days| days >= 24.0), "{learned:?}");
    assert!(gain(&learned, learned.half_life_days) > gain(&learned, Some(3.0)), "{learned:?}");
}

#[test]
fn a_small_store_has_the_half_life_of_3_days() {
    assert_eq!(learned(&old_posts(), &acts(100, trends)), None);
    assert!(Popularity::of(&Feed::default(), None).half_life_days.to_bits() == 3.0_f64.to_bits());
}

#[test]
fn acts_that_come_in_clusters_are_judged_by_the_next_day() {
    // Each post is acted on four times in two hours, and all posts are as popular on every day.
    let mut post = 0;
    let acts = acts(2_000, |n, dice| {
        if n % 4 == 0 {
            post = of_a_fifth(dice);
        }
        post
    });
    let learned = learned(&old_posts(), &acts).unwrap();
    assert!(learned.half_life_days.is_none_or(|days| days >= 6.0), "{learned:?}");
}

#[test]
fn of_half_lives_that_are_as_good_as_the_best_the_longest_is_chosen() {
    let learned = learned(&old_posts(), &acts(2_000, |_, dice| dice)).unwrap();
    assert!(learned.half_life_days.is_none_or(|days| days >= 24.0), "{learned:?}");
}

#[test]
fn the_choice_is_deterministic_and_can_be_stopped() {
    let (index, acts) = (old_posts(), acts(2_000, trends));
    assert_eq!(learned(&index, &acts), learned(&index, &acts));
    assert_eq!(learn(&index, &acts, NOW, &|| true), None);
}
