//! A simulation of commits that become visible out of the order of their revisions, for the tests of caches.
//!
//! SQLite has one writer, so nothing becomes visible late there. [`Store::hold_horizon`] simulates a transaction that
//! has taken a revision and stays open, and [`Store::write_late`] writes with its revision.

use std::sync::atomic::{AtomicI64, Ordering};

use tidings_cluster::Scratch;

use super::super::topic::last_change_in;
use super::super::watch::Versions;
use super::super::{
    Arg, Dialect, Effects, Isolation, Row, Store, StoreError, Topic, Tx, complete_version_in, version_in,
};

/// The simulated state; 0 where nothing is simulated.
#[derive(Default)]
pub(crate) struct Simulation {
    /// The maximum of the horizons of transactions that read.
    horizon: AtomicI64,
    /// The revision of transactions that write.
    revision: AtomicI64,
}

/// A transaction of the simulation.
pub(crate) struct SimulatedTx<'t> {
    tx: &'t mut dyn Tx,
    horizon: i64,
    revision: i64,
}

impl Simulation {
    /// Returns what `work` sees of a transaction.
    pub(crate) fn of<'t>(&self, tx: &'t mut dyn Tx) -> SimulatedTx<'t> {
        let [horizon, revision] = [&self.horizon, &self.revision].map(|value| value.load(Ordering::SeqCst));
        SimulatedTx { tx, horizon, revision }
    }
}

impl Tx for SimulatedTx<'_> {
    fn for_each(
        &mut self,
        sql: &str,
        args: &[Arg<'_>],
        each: &mut dyn FnMut(&mut Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.tx.for_each(sql, args, each)
    }
    fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError> {
        self.tx.run(sql, args)
    }
    fn dialect(&self) -> Dialect {
        self.tx.dialect()
    }
    fn revision(&self) -> i64 {
        if self.revision > 0 { self.revision } else { self.tx.revision() }
    }
    fn horizon(&mut self) -> Result<i64, StoreError> {
        let horizon = self.tx.horizon()?;
        Ok(if self.horizon > 0 { horizon.min(self.horizon) } else { horizon })
    }
    fn touch(&mut self, topic: Topic) {
        // The version does not grow with a late commit.
        if self.revision == 0 {
            self.tx.touch(topic);
        }
    }
    fn at_commit(&mut self) -> Option<&mut Effects> {
        self.tx.at_commit()
    }
    fn run_at_commit(&mut self, sql: &'static str, key: i64) {
        if self.revision == 0 {
            self.tx.run_at_commit(sql, key);
        } else {
            // The commit does not know the simulated revision.
            self.tx.run(sql, &[key.into(), self.revision.into()]).unwrap();
        }
    }
    fn writer(&self) -> i64 {
        self.tx.writer()
    }
}

impl Store {
    /// Simulates a transaction that has taken the next revision and stays open. Returns that revision.
    pub(crate) fn hold_horizon(&self) -> i64 {
        let horizon = self.read(|tx| tx.horizon()).unwrap();
        let revision = self.write(Isolation::Alone, |tx| Ok::<_, StoreError>(tx.revision())).unwrap();
        self.simulation().horizon.store(horizon, Ordering::SeqCst);
        revision
    }

    /// Runs `work`, whose writes have this revision instead of the next one.
    pub(crate) fn write_late<T>(&self, revision: i64, work: impl FnOnce() -> T) -> T {
        self.simulation().revision.store(revision, Ordering::SeqCst);
        let result = work();
        self.simulation().revision.store(0, Ordering::SeqCst);
        result
    }

    /// Ends the simulated transaction.
    pub(crate) fn release_horizon(&self) {
        self.simulation().horizon.store(0, Ordering::SeqCst);
    }
}

#[test]
fn a_version_is_at_most_the_horizon_and_complete_unless_later_changes_are_visible() {
    let database = Scratch::new();
    let store = super::open(&database);
    let touch = || {
        store.write(Isolation::Alone, |tx| {
            tx.touch(Topic::Posts);
            Ok::<_, StoreError>(tx.revision())
        })
    };
    let versions = || {
        store.read(|tx| {
            let version = version_in(tx, Topic::Posts)?;
            let last = last_change_in(tx, Topic::Posts)?;
            Ok::<_, StoreError>((last, version, complete_version_in(tx, Topic::Posts)?))
        })
    };
    assert_eq!(versions().unwrap(), (0, 0, Some(0)));
    let first = touch().unwrap();
    let held = store.hold_horizon();
    // Revisions of other databases may be between both.
    let horizon = store.read(|tx| tx.horizon()).unwrap();
    assert_eq!(versions().unwrap(), (first, first, Some(first)));
    let second = touch().unwrap();
    assert!(first <= horizon && horizon < held && held < second);
    assert_eq!(versions().unwrap(), (second, horizon, None));
    assert!(store.version(Topic::Posts) > horizon, "a cache is stale");
    store.release_horizon();
    assert_eq!(versions().unwrap(), (second, second, Some(second)));
    assert_eq!(store.version(Topic::Posts), second);
}

#[test]
fn a_transaction_that_writes_sees_everything_up_to_itself() {
    let database = Scratch::new();
    let store = super::open(&database);
    let seen =
        store.write(Isolation::Alone, |tx| Ok::<_, StoreError>((tx.revision(), tx.horizon()?))).unwrap();
    assert_eq!(seen.0, seen.1);
    assert!(store.read(|tx| tx.horizon()).unwrap() >= seen.0);
}

#[test]
fn a_late_commit_is_a_change_although_the_version_stays() {
    let versions = Versions::default();
    versions.publish(&[Topic::Posts], 7);
    assert_eq!((versions.get(Topic::Posts), versions.changes(Topic::Posts)), (7, 7));
    versions.publish(&[Topic::Posts, Topic::Notices], 5);
    assert_eq!((versions.get(Topic::Posts), versions.changes(Topic::Posts)), (7, 8));
    assert_eq!((versions.get(Topic::Notices), versions.changes(Topic::Notices)), (5, 5));
    versions.publish(&[Topic::Posts], 20);
    assert_eq!((versions.get(Topic::Posts), versions.changes(Topic::Posts)), (20, 20));
}
