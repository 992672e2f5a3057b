//! Tests of writes that share their fate and may run again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use tidings_cluster::Scratch;

use super::super::{
    Arg, Isolation, Pending, Store, StoreError, Tx, Value, ask_row_each, ask_run_each, row_each, run_each,
    send_each,
};
use super::{Failure, insert, numbers, open_replaying};

/// Opens a store whose writes run once unless another write fails.
fn open(database: &Scratch) -> Store {
    open_replaying(database, false)
}

/// Returns a write that inserts a number and counts its runs.
fn counted(n: i64, runs: &Arc<AtomicUsize>) -> impl FnMut(&mut dyn Tx) -> Result<u64, StoreError> + use<> {
    let runs = Arc::clone(runs);
    move |tx| {
        runs.fetch_add(1, Ordering::Relaxed);
        tx.count(1, None, 1);
        insert(tx, n)
    }
}

fn fail_late(store: &Store) -> Pending<(), Failure> {
    store.submit(Isolation::Alone, |tx| {
        tx.count(1, None, 100);
        insert(tx, 3)?;
        Err(Failure::Refused)
    })
}

pub(super) fn total(store: &Store) -> i64 {
    let sql = "SELECT n FROM total_count WHERE counter = 1";
    store.read(|tx| tx.one(sql, &[])?.take(0)).unwrap()
}

#[test]
fn a_write_that_fails_late_is_rolled_back_alone() {
    let database = Scratch::new();
    let store = open(&database);
    let [before, after, long] = [(); 3].map(|()| Arc::<AtomicUsize>::default());
    // The first write blocks until all are queued, so that they share a commit.
    let (go, wait) = channel::<()>();
    let first = store.submit_long(Isolation::Alone, move |tx| {
        let _ = wait.recv();
        insert(tx, 1)
    });
    let second = store.submit(Isolation::Alone, counted(2, &before));
    let harmless = store.submit(Isolation::Alone, |_| Err::<(), _>(Failure::Refused));
    let late = fail_late(&store);
    let panicked = store.submit(Isolation::Alone, |tx| {
        insert(tx, 4)?;
        assert!(tx.revision() < 0, "a mistake in a write");
        Ok::<_, StoreError>(())
    });
    let fifth = store.submit(Isolation::Alone, counted(5, &after));
    let sixth = store.submit_long(Isolation::Alone, counted(6, &long));
    let seventh = store.submit(Isolation::Alone, counted(7, &after));
    drop(go);
    assert!(first.wait().is_ok() && second.wait().is_ok() && fifth.wait().is_ok());
    assert!(sixth.wait().is_ok() && seventh.wait().is_ok());
    assert!(matches!(harmless.wait(), Err(Failure::Refused)));
    assert!(matches!(late.wait(), Err(Failure::Refused)));
    assert!(matches!(panicked.wait(), Err(StoreError::Other(_))));
    assert_eq!(numbers(&store), [1, 2, 5, 6, 7]);
    let runs = [&before, &after, &long].map(|runs| runs.load(Ordering::Relaxed));
    assert_eq!(runs, [2, 2, 1], "only the write before the late failure runs again");
    assert_eq!(total(&store), 4);
}

#[test]
fn a_long_write_does_not_run_again_when_short_writes_around_it_fail_late() {
    let database = Scratch::new();
    let store = open(&database);
    let [short, long] = [(); 2].map(|()| Arc::<AtomicUsize>::default());
    let (go, wait) = channel::<()>();
    let first = store.submit_long(Isolation::Alone, move |_| {
        let _ = wait.recv();
        Ok::<_, StoreError>(())
    });
    let written = [
        store.submit(Isolation::Alone, counted(1, &short)),
        store.submit_long(Isolation::Alone, counted(2, &long)),
        store.submit(Isolation::Alone, counted(4, &short)),
    ];
    let late = fail_late(&store);
    let refused = store.submit_long(Isolation::Alone, |tx| {
        insert(tx, 5)?;
        Err::<(), _>(Failure::Refused)
    });
    let last = store.submit(Isolation::Alone, counted(6, &short));
    drop(go);
    assert!(first.wait().is_ok() && last.wait().is_ok());
    assert!(written.into_iter().all(|written| written.wait().is_ok()));
    assert!(matches!((late.wait(), refused.wait()), (Err(Failure::Refused), Err(Failure::Refused))));
    assert_eq!(numbers(&store), [1, 2, 4, 6]);
    assert_eq!((short.load(Ordering::Relaxed), long.load(Ordering::Relaxed)), (4, 1));
    assert_eq!(total(&store), 4);
}

