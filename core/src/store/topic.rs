//! What caches hold, and when it changed.

use super::{StoreError, Tx};

/// What caches hold and the store says changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// Posts, their views and likes.
    Posts,
    /// Notices.
    Notices,
    /// What is counted.
    Counts,
    /// What was counted on days that are over, and whose it was.
    History,
    /// What was searched.
    Terms,
    /// Who is a member, and what administrators see and set of them.
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
/// A cache that is loaded in the same transaction holds what stood at that revision.
pub(crate) fn version_in(tx: &mut dyn Tx, topic: Topic) -> Result<i64, StoreError> {
    let row = tx.row("SELECT revision FROM touched WHERE topic = $1", &[topic.name().into()])?;
    row.map_or(Ok(0), |mut row| row.take(0))
}
