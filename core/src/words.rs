//! The word model of a service: which words of the posts are similar. [`tidings_vectors`] does the mathematics; this module reads
//! the posts, stores the model in the database, answers from memory, and retrains the model when enough posts have changed.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use serde::de::{Deserializer, Error as _};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use tidings_tokens::tokens;
use tidings_vectors::text_form::{self, ReadError};
use tidings_vectors::{Cancelled, Corpus};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::{Call, Caller, Operator};
use crate::audit::trail::{Action, Entry};
use crate::base::config::Bounds;
use crate::base::text;
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::operation::{Access, Operation, Rate, Spec, Work};
use crate::record::schema::WordAndSimilar;
use crate::store::{Isolation, StoreError};

mod model_cache;
#[cfg(test)]
mod tests;

pub(crate) use model_cache::{Current, ModelCache};

/// The length of a search in characters.
pub const SEARCH: Bounds = Bounds { min: 1, max: 200 };
pub(crate) const SEARCH_RULE: Problem =
    Problem::invalid("search", "search is 1 to 200 characters without control characters");

/// The answer to asking for similar words.
#[derive(Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SimilarityWords {
    /// One object for each token of the search in order, with the token as its only key.
    #[schema(value_type = Vec<WordAndSimilar>)]
    pub similarity_word: Vec<TokenWords>,
}

/// A token and its similar words, most similar first: `{"token": [{"word": 0.83}, …]}`.
#[derive(Debug, PartialEq)]
pub struct TokenWords {
    /// The token.
    pub token: String,
    /// The words.
    pub words: Vec<SimilarWord>,
}

/// A word and its similarity: `{"word": 0.83}`.
#[derive(Clone, Debug, PartialEq)]
pub struct SimilarWord {
    /// The word.
    pub word: Arc<str>,
    /// From 0 (unrelated) to 1 (the same), rounded to four digits.
    pub similarity: f64,
}

impl Serialize for TokenWords {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(&self.token, &self.words)])
    }
}

impl Serialize for SimilarWord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(&*self.word, &self.similarity)])
    }
}

impl<'de> Deserialize<'de> for TokenWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (token, words) = only_entry(deserializer)?;
        Ok(Self { token, words })
    }
}

impl<'de> Deserialize<'de> for SimilarWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (word, similarity) = only_entry::<f64, D>(deserializer)?;
        Ok(Self { word: word.into(), similarity })
    }
}

fn only_entry<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(String, T), D::Error> {
    let entry = BTreeMap::<String, T>::deserialize(deserializer)?.into_iter().next();
    entry.ok_or_else(|| D::Error::custom("an object with one key"))
}

/// The result of [`train`], [`export`] and [`load`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WordsReport {
    /// The number of words of the model.
    pub words: usize,
    /// The duration in seconds, rounded to two digits.
    pub seconds: f64,
}

/// Get similar words
///
/// Returns words of posts that are similar to each token of a search. `[{"token": [{"word": 0.83}, …]}, …]` in the order of the
/// tokens: for each token at most {similar-words} words with their similarity, from {similarity} to 1, most similar first; the
/// settings can change both bounds. For a token that no post contains, such as a misspelled or inflected word, the words with a
/// similar spelling are used; if there are none, the list is empty.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = SearchFields)]
pub struct FindSimilar {
    /// {search} characters.
    #[schema(examples("eclipse"))]
    pub search: String,
}

impl Operation for FindSimilar {
    type Answer = SimilarityWords;
    const SPEC: Spec = Spec::post("search", "/get_similarity_words", Access::Open)
        .reads()
        .works(Work::Query)
        .limited(Rate::Search);

    fn run(self, call: &Call<'_>) -> Result<SimilarityWords> {
        let search = text::block(&self.search, SEARCH).ok_or(Error::BadRequest(SEARCH_RULE))?;
        let tokens = tokens::distinct(tokens::tokens(&search));
        let most = call.tidings().config().words.similar;
        let similarity_word = tokens.into_iter().map(|token| {
            let words = similar_to(call.tidings(), &token, most, 0.0);
            TokenWords { token, words }
        });
        Ok(SimilarityWords { similarity_word: similarity_word.collect() })
    }
}

/// Most similar first. The similarity is at least `least` and at least the minimum of the settings.
pub(crate) fn similar_to(tidings: &Tidings, token: &str, most: usize, least: f64) -> Vec<SimilarWord> {
    let least = least.max(tidings.config().words.similarity);
    let Some(current) = tidings.words().current() else { return Vec::new() };
    let neighbours = current.neighbours(token);
    let words = neighbours.iter().take(most).map(|(number, similarity)| SimilarWord {
        word: Arc::clone(current.model.word(*number)),
        similarity: (f64::from(*similarity) * 1e4).round() / 1e4,
    });
    words.take_while(|word| word.similarity >= least).collect()
}

