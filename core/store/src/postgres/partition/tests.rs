//! Tests of partitions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tidings_cluster::{Cluster, Database, is_installed};

use super::*;
use crate::location::Location;
use crate::{Isolation, Store};

const UNIT: i64 = 10;

fn expiry(now: i64, expired: i64) -> Expiry {
    Expiry { table: "log", now, expired, span: 2 * UNIT, unit: UNIT }
}

/// Returns a store, and the time in days since 1970 at which its last partition begins.
fn open() -> Option<(Database, Store, i64)> {
    if !is_installed("partitions") {
        return None;
    }
    let database = Cluster::shared().expect("it is installed").database();
    let store = Store::open(&Location::from(database.url())).unwrap();
    let from = bounds(&database).last().and_then(|(from, _)| *from).unwrap();
    Some((database, store, from))
}

fn bounds(database: &Database) -> Vec<(Option<i64>, Option<i64>)> {
    let sql = "SELECT pg_get_expr(c.relpartbound, c.oid)
               FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'log'::regclass";
    let rows = database.query(sql, &[]);
    let mut bounds: Vec<_> = rows.iter().map(|row| parse(row[0].as_ref().unwrap()).unwrap()).collect();
    bounds.sort();
    bounds
}

fn keys(database: &Database) -> Vec<i64> {
    let rows = database.query("SELECT key FROM log ORDER BY key", &[]);
    rows.iter().map(|row| row[0].as_ref().unwrap().parse().unwrap()).collect()
}

fn insert(database: &Database, keys: &[i64]) {
    for key in keys {
        database.query(&format!("INSERT INTO log (key, member, request) VALUES ({key}, 0, 1)"), &[]);
    }
}

#[test]
fn partitions_are_added_until_the_last_one_begins_a_span_after_now() {
    let later = |from, greatest, now| later_bounds(from, greatest, &expiry(now, 0));
    assert_eq!(later(100, None, 95), [120]);
    assert_eq!(later(100, None, 105), [120, 140]);
    assert_eq!(later(100, None, 500), [500, 520], "one partition for the time in which no program ran");
    assert_eq!(later(100, Some(517), 500), [520], "all rows of the last partition stay in it");
    assert_eq!(later(100, Some(i64::MAX), 500), [i64::MAX]);
    assert_eq!(later(100, None, i64::MAX), [i64::MAX / UNIT * UNIT, i64::MAX]);
}

#[test]
fn bounds_are_parsed() {
    assert_eq!(parse("FOR VALUES FROM (MINVALUE) TO ('-7')"), Some((None, Some(-7))));
    assert_eq!(parse("FOR VALUES FROM ('7') TO (MAXVALUE)"), Some((Some(7), None)));
    assert_eq!(parse("DEFAULT"), None);
    assert_eq!(parse("FOR VALUES FROM ('a') TO ('9')"), None);
}

#[test]
fn rows_of_any_key_have_a_partition_before_and_after_a_drop() {
    let Some((database, store, from)) = open() else { return };
    let at = |n: i64| from + n * UNIT;
    assert_eq!(bounds(&database), [(None, Some(from)), (Some(from), None)]);
    assert_eq!(store.arrange_partitions(&expiry(at(1), at(-9))).unwrap(), Leftover::Delete);
    let added =
        [(None, Some(from)), (Some(from), Some(at(2))), (Some(at(2)), Some(at(4))), (Some(at(4)), None)];
    assert_eq!(bounds(&database), added);
    store.arrange_partitions(&expiry(at(2), at(-9))).unwrap();
    assert_eq!(bounds(&database), added, "the last partition begins a span after now");

    let all = [i64::MIN, at(-1), at(0), at(1), at(2), at(3), at(4), i64::MAX - UNIT];
    insert(&database, &all);
    assert_eq!(store.arrange_partitions(&expiry(at(2), at(3))).unwrap(), Leftover::MayWait);
    assert_eq!(keys(&database), all[4..]);
    assert_eq!(bounds(&database), [&[(None, Some(at(2)))], &added[2..]].concat());

    insert(&database, &all[..3]);
    store.arrange_partitions(&expiry(at(2), at(3))).unwrap();
    assert_eq!(keys(&database), all[4..], "old rows again");
    let same = bounds(&database);
    let oid = || database.query("SELECT sum(inhrelid::bigint) FROM pg_inherits", &[]);
    let before = oid();
    store.arrange_partitions(&expiry(at(2), at(3))).unwrap();
    assert_eq!((bounds(&database), oid()), (same, before), "nothing to do");

    // A row of a distant time keeps its partition open; none is lost.
    store.arrange_partitions(&expiry(at(50), at(3))).unwrap();
    assert_eq!(keys(&database), all[4..]);
}

/// Ends the writer, also when the test fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn writers_wait_a_moment_behind_a_reader_that_prevents_a_drop() {
    let Some((database, store, from)) = open() else { return };
    let at = |n: i64| from + n * UNIT;
    store.arrange_partitions(&expiry(at(1), at(-9))).unwrap();
    insert(&database, &[at(0), at(2)]);
    let mut reader = database.connect();
    reader.query("BEGIN", &[]);
    reader.query("SELECT count(*) FROM log", &[]);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let done = Done(&is_done);
        let writer = scope.spawn(|| {
            let (mut longest, mut n) = (Duration::ZERO, 1);
            while !is_done.load(Ordering::SeqCst) {
                let began = Instant::now();
                let key = at(2) + n % UNIT + n / UNIT * (1 << 20);
                let sql = "INSERT INTO log (key, member, request) VALUES ($1, 0, 1)";
                store.write(Isolation::Alone, move |tx| tx.run(sql, &[key.into()])).unwrap();
                longest = longest.max(began.elapsed());
                n += 1;
            }
            longest
        });
        let attempts: Vec<_> = (0..5).map(|_| store.arrange_partitions(&expiry(at(1), at(2)))).collect();
        // Nobody waits until an attempt is rolled back, so the next one may find its lock and leave the work to it.
        let is_conflict = |done: &Result<_, _>| matches!(done, Err(StoreError::Conflict(_)));
        let is_left = |done: &Result<_, _>| matches!(done, Ok(Leftover::MayWait));
        assert!(is_conflict(&attempts[0]), "{attempts:?}");
        assert!(attempts.iter().all(|done| is_conflict(done) || is_left(done)), "{attempts:?}");
        assert_eq!(keys(&database)[0], at(0), "nothing is dropped");
        reader.query("COMMIT", &[]);
        let dropped = (0..100).any(|_| store.arrange_partitions(&expiry(at(1), at(2))).is_ok());
        drop(done);
        let longest = writer.join().unwrap();
        assert!(dropped);
        // 50 ms, and what a busy machine adds.
        assert!(longest < Duration::from_millis(300), "a write took {longest:?}");
    });
    assert_eq!(keys(&database)[0], at(2));
}
