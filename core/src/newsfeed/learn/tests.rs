//! Tests of learning on stores whose members choose in a known way.

use serde_json::json;

use super::weights::{FeedWeights, GetWeights, LearnWeights};
use super::*;
use crate::account::Caller;
use crate::base::clock::DAY_MS;
use crate::base::config::Config;
use crate::import::{Import as _, to_the_end};
use crate::newsfeed::{Page, recommended};
use crate::store::Isolation;
use crate::testing::{NOW, Service, draft, publish, service, service_with};
use crate::transfer::act;

const MEMBERS: i64 = 12;
const DAYS: i64 = 40;

/// Returns the beginning of a day (UTC); the last one is the day before [`NOW`].
fn begin(day: i64) -> Timestamp {
    Timestamp::from_millis((NOW.as_millis().div_euclid(DAY_MS) - DAYS + day) * DAY_MS)
}

fn service_of(feed: Feed) -> Service {
    service_with(Config { feed, ..Config::default() })
}

/// Creates three posts a day, at hours 5, 12 and 20, each of one of three topics.
fn insert_posts(service: &Service) {
    for n in 0..3 * DAYS {
        let at = begin(n / 3) + [5, 12, 20][usize::try_from(n % 3).unwrap()] * 3_600_000;
        let named = draft(format!("post {n}"), format!("https://a.example/{n}"));
        publish(service, named.with_topic(&format!("topic{}", n * 7 % 3)).dated(at));
    }
}

/// Creates the posts, and imports the acts of members who [`follow`] one another.
fn followed(feed: Feed) -> (Service, Vec<Caller>) {
    let service = service_of(feed);
    insert_posts(&service);
    let members = import(&service, follow);
    (service, members)
}

fn weights(service: &Service) -> FeedWeights {
    service.call(&Caller::Operator, GetWeights {}).unwrap()
}

/// The post that the first member reads on a day and the others follow on the next: `newest` is the number of the newest.
fn follow(member: i64, newest: i64) -> i64 {
    let day = (newest + 1) / 3;
    2 * (day - i64::from(member > 0)) - 7
}

/// Imports the acts of members who read the same five posts and then a post a day: `choice` tells which, given the member
/// and the number of the newest post. Returns the members.
fn import(service: &Service, choice: impl Fn(i64, i64) -> i64) -> Vec<Caller> {
    let (mut lines, mut members) = (Vec::new(), Vec::new());
    for member in 0..MEMBERS {
        members.push(service.member(&format!("reader{member}")));
        lines.extend((0..5).map(|post| view(member, post, begin(6) + member + post)));
        let daily = |day: i64| view(member, choice(member, 3 * day - 1), begin(day) + 3_600_000 + member);
        lines.extend((7..DAYS).map(daily));
    }
    assert!(import_lines(service, &lines) > 300);
    members
}

