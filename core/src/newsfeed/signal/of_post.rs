//! The signals of single posts for a member, for reasons and for learning. [`ScoringContext::recommend`] computes the weighted sum
//! of the same signals for all posts at once.

use super::interest::{ByKind, Interest};
use super::latest;
use super::near::Own;
use super::ranking;
use super::recency::Recency;
use super::score::ScoringContext;
use super::{SIGNALS, Signal, Values};
use crate::base::clock::Timestamp;
use crate::base::config::Feed;
use crate::base::keyed::OwnMap;
use crate::profile::history::Acts;

pub(crate) struct MemberSignals<'m> {
    moment: &'m ScoringContext<'m>,
    by_kind: ByKind<'m>,
    times: Vec<Timestamp>,
    recency: Recency<'m>,
    /// By the number of the member's acts since the publication of a post.
    novelties: Vec<f32>,
    own: Own<'m>,
    together: OwnMap<u32, f32>,
    sums: Vec<f32>,
}

impl<'m> MemberSignals<'m> {
    pub(crate) fn new(
        moment: &'m ScoringContext<'m>,
        interest: &'m Interest,
        acts: &Acts,
        config: &Feed,
    ) -> Self {
        let (times, posts) = (interest.times.clone(), latest::posts(acts));
        let novelties = (0..=times.len()).map(|acts| ranking::novelty(config, acts)).collect();
        Self {
            by_kind: interest.by_kind(moment.index, &config.interest),
            recency: moment.recency(&times, config),
            moment,
            times,
            novelties,
            own: moment.own(&posts, config),
            together: moment.together_scores(&posts).collect(),
            sums: Vec::new(),
        }
    }

    pub(crate) fn of(&mut self, position: u32) -> Values {
        let (index, at) = (self.moment.index, position as usize);
        let date = index.date(position);
        let acts = self.times.partition_point(|time| *time >= date);
        let mut values = [0.0; SIGNALS];
        let mut set = |signal: Signal, value| values[signal as usize] = value;
        self.by_kind.each(position, &mut set);
        set(Signal::Near, self.own.nearest(position, &mut self.sums));
        set(Signal::Novel, self.novelties[acts]);
        set(Signal::Recent, self.recency.recent(at));
        set(Signal::Age, self.recency.age(at));
        set(Signal::Popular, self.moment.popular[at]);
        set(Signal::CoVisits, self.together.get(&position).copied().unwrap_or_default());
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config;
    use crate::newsfeed::index::FeedIndex;
    use crate::newsfeed::index::tests::{as_of_now, row};
    use crate::newsfeed::signal::score::tests::MEMBER;
    use crate::newsfeed::signal::{Scoring, Weights};
    use crate::newsfeed::signal::{co_visits, interest};
    use crate::post::feed_rows::FeedRow;
    use crate::record::id::MemberKey;
    use crate::testing::{NOW, posts};

    #[test]
    fn the_posts_are_recommended_in_the_order_of_the_weighted_sums_of_their_signals() {
        let words = ["stars moon", "soup bread", "soup salt"];
        let rows = (0..20_u8).map(|key| FeedRow {
            keyword: words[usize::from(key) % 3].into(),
            tag: if key % 4 == 0 { vec!["night".into()] } else { vec![] },
            heat: (key % 5 == 0).then(|| f64::from(key)),
            ..row(key.into(), NOW - i64::from(key) * 3_600_000, if key % 2 == 0 { "cats" } else { "dogs" })
        });
        let index = FeedIndex::next(None, rows.collect(), &[], None, as_of_now(), &Feed::default());
        let mut others = co_visits::CoVisits::default();
        for (member, key) in (10..30).flat_map(|n| [(n, 17), (n, 4), (n, 9)]) {
            others.add(MemberKey::new(member), posts([key])[0], key == 17);
        }
        let others = co_visits::ItemNeighbours::new(&others);
        let moment = ScoringContext::now(&index, &others, NOW);
        let at = |key: i64| (posts([key])[0], NOW - key * 3_600_000 + 1);
        let acts = Acts { liked: vec![at(12), at(17)], viewed: vec![at(14)], ..Acts::default() };
        let interest = config::Interest { min_acts: 1, ..config::Interest::default() };
        let config = Feed { interest, diverse_max: 10, ..Feed::default() };
        let weights = Weights([0.3, 0.0, 0.2, 0.1, 0.4, 0.3, 0.5, 0.6, 0.1, 2.0]);
        let interest = interest::measure(&acts, &config.interest, &index).unwrap();
        let mut signals = MemberSignals::new(&moment, &interest, &acts, &config);
        let sum = |values: Values| values.iter().zip(weights.0).map(|(value, weight)| value * weight).sum();
        let mut expected: Vec<(u32, f32)> =
            (0..20).map(|position| (position, sum(signals.of(position)))).collect();
        expected.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let scoring = Scoring { weights, is_learned: false };
        let recommended = moment.recommend(&acts, &[], MEMBER, &scoring, &config).unwrap();
        let expected: Vec<_> = expected.into_iter().map(|(position, _)| index.key(position)).collect();
        assert_eq!(recommended, expected);
        for signal in Signal::ALL.into_iter().filter(|signal| *signal != Signal::Meaning) {
            let of_all: Vec<f32> = (0..20).map(|position| signals.of(position)[signal as usize]).collect();
            // Without tags or a word model, other kinds of features carry their shares.
            let most = if (signal as usize) < Signal::Near as usize { 1.0 / 0.3 } else { 1.0 };
            assert!(of_all.iter().all(|value| (0.0..=most).contains(value)), "{signal:?}: {of_all:?}");
            assert!(of_all.iter().any(|value| *value > 0.0), "{signal:?}");
        }
    }
}
