//! Tests of the operations on posts.

use super::feed_rows::{FeedRow, changed, removed, until};
use super::heat::Decay;
use super::*;
use crate::base::clock::DAY_MS;
use crate::store::{Isolation, Topic, version_in};
use crate::testing::{self, NOW, Service, draft, publish};

mod hidden;

fn insert_one(service: &Service, url: &str) -> String {
    publish(service, draft("A title", format!("https://example.com/{url}")))
}

fn feed_rows(service: &Service) -> Vec<FeedRow> {
    service.store().read(|tx| until(tx, Timestamp::MAX, 100)).unwrap()
}

fn row(service: &Service, id: &str) -> FeedRow {
    feed_rows(service).into_iter().find(|row| row.id == id).unwrap()
}

fn update(service: &Service, id: &str, draft: Draft) -> Result<()> {
    service.call(&Caller::Operator, Update { post_obi: id.into(), draft })
}

/// Returns the number of rows of each table with data of posts.
fn rows(service: &Service) -> Vec<i64> {
    let tables = ["post", "post_stats", "label", "category", "post_terms"];
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        service.store().read(|tx| tx.one(&sql, &[])?.take(0)).unwrap()
    };
    tables.map(count).to_vec()
}

#[test]
fn a_post_is_returned_as_inserted() {
    let service = testing::service();
    let text = Some("Cargo builds.\nCargo tests.".into());
    let draft = Draft { post: text, ..draft(" Cargo 1.95 ", "https://Example.com/1").with_topic("releases") };
    let id = publish(&service, draft);
    let got = service.call(&Caller::Guest, Get { post_obi: id.to_uppercase() }).unwrap();
    let expected = format!(
        r#"{{"result":"success","post":{{"_id":"{id}","title":"Cargo 1.95","date":"2026-11-20T08:36:00.000Z","img":"","fav_cnt":0,"view":0,"url":"https://Example.com/1","end_date":null,"post":"Cargo builds.\nCargo tests.","topic":["releases"],"tag":[]}}}}"#
    );
    assert_eq!(String::from_utf8(crate::record::answer::success(&got)).unwrap(), expected);
    let row = row(&service, &id);
    assert_eq!((row.host.as_str(), row.heat), ("example.com", None));
    assert_eq!(row.keyword, "cargo builds tests");
}

#[test]
fn a_url_belongs_to_one_post() {
    let service = testing::service();
    let (one, two) = (insert_one(&service, "1"), insert_one(&service, "2"));
    let taken = draft("b", " https://example.com/1 ");
    let before = rows(&service);
    let inserted = service.call(&Caller::Operator, Insert { draft: taken.clone() });
    assert!(matches!(inserted, Err(Error::DuplicateUrl)));
    assert!(matches!(update(&service, &two, taken.clone()), Err(Error::DuplicateUrl)));
    assert_eq!(rows(&service), before);
    assert_eq!(row(&service, &two).title, "A title");
    update(&service, &one, taken.clone()).unwrap();
    let elsewhere = Draft { url: Some("https://elsewhere.example/".into()), ..Draft::default() };
    update(&service, &one, elsewhere).unwrap();
    publish(&service, taken);
}

#[test]
fn a_bad_draft_is_refused_and_nothing_is_written() {
    let service = testing::service();
    let id = insert_one(&service, "1");
    let (before, row) = (rows(&service), row(&service, &id));
    let good = draft("b", "https://example.com/2");
    for bad in [Draft { title: None, ..good.clone() }, Draft { post: Some("a\0".into()), ..good.clone() }] {
        let inserted = service.call(&Caller::Operator, Insert { draft: bad });
        assert!(matches!(inserted, Err(Error::BadRequest(_))));
    }
    for bad in [Draft { tag: Some(vec![String::new()]), ..good }, Draft::default()] {
        assert!(matches!(update(&service, &id, bad), Err(Error::BadRequest(_))));
    }
    assert_eq!(rows(&service), before);
    assert_eq!(self::row(&service, &id), row);
}