/// The model does not contain rare words.
pub(crate) fn is_in_posts(tidings: &Tidings, word: &str) -> bool {
    tidings.words().current().is_some_and(|current| current.model.is_in_posts(word))
}

/// Two or three words of posts; none if `word` is not a compound.
pub(crate) fn parts(tidings: &Tidings, word: &str) -> Vec<String> {
    let current = tidings.words().current();
    current.map_or_else(Vec::new, |current| {
        current.model.parts(word).into_iter().map(ToString::to_string).collect()
    })
}

/// When posts change or another process stores a model.
pub(crate) fn start(tidings: &Tidings) -> Result<()> {
    tidings.words().follow()
}

/// Learns the words of the posts and replaces the model. `progress` receives values from 0 to 1.
///
/// # Errors
/// `Not admin` unless the caller is the operator; `overloaded` if another process has stored a model meanwhile; an error
/// of the store.
pub fn train(tidings: &Tidings, caller: &Caller, progress: &mut dyn FnMut(f64)) -> Result<WordsReport> {
    let operator = caller.operator()?;
    let report = learn(tidings, progress)?;
    record(tidings, operator, Action::WordsTrain)?;
    Ok(report)
}

/// Like [`train`], but without a check of the caller, for the demo data.
pub(crate) fn learn(tidings: &Tidings, progress: &mut dyn FnMut(f64)) -> Result<WordsReport> {
    let started = Instant::now();
    let current = tidings.words().train(&mut told(progress))?;
    Ok(report(started, current.model.words().len()))
}

/// Writes the words and their vectors as text, as word2vec does: a line with the number of words and of dimensions, and
/// for each word, most frequent first, a line with the word and its components.
///
/// # Errors
/// `Not admin` unless the caller is the operator; `Not found` if there is no model; an internal error if writing to
/// `out` fails.
pub fn export(tidings: &Tidings, caller: &Caller, out: impl Write) -> Result<WordsReport> {
    caller.operator()?;
    let started = Instant::now();
    let current = tidings.words().current().ok_or(Error::NotFound)?;
    text_form::write(&current.model, out).map_err(|e| Error::Internal(e.into()))?;
    Ok(report(started, current.model.words().len()))
}

/// Replaces the model with vectors in the text form of word2vec, fastText or `GloVe`.
///
/// Words are converted to lower case, and only words that are one token are used. All words of posts are loaded; of the
/// other words, only the first ones, up to the maximum size of a model. Only words of posts are neighbours, and these
/// are determined again when enough posts have changed.
///
/// # Errors
/// `bad request` if the input has a different form; [`Error::Input`] if it cannot be read to its end; otherwise the
/// errors of [`train`].
pub fn load(
    tidings: &Tidings,
    caller: &Caller,
    input: impl BufRead,
    progress: &mut dyn FnMut(f64),
) -> Result<WordsReport> {
    let operator = caller.operator()?;
    let started = Instant::now();
    let mut others = tidings.config().words.vocabulary;
    let read = |corpus: &Corpus| {
        let read = text_form::read(input, |word| {
            let stands = corpus.count(word) > 0;
            if !stands && others > 0 {
                others -= 1;
                return true;
            }
            stands
        });
        Ok(read?)
    };
    let current = tidings.words().adopt(operator, read, &mut told(progress))?;
    record(tidings, operator, Action::WordsLoad)?;
    Ok(report(started, current.model.words().len()))
}

fn record(tidings: &Tidings, operator: Operator, action: Action) -> Result<()> {
    let origin = tidings.origin();
    let written = tidings
        .store()
        .write::<_, StoreError>(Isolation::Alone, move |tx| operator.record(tx, &origin, Entry::new(action)));
    Ok(written?)
}

fn report(started: Instant, words: usize) -> WordsReport {
    WordsReport { words, seconds: (started.elapsed().as_secs_f64() * 100.0).round() / 100.0 }
}

fn told(progress: &mut dyn FnMut(f64)) -> impl FnMut(f64) -> Result<(), Cancelled> {
    move |share| {
        progress(share);
        Ok(())
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Form(rule) => Self::BadRequest(Problem::new(Code::InvalidValue, rule)),
            ReadError::Input(error) => Self::Input(error),
        }
    }
}

/// Learning is cancelled when the server stops, or when another one learns.
impl From<Cancelled> for Error {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Overloaded
    }
}
