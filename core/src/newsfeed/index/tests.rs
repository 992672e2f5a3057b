//! Tests of the index on given rows.

use proptest::prelude::*;

use super::*;
use crate::base::clock::DAY_MS;
use crate::newsfeed::index::load::Seen;
use crate::newsfeed::signal::popularity::Popularity;
use crate::post::heat::Heats;
use crate::testing::{NOW, posts};

pub(crate) fn row(key: i64, date: Timestamp, topic: &str) -> FeedRow {
    FeedRow {
        key: PostKey::new(key),
        id: format!("{key:024x}"),
        title: format!("Post {key}"),
        url: format!("https://example.org/{key}"),
        host: "example.org".into(),
        img: String::new(),
        topic: vec![topic.into()],
        tag: vec![],
        keyword: String::new(),
        date,
        end_date: None,
        view: 0,
        fav: 0,
        heat: None,
        source: None,
    }
}

/// The first revision, with the popularity of the default settings.
pub(crate) fn as_of_now() -> AsOf {
    AsOf { revision: 1, now: NOW, popularity: Popularity::of(&Feed::default(), None), seen: Seen::default() }
}

fn row_at(key: i64, ms: i64, topic: &str) -> FeedRow {
    row(key, Timestamp::from_millis(ms), topic)
}

fn index(before: Option<&FeedIndex>, changed: Vec<FeedRow>, removed: &[i64]) -> FeedIndex {
    let config = Feed { posts: 100, ..Feed::default() };
    FeedIndex::next(before, changed, &posts(removed.iter().copied()), None, as_of_now(), &config)
}

fn keys(index: &FeedIndex, order: &Order) -> Vec<i64> {
    index.page(order, 0, 10_000, NOW).items().iter().map(|item| item.key.as_i64()).collect()
}

#[test]
fn a_topic_shows_its_posts_newest_first_ties_by_the_greatest_id() {
    let index =
        index(None, vec![row_at(1, 5, "a"), row_at(2, 9, "a"), row_at(3, 5, "a"), row_at(4, 7, "b")], &[]);
    assert_eq!(keys(&index, index.topic("a").unwrap()), [2, 3, 1]);
    assert!(index.topic("c").is_none() && index.topic("").is_none());
}

#[test]
fn the_hottest_come_first_and_posts_without_acts_follow_newest_first() {
    let hot = |key, heat| FeedRow { heat: Some(heat), ..row_at(key, 5, "a") };
    let index =
        index(None, vec![row_at(1, 5, "a"), hot(2, 1.0), hot(3, 2.0), row_at(4, 9, "a"), hot(5, 2.0)], &[]);
    assert_eq!(keys(&index, &index.popular_feed.order), [5, 3, 2, 4, 1]);
}

#[test]
fn an_act_changes_counts_and_ranks_but_not_the_snapshot() {
    let before = index(None, vec![row_at(1, 5, "a"), row_at(2, 9, "a")], &[]);
    let acted = FeedRow { fav: 1, view: 2, heat: Some(1.0), ..row_at(1, 5, "a") };
    let after = index(Some(&before), vec![acted], &[]);
    assert!(Arc::ptr_eq(&before.snapshot, &after.snapshot));
    assert_eq!(keys(&after, &after.popular_feed.order), [1, 2]);
    let json: serde_json::Value = serde_json::from_slice(after.popular_feed.first.answer().json()).unwrap();
    assert_eq!((&json["newsfeed"][0]["fav_cnt"], &json["newsfeed"][0]["view"]), (&1.into(), &2.into()));
    assert_eq!(json["next"], serde_json::Value::Null);
}

#[test]
fn a_post_that_has_ended_is_in_no_feed_and_precomputed_pages_expire() {
    let ending = |key, end| FeedRow { end_date: Some(end), ..row_at(key, key, "a") };
    let index = index(None, vec![ending(1, NOW), ending(2, NOW + 1), row_at(3, 3, "a")], &[]);
    assert_eq!(keys(&index, &index.popular_feed.order), [3, 2]);
    assert!(!index.has_ended(NOW) && index.has_ended(NOW + 1));
}

#[test]
fn guests_are_recommended_fresh_posts_across_topics_and_sites() {
    let mut rows: Vec<FeedRow> = (0..40).map(|key| row(key, NOW - key, "loud")).collect();
    rows.extend((40..60).map(|key| row(key, NOW - key, "quiet")));
    let index = index(None, rows, &[]);
    let order = keys(&index, &index.recommended_feed.order);
    let loud = |window: &[i64]| window.iter().filter(|key| **key < 40).count();
    assert!(order[..30].windows(10).all(|window| loud(window) == 5), "{order:?}");
    let of_site = |key, site: &str| FeedRow { host: site.into(), topic: vec![], ..row(key, NOW - key, "") };
    let mut rows: Vec<FeedRow> = (0..40).map(|key| of_site(key, "loud.example")).collect();
    rows.extend((40..60).map(|key| of_site(key, &format!("site-{key}.example"))));
    let index = self::index(None, rows, &[]);
    let order = keys(&index, &index.recommended_feed.order);
    assert!(order[..30].windows(10).all(|window| loud(window) < 10), "{order:?}");
}

