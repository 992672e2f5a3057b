//! Chooses the half-life of popularity: the earlier acts of the store are replayed with each half-life of the grid, and the one
//! stays under which the next acts rank highest.
//!
//! The posts of an act's moment are ranked as they were before it, without those on which the member had acted. The gain of
//! a half-life is the mean of `1 / log2(1 + rank)` of the posts of the acts. A half-life replaces the one before if its gain
//! is greater by more than chance, so that the choice does not change between neighbours.

use super::super::gain::gain_of_rank;
use super::super::index::FeedIndex;
use super::super::past::Replay;
use super::super::popularity::{LearnedPopularity, TriedHalfLife, finite};
use super::super::recent::PastAct;
use super::trials::Trials;
use crate::base::clock::Timestamp;
use crate::base::keyed::{OwnMap, OwnSet};
use crate::post::heat::{DEFAULT_HALF_LIFE_DAYS, GRID, HALF_LIVES, Heats};
use crate::record::id::{MemberKey, PostKey};

const ACTS_MIN: usize = 100;
/// One in this number of the acts is replayed before the first one that counts.
const BEFORE: usize = 5;
/// The number of standard errors by which another half-life must be better, so that the choice does not change between values
/// that are equally good. More would keep small stores from their best one.
const ERRORS: f64 = 1.0;
/// The maximum number of acts that count, and of that number times the number of posts, because the time that an act takes grows
/// with the posts.
const ACTS_MAX: usize = 1_000;
const WORK_MAX: usize = 50_000_000;

/// An act on a post on which the member had not acted.
#[derive(Clone, Copy)]
struct First {
    member: MemberKey,
    at: Timestamp,
    position: usize,
    /// The number of acts before it.
    replayed: usize,
}

/// `acts` are in the order of their times; the result replaces `before`. Returns `None` if there are too few acts, or if
/// `is_stopped`.
pub(super) fn learn(
    index: &FeedIndex,
    acts: &[PastAct],
    before: Option<&LearnedPopularity>,
    at: Timestamp,
    is_stopped: &dyn Fn() -> bool,
) -> Option<LearnedPopularity> {
    let all = firsts(index, acts);
    if all.len() < ACTS_MIN {
        return None;
    }
    let sampled = spread(&all, ACTS_MAX.min(WORK_MAX / index.len()).max(1));
    let half_life_before = before.map_or(DEFAULT_HALF_LIFE_DAYS, LearnedPopularity::half_life_days);
    let before_at = HALF_LIVES.iter().position(|days| *days >= half_life_before).unwrap_or(GRID - 1);
    let trials = Trials::of(Walk { index, acts, is_stopped }.half_lives(&sampled), before_at);
    if is_stopped() {
        return None;
    }
    let tried = trials.figures().zip(HALF_LIVES);
    Some(LearnedPopularity {
        at,
        acts: sampled.len(),
        members: trials.gains[0].members(),
        half_life_days: finite(HALF_LIVES[trials.best(ERRORS)]),
        half_lives: tried
            .map(|((gain, error), days)| TriedHalfLife { half_life_days: finite(days), gain, error })
            .collect(),
        topic_lift: before.map_or(0.0, |before| before.topic_lift),
        topic_lifts: Vec::new(),
    })
}

/// Leaves out acts without enough acts before them.
fn firsts(index: &FeedIndex, acts: &[PastAct]) -> Vec<First> {
    let mut known: OwnSet<(MemberKey, PostKey)> = OwnSet::default();
    let mut all = Vec::new();
    for (replayed, act) in acts.iter().enumerate() {
        let is_first = known.insert((act.member, act.post));
        let Some(position) = index.position(act.post) else { continue };
        if is_first && replayed >= acts.len() / BEFORE && index.date(position) <= act.at {
            all.push(First { member: act.member, at: act.at, position: position as usize, replayed });
        }
    }
    all
}

/// At most `max`, evenly spread.
fn spread(all: &[First], max: usize) -> Vec<First> {
    let count = all.len().min(max);
    (0..count).map(|n| all[n * all.len() / count]).collect()
}

struct Walk<'a> {
    index: &'a FeedIndex,
    acts: &'a [PastAct],
    is_stopped: &'a dyn Fn() -> bool,
}

struct Moment<'m> {
    act: First,
    heats: &'m [Option<Heats>],
    /// The position of the newest post that exists.
    first: usize,
    /// The positions of posts that the member would not be shown.
    left_out: OwnSet<u32>,
}

impl Walk<'_> {
    /// `judge` gets the moment before each act.
    fn each(&self, acts: &[First], mut judge: impl FnMut(&Moment<'_>)) {
        let mut replay = Replay::new(self.index, self.acts);
        let mut known: OwnMap<MemberKey, Vec<u32>> = OwnMap::default();
        let mut replayed = 0;
        for act in acts.iter().take_while(|_| !(self.is_stopped)()) {
            for earlier in &self.acts[replayed..act.replayed] {
                replay.heat(earlier);
                let position = self.index.position(earlier.post);
                known.entry(earlier.member).or_default().extend(position);
            }
            replayed = act.replayed;
            let own = known.get(&act.member).into_iter().flatten().copied();
            judge(&Moment {
                act: *act,
                heats: &replay.heats,
                first: self.index.newer_than(act.at, 0),
                left_out: own.chain(self.index.ended(act.at)).collect(),
            });
        }
    }

    /// Returns the gain of each half-life of the grid at each act.
    fn half_lives(&self, acts: &[First]) -> Vec<(MemberKey, [f64; GRID])> {
        let mut gains = Vec::new();
        self.each(acts, |moment| {
            let mut ranks = [1_usize; GRID];
            let own = moment.heats[moment.act.position];
            for position in moment.others() {
                let is_newer = position < moment.act.position;
                for (rank, place) in ranks.iter_mut().zip(0..) {
                    let [other, own] =
                        [moment.heats[position], own].map(|heats| heats.map(|heats| heats.at(place)));
                    *rank += usize::from(other > own || other == own && is_newer);
                }
            }
            gains.push((moment.act.member, ranks.map(gain_of_rank)));
        });
        gains
    }
}

impl Moment<'_> {
    /// The posts that could be shown in place of the post of the act.
    fn others(&self) -> impl Iterator<Item = usize> {
        #[expect(clippy::cast_possible_truncation, reason = "positions fit 32 bits")]
        let is_shown =
            |position: &usize| *position != self.act.position && !self.left_out.contains(&(*position as u32));
        (self.first..self.heats.len()).filter(is_shown)
    }
}

#[cfg(test)]
mod tests;
