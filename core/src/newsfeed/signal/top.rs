/// The scores that are compared with the least of the best at a time: a multiple of the width of vector registers.
const STEP: usize = 16;

/// Of the scores above `least`, with their positions, the greatest first; ties by position. The order is that of
/// [`f32::total_cmp`]. Most scores are only compared with the least of the best until then.
pub(crate) fn top(scores: &[f32], count: usize, least: f32) -> Vec<(u32, f32)> {
    let mut best: Vec<u64> = Vec::with_capacity(2 * count + STEP);
    let mut least = least;
    for (scores, first) in scores.chunks(STEP).zip((0..).step_by(STEP)) {
        // To the end of the step, so that the comparisons are vectorised.
        let mut any = false;
        for score in scores {
            any |= *score > least;
        }
        if !any {
            continue;
        }
        best.extend(
            scores.iter().zip(first..).filter(|(score, _)| **score > least).map(|(s, at)| ranked(*s, at)),
        );
        if best.len() > 2 * count {
            // A later score that is equal to the least of the best comes after it.
            keep_greatest(&mut best, count);
            least = best.last().map_or(f32::INFINITY, |last| score_of(*last));
        }
    }
    keep_greatest(&mut best, count);
    best.sort_unstable_by_key(|entry| std::cmp::Reverse(*entry));
    best.into_iter().map(|entry| (position_of(entry), score_of(entry))).collect()
}

/// The last entry is then the least.
fn keep_greatest(best: &mut Vec<u64>, count: usize) {
    if best.len() > count && count > 0 {
        best.select_nth_unstable_by_key(count - 1, |entry| std::cmp::Reverse(*entry));
    }
    best.truncate(count);
}

/// Greater for a greater score, and for an earlier position of an equal score.
#[inline]
fn ranked(score: f32, at: u32) -> u64 {
    let bits = score.to_bits();
    let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
    u64::from(ordered) << 32 | u64::from(!at)
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is the position")]
fn position_of(ranked: u64) -> u32 {
    !(ranked as u32)
}

#[inline]
fn score_of(ranked: u64) -> f32 {
    let ordered = (ranked >> 32) as u32;
    f32::from_bits(if ordered >> 31 == 0 { !ordered } else { ordered ^ 1 << 31 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_are_those_of_the_sorted_scores(
            scores in prop::collection::vec(prop_oneof![-2.0..2.0_f32, Just(0.5), Just(0.0), Just(f32::NEG_INFINITY)], 0..400),
            count in 0_usize..50,
            least in prop_oneof![Just(f32::NEG_INFINITY), Just(0.0)],
        ) {
            let mut sorted: Vec<(u32, f32)> = (0..).zip(scores.iter().copied()).filter(|(_, score)| *score > least).collect();
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            sorted.truncate(count);
            prop_assert_eq!(top(&scores, count, least), sorted);
        }
    }
}
