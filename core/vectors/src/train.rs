use std::sync::Arc;

use crate::corpus::{Corpus, Vocabulary};
use crate::matrix::Tall;
use crate::model::{Model, Origin, Source};
use crate::ppmi::ppmi;
use crate::svd::truncated;
use crate::vectors::Vectors;
use crate::{Cancelled, Progress, Recipe, part};

/// With fewer words per dimension, the dimensions describe single posts.
const WORDS_PER_DIMENSION: usize = 40;
/// The minimum number of dimensions, if there are four times as many words: with fewer dimensions, all words of a subject are
/// equally similar.
const DIMENSIONS_MIN: usize = 40;
/// With few posts, rarer words are learned as well: a word must be in two posts, and in one more for each 250 posts.
const POSTS_PER_MINIMUM: u32 = 250;

/// The maximum number of pairs of words, with 8 bytes each. With 100,000 words of 200 dimensions, training takes 230 MiB.
const PAIRS_MAX: usize = 10_000_000;

#[derive(Clone, Copy)]
pub struct TrainedAt {
    /// The total number of changes of posts' words until then, as the store counts them.
    pub changes: i64,
    /// In milliseconds UTC.
    pub date: i64,
}

/// `corpus` was read at the time `at`.
pub fn learn(
    corpus: Corpus,
    recipe: &Recipe,
    at: TrainedAt,
    progress: Progress<'_>,
) -> Result<Model, Cancelled> {
    let posts = corpus.posts();
    let TrainedAt { changes, date: made } = at;
    let origin = Origin { source: Source::Posts(recipe.clone()), posts, changes, made };
    let min_posts = recipe.min_posts.min(2 + posts / POSTS_PER_MINIMUM);
    let Vocabulary { words, counts, stream } = corpus.vocabulary(min_posts, recipe.words);
    let words: Vec<Arc<str>> = words.into_iter().map(Arc::from).collect();
    let matrix = ppmi(&stream, words.len(), recipe.window, PAIRS_MAX, &mut part(progress, 0.0, 0.25))?;
    drop(stream);
    let rank = recipe.dimensions.min(dimensions(words.len()));
    let found = truncated(&matrix, rank, recipe.seed, &mut part(progress, 0.25, 1.0))?;
    drop(matrix);
    Ok(Model::new(origin, words, &counts, vectors(found)))
}

fn dimensions(words: usize) -> usize {
    (words / WORDS_PER_DIMENSION).max(DIMENSIONS_MIN.min(words / 4)).max(1)
}

/// The rows of the decomposition times the singular values, around their mean, which says how frequent a word is rather than what
/// it means. Without the mean, and without roots of the values, more neighbours of a word belong to its subject or are its forms.
/// Source: Mu and Viswanath, *All-but-the-top: simple and effective postprocessing for word representations*, ICLR 2018, § 2.
fn vectors(mut rows: Tall) -> Vectors {
    if rows.columns == 0 {
        return Vectors::none(1);
    }
    let mut means = vec![0.0; rows.columns];
    for row in rows.rows() {
        means.iter_mut().zip(row).for_each(|(mean, x)| *mean += f64::from(*x));
    }
    #[expect(clippy::cast_precision_loss, reason = "a model has at most some hundred thousand words")]
    let count = rows.rows().len() as f64;
    for row in rows.rows_mut() {
        for (x, mean) in row.iter_mut().zip(&means) {
            #[expect(clippy::cast_possible_truncation, reason = "the vectors have 32 bits")]
            let component = (f64::from(*x) - mean / count) as f32;
            *x = component;
        }
    }
    Vectors::of(&rows)
}

/// Makes a model of words and vectors that were learned elsewhere. Only words that occur in `corpus` can be neighbours.
pub fn adopt(
    words: Vec<Arc<str>>,
    vectors: Vectors,
    corpus: &Corpus,
    TrainedAt { changes, date: made }: TrainedAt,
) -> Model {
    let origin = Origin { source: Source::File, posts: corpus.posts(), changes, made };
    let counts: Vec<u32> = words.iter().map(|word| corpus.count(word)).collect();
    Model::new(origin, words, &counts, vectors)
}
