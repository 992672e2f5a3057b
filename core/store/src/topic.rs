//! The kinds of cached data, and the revision at which each last changed.

use strum::{IntoStaticStr, VariantArray};

use super::{StoreError, Tx};

/// The name in the database must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Topic {
    /// Before the counts, which are read by the days of the zone.
    Zone,
    /// With their views and likes.
    Posts,
    /// Changes and removals, without new posts, views and likes.
    #[strum(serialize = "post texts")]
    PostTexts,
    /// Without the number of their views.
    Notices,
    #[strum(serialize = "notice views")]
    NoticeViews,
    Counts,
    /// Counters of past days and the visitors of those days.
    History,
    Terms,
    /// With the data that administrators see and change.
    Members,
    Feedback,
    Audit,
    /// With their deliveries, and the time when the next notice becomes visible.
    Webhooks,
    Sources,
    Mail,
}

impl Topic {
    pub const ALL: &[Self] = Self::VARIANTS;

    pub(super) fn name(self) -> &'static str {
        self.into()
    }
}

/// 0 if the topic never changed. A change with a smaller revision may become visible later.
pub fn last_change_in(tx: &mut dyn Tx, topic: Topic) -> Result<i64, StoreError> {
    // One row on SQLite; an engine with several writers inserts a row for each change.
    let sql = "SELECT coalesce(max(revision), 0) FROM touched WHERE topic = $1";
    tx.one(sql, &[topic.name().into()])?.take(0)
}

/// Returns the revision up to which this transaction sees every change of `topic`: that of the last change or, if changes with
/// smaller revisions may become visible later, the [horizon](Tx::horizon). It is 0 if the topic has never changed.
///
/// This is the version of a cache that is loaded in the same transaction.
pub fn version_in(tx: &mut dyn Tx, topic: Topic) -> Result<i64, StoreError> {
    Ok(versions_in(tx, topic)?.0)
}

/// Returns what [`version_in`] and [`last_change_in`] return.
pub fn versions_in(tx: &mut dyn Tx, topic: Topic) -> Result<(i64, i64), StoreError> {
    let horizon = tx.horizon()?;
    let last = last_change_in(tx, topic)?;
    Ok((last.min(horizon), last))
}

/// Returns a version with which every transaction sees the same data; `None` if this one sees changes beyond its horizon.
pub fn complete_version_in(tx: &mut dyn Tx, topic: Topic) -> Result<Option<i64>, StoreError> {
    let horizon = tx.horizon()?;
    Ok(Some(last_change_in(tx, topic)?).filter(|last| *last <= horizon))
}
