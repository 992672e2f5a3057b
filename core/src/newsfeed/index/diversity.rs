//! The diversity of feeds: consecutive posts of different topics and sites, and first posts of different stories.

use std::collections::VecDeque;

/// In consecutive posts.
pub(crate) const WINDOW: usize = 10;
/// No two of this number of first posts tell the same story.
pub(crate) const STORIES: usize = 30;
/// The number of posts that wait for a place, which bounds the time.
const LOOK_AHEAD: usize = 200;

/// Reorders a ranking so that no label fills a window of ten posts while other posts are available, and no two of the first
/// [`STORIES`] posts tell the same story. `labels` returns the labels of a post, topics and site, as small numbers. A post waits
/// while one of its labels occurs `max` times among the nine preceding posts; the best waiting post that fits takes the next
/// place. A label that all posts share has no limit. `same` tells whether two posts tell the same story. The posts that tell the
/// story of a better one follow after the first places, or at the end if there are no others. Only the first `length` places are
/// filled. This is the greedy re-ranking of Carbonell and Goldstein, *The use of MMR, diversity-based reranking for reordering
/// documents and producing summaries*, SIGIR 1998, with hard limits in place of a penalty.
pub(crate) fn diversify<'l>(
    ranking: &[u32],
    labels: impl Fn(u32) -> &'l [u32],
    max: impl Fn(u32) -> usize,
    same: impl Fn(u32, u32) -> bool,
    length: usize,
) -> Vec<u32> {
    let mut room = room(ranking, &labels, &max);
    let mut rest = ranking.iter().copied();
    // Posts that have no room yet, the best first, and posts that tell the story of one of the first.
    let (mut waiting, mut repeats) = (Vec::new(), VecDeque::new());
    let mut chosen: Vec<u32> = Vec::with_capacity(length.min(ranking.len()));
    while chosen.len() < length {
        let fits = |post: &u32| labels(*post).iter().all(|label| room[*label as usize] > 0);
        let mut found = waiting.iter().position(fits);
        while found.is_none() && waiting.len() < LOOK_AHEAD {
            let is_first = chosen.len() < STORIES;
            let next = if is_first { None } else { repeats.pop_front() };
            let Some(post) = next.or_else(|| rest.next()) else { break };
            if is_first && chosen.iter().any(|other| same(*other, post)) {
                repeats.push_back(post);
            } else {
                found = Some(waiting.len()).filter(|_| fits(&post));
                waiting.push(post);
            }
        }
        // If no post fits, the best one takes the place.
        let next =
            if waiting.is_empty() { repeats.pop_front() } else { Some(waiting.remove(found.unwrap_or(0))) };
        let Some(next) = next else { break };
        if chosen.len() < STORIES {
            repeats.extend(waiting.extract_if(.., |post| same(next, *post)));
        }
        chosen.push(next);
        for label in labels(next) {
            room[*label as usize] -= 1;
        }
        if let Some(out) = chosen.len().checked_sub(WINDOW) {
            for label in labels(chosen[out]) {
                room[*label as usize] += 1;
            }
        }
    }
    chosen
}

fn room<'l>(ranking: &[u32], labels: &impl Fn(u32) -> &'l [u32], max: &impl Fn(u32) -> usize) -> Vec<i64> {
    let all = || ranking.iter().flat_map(|post| labels(*post));
    let mut room = vec![i64::MIN; all().max().map_or(0, |greatest| *greatest as usize + 1)];
    for label in all() {
        let room = &mut room[*label as usize];
        if *room == i64::MIN {
            *room = i64::try_from(max(*label)).unwrap_or(i64::MAX);
        }
    }
    for label in labels_of_all(ranking, labels) {
        room[label as usize] = i64::MAX;
    }
    room
}

