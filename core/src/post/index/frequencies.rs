//! The frequencies of terms in the latest posts, in memory: how many of the posts have each.
//!
//! Searches weight words by their rarity, and unknown words are corrected to known ones. Both need no exact figures of large
//! databases, so nothing is stored, and a search need not count its matches.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::entry::{self, hash};
use crate::base::keyed::NumberMap;
use crate::post::texts;
use crate::record::id::PostKey;
use crate::store::{Store, StoreError, Topic, Tx, version_in};

/// The number of latest posts that are read at first. Later posts are added.
const POSTS: i64 = 20_000;
/// The number of posts up to which all are read again when one of them was changed or removed, and new ones at once.
const REREAD_MAX: usize = 2_000;
/// The minimum time between two looks for new posts where there are more.
const PAUSE: Duration = Duration::from_secs(1);
/// The number of words from which on fewer posts are read again, with about 60 bytes each.
const WORDS_MAX: usize = 300_000;

/// The frequencies of terms that a process keeps.
pub(crate) struct TermFrequencies {
    store: Arc<Store>,
    latest: Mutex<Latest>,
}

/// The terms of the latest posts.
struct Latest {
    /// The number of latest posts that are read at first.
    first: i64,
    /// The words with the number of their posts.
    words: HashMap<Box<str>, u32>,
    /// The number of posts with each part of a word, by its hash.
    parts: NumberMap<u32, u32>,
    posts: usize,
    /// The number of distinct words of all these posts together.
    length: usize,
    /// The greatest key of these posts.
    last: Option<PostKey>,
    /// The version of the posts that was read, and the number of changes of their words until then.
    read: Option<(i64, i64)>,
    looked: Option<Instant>,
}

/// The frequencies of the terms of a search.
pub(super) struct Frequencies {
    /// The number of posts with each term.
    pub(super) of_terms: Vec<f64>,
    /// The number of posts that were counted.
    pub(super) posts: f64,
    /// The average number of distinct words of a post, at least 1.
    pub(super) length: f64,
    /// Approximately the number of all posts.
    pub(super) all: f64,
}

impl TermFrequencies {
    /// Returns the frequencies of a database, which are read when they are first needed.
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, latest: Mutex::new(Latest::new(POSTS)) }
    }

    /// Calls `then` with the words of the latest posts, and the number of posts that have each.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub(crate) fn with_words<T>(
        &self,
        then: impl FnOnce(&HashMap<Box<str>, u32>) -> T,
    ) -> Result<T, StoreError> {
        self.with(|latest| then(&latest.words))
    }

    /// Returns the frequencies of terms, of which those of parts are second.
    #[expect(clippy::cast_precision_loss, reason = "numbers of posts and words are far below 2^53")]
    pub(super) fn of(&self, words: &[&str], parts: &[u32]) -> Result<Frequencies, StoreError> {
        self.with(|latest| {
            let words = words.iter().map(|word| latest.words.get(*word));
            let parts = parts.iter().map(|part| latest.parts.get(part));
            let posts = latest.posts.max(1) as f64;
            Frequencies {
                of_terms: words
                    .chain(parts)
                    .map(|posts| posts.map_or(0.0, |posts| f64::from(*posts)))
                    .collect(),
                posts,
                length: (latest.length as f64 / posts).max(1.0),
                all: latest.last.map_or(0.0, |last| last.as_i64() as f64),
            }
        })
    }

    fn with<T>(&self, then: impl FnOnce(&Latest) -> T) -> Result<T, StoreError> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = latest.read.is_none_or(|(version, _)| self.store.version(Topic::Posts) > version);
        let is_due = latest.posts <= REREAD_MAX || latest.looked.is_none_or(|at| at.elapsed() >= PAUSE);
        if is_old && is_due {
            self.store.read(|tx| latest.catch_up(tx))?;
            latest.looked = Some(Instant::now());
        }
        Ok(then(&latest))
    }
}

impl Latest {
    fn new(first: i64) -> Self {
        Self {
            first,
            words: HashMap::new(),
            parts: NumberMap::default(),
            posts: 0,
            length: 0,
            last: None,
            read: None,
            looked: None,
        }
    }

    fn catch_up(&mut self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let (version, changes) = (version_in(tx, Topic::Posts)?, texts::changes(tx)?);
        if self.words.len() + self.parts.len() > WORDS_MAX {
            // Even the first posts may have too many.
            let is_first = i64::try_from(self.posts).is_ok_and(|posts| posts <= self.first);
            *self = Self::new(if is_first { self.first / 2 } else { self.first });
        }
        let posts = self.posts;
        self.read_new(tx)?;
        let is_small = posts <= REREAD_MAX;
        let new = i64::try_from(self.posts - posts).unwrap_or(i64::MAX);
        if is_small && self.read.is_some_and(|(_, before)| changes - before != new) {
            *self = Self::new(self.first);
            self.read_new(tx)?;
        }
        self.read = Some((version, changes));
        Ok(())
    }

    /// Adds the words of the posts after the last one.
    fn read_new(&mut self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let mut parts: Vec<u32> = Vec::new();
        loop {
            let page = match self.last {
                Some(last) => texts::tokens_after(tx, last)?,
                None => texts::latest_tokens(tx, self.first.max(1))?,
            };
            let Some((last, _)) = page.last() else { return Ok(()) };
            self.last = Some(*last);
            self.posts += page.len();
            for (_, tokens) in &page {
                parts.clear();
                for token in tokens.split_ascii_whitespace() {
                    self.length += 1;
                    match self.words.get_mut(token) {
                        Some(posts) => *posts += 1,
                        None => drop(self.words.insert(token.into(), 1)),
                    }
                    if !token.is_ascii() {
                        parts.extend(entry::parts(token).map(|part| hash(&part)));
                    }
                }
                parts.sort_unstable();
                parts.dedup();
                parts.iter().for_each(|part| *self.parts.entry(*part).or_default() += 1);
            }
        }
    }
}
