//! Analytics: visitors, their requests and their acts, counted as they happen. The server calls [`record`] for each answered
//! request; acts are counted in their own transaction. Reports read a few counters, however long the history is, by the days and
//! hours of the zone of the database ([`crate::base::config::Analysis::timezone`]).

use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::{Caller, Client, ResolvedCaller, fold};
use crate::base::clock::{Clock, DAY_MS, SECOND_MS, Timestamp};
use crate::base::config;
use crate::base::keyed;
use crate::base::zone::Zone;
use crate::record::error::{Code, Error, Pending, Problem, Result};
use crate::record::schema::RequestMethod;
use crate::store::{Isolation, QUERY_TIMEOUT, Store, StoreError};

#[cfg(feature = "demo")]
pub(crate) mod backfill;
pub(crate) mod calendar;
pub(crate) mod counters;
mod crawler;
mod journal;
mod live;
pub(crate) mod local_time;
pub(crate) mod log;
mod log_page;
mod operations;
mod period;
mod period_report;
pub(crate) mod recount;
mod report;
#[cfg(test)]
mod tests;
pub(crate) mod trends;
pub(crate) mod visitor;

pub use calendar::{NextTimezone, Timezone, set_timezone, timezone};
pub use live::{DayVisitors, Live, MONTH_DAYS, Sums, TodayCounts, live};
pub(crate) use live::{today, today_counts};
pub use log::Operation;
pub use log_page::{GetLog, InvalidLogPlace, InvalidStatus, LogLine, LogLines, LogPlace, StatusFilter};
pub use operations::{GetLogDate, GetLogUser, GetLogUserDate, InsertDevice};
pub use period::{DayFigures, GetPeriod, PERIOD_MAX, Period};
pub use period_report::{
    GetReport, POSTS_READ, PeriodReport, PostFigures, RANKED_MAX, REPORT_DAYS, TermCount, TopicFigures,
    WeekdayHours,
};
pub use report::{
    Analysis, Bursts, DAYS_MAX, Day, Days, Devices, GetBursts, GetDay, GetDaysAgo, GetDevices, GetRealtime,
    GetSummary, HourVisitors, OneDay, Realtime, StudentVisits, Summary, crawled,
};
pub use trends::{BURST_HOURS, SearchBurst};
pub use visitor::Guest;

use calendar::Calendar;
use counters::Counter;
use journal::{Journal, Record, UnloggedCounts};
use local_time::LocalTime;
use log::{LogAccess, LogRange, LoggedAnswer, RequestFilter, first_key};
use report::ReportCache;
use trends::Trends;
use visitor::DayKeys;

/// The maximum number of lines that a query of the log returns.
pub const LOG_MAX: i64 = 1_000;

/// The time after midnight for which the previous day stays open for guests and reports, because communications from
/// its last seconds are still being written.
pub(crate) const LATE_MS: i64 = 60 * 60 * SECOND_MS;

const WINDOW_RULE: Problem =
    Problem::new(Code::InvalidValue, "exactly one of months, days and hours is above 0, the others are 0");
const LIMIT_RULE: Problem = Problem::invalid("limit", "limit is 0 or more");
const DEVICE_RULE: Problem = Problem::invalid("device", "a device is pc, tablet or mobile");

pub(crate) struct State {
    pub(crate) calendar: Arc<Calendar>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) keys: Arc<DayKeys>,
    reports: ReportCache,
    trends: Trends,
    store: Arc<Store>,
}

impl State {
    /// Fails if the database counts days in a time zone other than that of the settings.
    pub(crate) fn open(store: &Arc<Store>, config: &config::Analysis, clock: &Clock) -> Result<Self> {
        let calendar = Arc::new(Calendar::open(store, config.timezone.as_ref(), clock.clone())?);
        Ok(Self {
            journal: Arc::new(Journal::new(Arc::clone(&calendar), config.log_lines_per_client, clock)),
            calendar,
            keys: Arc::default(),
            reports: ReportCache::default(),
            trends: Trends::new(config),
            store: Arc::clone(store),
        })
    }

