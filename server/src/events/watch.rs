//! The changes of the data, which administrators follow in their streams.
//!
//! The numbers are in memory, so looking for a change costs the database nothing. Before a change is sent, and every few seconds,
//! a transaction checks that the caller still has the right.

use std::time::Duration;

use bytes::Bytes;
use tidings_core::Result;
use tidings_core::account::key::Scope;
use tidings_core::changes::Changes;
use tokio::time::Instant;

use super::frame;
use crate::filter::request::Call;
use crate::filter::right::{self, CHECK_EVERY, Right};
use crate::state::AppRef;

const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(super) struct Watch {
    app: AppRef,
    right: Right,
    sent: Option<Changes>,
    look_at: Instant,
    /// The next check of the right, if no change comes before.
    check_at: Instant,
}

pub(super) enum Look {
    Nothing,
    Frame(Bytes),
    Refused,
}

impl Watch {
    pub(super) async fn begin(call: &Call) -> Result<Self> {
        let right = Right::of(call, Scope::AnalyticsRead).await?;
        let now = Instant::now();
        Ok(Self { app: call.app().clone(), right, sent: None, look_at: now, check_at: now + CHECK_EVERY })
    }

    pub(super) const fn look_at(&self) -> Instant {
        self.look_at
    }

    pub(super) async fn look(&mut self) -> Look {
        let now = Instant::now();
        if now < self.look_at {
            return Look::Nothing;
        }
        self.look_at = now + LOOK_EVERY;
        let changes = Changes::of(&self.app.tidings);
        let has_changed = self.sent != Some(changes);
        if !has_changed && now < self.check_at {
            return Look::Nothing;
        }
        match self.right.check().await {
            Ok(()) => {
                self.check_at = now + CHECK_EVERY;
                self.sent = Some(changes);
                if has_changed { Look::Frame(frame::changes(&changes)) } else { Look::Nothing }
            }
            // The next look asks again.
            Err(error) if right::is_temporary(&error) => Look::Nothing,
            Err(_) => Look::Refused,
        }
    }
}
