//! Analytics: who was there and what they did, counted as it happens.
//!
//! Whoever answers requests [`record`]s each of them: a line of the access log, and the visitor it came from. Views,
//! likes, searches and devices are counted with the acts themselves, in the same transaction. Reports read a few
//! counters, however long the history; what many ask for is kept encoded until something is counted.
//!
//! Days and hours are those of one time zone, which a database keeps ([`crate::config::Analysis::timezone`]).

use std::net::IpAddr;
use std::sync::Arc;

use serde::Serialize;

use crate::Tidings;
use crate::account::{self, Caller, Client, fold};
use crate::clock::{Clock, DAY_MS, Timestamp};
use crate::config;
use crate::error::{Error, Pending, Result};
use crate::keyed;
use crate::store::{Store, Tx};

#[cfg(feature = "demo")]
pub(crate) mod backfill;
mod browse;
pub(crate) mod calendar;
pub(crate) mod counters;
mod crawler;
mod gcra;
mod journal;
mod live;
pub(crate) mod local_time;
pub(crate) mod log;
mod period;
pub(crate) mod recount;
mod report;
mod retention;
#[cfg(test)]
mod tests;
pub(crate) mod trends;
pub(crate) mod visitor;

pub use browse::{LogFilter, LogPage, LogPlace, browse};
pub use live::{DayVisitors, Live, MONTH_DAYS, Sums, live};
pub use log::Operation;
pub use period::{DayFigures, PERIOD_MAX, Period, period};
pub use report::{
    Analysis, DAYS_MAX, Day, Days, Devices, HourVisitors, OneDay, Question, Realtime, StudentVisits, Summary,
    answer, crawled, day, days_ago, devices, realtime, summary, try_answer,
};
pub use visitor::Guest;

use calendar::Calendar;
use counters::Counter;
use journal::{Journal, Record};
use log::LogAccess;
use report::ReportCache;
use retention::Retention;
use trends::Trends;
use visitor::DayKeys;

/// The most lines that a look into the log answers.
pub const LOG_MAX: i64 = 1_000;

const WINDOW_RULE: &str = "exactly one of months, days and hours is above 0, the others are 0";
const LIMIT_RULE: &str = "limit is 0 or more";
const DEVICE_RULE: &str = "a device is pc, tablet or mobile";

/// All that analytics keep in memory.
pub(crate) struct State {
    // Declared first, so that the thread stops before the store closes.
    retention: Retention,
    pub(crate) calendar: Arc<Calendar>,
    journal: Arc<Journal>,
    keys: Arc<DayKeys>,
    reports: ReportCache,
    trends: Trends,
    store: Arc<Store>,
    log_days: u32,
    clock: Clock,
}

impl State {
    /// What is needed to count in a database.
    ///
    /// # Errors
    /// When days are counted in another time zone than the settings'.
    pub(crate) fn open(store: &Arc<Store>, config: &config::Analysis, clock: &Clock) -> Result<Self> {
        let calendar = Arc::new(Calendar::open(store, config.timezone.as_ref(), clock.clone())?);
        Ok(Self {
            retention: Retention::default(),
            journal: Arc::new(Journal::new(Arc::clone(&calendar), config.log_lines_per_client)),
            calendar,
            keys: Arc::default(),
            reports: ReportCache::default(),
            trends: Trends::new(config),
            store: Arc::clone(store),
            log_days: config.log_days,
            clock: clock.clone(),
        })
    }
}

impl Drop for State {
    /// Sends off what waits to be written, before the store closes.
    fn drop(&mut self) {
        self.journal.flush(&self.store);
    }
}

/// Loads the keys that tell guests apart and the recent searches, and starts the retention thread.
///
/// # Errors
/// When the store fails, or the system refuses a thread.
pub(crate) fn start(tidings: &Tidings) -> Result<()> {
    let analysis = tidings.analysis();
    analysis.retention.start(analysis)?;
    realtime(tidings)?;
    Ok(())
}

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Communication<'a> {
    /// Who asked.
    pub caller: &'a Caller,
    /// What was asked for …
    pub operation: Operation,
    /// … under this path, percent-encoded.
    pub path: &'a str,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The address that the client came from. It goes no further than here.
    pub address: IpAddr,
    /// The user agent that the client named, as it was sent.
    pub user_agent: &'a [u8],
}

/// Records an answered request: in the access log, and its visitor.
///
/// It is written along with other commits, within 200 ms while the writer keeps up; nobody waits for it. Of a client
/// that asks for very much not every request has a line ([`config::Analysis::log_lines_per_client`]), and beyond some
/// thousand paths that nobody has asked for before a line has the operation's template for its path. Guests are told
/// apart once [`Tidings::start_background`] has loaded their keys.
pub fn record(tidings: &Tidings, communication: &Communication<'_>) {
    let Communication { caller, operation, path, status, address, user_agent } = *communication;
    let analysis = tidings.analysis();
    let at = tidings.now();
    let seen = caller.found(tidings);
    let guest = match seen {
        // No guest, whatever the address.
        account::Seen::Member(_) => Guest::CRAWLER,
        _ => Guest::at(analysis, at, address, user_agent),
    };
    let (path, client) = (operation.varying(path), keyed::hash(Client::from(address)));
    analysis.journal.push(&analysis.store, Record { at, operation, path, status, seen, guest }, client);
}

