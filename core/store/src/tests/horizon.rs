//! Tests of horizons and of the versions of topics.

use tidings_cluster::Scratch;

use super::super::topic::last_change_in;
use super::super::watch::Versions;
use super::super::{Isolation, StoreError, Topic, complete_version_in, version_in};

#[test]
fn a_version_is_at_most_the_horizon_and_complete_unless_later_changes_are_visible() {
    let database = Scratch::new();
    let store = super::open(&database);
    let touch = || {
        store.write(Isolation::Alone, |tx| {
            tx.touch(Topic::Posts);
            Ok::<_, StoreError>(tx.revision())
        })
    };
    let versions = || {
        store.read(|tx| {
            let version = version_in(tx, Topic::Posts)?;
            let last = last_change_in(tx, Topic::Posts)?;
            Ok::<_, StoreError>((last, version, complete_version_in(tx, Topic::Posts)?))
        })
    };
    assert_eq!(versions().unwrap(), (0, 0, Some(0)));
    let first = touch().unwrap();
    let held = store.hold_horizon();
    // Revisions of other databases may be between both.
    let horizon = store.read(|tx| tx.horizon()).unwrap();
    assert_eq!(versions().unwrap(), (first, first, Some(first)));
    let second = touch().unwrap();
    assert!(first <= horizon && horizon < held && held < second);
    assert_eq!(versions().unwrap(), (second, horizon, None));
    assert!(store.version(Topic::Posts) > horizon, "a cache is stale");
    store.release_horizon();
    assert_eq!(versions().unwrap(), (second, second, Some(second)));
    assert_eq!(store.version(Topic::Posts), second);
}

#[test]
fn a_transaction_that_writes_sees_everything_up_to_itself() {
    let database = Scratch::new();
    let store = super::open(&database);
    let seen =
        store.write(Isolation::Alone, |tx| Ok::<_, StoreError>((tx.revision(), tx.horizon()?))).unwrap();
    assert_eq!(seen.0, seen.1);
    assert!(store.read(|tx| tx.horizon()).unwrap() >= seen.0);
}

#[test]
fn a_late_commit_is_a_change_although_the_version_stays() {
    let versions = Versions::default();
    versions.publish(&[Topic::Posts], 7);
    assert_eq!((versions.get(Topic::Posts), versions.changes(Topic::Posts)), (7, 7));
    versions.publish(&[Topic::Posts, Topic::Notices], 5);
    assert_eq!((versions.get(Topic::Posts), versions.changes(Topic::Posts)), (7, 8));
    assert_eq!((versions.get(Topic::Notices), versions.changes(Topic::Notices)), (5, 5));
    versions.publish(&[Topic::Posts], 20);
    assert_eq!((versions.get(Topic::Posts), versions.changes(Topic::Posts)), (20, 20));
}
