//! The interest of a member's latest acts, where it differs from that of all acts.
//!
//! The interest of a long history hardly changes with a few acts. If the latest three acts show another one, some places of the
//! feed are for the posts that this interest alone recommends, until the interest of all acts has followed. The feed of a
//! member whose latest acts are like the earlier ones does not change.
//!
//! Source: the long-term and the session profile of Bennett et al., *Modeling the impact of short- and long-term behavior on
//! search personalization*, SIGIR 2012; with places of their own in place of a weight, because a weight that suffices beside a
//! hundred acts would hide what they show.

use super::index::FeedIndex;
use super::interest::{Interest, of_acts};
use crate::base::clock::Timestamp;
use crate::base::config;
use crate::base::keyed::OwnSet;
use crate::profile::history::Acts;

/// The acts of this number of distinct times are the latest.
const LATEST: usize = 3;
/// Interests of at least this similarity are the same: two of three latest acts on a new interest are below it, and one is not.
const SAME: f32 = 0.5;
/// One of this number of places is for the latest interest: three of the first ten.
const ONE_IN: usize = 3;

/// `None` if it is the interest of all acts, or if there are no earlier acts.
pub(super) fn changed(
    interest: &Interest,
    acts: &Acts,
    config: &config::Interest,
    index: &FeedIndex,
) -> Option<Interest> {
    let since = *interest.times.get(LATEST - 1).filter(|_| interest.times.len() > LATEST)?;
    let latest = of_acts(&since_time(acts, since), config, index)?;
    (latest.similarity(interest, config) < SAME).then_some(latest)
}

fn since_time(acts: &Acts, since: Timestamp) -> Acts {
    fn kept<T: Clone>(acts: &[(T, Timestamp)], since: Timestamp) -> Vec<(T, Timestamp)> {
        acts.iter().filter(|(_, date)| *date >= since).cloned().collect()
    }
    let Acts { liked, viewed, hidden, searched, opened } = acts;
    Acts {
        liked: kept(liked, since),
        viewed: kept(viewed, since),
        hidden: kept(hidden, since),
        searched: kept(searched, since),
        opened: kept(opened, since),
    }
}

/// The best posts of the `latest` interest get the second of each three places.
pub(super) fn interleaved(ranking: &[u32], latest: &[u32]) -> Vec<u32> {
    let mut known: OwnSet<u32> = OwnSet::default();
    let mut rests = [ranking.iter().copied(), latest.iter().copied()];
    let mut merged = Vec::with_capacity(ranking.len() + latest.len());
    loop {
        let is_for_latest = merged.len() % ONE_IN == 1;
        let order = if is_for_latest { [1, 0] } else { [0, 1] };
        let next = order.into_iter().find_map(|of| rests[of].find(|post| known.insert(*post)));
        let Some(post) = next else { return merged };
        merged.push(post);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_post_is_of_the_latest_interest_and_none_occurs_twice() {
        assert_eq!(interleaved(&[1, 2, 3, 4, 5, 6], &[9, 1, 8, 3]), [1, 9, 2, 3, 8, 4, 5, 6]);
        assert_eq!(interleaved(&[1], &[9, 8, 1, 7]), [1, 9, 8, 7]);
        assert_eq!(interleaved(&[1, 2], &[]), [1, 2]);
    }
}
