//! Deletes expired data, and the leftovers of removed members, in the background, in batches that occupy the writer for only a
//! few milliseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Tidings;
use crate::account::credential::{code, invitation, throttle};
use crate::account::{places, sessions};
use crate::analysis::calendar::Calendar;
use crate::analysis::visitor::{self, DayKeys, day_keys};
use crate::analysis::{LATE_MS, log, trends};
use crate::base::clock::{Clock, DAY_MS, Timestamp};
use crate::mail::limit as mail_limit;
use crate::mail::outbox::MAILS;
use crate::record::background::{Background, Stop, log_failure};
use crate::record::error::Result;
use crate::record::lease::Lease;
use crate::store::{Isolation, Leftover, Store, StoreError, Topic, Tx};
use crate::webhook::outbox::DELIVERIES;
use crate::{audit, feedback, removal};

const INTERVAL: Duration = Duration::from_secs(10 * 60);
/// The interval if a reader prevented the removal of a replaced day key.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// Attempts while another server has the lease. Together they take longer than the lease of a server that was killed.
const LEASE_INTERVAL: Duration = Duration::from_secs(5);
const LEASE_ATTEMPTS: u32 = 4;
/// Includes the commit. The size of the next batch is adjusted to it.
const BATCH_TIME: Duration = Duration::from_millis(10);
/// In rows.
const BATCH: std::ops::RangeInclusive<u64> = 16..=2_000;
const FIRST_BATCH: u64 = 200;
/// Lets other writes run.
const PAUSE: Duration = Duration::from_millis(20);
/// The number of expired lines that a run deletes one by one if the others go with their partition.
const LINES_MAX: u64 = 50_000;
/// For adding and dropping partitions.
const ATTEMPTS: usize = 5;
const ATTEMPT_PAUSE: Duration = Duration::from_millis(200);

pub(crate) struct Retention {
    stop: Stop,
    thread: Background,
}

struct Janitor {
    store: Arc<Store>,
    calendar: Arc<Calendar>,
    keys: Arc<DayKeys>,
    log_days: u32,
    audit_days: u32,
    feedback_days: u32,
    clock: Clock,
    stop: Stop,
    lease: Lease,
    /// Whether a file may still hold a replaced day key.
    key_in_file: AtomicBool,
}

impl Retention {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        let stop = Stop::default();
        Self { thread: Background::new(store, stop.clone()), stop }
    }

    fn start(&self, tidings: &Tidings) -> Result<()> {
        self.thread.start("tidings-janitor", || {
            let janitor = Janitor::new(tidings, self.stop.clone());
            janitor.rotate_keys()?;
            if let Err(error) = janitor.arrange_log() {
                log_failure(&error, "the partitions of the access log could not be arranged yet");
            }
            Ok(move || janitor.run())
        })
    }
}

pub(crate) fn start(tidings: &Tidings) -> Result<()> {
    tidings.0.retention.start(tidings)
}

impl Janitor {
    fn new(tidings: &Tidings, stop: Stop) -> Self {
        let (store, clock, analysis) = (&tidings.0.store, &tidings.0.clock, tidings.analysis());
        let config = &tidings.config().analysis;
        Self {
            store: Arc::clone(store),
            calendar: Arc::clone(&analysis.calendar),
            keys: Arc::clone(&analysis.keys),
            log_days: config.log_days,
            audit_days: config.audit_days,
            feedback_days: tidings.config().feedback_days,
            clock: clock.clone(),
            stop,
            lease: Lease::new(Arc::clone(store), clock.clone(), "retention"),
            key_in_file: AtomicBool::new(false),
        }
    }

    fn run(&self) {
        let mut refused = 0;
        loop {
            let zone = self.store.version(Topic::Zone);
            self.calendar.refresh(&self.store);
            let rotated = self.rotate_keys();
            let deleted = self.delete_expired();
            refused = if matches!(deleted, Ok(false)) { refused + 1 } else { 0 };
            for failed in [rotated.err(), deleted.err()].into_iter().flatten() {
                log_failure(&failed, "expired data could not be deleted");
            }
            // The keys change at midnight.
            let now = self.clock.now();
            let midnight = self.calendar.local_time().day_start(self.calendar.local_hour(now).day + 1);
            let until = Duration::from_millis(u64::try_from(midnight - now).unwrap_or_default() + 1);
            let again = if self.key_in_file.load(Ordering::Acquire) { RETRY_INTERVAL } else { INTERVAL };
            let again = if (1..=LEASE_ATTEMPTS).contains(&refused) { LEASE_INTERVAL } else { again };
            if refused > LEASE_ATTEMPTS {
                refused = 0;
            }
            // A change of the time zone also ends the wait.
            let has_changed = || self.store.version(Topic::Zone) > zone;
            let rested = self.store.versions().sleep(until.min(again), || self.is_stopped() || has_changed());
            if !rested && (self.is_stopped() || !has_changed()) {
                break;
            }
        }
        if let Err(error) = self.lease.release() {
            tracing::debug!(%error, "the lease of deleting expired data ends later");
        }
    }