fn labels_of_all<'l>(ranking: &[u32], labels: &impl Fn(u32) -> &'l [u32]) -> Vec<u32> {
    let Some((first, others)) = ranking.split_first() else { return Vec::new() };
    let mut common = labels(*first).to_vec();
    for post in others {
        if common.is_empty() {
            break;
        }
        common.retain(|label| labels(*post).contains(label));
    }
    common
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// No two posts tell the same story.
    fn none(_: u32, _: u32) -> bool {
        false
    }

    /// Posts with other labels interrupt runs of one label, in the order of their ranks.
    #[test]
    fn the_best_fitting_post_comes_next() {
        let labels: Vec<[u32; 1]> = [1, 1, 1, 1, 2, 2, 1].map(|label| [label]).to_vec();
        let order = diversify(&[0, 1, 2, 3, 4, 5, 6], |post| &labels[post as usize], |_| 2, none, 7);
        assert_eq!(order, [0, 1, 4, 5, 2, 3, 6]);
    }

    #[test]
    fn a_label_occurs_up_to_its_maximum() {
        let labels: Vec<[u32; 1]> = [1, 1, 1, 1, 2, 2, 2, 1].map(|label| [label]).to_vec();
        let max = |label| if label == 1 { 3 } else { 1 };
        let order = diversify(&[0, 1, 2, 3, 4, 5, 6, 7], |post| &labels[post as usize], max, none, 4);
        assert_eq!(order, [0, 1, 2, 4]);
    }

    #[test]
    fn a_story_is_told_once_among_the_first_thirty() {
        let ranking: Vec<u32> = (0..50).collect();
        // The posts 0, 10, 20, … tell one story, and so do 1, 11, 21, …
        let same = |a: u32, b: u32| a % 10 == b % 10 && a % 10 < 2;
        let order = diversify(&ranking, |_| &[], |_| 5, same, 50);
        let once: Vec<u32> = ranking.iter().copied().filter(|post| *post < 2 || post % 10 >= 2).collect();
        assert_eq!(order[..STORIES], once[..STORIES]);
        // Those left out are next, and then the others.
        let rest: Vec<u32> = [10, 11, 20, 21, 30, 31].into_iter().chain(36..50).collect();
        assert_eq!(order[STORIES..], rest);
        assert_eq!(diversify(&ranking, |_| &[], |_| 5, |_, _| true, 50), ranking);
    }

    #[test]
    fn a_post_whose_label_is_full_leaves_its_story_to_the_next_that_tells_it() {
        let labels: Vec<[u32; 1]> = [1, 1, 1, 2, 2, 3, 3, 3, 3, 3].map(|label| [label]).to_vec();
        let ranking = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        let same = |a: u32, b: u32| [2, 4].contains(&a) && [2, 4].contains(&b);
        let order = diversify(&ranking, |post| &labels[post as usize], |_| 2, same, 10);
        assert_eq!(order[..6], [0, 1, 3, 4, 5, 6]);
        assert_eq!(order[9], 2, "{order:?}");
    }

    proptest! {
        #[test]
        fn every_story_is_told_once_before_any_is_repeated(
            stories in prop::collection::vec(0_u32..60, 0..200),
            labels in prop::collection::vec(prop::collection::vec(0_u32..4, 0..3), 200),
            max in 1_usize..11,
        ) {
            let ranking: Vec<u32> = (0..u32::try_from(stories.len()).unwrap()).collect();
            let story = |post: u32| stories[post as usize];
            let same = |a, b| story(a) == story(b);
            let order = diversify(&ranking, |post| &labels[post as usize], |_| max, same, ranking.len());
            let mut told = std::collections::HashSet::new();
            let all = stories.iter().collect::<std::collections::HashSet<_>>().len();
            let first = all.min(STORIES);
            prop_assert!(order[..first].iter().all(|post| told.insert(story(*post))), "{:?}", order);
            let mut sorted = order;
            sorted.sort_unstable();
            prop_assert_eq!(sorted, ranking);
        }

        #[test]
        fn no_label_fills_a_window_while_there_are_enough_others(labels in prop::collection::vec(0_u32..5, 60..200)) {
            let labels: Vec<[u32; 1]> = labels.into_iter().map(|label| [label]).collect();
            let ranking: Vec<u32> = (0..u32::try_from(labels.len()).unwrap()).collect();
            let order = diversify(&ranking, |post| &labels[post as usize], |_| 5, none, ranking.len());
            // Near the end, the other posts may be used up.
            for window in order[..30].windows(WINDOW) {
                let same = window.iter().all(|post| labels[*post as usize] == labels[window[0] as usize]);
                prop_assert!(!same, "{:?}", window);
            }
        }
    }
}