#[test]
fn guests_are_recommended_what_is_popular_first_and_what_is_new_before_what_is_forgotten() {
    let decay = as_of_now().popularity.decay();
    let viewed = |views: f64, at| Heats::add(None, views, at).map(|heats| decay.heat(&heats));
    let of = |key, topic: &str, heat| FeedRow { heat, ..row(key, NOW - key * DAY_MS, topic) };
    let rows = vec![
        of(0, "a", None),
        of(1, "a", viewed(2.0, NOW)),
        of(2, "a", viewed(5.0, NOW)),
        of(3, "a", viewed(1.0, NOW - 30 * DAY_MS)),
        of(4, "b", viewed(1.0, NOW - DAY_MS)),
    ];
    let index = index(None, rows, &[]);
    // The best post of each topic goes first.
    assert_eq!(keys(&index, &index.recommended_feed.order), [2, 4, 1, 0, 3]);
    assert_eq!(keys(&index, &index.popular_feed.order), [2, 1, 4, 3, 0]);
}

#[test]
fn a_post_of_the_future_makes_no_other_post_old() {
    let mut rows: Vec<FeedRow> = (0..20).map(|key| row(key, NOW - key * DAY_MS, "a")).collect();
    rows.push(row(20, NOW + 400 * DAY_MS, "a"));
    let index = index(None, rows, &[]);
    assert_eq!(keys(&index, &index.recommended_feed.order)[..3], [20, 0, 1]);
}

#[test]
fn a_store_with_old_posts_only_has_full_feeds() {
    let old: Vec<FeedRow> = (0..20).map(|key| row_at(key, key, "a")).collect();
    let index = index(None, old, &[]);
    assert_eq!(keys(&index, &index.recommended_feed.order).len(), 20);
}

#[test]
fn recency_counts_the_later_posts_of_a_topic_and_follows_its_rhythm() {
    let both = FeedRow { topic: vec!["a".into(), "b".into()], ..row_at(1, 1, "a") };
    let none = FeedRow { topic: vec![], ..row_at(2, 2, "a") };
    let index = index(None, vec![both, none, row_at(3, 3, "a"), row_at(4, 4, "a"), row_at(5, 5, "b")], &[]);
    // Newest first: 5, 4, 3, 2 and 1.
    let config = Feed { recent_half_life_posts: 2.0, recent_half_life_growth: 100.0, ..Feed::default() };
    let half_lives = |first: usize, missed| -> Vec<f32> {
        let recency = index.snapshot.cadences.recency(first, missed, &config);
        (first..5).map(|position| -recency.recent(position).log2()).collect()
    };
    let close = |found: Vec<f32>, expected: &[f32]| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?}");
    };
    close(half_lives(0, 0), &[0.0, 0.0, 1.0 / 2.0, 3.0 / 2.0, 2.0 / 2.0]);
    // Who missed the posts 5 and 4 missed one of each topic and two of all.
    close(half_lives(0, 2), &[0.0, 0.0, 1.0 / 4.0, 3.0 / 10.0, 2.0 / 4.0]);
    // Before the post 5, one post less had followed the post 2, which has no topic.
    close(half_lives(1, 1), &[0.0, 1.0 / 2.0, 2.0 / 2.0, 2.0 / 2.0]);
    let newer = |time, before| index.newer_than(Timestamp::from_millis(time), before);
    assert_eq!([6, 5, 3, 0].map(|time| newer(time, 0)), [0, 0, 2, 5]);
    assert_eq!([(3, 2), (1, 2), (0, 3), (0, 5)].map(|(time, before)| newer(time, before)), [2, 4, 5, 5]);
}

#[test]
fn the_commonest_tags_of_posts_come_first_ties_by_name() {
    let tagged = |key, tags: &[&str]| FeedRow {
        tag: tags.iter().map(|t| (*t).into()).collect(),
        ..row_at(key, key, "a")
    };
    let index = index(None, vec![tagged(1, &["x", "b"]), tagged(2, &["x"]), tagged(3, &["a"])], &[]);
    assert_eq!(commonest_tags(index.items.iter().map(|item| &**item)), ["x", "a", "b"]);
    assert_eq!(commonest_tags(index.items.iter().take(1).map(|item| &**item)), ["a"]);
}

#[derive(Clone, Debug)]
enum Change {
    Put(i64, i64, bool),
    Remove(i64),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (1_i64..30, 0_i64..10, any::<bool>()).prop_map(|(key, date, hot)| Change::Put(key, date, hot)),
        1 => (1_i64..30).prop_map(Change::Remove),
    ]
}

