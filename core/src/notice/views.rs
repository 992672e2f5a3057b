//! A notice shows `stored - flushed + counted`: `counted` are its views in this process, and `flushed` those of them in the
//! database ([`FlushState`]). These are read under one lock, never between the statements of a flush and the outcome of its commit
//! ([`ViewCounter::settled`], [`ViewCounter::others`]). Views that wait for the database keep their days.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::sql;
use crate::base::lock::lock;
use crate::record::id::ObjectId;
use crate::store::{Deferred, Isolation, Store, StoreError, TimeSlice, Topic, Tx};

/// The minimum number of notices that a flush writes, even if its time is over.
const LEAST: usize = 32;

/// Counting takes no lock, except at the first view of a notice on a day.
#[derive(Default)]
pub(super) struct ViewCounter {
    state: Mutex<FlushState>,
    flushed: Condvar,
    /// Incremented on every view.
    generation: AtomicU64,
    /// Whether a deferred flush has not read the counts yet.
    is_deferred: AtomicBool,
}

#[derive(Default)]
pub(super) struct FlushState {
    counts: BTreeMap<ObjectId, Count>,
    ended: u64,
    /// Whether a flush has run its statements and awaits the outcome of the commit.
    is_committing: bool,
    /// The notice at which the next flush begins if the last one had no time for all notices, so that every notice is
    /// eventually flushed.
    next: Option<ObjectId>,
}

#[derive(Default)]
struct Count {
    counted: Arc<NoticeViews>,
    flushed: i64,
}

/// In this process.
#[derive(Default)]
pub(super) struct NoticeViews {
    counted: AtomicI64,
    /// The views in the database that others have counted, as last read.
    others: AtomicI64,
    /// 0 before the first view.
    day: AtomicI64,
    /// The earlier days with views that are not flushed, and the number of views at the end of each.
    earlier: Mutex<Vec<(i64, i64)>>,
}

impl NoticeViews {
    pub(super) fn counted(&self) -> i64 {
        self.counted.load(Ordering::Relaxed)
    }

    pub(super) fn shown(&self, counted: i64) -> i64 {
        self.others.load(Ordering::Relaxed) + counted
    }

    pub(super) fn set_others(&self, views: i64) -> bool {
        self.others.swap(views, Ordering::Relaxed) != views
    }

    fn add(&self, today: i64) -> i64 {
        if self.day.load(Ordering::Relaxed) != today {
            let mut earlier = lock(&self.earlier);
            let day = self.day.swap(today, Ordering::Relaxed);
            // Another view may have done it.
            if day != today {
                earlier.push((day, self.counted()));
            }
        }
        self.counted.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn by_day(&self, flushed: i64, counted: i64) -> Vec<(i64, i64)> {
        let earlier = lock(&self.earlier);
        let mut days = earlier.clone();
        days.push((self.day.load(Ordering::Relaxed), counted));
        drop(earlier);
        let mut before = flushed;
        let views = |(day, end): (i64, i64)| {
            let views = end.min(counted) - before;
            before += views.max(0);
            (day, views)
        };
        days.into_iter().map(views).filter(|(_, views)| *views > 0).collect()
    }

    fn flushed(&self, flushed: i64) {
        lock(&self.earlier).retain(|(_, end)| *end > flushed);
    }
}

impl ViewCounter {
    /// `views` is one of [`FlushState::count`]. Returns the number of views in this process.
    pub(super) fn view(self: &Arc<Self>, views: &NoticeViews, store: &Store, today: i64) -> i64 {
        let counted = views.add(today);
        // After the count, so that a reader of this generation sees the view.
        self.generation.fetch_add(1, Ordering::Release);
        // A flush resets the flag before it reads the counts: it has this view, or the flag is false here.
        if !self.is_deferred.swap(true, Ordering::AcqRel) && store.defer(Flush::new(self)).is_err() {
            // The queue of writes is full; the next view tries again.
            self.is_deferred.store(false, Ordering::Release);
        }
        counted
    }

    /// The counts include all views up to this generation.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Waits until no flush is being committed. No flush begins until the guard is dropped.
    pub(super) fn settled(&self) -> MutexGuard<'_, FlushState> {
        let settled = self.flushed.wait_while(lock(&self.state), |state| state.is_committing);
        settled.unwrap_or_else(PoisonError::into_inner)
    }

