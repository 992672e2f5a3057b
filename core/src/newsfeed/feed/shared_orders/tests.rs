//! Tests of orders that several servers continue. Most run on PostgreSQL only.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::Tidings;
use crate::account::Caller;
use crate::newsfeed::{self, FeedPage, Page};
use crate::post;
use crate::testing::{self, Service, draft, posts, publish};

proptest! {
    #[test]
    fn keys_are_unpacked_as_they_were_packed(keys: Vec<i64>) {
        let keys = posts(keys);
        prop_assert_eq!(unpacked(&packed(&keys)), Some(keys));
    }

    #[test]
    fn no_text_panics(text: String) {
        let _ = unpacked(&text);
    }
}

#[test]
fn small_keys_take_few_characters() {
    assert_eq!(packed(&posts([0, 31, 32, 1_000_000])).len(), 1 + 1 + 2 + 4);
    assert_eq!((unpacked("P"), unpacked(" "), unpacked("")), (None, None, Some(Vec::new())));
}

fn insert(tidings: &Tidings, n: usize) -> String {
    let named = draft(format!("Post {n}"), format!("https://site{}.example/{n}", n % 7));
    publish(tidings, named.with_topic("all"))
}

/// Returns three servers with fifty posts; `None` for a database in a file.
fn servers() -> Option<(Service, [Tidings; 2])> {
    let service = testing::service();
    if !service.store().is_on_server() {
        return None;
    }
    for n in 0..50 {
        insert(&service, n);
    }
    let others = [service.beside(), service.beside()];
    Some((service, others))
}

fn page(answer: crate::Result<FeedPage>) -> (Vec<String>, Option<String>) {
    let answer = answer.unwrap();
    let page: Value = serde_json::from_slice(answer.answer().json()).unwrap();
    let ids = page["newsfeed"].as_array().unwrap().iter();
    let ids = ids.map(|post| post["_id"].as_str().unwrap().to_owned()).collect();
    (ids, page["next"].as_str().map(str::to_owned))
}

fn first<'n>() -> Page<'n> {
    Page { limit: Some(9), ..Page::default() }
}

fn after(next: &str) -> Page<'_> {
    Page { next: Some(next), ..Page::default() }
}

type Feed<'f> = &'f dyn Fn(&Tidings, &Page<'_>) -> crate::Result<FeedPage>;

#[test]
fn each_page_may_come_from_another_server() {
    let Some((service, [two, three])) = servers() else { return };
    let (ann, servers) = (service.member("ann"), [&*service, &two, &three]);
    for n in 50..53 {
        post::like(&service, &ann, &insert(&service, n)).wait().unwrap();
    }
    let recommended = |caller: Caller| {
        move |tidings: &Tidings, page: &Page<'_>| newsfeed::recommended(tidings, &caller, page)
    };
    let (of_ann, of_guests) = (recommended(ann), recommended(Caller::Guest));
    let topic = |tidings: &Tidings, page: &Page<'_>| newsfeed::topic(tidings, &Caller::Guest, "all", page);
    let feeds: [(Feed<'_>, usize); 4] =
        [(&newsfeed::popular, 53), (&topic, 53), (&of_guests, 53), (&of_ann, 50)];
    let mut later = 53;
    for (feed, count) in feeds {
        let (ids, mut next) = page(feed(&service, &first()));
        let mut all = std::collections::BTreeSet::from_iter(ids);
        for server in servers.iter().cycle().skip(1) {
            let Some(continued) = next else { break };
            // Posts that come later are not in the order, and are read by all servers in the meantime.
            insert(&service, later);
            later += 1;
            let (ids, further) = page(feed(server, &after(&continued)));
            all.extend(ids);
            next = further;
        }
        assert!(all.len() >= count, "{} different of {count}", all.len());
    }
}

#[test]
fn an_order_is_continued_only_by_whom_it_was_made_for() {
    let Some((service, [two, _])) = servers() else { return };
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    for n in 50..53 {
        post::like(&service, &ann, &insert(&service, n)).wait().unwrap();
    }
    let (_, next) = page(newsfeed::recommended(&service, &ann, &first()));
    let next = after(next.as_deref().unwrap());
    assert!(newsfeed::recommended(&two, &ben, &next).is_err());
    assert!(newsfeed::recommended(&two, &Caller::Guest, &next).is_err());
    assert!(newsfeed::popular(&two, &next).is_err());
    assert!(newsfeed::recommended(&two, &ann, &next).is_ok());
}

#[test]
fn an_order_expires_and_its_row_is_deleted() {
    let Some((service, [two, three])) = servers() else { return };
    let (_, next) = page(newsfeed::popular(&service, &first()));
    let next = after(next.as_deref().unwrap());
    assert!(newsfeed::popular(&two, &next).is_ok());
    service.clock().advance(EXPIRES_MS + 1);
    assert!(newsfeed::popular(&two, &next).is_err() && newsfeed::popular(&three, &next).is_err());
    service.clock().advance(DELETED_MS);
    assert!(newsfeed::recommended(&service, &Caller::Guest, &first()).is_ok());
    service.store().flush().wait().unwrap();
    assert_eq!(number(&service, "SELECT count(*) FROM feed_order"), 1);
}

fn number(service: &Service, sql: &'static str) -> i64 {
    service.store().read(|tx| tx.one(sql, &[])?.take(0)).unwrap()
}

#[test]
fn a_first_page_is_published_once_a_minute() {
    let Some((service, _)) = servers() else { return };
    let begun = || {
        for _ in 0..3 {
            assert!(newsfeed::popular(&service, &first()).is_ok());
        }
        service.store().flush().wait().unwrap();
        number(&service, "SELECT max(begun) FROM feed_order") - testing::NOW.as_millis()
    };
    assert_eq!(begun(), 0);
    service.clock().advance(PUBLISH_AGAIN_MS - 1);
    assert_eq!(begun(), 0);
    service.clock().advance(1);
    assert_eq!(begun(), PUBLISH_AGAIN_MS);
    assert_eq!(number(&service, "SELECT count(*) FROM feed_order"), 1);
}

#[test]
fn the_oldest_rows_are_deleted_while_all_are_too_large() {
    let Some((service, _)) = servers() else { return };
    let written = service.store().write(Isolation::Alone, |tx| {
        for n in 0..10 {
            let sql = "INSERT INTO feed_order (id, feed, owner, begun, bytes, keys, skip) VALUES ($1, 0, 0, $1, $2, '', '')";
            tx.run(sql, &[n.into(), (BYTES_MAX / 4).into()])?;
        }
        sql::delete_oldest(tx, Timestamp::from_millis(0))
    });
    written.unwrap();
    assert_eq!(number(&service, "SELECT min(id) FROM feed_order"), 6);
    assert_eq!(number(&service, "SELECT count(*) FROM feed_order"), 4);
}

#[test]
fn many_callers_do_not_wait_for_orders_that_do_not_exist() {
    let Some((service, _)) = servers() else { return };
    let (published, begin) = (service.feeds().shared.published.as_ref().unwrap(), Instant::now());
    let next = Next { order: 1, place: 0, limit: 1 };
    published.waiting.store(WAITING_MAX, Ordering::Relaxed);
    assert!(published.find(next, &[FeedKind::Popular]).unwrap().is_none());
    assert!(begin.elapsed() < LOOK_FOR);
    published.waiting.store(0, Ordering::Relaxed);
    assert!(published.find(next, &[FeedKind::Popular]).unwrap().is_none());
    assert!(begin.elapsed() >= LOOK_FOR);
}
