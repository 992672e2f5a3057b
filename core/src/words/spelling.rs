//! Corrections of words that no post contains.
//!
//! The words of which an unknown one may be a misspelling are those of the latest posts, which are kept in memory with the
//! number of their posts, and those of the word model, which has the frequent words of all posts.

use tidings_vectors::spelling;

use crate::Tidings;
use crate::post::index;
use crate::record::error::Result;
use crate::store::QUERY_TIMEOUT;

/// Returns the most probable correction of each of these words, none of which a post contains; `None` without one.
///
/// # Errors
/// When the store fails.
pub(crate) fn corrections(tidings: &Tidings, words: &[&str]) -> Result<Vec<Option<String>>> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let model = tidings.words().current();
    let latest = tidings.term_frequencies().latest()?;
    let in_model = model.iter().flat_map(|current| {
        let words = current.words().filter(|word| !latest.words().contains_key(*word));
        words.filter(|word| current.model.is_in_posts(word)).map(|word| (word, 0))
    });
    let known: Vec<(&str, u32)> =
        latest.words().iter().map(|(word, posts)| (&**word, *posts)).chain(in_model).collect();
    let of = |word: &&str| spelling::corrections(word, known.iter().copied());
    let candidates: Vec<Vec<String>> =
        words.iter().map(|word| of(word).into_iter().map(str::to_owned).collect()).collect();
    // A post may have been changed or removed.
    let all = candidates.concat();
    let has = tidings.store().read_within(QUERY_TIMEOUT, |tx| index::has_words(tx, &all))?;
    let mut has = has.into_iter();
    let first = |of: Vec<String>| {
        let existing: Vec<String> = of.into_iter().filter(|_| has.next() == Some(true)).collect();
        existing.into_iter().next()
    };
    Ok(candidates.into_iter().map(first).collect())
}
