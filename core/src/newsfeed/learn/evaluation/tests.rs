//! Tests of evaluations on stores for which the result of each ranking is known.

use super::*;
use crate::base::clock::DAY_MS;
use crate::base::config::Feed;
use crate::post;
use crate::testing::{NOW, Service, draft, like, publish, service};

fn insert(service: &Service, name: &str, topic: &str, date: Timestamp) -> String {
    publish(service, draft(name, format!("https://a.example/{name}")).with_topic(topic).dated(date))
}

/// Creates forty posts each of cats and dogs, an hour apart, the newest at [`NOW`]; the first is the oldest.
fn stocked() -> (Service, Vec<String>, Vec<String>) {
    let service = service();
    let of = |topic: &str, off: i64| -> Vec<String> {
        let date = |n: i64| NOW - (2 * (40 - n) + off) * 3_600_000;
        (0..40).map(|n| insert(&service, &format!("{topic}{n}"), topic, date(n))).collect()
    };
    let (cats, dogs) = (of("cats", 1), of("dogs", 0));
    (service, cats, dogs)
}

fn a_day_later(service: &Service) -> String {
    service.clock().advance(DAY_MS);
    service.clock().now().to_string()
}

fn row<'e>(evaluation: &'e Evaluation, ranking: &str) -> &'e Quality {
    evaluation.rows.iter().find(|row| row.ranking == ranking).unwrap()
}

fn evaluated(service: &Service, at: Option<&str>) -> Result<Evaluation> {
    evaluate(service, &Caller::Operator, at.map(split_time).transpose()?, &mut |_| {})
}

#[test]
fn the_feed_finds_the_later_post_of_a_reader_of_one_topic() {
    let (service, cats, dogs) = stocked();
    let reader = service.member("reader");
    like(&service, &reader, &cats[..5]);
    let at = a_day_later(&service);
    // The first cat that the reader has not seen; one place in ten is for the other topic.
    post::view(&service, &reader, &cats[39]).wait().unwrap();
    let evaluation = evaluated(&service, Some(&at)).unwrap();
    assert_eq!((evaluation.members, evaluation.posts), (1, 80));
    assert_eq!(evaluation.rows.iter().map(|row| row.ranking).collect::<Vec<_>>(), RANKINGS);
    let exact = |ranking: &str, ndcg10: f64, coverage: f64| {
        let Quality { ndcg10: found, recall30, coverage: covered, .. } = *row(&evaluation, ranking);
        assert!((found - ndcg10).abs() < 1e-9, "{evaluation:?}");
        assert!((recall30 - 1.0).abs() < 1e-9 && (covered - coverage).abs() < 1e-9, "{evaluation:?}");
    };
    exact("recommended", 1.0, 0.125);
    // A dog precedes it: 1/log2(3).
    exact("newest", 0.6309, 0.125);
    drop(dogs);
}

#[test]
fn seen_posts_and_newer_posts_are_not_relevant() {
    let (service, cats, _) = stocked();
    let reader = service.member("reader");
    for id in &cats[..5] {
        post::view(&service, &reader, id).wait().unwrap();
    }
    let at = a_day_later(&service);
    let nobody = |at: &str| matches!(evaluated(&service, Some(at)), Err(Error::BadRequest(_)));
    assert!(nobody(&at));
    // An act on a seen post, and a post that is newer than the split.
    post::like(&service, &reader, &cats[0]).wait().unwrap();
    let later = insert(&service, "later", "cats", service.clock().now() + 1);
    post::view(&service, &reader, &later).wait().unwrap();
    assert!(nobody(&at) && nobody("tomorrow"));
}

