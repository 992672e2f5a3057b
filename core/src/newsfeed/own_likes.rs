//! The latest likes of members, for the counts that they see.
//!
//! The counts of the index in memory may be a second old. To the member who has just liked a post, that would look as if
//! nothing had happened, so the posts that a member has liked lately are noted, and the member's feeds have their counts from
//! the database.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::page::FeedPage;
use crate::Tidings;
use crate::account::{Caller, Identity};
use crate::clock::{Monotonic, SECOND_MS};
use crate::error::{Error, Result};
use crate::post::feed_rows;

/// How long a like is noted. The index shows it earlier, unless the machine is overloaded.
const NOTED_MS: i64 = 10 * SECOND_MS;
/// The number of members whose likes are noted, those who liked last.
const MEMBERS_MAX: NonZeroUsize = NonZeroUsize::new(4_096).expect("not zero");
/// The number of noted likes of a member, the latest.
const POSTS_MAX: usize = 64;

/// The latest likes of members.
pub(crate) struct OwnLikes {
    by_member: Mutex<LruCache<Box<str>, Vec<Noted>>>,
    /// The time of the latest note, so that nobody is looked up while nobody likes posts.
    latest: AtomicI64,
}

/// A like, or a like taken back.
struct Noted {
    /// The id of the post.
    post: Box<str>,
    at: Monotonic,
}

impl Default for OwnLikes {
    fn default() -> Self {
        Self { by_member: Mutex::new(LruCache::new(MEMBERS_MAX)), latest: AtomicI64::new(i64::MIN) }
    }
}

impl OwnLikes {
    /// Notes that the member with this folded id likes or unlikes a post.
    pub(crate) fn note(&self, member: &str, post: &str, at: Monotonic) {
        let mut by_member = self.lock();
        let noted = by_member.get_or_insert_mut(member.into(), Vec::new);
        noted.retain(|noted| at - noted.at < NOTED_MS && *noted.post != *post);
        if noted.len() == POSTS_MAX {
            noted.remove(0);
        }
        noted.push(Noted { post: post.into(), at });
        drop(by_member);
        self.latest.fetch_max(at.as_millis(), Ordering::Relaxed);
    }

    /// Returns the posts that the member with this folded id has liked or unliked lately.
    fn of(&self, member: &str, now: Monotonic) -> Vec<Box<str>> {
        let by_member = self.lock();
        let noted = by_member.peek(member).map(Vec::as_slice).unwrap_or_default();
        noted.iter().filter(|noted| now - noted.at < NOTED_MS).map(|noted| noted.post.clone()).collect()
    }

    fn has_any(&self, now: Monotonic) -> bool {
        now.as_millis().saturating_sub(self.latest.load(Ordering::Relaxed)) < NOTED_MS
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Box<str>, Vec<Noted>>> {
        self.by_member.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether the caller claims to be a member who has liked a post in the last seconds, so that
/// [`with_own_likes`] may change a page. Reads no database.
pub fn has_own_likes(tidings: &Tidings, caller: &Caller) -> bool {
    !lately_liked(tidings, &caller.identify(tidings)).is_empty()
}

/// Returns a page in which the posts that the caller has liked in the last seconds have their current counts of likes.
/// Otherwise the counts may be a second old. A like through another server is not known here.
///
/// # Errors
/// An error of the store.
pub fn with_own_likes(tidings: &Tidings, caller: &Caller, page: FeedPage) -> Result<FeedPage> {
    let identity = caller.identify(tidings);
    let liked = lately_liked(tidings, &identity);
    let items = page.items().iter().zip(0_usize..);
    let liked: Vec<_> = items.filter(|(item, _)| liked.contains(&item.about.id)).collect();
    if liked.is_empty() {
        return Ok(page);
    }
    let counts = tidings.store().read(|tx| {
        if identity.visitor(tx)?.is_none() {
            return Ok::<_, Error>(Vec::new());
        }
        Ok(feed_rows::likes_of(tx, liked.iter().map(|(item, _)| item.key))?)
    })?;
    let changed = liked.iter().zip(counts).filter_map(|((_, place), count)| Some((*place, count?)));
    Ok(page.with_likes(changed))
}

fn lately_liked(tidings: &Tidings, identity: &Identity) -> Vec<Box<str>> {
    let (likes, now) = (tidings.feeds().own_likes(), tidings.clock().monotonic());
    if !likes.has_any(now) {
        return Vec::new();
    }
    identity.named().map(|folded| likes.of(folded, now)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_likes_of_a_member_are_known_for_ten_seconds() {
        let clock = crate::clock::Clock::fixed(crate::testing::NOW);
        let likes = OwnLikes::default();
        assert!(!likes.has_any(clock.monotonic()));
        likes.note("ann", "1", clock.monotonic());
        clock.advance(9_999);
        likes.note("ann", "2", clock.monotonic());
        assert_eq!(likes.of("ann", clock.monotonic()), [Box::from("1"), "2".into()]);
        assert_eq!(likes.of("ben", clock.monotonic()), []);
        clock.advance(1);
        assert_eq!(likes.of("ann", clock.monotonic()), [Box::from("2")]);
        clock.advance(NOTED_MS);
        assert!(!likes.has_any(clock.monotonic()) && likes.of("ann", clock.monotonic()).is_empty());
        for post in 0..100 {
            likes.note("ann", &post.to_string(), clock.monotonic());
            likes.note("ann", "99", clock.monotonic());
        }
        let latest = likes.of("ann", clock.monotonic());
        assert_eq!((latest.len(), &*latest[POSTS_MAX - 1]), (POSTS_MAX, "99"));
    }
}
