//! Tests of hiding posts from recommended feeds.

use super::*;
use crate::newsfeed::{self, Page};
use crate::profile::{self, history};

fn recommended(service: &Service, caller: &Caller) -> Vec<String> {
    let page = newsfeed::recommended(service, caller, &Page::default()).unwrap();
    page.posts().map(|post| post.id).collect()
}

fn hidden_rows(service: &Service) -> i64 {
    service.store().read(|tx| tx.one("SELECT count(*) FROM hidden", &[])?.take(0)).unwrap()
}

/// Returns a member with three likes, so that the recommended feed follows the interest, and the liked posts.
fn interested(service: &Service, id: &str) -> (Caller, Vec<String>) {
    let member = service.member(id);
    let liked: Vec<String> = (0..3).map(|n| insert_one(service, &format!("{id}{n}"))).collect();
    for post in &liked {
        like(service, &member, post).wait().unwrap();
    }
    (member, liked)
}

#[test]
fn hiding_twice_changes_nothing() {
    let service = testing::service();
    let (post, ann) = (insert_one(&service, "1"), service.member("ann"));
    let revision = || {
        let identity = ann.identify(&service);
        let read = service.store().read(|tx| {
            let member = identity.member(tx)?;
            Ok::<_, Error>(history::acts_revisions(tx, &[&member])?[0])
        });
        read.unwrap()
    };
    unhide(&service, &ann, &post).wait().unwrap();
    assert_eq!(revision(), 0, "it was not hidden");
    hide(&service, &ann, &post).wait().unwrap();
    let first = revision();
    service.clock().advance(DAY_MS);
    hide(&service, &ann, &post).wait().unwrap();
    assert_eq!((revision(), hidden_rows(&service)), (first, 1));
    let identity = ann.identify(&service);
    let (acts, seen) = service
        .store()
        .read(|tx| {
            let member = identity.member(tx)?;
            Ok::<_, Error>(history::acts_and_seen(tx, &member)?)
        })
        .unwrap();
    assert_eq!(acts.hidden.iter().map(|(_, date)| *date).collect::<Vec<_>>(), [NOW]);
    assert_eq!(seen, [acts.hidden[0].0]);
    let figures = service.call(&Caller::Guest, Get { post_obi: post.clone() }).unwrap().post.shown;
    assert_eq!((figures.view, figures.fav_cnt), (0, 0));
    unhide(&service, &ann, &post).wait().unwrap();
    assert_eq!(hidden_rows(&service), 0);
}

#[test]
fn hidden_posts_end_with_the_post_the_member_and_a_reset() {
    let service = testing::service();
    let posts: Vec<String> = (0..3).map(|n| insert_one(&service, &n.to_string())).collect();
    let [ann, ben] = ["ann", "ben"].map(|id| service.member(id));
    for post in &posts {
        hide(&service, &ann, post).wait().unwrap();
        hide(&service, &ben, post).wait().unwrap();
    }
    service.call(&Caller::Operator, Remove { post_obi: (&posts[0]).into() }).unwrap();
    assert_eq!(hidden_rows(&service), 4);
    service.call(&ann, profile::ResetMeasurement {}).unwrap();
    assert_eq!(hidden_rows(&service), 2);
    service.call(&ben, profile::Remove {}).unwrap();
    assert_eq!(hidden_rows(&service), 0);
}

#[test]
fn the_newest_300_hidden_posts_stay_hidden() {
    let service = testing::service();
    let identity = service.member("ann").identify(&service);
    let written = service.store().write(Isolation::Alone, move |tx| {
        let member = identity.member(tx)?;
        let hides: Vec<_> =
            (0..310).map(|n| (&member, crate::record::id::PostKey::new(n + 1), NOW + n)).collect();
        history::hide(tx, &hides)?;
        history::trim_lists(tx, &member)?;
        Ok::<_, Error>(history::acts_and_seen(tx, &member)?)
    });
    let (acts, seen) = written.unwrap();
    assert_eq!((acts.hidden.len(), seen.len()), (300, 300));
    assert_eq!(acts.hidden[299].1, NOW + 10);
}

#[test]
fn a_hidden_post_is_left_out_of_the_members_recommended_feed_only() {
    let service = testing::service();
    let posts: Vec<String> = (0..5).map(|n| insert_one(&service, &n.to_string())).collect();
    let (ann, _) = interested(&service, "ann");
    let new = service.member("ben");
    testing::eventually(|| recommended(&service, &Caller::Guest).len() == 8);
    for member in [&ann, &new] {
        let before = recommended(&service, member);
        assert!(before.contains(&posts[1]) && before.contains(&posts[2]));
        hide(&service, member, &posts[1]).wait().unwrap();
        hide(&service, member, &posts[2]).wait().unwrap();
        let left: Vec<_> = before.iter().filter(|id| !posts[1..3].contains(id)).cloned().collect();
        assert_eq!(recommended(&service, member), left);
        unhide(&service, member, &posts[2]).wait().unwrap();
        assert_eq!(recommended(&service, member).len(), before.len() - 1);
    }
    assert!(recommended(&service, &Caller::Guest).contains(&posts[1]));
    let popular = newsfeed::popular(&service, &Page::default()).unwrap();
    assert!(popular.posts().any(|post| post.id == posts[1]));
    unhide(&service, &new, &posts[1]).wait().unwrap();
    assert_eq!(recommended(&service, &new), recommended(&service, &Caller::Guest));
}
