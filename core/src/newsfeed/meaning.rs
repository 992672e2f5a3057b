//! What posts mean: the directions of their words in the word model, so that posts are alike that say the same in
//! other words.

use std::sync::Arc;

use tidings_words::{ONE, Vectors, product};

use super::features::{Feature, FeatureIndex, Features, Kind, feature};
use crate::keyed::NumberMap;
use crate::words::Current;

/// How many components of a word's vector are looked at: the model has those first that tell most.
const DIMENSIONS: usize = 64;

/// The words of a model, found by their features.
pub(super) struct Lexicon {
    model: Arc<Current>,
    numbers: NumberMap<Feature, u32>,
}

impl Lexicon {
    /// The words of `model`.
    pub(super) fn new(model: Arc<Current>) -> Self {
        let mut numbers = NumberMap::default();
        for (word, number) in model.words().zip(0..) {
            numbers.entry(feature(Kind::Word, word)).or_insert(number);
        }
        Self { model, numbers }
    }

    /// Whether it is of this very model.
    pub(super) fn is_of(&self, model: &Arc<Current>) -> bool {
        Arc::ptr_eq(&self.model, model)
    }

    fn dimensions(&self) -> usize {
        self.model.vectors().dimensions().min(DIMENSIONS)
    }

    /// The sum of the vectors of words, each with its weight; zeros when none is known.
    fn sum(&self, words: impl Iterator<Item = (Feature, f32)>) -> Vec<f32> {
        let mut sum = vec![0.0; self.dimensions()];
        for (word, weight) in words {
            let Some(number) = self.numbers.get(&word) else { continue };
            add(&mut sum, self.model.vectors().at(*number as usize), weight);
        }
        sum
    }
}

/// The directions of posts, by position.
///
/// A post's is that of the sum of its keywords' vectors, each weighing as the keyword does in the index, from the
/// mean of all posts on: what all posts share says nothing of one.
///
/// Source: Arora, Liang and Ma, *A simple but tough-to-beat baseline for sentence embeddings*, ICLR 2017; the mean in
/// place of the first principal component.
pub(super) struct Meanings {
    lexicon: Arc<Lexicon>,
    mean: Vec<f32>,
    vectors: Vectors,
}

impl Meanings {
    /// The directions of `posts`, whose words weigh as `features` says.
    pub(super) fn new<'a>(
        lexicon: &Arc<Lexicon>,
        posts: impl Iterator<Item = &'a Features>,
        features: &FeatureIndex,
    ) -> Self {
        let mut vectors = Vectors::none(lexicon.dimensions());
        for post in posts {
            vectors
                .push(&lexicon.sum(post.words().map(|(word, weight)| (word, weight * features.idf(word)))));
        }
        let mut meanings = Self {
            mean: mean(&vectors),
            vectors: Vectors::none(lexicon.dimensions()),
            lexicon: Arc::clone(lexicon),
        };
        for vector in vectors.all() {
            let vector = meanings.seen_from_mean(vector);
            meanings.vectors.push(&vector);
        }
        meanings
    }

    /// The words that it knows them by.
    pub(super) fn lexicon(&self) -> &Arc<Lexicon> {
        &self.lexicon
    }

    /// Nothing yet, to add to.
    pub(super) fn none(&self) -> Vec<f32> {
        vec![0.0; self.vectors.dimensions()]
    }

    /// Adds `weight` times the direction of the post at a position.
    pub(super) fn add_post(&self, sum: &mut [f32], position: u32, weight: f32) {
        add(sum, self.vectors.at(position as usize), weight);
    }

    /// Adds `weight` times the direction of words.
    pub(super) fn add_words(&self, sum: &mut [f32], words: &[(Feature, f32)], weight: f32) {
        let words = words.iter().copied().filter(|(word, _)| Kind::of(*word) == Kind::Word);
        let mut direction = Vectors::none(self.vectors.dimensions());
        direction.push(&self.lexicon.sum(words));
        let seen = self.seen_from_mean(direction.at(0));
        direction.push(&seen);
        add(sum, direction.at(1), weight);
    }

    /// Adds `share` times the cosine with the direction of `sum` to the scores of the posts.
    pub(super) fn score(&self, sum: &[f32], share: f32, scores: &mut [f32]) {
        let mut direction = Vectors::none(self.vectors.dimensions());
        direction.push(sum);
        let share = share / (ONE * ONE);
        for (score, vector) in scores.iter_mut().zip(self.vectors.all()) {
            #[expect(clippy::cast_precision_loss, reason = "components have no more digits")]
            let product = product(direction.at(0), vector) as f32;
            *score += share * product;
        }
    }

    /// A direction as it is seen from the mean; nothing stays nothing.
    fn seen_from_mean(&self, vector: &[i16]) -> Vec<f32> {
        if vector.iter().all(|x| *x == 0) {
            return self.none();
        }
        vector.iter().zip(&self.mean).map(|(x, mean)| f32::from(*x) - mean).collect()
    }
}

/// Adds the first components of `vector`, as many as `sum` has, in units of [`ONE`].
fn add(sum: &mut [f32], vector: &[i16], weight: f32) {
    sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += weight * f32::from(*x));
}

/// The mean of the vectors that are not nothing.
fn mean(vectors: &Vectors) -> Vec<f32> {
    let mut mean = vec![0.0; vectors.dimensions()];
    let mut count = 0.0;
    for vector in vectors.all().filter(|vector| vector.iter().any(|x| *x != 0)) {
        add(&mut mean, vector, 1.0);
        count += 1.0;
    }
    for x in &mut mean {
        *x /= f32::max(count, 1.0);
    }
    mean
}
