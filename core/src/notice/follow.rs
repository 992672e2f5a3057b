//! The changes of the notices that all callers see, found by comparing two snapshots.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use super::Notice;
use super::cache::Snapshot;
use crate::Tidings;
use crate::error::Result;
use crate::id::ObjectId;
use crate::store::Topic;

/// A change of a notice, as callers see it who are not administrators: they do not see hidden notices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum NoticeChange {
    /// The notice was inserted, or is no longer hidden.
    Published {
        /// The notice.
        notice: Notice,
    },
    /// The title or the text of the notice changed.
    Changed {
        /// The notice as it is now.
        notice: Notice,
    },
    /// The notice was hidden or removed.
    Hidden {
        /// The id of the notice.
        #[serde(rename = "_id")]
        #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^[0-9a-f]{24}$"))]
        id: ObjectId,
    },
}

/// The notices at some moment.
pub(crate) struct SeenNotices(Arc<Snapshot>);

impl SeenNotices {
    /// Returns the current notices.
    ///
    /// # Errors
    /// An error of the store.
    pub(crate) fn now(tidings: &Tidings) -> Result<Self> {
        Ok(Self(tidings.notice_cache().snapshot(tidings.store())?))
    }

    /// Returns whether the notices may have changed since.
    pub(crate) fn is_stale(&self, tidings: &Tidings) -> bool {
        tidings.store().version(Topic::Notices) > self.0.revision
    }

    /// Returns the revision up to which these notices show every change.
    pub(crate) fn revision(&self) -> i64 {
        self.0.revision
    }

    /// Returns the revision of the last change that these notices show.
    pub(crate) fn last_change(&self) -> i64 {
        self.0.last_change
    }

    /// Returns the changes of the shown notices from these to the `later` ones, those of the oldest notices first.
    pub(crate) fn changes_until(&self, later: &Self) -> Vec<NoticeChange> {
        let mut before: HashMap<ObjectId, &Notice> =
            self.0.shown_notices().map(|cached| (cached.notice.id, &cached.notice)).collect();
        let mut changes = Vec::new();
        for cached in later.0.shown_notices() {
            let notice = || cached.now();
            match before.remove(&cached.notice.id) {
                None => changes.push(NoticeChange::Published { notice: notice() }),
                Some(old) if (&old.title, &old.post) != (&cached.notice.title, &cached.notice.post) => {
                    changes.push(NoticeChange::Changed { notice: notice() });
                }
                Some(_) => {}
            }
        }
        // The snapshot has the newest notices first.
        changes.reverse();
        let mut hidden: Vec<_> = before.into_keys().collect();
        hidden.sort_unstable();
        changes.extend(hidden.into_iter().map(|id| NoticeChange::Hidden { id }));
        changes
    }
}
