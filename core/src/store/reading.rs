//! Reading: on the caller's thread, or on a standby.

use std::time::Duration;

use super::{CommitTime, Store, StoreError, Topic, Tx};

impl Store {
    /// Runs `work` on the caller's thread, on the current state of the database.
    ///
    /// # Errors
    /// The error of `work`, or an error of the store when it cannot read.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        self.read_on_engine(None, work)
    }

    /// Returns whether a read would start at once, because an open connection is idle.
    pub(crate) fn can_read_now(&self) -> bool {
        self.engine.can_read_now()
    }

    /// Does the same as [`Store::read`] for data that may be slightly stale: it lacks the commits of at most the last half
    /// second, and none that this process knew of at the moment `seen`.
    ///
    /// The database may have standbys, and one of them answers if it is close enough behind the primary. `work` may run more
    /// than once, and only its last run counts.
    ///
    /// With a `limit`, the work may take long: such reads use at most half of the connections, so that short reads never wait
    /// for them, and the store interrupts their statements after `limit`.
    ///
    /// # Errors
    /// The errors of [`Store::read`]; [`StoreError::Overloaded`] after `limit`.
    pub(crate) fn read_stale<T, E: From<StoreError>>(
        &self,
        limit: Option<Duration>,
        seen: CommitTime,
        mut work: impl FnMut(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let (mut result, began) = (None, CommitTime::now());
        if self.engine.read_stale(limit, seen, &mut |tx| result = Some(work(tx)))
            && let Some(result) = result
        {
            return result;
        }
        self.read_on_engine(limit.map(|limit| limit.saturating_sub(began.elapsed())), work)
    }

    /// Does the same as [`Store::read_stale`] after `current`, which sees the current state of the database and decides, for
    /// example, what the caller may read.
    ///
    /// # Errors
    /// The errors of [`Store::read_stale`]; the error of `current`.
    pub(crate) fn read_stale_after<C, T, E: From<StoreError>>(
        &self,
        limit: Option<Duration>,
        seen: CommitTime,
        current: impl FnOnce(&mut dyn Tx) -> Result<C, E>,
        mut work: impl FnMut(&mut dyn Tx, &C) -> Result<T, E>,
    ) -> Result<T, E> {
        if !self.engine.can_read_stale(seen) {
            return self.read_on_engine(limit, |tx| {
                let current = current(tx)?;
                work(tx, &current)
            });
        }
        let current = self.read(current)?;
        self.read_stale(limit, seen, |tx| work(tx, &current))
    }

    /// Returns the moment at which this process last learnt of a change of `topic`.
    pub(crate) fn changed(&self, topic: Topic) -> CommitTime {
        self.versions.changed(topic)
    }

    fn read_on_engine<T, E: From<StoreError>>(
        &self,
        limit: Option<Duration>,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        #[cfg(test)]
        let work = |tx: &mut dyn Tx| work(&mut self.simulation().of(tx));
        let (mut work, mut result) = (Some(work), None);
        self.engine.read(limit, &mut |tx| result = work.take().map(|work| work(tx)))?;
        result.expect("the engine has run the work")
    }
}

#[cfg(test)]
impl Store {
    /// Does the same as [`Store::read`] with a time limit.
    pub(super) fn read_within<T, E: From<StoreError>>(
        &self,
        limit: Duration,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        self.read_on_engine(Some(limit), work)
    }
}
