//! The cache of all notices, which reads them from the database again when they change.
//!
//! It reads all notices, so a notice that becomes visible late is in the next snapshot. Until the horizon has passed
//! the last change, every read makes a snapshot.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::ArcSwapOption;

use super::views::{FlushState, ViewCounter};
use super::{Notice, NoticeList, sql};
use crate::account::Admin;
use crate::error::{Error, Result};
use crate::id::ObjectId;
use crate::keyed::OwnMap;
use crate::store::{Store, Topic, versions_in};

/// All notices as of one revision, and their views. Reading takes no lock.
#[derive(Default)]
pub(crate) struct NoticeCache {
    snapshot: ArcSwapOption<Snapshot>,
    views: Arc<ViewCounter>,
}

impl NoticeCache {
    /// Returns the current notices, after reading them from the database if they have changed.
    ///
    /// Must not be called within a transaction, because reading waits for a commit in progress and takes a connection.
    ///
    /// # Errors
    /// An error of the store.
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

    /// Returns the notices in memory if they are up to date.
    pub(super) fn snapshot_in_memory(&self, store: &Store) -> Option<Arc<Snapshot>> {
        let snapshot = self.snapshot.load_full()?;
        (store.version(Topic::Notices) <= snapshot.revision).then_some(snapshot)
    }

    fn load(&self, store: &Store, state: &mut FlushState) -> Result<Arc<Snapshot>> {
        let (revision, last_change, notices) = store.read(|tx| {
            let (revision, last_change) = versions_in(tx, Topic::Notices)?;
            Ok::<_, Error>((revision, last_change, sql::all(tx)?))
        })?;
        let cached = |mut notice: Notice| {
            let (counted, flushed) = state.count(notice.id);
            notice.view -= flushed;
            CachedNotice { notice, counted }
        };
        let notices: Vec<CachedNotice> = notices.into_iter().map(cached).collect();
        let index: OwnMap<_, _> = notices.iter().enumerate().map(|(i, n)| (n.notice.id, i)).collect();
        state.retain(|id| index.contains_key(&id));
        let has_hidden = notices.iter().any(CachedNotice::is_hidden);
        let (views, shown) = (Arc::clone(&self.views), ArcSwapOption::empty());
        let snapshot = Arc::new(Snapshot { revision, last_change, notices, index, has_hidden, views, shown });
        self.snapshot.store(Some(Arc::clone(&snapshot)));
        Ok(snapshot)
    }
}

/// The notices as of one revision; only their views change.
pub(super) struct Snapshot {
    /// The revision up to which the snapshot shows every change.
    pub(super) revision: i64,
    /// The revision of the last change that the snapshot shows.
    pub(super) last_change: i64,
    /// Newest first.
    notices: Vec<CachedNotice>,
    index: OwnMap<ObjectId, usize>,
    has_hidden: bool,
    views: Arc<ViewCounter>,
    /// The list for guests, as last encoded.
    shown: ArcSwapOption<Shown>,
}

/// A list that includes every view up to a generation.
struct Shown {
    generation: u64,
    list: NoticeList,
}

/// A notice of a snapshot.
pub(super) struct CachedNotice {
    /// The notice; its `view` does not include `counted`.
    pub(super) notice: Notice,
    counted: Arc<AtomicI64>,
}

impl CachedNotice {
    fn is_hidden(&self) -> bool {
        self.notice.is_hidden()
    }

    /// Returns the notice with this number of views counted in memory.
    fn at(&self, counted: i64) -> Notice {
        Notice { view: self.notice.view + counted, ..self.notice.clone() }
    }

    /// Returns the notice with all its views.
    pub(super) fn now(&self) -> Notice {
        self.at(self.counted.load(Ordering::Relaxed))
    }
}

impl Snapshot {
    /// Returns whether any notice is hidden.
    pub(super) fn has_hidden(&self) -> bool {
        self.has_hidden
    }

    /// Returns the notice with this id if it is not hidden.
    pub(super) fn find_shown(&self, id: ObjectId) -> Option<&CachedNotice> {
        self.cached(id).filter(|notice| !notice.is_hidden())
    }

    /// Returns the notice with this id, hidden or not.
    pub(super) fn find(&self, _: &Admin<'_>, id: ObjectId) -> Option<&CachedNotice> {
        self.cached(id)
    }

    fn cached(&self, id: ObjectId) -> Option<&CachedNotice> {
        self.index.get(&id).map(|i| &self.notices[*i])
    }

    /// Counts a view of a notice and returns the notice with it.
    pub(super) fn view(&self, notice: &CachedNotice, store: &Store) -> Notice {
        notice.at(self.views.view(&notice.counted, store))
    }

    /// Returns the notices that are not hidden, newest first.
    pub(super) fn shown_notices(&self) -> impl Iterator<Item = &CachedNotice> {
        self.notices.iter().filter(|notice| !notice.is_hidden())
    }

    /// Returns every notice, hidden or not.
    pub(super) fn all(&self, _: &Admin<'_>) -> NoticeList {
        NoticeList::new(self.notices.iter().map(CachedNotice::now))
    }

    /// Returns the list for guests. It is encoded once and shared until a view is counted.
    pub(super) fn shown(&self) -> NoticeList {
        // Read before the counts, so that the list has at least the views of this generation. A caller whose view has
        // been answered reads a generation that includes the view, and so does not accept a list without it, even if
        // a slower thread replaces a newer list by an older one.
        let generation = self.views.generation();
        if let Some(shown) = &*self.shown.load()
            && shown.generation >= generation
        {
            return shown.list.clone();
        }
        let list = NoticeList::new(self.shown_notices().map(CachedNotice::now));
        self.shown.store(Some(Arc::new(Shown { generation, list: list.clone() })));
        list
    }
}

#[cfg(test)]
impl NoticeCache {
    pub(super) fn views(&self) -> &Arc<ViewCounter> {
        &self.views
    }

    /// Reads the notices from the database even if they have not changed.
    pub(super) fn reload(&self, store: &Store) -> Arc<Snapshot> {
        self.load(store, &mut self.views.settled()).unwrap()
    }
}