#[test]
fn a_sent_statement_that_fails_refuses_its_own_write_alone() {
    const INSERT: &str = "INSERT INTO number (n) VALUES ($1)";
    let database = Scratch::new();
    let store = open(&database);
    let (go, wait) = channel::<()>();
    let first = store.submit(Isolation::Alone, move |tx| {
        let _ = wait.recv();
        tx.send(INSERT, &[1.into()])
    });
    let write = |n: i64| store.submit(Isolation::Alone, move |tx| tx.send(INSERT, &[n.into()]));
    let (second, duplicate, last) = (write(2), write(1), write(3));
    // It may wait again, in another run.
    drop(go);
    assert!(first.wait().is_ok() && second.wait().is_ok() && last.wait().is_ok());
    assert!(matches!(duplicate.wait(), Err(StoreError::Duplicate)));
    assert_eq!(numbers(&store), [1, 2, 3]);
    // The same for a write with a savepoint of its own.
    let duplicate = store.write_long(Isolation::Alone, |tx| tx.send(INSERT, &[1.into()]));
    assert!(matches!(duplicate, Err(StoreError::Duplicate)));
    store.write_long(Isolation::Alone, |tx| tx.send(INSERT, &[4.into()])).unwrap();
    assert_eq!(numbers(&store), [1, 2, 3, 4]);
}

