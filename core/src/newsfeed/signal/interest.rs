use super::ranking::narrow;
use super::top::top;
use super::{Signal, Weights};
use crate::newsfeed::index::FeedIndex;
use crate::newsfeed::index::features::{FeatureIndex, Kind, Number, add, feature, normalise};
use crate::newsfeed::index::meaning::Meanings;
use tidings_vectors::Direction;

use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::config;
use crate::base::keyed::NumberMap;
use crate::profile::history::Acts;

/// Allows for many interests, while scoring every post stays fast.
const fn features_max(kind: Kind) -> usize {
    match kind {
        Kind::Topic => 32,
        Kind::Tag => 64,
        Kind::Word => 160,
    }
}

pub(crate) struct Interest {
    /// A vector over the features of posts. The block of each kind is as long as in the vector of a post, so few
    /// interests weigh as much as many.
    features: Vec<(Number, f32)>,
    /// The sum of the directions of the posts and words of the acts; `None` without a word model.
    meaning: Option<Vec<f32>>,
    /// Distinct, the latest first.
    pub(crate) times: Vec<Timestamp>,
    /// The share of the acts on posts that were on posts with each label, by the label's number.
    pub(crate) labels: Vec<f32>,
}

/// `None` if there are too few acts. Each act adds the vector of its post or words, multiplied by the weight of the act's kind and
/// halved with every half-life of its age. Ages count from the newest act: as time passes, all acts decay alike, so the direction
/// changes only with new acts. Posts that are not in the index are ignored.
pub(crate) fn measure(acts: &Acts, config: &config::Interest, index: &FeedIndex) -> Option<Interest> {
    if acts.len() < config.min_acts { None } else { of_acts(acts, config, index) }
}

/// Like [`measure`], however few the acts are; `None` if they show no interest.
pub(crate) fn of_acts(acts: &Acts, config: &config::Interest, index: &FeedIndex) -> Option<Interest> {
    let Acts { liked, viewed, searched, opened, hidden } = acts;
    let posts = liked.iter().chain(viewed).map(|(_, date)| *date);
    let mut times: Vec<Timestamp> =
        posts.chain(searched.iter().chain(opened).map(|(_, date)| *date)).collect();
    // A stable sort merges the four sorted lists.
    times.sort_by_key(|time| std::cmp::Reverse(*time));
    times.dedup();
    let newest = *times.first()?;
    let decay = |date: Timestamp| {
        #[expect(clippy::cast_precision_loss, reason = "ages are far below 2^53 milliseconds")]
        let days = (newest - date) as f64 / DAY_MS as f64;
        (-days / config.half_life_days).exp2()
    };
    let (features, meanings) = (index.features(), index.meanings());
    let mut sum = vec![0.0_f32; features.len()];
    let mut meaning = meanings.map(Meanings::zero);
    let mut labels = vec![0.0_f32; index.snapshot.labels.len()];
    let mut all = 0.0;
    // A hidden post takes back as much as a like adds.
    let weights = [config.like_weight, config.view_weight, -config.like_weight];
    let posts = [liked, viewed, hidden].into_iter().zip(weights).flat_map(|(acts, weight)| {
        acts.iter().filter_map(move |(post, date)| {
            Some((index.position(*post)?, narrow(weight * decay((*date).min(newest)))))
        })
    });
    let posts: Vec<(u32, f32)> = posts.collect();
    features.fetch(posts.iter().map(|(position, _)| *position));
    for (position, weight) in posts {
        add(&mut sum, features.vector(position), weight);
        if let Some((meanings, meaning)) = meanings.zip(meaning.as_mut()) {
            meanings.add_post(meaning, position, weight);
        }
        if weight >= 0.0 {
            index.snapshot.labels.of(position).iter().for_each(|label| labels[*label as usize] += weight);
            all += weight;
        }
    }
    for (words, date) in searched {
        let (named, weight) = (features.searched(words), narrow(config.search_weight * decay(*date)));
        for (_, number, of_name) in &named {
            sum[*number as usize] += weight * of_name;
        }
        if let Some((meanings, meaning)) = meanings.zip(meaning.as_mut()) {
            meanings.add_words(meaning, &named, weight);
        }
    }
    for (name, date) in opened {
        let topic = feature(Kind::Topic, name);
        let weight = narrow(config.open_weight * decay(*date));
        let named = features.named([topic, feature(Kind::Tag, name)].into_iter());
        for (_, number, of_name) in &named {
            sum[*number as usize] += weight * of_name;
        }
        if let Some(label) = index.snapshot.labels.number(topic) {
            labels[label as usize] += weight;
        }
        all += weight;
    }
    if all > 0.0 {
        for share in &mut labels {
            *share /= all;
        }
    }
    let strongest = strongest(&sum, features, config)?;
    Some(Interest { features: strongest, meaning, times, labels })
}