    /// `read` returns the views that the database contains. Returns false if a flush made it impossible to separate those of
    /// others.
    pub(super) fn others<E>(&self, read: impl FnOnce() -> Result<Vec<(String, i64)>, E>) -> Result<bool, E> {
        let ended = self.settled().ended;
        // Not under the lock, because a flush waits for it.
        let stored = read()?;
        let state = lock(&self.state);
        if state.is_committing || state.ended != ended {
            return Ok(false);
        }
        let counts =
            stored.iter().filter_map(|(id, views)| Some((state.counts.get(&ObjectId::parse(id)?)?, views)));
        let changed =
            counts.filter(|(count, views)| count.counted.set_others(*views - count.flushed)).count();
        if changed > 0 {
            self.generation.fetch_add(1, Ordering::Release);
        }
        Ok(true)
    }
}

impl FlushState {
    /// And how many of its views are flushed.
    pub(super) fn count(&mut self, id: ObjectId) -> (Arc<NoticeViews>, i64) {
        let count = self.counts.entry(id).or_default();
        (Arc::clone(&count.counted), count.flushed)
    }

    pub(super) fn retain(&mut self, is_there: impl Fn(ObjectId) -> bool) {
        self.counts.retain(|id, _| is_there(*id));
    }
}

/// At most one is deferred at a time.
struct Flush {
    counter: Arc<ViewCounter>,
    /// Whether [`ViewCounter::is_deferred`] is set for this flush.
    is_expected: bool,
    batch: Vec<(ObjectId, i64)>,
    next: Option<ObjectId>,
}

impl Flush {
    fn new(counter: &Arc<ViewCounter>) -> Self {
        Self { counter: Arc::clone(counter), is_expected: true, batch: Vec::new(), next: None }
    }
}

impl Deferred for Flush {
    fn isolation(&self) -> Isolation {
        // A view adds to the row of its notice, and all servers change them in the order of the ids.
        Isolation::Locking
    }

    fn write(&mut self, tx: &mut dyn Tx, time: TimeSlice) -> Result<(), StoreError> {
        // Another run must not reset the flag: a view may have deferred another flush in the meantime.
        if std::mem::take(&mut self.is_expected) {
            self.counter.is_deferred.swap(false, Ordering::AcqRel);
        }
        self.batch.clear();
        self.next = None;
        let mut state = lock(&self.counter.state);
        let counts = state.counts.iter();
        let counts = counts.map(|(id, count)| (*id, count.counted.counted(), count));
        let mut behind: Vec<_> = counts.filter(|(_, counted, count)| *counted > count.flushed).collect();
        let start = behind.partition_point(|(id, ..)| Some(*id) < state.next);
        // Those before come with the next flush, because all flushes change notices in one order.
        let mut later = behind.split_off(start);
        if later.is_empty() {
            std::mem::swap(&mut behind, &mut later);
        }
        self.next = behind.first().map(|(id, ..)| *id);
        for (id, counted, count) in later {
            if self.batch.len() >= LEAST && time.is_over() {
                self.next = Some(id);
                break;
            }
            if sql::add_views(tx, id, counted - count.flushed)? {
                for (day, views) in count.counted.by_day(count.flushed, counted) {
                    sql::add_reads(tx, id, day, views)?;
                }
                tx.touch(Topic::NoticeViews);
            }
            self.batch.push((id, counted));
        }
        state.is_committing = true;
        Ok(())
    }

    fn done(&mut self, written: Result<(), StoreError>) -> ControlFlow<()> {
        let mut state = lock(&self.counter.state);
        for (id, counted) in self.batch.drain(..) {
            // What may be stored already would be counted twice.
            if matches!(written, Ok(()) | Err(StoreError::OutcomeUnknown(_))) {
                state.counts.entry(id).and_modify(|count| {
                    count.flushed = counted;
                    count.counted.flushed(counted);
                });
            }
        }
        state.is_committing = false;
        state.ended += 1;
        state.next = self.next;
        let has_more = state.next.is_some();
        drop(state);
        self.counter.flushed.notify_all();
        if let Err(error) = written {
            tracing::warn!(cause = error.to_string(), "views of notices could not be written yet");
            return ControlFlow::Break(());
        }
        // If a view has deferred another flush in the meantime, that flush writes the rest.
        self.is_expected = has_more && !self.counter.is_deferred.swap(true, Ordering::AcqRel);
        if self.is_expected { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[cfg(test)]
impl ViewCounter {
    /// Lets views defer no flush until the guard is dropped.
    pub(super) fn hold(&self) -> impl Drop {
        struct Held<'a>(&'a AtomicBool);
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Release);
            }
        }
        self.is_deferred.store(true, Ordering::Release);
        Held(&self.is_deferred)
    }
}

#[cfg(test)]
mod tests;
