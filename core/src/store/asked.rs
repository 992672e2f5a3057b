//! Statements whose answers are read later.

use super::{StoreError, Tx};

/// The answer to a statement that was sent. Other statements may follow before it is read, which saves the way to a server and
/// back for each.
#[must_use = "without reading the answer, nobody knows whether the statement succeeded"]
pub(crate) struct Asked<'a, T>(Box<Answering<'a, T>>);

/// What waits for an answer.
type Answering<'a, T> = dyn FnOnce(&mut dyn Tx) -> Result<T, StoreError> + 'a;

impl<'a, T: 'a> Asked<'a, T> {
    /// Wraps an answer that is known.
    pub(crate) fn given(answer: T) -> Self {
        Self(Box::new(|_| Ok(answer)))
    }

    /// Wraps an answer that `take` returns once the transaction is [settled](Tx::settle).
    #[cfg(feature = "postgres")]
    pub(super) fn awaited(take: impl FnOnce() -> Result<T, StoreError> + 'a) -> Self {
        Self(Box::new(|tx| {
            tx.settle()?;
            take()
        }))
    }

    /// Does something with the answer when it is read.
    pub(crate) fn then<U: 'a>(
        self,
        next: impl FnOnce(&mut dyn Tx, T) -> Result<U, StoreError> + 'a,
    ) -> Asked<'a, U> {
        Asked(Box::new(|tx| {
            let answer = self.answer(tx)?;
            next(tx, answer)
        }))
    }

    /// Waits for the answer. `tx` is the transaction that has sent the statement.
    ///
    /// # Errors
    /// That of the statement, or of one that was sent before it.
    pub(crate) fn answer(self, tx: &mut dyn Tx) -> Result<T, StoreError> {
        (self.0)(tx)
    }
}