/// Returns the line of an import that is a view.
fn view(member: i64, post: i64, at: Timestamp) -> String {
    format!(r#"{{"id":"reader{member}","type":"view","url":"https://a.example/{post}","date":"{at}"}}"#)
}

/// Imports acts; returns their number.
fn import_lines(service: &Service, lines: &[String]) -> u64 {
    let lines = lines.join("\n");
    let imported =
        act::ImportActs {}.import(service, &Caller::Operator, lines.as_bytes(), &mut to_the_end).unwrap();
    assert_eq!(imported.errors, []);
    imported.inserted
}

fn first_title(service: &Service, member: &Caller) -> String {
    let page = recommended(service, member, &Page { limit: Some(1), ..Page::default() }).unwrap();
    page.posts().next().unwrap().title
}

#[test]
fn members_who_follow_one_another_get_what_is_popular_first() {
    let (service, members) = followed(Feed::default());
    let found = weights(&service);
    let popularity = found.popularity.learned.unwrap();
    assert_eq!(popularity.half_lives.len(), 12);
    assert_eq!(popularity.half_life_days, found.popularity.half_life_days);
    let learned = found.learned.unwrap();
    let least = learned.ndcg10_before + ERRORS * learned.ndcg10_error;
    assert!(learned.is_better && learned.ndcg10 > least, "{learned:?}");
    assert_eq!((&*found.in_use, found.weights), ("learned", learned.weights));
    assert_eq!((learned.members, learned.at), (12, service.now()));
    assert!(learned.weights[Signal::Popular] > 2.0 * found.settings[Signal::Popular], "{learned:?}");
    assert_eq!(first_title(&service, &members[1]), "post 71");
}

#[test]
fn what_is_no_better_is_not_used() {
    let service = service();
    insert_posts(&service);
    // Each reads their topic, as the settings expect.
    import(&service, |member, newest| newest - (newest * 7 - member).rem_euclid(3));
    let found = weights(&service);
    assert!(!found.learned.unwrap().is_better);
    assert_eq!((&*found.in_use, found.weights), ("settings", found.settings));
}

#[test]
fn without_learning_the_settings_are_used_and_a_fixed_half_life_stays() {
    for (learn, popular_half_life_days) in [(false, None), (false, Some(5.0)), (true, Some(5.0))] {
        let (service, _) = followed(Feed { popular_half_life_days, learn, ..Feed::default() });
        let found = weights(&service);
        assert_eq!(found.learned.is_some(), learn);
        assert!(learn || found.in_use == "settings");
        assert!(popular_half_life_days.is_none() || found.popularity.learned.is_none());
    }
}

#[test]
fn a_signal_that_is_off_stays_off() {
    let (service, _) = followed(Feed { recent_weight: 0.0, ..Feed::default() });
    let learned = weights(&service).learned.unwrap();
    assert!(learned.weights[Signal::Recent] == 0.0 && learned.weights[Signal::Popular] > 0.0, "{learned:?}");
}

#[test]
fn a_few_visits_teach_nothing() {
    let service = service();
    insert_posts(&service);
    assert_eq!(service.call(&Caller::Operator, LearnWeights {}).unwrap().learned, None);
}

#[test]
fn the_age_may_have_a_weight_that_is_learned_and_a_signal_that_is_off_has_none() {
    let of_age = |age: f64| -> Vector {
        let mut signals = [0.0; SIGNALS];
        signals[Signal::Age as usize] = age;
        signals[Signal::Novel as usize] = age;
        signals
    };
    let lesson = |member| {
        let others = (0..10).map(|n| (of_age(f64::from(n) / 10.0), 0.0)).collect();
        (MemberKey::new(member), Choices { chosen: vec![of_age(1.0)], others })
    };
    let lessons: Vec<_> = (0..60).map(lesson).collect();
    let learned = learned_from(&lessons, &Weights::of(&Feed { novel_weight: 0.0, ..Feed::default() }));
    assert!(learned[Signal::Age] > 0.5 && learned[Signal::Novel] == 0.0, "{learned:?}");
}

fn store(service: &Service, origin: &'static str, content: &impl Serialize) {
    let content = serde_json::to_value(content).unwrap();
    service.store().write(Isolation::Alone, move |tx| stored::write(tx, origin, &content)).unwrap();
}

#[test]
fn learned_weights_stay_until_others_are_better_by_two_errors() {
    let (service, _) = followed(Feed::default());
    let learn = || service.call(&Caller::Operator, LearnWeights {}).unwrap().learned.unwrap();
    let mut first = weights(&service).learned.unwrap();
    first.weights.0[Signal::Popular as usize] *= 1.001;
    store(&service, LEARNED, &first);
    let again = learn();
    assert!(again.is_better && again.weights == first.weights, "{again:?}");
    assert!(again.ndcg10 <= again.ndcg10_before + ERRORS * again.ndcg10_error, "{again:?}");
    // What the first member reads, the others read on the next day.
    first.weights.0[Signal::Popular as usize] = 0.0;
    store(&service, LEARNED, &first);
    let again = learn();
    assert!(again.is_better && again.weights[Signal::Popular] > 0.0, "{again:?}");
}

#[test]
fn an_import_of_few_acts_teaches_nothing_again() {
    let (service, _) = followed(Feed::default());
    let at = |service: &Service| {
        let found = weights(service);
        (found.learned.map(|learned| learned.at), found.popularity.learned.map(|learned| learned.at))
    };
    let first = at(&service);
    assert_eq!(first, (Some(service.now()), Some(service.now())));
    service.clock().advance(2 * DAY_MS);
    let line = |member, n| view(member, n, begin(7) + n);
    assert_eq!(import_lines(&service, &[line(1, 9)]), 1);
    assert_eq!(at(&service), first);
    let many: Vec<_> = (0..MEMBERS).flat_map(|member| (10..20).map(move |n| line(member, n))).collect();
    assert!(import_lines(&service, &many) >= 100);
    assert_eq!(at(&service), (Some(service.now()), Some(service.now())));
}

#[test]
fn what_an_earlier_build_learned_of_other_signals_is_left_out_and_its_half_life_is_read() {
    let service = service();
    let earlier = json!({"topic": 0.7, "recent": 0.2, "fresh": 0.2, "age": 0.0, "together": 40.0});
    let learned = json!({"at": "2026-11-01T00:00:00Z", "visits": 60, "members": 9, "ndcg10_of_settings": 0.1, "ndcg10": 0.2,
        "ndcg10_error": 0.01, "is_better": true, "weights": earlier});
    let half_life = json!({"at": "2026-11-01T00:00:00Z", "acts": 100, "members": 9, "half_life_days": 1.5,
        "half_lives": [], "topic_lift": 0.5, "topic_lifts": [{"topic_lift": 0.5, "gain": 0.1, "error": 0.1}]});
    store(&service, LEARNED, &learned);
    store(&service, POPULARITY, &half_life);
    let found = weights(&service);
    assert_eq!((&*found.in_use, found.learned), ("settings", None));
    assert_eq!(found.popularity.half_life_days, Some(1.5));
}

#[test]
fn a_learned_weight_of_the_age_shows_in_the_reasons() {
    let (service, members) = followed(Feed::default());
    let mut learned = weights(&service).learned.unwrap();
    learned.weights.0[Signal::Age as usize] = 1_000.0;
    store(&service, LEARNED, &learned);
    service.feeds().shared.update_scoring().unwrap();
    let page = recommended(&service, &members[0], &Page::default()).unwrap();
    let why = crate::newsfeed::feed::why(&service, &members[0], &page).unwrap().decode();
    assert!(why[0].shares.age > 0.5 && why[0].text.starts_with("new in topic"), "{:?}", why[0]);
}