impl Interest {
    /// By position.
    pub(crate) fn scores(&self, index: &FeedIndex, weights: &Weights, config: &config::Interest) -> Vec<f32> {
        let mut query = self.features.clone();
        for (kind, signal) in KINDS {
            let (range, factor) = (index.features().numbers(kind), weights[signal] * unit_of(kind, config));
            let of_kind = query.iter_mut().filter(|(number, _)| range.contains(&(*number as usize)));
            of_kind.for_each(|(_, weight)| *weight *= factor);
        }
        let mut scores = index.features().scores(&query, index.len());
        if let Some((meanings, meaning)) = index.meanings().zip(self.meaning.as_ref()) {
            meanings.score(meaning, weights[Signal::Meaning], &mut scores);
        }
        for (score, spread) in scores.iter_mut().zip(&index.similarity().spread) {
            *score *= spread;
        }
        scores
    }

    pub(crate) fn by_kind<'i>(&'i self, index: &'i FeedIndex, config: &config::Interest) -> ByKind<'i> {
        let direction = index.meanings().zip(self.meaning.as_ref());
        ByKind {
            index,
            weights: self.features.iter().copied().collect(),
            units: KINDS.map(|(kind, _)| unit_of(kind, config)),
            direction: direction.map(|(meanings, sum)| (meanings, Direction::of(sum))),
        }
    }

    pub(crate) fn share(&self, label: Number) -> f32 {
        self.labels[label as usize]
    }
}

const KINDS: [(Kind, Signal); 3] =
    [(Kind::Topic, Signal::Topic), (Kind::Tag, Signal::Tag), (Kind::Word, Signal::Word)];

/// The product of two blocks is a cosine times the share of the kind; this factor reduces it to the cosine.
pub(crate) fn unit_of(kind: Kind, config: &config::Interest) -> f32 {
    let share = narrow(kind.share(config));
    if share > 0.0 { 1.0 / share } else { 0.0 }
}

pub(crate) struct ByKind<'i> {
    index: &'i FeedIndex,
    weights: NumberMap<Number, f32>,
    units: [f32; KINDS.len()],
    direction: Option<(&'i Meanings, Direction)>,
}

impl ByKind<'_> {
    /// As in [`Interest::scores`].
    pub(crate) fn each(&self, position: u32, set: &mut impl FnMut(Signal, f32)) {
        let (features, spread) = (self.index.features(), self.index.similarity().spread[position as usize]);
        for ((kind, signal), unit) in KINDS.into_iter().zip(self.units) {
            let vector = features.of_kind(position, kind).iter();
            let product: f32 =
                vector.filter_map(|(number, weight)| Some(weight * self.weights.get(number)?)).sum();
            set(signal, spread * unit * product);
        }
        if let Some((meanings, direction)) = &self.direction {
            set(Signal::Meaning, spread * meanings.cosine_with(position, direction));
        }
    }
}

