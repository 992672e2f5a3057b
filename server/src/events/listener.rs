//! One stream of events.

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::time::{Instant, timeout_at};

use super::hub::Listener;
use super::watch::{Look, Watch};

/// Contains the changes of the data if `watch` follows them. The stream ends when the server shuts down, when the client is too
/// slow, and when the caller may no longer follow the changes.
pub(super) fn frames(
    listener: Listener,
    watch: Option<Watch>,
) -> impl Stream<Item = Bytes> + Send + Sync + 'static {
    stream::unfold((listener, watch.map(Box::new)), |(mut listener, mut watch)| async move {
        Some((next(&mut listener, watch.as_deref_mut()).await?, (listener, watch)))
    })
}

async fn next(listener: &mut Listener, mut watch: Option<&mut Watch>) -> Option<Bytes> {
    if let Some(frame) = listener.first() {
        return Some(frame);
    }
    let due = Instant::now() + listener.heartbeat;
    loop {
        let mut wake_at = due;
        if let Some(watch) = &mut watch {
            match watch.look().await {
                Look::Frame(frame) => return Some(frame),
                Look::Refused => return None,
                Look::Nothing => wake_at = due.min(watch.look_at()),
            }
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
