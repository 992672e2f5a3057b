//! Co-visits: posts that the same people liked or viewed. The similarity of two posts is nearly the cosine of their acts over all
//! members, less for popular posts, and damped for pairs that few people share. A post is recommended by the root of the mean
//! square of its similarities to a member's own posts, so that a few close ones count more than many distant ones. Nothing is told
//! about the acts of one or two people: a post with acts of fewer than [`PEOPLE_MIN`] people is like none. Source: Sarwar,
//! Karypis, Konstan and Riedl, *Item-based collaborative filtering recommendation algorithms*, WWW 2001; the damping: Herlocker,
//! Konstan, Borchers and Riedl, *An algorithmic framework for performing collaborative filtering*, SIGIR 1999; the exponent of
//! popularity: Deshpande and Karypis, *Item-based top-N recommendation algorithms*, ACM TOIS 22(1), 2004; the square: Breese,
//! Heckerman and Kadie, *Empirical analysis of predictive algorithms for collaborative filtering*, UAI 1998.

use super::top::top;
use crate::base::keyed::OwnMap;
use crate::record::id::{MemberKey, PostKey};

/// The latest acts of a member count. The maximum bounds the time, which grows with the square of an active member's acts.
pub(crate) const ACTS_MAX: usize = 200;
/// A post with acts of fewer people has no similar posts.
const PEOPLE_MIN: usize = 3;
/// A pair of posts with acts of fewer people on both has no similarity.
const PAIR_MIN: f32 = 8.0;
/// In people; it halves the similarity of a pair.
const DAMPING: f32 = 1.0;
/// The exponent of the sum of squares of a similar post; ½ for a cosine.
const POPULAR_EXPONENT: f32 = 0.7;
/// The number of later own posts after which an own post counts half.
const OWN_HALVED: f32 = 10.0;
/// In views.
const LIKE: f32 = 2.0;
/// Only this number of similar posts of a post count, which bounds the memory.
const SIMILAR_MAX: usize = 100;
/// Similar posts are looked up for this number of a member's latest posts.
const OWN_MAX: usize = 100;

#[derive(Default)]
pub(crate) struct CoVisits {
    slots: OwnMap<PostKey, u32>,
    posts: Vec<Acted>,
    members: OwnMap<MemberKey, u32>,
    /// By the number of the member, the earliest first.
    lists: Vec<Vec<Act>>,
}

struct Acted {
    key: PostKey,
    people: Vec<u32>,
    square: f32,
}

#[derive(Clone, Copy)]
struct Act {
    slot: u32,
    weight: f32,
}

impl CoVisits {
    /// The act must be later than those before. Of a view and a like of a member, the like counts.
    pub(crate) fn add(&mut self, member: MemberKey, post: PostKey, is_like: bool) {
        let (slot, posts) = (self.posts.len(), &mut self.posts);
        #[expect(clippy::cast_possible_truncation, reason = "the settings allow far fewer posts")]
        let slot = *self.slots.entry(post).or_insert_with(|| {
            posts.push(Acted { key: post, people: Vec::new(), square: 0.0 });
            slot as u32
        });
        let (number, lists) = (self.lists.len(), &mut self.lists);
        #[expect(clippy::cast_possible_truncation, reason = "far fewer members have acts in memory")]
        let number = *self.members.entry(member).or_insert_with(|| {
            lists.push(Vec::new());
            number as u32
        });
        let (list, acted) = (&mut self.lists[number as usize], &mut self.posts[slot as usize]);
        let weight = if is_like { LIKE } else { 1.0 };
        if let Some(before) = list.iter_mut().find(|act| act.slot == slot) {
            acted.square += weight.max(before.weight).powi(2) - before.weight.powi(2);
            before.weight = before.weight.max(weight);
            return;
        }
        list.push(Act { slot, weight });
        acted.people.push(number);
        acted.square += weight.powi(2);
        if list.len() > ACTS_MAX {
            let Act { slot, weight } = list.remove(0);
            let forgotten = &mut self.posts[slot as usize];
            forgotten.people.retain(|other| *other != number);
            forgotten.square -= weight.powi(2);
        }
    }

    fn similar_to(&self, slot: u32, sums: &mut Vec<(f32, f32)>) -> Vec<(PostKey, f32)> {
        let acted = &self.posts[slot as usize];
        if acted.people.len() < PEOPLE_MIN {
            return Vec::new();
        }
        sums.clear();
        sums.resize(self.posts.len(), (0.0, 0.0));
        for number in &acted.people {
            let list = &self.lists[*number as usize];
            let own = list.iter().find(|act| act.slot == slot).map_or(0.0, |act| act.weight);
            for act in list {
                let (sum, people) = &mut sums[act.slot as usize];
                *sum += own * act.weight;
                *people += 1.0;
            }
        }
        sums[slot as usize] = (0.0, 0.0);
        let cosine = |(other, (sum, people)): (&Acted, &(f32, f32))| {
            if *people < PAIR_MIN || other.people.len() < PEOPLE_MIN {
                return 0.0;
            }
            let norm = acted.square.sqrt() * other.square.powf(POPULAR_EXPONENT);
            sum / norm * people / (people + DAMPING)
        };
        let similarities: Vec<f32> = self.posts.iter().zip(&*sums).map(cosine).collect();
        let best = top(&similarities, SIMILAR_MAX, 0.0).into_iter();
        best.map(|(slot, similarity)| (self.posts[slot as usize].key, similarity)).collect()
    }
}

