//! Tests of the guarantees of the store, on a database with an extra table.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use tidings_cluster::{Engine, Scratch, only_on_sqlite};

use super::{Arg, Isolation, Location, Store, StoreError, Topic, Tx, version_in};

mod deferred;
mod gathered;
mod horizon;
mod log_length;
mod replaced;
mod replay;
mod shared;

fn open(database: &Scratch) -> Store {
    create(Store::open(&database.location().into()).unwrap())
}

/// Opens a store that repeats every write, or one that does not, whatever the environment says.
fn open_replaying(database: &Scratch, is_replaying: bool) -> Store {
    create(Store::open_replaying(&database.location().into(), is_replaying).unwrap())
}

/// Creates the extra table.
fn create(store: Store) -> Store {
    let sql = "CREATE TABLE IF NOT EXISTS number (n BIGINT PRIMARY KEY, half BIGINT REFERENCES number (n))";
    store.write(Isolation::Alone, move |tx| tx.run(sql, &[])).unwrap();
    store
}

/// Returns the maximum number of concurrent reads.
fn readers() -> usize {
    match Engine::chosen() {
        Engine::Sqlite => super::sqlite::READERS,
        Engine::Postgres => 2 * super::sqlite::READERS,
    }
}

fn insert(tx: &mut dyn Tx, n: i64) -> Result<u64, StoreError> {
    tx.run("INSERT INTO number (n) VALUES ($1)", &[n.into()])
}

/// The error of the closures in these tests.
#[derive(Debug)]
enum Failure {
    Refused,
    Store,
}

impl From<StoreError> for Failure {
    fn from(_: StoreError) -> Self {
        Self::Store
    }
}

fn numbers(store: &Store) -> Vec<i64> {
    let rows = store.read(|tx| tx.rows("SELECT n FROM number ORDER BY n", &[])).unwrap();
    rows.into_iter().map(|mut row| row.take(0).unwrap()).collect()
}

#[test]
fn a_reference_to_a_missing_row_is_dangling_and_arguments_bind_by_name() {
    let database = Scratch::new();
    let store = open(&database);
    let sql = "INSERT INTO number (half, n) VALUES ($2, $1)";
    store.write(Isolation::Alone, move |tx| tx.run(sql, &[1.into(), None::<i64>.into()])).unwrap();
    store.write(Isolation::Alone, move |tx| tx.run(sql, &[2.into(), 1.into()])).unwrap();
    let refused = store.write(Isolation::Alone, move |tx| tx.run(sql, &[4.into(), 3.into()]));
    assert!(matches!(refused, Err(StoreError::Dangling)), "{refused:?}");
    assert_eq!(numbers(&store), [1, 2]);
}

