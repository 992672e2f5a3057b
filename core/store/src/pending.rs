//! The future result of a queued write.

use std::pin::Pin;
use std::task::{Context, Poll};

use super::StoreError;

/// The result of a queued write. [`Pending::wait`] blocks until the write is on disk; `.await` waits without blocking the
/// thread, on any async runtime.
///
/// The write happens even if this is dropped.
#[must_use = "the write may fail: wait for its result"]
pub struct Pending<T, E>(Answer<T, E>);

/// The future of a `Pending`.
#[must_use = "futures do nothing unless polled"]
pub struct PendingFuture<T, E>(FutureState<T, E>);

enum FutureState<T, E> {
    Known(Option<Result<T, E>>),
    Awaited(oneshot::AsyncReceiver<Result<T, E>>),
}

enum Answer<T, E> {
    Given(Result<T, E>),
    Awaited(oneshot::Receiver<Result<T, E>>),
}

impl<T, E: From<StoreError>> Pending<T, E> {
    /// Blocks the thread until the write is on disk, and returns its result.
    ///
    /// # Errors
    /// The operation's errors.
    pub fn wait(self) -> Result<T, E> {
        match self.0 {
            Answer::Given(result) => result,
            Answer::Awaited(receiver) => receiver.recv().unwrap_or_else(|_| Err(lost().into())),
        }
    }

    /// Returns the result if it is known without waiting.
    #[cfg(test)]
    pub(super) fn known(self) -> Result<Result<T, E>, Self> {
        match self.0 {
            Answer::Given(result) => Ok(result),
            awaited @ Answer::Awaited(_) => Err(Self(awaited)),
        }
    }

    pub fn given(result: Result<T, E>) -> Self {
        Self(Answer::Given(result))
    }

    pub(super) fn awaited(receiver: oneshot::Receiver<Result<T, E>>) -> Self {
        Self(Answer::Awaited(receiver))
    }
}

impl<T, E: From<StoreError>> IntoFuture for Pending<T, E> {
    type Output = Result<T, E>;
    type IntoFuture = PendingFuture<T, E>;

    fn into_future(self) -> PendingFuture<T, E> {
        PendingFuture(match self.0 {
            Answer::Given(result) => FutureState::Known(Some(result)),
            Answer::Awaited(receiver) => FutureState::Awaited(receiver.into_future()),
        })
    }
}

impl<T, E: From<StoreError>> Future for PendingFuture<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, E>> {
        match &mut self.0 {
            FutureState::Known(result) => {
                Poll::Ready(result.take().expect("a future is not polled after completion"))
            }
            FutureState::Awaited(receiver) => {
                Pin::new(receiver).poll(cx).map(|answer| answer.unwrap_or_else(|_| Err(lost().into())))
            }
        }
    }
}

// The result is moved out, never pinned.
impl<T, E> Unpin for PendingFuture<T, E> {}

/// The writer drops the sender only when a write panics.
fn lost() -> StoreError {
    StoreError::other("the write panicked and was rolled back")
}
