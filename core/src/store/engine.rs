//! The interface of a database engine: reading, committing, and the state of its database.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, Instant};

use super::effects::Effects;
use super::expiry::{Expiry, Leftover};
use super::gauges::Follower;
use super::{Isolation, StoreError, Topic, Tx};

/// A database engine, except for its writing connection, which is the [`Committer`] of the writing thread.
pub(super) trait Engine: Send + Sync {
    /// Runs `work` once in a transaction that reads, unless none can begin. With a `limit`, as
    /// [`Store::read_within`](super::Store::read_within) does.
    ///
    /// # Errors
    /// When no transaction can begin.
    fn read(&self, limit: Option<Duration>, work: &mut dyn FnMut(&mut dyn Tx)) -> Result<(), StoreError>;

    /// Implements [`Store::can_read_now`](super::Store::can_read_now).
    fn can_read_now(&self) -> bool;

    /// Implements [`Store::is_on_server`](super::Store::is_on_server).
    fn is_on_server(&self) -> bool {
        false
    }

    /// Implements [`Store::writable`](super::Store::writable).
    fn writable(&self) -> Result<(), StoreError>;

    /// Implements [`Store::clock_ahead`](super::Store::clock_ahead).
    fn clock_ahead(&self) -> Option<Arc<AtomicI64>> {
        None
    }

    /// Implements [`Store::followers`](super::Store::followers).
    fn followers(&self) -> Vec<Follower> {
        Vec::new()
    }

    /// Implements [`Store::failures`](super::Store::failures).
    fn failures(&self) -> u64;

    /// Implements [`Store::database_bytes`](super::Store::database_bytes).
    fn database_bytes(&self) -> u64;

    /// Implements [`Store::wal_bytes`](super::Store::wal_bytes).
    fn wal_bytes(&self) -> u64;

    /// Implements [`Store::empty_wal`](super::Store::empty_wal).
    fn empty_wal(&self) -> Result<bool, StoreError>;

    /// Implements [`Store::copy_wal`](super::Store::copy_wal).
    fn copy_wal(&self) -> Result<(), StoreError>;

    /// Implements [`Store::arrange_partitions`](super::Store::arrange_partitions).
    fn arrange_partitions(&self, _: &Expiry) -> Result<Leftover, StoreError> {
        Ok(Leftover::Delete)
    }
}

/// The connection on which the writing thread commits.
pub(super) trait Committer: Send + 'static {
    /// An open transaction.
    type Tx<'c>: WriteTx
    where
        Self: 'c;

    /// Whether the queued writes are also refused when a transaction cannot begin, because each attempt may take long.
    const REFUSES_QUEUE: bool;

    /// Whether there may be other writers, so that the [`Isolation`] of works matters.
    const HAS_OTHERS: bool;

    /// Returns whether other servers probably write at the same time.
    fn shares_database(&self) -> bool {
        false
    }

    /// Begins a transaction for works with this isolation, and takes its revision. `since` is the time since which the caller
    /// of its first write waits; `None` if nobody waits for it.
    ///
    /// # Errors
    /// When no transaction can begin.
    fn begin(&mut self, isolation: Isolation, since: Option<Instant>) -> Result<Self::Tx<'_>, StoreError>;

    /// Checks that a commit that has succeeded is durable.
    ///
    /// # Errors
    /// When its changes may be lost.
    fn confirm(&mut self) -> Result<(), StoreError>;

    /// Records the outcome of a transaction that had changes or could not begin.
    fn ended(&mut self, result: Result<(), &StoreError>);

    /// Decides what follows a transaction that failed as a whole: waits and returns `Ok` if its writes run again;
    /// otherwise returns the error that their callers receive.
    fn retry(&mut self, error: StoreError) -> Result<(), StoreError>;

    /// Runs after each group of writes.
    fn after_group(&mut self);

    /// Ends the connection, after the last write.
    fn close(self);
}

/// A transaction of the writing thread.
pub(super) trait WriteTx: Tx {
    /// Returns a number that has grown since an earlier call if a statement has changed something or has failed in a way
    /// that affects later statements. It may also have grown if one that was [sent](Tx::send) has not.
    fn changes(&self) -> u64;

    /// Returns what the commit will write in addition to the changes of the statements.
    fn effects(&mut self) -> &mut Effects;

    /// Returns whether all statements that were [sent](Tx::send) are known to have succeeded or failed.
    fn is_settled(&self) -> bool {
        true
    }

    /// Shortens the time for which later statements wait for locks, if the engine has any: to `max`, or to less if the caller of
    /// the first write has waited for long.
    ///
    /// # Errors
    /// When the connection is lost.
    fn limit_waits(&mut self, _max: Duration) -> Result<(), StoreError> {
        Ok(())
    }

    /// Tells that a write that takes long begins or has ended. Its statements may take long, and its time does not count as time
    /// in which callers wait.
    fn expect_long(&mut self, _begins: bool) {}

    /// Returns the error because of which a statement has failed since the last rollback, if it may succeed in a later
    /// transaction.
    fn conflict(&self) -> Option<StoreError> {
        None
    }

    /// Returns whether the next statement can succeed without a rollback to a savepoint, as far as it is known without waiting.
    fn is_sound(&self) -> bool;

    /// Returns the reason if the transaction as a whole cannot be committed any more.
    fn fault(&self) -> Option<StoreError>;

    /// Writes the [`Effects`], commits, and returns the topics that the transaction touched.
    ///
    /// # Errors
    /// When nothing is committed; when it is unknown whether the changes are committed.
    fn commit(self) -> Result<Vec<Topic>, StoreError>;

    /// Rolls back. An error is ignored: it means that the transaction no longer exists.
    fn rollback(self);

    /// Runs `work` and rolls back its changes.
    ///
    /// # Errors
    /// When the transaction cannot continue.
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
