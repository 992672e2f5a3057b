use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use tidings_core::Result;
use tidings_core::account::key::Scope;
use tidings_core::changes::Changes;
use tokio::time::{Instant, timeout_at};

use super::history::{CHANGES, frame};
use super::hub::Listener;
use crate::filter::request::Call;
use crate::filter::right::{self, CHECK_EVERY, Right};
use crate::state::AppRef;

const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Contains the changes of the data if `watch` follows them. The stream ends when the server shuts down, when the client is too
/// slow, and when the caller may no longer follow the changes.
pub(super) fn frames(
    begin: Vec<Bytes>,
    listener: Listener,
    watch: Option<Watch>,
) -> impl Stream<Item = Bytes> + Send + Sync + 'static {
    let next = |(mut listener, mut watch): (Listener, Option<Box<Watch>>)| async move {
        Some((next(&mut listener, watch.as_deref_mut()).await?, (listener, watch)))
    };
    stream::iter(begin).chain(stream::unfold((listener, watch.map(Box::new)), next))
}

async fn next(listener: &mut Listener, mut watch: Option<&mut Watch>) -> Option<Bytes> {
    let due = Instant::now() + listener.heartbeat;
    loop {
        let mut wake_at = due;
        if let Some(watch) = &mut watch {
            if let Some(frame) = watch.look().await.ok()? {
                return Some(frame);
            }
            wake_at = due.min(watch.look_at);
        }
        match timeout_at(wake_at, listener.next()).await {
            Ok(frame) => return frame,
            Err(_) if wake_at < due => {}
            Err(_) => {
                if let Some(heartbeat) = listener.heartbeat() {
                    return Some(heartbeat);
                }
            }
        }
    }
}

/// The changes of the data, which administrators follow in their streams. The numbers are in memory, so looking for a change costs
/// the database nothing. Before a change is sent, and every few seconds, a transaction checks that the caller still has the right.
pub(super) struct Watch {
    app: AppRef,
    right: Right,
    sent: Option<Changes>,
    look_at: Instant,
    /// The next check of the right, if no change comes before.
    check_at: Instant,
}

impl Watch {
    pub(super) async fn begin(call: &Call) -> Result<Self> {
        let right = Right::of(call, Scope::AnalyticsRead).await?;
        let now = Instant::now();
        Ok(Self { app: call.app().clone(), right, sent: None, look_at: now, check_at: now + CHECK_EVERY })
    }

    /// Returns the frame of a change. Fails when the caller no longer has the right.
    async fn look(&mut self) -> Result<Option<Bytes>> {
        let now = Instant::now();
        if now < self.look_at {
            return Ok(None);
        }
        self.look_at = now + LOOK_EVERY;
        let changes = Changes::of(&self.app.tidings);
        let has_changed = self.sent != Some(changes);
        if !has_changed && now < self.check_at {
            return Ok(None);
        }
        match self.right.check().await {
            // The next look asks again.
            Err(error) if right::is_temporary(&error) => return Ok(None),
            checked => checked?,
        }
        self.check_at = now + CHECK_EVERY;
        self.sent = Some(changes);
        Ok(has_changed.then(|| frame(None, CHANGES, &changes)))
    }
}
