//! Answers of writes that are not on disk yet.

use crate::error::{Error, Result};

/// An answer that comes once it is on disk: wait for it on a thread, or await it.
#[must_use = "nothing is known of the write until its answer is there"]
pub struct Pending<T>(pub(super) Answer<T>);

pub(super) enum Answer<T> {
    Given(Result<T>),
    Awaited(oneshot::Receiver<Result<T>>),
}

impl<T> Pending<T> {
    /// Waits, blocking the thread, until the answer is there.
    ///
    /// # Errors
    /// The operation's.
    pub fn wait(self) -> Result<T> {
        match self.0 {
            Answer::Given(result) => result,
            Answer::Awaited(receiver) => receiver.recv().unwrap_or_else(|_| Err(lost())),
        }
    }

    /// Waits, without blocking the thread, until the answer is there; on any runtime.
    ///
    /// # Errors
    /// The operation's.
    pub async fn done(self) -> Result<T> {
        match self.0 {
            Answer::Given(result) => result,
            Answer::Awaited(receiver) => receiver.await.unwrap_or_else(|_| Err(lost())),
        }
    }

    /// The answer, where it is known without waiting.
    #[cfg(test)]
    pub(super) fn given_already(self) -> std::result::Result<Result<T>, Self> {
        match self.0 {
            Answer::Given(result) => Ok(result),
            awaited @ Answer::Awaited(_) => Err(Self(awaited)),
        }
    }

    /// An answer that is known already.
    pub(crate) fn given(result: Result<T>) -> Self {
        Self(Answer::Given(result))
    }
}

/// Every work is answered before the thread ends, so only one that panicked is not.
fn lost() -> Error {
    Error::Internal("the write panicked and was undone".into())
}
