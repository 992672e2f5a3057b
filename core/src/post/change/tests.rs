//! Tests of the recorded changes.

use super::*;
use crate::store::Isolation;
use crate::testing::{Service, service};

fn known(service: &Service, since: i64) -> bool {
    service.store().read(|tx| knows_since(tx, since)).unwrap()
}

fn horizon(service: &Service) -> i64 {
    service.store().read(|tx| tx.horizon()).unwrap()
}

/// Records changes of posts with these keys in one transaction; returns its revision.
fn change(service: &Service, posts: std::ops::Range<i64>) -> i64 {
    let written = service.store().write(Isolation::Alone, move |tx| {
        posts.clone().try_for_each(|post| add(tx, PostKey::new(post)))?;
        Ok::<_, StoreError>(tx.revision())
    });
    written.unwrap()
}

fn prune_to(service: &Service, staying: i64) {
    service.store().write(Isolation::Alone, move |tx| prune(tx, staying)).unwrap();
}

fn rows(service: &Service) -> i64 {
    service.store().read(|tx| tx.one("SELECT count(*) FROM post_change", &[])?.take(0)).unwrap()
}

#[test]
fn the_latest_changes_stay_and_a_cache_knows_what_it_missed() {
    let service = service();
    assert!(known(&service, 0), "nothing has changed yet");
    let start = horizon(&service);
    let revisions: Vec<i64> = (1..=100).map(|post| change(&service, post..post + 1)).collect();
    assert!(known(&service, 0) && known(&service, start) && known(&service, revisions[99]));
    prune_to(&service, 10);
    assert_eq!(rows(&service), 10);
    assert!(!known(&service, start) && !known(&service, revisions[89]));
    assert!(known(&service, revisions[90]) && known(&service, revisions[99]));
    prune_to(&service, 10);
    assert_eq!(rows(&service), 10);
}

#[test]
fn a_partly_deleted_revision_is_known_only_to_caches_that_have_seen_it() {
    let service = service();
    let first = change(&service, 1..11);
    change(&service, 1..11);
    prune_to(&service, 15);
    assert_eq!(rows(&service), 15);
    assert!(!known(&service, first - 1) && known(&service, first));
}

#[test]
fn changes_are_deleted_a_bounded_number_at_a_time_and_about_as_many_as_are_added() {
    let service = service();
    change(&service, 1..2 * PRUNE_MAX);
    let before = rows(&service);
    prune_to(&service, 0);
    assert_eq!(rows(&service), before - PRUNE_MAX);
    // Whatever revisions have changes and however many changes each has, about as many prune.
    for (stride, posts) in [(1, 1), (2, 1), (16, 1), (1 << 20, 1), (1, 50), (16, 50), (4_096, 4_096)] {
        let revisions = (0..400_000 / posts).map(|n| n * stride);
        let pruning = revisions.flat_map(|revision| (1..=posts).map(move |post| (revision, post)));
        let pruning = pruning.filter(|(revision, post)| must_prune(*revision, *post)).count();
        assert!((60..160).contains(&pruning), "{pruning} for every {stride}th revision with {posts} posts");
    }
}

#[test]
fn the_table_stays_small_while_changes_are_added() {
    let service = service();
    let mut most = 0;
    for n in 0..30 {
        change(&service, n * 4_096..(n + 1) * 4_096);
        most = most.max(rows(&service));
    }
    assert!((STAYING..STAYING + 8 * PRUNE_MAX).contains(&most), "{most} rows");
}

#[test]
fn every_cache_that_has_not_seen_a_change_of_all_posts_misses_it() {
    let service = service();
    let before = horizon(&service);
    let late = service.store().hold_horizon();
    let all = service.store().write(Isolation::Alone, |tx| add_all(tx).map(|()| tx.revision())).unwrap();
    assert!(!known(&service, before) && !known(&service, late) && known(&service, all));
    // A change with a smaller revision that becomes visible later does not hide it.
    service.store().write_late(late, || change(&service, 7..8));
    assert!(!known(&service, before) && !known(&service, late) && known(&service, all));
    change(&service, 7..8);
    assert!(!known(&service, late) && known(&service, all));
}

#[test]
fn every_later_change_differs_from_what_was_seen_ahead_of_the_horizon() {
    let service = service();
    let late = service.store().hold_horizon();
    let ahead = || service.store().read(|tx| ahead(tx, late - 1)).unwrap();
    assert_eq!(ahead(), Ahead::default());
    let later = change(&service, 7..8);
    let one = ahead();
    assert_eq!((one.changes, one.last), (1, Some(later)));
    service.store().write_late(late, || change(&service, 7..8));
    assert_eq!(ahead(), Ahead { changes: 2, ..one });
    service.store().write_late(late, || change(&service, 7..8));
    assert_eq!(ahead().changes, 2, "a transaction changes a post once");
}