    /// Waits for a commit of the queued records, unless reports are made too often. If that fails, the report is made without
    /// these records.
    pub(crate) fn settle(&self) {
        self.calendar.refresh(&self.store);
        if let Err(error) = self.journal.settle(&self.store) {
            tracing::debug!(cause = error.to_string(), "a report is made without the latest communications");
        }
    }

    /// Waits until all records that are queued now are committed, for work that needs the complete log.
    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        self.journal.settle_all(&self.store)
    }
}

impl Drop for State {
    /// Hands queued records to the store, which writes them before it closes.
    fn drop(&mut self) {
        self.journal.flush(&self.store);
    }
}

pub(crate) fn start(tidings: &Tidings) -> Result<()> {
    tidings.call(&Caller::Guest, GetRealtime {}).map(drop)
}

/// An answered request.
#[derive(Clone, Copy, Debug)]
pub struct Communication<'a> {
    /// The caller.
    pub caller: &'a Caller,
    /// The operation.
    pub operation: Operation,
    /// The path, percent-encoded.
    pub path: &'a str,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The `result` text of the answer.
    pub result: &'static str,
    /// The address of the client. It is only hashed, never stored.
    pub address: IpAddr,
    /// The user agent as the client sent it.
    pub user_agent: &'a [u8],
}

/// Records an answered request: a line of the access log, and its visitor. A request to an unknown path
/// ([`Operation::unknown`]) only gets a line.
///
/// The record is written with other commits, within 200 ms while the writer keeps up; the caller does not wait for it.
/// A client that sends very many requests does not get a line for each ([`config::Analysis::log_lines_per_client`]).
/// Guests keep their identity across restarts once [`Tidings::start_background`] has loaded the keys.
pub fn record(tidings: &Tidings, communication: &Communication<'_>) {
    let Communication { caller, operation, path, status, result, address, user_agent } = *communication;
    let analysis = tidings.analysis();
    let at = tidings.now();
    let seen = caller.resolved(tidings);
    let is_no_member = matches!(seen, ResolvedCaller::Guest | ResolvedCaller::Key(_));
    let is_of_crawler = is_no_member && crawler::is_declared(user_agent);
    let unlogged = UnloggedCounts::of_one(at, operation, is_of_crawler);
    let record = || {
        let guest = match seen {
            // A member is never counted as a guest, whatever the address.
            ResolvedCaller::Member(_) => Guest::CRAWLER,
            _ if !operation.is_counted() => Guest::CRAWLER,
            _ => Guest::at(analysis, at, address, user_agent),
        };
        let (path, answer) = (operation.varying(path), LoggedAnswer { status, result });
        Record { at, operation, path, answer, seen, guest }
    };
    analysis.journal.push(&analysis.store, keyed::hash(Client::from(address)), record, &unlogged);
}

/// Writes the recorded requests now instead of after about 100 ms, for a program that records requests and reads the
/// figures immediately; of a very long queue, only the first few thousand.
///
/// # Errors
/// When the store fails.
pub fn flush(tidings: &Tidings) -> Result<()> {
    let analysis = tidings.analysis();
    analysis.journal.flush(&analysis.store);
    Ok(analysis.store.flush().wait()?)
}

/// Counts a device that an app reports: `pc`, `tablet` or `mobile`, optionally prefixed with `device_`.
///
/// # Errors
/// `bad request` for any other text; `overloaded`.
pub fn insert_device(tidings: &Tidings, device: &str) -> Pending<()> {
    insert_device_from(tidings, &Caller::Guest, device)
}

