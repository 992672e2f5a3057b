//! The signals that the score of a recommended post is made of, and their weights.

pub(crate) mod co_visits;
pub(crate) mod interest;
pub(crate) mod latest;
pub(crate) mod near;
pub(crate) mod of_post;
pub(crate) mod popularity;
mod ranking;
pub(crate) mod recency;
pub(crate) mod score;
mod top;

use std::collections::BTreeMap;
use std::ops::Index;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};

use crate::base::config::Feed;
use crate::profile::history::Acts;
use crate::record::schema::schemas;

/// A signal; each is from 0 to 1. Those of interest in a post without topics, tags or words are multiplied, so that
/// the kinds that the post has carry the shares of the others; the meaning may be less than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Topic,
    Tag,
    Word,
    Meaning,
    Near,
    Novel,
    Recent,
    /// Where recency has fallen to nothing, it still tells the posts of last month from those of last year.
    Age,
    Popular,
    CoVisits,
}

impl Signal {
    /// In the order of their numbers.
    pub(crate) const ALL: [Self; 10] = [
        Self::Topic,
        Self::Tag,
        Self::Word,
        Self::Meaning,
        Self::Near,
        Self::Novel,
        Self::Recent,
        Self::Age,
        Self::Popular,
        Self::CoVisits,
    ];
}

pub(crate) const SIGNALS: usize = Signal::ALL.len();

/// By the numbers of the signals.
pub(crate) type Values = [f32; SIGNALS];

/// The weight of each signal, 0 or more. As JSON, an object with a number for each signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights(pub(crate) Values);

schemas! {
    /// The weight of each signal, from 0 to 1,000. It describes `Weights` in the OpenAPI document.
    pub SignalWeights = {
        let description = "The weight of each signal, from 0 to 1,000. It describes `Weights` in the OpenAPI document.";
        let weight = |signal: Signal| {
            ObjectBuilder::new()
                .schema_type(Type::Number)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Double)))
                .description(Some(format!("The weight of {}.", signal.names().1)))
                .minimum(Some(0))
                .maximum(Some(1_000))
                .examples([0.5])
        };
        let object = ObjectBuilder::new().schema_type(Type::Object).description(Some(description));
        Signal::ALL.into_iter().fold(object, |object, signal| object.property(signal.names().0, weight(signal)))
    };
}

impl Signal {
    /// And what the signal measures.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Topic => ("topic", "the similarity to the topics of the member's acts"),
            Self::Tag => ("tag", "the similarity to the tags"),
            Self::Word => ("word", "the similarity to the words"),
            Self::Meaning => ("meaning", "the similarity to the meaning of the words"),
            Self::Near => ("near", "the similarity to the nearest posts that the member liked or viewed"),
            Self::Novel => ("novel", "how new the post is to the member"),
            Self::Recent => ("recent", "how recent it is among the posts of its topic"),
            Self::Age => ("age", "how few posts of its topic have followed it, by their logarithm"),
            Self::Popular => ("popular", "how popular it is"),
            Self::CoVisits => ("together", "how many people who acted on the member's posts acted on it"),
        }
    }

    /// Returns whether the signal may have a weight that is learned: the settings turn off one without a weight, but have
    /// none for the age.
    pub(crate) fn is_on(self, settings: &Weights) -> bool {
        self == Self::Age || settings[self] > 0.0
    }
}

impl Weights {
    /// Returns the name of each signal with its weight.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f32)> {
        Signal::ALL.into_iter().map(|signal| (signal.names().0, self[signal]))
    }

    pub(crate) fn of(config: &Feed) -> Self {
        let interest = &config.interest;
        #[expect(clippy::cast_possible_truncation, reason = "weights need no more digits")]
        let weight = |signal| match signal {
            Signal::Topic => config.interest_weight * interest.topic_share,
            Signal::Tag => config.interest_weight * interest.tag_share,
            Signal::Word => config.interest_weight * interest.word_share,
            Signal::Meaning => config.interest_weight * interest.meaning_share,
            Signal::Near => config.near_weight,
            Signal::Novel => config.novel_weight,
            Signal::Recent => config.recent_weight,
            Signal::Age => 0.0,
            Signal::Popular => config.popular_weight,
            Signal::CoVisits => config.together_weight,
        } as f32;
        Self(Signal::ALL.map(weight))
    }
}

