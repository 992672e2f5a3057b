//! The queued writes.

use std::time::Instant;

use super::super::pending::Pending;
use crate::{Isolation, StoreError, Tx};

pub(super) trait Work: Send {
    /// Runs the write, and replaces the result of an earlier run, whose changes were rolled back. The changes of this run must be
    /// rolled back if it returns false.
    fn run(&mut self, tx: &mut dyn Tx) -> bool;

    /// The time when the first of its callers sent it.
    fn sent(&self) -> Instant;

    fn isolation(&self) -> Isolation;

    /// The failure of another write must not make a long write run again.
    fn is_long(&self) -> bool;

    fn writes(&self) -> usize {
        1
    }

    /// Sends the caller the result of the last run, given the outcome of the commit.
    fn answer(self: Box<Self>, commit: Result<(), StoreError>);
}

struct Queued<F, T, E> {
    sent: Instant,
    isolation: Isolation,
    write: F,
    is_long: bool,
    result: Option<Result<T, E>>,
    caller: oneshot::Sender<Result<T, E>>,
}

impl<F, T, E> Work for Queued<F, T, E>
where
    F: FnMut(&mut dyn Tx) -> Result<T, E> + Send,
    T: Send,
    E: From<StoreError> + Send,
{
    fn run(&mut self, tx: &mut dyn Tx) -> bool {
        self.result.insert((self.write)(tx)).is_ok()
    }

    fn sent(&self) -> Instant {
        self.sent
    }

    fn isolation(&self) -> Isolation {
        self.isolation
    }

    fn is_long(&self) -> bool {
        self.is_long
    }

    fn answer(self: Box<Self>, commit: Result<(), StoreError>) {
        // Without a result the sender is dropped, which gives the caller an error, as after a panic.
        if let Some(result) = self.result {
            // Fails when the caller has dropped the `Pending`.
            let _ = self.caller.send(result.and_then(|value| Ok(commit.map(|()| value)?)));
        }
    }
}

pub(super) fn queued<T, E>(
    isolation: Isolation,
    write: impl FnMut(&mut dyn Tx) -> Result<T, E> + Send + 'static,
    is_long: bool,
) -> (Box<dyn Work>, Pending<T, E>)
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let (caller, result) = oneshot::channel();
    let queued = Queued { sent: Instant::now(), isolation, write, is_long, result: None, caller };
    (Box::new(queued), Pending::awaited(result))
}
