//! Tests of the feeds through their operations.

use serde_json::Value;

use super::*;
use crate::base::clock::DAY_MS;
use crate::post;
use crate::testing::{NOW, Service, draft, eventually, like, publish, service};
use crate::{profile, search};

mod interests;

fn stocked() -> Service {
    let service = service();
    for (n, topic) in (0..200_i64).zip(["rust", "cats", "news"].into_iter().cycle()) {
        let named = draft(format!("{topic} number {n}"), format!("https://site{}.example/{n}", n % 7));
        let dated = named.with_topic(topic).dated(NOW - (200 - n) * 60_000);
        publish(&service, post::Draft { tag: Some(vec![format!("tag{}", n % 5)]), ..dated });
    }
    start(&service).unwrap();
    service
}

fn json(answer: Result<FeedPage>) -> Value {
    serde_json::from_slice(answer.unwrap().answer().json()).unwrap()
}

fn most_popular(tidings: &Tidings) -> Value {
    json(popular(tidings, &Page::default()))
}

fn recommended_to(tidings: &Tidings, caller: &Caller) -> Value {
    json(recommended(tidings, caller, &Page::default()))
}

fn of_topic(tidings: &Tidings, name: &str) -> Vec<String> {
    ids(&json(topic(tidings, &Caller::Guest, name, &Page::default())))
}

fn column(page: &Value, field: &str) -> Vec<String> {
    page["newsfeed"].as_array().unwrap().iter().map(|post| post[field].as_str().unwrap().to_owned()).collect()
}

fn ids(page: &Value) -> Vec<String> {
    column(page, "_id")
}

fn titles(page: &Value) -> Vec<String> {
    column(page, "title")
}

pub(crate) fn followed(service: &Service) {
    let revision = service.store().version(crate::store::Topic::Posts);
    eventually(|| service.feeds().index().unwrap().as_of.revision >= revision);
}

