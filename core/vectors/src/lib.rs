//! The word model of tidings: the similarity of words, learned from texts.
//!
//! [`learn`] counts how often words occur near each other in a [`Corpus`], compares the counts with chance (`ppmi`), and reduces
//! that large sparse matrix to a few hundred dimensions (`svd`), which gives each word a vector. The [`Model`] finds the nearest
//! words of a word, and derives those of an unknown or misspelled word from the words with similar spelling (`subword`). The same
//! corpus and [`Recipe`] give the same model on every machine.

use serde::{Deserialize, Serialize};

mod corpus;
mod matrix;
mod model;
mod ppmi;
mod random;
mod short;
mod stored;
mod subword;
mod svd;
pub mod text_form;
mod train;
mod vectors;

pub use corpus::Corpus;
pub use model::{Model, NEIGHBOURS_MAX, Origin, Source};
pub use random::Random;
pub use short::{Direction, SHORT, ShortVectors};
pub use stored::{Damaged, StoredPart};
pub use train::{TrainedAt, adopt, learn};
pub use vectors::{DIMENSIONS_MAX, ONE, Vectors};

/// Training settings; changing any of them requires retraining.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// At most [`DIMENSIONS_MAX`].
    pub dimensions: usize,
    /// On each side of a word.
    pub window: usize,
    /// Words in fewer posts are not learned. A small corpus lowers this bound.
    pub min_posts: u32,
    /// At most, the most frequent first.
    pub words: usize,
    /// The number of words after which no more posts are read.
    pub corpus: usize,
    pub seed: u64,
}

#[derive(Debug)]
pub struct Cancelled;

/// From 0 to 1; an error cancels the work.
pub type Progress<'a> = &'a mut dyn FnMut(f64) -> Result<(), Cancelled>;

/// Maps the progress of a part of the work to the range `from` to `to` of the whole work.
pub fn part(progress: Progress<'_>, from: f64, to: f64) -> impl FnMut(f64) -> Result<(), Cancelled> {
    move |share| progress(from + (to - from) * share)
}

/// Never cancels.
#[cfg(test)]
#[expect(clippy::unnecessary_wraps, reason = "the signature is that of `Progress`")]
fn ignore_progress(_: f64) -> Result<(), Cancelled> {
    Ok(())
}
