//! A cache of the reports of periods.
//!
//! The report of a period whose days are final is valid until a past day, a post or the views of a post change; another one
//! also until anything is counted. Of several callers, one computes a report and the others wait for it.
//!
//! On a busy server something changes all the time, and a report of many posts takes milliseconds. So reports are exact only
//! while changed ones are not requested too often; otherwise they are at most [`AGE_MS`] old.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use lru::LruCache;

use crate::analysis::State;
use crate::analysis::exact_limit::ExactLimit;
use crate::base::clock::{Monotonic, SECOND_MS, Timestamp};
use crate::record::answer::Encoded;
use crate::record::error::{Error, Result};
use crate::store::{StoreError, Topic, Tx, version_in};

/// The maximum number of cached reports, with less than 1 MB each.
const REPORTS: NonZeroUsize = NonZeroUsize::new(32).expect("not zero");
/// The maximum age of a report that has changed.
const AGE_MS: i64 = 5 * SECOND_MS;
/// The time after which one more changed report is computed again before that age.
const EXACT_INTERVAL_MS: i64 = SECOND_MS;

/// The topics that reports are made from.
const TOPICS: [Topic; 5] = [Topic::Zone, Topic::Posts, Topic::History, Topic::Counts, Topic::Terms];

/// The versions of [`TOPICS`].
pub(super) type Sources = [i64; TOPICS.len()];

/// The numbers of the first and the last day of a report.
type Days = (i64, i64);

/// A report and its validity.
pub(in crate::analysis) struct Cached {
    pub(super) answer: Arc<Encoded>,
    pub(super) made_of: Sources,
    /// The times at which it is valid.
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    /// Whether no communication changes it.
    pub(super) is_final: bool,
}

/// A cached report, and when computing it began.
struct Entry {
    cached: Cached,
    began: Instant,
    age_from: Monotonic,
}

/// What was computed last for a period.
#[derive(Default)]
struct Computed {
    entry: Option<Entry>,
    /// When computing it began last that failed.
    failed: Option<Instant>,
}

/// The latest reports.
pub(in crate::analysis) struct PeriodCache {
    /// A caller locks the report of a period while computing it.
    reports: Mutex<LruCache<Days, Arc<Mutex<Computed>>>>,
    exact: ExactLimit,
}

impl Default for PeriodCache {
    fn default() -> Self {
        Self { reports: Mutex::new(LruCache::new(REPORTS)), exact: ExactLimit::new(EXACT_INTERVAL_MS) }
    }
}

/// Returns the versions of [`TOPICS`] that the transaction sees, or the greatest number for a topic that the report does not
/// depend on. `zone` is the version from before its time zone was read, and `terms` that of its search terms.
pub(super) fn sources_in(
    tx: &mut dyn Tx,
    zone: i64,
    is_final: bool,
    terms: Option<i64>,
) -> Result<Sources, StoreError> {
    let counts = if is_final { i64::MAX } else { version_in(tx, Topic::Counts)? };
    let (posts, history) = (version_in(tx, Topic::Posts)?, version_in(tx, Topic::History)?);
    Ok([zone, posts, history, counts, terms.unwrap_or(i64::MAX)])
}

/// The state of the service at the beginning of a request.
pub(in crate::analysis) struct Asked {
    at: Instant,
    now: Timestamp,
    monotonic: Monotonic,
    sources: Sources,
    /// Whether communications are not counted yet.
    must_settle: bool,
}

impl Asked {
    /// Returns the version of the time zone.
    pub(super) fn zone(&self) -> i64 {
        self.sources[0]
    }

    /// Returns whether a report includes everything that was done before the request.
    fn is_current(&self, Entry { cached, began, .. }: &Entry) -> bool {
        let is_unchanged = || self.sources.iter().zip(cached.made_of).all(|(seen, made_of)| *seen <= made_of);
        let is_settled = || cached.is_final || !self.must_settle;
        self.is_within(cached) && (*began >= self.at || (is_unchanged() && is_settled()))
    }

    /// Returns whether a report is young enough for a caller who does not get an exact one.
    fn is_recent(&self, Entry { cached, age_from, .. }: &Entry) -> bool {
        self.is_within(cached) && (0..AGE_MS).contains(&(self.monotonic - *age_from))
    }

    fn is_within(&self, cached: &Cached) -> bool {
        (cached.from..cached.until).contains(&self.now)
    }
}

impl State {
    /// Begins a request for a report.
    pub(in crate::analysis) fn asks_for_period(&self, now: Timestamp) -> Asked {
        let sources = TOPICS.map(|topic| self.store.version(topic));
        let (at, monotonic) = (Instant::now(), self.calendar.monotonic());
        Asked { at, now, monotonic, sources, must_settle: self.journal.must_settle() }
    }

    /// Returns the cached report of a period if it is exact or, when exact ones are requested too often, recent. Never blocks.
    pub(super) fn cached_period(&self, days: Days, asked: &Asked) -> Option<Arc<Encoded>> {
        let entry = Arc::clone(self.periods.reports.try_lock().ok()?.get(&days)?);
        let computed = entry.try_lock().ok()?;
        let entry = computed.entry.as_ref()?;
        let is_valid = asked.is_current(entry)
            || (asked.is_recent(entry) && !self.periods.exact.allows(asked.monotonic));
        is_valid.then(|| Arc::clone(&entry.cached.answer))
    }

    /// Returns the report of a period. Calls `compute` if the cached one is not valid.
    pub(in crate::analysis) fn period(
        &self,
        days: Days,
        asked: &Asked,
        compute: impl FnOnce() -> Result<Cached>,
    ) -> Result<Arc<Encoded>> {
        let periods = &self.periods;
        let entry = {
            let mut reports = periods.reports.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(reports.get_or_insert(days, Arc::default))
        };
        let mut computed = entry.lock().unwrap_or_else(PoisonError::into_inner);
        // Those who waited for a computation that failed would otherwise wait for one another.
        if computed.failed.is_some_and(|began| asked.at <= began) {
            return Err(Error::Overloaded);
        }
        if let Some(entry) = &computed.entry {
            let is_recent = asked.is_recent(entry);
            if asked.is_current(entry) || (is_recent && !periods.exact.allows(asked.monotonic)) {
                return Ok(Arc::clone(&entry.cached.answer));
            }
            if is_recent {
                periods.exact.count(asked.monotonic);
            }
        }
        let began = Instant::now();
        let cached = compute().inspect_err(|_| computed.failed = Some(began))?;
        let answer = Arc::clone(&cached.answer);
        computed.entry = Some(Entry { cached, began, age_from: asked.monotonic });
        Ok(answer)
    }
}