#[test]
fn an_update_changes_the_given_fields_or_writes_nothing() {
    let service = testing::service();
    let id = insert_one(&service, "1");
    view(&service, &Caller::Guest, &id).wait().unwrap();
    let before = row(&service, &id);
    let change = Draft { post: Some("Cargo.".into()), topic: Some(vec!["a".into()]), ..Draft::default() };
    update(&service, &id, change.clone()).unwrap();
    let expected = FeedRow { topic: vec!["a".into()], keyword: "title cargo".into(), ..before };
    assert_eq!(row(&service, &id), expected);
    let version = || service.store().read(|tx| version_in(tx, Topic::Posts)).unwrap();
    let before = version();
    update(&service, &id, change).unwrap();
    assert_eq!(version(), before);
}

#[test]
fn a_removed_post_leaves_no_row_and_caches_can_see_its_removal() {
    let service = testing::service();
    let empty = rows(&service);
    let ann = service.member("ann");
    let topic = draft("b", "https://example.com/2").with_topic("a");
    let id = publish(&service, topic.clone());
    let key = row(&service, &id).key;
    like(&service, &ann, &id).wait().unwrap();
    view(&service, &ann, &id).wait().unwrap();
    let since = service.store().version(Topic::Posts);
    service.call(&Caller::Operator, Remove { post_obi: id.clone() }).unwrap();
    assert_eq!(rows(&service), empty);
    assert_eq!(service.store().read(|tx| removed(tx, since)).unwrap(), [key]);
    assert!(matches!(service.call(&Caller::Operator, Remove { post_obi: id }), Err(Error::NotFound)));

    let id = publish(&service, topic);
    assert!(row(&service, &id).key > key, "a key is never reused");
}

#[test]
fn categories_count_the_posts_with_their_topic() {
    let service = testing::service();
    let insert_with = |url: &str, topic: &[&str], tag: &str| {
        let topic = Some(topic.iter().map(|name| (*name).to_owned()).collect());
        publish(&service, Draft { topic, tag: Some(vec![tag.into()]), ..draft("b", url) })
    };
    let counts = || {
        let list = service.call(&Caller::Guest, ListCategories {}).unwrap().categories.into_iter();
        list.map(|category| (category.category_name, category.posts)).collect::<Vec<_>>()
    };
    let named = |name: &str, posts: i64| (name.to_owned(), posts);
    assert_eq!(counts(), []);
    let one = insert_with("https://example.com/1", &["a", "b"], "t");
    let two = insert_with("https://example.com/2", &["b", "c"], "a");
    assert_eq!(counts(), [named("b", 2), named("a", 1), named("c", 1)]);
    let topic = Draft { topic: Some(vec!["c".into(), "d".into()]), ..Draft::default() };
    update(&service, &one, topic).unwrap();
    assert_eq!(counts(), [named("c", 2), named("b", 1), named("d", 1)]);
    service.call(&Caller::Operator, Remove { post_obi: two }).unwrap();
    assert_eq!(counts(), [named("c", 1), named("d", 1)]);
}

#[test]
fn views_of_guests_and_members_count() {
    let service = testing::service();
    let id = insert_one(&service, "1");
    let ann = service.member("ann");
    for caller in [&Caller::Guest, &Caller::token("forged"), &ann, &ann] {
        service.clock().advance(1);
        view(&service, caller, &id).wait().unwrap();
    }
    let row = row(&service, &id);
    assert_eq!((row.view, row.fav), (4, 0));
    assert!((Decay::new(3.0).worth(row.heat, NOW) - 3.0).abs() < 1e-6, "only the first of Ann's views");
}

#[test]
fn a_view_that_runs_again_counts_for_the_popularity() {
    let service = testing::service();
    let (ann, id) = (service.member("ann"), insert_one(&service, "1"));
    // The first write blocks until all are queued, so that they share a commit. The last one makes the view run again.
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let first = service.store().submit(Isolation::Alone, move |_| {
        let _ = wait.recv();
        Ok::<_, StoreError>(())
    });
    let viewed = view(&service, &ann, &id);
    let failed = service.store().submit(Isolation::Alone, |tx| {
        tx.run("DELETE FROM post", &[])?;
        Err::<(), _>(StoreError::Full)
    });
    drop(go);
    first.wait().unwrap();
    viewed.wait().unwrap();
    assert!(failed.wait().is_err());
    let row = row(&service, &id);
    assert_eq!(row.view, 1);
    assert!((Decay::new(3.0).worth(row.heat, NOW) - 1.0).abs() < 1e-6);
}

