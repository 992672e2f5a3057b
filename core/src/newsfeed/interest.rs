//! What a member is interested in, measured from what they did.

use rustc_hash::FxHashMap;

use super::features::{Feature, Index, Kind, feature};
use crate::clock::DAY_MS;
use crate::config::Interest;
use crate::profile::history::Acts;

/// The strongest features that are kept: enough for many interests, few enough to score every post by.
const FEATURES_MAX: usize = 256;

/// A member's interest as a vector of unit length over the features of posts.
pub(super) struct Vector(pub(super) Vec<(Feature, f32)>);

/// The interest that `acts` show, or `None` when there are too few to say.
///
/// Each act adds the vector of what it was about, weighing as its kind does and halved with every half-life
/// of its age. Decay is the same for all as time goes on, so the direction changes only with new acts: ages
/// are counted from the newest act.
///
/// `position` tells where a post stands in the index; a post that does not, says nothing.
pub(super) fn measure(
    acts: &Acts,
    config: &Interest,
    index: &Index,
    position: impl Fn(i64) -> Option<u32>,
) -> Option<Vector> {
    let Acts { liked, viewed, searched, opened } = acts;
    if liked.len() + viewed.len() + searched.len() + opened.len() < config.min_acts {
        return None;
    }
    let dates = liked.iter().chain(viewed).map(|(_, date)| *date);
    let newest = dates.chain(searched.iter().chain(opened).map(|(_, date)| *date)).max()?;
    let decay = |date: i64| {
        #[expect(clippy::cast_precision_loss, reason = "a day more or less in a million years")]
        let days = (newest - date) as f64 / DAY_MS as f64;
        (-days / config.half_life_days).exp2()
    };
    let mut sum: FxHashMap<Feature, f32> = FxHashMap::default();
    let mut add = |vector: &[(Feature, f32)], weight: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "weights need no more digits")]
        let weight = weight as f32;
        for (feature, value) in vector {
            *sum.entry(*feature).or_default() += weight * value;
        }
    };
    for (acts, weight) in [(liked, config.like_weight), (viewed, config.view_weight)] {
        for (post, date) in acts {
            if let Some(position) = position(*post) {
                add(index.vector(position), weight * decay(*date));
            }
        }
    }
    for (words, date) in searched {
        // A word that was searched for may be the name of a topic or a tag.
        let named = words
            .split_ascii_whitespace()
            .flat_map(|word| [Kind::Word, Kind::Tag, Kind::Topic].map(|kind| feature(kind, word)));
        let named: Vec<Feature> = named.collect();
        add(&unit(index, &named), config.search_weight * decay(*date));
    }
    for (name, date) in opened {
        let named = [Kind::Topic, Kind::Tag].map(|kind| feature(kind, name));
        add(&unit(index, &named), config.open_weight * decay(*date));
    }
    strongest(sum)
}

/// The vector of unit length of features that were named, each weighing its inverse document frequency.
fn unit(index: &Index, named: &[Feature]) -> Vec<(Feature, f32)> {
    let square: f32 = named.iter().map(|feature| index.idf(*feature).powi(2)).sum();
    let norm = if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 };
    named.iter().map(|feature| (*feature, index.idf(*feature) * norm)).collect()
}

fn strongest(sum: FxHashMap<Feature, f32>) -> Option<Vector> {
    let mut features: Vec<_> = sum.into_iter().filter(|(_, weight)| *weight > 0.0).collect();
    // Then by feature, so that the same acts always give the same vector.
    let stronger = |a: &(Feature, f32), b: &(Feature, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if features.len() > FEATURES_MAX {
        features.select_nth_unstable_by(FEATURES_MAX, stronger);
        features.truncate(FEATURES_MAX);
    }
    features.sort_unstable_by(stronger);
    let length = features.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
    if length <= 0.0 {
        return None;
    }
    for (_, weight) in &mut features {
        *weight /= length;
    }
    Some(Vector(features))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::newsfeed::features::Features;

    fn posts() -> Vec<Features> {
        let post = |topic: &'static str, words: &'static str| {
            Features::new([topic].into_iter(), std::iter::empty(), words.split_whitespace())
        };
        vec![
            post("rust", "borrow lifetime"),
            post("cats", "fur purr"),
            post("rust", "async await"),
            post("dogs", "bark"),
        ]
    }

    fn acts() -> Acts {
        Acts { liked: vec![], viewed: vec![], searched: vec![], opened: vec![] }
    }

    /// How interesting each of the posts is after `acts`.
    fn scores(acts: &Acts) -> Option<Vec<f32>> {
        let (posts, config) = (posts(), Interest { min_acts: 1, ..Interest::default() });
        let index = Index::new(posts.iter(), &config);
        let position = |key: i64| u32::try_from(key).ok().filter(|at| (*at as usize) < posts.len());
        let vector = measure(acts, &config, &index, position)?;
        Some(index.scores(&vector.0, posts.len()))
    }

    #[test]
    fn a_like_makes_posts_of_its_kind_interesting_and_weighs_more_than_a_view() {
        let scores = scores(&Acts { liked: vec![(0, 0)], viewed: vec![(1, 0)], ..acts() }).unwrap();
        assert!(scores[0] > scores[1] && scores[2] > scores[3], "{scores:?}");
        assert!(scores[1] > 0.0 && scores[3].abs() < f32::EPSILON, "{scores:?}");
    }

    #[test]
    fn an_older_act_weighs_less() {
        let scores = scores(&Acts { liked: vec![(1, 0), (0, 365 * DAY_MS)], ..acts() }).unwrap();
        assert!(scores[0] > 5.0 * scores[1], "{scores:?}");
    }

    #[test]
    fn searches_and_opened_feeds_count() {
        let searched = scores(&Acts { searched: vec![("async fur".into(), 0)], ..acts() }).unwrap();
        assert!(searched[2] > 0.0 && searched[1] > 0.0 && searched[3].abs() < f32::EPSILON);
        let opened = scores(&Acts { opened: vec![("dogs".into(), 0)], ..acts() }).unwrap();
        assert!(opened[3] > opened[0]);
    }

    #[test]
    fn too_few_acts_or_acts_on_posts_that_are_gone_say_nothing() {
        assert!(scores(&acts()).is_none());
        assert!(scores(&Acts { liked: vec![(99, 0)], ..acts() }).is_none());
    }
}
