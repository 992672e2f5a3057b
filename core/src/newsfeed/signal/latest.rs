//! If the latest three posts of a member resemble none of the earlier ones, one of ten places of the feed is for the posts that
//! they alone recommend. A weight that suffices beside a hundred acts would hide what these show. Source: the session profile of
//! Bennett et al., *Modeling the impact of short- and long-term behavior on search personalization*, SIGIR 2012.

use super::interest::{Interest, of_acts};
use super::{SIGNALS, Signal, Weights};
use crate::base::config::Feed;
use crate::base::keyed::OwnSet;
use crate::newsfeed::index::FeedIndex;
use crate::profile::history::Acts;
use crate::record::id::PostKey;

const LATEST: usize = 3;
/// The similarity of an earlier post to the interest of the latest ones from which on it resembles them, where 1 is that of equal
/// posts. A common topic is enough, also if it is that of one of the three alone.
const SAME: f32 = 0.2;
/// One in this number of places is for the latest interest, and it is the fifth of ten.
const ONE_IN: usize = 10;
const PLACE: usize = 4;

/// Returns the posts of acts, those of the latest acts first; a post may occur twice.
pub(crate) fn posts(acts: &Acts) -> Vec<PostKey> {
    let mut all: Vec<_> = acts.liked.iter().chain(&acts.viewed).copied().collect();
    all.sort_by_key(|(key, date)| std::cmp::Reverse((*date, *key)));
    all.dedup_by_key(|(key, _)| *key);
    all.into_iter().map(|(key, _)| key).collect()
}

/// Returns the interest of the latest posts, if it is a new one. `posts` are [those](posts) of the acts.
pub(crate) fn changed(acts: &Acts, posts: &[PostKey], config: &Feed, index: &FeedIndex) -> Option<Interest> {
    let mut latest: Vec<PostKey> = Vec::with_capacity(LATEST);
    for post in posts {
        if latest.len() < LATEST && !latest.contains(post) {
            latest.push(*post);
        }
    }
    let mut earlier = posts.iter().filter(|post| !latest.contains(post)).peekable();
    earlier.peek()?;
    let of_latest =
        |acts: &[(PostKey, _)]| acts.iter().copied().filter(|(post, _)| latest.contains(post)).collect();
    let acts = Acts { liked: of_latest(&acts.liked), viewed: of_latest(&acts.viewed), ..Acts::default() };
    let interest = of_acts(&acts, &config.interest, index)?;
    let by_kind = interest.by_kind(index, &config.interest);
    let shares = [Signal::Topic, Signal::Tag, Signal::Word, Signal::Meaning];
    let weights = Weights::of(config);
    let all: f32 = shares.into_iter().map(|signal| weights[signal]).sum();
    let is_like = |post: &PostKey| -> bool {
        let (mut values, Some(position)) = ([0.0; SIGNALS], index.position(*post)) else { return false };
        by_kind.each(position, &mut |signal, value| values[signal as usize] = value * weights[signal]);
        values.iter().sum::<f32>() >= SAME * all
    };
    (!earlier.any(is_like)).then_some(interest)
}

/// The best posts of the `latest` interest get the fifth of each ten places.
pub(crate) fn interleaved(ranking: &[u32], latest: &[u32]) -> Vec<u32> {
    let mut known: OwnSet<u32> = OwnSet::default();
    let mut rests = [ranking.iter().copied(), latest.iter().copied()];
    let mut merged = Vec::with_capacity(ranking.len() + latest.len());
    loop {
        let is_for_latest = merged.len() % ONE_IN == PLACE;
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
    fn the_fifth_of_ten_posts_is_of_the_latest_interest_and_none_occurs_twice() {
        let ranking: Vec<u32> = (0..12).collect();
        let merged = interleaved(&ranking, &[90, 3, 80]);
        assert_eq!(merged, [0, 1, 2, 3, 90, 4, 5, 6, 7, 8, 9, 10, 11, 80]);
        assert_eq!(interleaved(&[1], &[9, 8, 1, 7]), [1, 9, 8, 7]);
        assert_eq!(interleaved(&[1, 2], &[]), [1, 2]);
    }
}
