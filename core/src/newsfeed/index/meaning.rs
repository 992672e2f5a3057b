//! The meaning of posts: the directions of their words in the word model. Posts with similar words have similar
//! directions, even without a common word.

use std::sync::Arc;

use tidings_vectors::{Direction, ONE, SHORT, ShortVectors, Vectors};

use super::features::{Feature, FeatureIndex, Features, Kind, Number, feature};
use crate::base::keyed::NumberMap;
use crate::words::Current;

/// Only the first components of a vector are used. The model sorts components by their importance: 32 and 64 recommend posts
/// equally well.
const DIMENSIONS: usize = SHORT;

pub(crate) struct Lexicon {
    model: Arc<Current>,
    numbers: NumberMap<Feature, u32>,
}

impl Lexicon {
    pub(crate) fn new(model: Arc<Current>) -> Self {
        let mut numbers = NumberMap::default();
        for (word, number) in model.words().zip(0..) {
            numbers.entry(feature(Kind::Word, word)).or_insert(number);
        }
        Self { model, numbers }
    }

    pub(crate) fn is_of(&self, model: &Arc<Current>) -> bool {
        Arc::ptr_eq(&self.model, model)
    }

    fn dimensions(&self) -> usize {
        self.model.vectors().dimensions().min(DIMENSIONS)
    }
}

/// The directions of posts, by position. The direction of a post is the sum of its keywords' vectors, weighted as in the index,
/// minus the mean of all posts: the common part of all posts does not distinguish them. Source: Arora, Liang and Ma, *A simple but
/// tough-to-beat baseline for sentence embeddings*, ICLR 2017; with the mean in place of the first principal component.
pub(crate) struct Meanings {
    lexicon: Arc<Lexicon>,
    mean: Vec<f32>,
    vectors: ShortVectors,
}

impl Meanings {
    /// `features` has the weights of the words, and `numbers` the numbers of the posts' features, post after post.
    pub(crate) fn new<'a>(
        lexicon: &Arc<Lexicon>,
        posts: impl ExactSizeIterator<Item = &'a Features>,
        features: &FeatureIndex,
        mut numbers: &[u32],
    ) -> Self {
        let mut vectors = Vectors::with_capacity(lexicon.dimensions(), posts.len());
        // The word of each feature and its weight, by the feature's number.
        let mut words = vec![None; features.len()];
        for (feature, number) in features.all().filter(|(feature, _)| Kind::of(*feature) == Kind::Word) {
            let word = lexicon.numbers.get(&feature);
            words[number as usize] = word.map(|word| (*word, features.idf_of(number)));
        }
        let mut sum = vec![0.0; lexicon.dimensions()];
        for post in posts {
            let (own, rest) = numbers.split_at(post.len());
            numbers = rest;
            sum.fill(0.0);
            for ((_, weight), number) in post.weighted().zip(own) {
                if let Some((word, idf)) = words[*number as usize] {
                    add(&mut sum, lexicon.model.vectors().at(word as usize), weight * idf);
                }
            }
            vectors.push(&sum);
        }
        let mut meanings = Self {
            mean: mean(&vectors),
            vectors: ShortVectors::with_capacity(vectors.len()),
            lexicon: Arc::clone(lexicon),
        };
        for vector in vectors.all() {
            let vector = meanings.minus_mean(vector);
            meanings.vectors.push(&vector);
        }
        meanings
    }

    pub(crate) fn lexicon(&self) -> &Arc<Lexicon> {
        &self.lexicon
    }

    pub(crate) fn zero(&self) -> Vec<f32> {
        vec![0.0; self.lexicon.dimensions()]
    }

    pub(crate) fn add_post(&self, sum: &mut [f32], position: u32, weight: f32) {
        self.vectors.add_to(sum, position as usize, weight);
    }

    pub(crate) fn add_words(&self, sum: &mut [f32], words: &[(Feature, Number, f32)], weight: f32) {
        let Lexicon { model, numbers } = &*self.lexicon;
        let mut words_sum = self.zero();
        for (word, _, of_word) in words.iter().filter(|(word, ..)| Kind::of(*word) == Kind::Word) {
            if let Some(number) = numbers.get(word) {
                add(&mut words_sum, model.vectors().at(*number as usize), *of_word);
            }
        }
        let mut direction = Vectors::none(self.lexicon.dimensions());
        direction.push(&words_sum);
        let centred = self.minus_mean(direction.at(0));
        direction.push(&centred);
        add(sum, direction.at(1), weight / ONE);
    }

    pub(crate) fn score(&self, sum: &[f32], share: f32, scores: &mut [f32]) {
        self.vectors.add_cosines(&Direction::of(sum), share, scores);
    }

    pub(crate) fn cosine_with(&self, position: u32, direction: &Direction) -> f32 {
        self.vectors.cosine_with(position as usize, direction)
    }

    pub(crate) fn cosine(&self, one: u32, other: u32) -> f32 {
        self.vectors.cosine(one as usize, other as usize)
    }

    /// A zero vector stays zero.
    fn minus_mean(&self, vector: &[i16]) -> Vec<f32> {
        if vector.iter().all(|x| *x == 0) {
            return self.zero();
        }
        vector.iter().zip(&self.mean).map(|(x, mean)| f32::from(*x) - mean).collect()
    }
}

/// Adds the first components of `vector`, as many as `sum` has, in units of [`ONE`].
fn add(sum: &mut [f32], vector: &[i16], weight: f32) {
    sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += weight * f32::from(*x));
}

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
