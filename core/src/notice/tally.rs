//! Views of notices, counted in memory and written along with other commits.
//!
//! For each notice there is one count, the views that this process has seen since it began. It only grows;
//! nobody takes from it or starts it anew, so whoever counts never has to know what others are doing. Now
//! and then a rider (`Store::defer`) adds to the database what it does not have yet: a batch, of which the
//! ledger keeps how far each count has been handed over.
//!
//! Whoever loads the notices reads them in one transaction, at one moment, and shows
//!
//! ```text
//! base + counted    where base = what the database held − what of the count it held already
//! ```
//!
//! The base stands still for as long as the notices are not loaded again, and the count lives on when they
//! are. So all depends on knowing which batches the moment holds:
//!
//! - The ledger is locked while notices are loaded and while a rider works. So no batch is begun during
//!   loading: only the last one of the ledger may still be under way.
//! - All batches before the last are on disk: one thread commits one group after the other, and the last
//!   batch was handed to a later group. Every moment since then holds them (`Count::settled`).
//! - The last batch (`Count::handed`) belongs to the transaction with the revision `Ledger::last`, and
//!   the moment says the revision of the last transaction it holds. So it holds the batch exactly when its
//!   revision is not less.
//!
//! Thus each view is in the base through the database, or in the count beyond what was handed over, never in
//! both and never in neither. A batch whose statements or commit fail is kept for the next rider.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::sql;
use crate::id::ObjectId;
use crate::keyed::OwnMap;
use crate::store::{self, Progress, Store, StoreError, TimeSlice, Tx};

/// The views that this process counts.
#[derive(Default)]
pub(super) struct Tally {
    ledger: Mutex<Ledger>,
    /// Another number after each view.
    generation: AtomicU64,
    /// Whether a rider waits that will see what is counted now.
    riding: AtomicBool,
}

/// What of the counts was handed to the database.
pub(super) struct Ledger {
    /// By ids that this program gives, or administrators bring along.
    counts: OwnMap<ObjectId, Count>,
    /// The revision of the last batch.
    last: i64,
    /// The notices whose turn is yet to come, so that none waits for others that are viewed all the time.
    turns: VecDeque<ObjectId>,
}

/// Notices of a batch whatever the time.
const LEAST: usize = 32;

/// In the place of a revision where no batch is known; below all.
const NO_BATCH: i64 = -1;

/// The views of one notice.
#[derive(Default)]
struct Count {
    /// Since the process began.
    counted: Arc<AtomicI64>,
    /// How many of them were in any batch.
    handed: i64,
    /// How many of them were in any batch before the last.
    settled: i64,
}

impl Count {
    /// Whether the database does not have all of them.
    fn is_behind(&self) -> bool {
        self.counted.load(Ordering::Relaxed) > self.handed
    }
}

impl Tally {
    /// Counts a view in `count`; answers how many there are now.
    pub(super) fn view(self: &Arc<Self>, count: &AtomicI64, store: &Store) -> i64 {
        let counted = count.fetch_add(1, Ordering::Relaxed) + 1;
        // Released after the count, so that who sees this generation sees the count as well.
        self.generation.fetch_add(1, Ordering::Release);
        // The rider lets go of the flag before it looks at the counts. So either it sees this one, or the
        // flag is down here and another rider goes.
        if !self.riding.swap(true, Ordering::AcqRel) {
            let _ = store.defer(Rider::of(self));
        }
        counted
    }

    /// The number of views so far: who has it sees all of them in the counts.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Keeps riders waiting until the ledger is let go.
    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self { counts: OwnMap::default(), last: NO_BATCH, turns: VecDeque::new() }
    }
}

impl Ledger {
    /// The count of a notice, and how much of it the database held at `moment`, the revision of the last
    /// transaction that was committed then.
    pub(super) fn open(&mut self, id: ObjectId, moment: i64) -> (Arc<AtomicI64>, i64) {
        let count = self.counts.entry(id).or_default();
        let held = if self.last <= moment { count.handed } else { count.settled };
        (Arc::clone(&count.counted), held)
    }

    /// Forgets the counts of all other notices.
    pub(super) fn retain(&mut self, is_there: impl Fn(ObjectId) -> bool) {
        self.counts.retain(|id, _| is_there(*id));
    }