    /// Returns false when the thread must stop.
    fn rest(&self, duration: Duration) -> bool {
        self.store.versions().sleep(duration, || self.is_stopped())
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    fn rotate_keys(&self) -> Result<()> {
        let today = self.calendar.today();
        let is_loaded = self.keys.has_keys(today);
        // The table of a database server is empty after a crash, and then gets the keys that this process still has.
        if !is_loaded || self.store.is_on_server() {
            self.keys.rotate(&self.store, today)?;
        }
        if !is_loaded {
            self.key_in_file.store(true, Ordering::Release);
        }
        // A reader can prevent it; the next run tries again.
        if self.key_in_file.load(Ordering::Acquire) && day_keys::erase_replaced(&self.store)? {
            self.key_in_file.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Returns false if another server has the lease. If deleting one kind of data fails, the other kinds are still deleted.
    fn delete_expired(&self) -> Result<bool> {
        if !self.lease.hold()? {
            return Ok(false);
        }
        let now = self.clock.now();
        let log_from = now - i64::from(self.log_days) * DAY_MS;
        let audit_from = now - i64::from(self.audit_days) * DAY_MS;
        let feedback_from = now - i64::from(self.feedback_days) * DAY_MS;
        let first_day = self.calendar.local_hour(log_from).day;
        let past = self.calendar.local_hour(now - LATE_MS).day;
        [
            self.in_batches(u64::MAX, removal::delete_leftovers),
            self.delete_guests(past),
            self.in_batches(u64::MAX, move |tx, limit| trends::prune(tx, now, limit)),
            self.in_batches(u64::MAX, move |tx, limit| sessions::prune(tx, now, limit)),
            self.in_batches(u64::MAX, move |tx, limit| places::prune(tx, now, limit)),
            self.in_batches(u64::MAX, move |tx, limit| code::prune(tx, now, limit)),
            self.in_batches(u64::MAX, move |tx, limit| throttle::prune(tx, now, limit)),
            self.delete_lines(log_from),
            self.in_batches(u64::MAX, move |tx, limit| audit::prune(tx, now, audit_from, limit)),
            self.in_batches(u64::MAX, move |tx, limit| feedback::prune(tx, now, feedback_from, limit)),
            self.in_batches(u64::MAX, move |tx, limit| log::prune_requests(tx, first_day, limit)),
            self.in_batches(u64::MAX, move |tx, limit| DELIVERIES.prune(tx, now, limit)),
            self.in_batches(u64::MAX, move |tx, limit| MAILS.prune(tx, now, limit)),
            self.in_batches(u64::MAX, move |tx, _| invitation::forget_mail(tx, now).map(|()| false)),
            self.in_batches(u64::MAX, move |tx, limit| mail_limit::prune(tx, now, limit)),
        ]
        .into_iter()
        .collect::<Result<()>>()?;
        Ok(true)
    }

    fn delete_guests(&self, before: i64) -> Result<()> {
        let days = self.store.read(|tx| visitor::days_with_guests(tx, before))?;
        days.into_iter().try_for_each(|day| {
            self.in_batches(u64::MAX, move |tx, limit| visitor::delete_guests(tx, day, limit))
        })
    }

    fn delete_lines(&self, before: Timestamp) -> Result<()> {
        let arranged = self.arrange_log();
        let most = if matches!(arranged, Ok(Leftover::Delete)) { u64::MAX } else { LINES_MAX };
        let deleted = self.in_batches(most, move |tx, limit| log::prune(tx, before, limit));
        arranged.map(drop).and(deleted)
    }

    /// Several attempts, because others may use the log.
    fn arrange_log(&self) -> Result<Leftover> {
        let now = self.clock.now();
        let expiry = log::expiry(now, now - i64::from(self.log_days) * DAY_MS, self.log_days);
        for _ in 1..ATTEMPTS {
            match self.store.arrange_partitions(&expiry) {
                Err(StoreError::Conflict(_)) if self.rest(ATTEMPT_PAUSE) => {}
                arranged => return Ok(arranged?),
            }
        }
        Ok(self.store.arrange_partitions(&expiry)?)
    }

    /// `work` gets the number of rows to process, and returns whether rows may be left.
    fn in_batches(
        &self,
        most: u64,
        work: impl Fn(&mut dyn Tx, u64) -> Result<bool, StoreError> + Copy + Send + 'static,
    ) -> Result<()> {
        let (mut batch, mut done) = (FIRST_BATCH, 0);
        while !self.is_stopped() && done < most && self.lease.hold()? {
            let began = Instant::now();
            if !self.store.write_long(Isolation::Alone, move |tx| work(tx, batch))? {
                break;
            }
            done += batch;
            let fits = if began.elapsed() > BATCH_TIME { batch / 2 } else { batch * 2 };
            batch = fits.clamp(*BATCH.start(), *BATCH.end());
            self.store.copy_wal()?;
            self.rest(PAUSE);
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) fn delete_expired(tidings: &Tidings) {
    let janitor = Janitor::new(tidings, Stop::default());
    // Of two services of a test, one has the lease.
    let _has_lease = janitor.rotate_keys().and_then(|()| janitor.delete_expired()).unwrap();
}
