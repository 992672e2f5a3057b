//! One stream of events.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::Kinds;
use super::history::Next;
use super::hub::Permit;
use super::watch::{Look, Watch};

/// A listener: its position in the history, and what wakes it.
pub(super) struct Listener {
    permit: Permit,
    wake: watch::Receiver<()>,
    kinds: Kinds,
    /// The first frames that were not sent yet.
    begin: std::vec::IntoIter<Bytes>,
    position: u64,
    /// The number of the counts that were sent.
    counts: u64,
    heartbeat: Duration,
    /// Follows the changes of the data, if the listener wants them.
    changes: Option<Box<Watch>>,
}

impl Listener {
    pub(super) fn new(
        permit: Permit,
        wake: watch::Receiver<()>,
        kinds: Kinds,
        begin: Vec<Bytes>,
        position: u64,
        heartbeat: Duration,
    ) -> Self {
        Self { permit, wake, kinds, begin: begin.into_iter(), position, counts: 0, heartbeat, changes: None }
    }

    /// Adds the changes of the data to the stream.
    pub(super) fn with_changes(self, changes: Option<Watch>) -> Self {
        Self { changes: changes.map(Box::new), ..self }
    }

    /// Returns the frames as they come. The stream ends when the server shuts down, when the client is too slow, and when the
    /// caller may not follow the changes any more.
    pub(super) fn frames(self) -> impl Stream<Item = Bytes> + Send + Sync + 'static {
        stream::unfold(self, |mut listener| async move { Some((listener.next().await?, listener)) })
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(frame) = self.begin.next() {
            return Some(frame);
        }
        let due = Instant::now() + self.heartbeat;
        let mut is_due = false;
        loop {
            match self.permit.next(&mut self.position, &mut self.counts, self.kinds, is_due) {
                Next::Frame(frame) => return Some(frame),
                Next::Lost => return None,
                Next::Nothing => {}
            }
            let mut wake_at = due;
            if let Some(changes) = &mut self.changes {
                match changes.look().await {
                    Look::Frame(frame) => return Some(frame),
                    Look::Refused => return None,
                    Look::Nothing => wake_at = due.min(changes.look_at()),
                }
            }
            match timeout_at(wake_at, self.wake.changed()).await {
                Ok(woken) => woken.ok()?,
                Err(_) => is_due = wake_at == due,
            }
        }
    }
}