#[test]
fn a_statement_runs_only_with_exactly_its_arguments() {
    let database = Scratch::new();
    let store = open(&database);
    let run = |sql: &str, args: &[Arg<'_>]| store.read(|tx| tx.rows(sql, args).map(|rows| rows.len()));
    let names = |n: usize| (1..=n).map(|n| format!("CAST(${n} AS BIGINT)")).collect::<Vec<_>>().join(", ");
    let args = [Arg::Integer(1); 33];
    for taken in [0, 1, 31, 32] {
        let sql = if taken == 0 { "SELECT 1".to_owned() } else { format!("SELECT {}", names(taken)) };
        for given in 0..=33 {
            let result = run(&sql, &args[..given]);
            let is_refused = matches!(result, Err(StoreError::Other(_)));
            assert!(
                result.is_ok() == (given == taken) && is_refused != result.is_ok(),
                "{given} for {taken}"
            );
        }
    }
    // More arguments than there are names.
    let sql = format!("SELECT {}", names(33));
    assert!((0..=33).all(|given| matches!(run(&sql, &args[..given]), Err(StoreError::Other(_)))));
    assert!(
        matches!(run("SELECT CAST($1 AS BIGINT), CAST($3 AS BIGINT)", &args[..2]), Err(StoreError::Other(_))),
        "a number is left out"
    );
    let twice = "SELECT CAST($2 AS BIGINT), CAST($1 AS BIGINT), CAST($2 AS BIGINT)";
    assert_eq!(run(twice, &args[..2]).unwrap(), 1, "an argument may occur more than once");
}

#[test]
fn a_read_sees_one_snapshot_and_cannot_write() {
    let database = Scratch::new();
    let store = open(&database);
    store
        .read(|tx| {
            let count = |tx: &mut dyn Tx| tx.one("SELECT count(*) FROM number", &[])?.take::<i64>(0);
            assert_eq!(count(tx)?, 0);
            store.write(Isolation::Alone, |tx| insert(tx, 1))?;
            assert_eq!(count(tx)?, 0, "the snapshot from the start of the read");
            assert!(insert(tx, 2).is_err());
            Ok::<_, StoreError>(())
        })
        .unwrap();
    assert_eq!(numbers(&store), [1]);
}

#[test]
fn a_full_queue_refuses_writes_and_accepted_writes_share_few_commits() {
    let database = Scratch::new();
    let store = open(&database);
    let (go, wait) = channel::<()>();
    let held = store.submit(Isolation::Alone, move |_| {
        let _ = wait.recv();
        Ok::<_, StoreError>(())
    });
    let (mut taken, mut refused) = (Vec::new(), 0);
    for n in 0..10_000 {
        let pending = store.submit(Isolation::Alone, move |tx| insert(tx, n));
        match pending.known() {
            Ok(Err(error)) => {
                assert!(matches!(error, StoreError::Overloaded));
                refused += 1;
            }
            Ok(Ok(_)) => panic!("the result was known before the commit"),
            Err(pending) => taken.push(pending),
        }
    }
    assert!(refused > 0 && !taken.is_empty());
    drop(go);
    held.wait().unwrap();
    let written = taken.len();
    for pending in taken {
        assert_eq!(pending.wait().unwrap(), 1);
    }
    assert_eq!(numbers(&store).len(), written);
    let commits = store.commits().count;
    assert!(usize::try_from(commits).unwrap() * 4 < written, "{commits} commits for {written} writes");
}

#[test]
fn a_refused_write_is_not_committed_and_uses_up_no_revision() {
    let database = Scratch::new();
    let store = open(&database);
    let revision = || store.write(Isolation::Alone, |tx| Ok::<_, StoreError>(tx.revision())).unwrap();
    let before = revision();
    for _ in 0..3 {
        let refused = store.write(Isolation::Alone, |tx| {
            insert(tx, 2)?;
            tx.touch(Topic::Notices);
            Err::<(), _>(Failure::Refused)
        });
        assert!(matches!(refused, Err(Failure::Refused)));
    }
    assert_eq!((store.version(Topic::Notices), numbers(&store)), (0, vec![]));
    // Revisions of PostgreSQL are transaction ids, which have gaps.
    assert!(store.is_on_server() || revision() == before + 1);
}

#[test]
fn two_processes_write_the_same_database_without_errors() {
    let database = Scratch::new();
    let stores = [open(&database), open(&database)];
    std::thread::scope(|scope| {
        for (first, store) in stores.iter().enumerate() {
            scope.spawn(move || {
                for n in 0..200 {
                    store
                        .write(Isolation::Alone, move |tx| insert(tx, n * 2 + i64::try_from(first).unwrap()))
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(numbers(&stores[0]), (0..400).collect::<Vec<_>>());
}

#[test]
fn a_change_is_known_at_once_here_and_soon_in_other_processes() {
    let database = Scratch::new();
    let (here, elsewhere) = (open(&database), open(&database));
    let revision = here
        .write(Isolation::Alone, |tx| {
            tx.touch(Topic::Notices);
            Ok::<_, StoreError>(tx.revision())
        })
        .unwrap();
    assert_eq!(here.version(Topic::Notices), revision);
    assert_eq!(here.version(Topic::Posts), 0);
    assert_eq!(elsewhere.read(|tx| version_in(tx, Topic::Notices)).unwrap(), revision);
    elsewhere.versions().wait_for(Topic::Notices, 0, Duration::from_secs(10), || false);
    assert_eq!(elsewhere.version(Topic::Notices), revision);
    assert_eq!(
        open(&database).version(Topic::Notices),
        revision,
        "a store that opens later knows it from the start"
    );
}

#[test]
fn a_read_can_start_at_once_only_while_a_connection_is_idle() {
    only_on_sqlite!("a read on a server waits for the network");
    let database = Scratch::new();
    let store = open(&database);
    assert!(!store.can_read_now(), "connections are opened when they are needed");
    let during = store.read(|_| Ok::<_, StoreError>(store.can_read_now())).unwrap();
    assert!(!during, "the only one is in use");
    assert!(store.can_read_now());
}

#[test]
fn more_readers_than_connections_wait_for_each_other() {
    let database = Scratch::new();
    let (store, most, reading) = (open(&database), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                let read = store.read(|tx| {
                    most.fetch_max(reading.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tx.one("SELECT count(*) FROM number", &[])?;
                    reading.fetch_sub(1, Ordering::SeqCst);
                    Ok::<_, StoreError>(())
                });
                read.unwrap();
            });
        }
    });
    assert!(most.load(Ordering::SeqCst) <= readers());
}

#[test]
fn newer_and_foreign_databases_are_refused_and_not_changed() {
    only_on_sqlite!("it replaces or damages the file");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("other.db");
    drop(Store::open(&Location::from(&path)).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    assert!(matches!(Store::open(&Location::from(&path)), Err(StoreError::Newer { found: 99, .. })));

    let path = dir.path().join("foreign.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(Store::open(&Location::from(&path)), Err(StoreError::Foreign)));
    assert_eq!(std::fs::read(&path).unwrap(), before);

    let path = dir.path().join("text.db");
    std::fs::write(&path, "no database at all, but long enough to be looked at".repeat(100)).unwrap();
    assert!(matches!(Store::open(&Location::from(&path)), Err(StoreError::Foreign)));

    let path = dir.path().join("missing/new.db");
    let missing = Store::open(&Location::from(&path)).err().map(|error| error.to_string()).unwrap();
    assert!(missing.starts_with("the directory ") && missing.contains("missing does not exist"), "{missing}");

    #[cfg(unix)]
    {
        let link = dir.path().join("link.db");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(Store::open(&Location::from(&link)), Err(StoreError::Other(_))));
    }
}

/// Earlier versions have a rare corruption of the write-ahead log between processes.
#[test]
fn the_bundled_sqlite_is_recent_enough() {
    only_on_sqlite!("it is about the bundled library");
    let database = Scratch::new();
    let version =
        open(&database).read(|tx| tx.one("SELECT sqlite_version()", &[])?.take::<String>(0)).unwrap();
    let parts: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
    assert!(parts >= vec![3, 51, 3], "{version}");
}

#[test]
fn the_write_ahead_log_begins_again_while_writes_go_on() {
    only_on_sqlite!("it is about the write-ahead log");
    let database = Scratch::new();
    let store = open(&database);
    store
        .write(Isolation::Alone, |tx| {
            tx.run("CREATE TABLE page (n INTEGER PRIMARY KEY, text TEXT) STRICT", &[])
        })
        .unwrap();
    // 120 MB in all; the log begins again after 64 MiB at the latest.
    for _ in 0..60 {
        store
            .write(Isolation::Alone, |tx| {
                let sql = "INSERT INTO page (text) VALUES (hex(zeroblob(2000)))";
                (0..500).try_for_each(|_| tx.run(sql, &[]).map(drop))
            })
            .unwrap();
    }
    assert!(store.wal_bytes() < 80 << 20, "{}", store.wal_bytes());
    let path = database.path();
    assert!(std::fs::metadata(&path).unwrap().len() > 20 << 20, "the database file has most pages");
    drop(store);
    assert!(!crate::files::beside(&path, "-wal").exists(), "a clean stop removes the log");
}

#[test]
fn a_closed_store_stops_its_threads_at_once() {
    let database = Scratch::new();
    let store = Arc::new(open(&database));
    let began = Instant::now();
    drop(store);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(!database.beside("-wal").exists(), "the log was copied into the file");
}

/// A store that waits for a lock has already opened the file, which is then replaced.
#[cfg(target_os = "linux")]
#[test]
fn a_store_that_waits_while_its_file_is_replaced_opens_the_new_file() {
    only_on_sqlite!("it replaces or damages the file");
    let (database, other) = (Scratch::new(), Scratch::new());
    for (database, n) in [(&database, 1), (&other, 2)] {
        open(database).write(Isolation::Alone, move |tx| insert(tx, n)).unwrap();
    }
    let (path, kept) = (database.path(), database.folder().join("kept.db"));
    let holder = rusqlite::Connection::open(&path).unwrap();
    holder.pragma_update(None, "journal_mode", "DELETE").unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let opened = || {
        let files = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        links.filter(|link| *link == path).count()
    };
    let before = opened();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| numbers(&open(&database)));
        while opened() == before {
            std::thread::yield_now();
        }
        // The path always leads to one of the files, as during a restore.
        std::fs::hard_link(&path, &kept).unwrap();
        std::fs::rename(other.path(), &path).unwrap();
        holder.execute_batch("COMMIT").unwrap();
        assert_eq!(waiting.join().unwrap(), [2]);
    });
    let one: i64 = holder.query_row("SELECT n FROM number", [], |row| row.get(0)).unwrap();
    assert_eq!(one, 1);
}

/// A statement that never ends.
const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

#[test]
fn a_long_read_is_interrupted_after_its_limit_and_its_connection_is_reused() {
    let database = Scratch::new();
    let store = open(&database);
    let unlimited = store.read_within(Duration::from_millis(20), |tx| tx.rows(ENDLESS, &[]));
    assert!(matches!(unlimited, Err(StoreError::Overloaded)), "{unlimited:?}");
    let count = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT max(i) FROM n";
    let counted: i64 = store.read(|tx| tx.one(count, &[])?.take(0)).unwrap();
    assert_eq!(counted, 100_000, "on the same connection without a limit");
    let short =
        store.read_within(Duration::from_secs(60), |tx| Ok::<_, StoreError>(tx.rows("SELECT 1", &[])?.len()));
    assert_eq!(short.unwrap(), 1);
}

#[test]
fn long_reads_leave_connections_for_short_ones() {
    let database = Scratch::new();
    let store = open(&database);
    let (started, starts) = channel();
    let (release, released) = channel::<()>();
    let released = std::sync::Mutex::new(released);
    std::thread::scope(|threads| {
        for _ in 0..=readers() / 2 {
            let (store, started, released) = (&store, started.clone(), &released);
            threads.spawn(move || {
                store.read_within(Duration::from_secs(60), |_| {
                    started.send(()).unwrap();
                    // Returns when the sender is dropped.
                    let _ = released.lock().unwrap().recv();
                    Ok::<_, StoreError>(())
                })
            });
        }
        for _ in 0..readers() / 2 {
            starts.recv().unwrap();
        }
        assert!(numbers(&store).is_empty(), "a short read has a connection");
        assert!(starts.try_recv().is_err(), "a long read beyond the limit waits");
        drop(release);
        starts.recv().unwrap();
    });
}

#[test]
fn errors_of_the_store_reach_the_caller_unchanged() {
    use StoreError::{Duplicate, Full, Interrupted, Overloaded};
    let database = Scratch::new();
    let store = open(&database);
    for error in [Overloaded, Interrupted, Full, Duplicate] {
        let same = |result: Result<(), StoreError>| {
            let found = result.unwrap_err();
            assert_eq!(std::mem::discriminant(&found), std::mem::discriminant(&error), "{found:?}");
        };
        let (read, written) = (error.clone(), error.clone());
        same(store.read(|_| Err(read)));
        same(store.write(Isolation::Alone, move |_| Err(written.clone())));
    }
}
