//! The frequencies of terms in the latest posts, in memory: searches weight words by their rarity and correct unknown words. Both
//! need no exact figures of large databases. The first of these posts depends only on the number of the newest one, so all servers
//! have the same frequencies.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidings_tokens::hangul;

use super::entry::{self, hash};
use super::spelling::KnownWords;
use crate::base::keyed::NumberMap;
use crate::post::texts;
use crate::store::{Store, StoreError, Topic, Tx, version_in};

/// The maximum number is twice as many.
const POSTS: i64 = 20_000;
/// Up to this number of posts, all are read again when one was changed or removed, and new ones are read at once.
const REREAD_MAX: usize = 2_000;
/// Of more posts, all are read again when more than one in this number has changed.
const REREAD_PART: i64 = 10;
/// The minimum time between two looks for new posts if there are more than [`REREAD_MAX`].
const PAUSE: Duration = Duration::from_secs(1);
/// With more words, half as many posts are read. A word takes about 60 bytes.
const WORDS_MAX: usize = 300_000;

pub(crate) struct TermFrequencies {
    store: Arc<Store>,
    /// Also has the time of the last comparison with the database.
    latest: Mutex<(Arc<LatestTerms>, Option<Instant>)>,
}

#[derive(Clone)]
pub(crate) struct LatestTerms {
    posts_min: i64,
    /// With the number of their posts.
    words: HashMap<Arc<str>, u32>,
    spelling: KnownWords,
    /// The number of posts with each part of a word, by its hash.
    parts: NumberMap<u32, u32>,
    posts: usize,
    length: usize,
    /// The key before that of the first post, and the greatest key.
    before: i64,
    last: i64,
    /// `None` before the first reading.
    version: Option<i64>,
    /// The number of changes of the words of posts until then, without those of posts that were changed or removed since the first
    /// reading.
    changes: i64,
}

pub(super) struct Frequencies {
    pub(super) of_terms: Vec<f64>,
    pub(super) posts: f64,
    /// The average number of distinct words of a post, at least 1.
    pub(super) length: f64,
    /// Approximately the number of all posts.
    pub(super) all: f64,
}

impl TermFrequencies {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, latest: Mutex::new((Arc::new(LatestTerms::new(POSTS, 0)), None)) }
    }

    /// Up to a second old in a large database.
    pub(crate) fn latest(&self) -> Result<Arc<LatestTerms>, StoreError> {
        let mut guard = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let (latest, looked) = &mut *guard;
        let is_old = latest.version.is_none_or(|version| self.store.version(Topic::Posts) > version);
        let is_due = latest.posts <= REREAD_MAX || looked.is_none_or(|at| at.elapsed() >= PAUSE);
        if is_old && is_due {
            let read = self.store.read(|tx| Arc::make_mut(latest).catch_up(tx));
            *looked = Some(Instant::now());
            read?;
        }
        Ok(Arc::clone(latest))
    }
}

