//! The notices in memory, as they stood at one revision, until they change.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::ArcSwapOption;

use super::tally::{Ledger, Tally};
use super::{Notice, NoticeList, sql};
use crate::error::{Error, Result};
use crate::id::ObjectId;
use crate::keyed::OwnMap;
use crate::store::{Store, Topic, revision_in, version_in};

/// Where the notices hang: the sheet that is up, and the views of them all. Reading it takes no lock.
#[derive(Default)]
pub(crate) struct Board {
    up: ArcSwapOption<Sheet>,
    tally: Arc<Tally>,
}

impl Board {
    /// The notices as they are, loaded anew when they have changed.
    ///
    /// Not to be called from within a transaction: loading keeps riders waiting, and takes a reader.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) fn sheet(&self, store: &Store) -> Result<Arc<Sheet>> {
        if let Some(sheet) = self.sheet_in_memory(store) {
            return Ok(sheet);
        }
        let mut ledger = self.tally.ledger();
        // Somebody may have loaded them while this one waited.
        match self.sheet_in_memory(store) {
            Some(sheet) => Ok(sheet),
            None => self.load(store, &mut ledger),
        }
    }

    /// The notices as they are, if that is known without asking the database.
    pub(super) fn sheet_in_memory(&self, store: &Store) -> Option<Arc<Sheet>> {
        let sheet = self.up.load_full()?;
        (store.version(Topic::Notices) <= sheet.revision).then_some(sheet)
    }

    fn load(&self, store: &Store, ledger: &mut Ledger) -> Result<Arc<Sheet>> {
        let (moment, revision, notices) = store
            .read(|tx| Ok::<_, Error>((revision_in(tx)?, version_in(tx, Topic::Notices)?, sql::all(tx)?)))?;
        let posted = |mut notice: Notice| {
            let (counted, held) = ledger.open(notice.id, moment);
            notice.view -= held;
            Posted { notice, counted }
        };
        let notices: Vec<Posted> = notices.into_iter().map(posted).collect();
        let index: OwnMap<_, _> = notices.iter().enumerate().map(|(i, p)| (p.notice.id, i)).collect();
        ledger.retain(|id| index.contains_key(&id));
        let hides = notices.iter().any(Posted::is_hidden);
        let (tally, shown) = (Arc::clone(&self.tally), ArcSwapOption::empty());
        let sheet = Arc::new(Sheet { revision, notices, index, hides, tally, shown });
        self.up.store(Some(Arc::clone(&sheet)));
        Ok(sheet)
    }
}

/// The notices as they stood at one revision; their views go on counting.
pub(super) struct Sheet {
    revision: i64,
    /// Newest first.
    notices: Vec<Posted>,
    index: OwnMap<ObjectId, usize>,
    hides: bool,
    tally: Arc<Tally>,
    /// The list for everybody, as it was encoded last.
    shown: ArcSwapOption<Shown>,
}

/// A list that holds every view up to a generation.
struct Shown {
    generation: u64,
    list: NoticeList,
}

/// A notice on the sheet.
pub(super) struct Posted {
    /// Its `view` is the base that `counted` is added to.
    notice: Notice,
    counted: Arc<AtomicI64>,
}

impl Posted {
    pub(super) fn is_hidden(&self) -> bool {
        self.notice.is_hidden()
    }

    /// The notice as it is when so many views are counted.
    fn at(&self, counted: i64) -> Notice {
        Notice { view: self.notice.view + counted, ..self.notice.clone() }
    }

    fn now(&self) -> Notice {
        self.at(self.counted.load(Ordering::Relaxed))
    }
}

impl Sheet {
    /// Whether there are hidden notices.
    pub(super) fn hides(&self) -> bool {
        self.hides
    }

    pub(super) fn find(&self, id: ObjectId) -> Option<&Posted> {
        self.index.get(&id).map(|i| &self.notices[*i])
    }

    /// The notice with the view that is counted here.
    pub(super) fn view(&self, posted: &Posted, store: &Store) -> Notice {
        posted.at(self.tally.view(&posted.counted, store))
    }

    /// Every notice.
    pub(super) fn all(&self) -> NoticeList {
        NoticeList::new(self.notices.iter().map(Posted::now))
    }

    /// The notices for everybody, encoded once for as long as no view is counted.
    pub(super) fn shown(&self) -> NoticeList {
        // Asked before the counts are, so that the list is at least as new as it says. Whoever was told of a
        // view finds a generation that has it, and so takes no list without it, even when a slower reader
        // puts an older one up over a newer.
        let generation = self.tally.generation();
        if let Some(shown) = &*self.shown.load()
            && shown.generation >= generation
        {
            return shown.list.clone();
        }
        let shown = self.notices.iter().filter(|posted| !posted.is_hidden());
        let list = NoticeList::new(shown.map(Posted::now));
        self.shown.store(Some(Arc::new(Shown { generation, list: list.clone() })));
        list
    }
}

#[cfg(test)]
impl Board {
    pub(super) fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    /// Loads the notices though they may not have changed.
    pub(super) fn load_anew(&self, store: &Store) -> Arc<Sheet> {
        self.load(store, &mut self.tally.ledger()).unwrap()
    }
}
