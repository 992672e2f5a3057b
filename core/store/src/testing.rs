//! For tests, here and in the core: a deferred write from a closure, and a simulation of commits that become visible out of the
//! order of their revisions, for the tests of caches.
//!
//! SQLite has one writer, so nothing becomes visible late there. [`Store::hold_horizon`] simulates a transaction that has taken a
//! revision and stays open, and [`Store::write_late`] writes with its revision.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicI64, Ordering};

use super::effects::Effects;
use super::{Arg, Deferred, Dialect, Isolation, Row, Store, StoreError, TimeSlice, Topic, Tx};

/// Runs `work` once, even if the commit fails.
pub fn once(work: impl FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send + 'static) -> impl Deferred {
    struct Once<F>(F);
    impl<F: FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send + 'static> Deferred for Once<F> {
        fn isolation(&self) -> Isolation {
            Isolation::Alone
        }
        fn write(&mut self, tx: &mut dyn Tx, _: TimeSlice) -> Result<(), StoreError> {
            (self.0)(tx)
        }
        fn done(&mut self, _: Result<(), StoreError>) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    Once(work)
}

/// The simulated state; 0 where nothing is simulated.
#[derive(Default)]
pub(crate) struct Simulation {
    /// The maximum of the horizons of transactions that read.
    horizon: AtomicI64,
    /// The revision of transactions that write.
    revision: AtomicI64,
}

struct SimulatedTx<'t> {
    tx: &'t mut dyn Tx,
    horizon: i64,
    revision: i64,
}

impl Simulation {
    /// Runs `work` in what it sees of a transaction: in the transaction itself if nothing is simulated.
    pub(crate) fn run<T>(&self, tx: &mut dyn Tx, work: impl FnOnce(&mut dyn Tx) -> T) -> T {
        let [horizon, revision] = [&self.horizon, &self.revision].map(|value| value.load(Ordering::SeqCst));
        if horizon == 0 && revision == 0 {
            work(tx)
        } else {
            work(&mut SimulatedTx { tx, horizon, revision })
        }
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
            self.tx.run(sql, &[key.into(), self.revision.into()]).expect("the statement is right");
        }
    }
    fn writer(&self) -> i64 {
        self.tx.writer()
    }
}

impl Store {
    /// Simulates a transaction that has taken the next revision and stays open. Returns that revision.
    pub fn hold_horizon(&self) -> i64 {
        let horizon = self.read(|tx| tx.horizon()).expect("the store reads");
        let revision = self.write(Isolation::Alone, |tx| Ok::<_, StoreError>(tx.revision()));
        let revision = revision.expect("the store writes");
        self.versions.simulation.horizon.store(horizon, Ordering::SeqCst);
        revision
    }

    /// Runs `work`, whose writes have this revision instead of the next one.
    pub fn write_late<T>(&self, revision: i64, work: impl FnOnce() -> T) -> T {
        self.versions.simulation.revision.store(revision, Ordering::SeqCst);
        let result = work();
        self.versions.simulation.revision.store(0, Ordering::SeqCst);
        result
    }

    /// Ends the simulated transaction.
    pub fn release_horizon(&self) {
        self.versions.simulation.horizon.store(0, Ordering::SeqCst);
    }
}
