//! The changes of the data, which administrators follow in their streams.
//!
//! The numbers are in memory, so that looking for a change costs the database nothing. Only before a change is sent, a
//! transaction checks that the caller still has the right.

use std::time::Duration;

use bytes::Bytes;
use tidings_core::account::{Caller, Client};
use tidings_core::changes::Changes;
use tidings_core::{Error, Result, status};
use tokio::time::Instant;

use super::frame;
use crate::app::AppRef;
use crate::request::Call;

/// The interval of the looks for changes.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Follows the changes for one listener.
pub(super) struct Watch {
    app: AppRef,
    caller: Caller,
    client: Client,
    /// The numbers that were sent last.
    sent: Option<Changes>,
    look_at: Instant,
}

/// What a look for changes found.
pub(super) enum Look {
    Nothing,
    Frame(Bytes),
    /// The caller no longer has the right.
    Refused,
}

impl Watch {
    /// Begins to follow the changes, if the caller may.
    ///
    /// # Errors
    /// `bad token`, `Not admin`; `overloaded`.
    pub(super) async fn begin(call: &Call) -> Result<Self> {
        let (app, caller) = (call.app().clone(), call.caller().clone());
        let (client, look_at) = (call.address().into(), Instant::now());
        let watch = Self { app, caller, client, sent: None, look_at };
        watch.check().await?;
        Ok(watch)
    }

    /// Returns the time of the next look.
    pub(super) const fn look_at(&self) -> Instant {
        self.look_at
    }

    /// Looks for changes if it is time.
    pub(super) async fn look(&mut self) -> Look {
        let now = Instant::now();
        if now < self.look_at {
            return Look::Nothing;
        }
        self.look_at = now + LOOK_EVERY;
        let changes = Changes::of(&self.app.tidings);
        if self.sent == Some(changes) {
            return Look::Nothing;
        }
        match self.check().await {
            Ok(()) => {
                self.sent = Some(changes);
                Look::Frame(frame::changes(&changes))
            }
            // The next look asks again.
            Err(error) if matches!(error, Error::Overloaded) || error.is_unavailable() => Look::Nothing,
            Err(_) => Look::Refused,
        }
    }

    async fn check(&self) -> Result<()> {
        let (tidings, caller) = (self.app.tidings.clone(), self.caller.clone());
        self.app.lanes.read.run_for(self.client, move || status::check(&tidings, &caller)).await
    }
}
