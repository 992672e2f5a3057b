//! Reads all posts of the feeds from the store, on several threads.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use super::item::{Item, Names};
use crate::base::clock::Timestamp;
use crate::base::config::Feed;
use crate::newsfeed::signal::popularity::Popularity;
use crate::post::change::{self, Ahead};
use crate::post::feed_rows;
use crate::post::heat::Decay;
use crate::record::error::{Error, Result};
use crate::record::id::PostKey;
use crate::store::{Store, Topic, Tx, complete_version_in, version_in};

/// With fewer posts, a thread and its connection take longer than the posts. Small in tests, so that several threads read.
const PART_MIN: usize = if cfg!(test) { 4 } else { 4_000 };
const THREADS_MAX: usize = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// All changes up to this revision are visible.
    pub(crate) horizon: i64,
    /// Later changes that are visible too. The next update reads them again.
    pub(crate) ahead: Ahead,
}

impl Seen {
    pub(crate) fn by(tx: &mut dyn Tx) -> Result<Self> {
        let horizon = tx.horizon()?;
        Ok(Self { horizon, ahead: change::ahead(tx, horizon)? })
    }
}

#[derive(Clone, Copy)]
pub(crate) struct AsOf {
    pub(crate) revision: i64,
    pub(crate) now: Timestamp,
    pub(crate) popularity: Popularity,
    pub(crate) seen: Seen,
}

/// Reads as many of the newest posts as the settings allow, in any order. Each thread reads a part of the posts in a transaction
/// of its own. If the posts have changed between the beginnings of two transactions, or a change beyond the horizon is visible,
/// the caller's transaction reads that part too.
pub(crate) fn load(store: &Store, config: &Feed, now: Timestamp) -> Result<(Vec<Arc<Item>>, AsOf)> {
    store.read(|tx| {
        let (revision, seen) = (version_in(tx, Topic::Posts)?, Seen::by(tx)?);
        let popularity = Popularity::current(tx, config)?;
        let reader = Reader { decay: popularity.decay(), now };
        let keys = feed_rows::newest(tx, config.posts)?;
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let parts: Vec<&[PostKey]> = parts(keys.len(), cores).into_iter().map(|part| &keys[part]).collect();
        let items = thread::scope(|scope| {
            let others = parts[1..].iter().map(|part| {
                let read = || store.read(|tx| reader.read_at(tx, revision, part));
                (part, thread::Builder::new().name("tidings-load".into()).spawn_scoped(scope, read))
            });
            // Started before this thread reads its own part.
            let others: Vec<_> = others.collect();
            let mut items = reader.read(tx, parts[0])?;
            for (part, other) in others {
                let other = other.ok().and_then(|thread| thread.join().ok()?.ok()?);
                items.append(&mut other.map_or_else(|| reader.read(tx, part), Ok)?);
            }
            Ok::<_, Error>(items)
        })?;
        Ok((items, AsOf { revision, now, popularity, seen }))
    })
}

struct Reader {
    decay: Decay,
    now: Timestamp,
}

impl Reader {
    /// `None` if the posts in this transaction are not those of `revision`.
    fn read_at(&self, tx: &mut dyn Tx, revision: i64, keys: &[PostKey]) -> Result<Option<Vec<Arc<Item>>>> {
        if complete_version_in(tx, Topic::Posts)? != Some(revision) {
            return Ok(None);
        }
        self.read(tx, keys).map(Some)
    }

    fn read(&self, tx: &mut dyn Tx, keys: &[PostKey]) -> Result<Vec<Arc<Item>>> {
        let mut names = Names::default();
        let mut items = Vec::with_capacity(keys.len());
        feed_rows::of_keys(tx, keys, self.decay, &mut |mut row| {
            row.bound_heat(self.decay, self.now);
            items.push(Arc::new(Item::new(row, None, &mut names)));
        })?;
        Ok(items)
    }
}

fn parts(count: usize, threads: usize) -> Vec<Range<usize>> {
    let parts = (count / PART_MIN).clamp(1, threads.min(THREADS_MAX));
    (0..parts).map(|n| count * n / parts..count * (n + 1) / parts).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::account::Caller;
    use crate::post::{self, feed_rows};
    use crate::testing;

    /// Creates a service with 30 posts, of which the newest is not the last.
    fn service() -> testing::Service {
        let service = testing::service();
        for n in 0..30 {
            let date = Some(format!("2026-01-{:02}T0{}:00:00Z", 1 + n * 7 % 28, n % 3));
            let tag = Some(vec![format!("t{}", n % 4)]);
            let named = testing::draft(format!("Post {n}"), format!("https://a.example/{n}"));
            testing::publish(&service, post::Draft { tag, date, ..named });
        }
        service
    }

    #[test]
    fn several_threads_load_the_newest_posts_as_one_does() {
        let service = service();
        for posts in [1, 20, 30, 1_000] {
            let config = Feed { posts, ..Feed::default() };
            let (mut items, as_of) = load(service.store(), &config, testing::NOW).unwrap();
            let rows = service.store().read(|tx| feed_rows::until(tx, Timestamp::MAX, posts)).unwrap();
            let mut names = Names::default();
            let mut expected: Vec<_> = rows.into_iter().map(|row| Item::new(row, None, &mut names)).collect();
            expected.sort_by_key(|item| item.key);
            items.sort_by_key(|item| item.key);
            assert_eq!(items.len(), posts.min(30));
            assert_eq!(format!("{items:?}"), format!("{expected:?}"));
            assert_eq!(as_of.revision, service.store().version(Topic::Posts));
        }
    }

    fn newest_id(service: &testing::Service) -> String {
        service.store().read(|tx| feed_rows::until(tx, Timestamp::MAX, 1)).unwrap().remove(0).id
    }

    #[test]
    fn a_part_at_another_revision_is_not_read() {
        let service = service();
        let config = Feed::default();
        let reader = Reader { decay: Decay::new(3.0), now: testing::NOW };
        let keys = service.store().read(|tx| feed_rows::newest(tx, 9)).unwrap();
        let read = |revision| service.store().read(|tx| reader.read_at(tx, revision, &keys)).unwrap();
        let revision = service.store().version(Topic::Posts);
        assert_eq!(read(revision).map(|items| items.len()), Some(9));
        assert!(read(revision - 1).is_none() && read(revision + 1).is_none());
        // With the same horizon, two transactions may see different changes beyond it.
        service.store().hold_horizon();
        let horizon = service.store().read(|tx| tx.horizon()).unwrap();
        post::view(&service, &Caller::Guest, &newest_id(&service)).wait().unwrap();
        assert!(read(horizon).is_none() && read(revision).is_none());
        let (items, as_of) = load(service.store(), &config, testing::NOW).unwrap();
        assert_eq!((as_of.revision, as_of.seen.horizon, items.len()), (horizon, horizon, 30));
    }

    proptest! {
        #[test]
        fn the_parts_cover_all_posts_once(count in 0_usize..100_000, threads in 1_usize..70) {
            let parts = parts(count, threads);
            prop_assert!((1..=THREADS_MAX).contains(&parts.len()));
            let all: Vec<usize> = parts.into_iter().flatten().collect();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }
}
