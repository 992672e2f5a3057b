//! Notices with all fields, for pages of topics and for administrators.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::placement::Audience;
use super::reader::{Reader, read_as};
use super::{Notice, Placement, State};

use crate::Tidings;
use crate::account::Caller;
use crate::answer::{self, Encoded};
use crate::clock::Timestamp;
use crate::error::Result;

/// A notice with all fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FullNotice {
    /// The notice.
    #[serde(flatten)]
    pub notice: Notice,
    /// When, where and to whom it is visible.
    #[serde(flatten)]
    pub placement: Placement,
}

impl FullNotice {
    /// Returns whether the notice is visible at a time, and if not, why.
    pub fn state(&self, now: Timestamp) -> State {
        State::of(self.notice.activation, &self.placement, now)
    }
}

impl Deref for FullNotice {
    type Target = Notice;

    fn deref(&self) -> &Notice {
        &self.notice
    }
}

/// The notices that [`list_full`] returns.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListQuery<'a> {
    /// The topic whose notices are listed besides those without a topic.
    pub topic: Option<&'a str>,
    /// Whether the texts are rendered.
    pub html: bool,
}

/// Several notices with all fields. Cheap to clone.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FullList {
    /// The notices: pinned ones first, then the newest first.
    #[schema(value_type = Vec<FullNotice>)]
    notice_list: Arc<[FullNotice]>,
    #[serde(skip)]
    answer: Arc<Encoded>,
}

impl FullList {
    pub(super) fn new(notice_list: Arc<[FullNotice]>) -> Self {
        #[derive(Serialize)]
        struct Body<'a> {
            notice_list: &'a [FullNotice],
        }
        let answer = answer::success(&Body { notice_list: &notice_list });
        Self { notice_list, answer: Arc::new(Encoded::new(answer)) }
    }

    /// Returns the notices.
    pub fn notices(&self) -> &[FullNotice] {
        &self.notice_list
    }

    /// Returns the complete answer, `{"result":"success","notice_list":[…]}`. Callers with the same rights share it until
    /// a change or a view.
    pub fn answer(&self) -> &Arc<Encoded> {
        &self.answer
    }
}

impl<'de> Deserialize<'de> for FullList {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Body {
            notice_list: Arc<[FullNotice]>,
        }
        Ok(Self::new(Body::deserialize(deserializer)?.notice_list))
    }
}

/// Returns the notices that the caller sees on the general page or on the page of a topic, with all fields: pinned ones
/// first, then the newest first.
///
/// Administrators also get hidden notices, and those that are not yet or no longer visible; without a topic, they get those
/// of all topics. A caller with an invalid token is answered as a guest.
///
/// # Errors
/// An error of the store.
pub fn list_full(tidings: &Tidings, caller: &Caller, query: &ListQuery<'_>) -> Result<FullList> {
    let snapshot = super::snapshot(tidings)?;
    if !snapshot.has_restricted() {
        return Ok(snapshot.full_list(&Reader::Guest, query, tidings.now()));
    }
    read_as(tidings, caller, |reader| snapshot.full_list(reader, query, tidings.now()))
}

/// Does the same as [`list_full`] with the views that other processes have counted, in a program that runs no service.
///
/// # Errors
/// An error of the store.
pub fn list_full_with_views(tidings: &Tidings, caller: &Caller, query: &ListQuery<'_>) -> Result<FullList> {
    // The views are those of the notices in memory.
    super::snapshot(tidings)?;
    tidings.other_views().refresh()?;
    list_full(tidings, caller, query)
}

/// Returns the answer of [`list_full`] for a guest, or `None` if it is not in memory or is out of date. Never blocks.
pub fn try_list_full(tidings: &Tidings, query: &ListQuery<'_>) -> Option<FullList> {
    let snapshot = tidings.notice_cache().snapshot_in_memory(tidings.store())?;
    snapshot.cached_full_list(Audience::Everyone, query, tidings.now())
}
