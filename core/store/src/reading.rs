//! Reading, on the caller's thread.

use std::time::Duration;

use super::{Store, StoreError, Tx};

impl Store {
    pub fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        self.read_on_engine(None, work)
    }

    /// A read would start at once, because a connection is idle.
    pub fn can_read_now(&self) -> bool {
        self.engine.can_read_now()
    }

    /// For work that may take long: such reads use at most half of the connections, so that short reads never wait for them, and
    /// the store interrupts their statements after `limit`, with [`StoreError::Overloaded`].
    pub fn read_within<T, E: From<StoreError>>(
        &self,
        limit: Duration,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        self.read_on_engine(Some(limit), work)
    }

    fn read_on_engine<T, E: From<StoreError>>(
        &self,
        limit: Option<Duration>,
        work: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        #[cfg(any(test, feature = "testing"))]
        let work = |tx: &mut dyn Tx| self.versions.simulation.run(tx, work);
        let (mut work, mut result) = (Some(work), None);
        self.engine.read(limit, &mut |tx| result = work.take().map(|work| work(tx)))?;
        result.expect("the engine has run the work")
    }
}
