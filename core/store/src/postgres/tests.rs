//! Tests of the engine on a real server. Without PostgreSQL they are left out.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tidings_cluster::{Cluster, Database, is_installed};

use super::connect::Connector;
use super::lane::Lane;
use super::server::Server;
use super::tx::ReadTx;
use super::watch::ServerWatch;
use super::write_connection::ANSWER_MAX;
use crate::location::Location;
use crate::testing::once;
use crate::watch::{Versions, Watch as _};
use crate::{Isolation, ServerError, Store, StoreError, Tx, Value};

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(20);

fn database() -> Option<Database> {
    let cluster = || Cluster::shared().expect("PostgreSQL is installed");
    is_installed("tests of the PostgreSQL engine").then(|| cluster().database())
}

fn open(database: &Database) -> Result<Store, StoreError> {
    Store::open(&Location::from(database.url()))
}

/// Opens a store with a table of numbers.
fn create(database: &Database) -> Store {
    let store = open(database).unwrap();
    database.query("CREATE TABLE number (n bigint PRIMARY KEY)", &[]);
    store
}

fn connector(database: &Database) -> Arc<Server> {
    let Location::Postgres(url) = Location::from(database.url()) else { panic!("a path") };
    Server::new(Connector::new(&url).unwrap())
}

/// Inserts a number, and returns the revision.
fn insert(store: &Store, n: i64) -> Result<i64, StoreError> {
    store.write(Isolation::Alone, move |tx| {
        tx.run("INSERT INTO number (n) VALUES ($1)", &[n.into()])?;
        Ok(tx.revision())
    })
}

fn count(database: &Database, sql: &str) -> i64 {
    database.query(sql, &[])[0][0].as_ref().unwrap().parse().unwrap()
}

/// Ends all other connections to the database, and waits for their end.
fn end_connections(database: &Database) {
    let sql = "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    database.query(sql, &[]);
}

#[test]
fn revisions_grow_in_the_order_of_commits_of_all_stores() {
    let Some(database) = database() else { return };
    let stores = [create(&database), open(&database).unwrap()];
    let revisions: Vec<_> = (0..20).map(|n| insert(&stores[n % 2], n.try_into().unwrap()).unwrap()).collect();
    assert!(revisions.is_sorted_by(|one, next| one < next), "{revisions:?}");
    // Each store has a lane, in which each of its commits has a number.
    assert_eq!(
        database.query("SELECT last FROM lane ORDER BY lane", &[]),
        [[Some("10".to_owned())], [Some("10".to_owned())]]
    );
}

#[test]
fn revisions_continue_above_those_of_an_earlier_primary() {
    let Some(database) = database() else { return };
    let before = insert(&create(&database), 1).unwrap();
    assert!(before < 1 << 32, "the first start does not change the base");
    // As after the promotion of a standby: the server of this database has another timeline.
    database.query("UPDATE revision_base SET timeline = 7", &[]);
    let store = open(&database).unwrap();
    let promoted = insert(&store, 2).unwrap();
    assert!(promoted > before + (1 << 32) - 100_000);
    end_connections(&database);
    assert_eq!(insert(&store, 3).unwrap() >> 32, promoted >> 32, "one step is enough");
}

#[test]
fn a_lane_is_taken_over_after_the_end_of_its_last_transaction() {
    let Some(database) = database() else { return };
    drop(create(&database));
    let server = connector(&database);
    let (mut one, mut two) = (server.connect().unwrap(), server.connect().unwrap());
    let mut lane = Lane::lease(&mut one).unwrap();
    one.control("BEGIN").unwrap();
    assert!(lane.number(&mut one).unwrap().is_some());
    thread::scope(|scope| {
        let commit = scope.spawn(move || {
            thread::sleep(Duration::from_millis(300));
            one.commit().unwrap();
        });
        assert!(lane.take_over(&mut two, Instant::now() + LONG).unwrap());
        assert_eq!(lane.last, 1, "it waited for the commit");
        commit.join().unwrap();
    });
}

#[test]
fn a_transaction_of_a_lane_with_another_owner_is_not_numbered() {
    let Some(database) = database() else { return };
    let store = create(&database);
    let server = connector(&database);
    let mut session = server.connect().unwrap();
    let mut lane = Lane::lease(&mut session).unwrap();
    insert(&store, 1).unwrap();
    database.query("UPDATE lane SET owner = 'another 1'", &[]);
    session.control("BEGIN").unwrap();
    assert!(lane.number(&mut session).unwrap().is_none());
    session.control("ROLLBACK").unwrap();
    assert!(!lane.take_over(&mut session, Instant::now() + LONG).unwrap());
    // The store leases another lane.
    insert(&store, 2).unwrap();
    assert_eq!(count(&database, "SELECT count(*) FROM lane"), 3);
}

