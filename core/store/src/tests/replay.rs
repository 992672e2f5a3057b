//! Tests of the mode in which every write runs, is rolled back and runs again.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tidings_cluster::Scratch;

use super::super::{Deferred, Isolation, StoreError, TimeSlice, Topic, Tx};
use super::shared::total;
use super::{Failure, insert, numbers, open_replaying as open};

/// Returns a write that inserts the number of its run.
fn numbered(runs: &Arc<AtomicI64>) -> impl FnMut(&mut dyn Tx) -> Result<i64, StoreError> + use<> {
    let runs = Arc::clone(runs);
    move |tx| {
        let run = runs.fetch_add(1, Ordering::Relaxed) + 1;
        tx.count(1, None, 1);
        insert(tx, run)?;
        Ok(run)
    }
}

#[test]
fn a_write_runs_twice_and_its_second_run_counts() {
    for (is_replaying, run) in [(false, 1), (true, 2)] {
        let database = Scratch::new();
        let store = open(&database, is_replaying);
        let runs = Arc::default();
        assert_eq!(store.write(Isolation::Alone, numbered(&runs)).unwrap(), run);
        assert_eq!((numbers(&store), total(&store)), (vec![run], 1));
        assert_eq!(store.write_long(Isolation::Alone, numbered(&runs)).unwrap(), 2 * run);
        assert_eq!((numbers(&store), total(&store)), (vec![run, 2 * run], 2));
    }
}

#[test]
fn a_write_that_fails_or_panics_in_each_run_is_rolled_back_alone() {
    let database = Scratch::new();
    let store = open(&database, true);
    let first = store.submit(Isolation::Alone, |tx| insert(tx, 1));
    let late = store.submit(Isolation::Alone, |tx| {
        insert(tx, 2)?;
        tx.touch(Topic::Notices);
        Err::<(), _>(Failure::Refused)
    });
    let panicked = store.submit(Isolation::Alone, |tx| {
        insert(tx, 3)?;
        assert!(tx.revision() < 0, "a mistake in a write");
        Ok::<_, StoreError>(())
    });
    let last = store.submit(Isolation::Alone, |tx| insert(tx, 4));
    assert!(first.wait().is_ok() && last.wait().is_ok());
    assert!(matches!(late.wait(), Err(Failure::Refused)));
    assert!(matches!(panicked.wait(), Err(StoreError::Other(_))));
    assert_eq!(numbers(&store), [1, 4]);
}

/// A deferred write of numbers, one in each commit, that counts its calls.
struct Numbers {
    left: Vec<i64>,
    writes: Arc<AtomicI64>,
    dones: Arc<AtomicI64>,
}

impl Deferred for Numbers {
    fn isolation(&self) -> Isolation {
        Isolation::Alone
    }

    fn write(&mut self, tx: &mut dyn Tx, _: TimeSlice) -> Result<(), StoreError> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        tx.count(1, None, 1);
        insert(tx, self.left[0]).map(drop)
    }

    fn done(&mut self, written: Result<(), StoreError>) -> ControlFlow<()> {
        written.unwrap();
        self.dones.fetch_add(1, Ordering::Relaxed);
        self.left.remove(0);
        if self.left.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_deferred_write_runs_twice_in_each_commit_and_learns_its_outcome_once() {
    let database = Scratch::new();
    let (writes, dones) = (Arc::<AtomicI64>::default(), Arc::<AtomicI64>::default());
    let store = open(&database, true);
    let write = Numbers { left: vec![1, 2, 3], writes: Arc::clone(&writes), dones: Arc::clone(&dones) };
    store.defer(write).unwrap();
    drop(store);
    assert_eq!((writes.load(Ordering::Relaxed), dones.load(Ordering::Relaxed)), (6, 3));
    let store = open(&database, true);
    assert_eq!((numbers(&store), total(&store)), (vec![1, 2, 3], 3));
}