    /// Adds to the database what it does not have yet, of some notices and then for as long as the slice lasts; whether
    /// there is more.
    fn hand_over(&mut self, tx: &mut dyn Tx, slice: TimeSlice) -> Result<bool, StoreError> {
        // One batch for each transaction: the one before is on disk only when this one is a later group's.
        if self.last == tx.revision() {
            return Ok(true);
        }
        for count in self.counts.values_mut() {
            count.settled = count.handed;
        }
        if self.turns.is_empty() {
            let behind = self.counts.iter().filter(|(_, count)| count.is_behind());
            self.turns.extend(behind.map(|(id, _)| *id));
        }
        let mut batch = Vec::new();
        while batch.len() < LEAST || !slice.is_over() {
            let Some(id) = self.turns.pop_front() else { break };
            // The notice may be gone since.
            let Some(count) = self.counts.get(&id).filter(|count| count.is_behind()) else { continue };
            let counted = count.counted.load(Ordering::Relaxed);
            sql::add_views(tx, id, counted - count.handed)?;
            batch.push((id, counted));
        }
        // Only now: what failed on the way is undone as a whole, and the next rider has it again.
        for (id, counted) in batch {
            self.counts.entry(id).and_modify(|count| count.handed = counted);
        }
        self.last = tx.revision();
        Ok(!self.turns.is_empty())
    }

    /// Takes the last batch back, which never reached the database.
    fn take_back(&mut self) {
        for count in self.counts.values_mut() {
            count.handed = count.settled;
        }
        // The next transaction may have the same number.
        self.last = NO_BATCH;
    }
}

/// What a commit takes along: the counts there are when it comes to it.
struct Rider {
    tally: Arc<Tally>,
    /// Whether it has yet to look at the counts.
    waits: bool,
    /// Whether it left some to the next commit.
    more: bool,
}

impl Rider {
    fn of(tally: &Arc<Tally>) -> Self {
        Self { tally: Arc::clone(tally), waits: true, more: false }
    }
}

impl store::Deferred for Rider {
    fn write(&mut self, tx: &mut dyn Tx, slice: TimeSlice) -> Result<(), StoreError> {
        // One that goes on looks at the counts again: until then no other need go.
        self.waits = false;
        self.tally.riding.swap(false, Ordering::AcqRel);
        self.more = self.tally.ledger().hand_over(tx, slice)?;
        Ok(())
    }

    fn done(&mut self, written: Result<(), StoreError>) -> Progress {
        match written {
            Ok(()) if self.more => Progress::More,
            Ok(()) => Progress::Done,
            Err(error) => {
                tracing::warn!(cause = error.to_string(), "views of notices could not be written yet");
                self.tally.ledger().take_back();
                Progress::Done
            }
        }
    }
}