#[test]
fn a_statement_runs_for_each_list_of_arguments_in_their_order() {
    let database = Scratch::new();
    let store = open(&database);
    let inserted = store.write(Isolation::Alone, |tx| {
        let sql = "INSERT INTO number (n, half) VALUES ($1, $2) ON CONFLICT (n) DO NOTHING RETURNING n";
        // More than are sent at once. The second of two runs with the same number inserts nothing.
        let args: Vec<[Arg<'_>; 2]> = (0..1_000).map(|n| [(n / 2).into(), (n / 4).into()]).collect();
        let mut rows = row_each(tx, sql, &args)?;
        rows.iter_mut().map(|row| row.as_mut().map(|row| row.take(0)).transpose()).collect()
    });
    let inserted: Result<Vec<Option<i64>>, StoreError> = inserted;
    let expected: Vec<_> = (0..1_000).map(|n| (n % 2 == 0).then_some(n / 2)).collect();
    assert_eq!(inserted.unwrap(), expected);
    let halves = store.read(|tx| {
        let rows =
            row_each(tx, "SELECT half FROM number WHERE n = $1", &[[9.into()], [999.into()], [8.into()]])?;
        rows.into_iter().map(|row| row.map(|mut row| row.take(0)).transpose()).collect()
    });
    let halves: Result<Vec<Option<i64>>, StoreError> = halves;
    assert_eq!(halves.unwrap(), [Some(4), None, Some(4)]);
    let nothing = store.read(|tx| row_each::<1>(tx, "SELECT n FROM number WHERE n = $1", &[]));
    assert!(nothing.unwrap().is_empty());
}

fn create_amounts(store: &Store) {
    let sql = "CREATE TABLE IF NOT EXISTS amount (n BIGINT PRIMARY KEY, amount BIGINT)";
    store.write(Isolation::Alone, |tx| tx.run(sql, &[])).unwrap();
}

#[test]
fn rows_that_are_absent_are_inserted_once_for_many_lists_of_arguments() {
    let database = Scratch::new();
    let store = open(&database);
    create_amounts(&store);
    let insert = |sql: &'static str, numbers: &[i64]| {
        let numbers = numbers.to_vec();
        let written = store.write(Isolation::Alone, move |tx| {
            let args: Vec<[Arg<'_>; 2]> = numbers.iter().map(|n| [0.into(), (*n).into()]).collect();
            run_each(tx, sql, &args)
        });
        written.unwrap()
    };
    let values = "INSERT INTO amount (amount, n) VALUES ($1, $2) ON CONFLICT (n) DO NOTHING";
    assert_eq!(insert(values, &[5, 7, 5, 6]), [1, 1, 0, 1]);
    let condition = "INSERT INTO amount (amount, n) SELECT $1, $2
                     WHERE NOT EXISTS (SELECT 1 FROM amount WHERE amount = $2) ON CONFLICT (n) DO NOTHING";
    let other = "INSERT INTO amount (amount, n) VALUES (9, 109)";
    store.write(Isolation::Alone, |tx| tx.run(other, &[])).unwrap();
    assert_eq!(insert(condition, &[8, 7, 9, 8]), [1, 0, 0, 0]);
    assert_eq!(insert(condition, &[4]), [1]);
    let all = store.read(|tx| tx.rows("SELECT n FROM amount ORDER BY n", &[])).unwrap();
    assert_eq!(
        all.into_iter().map(|mut row| row.take(0).unwrap()).collect::<Vec<i64>>(),
        [4, 5, 6, 7, 8, 109]
    );
}

#[test]
fn answers_to_statements_are_read_after_others_were_sent() {
    let database = Scratch::new();
    let store = open(&database);
    let written = store.write(Isolation::Alone, |tx| {
        let insert = "INSERT INTO number (n) VALUES ($1) ON CONFLICT (n) DO NOTHING";
        let inserted = ask_run_each(tx, insert, &[[1.into()], [2.into()], [1.into()]])?;
        let find = "SELECT n FROM number WHERE n = $1";
        let found = ask_row_each(tx, find, &[[2.into()], [3.into()]])?;
        let one = ask_row_each(tx, find, &[[1.into()]])?;
        let found = found.then(|_, rows| Ok(rows.iter().map(Option::is_some).collect::<Vec<_>>()));
        // In any order.
        let one = one.answer(tx)?.len();
        Ok::<_, StoreError>((inserted.answer(tx)?, found.answer(tx)?, one))
    });
    assert_eq!(written.unwrap(), (vec![1, 1, 0], vec![true, false], 1));
    let failed = store.write(Isolation::Alone, |tx| {
        let inserted = ask_run_each(tx, "INSERT INTO number (n) VALUES ($1)", &[[5.into()]])?;
        let duplicate = ask_run_each(tx, "INSERT INTO number (n) VALUES ($1)", &[[1.into()]])?;
        let _ = inserted.answer(tx)?;
        duplicate.answer(tx)
    });
    assert!(matches!(failed, Err(StoreError::Duplicate)));
    assert_eq!(numbers(&store), [1, 2], "nothing is left of a write that fails");
}

#[test]
fn values_are_set_at_the_commit_the_last_one_of_each_row() {
    let database = Scratch::new();
    let store = open(&database);
    create_amounts(&store);
    let rows = "INSERT INTO amount (n, amount) VALUES (1, 0), (2, 0), (3, 0)";
    store.write(Isolation::Alone, |tx| tx.run(rows, &[])).unwrap();
    let set = "UPDATE amount SET amount = $2 WHERE n = $1";
    let written = store.write(Isolation::Alone, move |tx| {
        for (n, amount) in [(2, 20), (1, 10), (2, 21)] {
            tx.set_at_commit(set, n, Value::Integer(amount));
        }
        tx.one("SELECT max(amount) FROM amount", &[])?.take::<i64>(0)
    });
    assert_eq!(written.unwrap(), 0, "not before");
    let refused: Result<(), StoreError> = store.write(Isolation::Alone, move |tx| {
        tx.set_at_commit(set, 3, Value::Integer(30));
        Err(StoreError::Full)
    });
    assert!(refused.is_err());
    let amounts = store.read(|tx| tx.rows("SELECT amount FROM amount ORDER BY n", &[])).unwrap();
    assert_eq!(amounts.into_iter().map(|mut row| row.take(0).unwrap()).collect::<Vec<i64>>(), [10, 21, 0]);
}

#[test]
fn a_sent_statement_changes_a_row_for_each_list_of_arguments() {
    let database = Scratch::new();
    let store = open(&database);
    create_amounts(&store);
    let send = |sql: &'static str, rows: &'static [(i64, i64)]| {
        store.write(Isolation::Alone, move |tx| {
            let args: Vec<[Arg<'_>; 2]> =
                rows.iter().map(|(n, amount)| [(*n).into(), (*amount).into()]).collect();
            send_each(tx, sql, &args)
        })
    };
    let amounts = || {
        let read = store.read(|tx| tx.rows("SELECT amount FROM amount ORDER BY n", &[]));
        read.unwrap().iter_mut().map(|row| row.take(0).unwrap()).collect::<Vec<i64>>()
    };
    let upsert = "INSERT INTO amount (n, amount) VALUES ($1, $2)
                  ON CONFLICT (n) DO UPDATE SET amount = amount.amount + excluded.amount";
    send(upsert, &[(1, 10), (2, 20)]).unwrap();
    send(upsert, &[(2, 5), (3, 30)]).unwrap();
    assert_eq!(amounts(), [10, 25, 30]);
    send("UPDATE amount SET amount = amount * 2 + $2 WHERE n = $1", &[(1, 1), (3, 3), (9, 9)]).unwrap();
    assert_eq!(amounts(), [21, 25, 63]);
    send("DELETE FROM amount WHERE n = $1 AND amount > $2", &[(1, 0), (2, 99), (3, 0)]).unwrap();
    assert_eq!(amounts(), [25]);
    let duplicate = send("INSERT INTO amount (n, amount) VALUES ($1, $2)", &[(1, 0), (2, 0)]);
    assert!(matches!(duplicate, Err(StoreError::Duplicate)));
    assert_eq!(amounts(), [25]);
    send(upsert, &[]).unwrap();
}
