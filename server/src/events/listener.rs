//! One stream of events.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::Kinds;
use super::history::Next;
use super::hub::Permit;

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
        Self { permit, wake, kinds, begin: begin.into_iter(), position, counts: 0, heartbeat }
    }

    /// Returns the frames as they come. The stream ends when the server shuts down, and when the client is too slow.
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
            match timeout_at(due, self.wake.changed()).await {
                Ok(woken) => woken.ok()?,
                Err(_) => is_due = true,
            }
        }
    }
}
