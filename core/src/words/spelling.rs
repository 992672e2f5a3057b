//! Corrections of words that no post contains.
//!
//! The words of which an unknown one may be a misspelling are those of the latest posts, which are kept in memory with the
//! number of their posts, and those of the word model, which has the frequent words of all posts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidings_vectors::spelling;

use crate::Tidings;
use crate::post::{index, texts};
use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::store::{Store, StoreError, Topic, version_in};

/// The number of latest posts whose words are read at first. Later posts are added.
const POSTS: i64 = 20_000;
/// The number of posts up to which all are read again when one of them was changed or removed.
const REREAD_MAX: usize = 2_000;
/// The number of words from which on the words are read again from the latest posts, with about 60 bytes each.
const WORDS_MAX: usize = 300_000;

/// The words of the latest posts.
pub(crate) struct Spelling {
    store: Arc<Store>,
    vocabulary: Mutex<Vocabulary>,
}

#[derive(Default)]
struct Vocabulary {
    /// The words with the number of their posts.
    words: HashMap<Box<str>, u32>,
    posts: usize,
    /// The greatest key of these posts.
    last: Option<PostKey>,
    /// The version of the posts that was read, and the number of changes of their words until then.
    read: Option<(i64, i64)>,
}

impl Spelling {
    /// Returns the words of a database, which are read when they are first needed.
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, vocabulary: Mutex::default() }
    }

    /// Calls `then` with the current words of the latest posts.
    fn with<T>(&self, then: impl FnOnce(&HashMap<Box<str>, u32>) -> T) -> Result<T> {
        let mut vocabulary = self.vocabulary.lock().unwrap_or_else(PoisonError::into_inner);
        if vocabulary.read.is_none_or(|(version, _)| self.store.version(Topic::Posts) > version) {
            self.store.read(|tx| vocabulary.catch_up(tx))?;
        }
        Ok(then(&vocabulary.words))
    }
}

impl Vocabulary {
    fn catch_up(&mut self, tx: &mut dyn crate::store::Tx) -> Result<(), StoreError> {
        let (version, changes) = (version_in(tx, Topic::Posts)?, texts::changes(tx)?);
        if self.words.len() > WORDS_MAX {
            *self = Self::default();
        }
        let posts = self.posts;
        self.read_new(tx)?;
        let is_small = posts <= REREAD_MAX;
        let new = i64::try_from(self.posts - posts).unwrap_or(i64::MAX);
        if is_small && self.read.is_some_and(|(_, before)| changes - before != new) {
            *self = Self::default();
            self.read_new(tx)?;
        }
        self.read = Some((version, changes));
        Ok(())
    }

    /// Adds the words of the posts after the last one.
    fn read_new(&mut self, tx: &mut dyn crate::store::Tx) -> Result<(), StoreError> {
        loop {
            let page = match self.last {
                Some(last) => texts::tokens_after(tx, last)?,
                None => texts::latest_tokens(tx, POSTS)?,
            };
            let Some((last, _)) = page.last() else { return Ok(()) };
            self.last = Some(*last);
            self.posts += page.len();
            for token in page.iter().flat_map(|(_, tokens)| tokens.split_ascii_whitespace()) {
                match self.words.get_mut(token) {
                    Some(posts) => *posts += 1,
                    None => drop(self.words.insert(token.into(), 1)),
                }
            }
        }
    }
}

/// Returns the most probable correction of each of these words, none of which a post contains; `None` without one.
///
/// # Errors
/// When the store fails.
pub(crate) fn corrections(tidings: &Tidings, words: &[&str]) -> Result<Vec<Option<String>>> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let model = tidings.words().current();
    let candidates: Vec<Vec<String>> = tidings.spelling().with(|latest| {
        let in_model = model.iter().flat_map(|current| {
            let words = current.words().filter(|word| !latest.contains_key(*word));
            words.filter(|word| current.model.is_in_posts(word)).map(|word| (word, 0))
        });
        let known: Vec<(&str, u32)> =
            latest.iter().map(|(word, posts)| (&**word, *posts)).chain(in_model).collect();
        let of = |word: &&str| spelling::corrections(word, known.iter().copied());
        words.iter().map(|word| of(word).into_iter().map(str::to_owned).collect()).collect()
    })?;
    // A post may have been changed or removed.
    let all = candidates.concat();
    let limit = tidings.config().query_timeout;
    let has = tidings.store().read_stale(Some(limit), tidings.posts_changed().get(), |tx| {
        index::has_words(tx, &all, tidings.search_cache())
    })?;
    let mut has = has.into_iter();
    let first = |of: Vec<String>| {
        let existing: Vec<String> = of.into_iter().filter(|_| has.next() == Some(true)).collect();
        existing.into_iter().next()
    };
    Ok(candidates.into_iter().map(first).collect())
}
