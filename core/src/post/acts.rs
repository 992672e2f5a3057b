//! Likes and views of posts, and posts that members hide. Likes and views are frequent, so acts that wait at the same time
//! run together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::stats::PostStats;
use super::viewer::{Viewer, Viewers};
use crate::account::{Identity, Member};
use crate::analysis::Guest;
use crate::analysis::calendar::Calendar;
use crate::analysis::counters::Counter;
use crate::base::clock::Timestamp;
use crate::profile::history;
use crate::record::error::{Error, Pending, Result};
use crate::record::id::PostKey;
use crate::store::{Gathered, Isolation, Pipelined, Store, StoreError, Tx};

pub(crate) struct Acts(Gathered<Act, (), Error>);

pub(super) struct Act {
    pub(super) identity: Identity,
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
        guest: Option<Guest>,
        /// Whether the view counts for the popularity, once decided: the decision records the viewer.
        counts: Option<bool>,
    },
}

impl Acts {
    /// Returns a queue of acts. Acts run beside those of other servers. The rows that both may change are locked in this order:
    /// the likes, the views and the hidden posts by member and post, the posts by key, and at the commit the members by key. A
    /// like that another server adds at the same time is waited for, so that one of both is new. A post is locked before its stats
    /// are read, so that none is lost; for as short a time as possible, because everybody may like the same post.
    pub(crate) fn new(store: &Store, calendar: &Arc<Calendar>) -> Self {
        let (calendar, viewers) = (Arc::clone(calendar), Viewers::default());
        Self(store.gathered(Isolation::Locking, move |tx, acts| {
            Batch { calendar: &calendar, viewers: &viewers }.run(tx, acts)
        }))
    }

    pub(super) fn submit(&self, store: &Store, act: Act) -> Pending<()> {
        store.submit_gathered(&self.0, act)
    }
}

struct Batch<'b> {
    calendar: &'b Calendar,
    viewers: &'b Viewers,
}

struct Change {
    post: PostKey,
    at: Timestamp,
    kind: ChangeKind,
}

enum ChangeKind {
    Like,
    Unlike(Timestamp),
    View(bool),
}

struct Valid<'m, 'a> {
    member: Option<&'m Member<'m>>,
    post: PostKey,
    at: Timestamp,
    kind: &'a mut Kind,
}

impl Batch<'_> {
    /// The look-ups are sent together, and so are the changes of likes, views and hidden posts and the locks of the posts.
    fn run(&self, tx: &mut dyn Tx, acts: &mut [Act]) -> Result<Vec<Result<()>>, StoreError> {
        let members = Identity::ask_visitors(tx, acts.iter().map(|act| &act.identity).collect())?;
        let posts = ask_posts(tx, acts)?;
        let members = members.answer(tx)?;
        let Found { keys, mut posts } = posts.answer(tx)?;
        let mut valid = Vec::with_capacity(acts.len());
        let checked = acts.iter_mut().zip(&members).zip(keys).map(|((act, member), post)| {
            if member.is_none() && !matches!(act.kind, Kind::View { .. }) {
                return Err(Error::BadToken);
            }
            let post = post.ok_or(Error::NotFound)?;
            let mut act = Valid { member: member.as_ref(), post, at: act.at, kind: &mut act.kind };
            act.decide(self.viewers);
            valid.push(act);
            Ok(())
        });
        let results = checked.collect();
        // Acts that wait at the same time may run in any order.
        valid.sort_by_key(|act| (act.member.map(|member| member.key), act.post));
        let likes = like(tx, &valid)?;
        let unlikes = unlike(tx, &valid)?;
        let views = view(tx, &valid)?;
        hide(tx, &valid)?;
        let acted: BTreeSet<PostKey> = valid.iter().map(|act| act.post).collect();
        posts.retain(|stats| acted.contains(&stats.post));
        // In the order of the table, because that changes each of its pages only once.
        posts.sort_unstable_by_key(|stats| stats.post);
        let posts = PostStats::lock(tx, posts)?;
        let mut changes = likes.answer(tx)?;
        changes.extend(unlikes.answer(tx)?);
        changes.extend(views);
        self.change_posts(tx, changes, posts)?;
        Ok(results)
    }

    fn change_posts(
        &self,
        tx: &mut dyn Tx,
        changes: Vec<Change>,
        posts: Pipelined<'_, Vec<PostStats>>,
    ) -> Result<(), StoreError> {
        let mut of_posts: BTreeMap<PostKey, Vec<Change>> = BTreeMap::new();
        for change in changes {
            self.calendar.count(tx, change.kind.counter(), change.at)?;
            of_posts.entry(change.post).or_default().push(change);
        }
        let written = posts.answer(tx)?.into_iter().filter_map(|mut stats| {
            let changes = of_posts.remove(&stats.post)?;
            for Change { at, kind, .. } in &changes {
                match kind {
                    ChangeKind::Like => stats.like(*at),
                    ChangeKind::Unlike(liked) => stats.unlike((*liked).min(*at)),
                    ChangeKind::View(counts) => stats.view(counts.then_some(*at)),
                }
            }
            Some((stats, changes.iter().map(|change| change.at).max()?))
        });
        PostStats::update_each(tx, written.collect())
    }
}

