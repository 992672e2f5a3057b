//! Tests of deferred writes together with other writes and at a clean stop.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::super::testing::once;
use super::super::writer::DEFER_TIME;
use super::super::{Deferred, Isolation, StoreError, TimeSlice, Tx};
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
    isolation: Isolation,
    next: i64,
    goes_on: Box<dyn Fn(i64) -> bool + Send>,
    revisions: Arc<Mutex<Vec<i64>>>,
}

impl Deferred for Many {
    fn isolation(&self) -> Isolation {
        self.isolation
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
    let (isolation, goes_on) = (Isolation::Alone, Box::new(goes_on));
    store.defer(Many { isolation, next: 0, goes_on, revisions: Arc::clone(&revisions) }).unwrap();
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
fn a_deferred_write_does_not_prolong_a_transaction_for_whose_locks_others_wait() {
    let database = Scratch::new();
    let store = open(&database);
    let revisions = Arc::<Mutex<Vec<i64>>>::default();
    let (isolation, goes_on) = (Isolation::Concurrent, Box::new(|_| false));
    store.defer(Many { isolation, next: 0, goes_on, revisions: Arc::clone(&revisions) }).unwrap();
    let locking = store.submit(Isolation::Locking, |tx| {
        // Meanwhile the deferred write becomes due.
        std::thread::sleep(2 * DEFER_TIME);
        Ok::<_, StoreError>(tx.revision())
    });
    let later = store.submit(Isolation::Locking, |tx| Ok::<_, StoreError>(tx.revision()));
    let (first, last) = (locking.wait().unwrap(), later.wait().unwrap());
    store.flush().wait().unwrap();
    let [deferred] = revisions.lock().unwrap()[..] else { panic!("it writes once") };
    if store.is_on_server() {
        assert!(
            first < deferred && deferred < last,
            "{first} {deferred} {last}: it comes before the next one"
        );
    } else {
        assert_eq!((first, first), (deferred, last));
    }
}

#[test]
fn a_clean_stop_waits_for_all_of_a_deferred_write() {
    let database = Scratch::new();
    let store = open(&database);
    let (isolation, goes_on) = (Isolation::Alone, Box::new(|next| next < 5));
    store.defer(Many { isolation, next: 0, goes_on, revisions: Arc::default() }).unwrap();
    drop(store);
    assert_eq!(numbers(&open(&database)), [0, 1, 2, 3, 4]);
}
