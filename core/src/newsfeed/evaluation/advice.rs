//! What the figures of an evaluation mean, in plain sentences. Each sentence says only what the figures support.

use super::trials::Trial;
use super::{Evaluation, Quality};
use crate::newsfeed::Learned;

/// The minimum number of members for a statement about a difference.
const MEMBERS_MIN: usize = 20;
/// The number of standard errors from which on a difference of two orders is not chance.
const ERRORS: f64 = 2.0;
/// The number for the best of several weights that are tried: a bound for twelve of them at about one in ten.
const TRIAL_ERRORS: f64 = 2.6;

/// Returns the sentences about an evaluation.
pub(super) fn advice(evaluation: &Evaluation) -> Vec<String> {
    let Evaluation { members, rows, best_simple, daily, before_acts, learned, learns, .. } = evaluation;
    let replays = [
        ("Asked once", *members, rows, *best_simple),
        ("Asked each day", daily.members, &daily.rows, daily.best_simple),
        ("Asked just before each act", before_acts.members, &before_acts.rows, before_acts.best_simple),
    ];
    let measured = replays.into_iter().filter(|(_, members, ..)| *members >= MEMBERS_MIN);
    let mut sentences: Vec<String> = measured
        .filter_map(|(asked, _, rows, best)| {
            Some(compared(asked, row(rows, "recommended")?, row(rows, best?)?))
        })
        .collect();
    if sentences.is_empty() {
        return vec![format!(
            "Change nothing yet: differences between fewer than {MEMBERS_MIN} members are chance, and more acts are needed."
        )];
    }
    // The moment before an act is closest to how members ask for the feed.
    let rows = if before_acts.members >= MEMBERS_MIN { &before_acts.rows } else { rows };
    sentences.push(about_learning(*learns, learned.as_ref(), row(rows, "settings")));
    if before_acts.members >= MEMBERS_MIN {
        sentences.extend(about_trials(&before_acts.trials, is_in_use(learned.as_ref())));
    }
    sentences
}

/// Returns the row of a ranking.
fn row<'r>(rows: &'r [Quality], ranking: &str) -> Option<&'r Quality> {
    rows.iter().find(|row| row.ranking == ranking)
}

/// Returns whether weights that were learned are those of the recommended feed.
fn is_in_use(learned: Option<&Learned>) -> bool {
    learned.is_some_and(|learned| learned.is_better)
}

/// Compares the recommended feed with the best simple order.
fn compared(asked: &str, recommended: &Quality, simple: &Quality) -> String {
    let Quality { ranking, ndcg10, lead, lead_error, .. } = simple;
    let verdict = if lead.abs() <= ERRORS * lead_error {
        format!("the recommended feed and the best simple order, {ranking}, do not differ measurably")
    } else if *lead > 0.0 {
        format!("the recommended feed is better than the best simple order, {ranking}")
    } else {
        format!("the simple order {ranking} is better than the recommended feed")
    };
    format!(
        "{asked}, {verdict}: ndcg@10 {:.4} and {ndcg10:.4}, difference {lead:.4} +/- {lead_error:.4}.",
        recommended.ndcg10
    )
}

/// Says what learning has changed; `settings` is the feed with the weights of the settings.
fn about_learning(learns: bool, learned: Option<&Learned>, settings: Option<&Quality>) -> String {
    let Some(learned) = learned else {
        return if learns {
            "No weights were learned: the acts before the split have too few visits, and more acts are needed.".into()
        } else {
            "Learning is off, so the feed has the weights of the settings.".into()
        };
    };
    let visits = learned.visits;
    if !learned.is_better {
        return format!(
            "The weights learned from {visits} visits were not better in the cross-validation, so the feed has those of the \
             settings."
        );
    }
    let Some(Quality { lead, lead_error, .. }) = settings else { return String::new() };
    let difference = format!("difference {lead:.4} +/- {lead_error:.4}");
    if lead.abs() <= ERRORS * lead_error {
        format!(
            "The weights learned from {visits} visits are in use, and not measurably better or worse than those of the settings: \
             {difference}."
        )
    } else if *lead > 0.0 {
        format!(
            "The weights learned from {visits} visits are better than those of the settings: {difference}."
        )
    } else {
        format!(
            "The weights learned from {visits} visits are worse than those of the settings: {difference}. Set learn to off."
        )
    }
}

