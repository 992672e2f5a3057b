//! The latest likes of members. The counts of the index may be a second old, which would look to a member who has just liked a
//! post as if nothing had happened, so their feeds have the counts of these posts from the database.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::page::FeedPage;
use crate::Tidings;
use crate::account::Caller;
use crate::base::clock::{Monotonic, SECOND_MS};
use crate::post::feed_rows;
use crate::record::error::Result;

/// The index shows a like earlier, unless the machine is overloaded.
const NOTED_MS: i64 = 10 * SECOND_MS;
const MEMBERS_MAX: NonZeroUsize = NonZeroUsize::new(4_096).expect("not zero");
const POSTS_MAX: usize = 64;

pub(crate) struct OwnLikes {
    by_member: Mutex<LruCache<Box<str>, Noted>>,
    /// The time of the latest note, so that no member is looked up while nobody likes posts.
    latest: AtomicI64,
}

/// The ids of the posts that a member has liked or unliked, in the order of the times.
type Noted = Vec<(Box<str>, Monotonic)>;

impl Default for OwnLikes {
    fn default() -> Self {
        Self { by_member: Mutex::new(LruCache::new(MEMBERS_MAX)), latest: AtomicI64::new(i64::MIN) }
    }
}

impl OwnLikes {
    /// `member` is the folded id.
    pub(crate) fn note(&self, member: &str, post: &str, at: Monotonic) {
        let mut by_member = self.lock();
        let noted = by_member.get_or_insert_mut(member.into(), Vec::new);
        noted.retain(|(other, then)| **other != *post && is_recent(*then, at));
        noted.drain(..(noted.len() + 1).saturating_sub(POSTS_MAX));
        noted.push((post.into(), at));
        drop(by_member);
        self.latest.fetch_max(at.as_millis(), Ordering::Relaxed);
    }

    /// `member` is the folded id.
    fn has(&self, member: &str, now: Monotonic) -> bool {
        let by_member = self.lock();
        let latest = by_member.peek(member).and_then(|noted| noted.last());
        latest.is_some_and(|(_, at)| is_recent(*at, now))
    }

    fn among<'p, P>(
        &self,
        member: &str,
        posts: impl Iterator<Item = (&'p str, P)>,
        now: Monotonic,
    ) -> Vec<P> {
        let by_member = self.lock();
        let noted = by_member.peek(member).into_iter().flatten().filter(|(_, at)| is_recent(*at, now));
        let noted: Vec<&str> = noted.map(|(post, _)| &**post).collect();
        posts.filter(|(id, _)| noted.contains(id)).map(|(_, post)| post).collect()
    }

    fn has_any(&self, now: Monotonic) -> bool {
        now.as_millis().saturating_sub(self.latest.load(Ordering::Relaxed)) < NOTED_MS
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Box<str>, Noted>> {
        self.by_member.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_recent(then: Monotonic, now: Monotonic) -> bool {
    now - then < NOTED_MS
}

/// Returns whether the caller claims to be a member who has liked a post in the last seconds, so that
/// [`with_own_likes`] may change a page. Reads no database.
pub fn has_own_likes(tidings: &Tidings, caller: &Caller) -> bool {
    let (own, now) = (tidings.feeds().own_likes(), tidings.clock().monotonic());
    own.has_any(now) && caller.identify(tidings).named().is_some_and(|folded| own.has(folded, now))
}

/// Returns a page in which the posts that the caller has liked in the last seconds have their current counts of likes.
/// Otherwise the counts may be a second old. A like through another server is not known here.
///
/// # Errors
/// An error of the store.
pub fn with_own_likes(tidings: &Tidings, caller: &Caller, page: FeedPage) -> Result<FeedPage> {
    let (own, now) = (tidings.feeds().own_likes(), tidings.clock().monotonic());
    let identity = caller.identify(tidings);
    let Some(member) = identity.named().filter(|_| own.has_any(now)) else { return Ok(page) };
    let items = page.items().iter().zip(0_usize..);
    let liked = own.among(member, items.map(|(item, place)| (&*item.about.id, (item.key, place))), now);
    if liked.is_empty() {
        return Ok(page);
    }
    let keys = liked.iter().map(|(key, _)| *key);
    let counts = super::of_member(tidings, caller, |tx, _| Ok(feed_rows::likes_of(tx, keys)?))?;
    let changed =
        liked.iter().zip(counts.unwrap_or_default()).filter_map(|((_, place), count)| Some((*place, count?)));
    Ok(page.with_likes(changed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_likes_of_a_member_are_known_for_ten_seconds() {
        let clock = crate::base::clock::Clock::fixed(crate::testing::NOW);
        let likes = OwnLikes::default();
        let ids: Vec<_> = (0..100).map(|id: usize| id.to_string()).collect();
        let of = |member, now| likes.among(member, ids.iter().map(String::as_str).zip(0_usize..), now);
        assert!(!likes.has_any(clock.monotonic()));
        likes.note("ann", "1", clock.monotonic());
        clock.advance(9_999);
        likes.note("ann", "2", clock.monotonic());
        assert_eq!(of("ann", clock.monotonic()), [1, 2]);
        assert!(of("ben", clock.monotonic()).is_empty() && !likes.has("ben", clock.monotonic()));
        clock.advance(1);
        assert_eq!(of("ann", clock.monotonic()), [2]);
        assert!(likes.has("ann", clock.monotonic()));
        clock.advance(NOTED_MS);
        assert!(!likes.has_any(clock.monotonic()) && !likes.has("ann", clock.monotonic()));
        assert!(of("ann", clock.monotonic()).is_empty());
        for post in 0..100 {
            likes.note("ann", &post.to_string(), clock.monotonic());
            likes.note("ann", "7", clock.monotonic());
        }
        let latest = of("ann", clock.monotonic());
        assert_eq!((latest.len(), latest[0], latest[1]), (POSTS_MAX, 7, 101 - POSTS_MAX));
    }
}
