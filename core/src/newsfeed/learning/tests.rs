//! Tests of learning on stores whose members choose in a known way.

use std::fmt::Write as _;

use super::super::weights::{GetWeights, LearnWeights};
use super::super::{Page, recommended};
use super::*;
use crate::account::Caller;
use crate::base::clock::DAY_MS;
use crate::base::config::Config;
use crate::import::{Import as _, to_the_end};
use crate::post;
use crate::store::Isolation;
use crate::testing::{NOW, Service, service, service_with};
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
        let draft = post::Draft {
            title: Some(format!("post {n}")),
            url: Some(format!("https://a.example/{n}")),
            topic: Some(vec![format!("topic{}", n * 7 % 3)]),
            date: Some(at.to_string()),
            ..post::Draft::default()
        };
        service.call(&Caller::Operator, post::Insert { draft }).unwrap();
    }
}

/// The post that the first member reads on a day and the others follow on the next: `newest` is the number of the newest.
fn follow(member: i64, newest: i64) -> i64 {
    let day = (newest + 1) / 3;
    2 * (day - i64::from(member > 0)) - 7
}

/// Imports the acts of members who read the same five posts and then a post a day: `choice` tells which, given the member
/// and the number of the newest post. Returns the members.
fn import(service: &Service, choice: impl Fn(i64, i64) -> i64) -> Vec<Caller> {
    let (mut lines, mut members) = (String::new(), Vec::new());
    for member in 0..MEMBERS {
        members.push(service.member(&format!("reader{member}")));
        let mut view = |post: i64, at| {
            writeln!(
                lines,
                r#"{{"id":"reader{member}","type":"view","url":"https://a.example/{post}","date":"{at}"}}"#
            )
            .unwrap();
        };
        for post in 0..5 {
            view(post, begin(6) + member + post);
        }
        for day in 7..DAYS {
            view(choice(member, 3 * day - 1), begin(day) + 3_600_000 + member);
        }
    }
    let report =
        act::ImportActs {}.import(service, &Caller::Operator, lines.as_bytes(), &mut to_the_end).unwrap();
    assert!(report.errors.is_empty() && report.inserted > 300, "{report:?}");
    members
}

fn first_title(service: &Service, member: &Caller) -> String {
    let page = recommended(service, member, &Page { limit: Some(1), ..Page::default() }).unwrap();
    page.posts().next().unwrap().title
}

#[test]
fn members_who_follow_one_another_get_what_is_popular_first() {
    let service = service();
    insert_posts(&service);
    let members = import(&service, follow);
    let found = service.call(&Caller::Operator, GetWeights {}).unwrap();
    let popularity = found.popularity.learned.unwrap();
    assert_eq!((popularity.half_lives.len(), popularity.topic_lifts.len()), (12, 4));
    assert!((popularity.topic_lift - found.popularity.topic_lift).abs() < 1e-9);
    let learned = found.learned.unwrap();
    assert!(learned.is_better && learned.ndcg10 > learned.ndcg10_of_settings, "{learned:?}");
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
    let found = service.call(&Caller::Operator, GetWeights {}).unwrap();
    assert!(!found.learned.unwrap().is_better);
    assert_eq!((&*found.in_use, found.weights), ("settings", found.settings));
}

#[test]
fn without_learning_the_settings_are_used_and_a_signal_that_is_off_stays_off() {
    let service = service_of(Feed { learn: false, ..Feed::default() });
    insert_posts(&service);
    import(&service, follow);
    let found = service.call(&Caller::Operator, GetWeights {}).unwrap();
    assert_eq!((&*found.in_use, found.learned), ("settings", None));

    let service = service_of(Feed { recent_weight: 0.0, ..Feed::default() });
    insert_posts(&service);
    import(&service, follow);
    let learned = service.call(&Caller::Operator, GetWeights {}).unwrap().learned.unwrap();
    assert!(learned.weights[Signal::Recent] == 0.0 && learned.weights[Signal::Popular] > 0.0, "{learned:?}");
}

#[test]
fn a_few_visits_teach_nothing() {
    let service = service();
    insert_posts(&service);
    assert_eq!(service.call(&Caller::Operator, LearnWeights {}).unwrap().learned, None);
}

#[test]
fn the_age_has_a_learned_weight_only_where_it_may_have_one() {
    let of_age = |age: f64| -> Vector {
        let mut signals = [0.0; SIGNALS];
        signals[Signal::Age as usize] = age;
        signals
    };
    let lesson = |member| {
        let others = (0..10).map(|n| (of_age(f64::from(n) / 10.0), 0.0)).collect();
        (MemberKey::new(member), Choices { chosen: vec![of_age(1.0)], others })
    };
    let lessons: Vec<_> = (0..60).map(lesson).collect();
    let settings = Weights::of(&Feed::default()).0.map(f64::from);
    let [without, with] = [false, true].map(|has_age| learned_from(&lessons, &settings, has_age));
    assert!(without[Signal::Age] == 0.0 && with[Signal::Age] > 0.5, "{with:?}");
}

#[test]
fn a_learned_weight_of_the_age_shows_in_the_reasons() {
    let service = service();
    insert_posts(&service);
    let members = import(&service, follow);
    let mut learned = service.call(&Caller::Operator, GetWeights {}).unwrap().learned.unwrap();
    learned.weights.0[Signal::Age as usize] = 1_000.0;
    let content = stored::json(&learned);
    service.store().write(Isolation::Alone, move |tx| stored::write(tx, LEARNED, &content)).unwrap();
    service.feeds().shared.update_scoring().unwrap();
    let page = recommended(&service, &members[0], &Page::default()).unwrap();
    let why = super::super::why(&service, &members[0], &page).unwrap().decode();
    assert!(why[0].shares.age > 0.5 && why[0].text.starts_with("new in topic"), "{:?}", why[0]);
}