/// Counts a device, as an app reports it: `pc`, `tablet` or `mobile`, also with `device_` before it.
///
/// # Errors
/// `bad request` for another one; `overloaded`.
pub fn insert_device(tidings: &Tidings, device: &str) -> Pending<()> {
    let counter = match device.strip_prefix("device_").unwrap_or(device) {
        "pc" => Counter::Pc,
        "tablet" => Counter::Tablet,
        "mobile" => Counter::Mobile,
        _ => return Pending::given(Err(Error::BadRequest(DEVICE_RULE))),
    };
    let (calendar, now) = (Arc::clone(&tidings.analysis().calendar), tidings.now());
    tidings.store().submit(move |tx| Ok(calendar.count(tx, counter, now)?))
}

/// The name of the time zone whose days and hours are counted, such as `Asia/Seoul`.
pub fn zone(tidings: &Tidings) -> &str {
    tidings.analysis().calendar.local_time().zone().name()
}

/// A line of the access log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogEntry {
    #[serde(skip)]
    pub(crate) key: i64,
    /// Who it was: `guest` who was not signed in, `removed` who is a member no longer.
    pub user_id: String,
    /// When it was answered.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub date: Timestamp,
    /// The path.
    pub path: String,
    /// The method.
    pub method: String,
    /// The HTTP status of the answer.
    pub status: i64,
}

/// What a look into the log answers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Log {
    /// The lines, newest first.
    pub log: Vec<LogEntry>,
}

/// How far back a look into the log reaches, from this moment: exactly one is above 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Calendar months.
    pub months: i64,
    /// Times 24 hours.
    pub days: i64,
    /// Hours.
    pub hours: i64,
}

impl Window {
    /// The moment that it begins.
    fn since(self, calendar: &Calendar, now: Timestamp) -> Result<Timestamp> {
        match (self.months, self.days, self.hours) {
            (months @ 1.., 0, 0) => Ok(calendar.local_time().months_before(now, months)),
            (0, days @ 1.., 0) => Ok(now - days.saturating_mul(DAY_MS)),
            (0, 0, hours @ 1..) => Ok(now - hours.saturating_mul(DAY_MS / 24)),
            _ => Err(Error::BadRequest(WINDOW_RULE)),
        }
    }
}

/// The moment at which a window that ends now begins.
///
/// # Errors
/// `bad request` when the window breaks its rule.
pub fn since(tidings: &Tidings, window: Window) -> Result<Timestamp> {
    window.since(&tidings.analysis().calendar, tidings.now())
}

/// The log of a time, at most `limit` lines and never more than [`LOG_MAX`].
///
/// # Errors
/// `bad token`; `Not admin`; `bad request` when the window or the limit breaks its rule.
pub fn log_date(tidings: &Tidings, caller: &Caller, window: Window, limit: i64) -> Result<Log> {
    look(tidings, caller, None, Some(window), limit)
}

/// The log of a member, of `guest` or of `removed`.
///
/// # Errors
/// `bad token`; `Not admin` for another member's; `bad request` when the limit breaks its rule; `Not found` when
/// there is no such member.
pub fn log_user(tidings: &Tidings, caller: &Caller, user_id: &str, limit: i64) -> Result<Log> {
    look(tidings, caller, Some(user_id), None, limit)
}

/// The log of a member, of `guest` or of `removed`, of a time.
///
/// # Errors
/// As [`log_user`] and [`log_date`].
pub fn log_user_date(
    tidings: &Tidings,
    caller: &Caller,
    user_id: &str,
    window: Window,
    limit: i64,
) -> Result<Log> {
    look(tidings, caller, Some(user_id), Some(window), limit)
}

fn look(
    tidings: &Tidings,
    caller: &Caller,
    user_id: Option<&str>,
    window: Option<Window>,
    limit: i64,
) -> Result<Log> {
    let (identity, user_id) = (caller.identify(tidings), user_id.map(fold));
    let analysis = tidings.analysis();
    let look = |tx: &mut dyn Tx| {
        let access = LogAccess::check(tx, tidings, &identity, user_id.as_deref())?;
        let since = window.map_or(Ok(Timestamp::MIN), |w| w.since(&analysis.calendar, tidings.now()))?;
        if limit < 0 {
            return Err(Error::BadRequest(LIMIT_RULE));
        }
        let scope = access.scope(tx)?;
        Ok(Log { log: log::lines(tx, scope, since, limit.min(LOG_MAX))? })
    };
    analysis.settle();
    tidings.store().read_within(tidings.config().query_timeout, look)
}

impl State {
    /// Has what was recorded written before a report is made, where that is worth it. A report that cannot have
    /// it shows what is there.
    pub(crate) fn settle(&self) {
        if self.journal.must_settle(&self.store)
            && let Err(error) = self.journal.settle(&self.store)
        {
            tracing::debug!(cause = error.to_string(), "a report goes without what was done just now");
        }
    }

    /// How many records wait to be written.
    pub(crate) fn records_waiting(&self) -> usize {
        self.journal.len()
    }

    /// How many records were lost since the process began.
    pub(crate) fn records_lost(&self) -> u64 {
        self.journal.lost()
    }

    /// How many communications were crawlers' since the process began.
    pub(crate) fn crawled(&self) -> u64 {
        self.journal.crawled()
    }
}
