use serde_json::Value;

use crate::account::Caller;
use crate::newsfeed::{Page, recommended, start};
use crate::post;
use crate::testing::{NOW, Service, draft, like, publish, service};

fn stocked(title: &str) -> (Service, Caller) {
    let service = service();
    for n in 0..60_i64 {
        publish(&service, draft(title, format!("https://site.example/{n}")).dated(NOW - (200 - n) * 60_000));
    }
    start(&service).unwrap();
    let reader = service.member("reader");
    (service, reader)
}

fn page(service: &Service, reader: &Caller, next: Option<&str>) -> (Vec<String>, String) {
    let asked = Page { limit: next.is_none().then_some(10), next, ..Page::default() };
    let answer = recommended(service, reader, &asked).unwrap();
    let answer: Value = serde_json::from_slice(answer.answer().json()).unwrap();
    let ids = answer["newsfeed"].as_array().unwrap().iter().map(|post| post["_id"].as_str().unwrap().into());
    (ids.collect(), answer["next"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn acts_while_a_member_reads_on_do_not_end_the_feed() {
    let (service, reader) = stocked("A lake");
    let first = page(&service, &reader, None).0;
    post::view(&service, &reader, &first[0]).wait().unwrap();
    let (_, next) = page(&service, &reader, None);
    for id in &first {
        // Each view makes another order, more than are kept of a member.
        post::view(&service, &reader, id).wait().unwrap();
        assert_eq!(page(&service, &reader, Some(&next)).0.len(), 10);
    }
}

#[test]
fn posts_whose_acts_show_no_interest_are_left_out_too() {
    let (service, reader) = stocked("???");
    let (guests, _) = page(&service, &Caller::Guest, None);
    like(&service, &reader, &guests[..3]);
    let (own, _) = page(&service, &reader, None);
    assert_eq!(own[..7], guests[3..], "the guests' feed without them");
}

#[test]
fn the_first_act_of_a_member_who_reads_on_does_not_end_the_feed() {
    let (service, reader) = stocked("A lake");
    let (first, next) = page(&service, &reader, None);
    let (second, _) = page(&service, &reader, Some(&next));
    post::like(&service, &reader, &first[0]).wait().unwrap();
    assert_eq!(page(&service, &reader, Some(&next)).0, second);
}

#[test]
fn a_post_that_is_hidden_between_two_pages_is_not_on_the_second() {
    let (service, reader) = stocked("A lake");
    // At first the order is that of the guests, then the member's own.
    for has_acts in [false, true] {
        if has_acts {
            let (first, _) = page(&service, &reader, None);
            post::like(&service, &reader, &first[0]).wait().unwrap();
        }
        let (_, next) = page(&service, &reader, None);
        let (second, _) = page(&service, &reader, Some(&next));
        post::hide(&service, &reader, &second[0]).wait().unwrap();
        let (again, _) = page(&service, &reader, Some(&next));
        assert_eq!((&again[..9], again.len()), (&second[1..], 10), "with acts: {has_acts}");
    }
}

#[test]
fn a_story_is_once_among_the_first_thirty_also_after_a_member_has_hidden_posts() {
    let service = service();
    for n in 0..34_i64 {
        let title = if n < 31 { "Post" } else { "The library opens a reading room in the old observatory" };
        publish(&service, draft(title, format!("https://site-{n}.example/")).dated(NOW - (200 - n) * 60_000));
    }
    start(&service).unwrap();
    let reader = service.member("reader");
    let ids = |caller: &Caller| {
        let page = recommended(&service, caller, &Page::default()).unwrap();
        page.posts().map(|post| (post.id, post.title.starts_with("The library"))).collect::<Vec<_>>()
    };
    let guests = ids(&Caller::Guest);
    assert_eq!(guests[..30].iter().filter(|(_, is_story)| *is_story).count(), 1);
    for (id, _) in &guests[5..10] {
        post::hide(&service, &reader, id).wait().unwrap();
    }
    let own = ids(&reader);
    assert_eq!(own.len(), 29);
    assert!(own[..27].iter().filter(|(_, is_story)| *is_story).count() == 1 && own[27].1 && own[28].1);
}
