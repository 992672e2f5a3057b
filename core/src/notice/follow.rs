//! The changes of the notices that all callers see, found by comparing two snapshots, each at its time: a notice that
//! becomes visible by time is published, and one that ends is hidden.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::cache::{CachedNotice, Snapshot};
use super::{Audience, Notice};

use crate::Tidings;
use crate::base::clock::Timestamp;
use crate::record::error::Result;
use crate::record::id::ObjectId;
use crate::store::Topic;

/// A change of a notice, as guests see it: they see the general page, without notices for members only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum NoticeChange {
    /// The notice was inserted, is no longer hidden, or has become visible.
    Published {
        /// The notice.
        notice: Notice,
    },
    /// The title or the text of the notice changed.
    Changed {
        /// The notice as it is now.
        notice: Notice,
    },
    /// The notice was hidden or removed, or has ended.
    Hidden {
        /// The id of the notice.
        #[serde(rename = "_id")]
        #[schema(value_type = String, pattern = "^[0-9a-f]{24}$")]
        id: ObjectId,
    },
}

pub(crate) struct SeenNotices {
    snapshot: Arc<Snapshot>,
    at: Timestamp,
}

impl SeenNotices {
    pub(crate) fn now(tidings: &Tidings) -> Result<Self> {
        let snapshot = super::snapshot(tidings)?;
        Ok(Self { snapshot, at: tidings.now() })
    }

    pub(crate) fn is_stale(&self, tidings: &Tidings) -> bool {
        tidings.store().version(Topic::Notices) > self.snapshot.revision
            || self.snapshot.period(tidings.now()) != self.snapshot.period(self.at)
    }

    /// The time at which a notice began or ended last, in milliseconds; 0 if none has. It does not depend on when it is asked
    /// for, so all servers of a database return the same.
    pub(crate) fn last_moment(&self) -> i64 {
        self.snapshot.period_start(self.at).map_or(0, |began| began.as_millis().max(0))
    }

    pub(crate) fn revision(&self) -> i64 {
        self.snapshot.revision
    }

    pub(crate) fn last_change(&self) -> i64 {
        self.snapshot.last_change
    }

    /// The changes of the oldest notices come first.
    pub(crate) fn changes_until(&self, later: &Self) -> Vec<NoticeChange> {
        let mut before: HashMap<ObjectId, &Notice> =
            self.visible().map(|cached| (cached.notice.id, &cached.notice)).collect();
        let mut changes = Vec::new();
        for cached in later.visible() {
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

    fn visible(&self) -> impl Iterator<Item = &CachedNotice> {
        self.snapshot.visible(Audience::Everyone, self.at)
    }
}