/// Ties by feature, so that the same acts always give the same vector.
fn strongest(sum: &[f32], features: &FeatureIndex, config: &config::Interest) -> Option<Vec<(Number, f32)>> {
    let mut strongest = Vec::new();
    for kind in Kind::ALL {
        let numbers = features.numbers(kind);
        let mut block = top(&sum[numbers.clone()], features_max(kind), 0.0);
        #[expect(clippy::cast_possible_truncation, reason = "numbers of features fit 32 bits")]
        let first = numbers.start as Number;
        for (number, _) in &mut block {
            *number += first;
        }
        normalise(&mut block, kind, config);
        strongest.append(&mut block);
    }
    (!strongest.is_empty()).then_some(strongest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::Feed;
    use crate::newsfeed::index::tests::{as_of_now, row};
    use crate::post::feed_rows::FeedRow;
    use crate::record::id::PostKey;
    use crate::testing::NOW;

    /// Creates an index of posts with the keys 1 to 4, the first the newest.
    fn index() -> FeedIndex {
        let post =
            |key, topic: &str, words: &str| FeedRow { keyword: words.into(), ..row(key, NOW - key, topic) };
        let rows = vec![
            post(1, "rust", "borrow lifetime"),
            post(2, "cats", "fur purr"),
            post(3, "rust", "async await"),
            post(4, "dogs", "bark"),
        ];
        FeedIndex::next(None, rows, &[], None, as_of_now(), &Feed::default())
    }

    fn acts() -> Acts {
        Acts::default()
    }

    fn config() -> config::Interest {
        config::Interest { min_acts: 1, ..config::Interest::default() }
    }

    /// Returns an act on a post at a time in milliseconds since 1970.
    fn act(post: i64, ms: i64) -> (PostKey, Timestamp) {
        (PostKey::new(post), Timestamp::from_millis(ms))
    }

    fn scores(acts: &Acts) -> Option<Vec<f32>> {
        let index = index();
        Some(measure(acts, &config(), &index)?.scores(&index, &Weights::of(&Feed::default()), &config()))
    }

    #[test]
    fn a_like_makes_similar_posts_interesting_and_weighs_more_than_a_view() {
        let scores = scores(&Acts { liked: vec![act(1, 0)], viewed: vec![act(2, 0)], ..acts() }).unwrap();
        assert!(scores[0] > scores[1] && scores[2] > scores[3], "{scores:?}");
        assert!(scores[1] > 0.0 && scores[3].abs() < f32::EPSILON, "{scores:?}");
    }

    #[test]
    fn an_older_act_weighs_less() {
        let scores = scores(&Acts { liked: vec![act(2, 0), act(1, 365 * DAY_MS)], ..acts() }).unwrap();
        assert!(scores[0] > 5.0 * scores[1], "{scores:?}");
    }

    #[test]
    fn searches_and_opened_feeds_count() {
        let searched =
            scores(&Acts { searched: vec![("async fur".into(), Timestamp::default())], ..acts() }).unwrap();
        assert!(searched[2] > 0.0 && searched[1] > 0.0 && searched[3].abs() < f32::EPSILON);
        let opened = scores(&Acts { opened: vec![("dogs".into(), Timestamp::default())], ..acts() }).unwrap();
        assert!(opened[3] > opened[0]);
    }

    #[test]
    fn a_hidden_post_takes_interest_from_similar_ones() {
        let liked = vec![act(1, 0), act(2, 0)];
        let before = scores(&Acts { liked: liked.clone(), ..acts() }).unwrap();
        // It is hidden after the last act that counts.
        let after = scores(&Acts { liked, hidden: vec![act(3, DAY_MS)], ..acts() }).unwrap();
        let is_less = [0, 1, 2].map(|post| after[post] < before[post]);
        assert_eq!(is_less, [true, false, true], "{before:?} {after:?}");
        assert!(scores(&Acts { hidden: vec![act(3, 0)], ..acts() }).is_none(), "no act shows what they like");
    }

    #[test]
    fn many_tags_weigh_no_less_than_a_few() {
        let (few, many) = (Acts { liked: vec![act(1, 0)], ..acts() }, [1, 2, 3, 4].map(|post| act(post, 0)));
        let length = |acts: &Acts, kind| -> f32 {
            let index = index();
            let features = measure(acts, &config(), &index).unwrap().features;
            let numbers = index.features().numbers(kind);
            features
                .iter()
                .filter(|(number, _)| numbers.contains(&(*number as usize)))
                .map(|(_, w)| w * w)
                .sum()
        };
        for kind in [Kind::Topic, Kind::Word] {
            let of_many = length(&Acts { liked: many.into(), ..acts() }, kind);
            assert!((length(&few, kind) - of_many).abs() < 1e-5, "{kind:?}");
        }
    }

    #[test]
    fn the_share_of_a_topic_is_the_share_of_acts_on_its_posts() {
        let acts = Acts { liked: vec![act(1, 0)], viewed: vec![act(2, 0)], ..acts() };
        let index = index();
        let interest = measure(&acts, &config(), &index).unwrap();
        let share = |name| interest.share(index.snapshot.labels.number(feature(Kind::Topic, name)).unwrap());
        assert!((share("rust") - 0.75).abs() < 1e-6 && (share("cats") - 0.25).abs() < 1e-6);
        assert!(share("dogs").abs() < f32::EPSILON);
    }

    #[test]
    fn too_few_acts_and_acts_on_removed_posts_show_no_interest() {
        assert!(scores(&acts()).is_none());
        assert!(scores(&Acts { liked: vec![act(99, 0)], ..acts() }).is_none());
    }
}
