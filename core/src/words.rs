//! Words: how text becomes tokens, and which words mean much the same.
//!
//! [`tokens`] is the one place that says what a word is; whatever is stored, searched or learned is cut by it,
//! so that a search and the text it should find cannot disagree.
//!
//! # The word model
//!
//! Words that stand in like company mean like things. A model is learned from the posts: how often words stand near
//! each other, beside what chance would have (`ppmi`), is a large sparse matrix; the few hundred directions in which
//! it reaches farthest (`svd`) give each word a vector, and the angle between two vectors says how alike the words
//! are. Each word's nearest are found once for all (`near`), so [`similar`] looks them up. A word that the posts
//! hardly know, or that is mistyped, is taken for the mean of the words that are written much like it (`subword`).
//!
//! The model is kept in the file `<database>.words`, and by [`follow`] learned again when the posts have changed
//! enough, in a thread of low priority. [`load`] puts vectors in its place that were learned elsewhere; these stay
//! until [`train`] is asked for, and only which words stand in posts is followed. The same posts and settings give
//! the same model.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use crate::Tidings;
use crate::config::{self, Bounds};
use crate::error::{Error, Result};
use crate::text;

mod corpus;
pub(crate) mod file;
mod fold;
mod han;
mod hangul;
mod keeper;
mod matrix;
mod model;
mod near;
mod ppmi;
pub(crate) mod random;
mod stop;
mod subword;
mod svd;
#[cfg(test)]
mod tests;
pub(crate) mod text_form;
pub mod tokens;
mod train;
mod vectors;

pub(crate) use keeper::{Current, Words, file_of};
pub(crate) use vectors::{ONE, Vectors, product};

/// Characters of a search.
pub const SEARCH: Bounds = Bounds { min: 1, max: 200 };
pub(crate) const SEARCH_RULE: &str = "search is 1 to 200 characters without control characters";

/// What [`similar`] answers.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimilarityWords {
    /// For each token of the search, in their order, an object with it as the only key.
    #[cfg_attr(
        feature = "openapi",
        schema(value_type = Vec<std::collections::BTreeMap<String, Vec<std::collections::BTreeMap<String, f64>>>>)
    )]
    pub similarity_word: Vec<TokenWords>,
}

/// A token, and the words that are most like it, the most first: `{"token": [{"word": 0.83}, …]}`.
#[derive(Debug, PartialEq)]
pub struct TokenWords {
    /// The token.
    pub token: String,
    /// The words.
    pub words: Vec<SimilarWord>,
}

/// A word and how alike it is: `{"word": 0.83}`.
#[derive(Clone, Debug, PartialEq)]
pub struct SimilarWord {
    /// The word.
    pub word: Arc<str>,
    /// From 0, nothing shared, to 1, the same; in four digits.
    pub similarity: f64,
}

impl Serialize for TokenWords {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(&self.token, &self.words)?;
        map.end()
    }
}

impl Serialize for SimilarWord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(&*self.word, &self.similarity)?;
        map.end()
    }
}

/// What [`train`], [`export`] and [`load`] did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WordsReport {
    /// How many words the model knows.
    pub words: usize,
    /// How long it took, in hundredths of a second.
    pub seconds: f64,
}

/// For each distinct token of a search the words that are most like it, among those that stand in posts: as many, and
/// as like, as the settings say. None for a token that the model does not know, nor anything written like it; for
/// every token where there is no model.
///
/// # Errors
/// `bad request` when the search breaks its rule.
pub fn similar(tidings: &Tidings, search: &str) -> Result<SimilarityWords> {
    let search = text::block(search, SEARCH).ok_or(Error::BadRequest(SEARCH_RULE))?;
    let tokens = tokens::distinct(tokens::tokens(&search));
    let most = tidings.config().words.similar;
    let similarity_word = tokens.into_iter().map(|token| {
        let words = similar_to(tidings, &token, most);
        TokenWords { token, words }
    });
    Ok(SimilarityWords { similarity_word: similarity_word.collect() })
}

