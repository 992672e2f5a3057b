//! What caches hold, and the revision at which it last changed.

use super::{StoreError, Tx};

/// A kind of data that caches hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// Posts, their views and likes.
    Posts,
    /// Notices.
    Notices,
    /// Counters.
    Counts,
    /// Counters of past days, and the names of the visitors of those days.
    History,
    /// Search terms.
    Terms,
    /// Members, and what administrators see and change of them.
    Members,
    /// Feedback.
    Feedback,
}

impl Topic {
    /// Every topic, in the order of their numbers.
    pub(super) const ALL: [Self; 7] =
        [Self::Posts, Self::Notices, Self::Counts, Self::History, Self::Terms, Self::Members, Self::Feedback];

    /// The topic's name in the database; it may not change.
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

/// The revision at which `topic` last changed, as this transaction sees it; 0 when it never has.
///
/// A cache that is loaded in the same transaction is of that revision.
pub(crate) fn version_in(tx: &mut dyn Tx, topic: Topic) -> Result<i64, StoreError> {
    let row = tx.row("SELECT revision FROM touched WHERE topic = $1", &[topic.name().into()])?;
    row.map_or(Ok(0), |mut row| row.take(0))
}

/// Notes that the transaction changed `topic`.
pub(super) fn set_version(tx: &mut dyn Tx, topic: Topic) -> Result<(), StoreError> {
    let sql = "INSERT INTO touched (topic, revision) VALUES ($1, $2)
               ON CONFLICT (topic) DO UPDATE SET revision = excluded.revision";
    let revision = tx.revision();
    tx.run(sql, &[topic.name().into(), revision.into()])?;
    Ok(())
}
