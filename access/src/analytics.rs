//! The figures of the traffic, the access log and the state of the service.

use serde::de::IgnoredAny;
use tidings_core::analysis::{
    self, Days, Devices, LogEntry, LogFilter, LogLines, LogPage, LogPlace, OneDay, Period, PeriodReport,
    Summary, Window,
};
use tidings_core::clock::Timestamp;
use tidings_core::status::{self, Status};

use crate::Service;
use crate::error::Result;
use crate::http::Server;

impl Service {
    /// Returns the state of the service.
    ///
    /// # Errors
    /// Those of [`status::status`].
    pub fn status(&self) -> Result<Status> {
        self.run(status::status, Server::status)
    }

    /// Returns the figures over all days.
    ///
    /// # Errors
    /// Those of [`analysis::summary`].
    pub fn summary(&self) -> Result<Summary> {
        self.run(
            |tidings, _| analysis::summary(tidings),
            |server| server.as_reader().get(&["get_analysis"], &[]),
        )
    }

    /// Returns the number of communications of crawlers; `None` if the caller of a server may not see it.
    ///
    /// # Errors
    /// Those of [`analysis::crawled`].
    pub fn crawled(&self) -> Result<Option<i64>> {
        self.run(
            |tidings, _| analysis::crawled(tidings).map(Some),
            |server| Ok(server.status().ok().map(|status| status.crawled)),
        )
    }

    /// Returns the name of the time zone in which days are counted; `None` if the caller of a server may not see it.
    pub fn zone(&self) -> Option<String> {
        let zone = self.run(|tidings, _| Ok(analysis::zone(tidings)), |server| Ok(server.status()?.zone));
        zone.ok()
    }

    /// Returns the report of one day.
    ///
    /// # Errors
    /// Those of [`analysis::day`].
    pub fn day(&self, year: i64, month: i64, day: i64) -> Result<OneDay> {
        let path = [year, month, day].map(|number| number.to_string());
        self.run(
            |tidings, caller| analysis::day(tidings, caller, year, month, day),
            |server| {
                let [year, month, day] = &path;
                server.get(&["get_everyday_analysis_specific_days", year, month, day], &[])
            },
        )
    }

    /// Returns the reports of the days from a number of days ago until today.
    ///
    /// # Errors
    /// Those of [`analysis::days_ago`].
    pub fn days_ago(&self, days: i64) -> Result<Days> {
        self.run(
            |tidings, caller| analysis::days_ago(tidings, caller, days),
            |server| server.get(&["get_everyday_analysis_days_ago", &days.to_string()], &[]),
        )
    }

    /// Returns the figures of the days from `first` to `last`.
    ///
    /// # Errors
    /// Those of [`analysis::period`].
    pub fn period(&self, first: &str, last: &str) -> Result<Period> {
        self.run(
            |tidings, caller| analysis::period(tidings, caller, first, last),
            |server| server.get(&["get_analysis_of_days", first, last], &[]),
        )
    }

    /// Returns the report of the days from `from` to `to`.
    ///
    /// # Errors
    /// Those of [`analysis::period_report`].
    pub fn period_report(&self, from: Option<&str>, to: Option<&str>) -> Result<PeriodReport> {
        self.run(
            |tidings, _| analysis::period_report(tidings, from, to),
            |server| {
                let query = [("from", from), ("to", to)].map(|(name, day)| (name, day.map(str::to_owned)));
                server.as_reader().get(&["get_report"], &query)
            },
        )
    }

    /// Returns how often each device was reported.
    ///
    /// # Errors
    /// Those of [`analysis::devices`].
    pub fn devices(&self) -> Result<Devices> {
        self.run(
            |tidings, _| analysis::devices(tidings),
            |server| server.as_reader().get(&["get_device"], &[]),
        )
    }

    /// Reports a device.
    ///
    /// # Errors
    /// Those of [`analysis::insert_device`].
    pub fn insert_device(&self, device: &str) -> Result<()> {
        self.run(
            |tidings, _| analysis::insert_device(tidings, device).wait(),
            |server| server.as_reader().act::<IgnoredAny>(&["insert_device", device]).map(|_| ()),
        )
    }

    /// Returns the start of a period that ends now.
    ///
    /// # Errors
    /// Those of [`analysis::since`].
    pub fn since(&self, window: Window) -> Result<Timestamp> {
        self.run(
            |tidings, _| analysis::since(tidings, window),
            |server| {
                let status = server.status()?;
                let zone = status.zone.parse().map_err(|_| server.unexpected("an unknown time zone"))?;
                Ok(window.since(&zone, status.now)?)
            },
        )
    }

    /// Returns a page of the access log, newest first.
    ///
    /// # Errors
    /// Those of [`analysis::browse`].
    pub fn log(&self, filter: &LogFilter, place: Option<LogPlace>, limit: i64) -> Result<LogPage> {
        self.run(
            |tidings, caller| analysis::browse(tidings, caller, filter, place, limit),
            |server| {
                let LogFilter { member, path, result, status, since, until } = filter.clone();
                let [since, until] = [since, until].map(|time| time.map(|time| time.to_string()));
                let query = [
                    ("member", member),
                    ("path", path),
                    ("result", result),
                    ("status", status.map(|status| status.to_string())),
                    ("since", since),
                    ("until", until),
                    ("before", place.map(|place| place.to_string())),
                    // As many as a page has at most, which a database returns without being told.
                    ("limit", Some(limit.clamp(1, analysis::LOG_MAX).to_string())),
                ];
                let LogLines { log, next, looked_to } = server.get(&["get_log"], &query)?;
                Ok(LogPage { lines: log.into_iter().map(LogEntry::from).collect(), next, looked_to })
            },
        )
    }

    /// Returns the newest lines of the access log of a member.
    ///
    /// # Errors
    /// Those of [`analysis::log_user`].
    pub fn log_of(&self, member: &str, limit: i64) -> Result<Vec<LogEntry>> {
        let filter = LogFilter { member: Some(member.to_owned()), ..LogFilter::default() };
        Ok(self.log(&filter, None, limit)?.lines)
    }
}

impl Server {
    pub(crate) fn status(&self) -> Result<Status> {
        self.get(&["get_status"], &[])
    }
}