#[test]
fn popularity_is_as_of_the_split_and_without_history_the_guests_feed_is_used() {
    let (service, cats, dogs) = stocked();
    let [early, late] = ["early", "late"].map(|id| service.member(id));
    post::like(&service, &early, &dogs[3]).wait().unwrap();
    let at = a_day_later(&service);
    post::like(&service, &late, &dogs[3]).wait().unwrap();
    // This post became popular after the split.
    for caller in [&early, &late] {
        post::like(&service, caller, &cats[4]).wait().unwrap();
    }
    let evaluation = evaluated(&service, Some(&at)).unwrap();
    assert_eq!(evaluation.members, 2);
    // For the member `late`, both posts are relevant and one is first, which gives 1 of 1 + 1/log2(3). For `early`, no
    // ranked post is relevant.
    let popular = row(&evaluation, "popular").ndcg10;
    assert!((popular - rounded(0.5 / (1.0 + 1.0 / 3_f64.log2()))).abs() < 1e-9, "{evaluation:?}");
    // Both get the feed of guests, with the popularity of that time.
    assert!((row(&evaluation, "recommended").ndcg10 - popular).abs() < 1e-9, "{evaluation:?}");
}

#[test]
fn by_default_a_fifth_of_the_acts_is_the_test_and_the_result_is_reproducible() {
    let (service, cats, _) = stocked();
    let reader = service.member("reader");
    for id in &cats[..10] {
        service.clock().advance(1_000);
        post::like(&service, &reader, id).wait().unwrap();
    }
    let evaluation = evaluated(&service, None).unwrap();
    assert_eq!(evaluation.at, service.clock().now() - 1_000, "the last two of ten");
    assert_eq!(evaluated(&service, None).unwrap(), evaluation);
    assert_eq!(evaluated(&service, Some(&evaluation.at.to_string())).unwrap(), evaluation);
}

fn is_close(found: f64, expected: f64) -> bool {
    (found - rounded(expected)).abs() < 1e-9
}

#[test]
fn the_lead_is_the_mean_difference_of_pairs() {
    let (service, cats, dogs) = stocked();
    let readers = ["ann", "ben"].map(|id| service.member(id));
    for (reader, ids) in readers.iter().zip([&cats, &dogs]) {
        like(&service, reader, &ids[..5]);
    }
    let at = a_day_later(&service);
    for (reader, ids) in readers.iter().zip([&cats, &dogs]) {
        post::view(&service, reader, &ids[39]).wait().unwrap();
    }
    let evaluation = evaluated(&service, Some(&at)).unwrap();
    // The recommended feed has both posts first. The newest post is the dog, and the cat is the second: the differences
    // are 0.3691 and 0, so their mean is 0.1845, and its error the root of 2 · 0.1845², divided by 2.
    let half = (1.0 - 1.0 / 3_f64.log2()) / 2.0;
    let Quality { lead, lead_error, .. } = *row(&evaluation, "newest");
    assert!(is_close(lead, half) && is_close(lead_error, half / 2_f64.sqrt()), "{evaluation:?}");
    assert!(is_close(row(&evaluation, "recommended").lead, 0.0) && evaluation.better_weight.is_none());
}

#[test]
fn each_weight_is_halved_and_doubled_and_chance_is_no_advice() {
    let config = Feed { novel_weight: 0.0, ..Feed::default() };
    let scoring = Scoring::of(&config);
    let mut trials = trials(&scoring);
    assert_eq!(trials.len(), 10, "a weight of 0 has no factor");
    let is_doubled = |tried: &Tried| tried.scoring.weights[Signal::Recent] > scoring.weights[Signal::Recent];
    let mut add = |members: std::ops::Range<i64>, gain: f64| {
        for tried in &mut trials {
            let gain = if is_doubled(tried) { gain } else { 0.0 };
            members.clone().for_each(|member| tried.gains.add(MemberKey::new(member), gain));
        }
        best(&trials)
    };
    assert_eq!(add(0..19, 0.3), None, "too few members");
    let better = add(19..20, 0.3).unwrap();
    assert_eq!((better.setting, better.gain, better.gain_error), ("recent-weight", 0.3, 0.0));
    assert!((better.factor - 2.0).abs() < 1e-9);
    assert_eq!(add(20..60, -0.3), None);
    let interest = trials.iter().find(|tried| tried.setting == "interest-weight").unwrap();
    let [halved, whole] = [&interest.scoring, &scoring].map(|scoring| scoring.weights[Signal::Topic]);
    assert!((halved - whole / 2.0).abs() < 1e-6);
}
