//! Likes and views of posts, and posts that members hide. Likes and views are frequent, so acts that wait at the same time
//! run together.

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
use crate::id::PostKey;
use crate::profile::history;
use crate::store::{Gathered, Isolation, Store, StoreError, Tx};

/// The acts that wait.
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
    /// The member does not want to see the post in the recommended feed.
    Hide,
    Unhide,
    View {
        /// The viewer, if the caller is no member.
        guest: Option<Guest>,
        /// Whether the view counts for the popularity, once decided: the decision records the viewer.
        counts: Option<bool>,
    },
}

impl Acts {
    /// Returns a queue of acts. A like weighs `like_weight` views for the popularity.
    ///
    /// Acts run beside those of other servers. The rows that both may change are locked in this order: the likes, the views and the hidden posts by
    /// member and post, the posts by key, and at the commit the members by key. A like that another server adds at the same time
    /// is waited for, so that one of both is new. A post is locked before its stats are read, so that none is lost; for as
    /// short a time as possible, because everybody may like the same post.
    pub(crate) fn new(store: &Store, calendar: &Arc<Calendar>, like_weight: f64) -> Self {
        let (calendar, viewers) = (Arc::clone(calendar), Viewers::default());
        Self(store.gathered(Isolation::Locking, move |tx, acts| {
            let mut batch =
                Batch { calendar: &calendar, viewers: &viewers, like_weight, changes: BTreeMap::new() };
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
    /// What changes the stats of the posts.
    changes: BTreeMap<PostKey, Vec<Change>>,
}

/// A change of the stats of a post, by an act at the time `at`.
struct Change {
    at: Timestamp,
    kind: ChangeKind,
}

enum ChangeKind {
    Like,
    /// The like was given at this time.
    Unlike(Timestamp),
    /// Whether the view counts for the popularity.
    View(bool),
}

/// A valid act: the member if there is one, and the post.
struct Valid<'m, 'a> {
    member: Option<&'m Member<'m>>,
    post: PostKey,
    at: Timestamp,
    kind: &'a mut Kind,
}

impl Batch<'_> {
    fn run(&mut self, tx: &mut dyn Tx, acts: &mut [Act]) -> Result<Vec<Result<()>>, StoreError> {
        let identities: Vec<&Identity> = acts.iter().map(|act| &act.identity).collect();
        let members = Identity::visitors(tx, &identities)?;
        let (keys, mut posts) = read_posts(tx, acts)?;
        let mut valid = Vec::with_capacity(acts.len());
        let checked = acts.iter_mut().zip(&members).zip(keys).map(|((act, member), post)| {
            if member.is_none() && !matches!(act.kind, Kind::View { .. }) {
                return Err(Error::BadToken);
            }
            let post = post.ok_or(Error::NotFound)?;
            valid.push(Valid { member: member.as_ref(), post, at: act.at, kind: &mut act.kind });
            Ok(())
        });
        let results = checked.collect();
        // Acts that wait at the same time may run in any order.
        valid.sort_by_key(|act| (act.member.map(|member| member.key), act.post));
        self.like(tx, &valid)?;
        self.unlike(tx, &valid)?;
        self.view(tx, &mut valid)?;
        hide(tx, &valid)?;
        posts.retain(|stats| self.changes.contains_key(&stats.post));
        self.change_posts(tx, posts)?;
        Ok(results)
    }

    fn like(&mut self, tx: &mut dyn Tx, acts: &[Valid<'_, '_>]) -> Result<(), StoreError> {
        let acts: Vec<_> = of_members(acts, |kind| matches!(kind, Kind::Like)).collect();
        let likes: Vec<_> = acts.iter().map(|(member, act)| (*member, act.post, act.at)).collect();
        for ((_, act), is_new) in acts.into_iter().zip(history::like(tx, &likes)?) {
            if is_new {
                self.change(act, ChangeKind::Like);
                self.calendar.count(tx, Counter::Like, act.at)?;
            }
        }
        Ok(())
    }

    fn unlike(&mut self, tx: &mut dyn Tx, acts: &[Valid<'_, '_>]) -> Result<(), StoreError> {
        let acts: Vec<_> = of_members(acts, |kind| matches!(kind, Kind::Unlike)).collect();
        let likes: Vec<_> = acts.iter().map(|(member, act)| (*member, act.post)).collect();
        for ((_, act), liked) in acts.into_iter().zip(history::unlike(tx, &likes)?) {
            if let Some(liked) = liked {
                self.change(act, ChangeKind::Unlike(liked));
                self.calendar.count(tx, Counter::Unlike, act.at)?;
            }
        }
        Ok(())
    }

    fn view(&mut self, tx: &mut dyn Tx, acts: &mut [Valid<'_, '_>]) -> Result<(), StoreError> {
        let by_members = of_members(acts, |kind| matches!(kind, Kind::View { .. }));
        let views: Vec<_> = by_members.map(|(member, act)| (member, act.post, act.at)).collect();
        history::view(tx, &views)?;
        for act in acts {
            let Kind::View { guest, counts } = &mut *act.kind else { continue };
            let viewer = match (act.member, &*guest) {
                (Some(member), _) => Viewer::Member(member.key),
                (None, Some(guest)) => Viewer::Guest(*guest),
                (None, None) => Viewer::Operator,
            };
            let counts = *counts.get_or_insert_with(|| self.viewers.counts(act.post, viewer, act.at));
            self.change(act, ChangeKind::View(counts));
            self.calendar.count(tx, Counter::View, act.at)?;
        }
        Ok(())
    }

    fn change(&mut self, act: &Valid<'_, '_>, kind: ChangeKind) {
        self.changes.entry(act.post).or_default().push(Change { at: act.at, kind });
    }

    /// Changes the stats of the posts, which are those with changes, and writes them.
    fn change_posts(&self, tx: &mut dyn Tx, mut posts: Vec<PostStats>) -> Result<(), StoreError> {
        // In the order of the table, because that changes each of its pages only once.
        posts.sort_unstable_by_key(|stats| stats.post);
        let locked = PostStats::lock(tx, posts)?.into_iter().zip(self.changes.values());
        let changed = locked.filter_map(|(mut stats, changes)| {
            let mut last = None;
            for Change { at, kind } in changes {
                last = last.max(Some(*at));
                match kind {
                    ChangeKind::Like => stats.like(self.like_weight, *at),
                    ChangeKind::Unlike(liked) => stats.unlike(self.like_weight, (*liked).min(*at)),
                    ChangeKind::View(counts) => stats.view(counts.then_some(*at)),
                }
            }
            Some((stats, last?))
        });
        PostStats::update_each(tx, changed.collect(), self.like_weight)
    }
}

/// Hides posts from the recommended feeds of members, and shows others again. The stats of the posts do not change.
fn hide(tx: &mut dyn Tx, acts: &[Valid<'_, '_>]) -> Result<(), StoreError> {
    let hides = of_members(acts, |kind| matches!(kind, Kind::Hide));
    history::hide(tx, &hides.map(|(member, act)| (member, act.post, act.at)).collect::<Vec<_>>())?;
    let shown = of_members(acts, |kind| matches!(kind, Kind::Unhide));
    history::unhide(tx, &shown.map(|(member, act)| (member, act.post)).collect::<Vec<_>>())
}

/// Returns the key of the post of each act, and the stats of these posts.
fn read_posts(tx: &mut dyn Tx, acts: &[Act]) -> Result<(Vec<Option<PostKey>>, Vec<PostStats>), StoreError> {
    let mut keys: BTreeMap<&str, Option<PostKey>> = acts.iter().map(|act| (&*act.post, None)).collect();
    let ids: Vec<&str> = keys.keys().copied().collect();
    let mut posts = Vec::with_capacity(ids.len());
    for (key, stats) in keys.values_mut().zip(PostStats::of_ids(tx, &ids)?) {
        *key = stats.as_ref().map(|stats| stats.post);
        posts.extend(stats);
    }
    Ok((acts.iter().map(|act| keys[&*act.post]).collect(), posts))
}

/// Returns the acts of members that are of a kind.
fn of_members<'m, 'v, 'a>(
    acts: &'v [Valid<'m, 'a>],
    is_of_kind: fn(&Kind) -> bool,
) -> impl Iterator<Item = (&'m Member<'m>, &'v Valid<'m, 'a>)> {
    acts.iter().filter(move |act| is_of_kind(act.kind)).filter_map(|act| Some((act.member?, act)))
}
