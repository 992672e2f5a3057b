//! Tests of the length of the write-ahead log while the database is read.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use tidings_cluster::{Scratch, only_on_sqlite};

use super::{Isolation, Store, StoreError, open};

/// What the log has at most in any load.
const LOG_MAX: u64 = 128 << 20;
const MIB: usize = 1 << 20;

/// Opens a store with a table of pages.
fn opened(database: &Scratch) -> Store {
    let store = open(database);
    let sql = "CREATE TABLE page (n INTEGER PRIMARY KEY, text TEXT) STRICT";
    store.write(Isolation::Alone, move |tx| tx.run(sql, &[])).unwrap();
    // The same rows are written again and again, so the database stays small.
    store
        .write(Isolation::Alone, |tx| {
            (0..64).try_for_each(|n: i64| {
                let sql = "INSERT INTO page (n, text) VALUES ($1, hex(randomblob(8000)))";
                tx.run(sql, &[n.into()]).map(drop)
            })
        })
        .unwrap();
    store
}

/// Writes this many MiB to the log, in transactions of approximately one MiB, and returns the largest size of the log.
fn write(store: &Store, mib: usize) -> u64 {
    let (mut largest, mut written) = (0, 0);
    while written < mib * MIB {
        // SQLite does not write pages that stay the same.
        let sql = "UPDATE page SET text = hex(randomblob(8000))";
        store.write(Isolation::Alone, move |tx| tx.run(sql, &[])).unwrap();
        largest = largest.max(store.wal_bytes());
        written += MIB;
    }
    largest
}

fn read_one(tx: &mut dyn super::Tx) -> Result<i64, StoreError> {
    tx.one("SELECT count(*) FROM page WHERE n = 1", &[])?.take(0)
}

/// Reads that always overlap: each ends only after the next one has begun.
#[derive(Default)]
struct Relay {
    state: Mutex<RelayState>,
    changed: Condvar,
}

#[derive(Default)]
struct RelayState {
    /// The number of reads that have begun.
    begun: u64,
    is_over: bool,
}

impl Relay {
    /// Reads until the relay is over. Each read takes at least `length`.
    fn run(&self, store: &Store, length: Duration) {
        let is_over = || self.state.lock().unwrap().is_over;
        while !is_over() {
            store
                .read(|tx| {
                    assert_eq!(read_one(tx)?, 1);
                    std::thread::sleep(length);
                    let mut state = self.state.lock().unwrap();
                    state.begun += 1;
                    let mine = state.begun;
                    self.changed.notify_all();
                    let next = self.changed.wait_while(state, |state| state.begun == mine && !state.is_over);
                    drop(next.unwrap());
                    // Still the state of the beginning.
                    assert_eq!(read_one(tx)?, 1);
                    Ok::<_, StoreError>(())
                })
                .unwrap();
        }
    }

    fn begun(&self) -> u64 {
        self.state.lock().unwrap().begun
    }

    fn end(&self) {
        self.state.lock().unwrap().is_over = true;
        self.changed.notify_all();
    }
}

/// Writes more than the limit beside overlapping reads, and returns the largest size of the log.
fn write_beside_reads(length: Duration) -> u64 {
    let database = Scratch::new();
    let store = opened(&database);
    let relay = Relay::default();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| relay.run(&store, length));
        }
        let (largest, before) = (write(&store, 192), relay.begun());
        assert!(before > 1);
        // The reads go on.
        while relay.begun() < before + 2 {
            std::thread::yield_now();
        }
        relay.end();
        largest
    })
}

#[test]
fn the_log_begins_again_although_reads_always_overlap() {
    only_on_sqlite!("it is about the write-ahead log");
    let largest = write_beside_reads(Duration::ZERO);
    assert!(largest <= LOG_MAX, "{largest}");
}

#[test]
fn the_log_begins_again_although_overlapping_reads_take_long() {
    only_on_sqlite!("it is about the write-ahead log");
    let largest = write_beside_reads(Duration::from_millis(60));
    assert!(largest <= LOG_MAX, "{largest}");
}

#[test]
fn a_reader_of_another_process_stops_neither_writes_nor_reads() {
    only_on_sqlite!("it is about the write-ahead log");
    let database = Scratch::new();
    let store = opened(&database);
    // The store does not know of this connection, as of one of another process.
    let other = rusqlite::Connection::open(database.path()).unwrap();
    other.execute_batch("BEGIN; SELECT count(*) FROM page").unwrap();
    let largest = write(&store, 144);
    assert!(largest > LOG_MAX, "the reader needs the log");
    assert_eq!(store.read(read_one).unwrap(), 1);
    other.execute_batch("COMMIT").unwrap();
    write(&store, 96);
    assert!(store.wal_bytes() <= LOG_MAX, "{}", store.wal_bytes());
}