/// Says which other weight would help, if one would.
fn about_trials(trials: &[Trial], is_learned: bool) -> Option<String> {
    let best = trials.first()?;
    let Trial { setting, gain, gain_error, comparisons, .. } = best;
    if *gain <= TRIAL_ERRORS * gain_error || *gain <= 0.0 {
        return Some(format!(
            "Keep the weights: none of them, halved or doubled, makes the feed measurably better in {comparisons} comparisons."
        ));
    }
    if is_learned {
        // Learned weights are not the operator's to change.
        return None;
    }
    let change = if best.factor > 1.0 { "Double" } else { "Halve" };
    Some(format!(
        "{change} the setting {setting}: the feed would be better in {comparisons} comparisons by {gain:.4} +/- {gain_error:.4}. Then measure again."
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{BeforeActs, Daily};
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::base::config::Feed;
    use crate::newsfeed::signals::Weights;

    fn quality(ranking: &'static str, ndcg10: f64, lead: f64, lead_error: f64) -> Quality {
        Quality {
            ranking,
            ndcg10,
            ndcg10_error: 0.01,
            lead,
            lead_error,
            recall30: 0.0,
            recall30_error: 0.0,
            coverage: 0.0,
            diversity: 0.0,
        }
    }

    /// Rows with the lead of the recommended feed over the settings and over the newest posts, both ± 0.01.
    fn rows(over_settings: f64, over_newest: f64) -> Vec<Quality> {
        vec![
            quality("recommended", 0.2, 0.0, 0.0),
            quality("settings", 0.2 - over_settings, over_settings, 0.01),
            quality("newest", 0.2 - over_newest, over_newest, 0.01),
        ]
    }

    fn trial(gain: f64) -> Trial {
        let (setting, signals) = ("recent-weight", vec!["recent"]);
        Trial { setting, signals, factor: 2.0, gain, gain_error: 0.01, comparisons: 300 }
    }

    fn learned(is_better: bool) -> Learned {
        Learned {
            at: Timestamp::from_millis(0),
            visits: 90,
            members: 30,
            ndcg10_of_settings: 0.1,
            ndcg10: 0.1,
            ndcg10_error: 0.0,
            is_better,
            weights: Weights::of(&Feed::default()),
        }
    }

    fn evaluation(members: usize, learned: Option<Learned>, gain: f64) -> Evaluation {
        let best_simple = Some("newest");
        Evaluation {
            at: Timestamp::from_millis(0),
            members,
            posts: 9,
            rows: rows(0.0, 0.1),
            best_simple,
            daily: Daily { members, days: 99, rows: rows(0.0, 0.02), best_simple },
            before_acts: BeforeActs {
                members,
                moments: 300,
                acts: 400,
                rows: rows(-0.03, -0.05),
                best_simple,
                trials: vec![trial(gain)],
            },
            learns: true,
            learned,
            advice: Vec::new(),
        }
    }

    #[test]
    fn each_replay_and_each_change_has_its_sentence() {
        let expected = [
            "Asked once, the recommended feed is better than the best simple order, newest: ndcg@10 0.2000 and 0.1000, \
             difference 0.1000 +/- 0.0100.",
            "Asked each day, the recommended feed and the best simple order, newest, do not differ measurably: ndcg@10 0.2000 \
             and 0.1800, difference 0.0200 +/- 0.0100.",
            "Asked just before each act, the simple order newest is better than the recommended feed: ndcg@10 0.2000 and \
             0.2500, difference -0.0500 +/- 0.0100.",
            "No weights were learned: the acts before the split have too few visits, and more acts are needed.",
            "Double the setting recent-weight: the feed would be better in 300 comparisons by 0.0300 +/- 0.0100. Then measure \
             again.",
        ];
        assert_eq!(advice(&evaluation(20, None, 0.03)), expected);
    }

    #[test]
    fn differences_between_few_members_are_chance() {
        let expected = "Change nothing yet: differences between fewer than 20 members are chance, and more acts are needed.";
        assert_eq!(advice(&evaluation(19, None, 0.03)), [expected]);
    }

    #[test]
    fn learned_weights_are_compared_and_not_changed_by_hand() {
        let last = |learned, gain| advice(&evaluation(20, learned, gain))[3..].to_vec();
        let worse = "The weights learned from 90 visits are worse than those of the settings: difference -0.0300 +/- 0.0100. Set \
                     learn to off.";
        assert_eq!(last(Some(learned(true)), 0.03), [worse]);
        let unused = "The weights learned from 90 visits were not better in the cross-validation, so the feed has those of the \
                      settings.";
        let keep = "Keep the weights: none of them, halved or doubled, makes the feed measurably better in 300 comparisons.";
        assert_eq!(last(Some(learned(false)), 0.026), [unused, keep]);
        let off = Evaluation { learns: false, ..evaluation(20, None, 0.0) };
        assert_eq!(advice(&off)[3], "Learning is off, so the feed has the weights of the settings.");
    }
}
