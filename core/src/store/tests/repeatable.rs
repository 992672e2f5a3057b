//! Tests of writes that share a savepoint and may run again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use super::super::StoreError;
use super::{Failure, insert, numbers, open};

#[test]
fn a_repeatable_write_that_fails_late_is_rolled_back_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    // The first write blocks until all are queued, so that they share a commit.
    let (go, wait) = channel::<()>();
    let first = store.submit(move |tx| {
        wait.recv().unwrap();
        insert(tx, 1)
    });
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = |n: i64| {
        let runs = Arc::clone(&runs);
        store.submit_repeatable(move |tx| {
            runs.fetch_add(1, Ordering::Relaxed);
            tx.count(1, None, 1);
            insert(tx, n)
        })
    };
    let second = counted(2);
    let harmless = store.submit_repeatable(|_| Err::<(), _>(Failure::Refused));
    let late = store.submit_repeatable(|tx| {
        tx.count(1, None, 100);
        insert(tx, 3)?;
        Err::<(), _>(Failure::Refused)
    });
    let panicked = store.submit_repeatable(|tx| {
        insert(tx, 4)?;
        assert!(tx.revision() < 0, "a mistake in a write");
        Ok::<_, StoreError>(())
    });
    let fifth = counted(5);
    let other = store.submit(|tx| insert(tx, 6));
    let seventh = counted(7);
    go.send(()).unwrap();
    assert!(first.wait().is_ok() && second.wait().is_ok() && fifth.wait().is_ok());
    assert!(other.wait().is_ok() && seventh.wait().is_ok());
    assert!(matches!(harmless.wait(), Err(Failure::Refused)));
    assert!(matches!(late.wait(), Err(Failure::Refused)));
    assert!(matches!(panicked.wait(), Err(StoreError::Other(_))));
    assert_eq!(numbers(&store), [1, 2, 5, 6, 7]);
    assert_eq!(runs.load(Ordering::Relaxed), 4, "only the write before the late failure runs again");
    let sql = "SELECT n FROM total_count WHERE counter = 1";
    let total: i64 = store.read(|tx| tx.one(sql, &[])?.take(0)).unwrap();
    assert_eq!(total, 3);
}