#[test]
fn a_freed_lane_is_leased_again() {
    let Some(database) = database() else { return };
    for n in 0..3 {
        let store = if n == 0 { create(&database) } else { open(&database).unwrap() };
        insert(&store, n).unwrap();
    }
    assert_eq!(count(&database, "SELECT count(*) FROM lane"), 1);
}

#[test]
fn a_write_whose_connection_ends_during_the_commit_is_stored_once() {
    let Some(database) = database() else { return };
    let store = create(&database);
    database.query(
        "CREATE SEQUENCE run;
         CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF nextval('run') <= 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
             RETURN NULL;
         END $$;
         CREATE CONSTRAINT TRIGGER late AFTER INSERT ON number DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION end_connection()",
        &[],
    );
    insert(&store, 1).unwrap();
    assert_eq!(count(&database, "SELECT count(*) FROM number"), 1);
    assert_eq!(count(&database, "SELECT last_value FROM run"), 3, "the write ran three times");
    assert_eq!(count(&database, "SELECT last FROM lane"), 1);
}

/// Otherwise the writes of callers would wait behind it, and be refused later than 30 s after they were sent.
#[test]
fn a_deferred_write_waits_for_locks_only_briefly() {
    let Some(database) = database() else { return };
    let store = create(&database);
    let lock_timeout = |tx: &mut dyn Tx| -> Result<String, StoreError> {
        tx.one("SELECT current_setting('lock_timeout')", &[])?.take(0)
    };
    let (sender, deferred) = std::sync::mpsc::channel();
    let tell = move |tx: &mut dyn Tx| {
        // Nobody waits for the second run in the mode that runs every write twice.
        let _ = sender.send(lock_timeout(tx)?);
        Ok(())
    };
    store.defer(once(tell)).unwrap();
    assert_eq!(store.write(Isolation::Alone, lock_timeout).unwrap(), "10s");
    assert_eq!(deferred.recv_timeout(LONG).unwrap(), "2s");
    assert_eq!(store.write(Isolation::Alone, lock_timeout).unwrap(), "10s");
}

/// Some change each post of a large database.
#[test]
fn a_statement_of_a_long_write_may_take_long() {
    let Some(database) = database() else { return };
    let store = create(&database);
    let seconds = ANSWER_MAX.as_secs() + 1;
    let sleep = move |tx: &mut dyn Tx| {
        tx.run("INSERT INTO number (n) VALUES (1)", &[])?;
        tx.rows(&format!("SELECT CAST(pg_sleep({seconds}) AS text)"), &[]).map(drop)
    };
    store.write_long(Isolation::Alone, sleep).unwrap();
    assert_eq!(count(&database, "SELECT count(*) FROM number"), 1);
    assert_eq!(count(&database, "SELECT last FROM lane"), 1, "it ran once");
}

#[test]
fn lost_connections_are_replaced() {
    let Some(database) = database() else { return };
    let store = create(&database);
    let read = || store.read(|tx| tx.one("SELECT count(*) FROM number", &[])?.take::<i64>(0));
    for n in 0..3 {
        insert(&store, n).unwrap();
        assert_eq!(read().unwrap(), n + 1);
        end_connections(&database);
    }
    insert(&store, 3).unwrap();
    assert_eq!(read().unwrap(), 4);
}

#[test]
fn a_read_whose_connection_is_lost_before_its_first_answer_connects_again() {
    let Some(database) = database() else { return };
    create(&database);
    let server = connector(&database);
    let connect = || server.connect();
    let mut session = server.connect().unwrap();
    let mut tx = ReadTx::begin(&mut session, None).or_connect(&connect);
    end_connections(&database);
    let mut count = || tx.one("SELECT count(*) FROM number", &[])?.take::<i64>(0);
    assert_eq!(count().unwrap(), 0);
    end_connections(&database);
    assert!(matches!(count(), Err(StoreError::Disconnected(_))), "another connection has another snapshot");
}

#[test]
fn a_write_that_finds_a_lock_taken_runs_again() {
    let Some(database) = database() else { return };
    let (store, server) = (create(&database), connector(&database));
    insert(&store, 1).unwrap();
    for is_long in [false, true] {
        let mut other = server.connect().unwrap();
        other.control("BEGIN; SELECT FROM number FOR UPDATE").unwrap();
        let (sender, runs) = std::sync::mpsc::channel();
        let lock = move |tx: &mut dyn Tx| {
            let locked = tx.rows("SELECT n FROM number FOR UPDATE NOWAIT", &[]).map(|rows| rows.len());
            let _ = sender.send(());
            locked
        };
        thread::scope(|scope| {
            let written = scope.spawn(|| {
                if is_long {
                    store.write_long(Isolation::Locking, lock)
                } else {
                    store.write(Isolation::Locking, lock)
                }
            });
            (0..3).for_each(|_| runs.recv_timeout(LONG).unwrap());
            other.roll_back();
            assert_eq!(written.join().unwrap().unwrap(), 1);
        });
    }
}

