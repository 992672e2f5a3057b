//! Live events: new posts, changes of notices, and the counts of today.
//!
//! A [`Follower`] compares the database with what it saw before, so it finds the changes of all processes. A program that
//! asks it several times a second tells changes within half a second. All events are for all callers: they contain nothing
//! that only administrators or a member may see.
//!
//! Each event has the [`Place`] after it, which consists of numbers of the database. So a listener can continue at another
//! server of the same database, and after a restart. An event may be told twice, but none between two places is left out.
//!
//! ```
//! use tidings_core::account::Caller;
//! use tidings_core::events::{Content, Follower};
//! use tidings_core::{Tidings, notice};
//!
//! # let dir = tempfile::tempdir()?;
//! # let tidings = Tidings::open(dir.path().join("campus.db"))?;
//! let (mut follower, ..) = Follower::start(&tidings)?;
//! let draft =
//!     notice::Draft { title: Some("Library".into()), post: Some("Open.".into()), ..notice::Draft::default() };
//! tidings.call(&Caller::Operator, notice::Insert { draft })?;
//!
//! let mut news = follower.look();
//! assert!(matches!(news.events.remove(0).content, Content::Notice(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use utoipa::ToSchema;

use crate::Tidings;
use crate::analysis;
use crate::notice::SeenNotices;
use crate::post::{feed_rows, news};
use crate::record::error::{Error, Result};
use crate::record::id::{ObjectId, PostKey};
use crate::store::Topic;

pub use crate::analysis::TodayCounts;
pub use crate::notice::NoticeChange;
pub use crate::post::NewPost;

#[cfg(test)]
mod tests;

/// The maximum number of posts that are told one by one: of many that are inserted at once, and of the last posts when a
/// follower starts.
pub const POSTS_MAX: usize = 50;

/// A place in the events of a database. Its text, such as `118-42`, has a meaning for this database only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The revision up to which all changes of notices were told.
    notices: i64,
    /// The last time at which a notice began or ended by its dates, in milliseconds; 0 if none has.
    moment: i64,
    posts: PostKey,
}

impl Place {
    /// Returns whether a listener at this place lacks an event.
    pub fn lacks(self, event: &Mark) -> bool {
        match event.kind {
            Kind::Notice => event.last.notices > self.notices || event.last.moment > self.moment,
            Kind::Post => event.last.posts > self.posts,
            Kind::Counts => false,
        }
    }

    /// Returns whether the numbers of this place for events of this kind are from those of `first` to those of `last`.
    pub fn is_within(self, first: Self, last: Self, kind: Kind) -> bool {
        match kind {
            Kind::Notice => {
                (first.notices..=last.notices).contains(&self.notices)
                    && (first.moment..=last.moment).contains(&self.moment)
            }
            Kind::Post => (first.posts..=last.posts).contains(&self.posts),
            Kind::Counts => true,
        }
    }

    /// Moves this place forward until it lacks no part of an event.
    pub fn pass(&mut self, event: &Mark) {
        match event.kind {
            Kind::Notice => {
                self.notices = self.notices.max(event.last.notices);
                self.moment = self.moment.max(event.last.moment);
            }
            Kind::Post => self.posts = self.posts.max(event.last.posts),
            Kind::Counts => {}
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.notices, self.posts.as_i64())?;
        if self.moment == 0 { Ok(()) } else { write!(f, "-{}", self.moment) }
    }
}

/// The error for a text that is not a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the id of an event")]
pub struct InvalidPlace;

impl FromStr for Place {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        let number = |text: &str| {
            let is_plain = text.bytes().all(|b| b.is_ascii_digit());
            text.parse().ok().filter(|_| is_plain).ok_or(InvalidPlace)
        };
        let (notices, posts) = text.split_once('-').ok_or(InvalidPlace)?;
        let (posts, moment) = posts.split_once('-').unwrap_or((posts, "0"));
        let posts = PostKey::from_stored(number(posts)?);
        Ok(Self { notices: number(notices)?, moment: number(moment)?, posts })
    }
}