impl Serialize for Weights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Weights {
    /// Missing signals have no weight, and unknown signals are ignored.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let named = BTreeMap::<String, f32>::deserialize(deserializer)?;
        let weights = Signal::ALL.map(|signal| named.get(signal.names().0).copied().unwrap_or_default());
        if weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0) {
            Ok(Self(weights))
        } else {
            Err(D::Error::custom("a weight is a number of 0 or more"))
        }
    }
}

impl Index<Signal> for Weights {
    type Output = f32;

    fn index(&self, signal: Signal) -> &f32 {
        &self.0[signal as usize]
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scoring {
    pub(crate) weights: Weights,
    pub(crate) is_learned: bool,
}

impl Scoring {
    pub(crate) fn of(config: &Feed) -> Self {
        Self { weights: Weights::of(config), is_learned: false }
    }

    /// A signal that was turned off in the settings since then is off.
    pub(crate) fn learned(weights: Weights, config: &Feed) -> Self {
        let settings = Weights::of(config);
        let of = |signal: Signal| if signal.is_on(&settings) { weights[signal] } else { 0.0 };
        Self { weights: Weights(Signal::ALL.map(of)), is_learned: true }
    }

    /// A member who has only searched and opened topics gets the weights of the settings in place of learned ones: weights are
    /// learned from members with posts of their own, and may give nearness to those posts the weight of all interest.
    pub(crate) fn weights_for(&self, acts: &Acts, config: &Feed) -> Weights {
        let has_posts = !(acts.liked.is_empty() && acts.viewed.is_empty());
        if self.is_learned && !has_posts { Weights::of(config) } else { self.weights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::id::PostKey;
    use crate::testing::NOW;

    #[test]
    fn weights_are_read_as_they_were_written_and_impossible_ones_are_refused() {
        let weights = Weights::of(&Feed::default());
        let written = serde_json::to_string(&weights).unwrap();
        assert_eq!(serde_json::from_str::<Weights>(&written).unwrap(), weights);
        let other = serde_json::from_str::<Weights>(r#"{"recent":0.5,"later":3}"#).unwrap();
        assert!(
            (other[Signal::Recent] - 0.5).abs() < f32::EPSILON && other[Signal::Topic].abs() < f32::EPSILON
        );
        for impossible in [r#"{"recent":-1}"#, r#"{"recent":1e40}"#, r#"{"recent":null}"#, "[]", ""] {
            assert!(serde_json::from_str::<Weights>(impossible).is_err(), "{impossible}");
        }
    }

    #[test]
    fn learned_weights_are_for_members_with_posts_and_without_signals_that_are_off() {
        let config = Feed { popular_weight: 0.0, ..Feed::default() };
        let scoring = Scoring::learned(Weights([0.5; SIGNALS]), &config);
        assert_eq!((scoring.weights[Signal::Popular], scoring.weights[Signal::Age]), (0.0, 0.5));
        assert!(Weights::of(&config)[Signal::Age] == 0.0);
        let searched = Acts { searched: vec![("lake".into(), NOW)], ..Acts::default() };
        let viewed = Acts { viewed: vec![(PostKey::new(1), NOW)], ..Acts::default() };
        assert_eq!(scoring.weights_for(&searched, &config), Weights::of(&config));
        assert_eq!(scoring.weights_for(&viewed, &config), scoring.weights);
        let of_settings = Scoring { is_learned: false, ..scoring };
        assert_eq!(of_settings.weights_for(&searched, &config), of_settings.weights);
    }
}
