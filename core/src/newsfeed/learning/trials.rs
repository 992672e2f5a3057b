//! Trials of several choices on the same acts. The best replaces the choice before.

use super::super::clusters::Clusters;
use crate::record::id::MemberKey;

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

    /// Returns the choice before unless the gain of the best one is greater by more than this number of standard errors.
    pub(super) fn best(&self, errors: f64) -> usize {
        let mean = |choice: &usize| self.differences[*choice].mean();
        let best = (0..self.gains.len()).max_by(|a, b| mean(a).total_cmp(&mean(b)));
        let is_better = |choice: &usize| mean(choice) > errors * self.differences[*choice].error();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The gains of 40 members, of whom `better` have 1 with the third choice and the others with the first.
    fn trials(better: i64, before: usize) -> Trials {
        let gains = |member: i64| if member < better { [0.0, 0.5, 1.0] } else { [1.0, 0.5, 0.0] };
        Trials::of((0..40).map(|member| (MemberKey::new(member), gains(member))).collect(), before)
    }

    #[test]
    fn a_choice_stays_unless_another_one_is_better_by_more_than_chance() {
        assert_eq!((trials(40, 0).best(1.0), trials(0, 2).best(1.0)), (2, 0));
        assert_eq!([0, 1, 2].map(|before| trials(22, before).best(1.0)), [0, 1, 2]);
        assert_eq!((trials(26, 0).best(1.0), trials(26, 0).best(2.6)), (2, 0));
        let figures: Vec<_> = trials(40, 0).figures().collect();
        assert_eq!(figures, [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0)]);
    }
}
