//! Tests of writes that run together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use tidings_cluster::Scratch;

use super::super::{Gathered, Isolation, Pending, Store, StoreError, run_each};
use super::{Failure, insert, numbers, open_replaying};

/// Returns a store, and a queue of numbers whose insertion refuses negative ones. Its runs are counted.
fn open(database: &Scratch) -> (Store, Gathered<i64, i64, Failure>, Arc<AtomicUsize>) {
    let (store, runs) = (open_replaying(database, false), Arc::<AtomicUsize>::default());
    let count = Arc::clone(&runs);
    let gathered = store.gathered(Isolation::Alone, move |tx, writes: &mut [i64]| {
        count.fetch_add(1, Ordering::Relaxed);
        for _ in writes.iter() {
            tx.count(1, None, 1);
        }
        let valid: Vec<_> = writes.iter().filter(|n| **n >= 0).map(|n| [(*n).into()]).collect();
        run_each(tx, "INSERT INTO number (n) VALUES ($1)", &valid)?;
        Ok(writes.iter().map(|n| if *n < 0 { Err(Failure::Refused) } else { Ok(n * 2) }).collect())
    });
    (store, gathered, runs)
}

/// Blocks the writer until the sender is dropped, so that later writes share a commit.
fn block(store: &Store) -> Sender<()> {
    let ((go, wait), (started, has_started)) = (channel::<()>(), channel());
    let _blocked = store.submit_long(Isolation::Alone, move |_| {
        let _ = started.send(());
        let _ = wait.recv();
        Ok::<_, StoreError>(())
    });
    has_started.recv().unwrap();
    go
}

#[test]
fn writes_of_a_kind_run_together_and_each_has_its_own_result() {
    let database = Scratch::new();
    let (store, gathered, runs) = open(&database);
    let go = block(&store);
    let submit = |n| store.submit_gathered(&gathered, n);
    let (first, refused) = (submit(1), submit(-1));
    let rest: Vec<Pending<i64, Failure>> = (2..200).map(submit).collect();
    assert_eq!(store.waiting(), 200, "each write counts");
    drop(go);
    assert_eq!(first.wait().unwrap(), 2);
    assert!(matches!(refused.wait(), Err(Failure::Refused)));
    for (n, result) in (2..).zip(rest) {
        assert_eq!(result.wait().unwrap(), 2 * n);
    }
    assert_eq!(numbers(&store), (1..200).collect::<Vec<_>>());
    assert_eq!((runs.load(Ordering::Relaxed), store.waiting()), (2, 0), "a run has a limit");
    assert_eq!(submit(200).wait().unwrap(), 400);
}

#[test]
fn writes_that_run_together_run_again_when_another_write_fails_late() {
    let database = Scratch::new();
    let (store, gathered, runs) = open(&database);
    let go = block(&store);
    let (one, two) = (store.submit_gathered(&gathered, 1), store.submit_gathered(&gathered, 2));
    let late = store.submit(Isolation::Alone, |tx| {
        insert(tx, 3)?;
        Err::<(), _>(Failure::Refused)
    });
    drop(go);
    assert_eq!((one.wait().unwrap(), two.wait().unwrap()), (2, 4));
    assert!(late.wait().is_err());
    assert_eq!((numbers(&store), runs.load(Ordering::Relaxed)), (vec![1, 2], 2));
    assert_eq!(super::shared::total(&store), 2, "additions of the first run do not count");
}

#[test]
fn an_error_of_the_store_is_that_of_all_writes_of_a_run() {
    let database = Scratch::new();
    let (store, gathered, _) = open(&database);
    store.write(Isolation::Alone, |tx| insert(tx, 1)).unwrap();
    let go = block(&store);
    let (one, two) = (store.submit_gathered(&gathered, 1), store.submit_gathered(&gathered, 2));
    let other = store.submit(Isolation::Alone, |tx| insert(tx, 3));
    drop(go);
    assert!(matches!((one.wait(), two.wait()), (Err(Failure::Store), Err(Failure::Store))));
    assert!(other.wait().is_ok());
    assert_eq!(numbers(&store), [1, 3]);
}

#[test]
fn a_full_queue_refuses_writes_of_a_kind() {
    let database = Scratch::new();
    let (store, gathered, _) = open(&database);
    let go = block(&store);
    let submitted: Vec<Pending<i64, Failure>> =
        (0..5_000).map(|n| store.submit_gathered(&gathered, n)).collect();
    drop(go);
    let stored = submitted.into_iter().flat_map(Pending::wait).count();
    assert!((4_096..5_000).contains(&stored), "{stored}");
    assert_eq!(numbers(&store).len(), stored);
}
