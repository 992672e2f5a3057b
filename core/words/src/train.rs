//! Trains a model on a corpus.

use std::sync::Arc;

use crate::corpus::{Corpus, Vocabulary};
use crate::model::{Model, Origin, Source};
use crate::ppmi::ppmi;
use crate::svd::{Truncated, truncated};
use crate::vectors::Vectors;
use crate::{Cancelled, Progress, Recipe, part};

/// The exponent of the singular values in the vectors: of 0, ½ and 1, the exponent ½ finds the most topical neighbours.
///
/// Source: Levy, Goldberg and Dagan (see `ppmi`), section 3.3.
const EIGENVALUE_POWER: f64 = 0.5;
/// The number of words per dimension: with fewer words, the dimensions describe single posts.
const WORDS_PER_DIMENSION: usize = 40;
/// The minimum number of dimensions, if there are four times as many words: with fewer dimensions, all words of a subject are
/// equally similar.
const DIMENSIONS_MIN: usize = 40;
/// With few posts, rarer words are learned as well: a word must be in two posts, and in one more for each 250 posts.
const POSTS_PER_MINIMUM: u32 = 250;

/// The maximum number of pairs of words, with 8 bytes each: several times the pairs of 100,000 short posts.
const PAIRS_MAX: usize = 40_000_000;

/// The point in time at which the posts were read.
#[derive(Clone, Copy)]
pub struct Moment {
    /// The total number of changes of posts' words until then, as the store counts them.
    pub changes: i64,
    /// The time in milliseconds UTC.
    pub date: i64,
}

/// Learns the words of `corpus`, which was read at the time `at`.
///
/// # Errors
/// Returns [`Cancelled`] when `progress` cancels the work.
pub fn learn(
    corpus: Corpus,
    recipe: &Recipe,
    at: Moment,
    progress: Progress<'_>,
) -> Result<Model, Cancelled> {
    let posts = corpus.posts();
    let Moment { changes, date: made } = at;
    let origin = Origin { source: Source::Posts(recipe.clone()), posts, changes, made };
    let min_posts = recipe.min_posts.min(2 + posts / POSTS_PER_MINIMUM);
    let Vocabulary { words, counts, stream } = corpus.vocabulary(min_posts, recipe.words);
    let words: Vec<Arc<str>> = words.into_iter().map(Arc::from).collect();
    let matrix = ppmi(&stream, words.len(), recipe.window, PAIRS_MAX, &mut part(progress, 0.0, 0.2))?;
    drop(stream);
    let rank = recipe.dimensions.min(dimensions(words.len()));
    let found = truncated(&matrix, rank, recipe.seed, &mut part(progress, 0.2, 0.8))?;
    drop(matrix);
    let vectors = vectors(found);
    Model::make(origin, words, &counts, vectors, &mut part(progress, 0.8, 1.0))
}

/// Returns the number of dimensions for a number of words.
fn dimensions(words: usize) -> usize {
    (words / WORDS_PER_DIMENSION).max(DIMENSIONS_MIN.min(words / 4)).max(1)
}

fn vectors(Truncated { mut left, values }: Truncated) -> Vectors {
    if values.is_empty() {
        return Vectors::none(1);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the vectors have 32 bits")]
    let factors: Vec<f32> = values.iter().map(|value| value.powf(EIGENVALUE_POWER) as f32).collect();
    for row in left.rows_mut() {
        row.iter_mut().zip(&factors).for_each(|(x, factor)| *x *= factor);
    }
    Vectors::of(&left)
}

/// Makes a model of words and vectors that were learned elsewhere. Only words that occur in `corpus` can be neighbours.
///
/// # Errors
/// Returns [`Cancelled`] when `progress` cancels the work.
pub fn adopt(
    words: Vec<Arc<str>>,
    vectors: Vectors,
    corpus: &Corpus,
    Moment { changes, date: made }: Moment,
    progress: Progress<'_>,
) -> Result<Model, Cancelled> {
    let origin = Origin { source: Source::File, posts: corpus.posts(), changes, made };
    let counts: Vec<u32> = words.iter().map(|word| corpus.count(word)).collect();
    Model::make(origin, words, &counts, vectors, progress)
}