impl LatestTerms {
    fn new(posts_min: i64, before: i64) -> Self {
        Self {
            posts_min,
            words: HashMap::new(),
            spelling: KnownWords::default(),
            parts: NumberMap::default(),
            posts: 0,
            length: 0,
            before,
            last: before,
            version: None,
            changes: 0,
        }
    }

    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.words.contains_key(word)
    }

    pub(crate) fn has_pair_of(&self, word: &str) -> bool {
        hangul::pairs(word).any(|pair| self.parts.contains_key(&hash(&entry::pair(pair))))
    }

    /// Returns the words of which an unknown one is probably a misspelling, most probable first. A post may have lost them since.
    pub(crate) fn corrections(&self, word: &str) -> Vec<String> {
        self.spelling.corrections(word, |known| self.words.get(known).copied().unwrap_or_default())
    }

    /// `words` come first, then the parts with these hashes. A word of one character of Han or Kana is also a part of other words.
    #[expect(clippy::cast_precision_loss, reason = "numbers of posts and words are far below 2^53")]
    pub(super) fn of(&self, words: &[&str], parts: &[u32]) -> Frequencies {
        let words = words.iter().map(|word| {
            let is_part = word.chars().nth(1).is_none();
            self.words.get(*word).max(is_part.then(|| self.parts.get(&hash(word))).flatten())
        });
        let parts = parts.iter().map(|part| self.parts.get(part));
        let posts = self.posts.max(1) as f64;
        Frequencies {
            of_terms: words.chain(parts).map(|posts| posts.map_or(0.0, |posts| f64::from(*posts))).collect(),
            posts,
            length: (self.length as f64 / posts).max(1.0),
            all: self.last as f64,
        }
    }

    fn catch_up(&mut self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let (version, changes) = (version_in(tx, Topic::Posts)?, texts::changes(tx)?);
        if self.words.len() + self.parts.len() > WORDS_MAX {
            *self = Self::new((self.posts_min / 2).max(1), 0);
        }
        let newest: i64 = tx.one("SELECT coalesce(max(key), 0) FROM post", &[])?.take(0)?;
        let before = ((newest / self.posts_min - 1) * self.posts_min).max(0);
        if before != self.before {
            *self = Self::new(self.posts_min, before);
        }
        let (is_first, posts) = (self.version.is_none(), self.posts);
        self.read_new(tx)?;
        let count = |posts: usize| i64::try_from(posts).unwrap_or(i64::MAX);
        let rewritten = changes - self.changes - count(self.posts - posts);
        if !is_first && rewritten != 0 && (posts <= REREAD_MAX || rewritten > count(posts) / REREAD_PART) {
            *self = Self::new(self.posts_min, before);
            self.read_new(tx)?;
            self.changes = changes;
        } else if is_first {
            self.changes = changes;
        } else {
            self.changes += count(self.posts - posts);
        }
        self.version = Some(version);
        Ok(())
    }

    fn read_new(&mut self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let mut parts: Vec<u32> = Vec::new();
        while self.words.len() + self.parts.len() <= WORDS_MAX {
            let page = texts::tokens_after(tx, self.last)?;
            let Some((last, _)) = page.last() else { break };
            self.last = last.as_i64();
            self.posts += page.len();
            for (_, tokens) in &page {
                parts.clear();
                for token in tokens.split_ascii_whitespace() {
                    self.length += 1;
                    if let Some(posts) = self.words.get_mut(token) {
                        *posts += 1;
                    } else {
                        let word: Arc<str> = token.into();
                        self.spelling.insert(&word);
                        self.words.insert(word, 1);
                    }
                    if !token.is_ascii() {
                        parts.extend(entry::parts(token).map(|part| hash(&part)));
                    }
                }
                parts.sort_unstable();
                parts.dedup();
                for part in &parts {
                    *self.parts.entry(*part).or_default() += 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Caller;
    use crate::post;
    use crate::testing::{self, draft, publish};

    #[test]
    fn frequencies_are_those_of_the_posts_and_the_first_post_depends_on_the_newest() {
        let service = testing::service();
        let insert = |n: i64| {
            let title = if n % 2 > 0 { "sea 도서관 図書" } else { "sea" };
            publish(&service, draft(title, format!("https://a.example/{n}")))
        };
        let ids: Vec<String> = (1..=10).map(insert).collect();
        let pair = hash(&entry::pair("서관"));
        let of = |latest: &LatestTerms| latest.of(&["sea", "도서관", "whale", "図"], &[pair]);
        let all = of(&service.post().term_frequencies.latest().unwrap());
        assert_eq!(all.of_terms, [10.0, 5.0, 0.0, 5.0, 5.0]);
        assert!((all.length - 2.0).abs() < 1e-9 && (all.posts, all.all) == (10.0, 10.0));
        service.call(&Caller::Operator, post::Remove { post_obi: (&ids[0]).into() }).unwrap();
        let left = of(&service.post().term_frequencies.latest().unwrap());
        assert_eq!(left.of_terms, [9.0, 4.0, 0.0, 4.0, 4.0]);

        let read = |latest: &mut LatestTerms| service.store().read(|tx| latest.catch_up(tx)).unwrap();
        let mut early = LatestTerms::new(4, 0);
        read(&mut early);
        assert_eq!((early.before, early.posts), (4, 6), "the posts 5 to 10");
        (11..=12).for_each(|n| drop(insert(n)));
        read(&mut early);
        let mut late = LatestTerms::new(4, 0);
        read(&mut late);
        assert_eq!((late.before, late.posts), (8, 4));
        assert_eq!((early.before, early.words), (late.before, late.words));
    }
}
