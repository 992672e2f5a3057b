//! Chooses the half-life of popularity under which the acts of the next day rank highest. Acts come in clusters, so posts are
//! ranked as 12 to 36 hours before the act, without those on which the member had acted; the gain is `1 / log2(1 + rank)`. The
//! longest within the error of the best: Breiman, Friedman, Olshen and Stone, *Classification and regression trees*, 1984.

use super::gain::{Clusters, gain_of_rank};
use super::recent::{PastAct, Replay};
use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::signal::popularity::{LearnedPopularity, TriedHalfLife, finite};

use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::keyed::{OwnMap, OwnSet};
use crate::post::heat::{GRID, HALF_LIVES};
use crate::record::id::{MemberKey, PostKey};

const ACTS_MIN: usize = 100;
/// One in this number of the acts is replayed before the first one that counts.
const BEFORE: usize = 5;
/// The maximum number of acts that count, and of these times the number of posts, because each act takes a time that grows
/// with the posts.
const ACTS_MAX: usize = 1_000;
const WORK_MAX: usize = 50_000_000;
/// The minimum time between an act and the moment at which its posts are ranked; the maximum is a day longer.
const AHEAD_MS: i64 = DAY_MS / 2;
/// The time that is added for each act to that of the one before, without whole days: the golden section of a day, whose
/// multiples are spread evenly over it.
const STEP_MS: i64 = 53_398_137;

/// An act on a post on which the member had not acted.
#[derive(Clone, Copy)]
struct First {
    member: MemberKey,
    position: usize,
    at: Timestamp,
    replayed: usize,
}

/// Learns from `acts`, in the order of their times. Returns `None` if there are too few, or if `is_stopped`.
pub(crate) fn learn(
    index: &FeedIndex,
    acts: &[PastAct],
    at: Timestamp,
    is_stopped: &dyn Fn() -> bool,
) -> Option<LearnedPopularity> {
    let all = firsts(index, acts);
    if all.len() < ACTS_MIN {
        return None;
    }
    let mut sampled = spread(&all, ACTS_MAX.min(WORK_MAX / index.len()).max(1));
    sampled.sort_by_key(|act| act.replayed);
    let found = gains(index, acts, &sampled, is_stopped);
    if is_stopped() {
        return None;
    }
    let of_place = |gain: &dyn Fn(&[f64; GRID]) -> f64| {
        let mut clusters = Clusters::default();
        for (member, gains) in &found {
            clusters.add(*member, gain(gains));
        }
        clusters
    };
    let means: [f64; GRID] = std::array::from_fn(|place| of_place(&|gains| gains[place]).mean());
    let best = (0..GRID).max_by(|a, b| means[*a].total_cmp(&means[*b])).unwrap_or_default();
    let errors: [f64; GRID] =
        std::array::from_fn(|place| of_place(&|gains| gains[best] - gains[place]).error());
    let is_level = |place: &usize| means[best] - means[*place] <= errors[*place];
    let chosen = (best..GRID).rfind(is_level).unwrap_or(best);
    let tried = HALF_LIVES.iter().zip(means).zip(errors);
    Some(LearnedPopularity {
        at,
        acts: sampled.len(),
        members: of_place(&|_| 0.0).members(),
        half_life_days: finite(HALF_LIVES[chosen]),
        half_lives: tried
            .map(|((days, gain), error)| TriedHalfLife { half_life_days: finite(*days), gain, error })
            .collect(),
    })
}

/// Leaves out acts without enough acts before them.
fn firsts(index: &FeedIndex, acts: &[PastAct]) -> Vec<First> {
    let mut known: OwnSet<(MemberKey, PostKey)> = OwnSet::default();
    let mut all = Vec::new();
    for (act, number) in acts.iter().zip(0_i64..) {
        let is_first = known.insert((act.member, act.post));
        let Some(position) = index.position(act.post).filter(|_| is_first) else { continue };
        let at = act.at - (AHEAD_MS + number * STEP_MS % DAY_MS);
        let replayed = acts.partition_point(|other| other.at < at);
        if replayed >= acts.len() / BEFORE && index.date(position) <= at {
            all.push(First { member: act.member, position: position as usize, at, replayed });
        }
    }
    all
}

/// At most `max`, evenly spread.
fn spread(all: &[First], max: usize) -> Vec<First> {
    let count = all.len().min(max);
    (0..count).map(|n| all[n * all.len() / count]).collect()
}

/// The acts are in the order of their moments.
fn gains(
    index: &FeedIndex,
    acts: &[PastAct],
    sampled: &[First],
    is_stopped: &dyn Fn() -> bool,
) -> Vec<(MemberKey, [f64; GRID])> {
    let mut replay = Replay::new(index, acts);
    let mut known: OwnMap<MemberKey, Vec<u32>> = OwnMap::default();
    let (mut replayed, mut gains) = (0, Vec::new());
    for act in sampled.iter().take_while(|_| !is_stopped()) {
        for earlier in &acts[replayed..act.replayed] {
            replay.heat(earlier);
            known.entry(earlier.member).or_default().extend(index.position(earlier.post));
        }
        replayed = act.replayed;
        let seen = known.get(&act.member).into_iter().flatten().copied();
        let left_out: OwnSet<usize> =
            seen.chain(index.ended(act.at)).map(|position| position as usize).collect();
        let own = replay.heats[act.position];
        let mut ranks = [1_usize; GRID];
        let others = index.newer_than(act.at, 0)..index.len();
        for position in others.filter(|position| *position != act.position && !left_out.contains(position)) {
            let is_newer = position < act.position;
            for (rank, place) in ranks.iter_mut().zip(0..) {
                let [other, own] =
                    [replay.heats[position], own].map(|heats| heats.map(|heats| heats.at(place)));
                *rank += usize::from(other > own || other == own && is_newer);
            }
        }
        gains.push((act.member, ranks.map(gain_of_rank)));
    }
    gains
}

#[cfg(test)]
mod tests;