/// A kind of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Changes of notices.
    Notice,
    /// New posts.
    Post,
    /// The counts of today.
    Counts,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Notice, Self::Post, Self::Counts];

    /// Returns the name of the kind in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Post => "post",
            Self::Counts => "counts",
        }
    }
}

/// The kind of an event, and where it is among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The kind.
    pub kind: Kind,
    /// The place after the event.
    pub place: Place,
    /// The last of the changes that the event may tell. It can be beyond `place`, if changes with smaller revisions may
    /// become visible later.
    last: Place,
    /// What the event is about.
    pub subject: Option<Subject>,
}

/// The subject of an event, to compare it with [`News::withdrawn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject(About);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Notice(ObjectId),
    Post(PostKey),
}

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Where it is among the others.
    pub mark: Mark,
    /// What it tells.
    pub content: Content,
}

/// What an event tells. It serialises as the data of the event.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// A change of a notice.
    Notice(NoticeChange),
    /// A post was inserted.
    Post(Box<NewPost>),
    /// The counts of today changed.
    Counts(TodayCounts),
    /// Events of a kind are left out, so that a listener reads the data again.
    Reset {
        /// The kind.
        event: Kind,
    },
}

impl Content {
    /// Returns the name of the event in the interface.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Notice(_) => Kind::Notice.name(),
            Self::Post(_) => Kind::Post.name(),
            Self::Counts(_) => Kind::Counts.name(),
            Self::Reset { .. } => "reset",
        }
    }
}

/// The news that a [`Follower`] has found.
#[derive(Debug, Default)]
pub struct News {
    /// The events in order.
    pub events: Vec<Event>,
    /// The notices that changed or were hidden, and the records that were removed: earlier events about them are not told
    /// any more.
    pub withdrawn: Vec<Subject>,
}

/// Follows the changes of a database.
pub struct Follower {
    tidings: Tidings,
    notices: SeenNotices,
    /// See [`Place::moment`]. It never decreases, also if the notice that had the time has been removed.
    moment: i64,
    posts: PostKey,
    /// The horizon up to which removed posts were told.
    horizon: i64,
    post_changes: i64,
    count_changes: i64,
    counts: Option<TodayCounts>,
}

impl Follower {
    /// Starts with the current state. Also returns the last posts as events, and the place before them.
    ///
    /// # Errors
    /// An error of the store.
    pub fn start(tidings: &Tidings) -> Result<(Self, Place, News)> {
        // Read before the data, so that the next look finds what changes meanwhile.
        let post_changes = tidings.store().changes(Topic::Posts);
        let notices = SeenNotices::now(tidings)?;
        let (horizon, mut posts) = tidings.store().read(|tx| {
            let horizon = tx.horizon()?;
            Ok::<_, Error>((horizon, news::last(tx, POSTS_MAX + 1)?))
        })?;
        let before = if posts.len() > POSTS_MAX { posts.remove(0).0 } else { PostKey::from_stored(0) };
        let tidings = tidings.clone();
        let (count_changes, counts) = (0, None);
        let moment = notices.last_moment();
        let mut follower =
            Self { tidings, notices, moment, posts: before, horizon, post_changes, count_changes, counts };
        let first = follower.last();
        let events = posts.into_iter().filter_map(|(key, post)| follower.post(key, post)).collect();
        Ok((follower, first, News { events, withdrawn: Vec::new() }))
    }

    /// Returns the place up to which everything was told.
    pub fn place(&self) -> Place {
        Place { notices: self.notices.revision(), moment: self.moment, posts: self.posts }
    }

    /// Returns the last changes that were told. This is beyond [`Follower::place`] while changes with smaller revisions may
    /// become visible later.
    pub fn last(&self) -> Place {
        Place { notices: self.notices.last_change(), moment: self.moment, posts: self.posts }
    }