#[test]
fn a_like_counts_once_and_taking_it_back_restores_the_heat() {
    let service = testing::service();
    let id = insert_one(&service, "1");
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    view(&service, &ann, &id).wait().unwrap();
    let viewed = row(&service, &id);
    for _ in 0..2 {
        like(&service, &ann, &id).wait().unwrap();
        service.clock().advance(DAY_MS);
    }
    let liked = row(&service, &id);
    assert_eq!(liked.fav, 1);
    assert!((Decay::new(3.0).worth(liked.heat, NOW) - 4.0).abs() < 1e-6, "a like weighs three views");
    unlike(&service, &ben, &id).wait().unwrap();
    assert_eq!(row(&service, &id), liked);
    for _ in 0..2 {
        unlike(&service, &ann, &id).wait().unwrap();
        let after = row(&service, &id);
        assert_eq!((after.fav, after.view), (0, 1));
        assert!(after.heat.zip(viewed.heat).is_some_and(|(one, other)| (one - other).abs() < 1e-6));
    }
    for id in [&*id, "x"] {
        assert!(matches!(like(&service, &Caller::Operator, id).wait(), Err(Error::BadToken)), "{id}");
    }
}

#[test]
fn acts_dated_in_the_future_keep_no_post_on_top() {
    let service = testing::service();
    let (first, second) = (insert_one(&service, "1"), insert_one(&service, "2"));
    let _ = (service.member("ann"), service.member("ben"));
    // Callers named by the operator, because tokens would expire.
    let [ann, ben] = ["ann", "ben"].map(|id| Caller::Member(id.into()));
    service.clock().advance(300 * DAY_MS);
    view(&service, &Caller::Guest, &first).wait().unwrap();
    like(&service, &ann, &first).wait().unwrap();
    service.clock().advance(-300 * DAY_MS);
    let worth = |id: &str| Decay::new(3.0).worth(row(&service, id).heat, NOW);
    let popular = || {
        let feed = crate::newsfeed::popular(&service, &crate::newsfeed::Page::default()).unwrap();
        let feed: serde_json::Value = serde_json::from_slice(feed.answer().json()).unwrap();
        feed["newsfeed"][0]["_id"].as_str().unwrap().to_owned()
    };
    // The post has only a view and a like, whatever their dates. Feeds limit the heat before it is corrected in the
    // store.
    for _ in 0..5 {
        view(&service, &Caller::Guest, &second).wait().unwrap();
    }
    assert_eq!(popular(), second);
    assert!(worth(&first) > 1e9, "dated in the future");
    like(&service, &ben, &first).wait().unwrap();
    assert!((worth(&first) - 7.0).abs() < 1e-6, "{}", worth(&first));
    unlike(&service, &ann, &first).wait().unwrap();
    assert!((worth(&first) - 4.0).abs() < 1e-6, "{}", worth(&first));
    unlike(&service, &ben, &first).wait().unwrap();
    assert!((worth(&first) - 1.0).abs() < 1e-6, "{}", worth(&first));
}

#[test]
fn feed_rows_are_first_the_newest_posts_and_then_the_changes() {
    let service = testing::service();
    let mut ids = Vec::new();
    for (url, date) in [("a", "2026-01-02"), ("b", "2026-01-03"), ("c", "2026-01-02"), ("d", "2026-01-01")] {
        let draft = draft("b", format!("https://example.com/{url}"));
        ids.push(publish(&service, Draft { date: Some(date.into()), ..draft }));
    }
    let newest = service.store().read(|tx| until(tx, Timestamp::MAX, 3)).unwrap();
    assert_eq!(newest.iter().map(|row| &row.id).collect::<Vec<_>>(), [&ids[1], &ids[2], &ids[0]]);

    let since = || service.store().read(|tx| tx.horizon()).unwrap();
    let changed_since =
        |since: i64| service.store().read(|tx| changed(tx, since, Decay::new(3.0))).unwrap().unwrap();
    let now = since();
    assert_eq!(changed_since(now), []);
    view(&service, &Caller::Guest, &ids[3]).wait().unwrap();
    let title = Draft { title: Some("new".into()), ..Draft::default() };
    update(&service, &ids[1], title).unwrap();
    let found = changed_since(now);
    assert_eq!(found.iter().map(|row| &row.id).collect::<Vec<_>>(), [&ids[1], &ids[3]]);
    assert_eq!((found[0].title.as_str(), found[1].view), ("new", 1));
    assert_eq!(changed_since(since()), []);
    assert!(service.store().read(|tx| removed(tx, 0)).unwrap().is_empty());
}

