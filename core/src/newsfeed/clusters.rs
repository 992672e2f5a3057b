//! Means of figures of which a member may have several.

use crate::base::keyed::OwnMap;
use crate::record::id::MemberKey;

/// The figures of a member are one cluster, because they depend on each other.
#[derive(Default)]
pub(super) struct Clusters {
    count: usize,
    sum: f64,
    /// The number and the sum of the figures of each member.
    members: OwnMap<MemberKey, (usize, f64)>,
}

#[expect(clippy::cast_precision_loss, reason = "figures are far fewer than 2^53")]
impl Clusters {
    pub(super) fn add(&mut self, member: MemberKey, figure: f64) {
        self.count += 1;
        self.sum += figure;
        let (count, sum) = self.members.entry(member).or_default();
        (*count, *sum) = (*count + 1, *sum + figure);
    }

    pub(super) fn members(&self) -> usize {
        self.members.len()
    }

    /// 0 without figures.
    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }

    /// Returns the standard error of the mean; 0 without figures.
    ///
    /// Source: Liang and Zeger, *Longitudinal data analysis using generalized linear models*, Biometrika 73(1), 1986.
    pub(super) fn error(&self) -> f64 {
        let mean = self.mean();
        let deviation = |(count, sum): &(usize, f64)| (sum - *count as f64 * mean).powi(2);
        self.members.values().map(deviation).sum::<f64>().sqrt() / self.count.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_member_are_one_cluster() {
        let mut clusters = Clusters::default();
        assert!(clusters.mean().abs() < 1e-12 && clusters.error().abs() < 1e-12);
        let (one, other) = (MemberKey::new(1), MemberKey::new(2));
        clusters.add(one, 1.0);
        clusters.add(other, 0.0);
        // Both deviate by a half: the root of 2/4, divided by 2.
        assert!((clusters.mean() - 0.5).abs() < 1e-12);
        assert!((clusters.error() - 0.5_f64.sqrt() / 2.0).abs() < 1e-12);
        // A member whose figures cancel each other adds no error.
        clusters.add(one, 0.0);
        clusters.add(other, 1.0);
        assert!((clusters.mean() - 0.5).abs() < 1e-12 && clusters.error().abs() < 1e-12);
        assert_eq!(clusters.members(), 2);
    }
}