proptest! {
    /// Updating the index in any number of steps gives the same feeds as loading it once.
    #[test]
    fn updating_gives_the_same_as_loading(steps in prop::collection::vec(prop::collection::vec(change(), 0..6), 1..8)) {
        let mut store = std::collections::BTreeMap::new();
        let mut updated = index(None, vec![], &[]);
        for step in steps {
            let (mut changed, mut removed) = (std::collections::BTreeMap::new(), vec![]);
            for change in step {
                match change {
                    Change::Put(key, date, hot) if !removed.contains(&key) => {
                        let post = FeedRow { heat: hot.then_some(1.0), ..row_at(key, date, "a") };
                        store.insert(key, post.clone());
                        changed.insert(key, post);
                    }
                    // A key is never reused, so no change follows its removal.
                    Change::Remove(key) if store.remove(&key).is_some() => {
                        changed.remove(&key);
                        removed.push(key);
                    }
                    _ => {}
                }
            }
            updated = index(Some(&updated), changed.into_values().collect(), &removed);
        }
        let loaded = index(None, store.into_values().collect(), &[]);
        prop_assert_eq!(keys(&updated, &updated.popular_feed.order), keys(&loaded, &loaded.popular_feed.order));
        prop_assert_eq!(updated.topic("a").map(|order| keys(&updated, order)), loaded.topic("a").map(|order| keys(&loaded, order)));
        prop_assert_eq!(updated.len(), loaded.len());
    }
}

/// Creates a post of a site of its own whose only keywords are these.
fn told(key: i64, hours: i64, keyword: &str) -> FeedRow {
    let (keyword, host) = (keyword.into(), format!("site-{key}.example"));
    FeedRow { host, keyword, ..row(key, NOW - hours * 3_600_000, "news") }
}

const LIBRARY: &str = "library reading room opens observatory monday students";

/// Returns the other posts that tell the story of a post.
fn story(index: &FeedIndex, key: i64) -> Vec<i64> {
    let at = index.position(PostKey::new(key)).unwrap();
    index.same_story(at).map(|at| index.key(at).as_i64()).collect()
}

#[test]
fn the_posts_of_a_story_are_found_within_its_days() {
    let rows = vec![
        told(1, 0, LIBRARY),
        told(2, 24, "observatory library reading room students monday desks"),
        told(3, 25, "weekly menu"),
        told(4, 6 * 24, LIBRARY),
        told(5, 6 * 24 - 1, LIBRARY),
        told(6, 13 * 24, LIBRARY),
    ];
    let index = index(None, rows, &[]);
    let of = |key| story(&index, key);
    assert_eq!((of(1), of(2), of(3)), (vec![2, 5], vec![1, 5, 4], vec![]));
    assert_eq!((of(4), of(5), of(6)), (vec![2, 5], vec![1, 2, 4], vec![]));
}

#[test]
fn posts_of_one_site_tell_a_story_only_if_they_are_equal() {
    let of_site = |key, host: &str, title: &str, words: &str| {
        let (host, title) = (host.into(), title.into());
        FeedRow { title, host, ..told(key, 0, words) }
    };
    let other_words = "observatory library reading room students monday desks";
    let rows = vec![
        of_site(1, "a.example", "Menu of Monday", LIBRARY),
        of_site(2, "www.a.example", "Menu of Tuesday", LIBRARY),
        of_site(3, "a.example", "Menu of Monday", other_words),
        of_site(4, "www.a.example", "Menu of Monday", LIBRARY),
        of_site(5, "b.example", "A menu", LIBRARY),
    ];
    let index = index(None, rows, &[]);
    let of = [1, 2, 5].map(|key| {
        let mut keys = story(&index, key);
        keys.sort_unstable();
        keys
    });
    assert_eq!(of, [vec![4, 5], vec![5], vec![1, 2, 3, 4]]);
}

#[test]
fn a_story_is_once_among_the_first_thirty_of_the_feeds_of_guests() {
    let mut rows: Vec<FeedRow> = (1..=40).map(|key| told(key, 100 + key, "")).collect();
    rows.extend((41..=44).map(|key| told(key, 50 - key, LIBRARY)));
    let index = index(None, rows, &[]);
    for order in [&index.popular_feed.order, &index.recommended_feed.order] {
        let keys = keys(&index, order);
        assert_eq!(keys[..30].iter().filter(|key| **key > 40).copied().collect::<Vec<_>>(), [44]);
        assert_eq!(keys[30..33], [43, 42, 41]);
        assert_eq!(keys.len(), 44);
    }
}

#[test]
fn a_tag_with_the_name_of_a_topic_shows_a_post_once() {
    let post = FeedRow { tag: vec!["a".into(), "b".into()], ..row_at(1, 5, "a") };
    let index = index(None, vec![post], &[]);
    assert_eq!(keys(&index, index.topic("a").unwrap()), [1]);
    assert_eq!(keys(&index, index.topic("b").unwrap()), [1]);
}
