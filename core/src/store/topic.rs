//! The kinds of cached data, and the revision at which each last changed.

use super::{StoreError, Tx};

/// A kind of cached data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// Posts with their views and likes.
    Posts,
    /// Notices.
    Notices,
    /// Counters.
    Counts,
    /// Counters of past days and the visitors of those days.
    History,
    /// Search terms.
    Terms,
    /// Members and the data that administrators see and change.
    Members,
    /// Feedback.
    Feedback,
}

impl Topic {
    /// All topics in the order of their numbers.
    pub(super) const ALL: [Self; 7] =
        [Self::Posts, Self::Notices, Self::Counts, Self::History, Self::Terms, Self::Members, Self::Feedback];

    /// Returns the topic's name in the database, which must not change.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Posts => "posts",
            Self::Notices => "notices",
            Self::Counts => "counts",
            Self::History => "history",
            Self::Terms => "terms",
            Self::Members => "members",
            Self::Feedback => "feedback",
        }
    }
}

/// Returns the revision at which `topic` last changed, in this transaction's view; 0 if it never has.
///
/// This is the revision of a cache that is loaded in the same transaction.
pub(crate) fn version_in(tx: &mut dyn Tx, topic: Topic) -> Result<i64, StoreError> {
    let row = tx.row("SELECT revision FROM touched WHERE topic = $1", &[topic.name().into()])?;
    row.map_or(Ok(0), |mut row| row.take(0))
}

/// Records that the transaction changed `topic`.
pub(super) fn set_version(tx: &mut dyn Tx, topic: Topic) -> Result<(), StoreError> {
    let sql = "INSERT INTO touched (topic, revision) VALUES ($1, $2)
               ON CONFLICT (topic) DO UPDATE SET revision = excluded.revision";
    let revision = tx.revision();
    tx.run(sql, &[topic.name().into(), revision.into()])?;
    Ok(())
}
