//! Item neighbours: the order of posts by the members whom they share with the member's own posts.

use super::super::index::FeedIndex;
use super::super::recent::PastAct;
use crate::base::clock::Timestamp;
use crate::base::keyed::{OwnMap, OwnSet};
use crate::record::id::MemberKey;

/// The members who acted on each post, and the posts of each member.
///
/// The score of a post is the sum of its cosines with the member's own posts, where a post is the set of the members who
/// liked or viewed it: the members that both posts have, divided by the root of the product of the numbers of members.
///
/// Source: Sarwar, Karypis, Konstan and Riedl, *Item-based collaborative filtering recommendation algorithms*, WWW 2001.
pub(super) struct Neighbours<'a> {
    index: &'a FeedIndex,
    acts: std::slice::Iter<'a, PastAct>,
    numbers: OwnMap<MemberKey, usize>,
    /// The positions of the posts of each member by number.
    posts: Vec<Vec<u32>>,
    /// The numbers of the members of each post by position.
    members: Vec<Vec<usize>>,
    known: OwnSet<(usize, u32)>,
}

impl<'a> Neighbours<'a> {
    /// Begins before the first of these acts, the earliest first.
    pub(super) fn new(index: &'a FeedIndex, acts: &'a [PastAct]) -> Self {
        Self {
            index,
            acts: acts.iter(),
            numbers: OwnMap::default(),
            posts: Vec::new(),
            members: vec![Vec::new(); index.len()],
            known: OwnSet::default(),
        }
    }

    /// Replays the acts before the time `at`.
    pub(super) fn go_to(&mut self, at: Timestamp) {
        while let Some(act) = self.acts.as_slice().first().filter(|act| act.at < at) {
            self.acts.next();
            let Some(position) = self.index.position(act.post) else { continue };
            let number = *self.numbers.entry(act.member).or_insert(self.posts.len());
            if number == self.posts.len() {
                self.posts.push(Vec::new());
            }
            if self.known.insert((number, position)) {
                self.posts[number].push(position);
                self.members[position as usize].push(number);
            }
        }
    }

    /// Returns the positions of the posts that share members with those of a member, the greatest score first, ties newest
    /// first. The member's own posts are among them.
    pub(super) fn ranking(&self, member: MemberKey) -> Vec<u32> {
        let Some(number) = self.numbers.get(&member) else { return Vec::new() };
        // The sum over own posts is split by the members that they share: each adds the roots of the own posts that they have.
        let mut of_members: OwnMap<usize, f64> = OwnMap::default();
        for own in &self.posts[*number] {
            let members = &self.members[*own as usize];
            for other in members {
                *of_members.entry(*other).or_default() += root(members.len());
            }
        }
        // Sorted, so that the rounding of the sums is reproducible.
        let mut of_members: Vec<(usize, f64)> = of_members.into_iter().collect();
        of_members.sort_unstable_by_key(|(other, _)| *other);
        let mut scores: OwnMap<u32, f64> = OwnMap::default();
        for (other, sum) in of_members {
            for position in &self.posts[other] {
                *scores.entry(*position).or_default() += sum;
            }
        }
        let cosines = scores.into_iter().map(|(at, sum)| (at, sum * root(self.members[at as usize].len())));
        let mut ranking: Vec<(u32, f64)> = cosines.collect();
        ranking.sort_unstable_by(|(a, of_a), (b, of_b)| of_b.total_cmp(of_a).then(a.cmp(b)));
        ranking.into_iter().map(|(position, _)| position).collect()
    }
}

/// Returns 1 divided by the root of a number of members.
#[expect(clippy::cast_precision_loss, reason = "members are far fewer than 2^53")]
fn root(members: usize) -> f64 {
    1.0 / (members as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::Feed;
    use crate::newsfeed::index::tests::{as_of_now, row};
    use crate::record::id::PostKey;
    use crate::testing::NOW;

    #[test]
    fn posts_with_the_greatest_sum_of_cosines_come_first() {
        // Position 0 is the newest post, whose key is 1.
        let rows = (1..=5).map(|key| row(key, NOW - key, "all")).collect();
        let index = FeedIndex::next(None, rows, &[], None, as_of_now(), &Feed::default());
        let act = |member, post, at| PastAct {
            at: NOW + at,
            member: MemberKey::new(member),
            post: PostKey::new(post),
            is_like: false,
        };
        let mut acts =
            vec![act(1, 1, 1), act(1, 2, 2), act(2, 1, 3), act(2, 3, 4), act(3, 2, 5), act(3, 3, 6)];
        acts.extend([act(4, 1, 7), act(4, 4, 8), act(4, 4, 9), act(5, 4, 10), act(1, 5, 20)]);
        let mut neighbours = Neighbours::new(&index, &acts);
        assert!(neighbours.ranking(MemberKey::new(1)).is_empty());
        neighbours.go_to(NOW + 20);
        // Of the member 1, who has the posts 1 (of three members) and 2 (of two). The post 3 shares one of its two
        // members with each: 1/√6 + 1/√4 = 0.91. The post 4 shares one of its two members with the post 1: 1/√6 = 0.41.
        let others: Vec<u32> =
            neighbours.ranking(MemberKey::new(1)).into_iter().filter(|position| *position > 1).collect();
        assert_eq!(others, [2, 3]);
        // The member 5 has only the post 4: the post 1 shares the member 4 with it.
        assert_eq!(neighbours.ranking(MemberKey::new(5)), [3, 0]);
        assert!(neighbours.ranking(MemberKey::new(9)).is_empty());
        // The last act makes the post 5 a neighbour for the member 2, who shares the post 1 with the member 1.
        neighbours.go_to(NOW + 21);
        assert!(neighbours.ranking(MemberKey::new(2)).contains(&4));
    }
}