impl Drop for Rider {
    /// A rider that found no place, because too much was waiting, leaves its counts to the next.
    fn drop(&mut self) {
        if self.waits {
            self.tally.riding.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::Tidings;
    use crate::account::Caller;
    use crate::error::Error;
    use crate::notice::{self, Draft};
    use crate::store::{Arg, Row, StoreError, Topic, once};
    use crate::testing::service;

    fn notice(tidings: &Tidings) -> String {
        let draft = Draft { title: Some("t".into()), post: Some("p".into()), activation: None };
        notice::insert(tidings, &Caller::Operator, &draft).unwrap().id.to_string()
    }

    fn read(tidings: &Tidings, id: &str) -> i64 {
        notice::get(tidings, &Caller::Nobody, id).unwrap().notice_list.view
    }

    /// What is shown when the notices are loaded at this moment, and what of it the database holds.
    fn loaded(tidings: &Tidings) -> (i64, i64) {
        let sheet = tidings.board().load_anew(tidings.store());
        let held = tidings.store().read(|tx| Ok::<_, Error>(sql::all(tx)?[0].view)).unwrap();
        (sheet.shown().notices()[0].view, held)
    }

    #[test]
    fn a_batch_is_not_counted_from_the_database_before_it_is_committed_nor_again_afterwards() {
        let service = service();
        let id = notice(&service);
        assert_eq!((read(&service, &id), read(&service, &id)), (1, 2));
        assert_eq!(loaded(&service), (2, 0), "before the rider");
        let (sender, receiver) = channel();
        let (tidings, read_there) = (service.tidings.clone(), id.clone());
        // Goes with the same commit, behind the rider that has handed over two views.
        service
            .store()
            .defer(once(move |_| {
                let (shown, held) = loaded(&tidings);
                let third = read(&tidings, &read_there);
                sender.send((shown, held, third)).unwrap();
                Ok(())
            }))
            .unwrap();
        service.store().flush().wait().unwrap();
        let (shown, held, third) = receiver.recv().unwrap();
        assert_eq!((shown, held, third), (2, 0, 3), "between the rider and its commit");
        // The third view may ride already; it is not lost either way.
        let (shown, held) = loaded(&service);
        assert!(shown == 3 && held >= 2, "after the commit: {shown}, {held}");
        service.store().flush().wait().unwrap();
        assert_eq!(loaded(&service), (3, 3));
        assert_eq!(read(&service, &id), 4);
    }

    #[test]
    fn a_batch_that_the_database_refuses_goes_with_the_next_rider() {
        struct Refusing;
        impl Tx for Refusing {
            fn rows(&mut self, _: &str, _: &[Arg<'_>]) -> Result<Vec<Row>, StoreError> {
                Err(StoreError::Overloaded)
            }
            fn run(&mut self, _: &str, _: &[Arg<'_>]) -> Result<u64, StoreError> {
                Err(StoreError::Overloaded)
            }
            fn revision(&self) -> i64 {
                i64::MAX
            }
            fn touch(&mut self, _: Topic) {}
            fn count(&mut self, _: i64, _: Option<i64>, _: i64) {}
            fn count_on(&mut self, _: i64, _: i64, _: i64) {}
        }
        let service = service();
        let id = notice(&service);
        let tally = Arc::clone(service.board().tally());
        // No rider of the store's own comes in between.
        tally.riding.store(true, Ordering::Release);
        assert_eq!(read(&service, &id), 1);
        let refused = store::Deferred::write(&mut Rider::of(&tally), &mut Refusing, TimeSlice::unlimited());
        assert!(matches!(refused, Err(StoreError::Overloaded)));
        assert_eq!(loaded(&service), (1, 0));
        assert_eq!(read(&service, &id), 2);
        service.store().flush().wait().unwrap();
        assert_eq!(loaded(&service), (2, 2));
    }

    #[test]
    fn a_batch_whose_commit_fails_goes_with_the_next_rider() {
        let service = service();
        let id = notice(&service);
        assert_eq!((read(&service, &id), read(&service, &id)), (1, 2));
        let failed = service.store().write(|tx| {
            tx.run("PRAGMA defer_foreign_keys = ON", &[])?;
            tx.run("INSERT INTO liked (member, post, date) VALUES (999, 1, 1)", &[])?;
            Ok::<_, StoreError>(())
        });
        assert!(matches!(failed, Err(StoreError::Dangling)), "{failed:?}");
        assert_eq!(loaded(&service), (2, 0));
        assert_eq!(read(&service, &id), 3);
        service.store().flush().wait().unwrap();
        assert_eq!(loaded(&service), (3, 3));
    }

    #[test]
    fn what_a_slice_has_no_time_for_goes_with_the_next_and_no_notice_waits_for_others() {
        let service = service();
        let ids: Vec<_> = std::iter::repeat_with(|| notice(&service)).take(70).collect();
        let tally = Arc::clone(service.board().tally());
        // No rider of the store's own comes in between.
        tally.riding.store(true, Ordering::Release);
        let held = || {
            let held = service
                .store()
                .read(|tx| Ok::<_, Error>(sql::all(tx)?.iter().map(|n| n.view).collect::<Vec<_>>()));
            held.unwrap()
        };
        for _ in 0..3 {
            for id in &ids {
                read(&service, id);
            }
            tally.riding.store(true, Ordering::Release);
            let mut rider = Rider::of(&tally);
            let written = service.store().write(move |tx| {
                store::Deferred::write(&mut rider, tx, TimeSlice::until(std::time::Instant::now()))?;
                // Once in a transaction.
                store::Deferred::write(&mut rider, tx, TimeSlice::unlimited())?;
                Ok::<_, StoreError>(rider)
            });
            store::Deferred::done(&mut written.unwrap(), Ok(()));
            tally.riding.store(true, Ordering::Release);
        }
        let views = held();
        let times = |n| views.iter().filter(|views| **views == n).count();
        assert_eq!([1, 2, 3].map(times), [32, 32, 6], "each has its turn");
        assert_eq!(loaded(&service).0, 3);
        // What is left goes with a rider of the store's own.
        tally.riding.store(false, Ordering::Release);
        for id in &ids {
            read(&service, id);
        }
        let all_held = || held().iter().all(|views| *views == 4);
        while !all_held() {
            service.store().flush().wait().unwrap();
        }
    }

    #[test]
    fn a_rider_that_found_no_place_leaves_its_views_to_the_next() {
        let service = service();
        let id = notice(&service);
        let tally = Arc::clone(service.board().tally());
        tally.riding.store(true, Ordering::Release);
        assert_eq!(read(&service, &id), 1);
        drop(Rider::of(&tally));
        assert_eq!(read(&service, &id), 2);
        service.store().flush().wait().unwrap();
        assert_eq!(loaded(&service), (2, 2));
    }

    #[test]
    fn views_of_a_notice_that_is_gone_are_forgotten() {
        let service = service();
        let (gone, kept) = (notice(&service), notice(&service));
        read(&service, &gone);
        notice::remove(&service, &Caller::Operator, &gone).unwrap();
        read(&service, &kept);
        let ids: Vec<_> = service.board().tally().ledger().counts.keys().map(ToString::to_string).collect();
        assert_eq!(ids, [kept]);
        service.store().flush().wait().unwrap();
        assert_eq!(loaded(&service), (1, 1));
    }
}
