//! Trials of other weights: how the recommended feed would change if a weight were halved or doubled.

use serde::Serialize;

use super::super::clusters::Clusters;
use super::super::signals::{Scoring, Signal, Weights};
use super::metrics::rounded;
use crate::record::id::MemberKey;

/// The factors that are tried.
const FACTORS: [f32; 2] = [0.5, 2.0];

/// The settings that are tried, each with its signals. Interest is one setting.
const SETTINGS: [(&str, &[Signal]); 6] = [
    ("interest-weight", &[Signal::Topic, Signal::Tag, Signal::Word, Signal::Meaning]),
    ("near-weight", &[Signal::Near]),
    ("novel-weight", &[Signal::Novel]),
    ("recent-weight", &[Signal::Recent]),
    ("popular-weight", &[Signal::Popular]),
    ("together-weight", &[Signal::CoVisits]),
];

/// The recommended feed with another weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// The setting that has the weight.
    pub setting: &'static str,
    /// The signals whose weights are multiplied.
    pub signals: Vec<&'static str>,
    /// The factor.
    pub factor: f64,
    /// How much greater `ndcg10` would be …
    pub gain: f64,
    /// … and the standard error of this difference, with the figures of a member as one cluster.
    pub gain_error: f64,
    /// The number of comparisons.
    pub comparisons: usize,
}

/// The gains of other weights.
pub(super) struct Trials(Vec<Tried>);

struct Tried {
    setting: &'static str,
    signals: &'static [Signal],
    factor: f32,
    scoring: Scoring,
    gains: Clusters,
}

impl Trials {
    /// Tries weights in place of these. A weight of 0 has no factor.
    pub(super) fn of(scoring: &Scoring) -> Self {
        let mut all = Vec::new();
        for (setting, signals) in SETTINGS {
            if signals.iter().all(|signal| scoring.weights[*signal] <= 0.0) {
                continue;
            }
            for factor in FACTORS {
                let weight =
                    |signal| scoring.weights[signal] * if signals.contains(&signal) { factor } else { 1.0 };
                let weights = Weights(Signal::ALL.map(weight));
                let scoring = Scoring { weights, ..scoring.clone() };
                all.push(Tried { setting, signals, factor, scoring, gains: Clusters::default() });
            }
        }
        Self(all)
    }

    /// Adds the gain of each scoring for a member.
    pub(super) fn add(&mut self, member: MemberKey, gain: impl Fn(&Scoring) -> f64) {
        for tried in &mut self.0 {
            tried.gains.add(member, gain(&tried.scoring));
        }
    }

    /// Returns the trials, the greatest gain first; none without comparisons.
    pub(super) fn report(&self) -> Vec<Trial> {
        let all = self.0.iter().filter(|tried| tried.gains.count() > 0);
        let mut all: Vec<Trial> = all
            .map(|Tried { setting, signals, factor, gains, .. }| Trial {
                setting,
                signals: signals.iter().map(|signal| signal.name()).collect(),
                factor: f64::from(*factor),
                gain: rounded(gains.mean()),
                gain_error: rounded(gains.error()),
                comparisons: gains.count(),
            })
            .collect();
        all.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::Feed;

    #[test]
    fn each_weight_is_halved_and_doubled_and_a_weight_of_0_is_left_out() {
        let config = Feed { novel_weight: 0.0, ..Feed::default() };
        let mut trials = Trials::of(&Scoring::of(&config));
        assert_eq!(trials.0.len(), 10);
        assert!(trials.report().is_empty());
        let recent = Scoring::of(&config).weights[Signal::Recent];
        // Only the doubled recency is better: by 0.4 for one member and 0.2 for another, so by 0.3 ± 0.1/√2.
        for (member, gain) in [(1, 0.4), (2, 0.2)] {
            trials.add(MemberKey::new(member), |scoring| {
                if scoring.weights[Signal::Recent] > 1.5 * recent { gain } else { 0.0 }
            });
        }
        let best = Trial {
            setting: "recent-weight",
            signals: vec!["recent"],
            factor: 2.0,
            gain: 0.3,
            gain_error: 0.0707,
            comparisons: 2,
        };
        assert_eq!(trials.report()[0], best);
        let topic = Scoring::of(&config).weights[Signal::Topic];
        let interest = trials.0.iter().find(|tried| tried.setting == "interest-weight").unwrap();
        assert!((interest.scoring.weights[Signal::Topic] - topic / 2.0).abs() < 1e-6);
    }
}