    /// Returns what has changed since the last look, except for counts. Takes a few atomic reads if nothing has changed.
    ///
    /// If the store fails, the next look finds what this one did not.
    pub fn look(&mut self) -> News {
        let mut news = News::default();
        let looked = self.look_at_notices(&mut news).and_then(|()| self.look_at_posts(&mut news));
        if let Err(error) = looked {
            tracing::debug!(cause = error.detail(), "changes cannot be read");
        }
        news
    }

    fn look_at_notices(&mut self, news: &mut News) -> Result<()> {
        if !self.notices.is_stale(&self.tidings) {
            return Ok(());
        }
        let now = SeenNotices::now(&self.tidings)?;
        let changes = self.notices.changes_until(&now);
        let before = self.place();
        self.moment = self.moment.max(now.last_moment());
        self.notices = now;
        let (after, last) = (self.place(), self.last());
        let count = changes.len();
        for (n, change) in changes.into_iter().enumerate() {
            let id = match &change {
                NoticeChange::Published { notice } | NoticeChange::Changed { notice } => notice.id,
                NoticeChange::Hidden { id } => *id,
            };
            let subject = Subject(About::Notice(id));
            // Also for a changed notice: what was removed from its text is not told any more.
            news.withdrawn.push(subject);
            // A listener that has only a part of these events gets all of them again.
            let place = if n + 1 < count { before } else { after };
            let mark = Mark { kind: Kind::Notice, place, last, subject: Some(subject) };
            news.events.push(Event { mark, content: Content::Notice(change) });
        }
        Ok(())
    }

    fn look_at_posts(&mut self, news: &mut News) -> Result<()> {
        let changes = self.tidings.store().changes(Topic::Posts);
        if changes == self.post_changes {
            return Ok(());
        }
        let (seen, horizon) = (self.posts, self.horizon);
        let (horizon, removed, posts, last) = self.tidings.store().read(|tx| {
            let now = tx.horizon()?;
            let (removed, posts) = (feed_rows::removed(tx, horizon)?, news::after(tx, seen, POSTS_MAX + 1)?);
            let last = if posts.len() > POSTS_MAX { news::last_key(tx)? } else { None };
            Ok::<_, Error>((now, removed, posts, last))
        })?;
        (self.horizon, self.post_changes) = (horizon, changes);
        news.withdrawn.extend(removed.into_iter().map(|key| Subject(About::Post(key))));
        if let Some(last) = last {
            self.posts = last;
            let mark = Mark { kind: Kind::Post, place: self.place(), last: self.last(), subject: None };
            news.events.push(Event { mark, content: Content::Reset { event: Kind::Post } });
        } else {
            news.events.extend(posts.into_iter().filter_map(|(key, post)| self.post(key, post)));
        }
        Ok(())
    }

    /// `None` if feeds do not show the post.
    fn post(&mut self, key: PostKey, post: NewPost) -> Option<Event> {
        self.posts = key;
        let has_ended = post.post.end_date.is_some_and(|end| end <= self.tidings.now());
        let subject = Some(Subject(About::Post(key)));
        let mark = Mark { kind: Kind::Post, place: self.place(), last: self.last(), subject };
        (!has_ended).then(|| Event { mark, content: Content::Post(Box::new(post)) })
    }

    /// Returns the counts of today if they have changed since the last call.
    ///
    /// They lack the requests of the last fraction of a second, which are not committed yet.
    ///
    /// # Errors
    /// An error of the store.
    pub fn counts(&mut self) -> Result<Option<Event>> {
        let changes = self.tidings.store().changes(Topic::Counts);
        let date = analysis::today(&self.tidings);
        if changes == self.count_changes && self.counts.as_ref().is_some_and(|counts| counts.date == date) {
            return Ok(None);
        }
        let counts = analysis::today_counts(&self.tidings)?;
        self.count_changes = changes;
        if self.counts.as_ref() == Some(&counts) {
            return Ok(None);
        }
        self.counts = Some(counts.clone());
        let mark = Mark { kind: Kind::Counts, place: self.place(), last: self.last(), subject: None };
        Ok(Some(Event { mark, content: Content::Counts(counts) }))
    }
}
