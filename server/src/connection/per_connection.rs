//! References of one connection to states that all connections share.

use std::ops::Deref;
use std::sync::Arc;

/// Its clones are counted together, and apart from those of other connections. Each request takes some; if all counted in one
/// place, processors that serve different connections would wait for each other.
#[expect(clippy::redundant_allocation, reason = "the second count is what it is for")]
pub(crate) struct PerConnection<T>(Arc<Arc<T>>);

impl<T> PerConnection<T> {
    pub(crate) fn new(state: Arc<T>) -> Self {
        Self(Arc::new(state))
    }

    pub(crate) fn for_connection(&self) -> Self {
        Self::new(Arc::clone(&self.0))
    }
}

impl<T> Clone for PerConnection<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for PerConnection<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
