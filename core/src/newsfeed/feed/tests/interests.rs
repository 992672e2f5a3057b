//! Tests of the recommended feed for newcomers and for members whose interests change, on a generated store.

use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::config::Feed;
use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::index::tests::{as_of_now, row};
use crate::newsfeed::signal::Scoring;
use crate::newsfeed::signal::co_visits::ItemNeighbours;
use crate::newsfeed::signal::latest;
use crate::newsfeed::signal::score::ScoringContext;
use crate::newsfeed::signal::score::tests::MEMBER;
use crate::post::feed_rows::FeedRow;
use crate::profile::history::Acts;
use crate::record::id::PostKey;
use crate::testing::NOW;

const HOUR_MS: i64 = DAY_MS / 24;
const BETWEEN_MS: i64 = 2 * HOUR_MS;

/// A store of posts of several topics in irregular turns, with words of their topic and common ones.
struct World {
    index: FeedIndex,
    /// The topic of each post by its key, the newest first.
    topics: Vec<usize>,
    config: Feed,
}

fn numbers(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |bound| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % bound
    }
}

impl World {
    /// Creates approximately 60 posts of each topic. Unless they are `named`, only the words of the posts tell their topics.
    fn new(topics: usize, named: bool) -> Self {
        let mut number = numbers(7);
        let of_posts: Vec<usize> = (0..60 * topics).map(|_| number(topics)).collect();
        let rows = of_posts.iter().zip(0..).map(|(topic, key)| {
            let mut words: Vec<String> = (0..14).map(|_| format!("w{topic}x{}", number(30))).collect();
            words.extend((0..10).map(|_| format!("common{}", number(300))));
            let site = number(3);
            FeedRow {
                topic: if named { vec![format!("topic {topic}")] } else { vec![] },
                host: format!("site{site}.example"),
                keyword: words.join(" "),
                ..row(key, NOW - key * BETWEEN_MS, "")
            }
        });
        let config = Feed::default();
        let index = FeedIndex::next(None, rows.collect(), &[], None, as_of_now(), &config);
        Self { index, topics: of_posts, config }
    }

    /// Adds a view at a time of the newest post of the topic that the member has not viewed, if it existed.
    fn view(&self, acts: &mut Acts, topic: usize, at: Timestamp) {
        let new = (0..).zip(&self.topics).filter(|(_, of_post)| **of_post == topic).map(|(key, _)| key);
        let mut new = new.filter(|key: &i64| NOW - key * BETWEEN_MS <= at).map(PostKey::new);
        let key = new.find(|key| acts.viewed.iter().all(|(viewed, _)| viewed != key)).unwrap();
        acts.viewed.insert(0, (key, at));
    }

    fn first_topics(&self, acts: &Acts, count: usize) -> Vec<usize> {
        let nobody = ItemNeighbours::default();
        let seen: Vec<PostKey> = acts.viewed.iter().map(|(key, _)| *key).collect();
        let moment = ScoringContext::now(&self.index, &nobody, NOW);
        let own = moment.recommend(acts, &seen, MEMBER, &Scoring::of(&self.config), &self.config);
        let guests = || self.index.recommended_feed.order.from(0).map(|(_, key)| key).collect();
        let keys = own.unwrap_or_else(guests).into_iter().take(count);
        keys.map(|key| self.topics[usize::try_from(key.as_i64()).unwrap()]).collect()
    }

    fn precision(&self, acts: &Acts, is_wanted: impl Fn(usize) -> bool) -> f64 {
        let wanted = self.first_topics(acts, 10).into_iter().filter(|topic| is_wanted(*topic)).count();
        f64::from(u32::try_from(wanted).unwrap()) / 10.0
    }
}

/// Returns `count` acts on the `old` topics in turn, one every `days`, and then three on the `new` topic in the last hours.
fn changed(world: &World, old: &[usize], count: i64, days: i64, new: usize) -> Acts {
    let mut acts = Acts::default();
    for (n, topic) in (0..count).rev().zip(old.iter().cycle()) {
        world.view(&mut acts, *topic, NOW - (n * days + 1) * DAY_MS);
    }
    for hours in [3, 2, 1] {
        world.view(&mut acts, new, NOW - hours * HOUR_MS);
    }
    acts
}

#[test]
fn three_acts_show_a_new_interest_among_the_first_ten_posts() {
    for named in [true, false] {
        let world = World::new(28, named);
        for old in [&[0][..], &[0, 1], &[0, 1, 2]] {
            for (count, days) in [(3, 1), (10, 1), (40, 1), (40, 3)] {
                for new in 5..10 {
                    let acts = changed(&world, old, count, days, new);
                    let precision = world.precision(&acts, |topic| topic == new);
                    let still = world.precision(&acts, |topic| old.contains(&topic));
                    assert!(
                        precision >= 0.1 && (count < 10 || still >= 0.1),
                        "{named} {old:?} {count} {days} {new}: {precision} {still}"
                    );
                }
            }
        }
    }
}

#[test]
fn acts_that_resemble_any_earlier_one_are_no_change_of_interest() {
    for named in [true, false] {
        let world = World::new(28, named);
        let is_change =
            |acts: &Acts| latest::changed(acts, &latest::posts(acts), &world.config, &world.index).is_some();
        // The topic of the last acts is one of many that the member has read.
        let many: Vec<usize> = (0..20).collect();
        assert!(!is_change(&changed(&world, &many, 40, 1, 7)), "{named}");
        assert!(is_change(&changed(&world, &many, 40, 1, 25)), "{named}");
        assert!(!is_change(&changed(&world, &[], 0, 1, 7)), "no act was earlier");
    }
}

#[test]
fn the_first_30_posts_of_a_newcomer_cover_all_topics() {
    for topics in [3, 12, 28, 60] {
        let world = World::new(topics, true);
        let mut first = world.first_topics(&Acts::default(), 30);
        first.sort_unstable();
        first.dedup();
        assert!(first.len() >= topics.min(28), "{first:?}");
    }
}

#[test]
fn a_few_acts_of_a_newcomer_show_their_interest() {
    for (named, least) in [(true, [0.0, 0.9, 0.9, 0.9]), (false, [0.0, 0.29, 0.51, 0.9])] {
        let world = World::new(28, named);
        for (acts, least) in [0, 1, 3, 5].into_iter().zip(least) {
            let precisions = (0..28).map(|topic| {
                let mut of_member = Acts::default();
                (0..acts).rev().for_each(|n| world.view(&mut of_member, topic, NOW - (n + 1) * HOUR_MS));
                world.precision(&of_member, |of_post| of_post == topic)
            });
            let mean = precisions.sum::<f64>() / 28.0;
            // Without acts, each of ten posts has another topic.
            let least = if acts == 0 { 1.0 / 28.0 - 1e-9 } else { least };
            assert!(mean >= least, "{named}, {acts} acts: {mean}");
        }
    }
}
