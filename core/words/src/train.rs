//! From posts to a model.

use std::sync::Arc;

use crate::corpus::{Corpus, Vocabulary};
use crate::model::{Model, Origin, Source};
use crate::ppmi::ppmi;
use crate::svd::{Truncated, truncated};
use crate::vectors::Vectors;
use crate::{Go, Recipe, Stopped, part};

/// The power of the singular values that coordinates are multiplied by: of 0, ½ and 1 the middle one finds the most
/// topical neighbours.
///
/// Source: Levy, Goldberg and Dagan (see `ppmi`), section 3.3.
const EIGENVALUE_POWER: f64 = 0.5;
/// Words of a vocabulary that are worth one more dimension: with fewer, dimensions follow single posts.
const WORDS_A_DIMENSION: usize = 40;
/// The least dimensions all the same, where there are four times as many words.
const DIMENSIONS_MIN: usize = 10;
/// In a store of few posts words of fewer posts are learned: of at least two, one more with each so many posts.
const POSTS_A_POST: u32 = 250;

/// Pairs of words that are learned from, with 8 bytes each: several times those of 100,000 short posts.
const PAIRS_MAX: usize = 40_000_000;

/// When posts were read.
#[derive(Clone, Copy)]
pub struct Moment {
    /// How many changes of posts' words there had been, ever.
    pub changes: i64,
    /// Milliseconds UTC.
    pub date: i64,
}

/// Learns the words of `corpus`, read at a moment.
///
/// # Errors
/// When `go` cancels it.
pub fn learn(corpus: Corpus, recipe: &Recipe, at: Moment, go: Go<'_>) -> Result<Model, Stopped> {
    let posts = corpus.posts();
    let Moment { changes, date: made } = at;
    let origin = Origin { source: Source::Posts(recipe.clone()), posts, changes, made };
    let min_posts = recipe.min_posts.min(2 + posts / POSTS_A_POST);
    let Vocabulary { words, counts, stream } = corpus.vocabulary(min_posts, recipe.words);
    let words: Vec<Arc<str>> = words.into_iter().map(Arc::from).collect();
    let matrix = ppmi(&stream, words.len(), recipe.window, PAIRS_MAX, &mut part(go, 0.0, 0.2))?;
    drop(stream);
    let rank = recipe.dimensions.min(dimensions(words.len()));
    let found = truncated(&matrix, rank, recipe.seed, &mut part(go, 0.2, 0.8))?;
    drop(matrix);
    let vectors = vectors(found);
    Model::make(origin, words, &counts, vectors, &mut part(go, 0.8, 1.0))
}

/// As many dimensions as so many words are worth.
fn dimensions(words: usize) -> usize {
    (words / WORDS_A_DIMENSION).max(DIMENSIONS_MIN.min(words / 4)).max(1)
}

fn vectors(Truncated { mut left, values }: Truncated) -> Vectors {
    if values.is_empty() {
        return Vectors::none(1);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the vectors have no more digits")]
    let factors: Vec<f32> = values.iter().map(|value| value.powf(EIGENVALUE_POWER) as f32).collect();
    for row in left.rows_mut() {
        row.iter_mut().zip(&factors).for_each(|(x, factor)| *x *= factor);
    }
    Vectors::of(&left)
}

/// The model of words and vectors that come from elsewhere: their neighbours are those that stand in the posts of
/// `corpus`.
///
/// # Errors
/// When `go` cancels it.
pub fn adopt(
    words: Vec<Arc<str>>,
    vectors: Vectors,
    corpus: &Corpus,
    Moment { changes, date: made }: Moment,
    go: Go<'_>,
) -> Result<Model, Stopped> {
    let origin = Origin { source: Source::File, posts: corpus.posts(), changes, made };
    let counts: Vec<u32> = words.iter().map(|word| corpus.count(word)).collect();
    Model::make(origin, words, &counts, vectors, go)
}
