//! The acts of the past, replayed in the order of their times, and the posts as they were.

use std::borrow::Cow;

use super::co_visits::{CoVisits, ItemNeighbours};
use super::index::FeedIndex;
use super::recent::PastAct;
use super::scoring_context::ScoringContext;
use crate::base::clock::Timestamp;
use crate::post::heat::{Decay, Heats, LIKE_WEIGHT, VIEW_WEIGHT};

pub(super) struct Replay<'i> {
    index: &'i FeedIndex,
    acts: std::slice::Iter<'i, PastAct>,
    /// The heats of each post by position.
    pub(super) heats: Vec<Option<Heats>>,
    pub(super) together: CoVisits,
}

impl<'i> Replay<'i> {
    /// Begins before the first of these acts, the earliest first.
    pub(super) fn new(index: &'i FeedIndex, acts: &'i [PastAct]) -> Self {
        Self { index, acts: acts.iter(), heats: vec![None; index.len()], together: CoVisits::default() }
    }

    pub(super) fn go_to(&mut self, at: Timestamp) {
        while let Some(act) = self.acts.as_slice().first().filter(|act| act.at < at) {
            self.acts.next();
            self.heat(act);
            if self.index.position(act.post).is_some() {
                self.together.add(act.member, act.post, act.is_like);
            }
        }
    }

    pub(super) fn heat(&mut self, act: &PastAct) {
        let Some(position) = self.index.position(act.post) else { return };
        let heats = &mut self.heats[position as usize];
        *heats = Heats::add(*heats, if act.is_like { LIKE_WEIGHT } else { VIEW_WEIGHT }, act.at);
    }

    /// By position.
    pub(super) fn heats(&self, decay: Decay) -> Vec<Option<f64>> {
        self.heats.iter().map(|heats| heats.as_ref().map(|heats| decay.heat(heats))).collect()
    }
}

impl<'i> ScoringContext<'i> {
    /// Words keep their current weights.
    pub(super) fn past(
        index: &'i FeedIndex,
        at: Timestamp,
        popular: Vec<f32>,
        others: &'i ItemNeighbours,
    ) -> Self {
        Self { index, at, first: index.newer_than(at, 0), popular: Cow::Owned(popular), others }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoring_context::tests::{index, recommended};
    use super::*;
    use crate::testing::NOW;

    #[test]
    fn a_moment_in_the_past_knows_no_later_posts() {
        let (index, nobody) = (index(), ItemNeighbours::default());
        let now = recommended(&ScoringContext::now(&index, &nobody, NOW));
        assert_eq!((now.len(), now[0]), (19, 0));
        let moment = ScoringContext::past(&index, NOW - 5 * 3_600_000, vec![0.0; 20], &nobody);
        let then = recommended(&moment);
        assert_eq!((then.len(), then[0]), (14, 6));
        assert!(then.iter().all(|key| *key >= 5));
    }
}
