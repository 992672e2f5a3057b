//! Tests of reads on standbys.

use std::thread::sleep;
use std::time::Instant;

use tidings_cluster::{Cluster, Database, is_installed};

use super::*;
use crate::base::location::Location;
use crate::store::{Isolation, Store};

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

/// A primary, its standby, and a store that knows both.
struct World {
    store: Store,
    database: Database,
    standby: Cluster,
    _primary: Cluster,
}

impl World {
    fn start() -> Option<Self> {
        if !is_installed("reads on standbys") {
            return None;
        }
        let primary = Cluster::builder().start().expect("it is installed");
        let standby = primary.standby("second");
        let database = primary.database();
        let hosts = |url: &str| url.split('@').nth(1).unwrap().split('/').next().unwrap().to_owned();
        let url = database.url().replace(
            &hosts(database.url()),
            &format!("{},{}", hosts(database.url()), hosts(&standby.url("any"))),
        );
        let store = Store::open(&Location::from(format!("{url}?standby_reads=on"))).unwrap();
        database.query("CREATE TABLE number (n bigint PRIMARY KEY)", &[]);
        Some(Self { store, database, standby, _primary: primary })
    }

    fn insert(&self, n: i64) {
        let sql = "INSERT INTO number (n) VALUES ($1)";
        self.store.write(Isolation::Alone, move |tx| tx.run(sql, &[n.into()])).unwrap();
    }

    /// Returns the greatest number, and whether a standby has answered.
    fn read(&self, seen: CommitTime) -> (i64, bool) {
        let read = |tx: &mut dyn Tx| {
            let mut row = tx.one("SELECT coalesce(max(n), 0), pg_is_in_recovery() FROM number", &[])?;
            Ok::<_, StoreError>((row.take(0)?, row.take(1)?))
        };
        self.store.read_stale(None, seen, read).unwrap()
    }

    fn wait_for(&self, is_standby: bool) -> Duration {
        let began = Instant::now();
        while self.read(CommitTime::FIRST).1 != is_standby {
            assert!(began.elapsed() < LONG);
            sleep(Duration::from_millis(5));
        }
        began.elapsed()
    }
}

#[test]
fn reads_go_to_a_standby_while_it_is_close_behind() {
    let Some(world) = World::start() else { return };
    world.wait_for(true);
    let on_standby: bool = world.store.read(|tx| tx.one("SELECT pg_is_in_recovery()", &[])?.take(0)).unwrap();
    assert!(!on_standby);

    // What this process knows is seen: at first by the primary.
    for n in 1..50 {
        world.insert(n);
        assert_eq!(world.read(CommitTime::now()).0, n);
    }
    world.wait_for(true);
    let before = world.store.server_gauges().unwrap();
    assert!(before.standby_reads > 0 && before.read_standbys[1].behind_ms.is_some());
    assert_eq!(before.read_standbys[0].behind_ms, None, "the primary is no standby");

    // A paused standby is not behind until something changes.
    let pause = |paused| {
        let function = if paused { "pause" } else { "resume" };
        world.standby.connect().query(&format!("SELECT pg_wal_replay_{function}()"), &[]);
    };
    pause(true);
    world.insert(100);
    let took = world.wait_for(false);
    assert!(took < Duration::from_secs(1) + LONG / 10, "back on the primary after {took:?}");
    assert_eq!(world.read(CommitTime::FIRST), (100, false));
    pause(false);
    world.wait_for(true);
    assert_eq!(world.read(CommitTime::FIRST), (100, true));
}

#[test]
fn reads_of_a_standby_that_fails_are_repeated_on_the_primary() {
    let Some(world) = World::start() else { return };
    let slow = |tx: &mut dyn Tx| {
        let is_standby: bool = tx.one("SELECT pg_is_in_recovery()", &[])?.take(0)?;
        if is_standby {
            tx.rows("SELECT pg_sleep(20)", &[])?;
        }
        Ok::<_, StoreError>(is_standby)
    };
    for fail in [Cluster::suspend as fn(&Cluster), Cluster::kill] {
        world.wait_for(true);
        std::thread::scope(|scope| {
            let read = scope.spawn(|| world.store.read_stale(None, CommitTime::FIRST, slow).unwrap());
            sleep(Duration::from_millis(300));
            fail(&world.standby);
            assert!(!read.join().unwrap(), "the primary has answered");
        });
        let began = Instant::now();
        assert!(!world.read(CommitTime::FIRST).1);
        assert!(began.elapsed() < Duration::from_secs(1));
        if world.standby.is_running() {
            world.standby.resume();
        }
    }
    world.standby.start();
    world.wait_for(true);
    drop(world.store);
    drop(world.database);
}
