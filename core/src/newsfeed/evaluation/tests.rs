//! Tests of evaluations on stores for which the result of each ranking is known.

use super::judge::RANKINGS;
use super::*;
use crate::account::Caller;
use crate::base::clock::{DAY_MS, Timestamp};
use crate::post;
use crate::testing::{NOW, Service, service};

fn insert(service: &Service, name: &str, topic: &str, date: Timestamp) -> String {
    let draft = post::Draft {
        title: Some(name.into()),
        url: Some(format!("https://a.example/{name}")),
        topic: Some(vec![topic.into()]),
        date: Some(date.to_string()),
        ..post::Draft::default()
    };
    service.call(&Caller::Operator, post::Insert { draft }).unwrap().id.to_string()
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

fn row<'e>(evaluation: &'e Evaluation, ranking: &str) -> &'e Quality {
    evaluation.rows.iter().find(|row| row.ranking == ranking).unwrap()
}

fn evaluated(service: &Service, at: Option<&str>) -> Result<Evaluation> {
    let subject = Subject { service, copy: service };
    let at = at.map(split_time).transpose()?;
    evaluate(subject, &Caller::Operator, at, &mut |_| {}, &CancelFlag::default())
}

#[test]
fn the_feed_finds_the_later_post_of_a_reader_of_one_topic() {
    let (service, cats, dogs) = stocked();
    let reader = service.member("reader");
    for id in &cats[..5] {
        post::like(&service, &reader, id).wait().unwrap();
    }
    service.clock().advance(DAY_MS);
    let at = service.clock().now().to_string();
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
    service.clock().advance(DAY_MS);
    let at = service.clock().now().to_string();
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
    service.clock().advance(DAY_MS);
    let at = service.clock().now().to_string();
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
    assert!((popular - metrics::rounded(0.5 / (1.0 + 1.0 / 3_f64.log2()))).abs() < 1e-9, "{evaluation:?}");
    // Both get the feed of guests, with the popularity of that time.
    assert!((row(&evaluation, "recommended").ndcg10 - popular).abs() < 1e-9, "{evaluation:?}");
    let daily =
        |ranking: &str| evaluation.daily.rows.iter().find(|row| row.ranking == ranking).unwrap().ndcg10;
    assert!((daily("recommended") - daily("popular")).abs() < 1e-9, "{evaluation:?}");
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

#[test]
fn similar_words_find_more_than_dates() {
    let service = service();
    let reader = service.member("reader");
    let title =
        |n: i64| if n % 10 == 0 { format!("telescope-mirror-{n}") } else { format!("cooking-soup-{n}") };
    let ids: Vec<String> = (0..100).map(|n| insert(&service, &title(n), "all", NOW - n * 60_000)).collect();
    for id in [90, 80, 70] {
        post::view(&service, &reader, &ids[id]).wait().unwrap();
    }
    service.clock().advance(DAY_MS);
    let at = service.clock().now().to_string();
    for id in [60, 50] {
        post::view(&service, &reader, &ids[id]).wait().unwrap();
    }
    let evaluation = evaluated(&service, Some(&at)).unwrap();
    assert!((row(&evaluation, "tf-idf").recall30 - 1.0).abs() < 1e-9, "{evaluation:?}");
    assert!((row(&evaluation, "recommended").recall30 - 1.0).abs() < 1e-9, "{evaluation:?}");
    assert!(row(&evaluation, "newest").recall30 < 1e-9, "{evaluation:?}");
}

/// Returns the figure of a ranking of feeds that were asked before acts.
fn before_acts(evaluation: &Evaluation, ranking: &str) -> f64 {
    evaluation.before_acts.rows.iter().find(|row| row.ranking == ranking).unwrap().ndcg10
}

fn is_close(found: f64, expected: f64) -> bool {
    (found - metrics::rounded(expected)).abs() < 1e-9
}

#[test]
fn the_feed_is_asked_just_before_each_new_act() {
    let (service, cats, dogs) = stocked();
    let reader = service.member("reader");
    post::like(&service, &reader, &cats[0]).wait().unwrap();
    service.clock().advance(DAY_MS);
    let at = service.clock().now().to_string();
    // The newest posts are dog 39, cat 39, dog 38, cat 38, dog 37. The second of the unseen ones, twice; then the first.
    for id in [&cats[39], &dogs[38], &dogs[39]] {
        post::view(&service, &reader, id).wait().unwrap();
        service.clock().advance(60_000);
    }
    // Two acts at the same time are one moment; a like of a seen post is none.
    post::view(&service, &reader, &cats[38]).wait().unwrap();
    post::like(&service, &reader, &dogs[37]).wait().unwrap();
    service.clock().advance(60_000);
    post::like(&service, &reader, &dogs[39]).wait().unwrap();
    let evaluation = evaluated(&service, Some(&at)).unwrap();
    let BeforeActs { members, moments, acts, .. } = evaluation.before_acts;
    assert_eq!((members, moments, acts), (1, 4, 5));
    let second = 1.0 / 3_f64.log2();
    assert!(is_close(before_acts(&evaluation, "newest"), (2.0 * second + 1.0 + 1.0) / 4.0), "{evaluation:?}");
    // Asked once or each day, all five are relevant, and the newest.
    let newest = evaluation.daily.rows.iter().find(|row| row.ranking == "newest").unwrap();
    assert!(
        is_close(row(&evaluation, "newest").ndcg10, 1.0) && is_close(newest.ndcg10, 1.0),
        "{evaluation:?}"
    );
    assert_eq!((evaluation.daily.days, evaluation.daily.members), (1, 1));
}

#[test]
fn the_popular_order_of_a_day_has_only_the_acts_of_24_hours() {
    let (service, cats, dogs) = stocked();
    let [early, late, reader] = ["early", "late", "reader"].map(|id| service.member(id));
    post::like(&service, &early, &cats[3]).wait().unwrap();
    service.clock().advance(2 * DAY_MS + DAY_MS / 2);
    post::view(&service, &late, &dogs[7]).wait().unwrap();
    service.clock().advance(DAY_MS / 2);
    let at = service.clock().now().to_string();
    post::view(&service, &reader, &dogs[7]).wait().unwrap();
    let evaluation = evaluated(&service, Some(&at)).unwrap();
    // A like is three views, of which three days leave one and a half.
    assert!(is_close(row(&evaluation, "popular").ndcg10, 1.0 / 3_f64.log2()), "{evaluation:?}");
    assert!(is_close(row(&evaluation, "popular-day").ndcg10, 1.0), "{evaluation:?}");
}

#[test]
fn the_order_of_topics_has_every_topic_of_the_members_acts() {
    let (service, cats, dogs) = stocked();
    insert(&service, "bird", "birds", NOW);
    let reader = service.member("reader");
    for id in [&cats[0], &cats[1], &dogs[0]] {
        post::view(&service, &reader, id).wait().unwrap();
    }
    service.clock().advance(DAY_MS);
    let at = service.clock().now().to_string();
    post::view(&service, &reader, &dogs[39]).wait().unwrap();
    let evaluation = evaluated(&service, Some(&at)).unwrap();
    assert!(is_close(row(&evaluation, "newest").ndcg10, 1.0 / 3_f64.log2()), "{evaluation:?}");
    assert!(is_close(row(&evaluation, "topics").ndcg10, 1.0), "{evaluation:?}");
}

#[test]
fn the_lead_is_the_mean_difference_of_pairs() {
    let (service, cats, dogs) = stocked();
    let readers = ["ann", "ben"].map(|id| service.member(id));
    for (reader, ids) in readers.iter().zip([&cats, &dogs]) {
        for id in &ids[..5] {
            post::like(&service, reader, id).wait().unwrap();
        }
    }
    service.clock().advance(DAY_MS);
    let at = service.clock().now().to_string();
    for (reader, ids) in readers.iter().zip([&cats, &dogs]) {
        post::view(&service, reader, &ids[39]).wait().unwrap();
    }
    let evaluation = evaluated(&service, Some(&at)).unwrap();
    // The recommended feed has both posts first. The newest post is the dog, and the cat is the second: the differences
    // are 0.3691 and 0, so their mean is 0.1845, and its error the root of 2 · 0.1845², divided by 2.
    let half = (1.0 - 1.0 / 3_f64.log2()) / 2.0;
    let Quality { lead, lead_error, .. } = *row(&evaluation, "newest");
    assert!(is_close(lead, half) && is_close(lead_error, half / 2_f64.sqrt()), "{evaluation:?}");
    assert_eq!((evaluation.best_simple, row(&evaluation, "recommended").lead), (Some("topics"), 0.0));
}

#[test]
fn posts_and_acts_are_those_of_the_copy_and_a_request_stops_the_work() {
    let (service, cats, _) = stocked();
    let reader = service.member("reader");
    for id in &cats[..10] {
        service.clock().advance(1_000);
        post::like(&service, &reader, id).wait().unwrap();
    }
    let other = crate::testing::service();
    let subject = Subject { service: &other, copy: &service };
    let stop = CancelFlag::default();
    let run = |stop| evaluate(subject, &Caller::Operator, None, &mut |_| {}, stop);
    assert_eq!(run(&stop).unwrap(), evaluated(&service, None).unwrap());
    stop.set();
    assert!(matches!(run(&stop), Err(Error::Store(StoreError::Interrupted))));
}
