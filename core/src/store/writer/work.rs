//! The queued writes.

use super::super::pending::Pending;
use crate::store::{StoreError, Tx};

/// A queued write, with the channel to its caller.
pub(super) trait Work: Send {
    /// Runs the write in a transaction, and keeps its result. Returns whether it succeeded; otherwise its changes must be
    /// rolled back.
    fn run(&mut self, tx: &mut dyn Tx) -> bool;

    /// Returns whether the write can run again after its changes were rolled back.
    fn is_repeatable(&self) -> bool;

    /// Sends the caller the result of the last run, given the outcome of the commit.
    fn answer(self: Box<Self>, commit: Result<(), StoreError>);
}

/// A write and its result.
struct Queued<F, T, E> {
    write: F,
    result: Option<Result<T, E>>,
    caller: oneshot::Sender<Result<T, E>>,
}

/// A write that can run once.
struct Once<F>(Option<F>);

/// A write that can run again: it has no effect outside its transaction, and takes nothing out of itself.
struct Repeatable<F>(F);

/// The function of a write.
trait Write<T, E>: Send {
    const IS_REPEATABLE: bool;

    fn run(&mut self, tx: &mut dyn Tx) -> Option<Result<T, E>>;
}

impl<T, E, F: FnOnce(&mut dyn Tx) -> Result<T, E> + Send> Write<T, E> for Once<F> {
    const IS_REPEATABLE: bool = false;

    fn run(&mut self, tx: &mut dyn Tx) -> Option<Result<T, E>> {
        self.0.take().map(|write| write(tx))
    }
}

impl<T, E, F: FnMut(&mut dyn Tx) -> Result<T, E> + Send> Write<T, E> for Repeatable<F> {
    const IS_REPEATABLE: bool = true;

    fn run(&mut self, tx: &mut dyn Tx) -> Option<Result<T, E>> {
        Some((self.0)(tx))
    }
}

impl<T, E, W> Work for Queued<W, T, E>
where
    T: Send,
    E: From<StoreError> + Send,
    W: Write<T, E>,
{
    fn run(&mut self, tx: &mut dyn Tx) -> bool {
        self.result = self.write.run(tx);
        matches!(self.result, Some(Ok(_)))
    }

    fn is_repeatable(&self) -> bool {
        W::IS_REPEATABLE
    }

    fn answer(self: Box<Self>, commit: Result<(), StoreError>) {
        // Without a result the sender is dropped, which gives the caller an error, as after a panic.
        if let Some(result) = self.result {
            // Fails when the caller has dropped the `Pending`.
            let _ = self.caller.send(result.and_then(|value| Ok(commit.map(|()| value)?)));
        }
    }
}

/// Returns a write that can run once, and its future result.
pub(super) fn once<T, E>(
    write: impl FnOnce(&mut dyn Tx) -> Result<T, E> + Send + 'static,
) -> (Box<dyn Work>, Pending<T, E>)
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    queued(Once(Some(write)))
}

/// Returns a write that can run again, and its future result.
pub(super) fn repeatable<T, E>(
    write: impl FnMut(&mut dyn Tx) -> Result<T, E> + Send + 'static,
) -> (Box<dyn Work>, Pending<T, E>)
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    queued(Repeatable(write))
}

fn queued<T, E>(write: impl Write<T, E> + 'static) -> (Box<dyn Work>, Pending<T, E>)
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let (caller, result) = oneshot::channel();
    (Box::new(Queued { write, result: None, caller }), Pending::awaited(result))
}
