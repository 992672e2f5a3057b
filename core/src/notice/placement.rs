//! The placement of a notice: when, where and to whom it is visible.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Visibility;

use crate::base::clock::Timestamp;
use crate::record::activation::activation;
use crate::record::schema::Switch;

activation! {
    /// Whether a notice is listed before the others.
    Pin {
        /// In the order of dates.
        Unpinned,
        /// Before all notices that are not pinned.
        Pinned
    }
}

activation! {
    /// The callers for whom a notice is.
    Audience {
        /// All callers.
        Everyone,
        /// Members, which are callers with a valid token.
        Members
    }
}

/// When, where and to whom a notice is visible. Administrators see it always.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Placement {
    /// The time from which the notice is visible; `null` for no limit.
    #[schema(required = true)]
    pub visible_from: Option<Timestamp>,
    /// The time from which the notice is no longer visible; `null` for no limit.
    #[schema(required = true)]
    pub visible_until: Option<Timestamp>,
    /// 1 if the notice is listed before the others.
    #[schema(value_type = Switch)]
    pub pinned: Pin,
    /// The topic on whose page the notice is; `null` for a notice on the general page.
    #[schema(value_type = Option<String>, required = true, max_length = 100, examples("science"))]
    pub topic: Option<Arc<str>>,
    /// 1 if only members see the notice, 0 if guests see it too.
    #[schema(value_type = Switch)]
    pub members_only: Audience,
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            visible_from: None,
            visible_until: None,
            pinned: Pin::Unpinned,
            topic: None,
            members_only: Audience::Everyone,
        }
    }
}

impl Placement {
    pub(super) fn is_current(&self, now: Timestamp) -> bool {
        self.visible_from.is_none_or(|from| from <= now) && self.visible_until.is_none_or(|until| now < until)
    }

    pub(super) fn moments(&self) -> impl Iterator<Item = Timestamp> {
        self.visible_from.into_iter().chain(self.visible_until)
    }

    /// True if some callers do not see the notice in the general list at some time.
    pub(super) fn is_restricted(&self) -> bool {
        let is_dated = self.visible_from.is_some() || self.visible_until.is_some();
        is_dated || self.topic.is_some() || self.members_only == Audience::Members
    }
}

/// Whether a notice is visible at a time, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is visible.
    Shown,
    /// An administrator has hidden it.
    Hidden,
    /// It becomes visible later.
    Scheduled,
    /// It was visible before.
    Ended,
}

impl State {
    pub(super) fn of(activation: Visibility, placement: &Placement, now: Timestamp) -> Self {
        match activation {
            Visibility::Hidden => Self::Hidden,
            Visibility::Shown if placement.is_current(now) => Self::Shown,
            Visibility::Shown if placement.visible_until.is_some_and(|until| until <= now) => Self::Ended,
            Visibility::Shown => Self::Scheduled,
        }
    }
}
