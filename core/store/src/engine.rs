//! The interface of a database engine: reading, committing, and the state of its database.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, Instant};

use super::effects::Effects;
use super::gauges::Follower;
use super::{Isolation, StoreError, Topic, Tx};

/// A table whose rows expire in the order of their keys.
///
/// An engine may store it in partitions, each of which has a range of keys, and drops a partition as a whole. The first
/// and the last partition have no bound, so every key belongs to one.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    /// Its primary key is one integer, `key`.
    pub table: &'static str,
    /// The approximate key of a row of this moment.
    pub now: i64,
    /// Rows below this key have expired.
    pub expired: i64,
    /// The number of keys of a partition: a multiple of `unit`.
    pub span: i64,
    /// The bounds of all partitions are multiples of this number.
    pub unit: i64,
}

/// What the caller does with expired rows that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    Delete,
    /// The others go with their partition, which soon has no other rows.
    MayWait,
}

pub(super) trait Engine: Send + Sync {
    /// Does not call `work` if it returns an error.
    fn read(&self, limit: Option<Duration>, work: &mut dyn FnMut(&mut dyn Tx)) -> Result<(), StoreError>;

    fn can_read_now(&self) -> bool;

    fn is_on_server(&self) -> bool {
        false
    }

    fn writable(&self) -> Result<(), StoreError>;

    fn clock_ahead(&self) -> Option<Arc<AtomicI64>> {
        None
    }

    fn followers(&self) -> Vec<Follower> {
        Vec::new()
    }

    fn failures(&self) -> u64;

    fn database_bytes(&self) -> u64;

    fn wal_bytes(&self) -> u64;

    fn empty_wal(&self) -> Result<bool, StoreError>;

    fn copy_wal(&self) -> Result<(), StoreError>;

    fn arrange_partitions(&self, _: &Expiry) -> Result<Leftover, StoreError> {
        Ok(Leftover::Delete)
    }
}

pub(super) trait Committer: Send + 'static {
    type Tx<'c>: WriteTx
    where
        Self: 'c;

    /// Each attempt to begin a transaction may take long, so one failure refuses the whole queue.
    const REFUSES_QUEUE: bool;

    /// With other writers, the [`Isolation`] of work matters.
    const HAS_OTHERS: bool;

    fn shares_database(&self) -> bool {
        false
    }

    /// `since` is the time since which the caller of the first write waits; `None` if nobody waits for it.
    fn begin(&mut self, isolation: Isolation, since: Option<Instant>) -> Result<Self::Tx<'_>, StoreError>;

    /// Checks that a commit that has succeeded is durable.
    fn confirm(&mut self) -> Result<(), StoreError>;

    /// Called after a transaction that had changes or could not begin.
    fn ended(&mut self, result: Result<(), &StoreError>);

    /// Decides what follows a transaction that failed as a whole: waits and returns `Ok` if its writes run again; otherwise
    /// returns the error that their callers receive.
    fn retry(&mut self, error: StoreError) -> Result<(), StoreError>;

    fn after_group(&mut self);

    fn close(self);
}

pub(super) trait WriteTx: Tx {
    /// Grows when a statement has changed something or has failed in a way that affects later statements. It may also grow for a
    /// [sent](Tx::send) statement that did neither.
    fn changes(&self) -> u64;

    fn effects(&mut self) -> &mut Effects;

    /// The outcome of each [sent](Tx::send) statement is known.
    fn is_settled(&self) -> bool {
        true
    }

    /// Shortens the time for which later statements wait for locks, if the engine has any: to `max`, or to less if the caller of
    /// the first write has waited for long.
    fn limit_waits(&mut self, _max: Duration) -> Result<(), StoreError> {
        Ok(())
    }

    /// A long write begins or has ended. Its time does not count as time in which callers wait.
    fn expect_long(&mut self, _begins: bool) {}

    /// Returns the error of a statement that failed since the last rollback, if it may succeed in a later transaction.
    fn conflict(&self) -> Option<StoreError> {
        None
    }

    /// Whether the next statement can succeed without a rollback to a savepoint, as far as is known without waiting.
    fn is_sound(&self) -> bool;

    /// Returns the reason why the transaction as a whole cannot be committed any more.
    fn fault(&self) -> Option<StoreError>;

    /// Writes the [`Effects`], commits, and returns the touched topics. The commit may have an unknown outcome.
    fn commit(self) -> Result<Vec<Topic>, StoreError>;

    /// An error is ignored: it means that the transaction no longer exists.
    fn rollback(self);

    fn rehearse<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> Result<(), StoreError>
    where
        Self: Sized,
    {
        let mark = self.effects().mark();
        self.run("SAVEPOINT rehearsal", &[])?;
        // The caller runs the same work again, so it also panics again.
        let _ = catch_unwind(AssertUnwindSafe(|| work(self)));
        // An error is that of the work, and the rollback clears it.
        let _ = self.settle();
        self.effects().truncate(mark);
        self.run("ROLLBACK TO rehearsal", &[])?;
        self.run("RELEASE rehearsal", &[]).map(drop)
    }
}
