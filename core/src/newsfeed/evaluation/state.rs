//! The past up to a moment, for the recommended feed and for the orders that it is compared with.

use super::super::index::FeedIndex;
use super::super::past::Replay;
use super::super::recent::PastAct;
use super::neighbours::Neighbours;
use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::config::Feed;

/// What was known of the acts on the posts of an index at a moment.
pub(super) struct PastState<'a> {
    acts: &'a [PastAct],
    pub(super) replay: Replay<'a>,
    pub(super) neighbours: Neighbours<'a>,
}

impl<'a> PastState<'a> {
    /// Begins before the first of these acts, the earliest first.
    pub(super) fn new(index: &'a FeedIndex, acts: &'a [PastAct], config: &Feed) -> Self {
        Self { acts, replay: Replay::new(index, acts, config), neighbours: Neighbours::new(index, acts) }
    }

    /// Replays the acts before the time `at`.
    pub(super) fn go_to(&mut self, at: Timestamp) {
        self.replay.go_to(at);
        self.neighbours.go_to(at);
    }

    /// Returns the acts of the 24 hours before the time `at`.
    pub(super) fn last_day(&self, at: Timestamp) -> &'a [PastAct] {
        let before = |at: Timestamp| self.acts.partition_point(|act| act.at < at);
        &self.acts[before(at - DAY_MS)..before(at)]
    }
}
