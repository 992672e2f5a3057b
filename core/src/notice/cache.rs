//! All notices, read again when they change, so a notice that becomes visible late is in the next snapshot. Until the horizon has
//! passed the last change, every read makes a snapshot. The times at which notices begin and end divide time into periods
//! ([`Snapshot::period`]), and a cached list counts in its period only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::ArcSwapOption;

use super::full::{FullList, FullNotice, ListQuery};
use super::placement::Audience;
use super::reader::Reader;
use super::views::{FlushState, NoticeViews, ViewCounter};
use super::{Notice, NoticeList, Pin, Placement, Visibility, markdown, sql};
use crate::base::clock::Timestamp;
use crate::base::keyed::OwnMap;
use crate::base::lock::lock;
use crate::record::error::{Error, Result};
use crate::record::id::ObjectId;
use crate::store::{Store, Topic, versions_in};

/// Reading takes no lock.
#[derive(Default)]
pub(crate) struct NoticeCache {
    snapshot: ArcSwapOption<Snapshot>,
    views: Arc<ViewCounter>,
}

impl NoticeCache {
    /// Must not be called within a transaction, because it may wait for a commit in progress and take a connection.
    pub(super) fn snapshot(&self, store: &Store) -> Result<Arc<Snapshot>> {
        if let Some(snapshot) = self.snapshot_in_memory(store) {
            return Ok(snapshot);
        }
        let mut state = self.views.settled();
        // Another thread may have read them while this one waited for the lock.
        match self.snapshot_in_memory(store) {
            Some(snapshot) => Ok(snapshot),
            None => self.load(store, &mut state),
        }
    }

    pub(super) fn views(&self) -> &Arc<ViewCounter> {
        &self.views
    }

    pub(super) fn snapshot_in_memory(&self, store: &Store) -> Option<Arc<Snapshot>> {
        let snapshot = self.snapshot.load_full()?;
        (store.version(Topic::Notices) <= snapshot.revision).then_some(snapshot)
    }

    fn load(&self, store: &Store, state: &mut FlushState) -> Result<Arc<Snapshot>> {
        let (revision, last_change, notices) = store.read(|tx| {
            let (revision, last_change) = versions_in(tx, Topic::Notices)?;
            Ok::<_, Error>((revision, last_change, sql::all(tx)?))
        })?;
        let before = self.snapshot.load_full();
        let cached = |(notice, placement): (Notice, Placement)| {
            let (counted, flushed) = state.count(notice.id);
            counted.set_others(notice.view - flushed);
            let rendered = before.as_ref().and_then(|before| before.rendered(&notice)).unwrap_or_default();
            CachedNotice { notice, placement, counted, rendered }
        };
        let notices: Vec<CachedNotice> = notices.into_iter().map(cached).collect();
        let index: OwnMap<_, _> = notices.iter().enumerate().map(|(i, n)| (n.notice.id, i)).collect();
        state.retain(|id| index.contains_key(&id));
        let has_restricted = notices.iter().any(CachedNotice::is_restricted);
        let mut moments: Vec<_> = notices.iter().flat_map(|cached| cached.placement.moments()).collect();
        moments.sort_unstable();
        let snapshot = Arc::new(Snapshot {
            revision,
            last_change,
            notices,
            index,
            has_restricted,
            moments,
            views: Arc::clone(&self.views),
            lists: Default::default(),
            full_lists: Mutex::default(),
        });
        self.snapshot.store(Some(Arc::clone(&snapshot)));
        Ok(snapshot)
    }
}

/// Immutable except for the views.
pub(super) struct Snapshot {
    /// The revision up to which the snapshot shows every change.
    pub(super) revision: i64,
    /// The revision of the last change that the snapshot shows.
    pub(super) last_change: i64,
    /// Newest first.
    notices: Vec<CachedNotice>,
    index: OwnMap<ObjectId, usize>,
    has_restricted: bool,
    /// The times at which a notice begins or ends, in order.
    moments: Vec<Timestamp>,
    views: Arc<ViewCounter>,
    /// For guests and for members, as last encoded.
    lists: [ArcSwapOption<Dated<NoticeList>>; 2],
    /// As last encoded; at most four for each topic that a notice has.
    full_lists: Mutex<HashMap<ListKey, Dated<FullList>>>,
}

/// And whether the texts are rendered.
type ListKey = (Audience, Option<Arc<str>>, bool);

/// The state of a snapshot that a list shows.
#[derive(Clone, Copy)]
struct Date {
    /// Every view up to this generation is included.
    generation: u64,
    period: usize,
}

struct Dated<T> {
    date: Date,
    list: T,
}

impl<T: Clone> Dated<T> {
    fn at(&self, now: Date) -> Option<T> {
        let is_current = self.date.generation >= now.generation && self.date.period == now.period;
        is_current.then(|| self.list.clone())
    }
}

pub(super) struct CachedNotice {
    /// `view` is that of the time when the notice was read.
    pub(super) notice: Notice,
    placement: Placement,
    counted: Arc<NoticeViews>,
    /// Rendered on first use. Later snapshots share it until the text changes.
    rendered: Arc<OnceLock<Arc<str>>>,
}

impl CachedNotice {
    /// True if some callers do not see the notice in the general list at some time.
    fn is_restricted(&self) -> bool {
        self.notice.activation == Visibility::Hidden || self.placement.is_restricted()
    }

    /// On the page where the notice is.
    fn is_visible_to(&self, audience: Audience, now: Timestamp) -> bool {
        self.notice.activation == Visibility::Shown
            && self.placement.is_current(now)
            && (self.placement.members_only == Audience::Everyone || audience == Audience::Members)
    }

    fn at(&self, counted: i64) -> Notice {
        Notice { view: self.counted.shown(counted), ..self.notice.clone() }
    }

