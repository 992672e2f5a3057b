//! Likes and views of posts. They are frequent, so those that wait at the same time run together.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::stats::PostStats;
use super::viewer::{Viewer, Viewers};
use crate::account::{Identity, Member};
use crate::analysis::Guest;
use crate::analysis::calendar::Calendar;
use crate::analysis::counters::Counter;
use crate::clock::Timestamp;
use crate::error::{Error, Pending, Result};
use crate::profile::history;
use crate::store::{Gathered, Isolation, Store, StoreError, Tx};

/// The likes and views that wait.
pub(crate) struct Acts(Gathered<Act, (), Error>);

/// An act on a post.
pub(super) struct Act {
    pub(super) identity: Identity,
    /// The id of the post.
    pub(super) post: String,
    pub(super) kind: Kind,
    pub(super) at: Timestamp,
}

pub(super) enum Kind {
    Like,
    Unlike,
    View {
        /// The viewer, if the caller is no member.
        guest: Option<Guest>,
        /// Whether the view counts for the popularity, once decided: the decision records the viewer.
        counts: Option<bool>,
    },
}

impl Acts {
    /// Returns a queue of acts. A like weighs `like_weight` views for the popularity.
    pub(crate) fn new(store: &Store, calendar: &Arc<Calendar>, like_weight: f64) -> Self {
        let (calendar, viewers) = (Arc::clone(calendar), Viewers::default());
        Self(store.gathered(Isolation::Alone, move |tx, acts| {
            let mut batch = Batch { calendar: &calendar, viewers: &viewers, like_weight, posts: Vec::new() };
            batch.run(tx, acts)
        }))
    }

    /// Queues an act.
    pub(super) fn submit(&self, store: &Store, act: Act) -> Pending<()> {
        store.submit_gathered(&self.0, act)
    }
}

/// Acts that run together.
struct Batch<'b> {
    calendar: &'b Calendar,
    viewers: &'b Viewers,
    like_weight: f64,
    /// The posts of the acts.
    posts: Vec<Post>,
}

/// A post, with the time of the last act that changed it.
struct Post {
    stats: PostStats,
    changed: Option<Timestamp>,
}

/// A valid act: the member if there is one, and the index of the post.
struct Valid<'m, 'a> {
    member: Option<&'m Member<'m>>,
    post: usize,
    at: Timestamp,
    kind: &'a mut Kind,
}

impl Batch<'_> {
    fn run(&mut self, tx: &mut dyn Tx, acts: &mut [Act]) -> Result<Vec<Result<()>>, StoreError> {
        let identities: Vec<&Identity> = acts.iter().map(|act| &act.identity).collect();
        let members = Identity::visitors(tx, &identities)?;
        let posts = self.read_posts(tx, acts)?;
        let mut valid = Vec::with_capacity(acts.len());
        let checked = acts.iter_mut().zip(&members).zip(posts).map(|((act, member), post)| {
            if member.is_none() && !matches!(act.kind, Kind::View { .. }) {
                return Err(Error::BadToken);
            }
            let post = post.ok_or(Error::NotFound)?;
            valid.push(Valid { member: member.as_ref(), post, at: act.at, kind: &mut act.kind });
            Ok(())
        });
        let results = checked.collect();
        // Acts that wait at the same time may run in any order.
        self.like(tx, &valid)?;
        self.unlike(tx, &valid)?;
        self.view(tx, &mut valid)?;
        self.write_posts(tx)?;
        Ok(results)
    }

    /// Reads the stats of the posts of the acts. Returns the index of each act's post.
    fn read_posts(&mut self, tx: &mut dyn Tx, acts: &[Act]) -> Result<Vec<Option<usize>>, StoreError> {
        let mut index: BTreeMap<&str, Option<usize>> = acts.iter().map(|act| (&*act.post, None)).collect();
        let ids: Vec<&str> = index.keys().copied().collect();
        for (found, stats) in index.values_mut().zip(PostStats::of_ids(tx, &ids)?) {
            if let Some(stats) = stats {
                *found = Some(self.posts.len());
                self.posts.push(Post { stats, changed: None });
            }
        }
        Ok(acts.iter().map(|act| index[&*act.post]).collect())
    }

    fn like(&mut self, tx: &mut dyn Tx, acts: &[Valid<'_, '_>]) -> Result<(), StoreError> {
        let acts: Vec<_> = of_members(acts, |kind| matches!(kind, Kind::Like)).collect();
        let likes: Vec<_> =
            acts.iter().map(|(member, act)| (*member, self.posts[act.post].stats.post, act.at)).collect();
        for ((_, act), is_new) in acts.into_iter().zip(history::like(tx, &likes)?) {
            if is_new {
                self.posts[act.post].changed_at(act.at).like(self.like_weight, act.at);
                self.calendar.count(tx, Counter::Like, act.at)?;
            }
        }
        Ok(())
    }

    fn unlike(&mut self, tx: &mut dyn Tx, acts: &[Valid<'_, '_>]) -> Result<(), StoreError> {
        let acts: Vec<_> = of_members(acts, |kind| matches!(kind, Kind::Unlike)).collect();
        let likes: Vec<_> =
            acts.iter().map(|(member, act)| (*member, self.posts[act.post].stats.post)).collect();
        for ((_, act), liked) in acts.into_iter().zip(history::unlike(tx, &likes)?) {
            if let Some(liked) = liked {
                self.posts[act.post].changed_at(act.at).unlike(self.like_weight, liked.min(act.at));
                self.calendar.count(tx, Counter::Unlike, act.at)?;
            }
        }
        Ok(())
    }

    fn view(&mut self, tx: &mut dyn Tx, acts: &mut [Valid<'_, '_>]) -> Result<(), StoreError> {
        let by_members = of_members(acts, |kind| matches!(kind, Kind::View { .. }));
        let views: Vec<_> =
            by_members.map(|(member, act)| (member, self.posts[act.post].stats.post, act.at)).collect();
        history::view(tx, &views)?;
        for act in acts {
            let Kind::View { guest, counts } = &mut *act.kind else { continue };
            let viewer = match (act.member, &*guest) {
                (Some(member), _) => Viewer::Member(member.key),
                (None, Some(guest)) => Viewer::Guest(*guest),
                (None, None) => Viewer::Operator,
            };
            let post = &mut self.posts[act.post];
            let counts = *counts.get_or_insert_with(|| self.viewers.counts(post.stats.post, viewer, act.at));
            post.changed_at(act.at).view(counts.then_some(act.at));
            self.calendar.count(tx, Counter::View, act.at)?;
        }
        Ok(())
    }

    /// Writes the stats of the posts that changed.
    fn write_posts(&mut self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        // In the order of the table, because that changes each of its pages only once.
        self.posts.sort_unstable_by_key(|post| post.stats.post);
        for Post { stats, changed } in self.posts.drain(..) {
            if let Some(at) = changed {
                stats.update(tx, self.like_weight, at)?;
            }
        }
        Ok(())
    }
}

impl Post {
    /// Returns the stats, which an act at this time changes.
    fn changed_at(&mut self, at: Timestamp) -> &mut PostStats {
        self.changed = self.changed.max(Some(at));
        &mut self.stats
    }
}

/// Returns the acts of members that are of a kind.
fn of_members<'m, 'v, 'a>(
    acts: &'v [Valid<'m, 'a>],
    is_of_kind: fn(&Kind) -> bool,
) -> impl Iterator<Item = (&'m Member<'m>, &'v Valid<'m, 'a>)> {
    acts.iter().filter(move |act| is_of_kind(act.kind)).filter_map(|act| Some((act.member?, act)))
}