#[test]
fn a_removed_post_is_in_no_list_and_caches_can_see_its_removal() {
    let service = testing::service();
    let empty = rows(&service);
    let ann = service.member("ann");
    let topic = draft("b", "https://example.com/2").with_topic("a");
    let id = publish(&service, topic.clone());
    let key = row(&service, &id).key;
    like(&service, &ann, &id).wait().unwrap();
    view(&service, &ann, &id).wait().unwrap();
    let since = service.store().version(Topic::Posts);
    service.call(&Caller::Operator, Remove { post_obi: id.clone() }).unwrap();
    assert_eq!(rows(&service), empty);
    let lists = service.call(&ann, crate::profile::GetLists { type_num: "0".into() }).unwrap().fields();
    assert!(
        lists.fav_list.is_some_and(|list| list.is_empty())
            && lists.view_list.is_some_and(|list| list.is_empty())
    );
    assert!(matches!(service.call(&Caller::Guest, Get { post_obi: id.clone() }), Err(Error::NotFound)));
    assert_eq!(service.store().read(|tx| removed(tx, since)).unwrap(), [key]);
    assert!(matches!(service.call(&Caller::Operator, Remove { post_obi: id.clone() }), Err(Error::NotFound)));

    let id = publish(&service, topic.clone());
    assert!(row(&service, &id).key > key, "a key is never reused");
}

#[test]
fn likes_and_views_of_a_removed_member_stay_counted() {
    let service = testing::service();
    let id = insert_one(&service, "1");
    let ann = service.member("ann");
    like(&service, &ann, &id).wait().unwrap();
    view(&service, &ann, &id).wait().unwrap();
    let before = row(&service, &id);
    service.call(&ann, crate::profile::Remove {}).unwrap();
    assert_eq!(row(&service, &id), before);
    assert!(matches!(like(&service, &ann, &id).wait(), Err(Error::BadToken)));
}

#[test]
fn one_guest_does_not_make_a_post_popular_and_every_view_is_counted() {
    let service = testing::service();
    let (gamed, liked) = (insert_one(&service, "1"), insert_one(&service, "2"));
    let guest = |address: [u8; 4], agent: &str| Guest::new(&service, address.into(), agent.as_bytes());
    let seen = |id: &str, guest| view_from(&service, &Caller::Guest, Some(guest), id).wait().unwrap();
    let views =
        |id: &str| (row(&service, id).view, Decay::new(3.0).worth(row(&service, id).heat, NOW).round());
    for _ in 0..560 {
        seen(&gamed, guest([203, 0, 113, 1], "apple"));
    }
    assert_eq!(views(&gamed), (560, 1.0));
    for n in 0..100 {
        seen(&gamed, guest([203, 0, 113, n], &format!("agent {n}")));
    }
    assert_eq!(views(&gamed), (660, 30.0));
    for n in 0..31 {
        seen(&liked, guest([198, 51, n, 1], "apple"));
    }
    assert_eq!(views(&liked), (31, 31.0));
    let figures = service.call(&Caller::Guest, crate::analysis::GetSummary {}).unwrap().fields().analysis;
    assert_eq!(figures.total_view, 691);
}

#[test]
fn views_of_guests_and_members_count_and_members_have_a_list() {
    let service = testing::service();
    let id = insert_one(&service, "1");
    let ann = service.member("ann");
    for caller in [&Caller::Guest, &Caller::token("forged"), &ann, &ann] {
        service.clock().advance(1);
        view(&service, caller, &id).wait().unwrap();
    }
    let row = row(&service, &id);
    assert_eq!((row.view, row.fav), (4, 0));
    assert!((Decay::new(3.0).worth(row.heat, NOW) - 3.0).abs() < 1e-6, "only the first of Ann's views");
    let list = service
        .call(&ann, crate::profile::GetLists { type_num: "2".into() })
        .unwrap()
        .fields()
        .view_list
        .unwrap();
    assert_eq!(list.iter().map(|post| post.date).collect::<Vec<_>>(), [NOW + 4]);
}
