//! Tests of deferred writes together with other writes and at a clean stop.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::super::{Deferred, Isolation, StoreError, TimeSlice, Tx, once};
use super::{insert, numbers, open};
use tidings_cluster::Scratch;

#[test]
fn deferred_writes_are_on_disk_after_a_clean_stop() {
    let database = Scratch::new();
    let store = open(&database);
    store.defer(once(|tx| insert(tx, 1).map(|_| ()))).unwrap();
    store.defer(once(|_| Err(StoreError::Full))).unwrap();
    store.defer(once(|tx| insert(tx, 2).map(|_| ()))).unwrap();
    drop(store);
    assert_eq!(numbers(&open(&database)), [1, 2]);
}

/// A deferred write of many numbers: it writes one in each commit, and uses its whole time slice for it.
struct Many {
    next: i64,
    goes_on: Box<dyn Fn(i64) -> bool + Send>,
    revisions: Arc<Mutex<Vec<i64>>>,
}

impl Deferred for Many {
    fn isolation(&self) -> Isolation {
        Isolation::Alone
    }

    fn write(&mut self, tx: &mut dyn Tx, time: TimeSlice) -> Result<(), StoreError> {
        while !time.is_over() {
            std::thread::yield_now();
        }
        let mut revisions = self.revisions.lock().unwrap();
        // The write may run again in the same transaction.
        if revisions.last() != Some(&tx.revision()) {
            revisions.push(tx.revision());
        }
        insert(tx, self.next).map(drop)
    }

    fn done(&mut self, _: Result<(), StoreError>) -> ControlFlow<()> {
        self.next += 1;
        if (self.goes_on)(self.next) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[test]
fn writes_go_on_beside_a_deferred_write_that_always_has_more() {
    let database = Scratch::new();
    let store = open(&database);
    let (answered, revisions) = (Arc::new(AtomicUsize::new(0)), Arc::default());
    let seen = Arc::clone(&answered);
    let goes_on = move |_| seen.load(Ordering::SeqCst) < 3;
    store.defer(Many { next: 0, goes_on: Box::new(goes_on), revisions: Arc::clone(&revisions) }).unwrap();
    for n in [-1, -2, -3] {
        store.write(Isolation::Alone, move |tx| insert(tx, n)).unwrap();
        answered.fetch_add(1, Ordering::SeqCst);
    }
    drop(store);
    let revisions = revisions.lock().unwrap();
    assert!(revisions.is_sorted_by(|a, b| a < b), "a part in each commit: {revisions:?}");
    let parts = i64::try_from(revisions.len()).unwrap();
    assert_eq!(numbers(&open(&database)), (-3..parts).collect::<Vec<_>>());
}

#[test]
fn a_clean_stop_waits_for_all_of_a_deferred_write() {
    let database = Scratch::new();
    let store = open(&database);
    store.defer(Many { next: 0, goes_on: Box::new(|next| next < 5), revisions: Arc::default() }).unwrap();
    drop(store);
    assert_eq!(numbers(&open(&database)), [0, 1, 2, 3, 4]);
}
