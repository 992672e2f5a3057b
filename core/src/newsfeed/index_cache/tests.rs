//! Tests of updates while commits become visible out of order.

use std::sync::Arc;

use super::*;
use crate::account::Caller;
use crate::post;
use crate::store::Isolation;
use crate::testing::{Service, draft, publish, service, service_with};

fn insert(service: &Service, name: &str) -> String {
    publish(service, draft(name, format!("https://a.example/{name}")))
}

fn view(service: &Service, id: &str) {
    post::view(service, &Caller::Guest, id).wait().unwrap();
}

fn updated(service: &Service) -> Arc<FeedIndex> {
    let shared = &service.feeds().shared;
    shared.update().unwrap();
    Guard::into_inner(shared.current().unwrap())
}

fn posts(index: &FeedIndex) -> Vec<(String, i64)> {
    let page = index.page(&index.popular_feed.order, 0, 100, crate::testing::NOW);
    let mut posts: Vec<_> = page.posts().map(|post| (post.title, post.view)).collect();
    posts.sort();
    posts
}

fn pairs(pairs: &[(&str, i64)]) -> Vec<(String, i64)> {
    pairs.iter().map(|(title, view)| ((*title).to_owned(), *view)).collect()
}

#[test]
fn a_late_commit_is_shown_although_a_later_one_was_shown_before() {
    let service = service();
    let (one, two) = (insert(&service, "one"), insert(&service, "two"));
    assert_eq!(posts(&updated(&service)), pairs(&[("one", 0), ("two", 0)]));
    let late = service.store().hold_horizon();
    view(&service, &two);
    let index = updated(&service);
    assert_eq!(posts(&index), pairs(&[("one", 0), ("two", 1)]));
    assert!(index.as_of.revision < late, "it may lack a commit");
    // The views of one post, a new post and a removal become visible, although the version stays.
    let version = service.store().version(Topic::Posts);
    service.store().write_late(late, || {
        view(&service, &one);
        insert(&service, "three");
        service.call(&Caller::Operator, post::Remove { post_obi: two.clone() }).unwrap();
    });
    assert_eq!(service.store().version(Topic::Posts), version);
    assert_eq!(posts(&updated(&service)), pairs(&[("one", 1), ("three", 0)]));
    service.store().release_horizon();
    let index = updated(&service);
    assert_eq!((posts(&index), index.as_of.revision), (pairs(&[("one", 1), ("three", 0)]), version));
}

#[test]
fn an_index_is_not_replaced_while_the_horizon_is_held_back_and_nothing_changes() {
    let service = service();
    let id = insert(&service, "one");
    updated(&service);
    service.store().hold_horizon();
    view(&service, &id);
    let index = updated(&service);
    assert!(index.as_of.revision < service.store().version(Topic::Posts));
    assert!(Arc::ptr_eq(&index, &updated(&service)));
    view(&service, &id);
    assert_eq!(posts(&updated(&service)), pairs(&[("one", 2)]));
    service.store().release_horizon();
    let index = updated(&service);
    assert_eq!(index.as_of.revision, service.store().version(Topic::Posts));
}

#[test]
fn a_removal_that_is_seen_twice_does_not_load_a_full_index_twice() {
    let mut config = crate::base::config::Config::default();
    config.feed.posts = 2;
    let service = service_with(config);
    let ids = ["one", "two", "three", "four"].map(|name| insert(&service, name));
    updated(&service);
    let late = service.store().hold_horizon();
    service.call(&Caller::Operator, post::Remove { post_obi: (&ids[3]).into() }).unwrap();
    let index = updated(&service);
    assert_eq!(posts(&index), pairs(&[("three", 0), ("two", 0)]));
    assert!(Arc::ptr_eq(&index, &updated(&service)), "the removal is known");
    let remove = || service.call(&Caller::Operator, post::Remove { post_obi: (&ids[2]).into() });
    service.store().write_late(late, remove).unwrap();
    assert_eq!(posts(&updated(&service)), pairs(&[("one", 0), ("two", 0)]));
}

#[test]
fn a_late_change_of_all_posts_loads_all_posts() {
    let service = service();
    let id = insert(&service, "one");
    updated(&service);
    let late = service.store().hold_horizon();
    view(&service, &id);
    let heat = |index: &FeedIndex| index.popular.clone();
    let before = heat(&updated(&service));
    service.store().write_late(late, || {
        let all = |tx: &mut dyn crate::store::Tx| {
            let sql = "INSERT INTO post_change (revision, post) VALUES ($1, 0)";
            let revision = tx.revision();
            tx.run(sql, &[revision.into()])?;
            tx.run("UPDATE post_stats SET view = 5, heat_0 = NULL, heat_4 = NULL, heat_5 = NULL", &[])
        };
        service.store().write(Isolation::Alone, all).unwrap();
    });
    let index = updated(&service);
    assert_eq!(posts(&index), pairs(&[("one", 5)]));
    assert_ne!(heat(&index), before);
}