/// The words most like a token, the most first, at most `most`, as like as the settings say.
pub(crate) fn similar_to(tidings: &Tidings, token: &str, most: usize) -> Vec<SimilarWord> {
    let mut words = Vec::new();
    let Some(current) = tidings.words().current().filter(|_| most > 0) else { return words };
    current.neighbours(token, |word, similarity| {
        let similarity = (f64::from(similarity) * 1e4).round() / 1e4;
        if similarity >= tidings.config().words.similarity {
            words.push(SimilarWord { word: Arc::clone(word), similarity });
        }
        similarity >= tidings.config().words.similarity && words.len() < most
    });
    words
}

/// Keeps the model up with the posts, and with what other processes make, from now on until the service is dropped.
///
/// # Errors
/// When the system has no thread to spare.
pub fn follow(tidings: &Tidings) -> Result<()> {
    tidings.words().follow()
}

/// Learns the words of the posts now, and puts them in the place of whatever model there is. `progress` is told how
/// far it is, from 0 to 1.
///
/// # Errors
/// `overloaded` when another process is learning; when the store or the disk fails.
pub fn train(tidings: &Tidings, progress: &mut dyn FnMut(f64)) -> Result<WordsReport> {
    let started = Instant::now();
    let current = tidings.words().train(&mut told(progress))?;
    Ok(report(started, current.model.len()))
}

/// Writes the words and their vectors as text, as word2vec does: a line with their number and dimensions, and for each
/// word, the most frequent first, a line with it and its components.
///
/// # Errors
/// `Not found` when there is no model; when `out` fails.
pub fn export(tidings: &Tidings, out: impl Write) -> Result<WordsReport> {
    let started = Instant::now();
    let current = tidings.words().current().ok_or(Error::NotFound)?;
    text_form::write(&current.model, out).map_err(|e| Error::Internal(e.into()))?;
    Ok(report(started, current.model.len()))
}

/// Puts vectors of word2vec's, fastText's or `GloVe`'s text form in the place of whatever model there is.
///
/// Of their words, which are taken in lower case and where they are one token, those that stand in posts are kept, and
/// of the others the first, as many as a model may have. Neighbours are always words that stand in posts: which do is
/// looked at again when the posts have changed enough.
///
/// # Errors
/// `bad request` when the input is of another form; [`Error::Input`] when it cannot be read to its end; otherwise as
/// [`train`].
pub fn load(tidings: &Tidings, input: impl BufRead, progress: &mut dyn FnMut(f64)) -> Result<WordsReport> {
    let started = Instant::now();
    let mut others = tidings.config().words.vocabulary;
    let read = |corpus: &corpus::Corpus| {
        text_form::read(input, |word| {
            let stands = corpus.count(word) > 0;
            if !stands && others > 0 {
                others -= 1;
                return true;
            }
            stands
        })
    };
    let current = tidings.words().adopt(read, &mut told(progress))?;
    Ok(report(started, current.model.len()))
}

fn report(started: Instant, words: usize) -> WordsReport {
    WordsReport { words, seconds: (started.elapsed().as_secs_f64() * 100.0).round() / 100.0 }
}

/// Somebody told the work to stop.
#[derive(Debug)]
struct Stopped;

/// Told how far some work is, from 0 to 1, it says whether to go on.
type Go<'a> = &'a mut dyn FnMut(f64) -> Result<(), Stopped>;

/// `go` for a part of its work.
fn part(go: Go<'_>, from: f64, to: f64) -> impl FnMut(f64) -> Result<(), Stopped> {
    move |share| go(from + (to - from) * share)
}

/// Tells `progress`, and never to stop.
fn told(progress: &mut dyn FnMut(f64)) -> impl FnMut(f64) -> Result<(), Stopped> {
    move |share| {
        progress(share);
        Ok(())
    }
}

/// To the end.
#[cfg(any(test, feature = "fuzzing"))]
#[expect(clippy::unnecessary_wraps, reason = "others do stop")]
fn go_on(_: f64) -> Result<(), Stopped> {
    Ok(())
}

/// How a model is learned: with another one it would be another model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Recipe {
    dimensions: usize,
    window: usize,
    min_posts: u32,
    words: usize,
    corpus: usize,
    seed: u64,
}

impl Recipe {
    fn of(config: &config::Words) -> Self {
        let config::Words { dimensions, window, min_posts, vocabulary, corpus, seed, .. } = *config;
        Self { dimensions, window, min_posts, words: vocabulary, corpus, seed }
    }
}
