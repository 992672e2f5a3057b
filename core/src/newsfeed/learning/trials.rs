//! Trials of several choices on the same acts, of which one replaces the choice before.

use super::super::clusters::Clusters;
use crate::record::id::MemberKey;

/// The number of standard errors by which another choice must be better, so that chance alone makes the best of eleven others
/// better in one of twenty stores.
const ERRORS: f64 = 2.6;

/// The gains of several choices.
pub(super) struct Trials {
    pub(super) gains: Vec<Clusters>,
    /// The differences from the choice before.
    differences: Vec<Clusters>,
    before: usize,
}

impl Trials {
    pub(super) fn of<const CHOICES: usize>(acts: Vec<(MemberKey, [f64; CHOICES])>, before: usize) -> Self {
        let empty = || (0..CHOICES).map(|_| Clusters::default()).collect();
        let mut trials = Self { gains: empty(), differences: empty(), before };
        for (member, gains) in acts {
            for (choice, gain) in gains.into_iter().enumerate() {
                trials.gains[choice].add(member, gain);
                trials.differences[choice].add(member, gain - gains[before]);
            }
        }
        trials
    }

    /// Returns the choice with the greatest gain, if it is greater than that of the choice before by more than chance.
    pub(super) fn best(&self) -> usize {
        let mean = |choice: &usize| self.differences[*choice].mean();
        let best = (0..self.gains.len()).max_by(|a, b| mean(a).total_cmp(&mean(b)));
        let is_better = |choice: &usize| mean(choice) > ERRORS * self.differences[*choice].error();
        best.filter(is_better).unwrap_or(self.before)
    }

    /// Returns the gain of each choice, and the standard error of its difference from the choice before.
    pub(super) fn figures(&self) -> impl Iterator<Item = (f64, f64)> {
        self.gains
            .iter()
            .zip(&self.differences)
            .map(|(gains, differences)| (gains.mean(), differences.error()))
    }
}