#[derive(Default)]
pub(crate) struct ItemNeighbours(OwnMap<PostKey, Box<[(PostKey, f32)]>>);

pub(crate) struct ReadNeighbours {
    pub(crate) number: u64,
    pub(crate) neighbours: ItemNeighbours,
    /// The version of the posts before the reading.
    pub(crate) version: i64,
}

impl ItemNeighbours {
    pub(crate) fn new(together: &CoVisits) -> Self {
        let mut sums = Vec::new();
        let of_all = (0..).zip(&together.posts).filter_map(|(slot, acted)| {
            let similar = together.similar_to(slot, &mut sums);
            (!similar.is_empty()).then(|| (acted.key, similar.into()))
        });
        Self(of_all.collect())
    }

    /// Each with its similarity from 0 to 1.
    pub(crate) fn similar(&self, post: PostKey) -> &[(PostKey, f32)] {
        self.0.get(&post).map_or(&[], |similar| similar)
    }

    /// Returns the posts similar to a member's `own`, the latest first: the root of the mean square of the similarities over
    /// the own posts, in proportion to that of the most similar one. Each post occurs once, in no order.
    pub(crate) fn scores(&self, own: impl Iterator<Item = PostKey>) -> OwnMap<PostKey, f32> {
        let mut sums: OwnMap<PostKey, f32> = OwnMap::default();
        let all = own.map(|post| self.similar(post)).filter(|similar| !similar.is_empty());
        for (similar, later) in all.take(OWN_MAX).zip(0_u8..) {
            let weight = OWN_HALVED / (OWN_HALVED + f32::from(later));
            for (post, similarity) in similar {
                *sums.entry(*post).or_default() += weight * similarity * similarity;
            }
        }
        let most = sums.values().copied().fold(f32::MIN_POSITIVE, f32::max);
        for sum in sums.values_mut() {
            *sum = (*sum / most).sqrt();
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn post(n: i64) -> PostKey {
        PostKey::new(n)
    }

    /// Ten members like the posts 1 and 2, twenty others view the post 3, and two members all of them.
    fn together() -> CoVisits {
        let mut together = CoVisits::default();
        for n in 0..32 {
            let member = MemberKey::new(n);
            let likes = !(10..30).contains(&n);
            for (key, has) in [(1, likes), (2, likes), (3, n >= 10)] {
                if has {
                    together.add(member, post(key), key < 3);
                }
            }
        }
        together
    }

    #[test]
    fn posts_of_the_same_people_are_similar_and_a_pair_of_few_people_is_chance() {
        let together = ItemNeighbours::new(&together());
        let similar = together.similar(post(1));
        assert_eq!(similar.len(), 1);
        let (key, similarity) = similar[0];
        assert_eq!(key, post(2));
        // Twelve people like both: the sum of squares of each is 48.
        let expected = 48.0 / 48_f32.powf(0.5 + POPULAR_EXPONENT) * 12.0 / 13.0;
        assert!((similarity - expected).abs() < 1e-6, "{similarity}");
        assert!(together.similar(post(3)).is_empty() && together.similar(post(9)).is_empty());
    }

    #[test]
    fn a_like_counts_twice_and_once_with_a_view() {
        let mut views = together();
        let before = views.posts[0].square;
        views.add(MemberKey::new(0), post(1), false);
        assert!((views.posts[0].square - before).abs() < 1e-6);
        views.add(MemberKey::new(40), post(1), false);
        views.add(MemberKey::new(40), post(1), true);
        assert!((views.posts[0].square - before - 4.0).abs() < 1e-6);
        assert_eq!(views.posts[0].people.len(), 13);
    }

    #[test]
    fn the_scores_of_a_member_are_from_0_to_1_by_the_similarity_to_the_own_posts() {
        let similar = |similar: &[(i64, f32)]| -> Box<[(PostKey, f32)]> {
            similar.iter().map(|(key, similarity)| (post(*key), *similarity)).collect()
        };
        let all = [(post(1), similar(&[(2, 0.03), (4, 0.01)])), (post(3), similar(&[(4, 0.01)]))];
        let scores = ItemNeighbours(all.into_iter().collect()).scores([3, 1, 9].map(post).into_iter());
        assert_eq!(scores.len(), 2);
        // The own post before the latest one weighs 10/11.
        let expected = ((1.0 + 10.0 / 11.0) / (9.0 * 10.0 / 11.0_f32)).sqrt();
        assert!((scores[&post(2)] - 1.0).abs() < 1e-6 && (scores[&post(4)] - expected).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn neighbours_are_the_similar_posts_and_old_acts_are_forgotten(
            acts in prop::collection::vec((0_i64..30, 0_i64..250, any::<bool>()), 0..2_000),
        ) {
            let mut together = CoVisits::default();
            for (member, key, is_like) in &acts {
                together.add(MemberKey::new(*member), post(*key), *is_like);
            }
            let neighbours = ItemNeighbours::new(&together);
            for acted in &together.posts {
                let similar = neighbours.similar(acted.key);
                prop_assert!(similar.iter().all(|(_, similarity)| (0.0..=1.0).contains(similarity)));
                prop_assert!(acted.square >= 0.0);
            }
            prop_assert!(together.lists.iter().all(|list| list.len() <= ACTS_MAX));
        }
    }
}