fn all(mut page: impl FnMut(&Page<'_>) -> Result<FeedPage>, limit: i64) -> Vec<String> {
    let mut all = Vec::new();
    let mut next: Option<String> = None;
    loop {
        let limit = next.is_none().then_some(limit);
        let answer = json(page(&Page { limit, next: next.as_deref(), ..Page::default() }));
        all.extend(ids(&answer));
        match answer["next"].as_str() {
            Some(text) => next = Some(text.to_owned()),
            None => return all,
        }
    }
}

/// Publishes posts, each a minute older than the one before; returns their ids.
fn published<const N: usize>(tidings: &Tidings, titles: [&str; N]) -> [String; N] {
    let mut date = NOW + 60_000;
    titles.map(|title| {
        date = date - 60_000;
        publish(tidings, draft(title, format!("https://a.example/{}", date.as_millis())).dated(date))
    })
}

fn distinct(ids: &[String]) -> usize {
    ids.iter().collect::<std::collections::HashSet<_>>().len()
}

#[test]
fn a_page_has_150_posts_and_next_continues_to_the_last_post() {
    let service = stocked();
    let first = most_popular(&service);
    assert_eq!(ids(&first).len(), 150);
    let rest = json(popular(&service, &Page { next: first["next"].as_str(), ..Page::default() }));
    assert_eq!(ids(&rest).len(), 50);
    assert_eq!(rest["next"], Value::Null);
    for limit in [1, 7, 149, 150, 151, 300] {
        let pages = all(|page| popular(&service, page), limit);
        assert_eq!((pages.len(), distinct(&pages)), (200, 200), "{limit}");
    }
}

#[test]
fn a_next_is_valid_for_ten_minutes_after_the_order_changed() {
    let service = stocked();
    let next = most_popular(&service)["next"].as_str().unwrap().to_owned();
    let again = || popular(&service, &Page { next: Some(&next), ..Page::default() });
    post::view(&service, &Caller::Guest, &ids(&most_popular(&service))[0]).wait().unwrap();
    followed(&service);
    service.clock().advance(10 * 60_000);
    // A change of the date neither expires a page nor extends its life.
    for days in [0, 3, -6] {
        service.clock().set_by(days * DAY_MS);
        assert_eq!(ids(&json(again())).len(), 50, "{days} days");
    }
    service.clock().advance(1);
    assert!(matches!(again(), Err(Error::BadRequest(_))));
    // A process that does not know the order continues from the same place.
    let resumed = popular(&service, &Page { next: Some(&next), resumes: true, ..Page::default() });
    assert_eq!(ids(&json(resumed)).len(), 50);
    let none = popular(&service, &Page { next: Some("none"), resumes: true, ..Page::default() });
    assert!(matches!(none, Err(Error::BadRequest(_))));
}

#[test]
fn a_view_before_the_clock_was_set_back_counts_as_one_view() {
    let service = stocked();
    let posts = ids(&most_popular(&service));
    service.clock().advance(300 * DAY_MS);
    post::view(&service, &Caller::Guest, &posts[40]).wait().unwrap();
    followed(&service);
    assert_eq!(ids(&most_popular(&service))[0], posts[40]);
    service.clock().advance(-300 * DAY_MS);
    for _ in 0..2 {
        post::view(&service, &Caller::Guest, &posts[20]).wait().unwrap();
    }
    followed(&service);
    assert_eq!(ids(&most_popular(&service))[..2], [posts[20].clone(), posts[40].clone()]);
}

#[test]
fn the_first_page_of_a_topic_with_posts_is_recorded_for_a_member() {
    let service = stocked();
    let reader = service.member("reader");
    let page = json(topic(&service, &reader, "cats", &Page { limit: Some(10), ..Page::default() }));
    assert!(titles(&page).iter().all(|title| title.starts_with("cats")));
    topic(&service, &reader, "cats", &Page { next: page["next"].as_str(), ..Page::default() }).unwrap();
    assert_eq!(json(topic(&service, &reader, "dogs", &Page::default()))["newsfeed"], Value::Array(vec![]));
    topic(&service, &Caller::token("forged"), "rust", &Page::default()).unwrap();
    assert!(topic(&service, &reader, "rust", &Page { limit: Some(0), ..Page::default() }).is_err());
    popular(&service, &Page::default()).unwrap();
    recommended(&service, &reader, &Page::default()).unwrap();
    service.clock().advance(1);
    topic(&service, &reader, "news", &Page { limit: Some(1), ..Page::default() }).unwrap();
    let lists = service.call(&reader, profile::GetLists { type_num: "4".into() }).unwrap();
    let lists = serde_json::to_value(lists).unwrap();
    let opened = lists["newsfeed_list"].as_array().unwrap().iter();
    let opened: Vec<_> =
        opened.map(|one| (one["newsfeed_name"].as_str(), one["tag"].as_array().unwrap().len())).collect();
    assert_eq!(opened, [(Some("news"), 1), (Some("cats"), 5)], "newest first, with the tags of the page");
}

#[test]
fn no_feed_shows_a_post_past_its_end_until_the_end_is_removed() {
    let service = stocked();
    let end_date = Some((NOW + 1_000).to_string());
    let ending = draft("ending", "https://end.example/").with_topic("cats");
    let id = publish(&service, post::Draft { end_date, ..ending });
    followed(&service);
    let shows = || {
        let pages = [
            popular(&service, &Page::default()),
            recommended(&service, &Caller::Guest, &Page::default()),
            topic(&service, &Caller::Guest, "cats", &Page::default()),
        ];
        pages.map(|page| ids(&json(page)).contains(&id))
    };
    assert_eq!(shows(), [true; 3]);
    service.clock().advance(1_000);
    assert_eq!(shows(), [false; 3]);
    let draft = post::Draft { end_date: Some(String::new()), ..post::Draft::default() };
    service.call(&Caller::Operator, post::Update { post_obi: id.clone(), draft }).unwrap();
    followed(&service);
    assert_eq!(shows(), [true; 3]);
}

#[test]
fn the_recommended_feed_follows_likes_and_leaves_out_seen_posts() {
    let service = stocked();
    let reader = service.member("reader");
    let guests = recommended_to(&service, &Caller::Guest);
    assert_eq!(recommended_to(&service, &reader), guests, "nothing is known of them yet");
    let cats = of_topic(&service, "cats");
    like(&service, &reader, &cats[..3]);
    post::view(&service, &reader, &cats[3]).wait().unwrap();
    let own = recommended_to(&service, &reader);
    assert!(cats[..4].iter().all(|seen| !ids(&own).contains(seen)));
    let cats_in = |page: &Value| titles(page)[..10].iter().filter(|title| title.starts_with("cats")).count();
    assert_eq!((cats_in(&own), cats_in(&guests) <= 4), (10, true), "all of their acts are on one topic");
    let pages = all(|page| recommended(&service, &reader, page), 30);
    assert_eq!((pages.len(), distinct(&pages)), (196, 196), "all posts but the seen ones");
    service.call(&reader, profile::ResetMeasurement {}).unwrap();
    followed(&service);
    let guests = recommended_to(&service, &Caller::Guest);
    assert_eq!(recommended_to(&service, &reader), guests, "earlier acts no longer count");
    service.clock().advance(1);
    let news = of_topic(&service, "news");
    like(&service, &reader, &news[..3]);
    let own = titles(&recommended_to(&service, &reader));
    assert!(own[..10].iter().all(|title| title.starts_with("news")), "{own:?}");
}

#[test]
fn two_interests_of_a_member_share_the_feed_in_proportion() {
    let service = stocked();
    let reader = service.member("reader");
    for name in ["cats", "rust"] {
        like(&service, &reader, &of_topic(&service, name)[..8]);
    }
    let own = titles(&recommended_to(&service, &reader));
    let in_ten = |name: &str| own[..10].iter().filter(|title| title.starts_with(name)).count();
    assert_eq!((in_ten("cats"), in_ten("rust")), (5, 5));
}

#[test]
fn new_posts_precede_posts_that_the_member_ignored() {
    let service = service();
    let reader = service.member("reader");
    let insert = |name: &str, days: i64| {
        let named = draft(name, format!("https://a.example/{name}")).with_topic("cats");
        publish(&service, named.dated(service.clock().now() - days * DAY_MS))
    };
    let liked: Vec<String> = (0..9).map(|n| insert(&format!("liked{n}"), 30)).collect();
    insert("passed", 20);
    for id in &liked {
        service.clock().advance(DAY_MS);
        post::like(&service, &reader, id).wait().unwrap();
    }
    service.clock().advance(DAY_MS);
    insert("unseen", 0);
    followed(&service);
    assert_eq!(titles(&recommended_to(&service, &reader)), ["unseen", "passed"]);
}

#[test]
fn with_a_model_posts_with_similar_words_are_recommended() {
    let opened = service();
    let (service, location) = (&opened, opened.location());
    let reader = service.member("reader");
    let posts = published(service, ["purr whisker", "bark leash", "meow kitten"]);
    let mut config = service.config().clone();
    config.feed.interest.min_acts = 1;
    let service = Tidings::builder(&location).config(config).clock(service.clock().clone()).open().unwrap();
    post::like(&service, &reader, &posts[0]).wait().unwrap();
    let own = || titles(&recommended_to(&service, &reader));
    assert_eq!(own(), ["bark leash", "meow kitten"], "without the words, only the dates decide");
    let vectors = "purr 1 0.1\nwhisker 1 0\nmeow 0.9 0.1\nkitten 1 0.2\nbark -0.1 1\nleash 0 1\n";
    crate::words::load(&service, &Caller::Operator, vectors.as_bytes(), &mut |_| {}).unwrap();
    eventually(|| own()[0] == "meow kitten");
    let restarted =
        Tidings::builder(&location).config(service.config().clone()).clock(service.clock().clone());
    let restarted = restarted.start().unwrap();
    let own = recommended(&restarted, &reader, &Page::default());
    assert_eq!(titles(&json(own))[0], "meow kitten", "the first feed of a member waits for the words");
    drop((restarted, service));
}

#[test]
fn an_older_post_takes_the_place_of_a_removed_one_also_in_a_cached_feed() {
    let opened = service();
    let reader = opened.member("reader");
    let posts = published(&opened, ["post 0", "post 1", "post 2", "post 3"]);
    post::like(&opened, &reader, &posts[0]).wait().unwrap();
    let mut config = opened.config().clone();
    (config.feed.posts, config.feed.interest.min_acts) = (3, 0);
    let service =
        Tidings::builder(opened.location()).config(config).clock(opened.clock().clone()).open().unwrap();
    let own = || titles(&recommended_to(&service, &reader));
    assert_eq!(own(), ["post 1", "post 2"]);
    service.call(&Caller::Operator, post::Remove { post_obi: (&posts[1]).into() }).unwrap();
    eventually(|| titles(&most_popular(&service)).contains(&"post 3".to_owned()));
    assert_eq!(own(), ["post 2", "post 3"]);
    drop(service);
}

#[test]
fn searches_count_and_the_same_state_gives_the_same_feed() {
    let service = stocked();
    let reader = service.member("reader");
    for _ in 0..3 {
        search::log(&service, &reader, None, "rust").wait().unwrap();
    }
    let first = recommended_to(&service, &reader);
    assert_eq!(titles(&first)[..5].iter().filter(|title| title.starts_with("rust")).count(), 5);
    let again = json(recommended(&service, &reader, &Page { limit: Some(150), ..Page::default() }));
    assert_eq!(ids(&first), ids(&again));
    let other = json(recommended(&service.beside(), &reader, &Page::default()));
    assert_eq!(ids(&other), ids(&first), "another process");
}

#[test]
fn interest_counts_the_newest_likes_and_all_liked_posts_are_seen() {
    let service = service();
    let identity = service.member("reader").identify(&service);
    let act = |n: i64| (crate::record::id::PostKey::new(n), NOW + n % 7);
    let (acts, seen) = service
        .store()
        .write(Isolation::Alone, move |tx| {
            let member = identity.member(tx)?;
            for (post, date) in (1..=310).map(act) {
                let _ = history::like(tx, &[(&member, post, date)])?.answer(tx)?;
            }
            Ok::<_, Error>(history::acts_and_seen(tx, &member)?)
        })
        .unwrap();
    let mut newest: Vec<_> = (1..=310).map(act).collect();
    newest.sort_by_key(|(post, date)| std::cmp::Reverse((*date, *post)));
    newest.truncate(300);
    assert_eq!((acts.liked, acts.viewed.len(), seen.len()), (newest, 0, 310));
}
