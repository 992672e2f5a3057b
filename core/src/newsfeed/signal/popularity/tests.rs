//! Tests of popularity with given heats, and of its choice in a database.

use super::*;
use crate::account::Caller;
use crate::base::clock::DAY_MS;
use crate::base::config::Config;
use crate::newsfeed::{Page, popular, stored};
use crate::post;
use crate::post::heat::Heats;
use crate::store::{Isolation, Topic};
use crate::testing::{NOW, Service, draft, eventually, publish, service, service_with};

const DAYS_3: Popularity = Popularity { half_life_days: 3.0 };

fn close(found: &[f32], expected: &[f64]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-5)
}

/// Returns the heat of this number of views at a time.
fn views(count: f64, at: Timestamp) -> Option<f64> {
    Heats::add(None, count, at).map(|heats| DAYS_3.decay().heat(&heats))
}

#[test]
fn popularity_is_1_for_the_most_popular_post_and_0_without_acts() {
    let popular = |heats: [Option<f64>; 3]| of_posts(&heats);
    assert!(close(&popular([views(1.0, NOW), views(4.0, NOW), None]), &[0.5, 1.0, 0.0]));
    assert!(close(&popular([views(1.0, NOW), views(8.0, NOW - 3 * DAY_MS), None]), &[0.5, 1.0, 0.0]));
    assert!(close(&popular([None; 3]), &[0.0; 3]));
}

fn insert(service: &Service, name: &str) -> String {
    publish(service, draft(name, format!("https://a.example/{name}")))
}

fn store_half_life(service: &Service, half_life_days: Option<f64>) {
    let learned =
        LearnedPopularity { at: NOW, acts: 100, members: 9, half_life_days, half_lives: Vec::new() };
    service.store().write(Isolation::Alone, move |tx| stored::write(tx, POPULARITY, &learned)).unwrap();
}

/// Creates posts of which the first has many old views, and the last one new view.
fn old_and_new(service: &Service) {
    let ids = ["old", "cold", "new"].map(|name| insert(service, name));
    for _ in 0..9 {
        post::view(service, &Caller::Guest, &ids[0]).wait().unwrap();
    }
    service.clock().advance(30 * DAY_MS);
    post::view(service, &Caller::Guest, &ids[2]).wait().unwrap();
}

fn titles(tidings: &crate::Tidings, page: &Page<'_>) -> Vec<String> {
    popular(tidings, page).unwrap().posts().map(|post| post.title).collect()
}

#[test]
fn a_changed_half_life_is_one_row_and_every_server_follows() {
    let service = service();
    old_and_new(&service);
    let beside = service.beside();
    for tidings in [&service.tidings, &beside] {
        assert_eq!(titles(tidings, &Page::default()), ["new", "old", "cold"]);
    }
    let first = Page { limit: Some(1), ..Page::default() };
    let next = popular(&service, &first).unwrap().next().unwrap().to_owned();
    let changes = |service: &Service| -> i64 {
        service.store().read(|tx| tx.one("SELECT count(*) FROM post_change", &[])?.take(0)).unwrap()
    };
    let before = (changes(&service), service.store().version(Topic::Posts));
    store_half_life(&service, None);
    assert_eq!(changes(&service), before.0, "no post changes");
    assert!(service.store().version(Topic::Posts) > before.1);
    for tidings in [&service.tidings, &beside] {
        eventually(|| titles(tidings, &Page::default()) == ["old", "new", "cold"]);
    }
    let second = Page { next: Some(&next), ..Page::default() };
    assert_eq!(titles(&service, &second), ["old"], "a reader goes on in the order that they began");
}

#[test]
fn a_number_in_the_settings_overrides_what_was_learned() {
    let feed = Feed { popular_half_life_days: Some(1.7), ..Feed::default() };
    let service = service_with(Config { feed: feed.clone(), ..Config::default() });
    old_and_new(&service);
    store_half_life(&service, None);
    assert_eq!(titles(&service, &Page::default()), ["new", "old", "cold"]);
    let in_use = |feed: &Feed| service.store().read(|tx| PopularityInUse::read(tx, feed)).unwrap();
    assert_eq!(in_use(&feed).half_life_days, Some(1.7));
    assert_eq!(in_use(&Feed::default()).half_life_days, None);
    assert_eq!(Popularity::of(&Feed::default(), None), DAYS_3);
}