/// Counts a device like [`insert_device`], and looks the caller up: [`Caller::is_signed`] then knows whether a token was revoked.
///
/// # Errors
/// Those of [`insert_device`].
pub fn insert_device_from(tidings: &Tidings, caller: &Caller, device: &str) -> Pending<()> {
    let counter = match device.strip_prefix("device_").unwrap_or(device) {
        "pc" => Counter::Pc,
        "tablet" => Counter::Tablet,
        "mobile" => Counter::Mobile,
        _ => return Pending::given(Err(Error::BadRequest(DEVICE_RULE))),
    };
    let (calendar, now) = (Arc::clone(&tidings.analysis().calendar), tidings.now());
    let identity = caller.identify(tidings);
    // Concurrent, because it only counts.
    tidings.store().submit(Isolation::Concurrent, move |tx| {
        if identity.is_named() {
            let _ = identity.visitor(tx)?;
        }
        Ok(calendar.count(tx, counter, now)?)
    })
}

/// Returns the name of the time zone in which days and hours are counted, for example `Asia/Seoul`.
pub fn zone(tidings: &Tidings) -> String {
    tidings.analysis().calendar.zone().name().to_owned()
}

/// A line of the access log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogEntry {
    /// The member's id, `key:` and the name of an API key, `guest` if the caller was not signed in, or `removed` if the member
    /// has been removed.
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub user_id: String,
    /// The time of the answer.
    pub date: Timestamp,
    /// The path.
    #[schema(max_length = 1_000, examples("/get_popularity_newsfeed"))]
    pub path: String,
    /// The method.
    #[schema(value_type = RequestMethod)]
    pub method: String,
    /// The HTTP status of the answer.
    #[schema(minimum = 100, maximum = 599, examples(200))]
    pub status: i64,
}

/// The result of a query of the log.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Log {
    /// The lines, newest first.
    pub log: Vec<LogEntry>,
}

/// A period that ends now: exactly one field is above 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// A number of calendar months.
    pub months: i64,
    /// A number of periods of 24 hours.
    pub days: i64,
    /// A number of hours.
    pub hours: i64,
}

impl Window {
    /// Returns the start of the period that ends `now` in a time zone, such as `Asia/Seoul`.
    ///
    /// # Errors
    /// `bad request` when the window breaks its rule.
    pub fn since(self, zone: &Zone, now: Timestamp) -> Result<Timestamp> {
        match (self.months, self.days, self.hours) {
            (months @ 1.., 0, 0) => Ok(LocalTime::new(zone.clone()).months_before(now, months)),
            (0, days @ 1.., 0) => Ok(now - days.saturating_mul(DAY_MS)),
            (0, 0, hours @ 1..) => Ok(now - hours.saturating_mul(DAY_MS / 24)),
            _ => Err(Error::BadRequest(WINDOW_RULE)),
        }
    }
}

/// Returns the start of a period that ends now.
///
/// # Errors
/// `bad request` when the window breaks its rule.
pub fn since(tidings: &Tidings, window: Window) -> Result<Timestamp> {
    window.since(&tidings.analysis().calendar.zone(), tidings.now())
}

fn read_log(
    tidings: &Tidings,
    caller: &Caller,
    user_id: Option<&str>,
    window: Option<Window>,
    limit: i64,
) -> Result<Log> {
    let (identity, user_id) = (caller.identify(tidings), user_id.map(fold));
    let analysis = tidings.analysis();
    if limit > log::READING {
        log::record_reading(tidings, &identity)?;
    }
    analysis.settle();
    tidings.store().read_within(QUERY_TIMEOUT, |tx| {
        let access = LogAccess::check(tx, tidings, &identity, user_id.as_deref())?;
        let since =
            window.map_or(Ok(Timestamp::MIN), |w| w.since(&analysis.calendar.zone(), tidings.now()))?;
        if limit < 0 {
            return Err(Error::BadRequest(LIMIT_RULE));
        }
        let (scope, limit) = (access.scope(tx)?, limit.min(LOG_MAX));
        let range = LogRange { since: first_key(since), before: i64::MAX, lines: limit.max(1) };
        let (lines, _) = log::search(tx, scope, range, RequestFilter::default(), limit)?;
        Ok(Log { log: lines.into_iter().map(|line| line.entry).collect() })
    })
}
