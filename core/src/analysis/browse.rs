//! Reads the access log page by page, filtered by member, path, result, status and time.
//!
//! A page reads a bounded range of the log, whatever the filter and the length of the log. If few lines match, a page
//! may contain few lines or none; its `next` is the position of the next page.

use std::fmt;
use std::str::FromStr;

use super::LogEntry;
use super::log::{self, LogAccess, first_key};
use crate::Tidings;
use crate::account::{Caller, fold};
use crate::base::clock::Timestamp;
use crate::record::error::Result;

/// The maximum number of lines that a page with a filter by path, result or status reads.
const SEARCH_MAX: i64 = 20_000;
/// The maximum number of lines of a page.
const PAGE_MAX: i64 = 1_000;

/// The rule of the text of a [`StatusFilter`].
pub(super) const STATUS_TEXT: &str = "status is 100 to 599, or a class such as 4xx";

/// A filter of the access log; by default it matches all lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Lines of this member, of `guest` or of `removed`.
    pub member: Option<String>,
    /// Lines whose path contains this text.
    pub path: Option<String>,
    /// Lines whose `result` is this text, without regard to case; an underscore stands for a blank.
    pub result: Option<String>,
    /// Lines whose status this matches.
    pub status: Option<StatusFilter>,
    /// Lines at this time or later …
    pub since: Option<Timestamp>,
    /// … and before this time.
    pub until: Option<Timestamp>,
}

/// A filter of statuses: one status such as `404`, or all of a class such as `4xx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusFilter {
    /// This status.
    One(u16),
    /// The statuses with this first digit.
    Class(u16),
}

/// The error for a text that is neither a status nor a class of statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{STATUS_TEXT}")]
pub struct InvalidStatus;

impl StatusFilter {
    /// Returns the lowest and the highest status that match.
    pub(super) const fn range(self) -> (u16, u16) {
        match self {
            Self::One(status) => (status, status),
            Self::Class(digit) => (digit * 100, digit * 100 + 99),
        }
    }
}

impl FromStr for StatusFilter {
    type Err = InvalidStatus;

    fn from_str(text: &str) -> Result<Self, InvalidStatus> {
        let number = |text: &str| text.parse::<u16>().ok().filter(|_| !text.starts_with('+'));
        let class = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX"));
        let filter = match class {
            Some(digit) => number(digit).filter(|digit| (1..=5).contains(digit)).map(Self::Class),
            None => number(text).filter(|status| (100..=599).contains(status)).map(Self::One),
        };
        filter.ok_or(InvalidStatus)
    }
}

impl fmt::Display for StatusFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(status) => write!(f, "{status}"),
            Self::Class(digit) => write!(f, "{digit}xx"),
        }
    }
}

/// A position in the log, directly before a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPlace(pub(super) i64);

impl LogPlace {
    /// Returns the position before the lines of this time.
    pub const fn at(time: Timestamp) -> Self {
        Self(first_key(time))
    }
}

impl LogEntry {
    /// Returns the position of the line, which is unique.
    pub const fn place(&self) -> LogPlace {
        LogPlace(self.key)
    }
}

/// A page of the log.
#[derive(Debug, PartialEq, Eq)]
pub struct LogPage {
    /// The lines, newest first.
    pub lines: Vec<LogEntry>,
    /// The position of the next page, if there is one.
    pub next: Option<LogPlace>,
    /// The time to which the log was read, if there is a next page.
    pub looked_to: Option<Timestamp>,
}

/// Returns the newest matching lines, or those after `place`: at most `limit` and never more than 1,000. When an administrator
/// reads more than the first page, of up to 200 lines, the audit trail tells.
///
/// # Errors
/// `bad token`; `Not admin` unless the lines are the member's own; `Not found` if the member does not exist.
pub fn browse(
    tidings: &Tidings,
    caller: &Caller,
    filter: &LogFilter,
    place: Option<LogPlace>,
    limit: i64,
) -> Result<LogPage> {
    let (identity, analysis) = (caller.identify(tidings), tidings.analysis());
    let limit = limit.clamp(1, PAGE_MAX);
    if place.is_some() || limit > log::READING {
        log::record_reading(tidings, &identity)?;
    }
    analysis.settle();
    tidings.store().read(|tx| {
        let member = filter.member.as_deref().map(fold);
        let scope = LogAccess::check(tx, tidings, &identity, member.as_deref())?.scope(tx)?;
        let before = place.map_or(i64::MAX, |place| place.0).min(filter.until.map_or(i64::MAX, first_key));
        // If every line matches, no more lines are read than are shown.
        let (path, result) = (filter.path.as_deref(), filter.result.as_deref());
        let requests = log::RequestFilter { path, result, status: filter.status.map(StatusFilter::range) };
        let lines = if requests.matches_all() { limit + 1 } else { SEARCH_MAX };
        let range = log::LogRange { since: filter.since.map_or(i64::MIN, first_key), before, lines };
        let (mut lines, looked_to) = log::search(tx, scope, range, requests, limit + 1)?;
        let full = lines.len() > usize::try_from(limit).unwrap_or_default();
        lines.truncate(usize::try_from(limit).unwrap_or_default());
        let next = if full { lines.last().map(|line| line.key) } else { looked_to };
        Ok(LogPage { lines, next: next.map(LogPlace), looked_to: next.map(log::line_time) })
    })
}
