//! Answers of writes that are not on disk yet.

use super::StoreError;

/// An answer that comes once it is on disk: wait for it on a thread, or await it.
#[must_use = "nothing is known of the write until its answer is there"]
pub struct Pending<T, E>(pub(super) Answer<T, E>);

pub(super) enum Answer<T, E> {
    Given(Result<T, E>),
    Awaited(oneshot::Receiver<Result<T, E>>),
}

impl<T, E: From<StoreError>> Pending<T, E> {
    /// Waits, blocking the thread, until the answer is there.
    ///
    /// # Errors
    /// The operation's.
    pub fn wait(self) -> Result<T, E> {
        match self.0 {
            Answer::Given(result) => result,
            Answer::Awaited(receiver) => receiver.recv().unwrap_or_else(|_| Err(lost().into())),
        }
    }

    /// Waits, without blocking the thread, until the answer is there; on any runtime.
    ///
    /// # Errors
    /// The operation's.
    pub async fn done(self) -> Result<T, E> {
        match self.0 {
            Answer::Given(result) => result,
            Answer::Awaited(receiver) => receiver.await.unwrap_or_else(|_| Err(lost().into())),
        }
    }

    /// The answer, where it is known without waiting.
    #[cfg(test)]
    pub(super) fn given_already(self) -> Result<Result<T, E>, Self> {
        match self.0 {
            Answer::Given(result) => Ok(result),
            awaited @ Answer::Awaited(_) => Err(Self(awaited)),
        }
    }

    /// An answer that is known already.
    pub(crate) fn given(result: Result<T, E>) -> Self {
        Self(Answer::Given(result))
    }
}

/// Every work is answered before the thread ends, so only one that panicked is not.
fn lost() -> StoreError {
    StoreError::other("the write panicked and was undone")
}