impl ChangeKind {
    fn counter(&self) -> Counter {
        match self {
            Self::Like => Counter::Like,
            Self::Unlike(_) => Counter::Unlike,
            Self::View(_) => Counter::View,
        }
    }
}

impl Valid<'_, '_> {
    fn decide(&mut self, viewers: &Viewers) {
        if let Kind::View { guest, counts } = &mut *self.kind {
            let viewer = match (self.member, &*guest) {
                (Some(member), _) => Viewer::Member(member.key),
                (None, Some(guest)) => Viewer::Guest(*guest),
                (None, None) => Viewer::Operator,
            };
            counts.get_or_insert_with(|| viewers.counts(self.post, viewer, self.at));
        }
    }

    fn change(&self, kind: ChangeKind) -> Change {
        Change { post: self.post, at: self.at, kind }
    }
}

fn like<'v>(tx: &mut dyn Tx, acts: &'v [Valid<'_, '_>]) -> Result<Pipelined<'v, Vec<Change>>, StoreError> {
    let acts: Vec<_> = of_members(acts, |kind| matches!(kind, Kind::Like)).collect();
    let likes: Vec<_> = acts.iter().map(|(member, act)| (*member, act.post, act.at)).collect();
    Ok(history::like(tx, &likes)?.then(|_, new| {
        let new = acts.into_iter().zip(new).filter(|(_, is_new)| *is_new);
        Ok(new.map(|((_, act), _)| act.change(ChangeKind::Like)).collect())
    }))
}

fn unlike<'v>(tx: &mut dyn Tx, acts: &'v [Valid<'_, '_>]) -> Result<Pipelined<'v, Vec<Change>>, StoreError> {
    let acts: Vec<_> = of_members(acts, |kind| matches!(kind, Kind::Unlike)).collect();
    let likes: Vec<_> = acts.iter().map(|(member, act)| (*member, act.post)).collect();
    Ok(history::unlike(tx, &likes)?.then(|_, dates| {
        let taken = acts.into_iter().zip(dates);
        Ok(taken.filter_map(|((_, act), date)| Some(act.change(ChangeKind::Unlike(date?)))).collect())
    }))
}

fn view(tx: &mut dyn Tx, acts: &[Valid<'_, '_>]) -> Result<Vec<Change>, StoreError> {
    let by_members = of_members(acts, |kind| matches!(kind, Kind::View { .. }));
    let views: Vec<_> = by_members.map(|(member, act)| (member, act.post, act.at)).collect();
    history::view(tx, &views)?;
    let change = |act: &Valid<'_, '_>| match &*act.kind {
        Kind::View { counts, .. } => Some(act.change(ChangeKind::View(*counts == Some(true)))),
        _ => None,
    };
    Ok(acts.iter().filter_map(change).collect())
}

/// The stats of the posts do not change.
fn hide(tx: &mut dyn Tx, acts: &[Valid<'_, '_>]) -> Result<(), StoreError> {
    let hides = of_members(acts, |kind| matches!(kind, Kind::Hide));
    history::hide(tx, &hides.map(|(member, act)| (member, act.post, act.at)).collect::<Vec<_>>())?;
    let shown = of_members(acts, |kind| matches!(kind, Kind::Unhide));
    history::unhide(tx, &shown.map(|(member, act)| (member, act.post)).collect::<Vec<_>>())
}

struct Found {
    keys: Vec<Option<PostKey>>,
    posts: Vec<PostStats>,
}

fn ask_posts<'a>(tx: &mut dyn Tx, acts: &'a [Act]) -> Result<Pipelined<'a, Found>, StoreError> {
    let mut keys: BTreeMap<&str, Option<PostKey>> = acts.iter().map(|act| (&*act.post, None)).collect();
    let ids: Vec<&str> = keys.keys().copied().collect();
    Ok(PostStats::ask_of_ids(tx, &ids)?.then(move |_, found| {
        for (key, stats) in keys.values_mut().zip(&found) {
            *key = stats.as_ref().map(|stats| stats.post);
        }
        let keys = acts.iter().map(|act| keys[&*act.post]).collect();
        Ok(Found { keys, posts: found.into_iter().flatten().collect() })
    }))
}

fn of_members<'m, 'v, 'a>(
    acts: &'v [Valid<'m, 'a>],
    is_of_kind: fn(&Kind) -> bool,
) -> impl Iterator<Item = (&'m Member<'m>, &'v Valid<'m, 'a>)> {
    acts.iter().filter(move |act| is_of_kind(act.kind)).filter_map(|act| Some((act.member?, act)))
}