#[test]
fn a_watching_connection_that_ends_is_no_sign_of_the_primary() {
    let Some(database) = database() else { return };
    drop(create(&database));
    // A connection in this table ends in a statement, so that the server cannot have noticed it before.
    database.query(
        "CREATE TABLE ended (pid integer);
         ALTER TABLE touched RENAME TO touched_before;
         CREATE VIEW touched AS SELECT * FROM touched_before WHERE NOT EXISTS (
             SELECT FROM ended WHERE pid = pg_backend_pid() AND pg_terminate_backend(pid))",
        &[],
    );
    let (server, versions) = (connector(&database), Versions::default());
    let mut watch = ServerWatch::new(Arc::clone(&server), &versions).unwrap();
    database
        .query("INSERT INTO ended SELECT pid FROM pg_stat_activity WHERE datname = current_database()", &[]);
    watch.look(&versions);
    drop(server.connect_if_reachable().unwrap());
}

#[test]
fn values_are_those_of_the_store() {
    let Some(database) = database() else { return };
    let store = create(&database);
    let found = store.read(|tx| {
        let sql = "SELECT 1, true, sum(n), CAST(NULL AS text), 0.5, CAST($1 AS text), CAST($2 AS bigint)
                   FROM (VALUES (CAST(3 AS bigint)), (4)) AS number (n)";
        tx.one(sql, &["a\0b".into(), i64::MIN.into()])
    });
    let expected = [
        Value::Integer(1),
        Value::Integer(1),
        Value::Integer(7),
        Value::Null,
        Value::Real(0.5),
        Value::Text("a\u{fffd}b".into()),
        Value::Integer(i64::MIN),
    ];
    assert_eq!(found.unwrap().0, expected);
}

/// A runtime lets a task wait without returning only so often; then everything seems not to be ready.
#[test]
fn a_task_that_has_waited_often_may_block() {
    let Some(database) = database() else { return };
    let (sender, done) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (full, mut received) = tokio::sync::mpsc::unbounded_channel();
            (0..1_000).for_each(|n| full.send(n).unwrap());
            while received.recv().now_or_never().is_some() {}
            let store = create(&database);
            insert(&store, 1).unwrap();
            store.read(|tx| tx.one("SELECT count(*) FROM number", &[])?.take::<i64>(0)).unwrap();
        });
        sender.send(()).unwrap();
    });
    done.recv_timeout(LONG).unwrap();
}

#[test]
fn several_stores_create_the_schema_at_the_same_time() {
    let Some(database) = database() else { return };
    thread::scope(|scope| {
        let opening: Vec<_> = (0..4).map(|_| scope.spawn(|| open(&database).map(drop))).collect();
        for opened in opening {
            opened.join().unwrap().unwrap();
        }
    });
    assert_eq!(count(&database, "SELECT count(*) FROM schema_version"), 1);
}

#[test]
fn a_database_of_another_program_is_refused_and_unchanged() {
    let Some(database) = database() else { return };
    database.query("CREATE TABLE other (n bigint)", &[]);
    assert!(matches!(open(&database), Err(StoreError::Server(ServerError::Foreign { .. }))));
    assert_eq!(count(&database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), 1);
}

#[test]
fn a_connection_without_an_answer_is_lost() {
    let Some(database) = database() else { return };
    let server = connector(&database);
    let mut session = server.connect().unwrap();
    session.limit(Duration::from_millis(100));
    assert!(session.control("SELECT pg_sleep(60)").is_err());
    assert!(session.is_silent() && session.lost().is_some());
    session.limit(LONG * 3);
    let begin = Instant::now();
    assert!(session.control("SELECT 1").is_err());
    assert!(begin.elapsed() < LONG, "it does not wait again");
}

#[test]
fn connections_to_a_server_that_counts_as_lost_fail_at_once() {
    let Some(database) = database() else { return };
    let server = connector(&database);
    let [mut waiting, mut idle] = [(); 2].map(|()| server.connect().unwrap());
    let begin = Instant::now();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || waiting.control("SELECT pg_sleep(60)"));
        thread::sleep(Duration::from_millis(100));
        server.abandon();
        assert!(matches!(waiting.join().unwrap(), Err(StoreError::Disconnected(_))));
    });
    assert!(begin.elapsed() < LONG);
    assert!(idle.control("SELECT 1").is_err());
    server.connect().unwrap().control("SELECT 1").unwrap();
}

#[test]
fn a_transaction_with_a_failed_statement_is_not_committed() {
    let Some(database) = database() else { return };
    let server = connector(&database);
    let mut session = server.connect().unwrap();
    session.control("BEGIN").unwrap();
    assert!(session.control("SELECT nothing").is_err());
    assert!(session.commit().is_err());
    session.roll_back();
    session.control("BEGIN").unwrap();
    assert!(session.commit().unwrap());
}