    pub(super) fn now(&self) -> Notice {
        self.at(self.counted.counted())
    }

    pub(super) fn html(&self) -> Arc<str> {
        Arc::clone(self.rendered.get_or_init(|| markdown::html(&self.notice.post).into()))
    }

    fn full(&self, html: bool) -> FullNotice {
        let html = html.then(|| self.html());
        FullNotice { notice: Notice { html, ..self.now() }, placement: self.placement.clone() }
    }
}

impl Snapshot {
    /// If false, all callers get the same list.
    pub(super) fn has_restricted(&self) -> bool {
        self.has_restricted
    }

    /// The number of notices that have begun plus the number of those that have ended. The same notices are visible throughout
    /// a period.
    pub(super) fn period(&self, at: Timestamp) -> usize {
        self.moments.partition_point(|moment| *moment <= at)
    }

    /// `None` in the first period.
    pub(super) fn period_start(&self, at: Timestamp) -> Option<Timestamp> {
        self.period(at).checked_sub(1).map(|last| self.moments[last])
    }

    pub(super) fn find(&self, reader: &Reader<'_>, id: ObjectId, now: Timestamp) -> Option<&CachedNotice> {
        let found = self.index.get(&id).map(|i| &self.notices[*i]);
        found.filter(|cached| reader.audience().is_none_or(|audience| cached.is_visible_to(audience, now)))
    }

    pub(super) fn view(&self, notice: &CachedNotice, store: &Store, today: i64) -> Notice {
        notice.at(self.views.view(&notice.counted, store, today))
    }

    /// Of the general page, newest first.
    pub(super) fn visible(&self, audience: Audience, now: Timestamp) -> impl Iterator<Item = &CachedNotice> {
        let is_listed = move |cached: &&CachedNotice| {
            cached.placement.topic.is_none() && cached.is_visible_to(audience, now)
        };
        self.notices.iter().filter(is_listed)
    }

    /// Every notice for an administrator. The lists for guests and for members are encoded once and shared until a view is
    /// counted, or a notice begins or ends.
    pub(super) fn list(&self, reader: &Reader<'_>, now: Timestamp) -> NoticeList {
        let Some(audience) = reader.audience() else {
            return NoticeList::new(self.notices.iter().map(CachedNotice::now));
        };
        let (date, cached) = (self.date(now), &self.lists[audience as usize]);
        if let Some(list) = cached.load().as_ref().and_then(|cached| cached.at(date)) {
            return list;
        }
        let list = NoticeList::new(self.visible(audience, now).map(CachedNotice::now));
        cached.store(Some(Arc::new(Dated { date, list: list.clone() })));
        list
    }

    /// Shared like [`Snapshot::list`].
    pub(super) fn full_list(&self, reader: &Reader<'_>, query: &ListQuery<'_>, now: Timestamp) -> FullList {
        let Some(audience) = reader.audience() else {
            let topic = query.topic.map(|topic| self.topic(topic));
            let is_asked_for = |cached: &&CachedNotice| {
                let of = &cached.placement.topic;
                topic.as_ref().is_none_or(|topic| of.is_none() || of == topic)
            };
            return Self::full(self.notices.iter().filter(is_asked_for), query.html);
        };
        if let Some(list) = self.cached_full_list(audience, query, now) {
            return list;
        }
        let (date, key) = (self.date(now), self.key(audience, query));
        let is_listed = |cached: &&CachedNotice| {
            let of = &cached.placement.topic;
            (of.is_none() || *of == key.1) && cached.is_visible_to(audience, now)
        };
        let list = Self::full(self.notices.iter().filter(is_listed), query.html);
        lock(&self.full_lists).insert(key, Dated { date, list: list.clone() });
        list
    }

    pub(super) fn cached_full_list(
        &self,
        audience: Audience,
        query: &ListQuery<'_>,
        now: Timestamp,
    ) -> Option<FullList> {
        lock(&self.full_lists).get(&self.key(audience, query)).and_then(|cached| cached.at(self.date(now)))
    }

    fn key(&self, audience: Audience, query: &ListQuery<'_>) -> ListKey {
        (audience, query.topic.and_then(|topic| self.topic(topic)), query.html)
    }

    /// `None` if no notice has the topic: its list is the general one.
    fn topic(&self, name: &str) -> Option<Arc<str>> {
        let topic = super::draft::topic(name)?;
        self.notices.iter().any(|cached| cached.placement.topic.as_ref() == Some(&topic)).then_some(topic)
    }

    fn full<'a>(notices: impl Iterator<Item = &'a CachedNotice>, html: bool) -> FullList {
        let mut full: Vec<_> = notices.map(|cached| cached.full(html)).collect();
        // Stable, so the newest stay first among both.
        full.sort_by_key(|full| full.placement.pinned == Pin::Unpinned);
        FullList::new(full.into())
    }

    /// Read before the counts, so that the list has at least the views of this generation. A caller whose view has been answered
    /// reads a generation that includes the view, and so does not accept a list without it, even if a slower thread replaces a
    /// newer list with an older one.
    fn date(&self, now: Timestamp) -> Date {
        Date { generation: self.views.generation(), period: self.period(now) }
    }

    fn rendered(&self, notice: &Notice) -> Option<Arc<OnceLock<Arc<str>>>> {
        let cached = self.index.get(&notice.id).map(|i| &self.notices[*i])?;
        (cached.notice.post == notice.post).then(|| Arc::clone(&cached.rendered))
    }
}

#[cfg(test)]
impl NoticeCache {
    pub(super) fn reload(&self, store: &Store) -> Arc<Snapshot> {
        self.load(store, &mut self.views.settled()).unwrap()
    }
}
