//! The access log page by page, filtered by member, path, result, status and time. A page reads a bounded range of the log,
//! whatever the filter and the length of the log. If few lines match, a page may contain few lines or none; its `next` is the
//! position of the next page.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use super::log::{self, LogAccess, LogRange, NUMBER_BITS, RequestFilter, first_key};
use super::{LOG_MAX, LogEntry};

use crate::account::{Call, fold};
use crate::base::clock::Timestamp;
use crate::record::answer::{self, SUCCESS};
use crate::record::error::{Error, Problem, Result};
use crate::record::operation::{Access, Failure, Operation, Spec, Work};
use crate::record::scope::Scope;

const LINES: i64 = 100;
/// The maximum number of lines that a page with a filter by path, result or status reads.
const SEARCH_MAX: i64 = 20_000;

const STATUS_TEXT: &str = "status is 100 to 599, or a class such as 4xx";

const LIMIT_RULE: Problem = Problem::invalid("limit", "limit is 1 to 1,000");
const SINCE_RULE: Problem =
    Problem::invalid("since", "since is written like 2026-11-20T08:36:00Z, or 2026-11-20");
const UNTIL_RULE: Problem =
    Problem::invalid("until", "until is written like 2026-11-20T08:36:00Z, or 2026-11-20");
const STATUS_RULE: Problem = Problem::invalid("status", STATUS_TEXT);
const BEFORE_RULE: Problem = Problem::invalid("before", "before is what the page before answered as next");

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
    const fn range(self) -> (u16, u16) {
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
pub struct LogPlace(pub(crate) i64);

impl LogPlace {
    /// Returns the position before the lines of this time.
    pub const fn at(time: Timestamp) -> Self {
        Self(first_key(time))
    }
}

impl fmt::Display for LogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.0 >> NUMBER_BITS, self.0 & NUMBER_MAX)
    }
}

const NUMBER_MAX: i64 = (1 << NUMBER_BITS) - 1;

/// The error for a text that is not a position in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a position in the log")]
pub struct InvalidLogPlace;

impl FromStr for LogPlace {
    type Err = InvalidLogPlace;

    /// Reads the text of a position, such as `1795163760000-2`: the time in milliseconds, and the number within it.
    fn from_str(text: &str) -> Result<Self, InvalidLogPlace> {
        let number = |text: &str, max: i64| {
            let is_plain = text.bytes().all(|b| b.is_ascii_digit());
            text.parse::<i64>().ok().filter(|number| is_plain && *number <= max).ok_or(InvalidLogPlace)
        };
        let (time, line) = text.split_once('-').ok_or(InvalidLogPlace)?;
        let (time, line) = (number(time, i64::MAX >> NUMBER_BITS)?, number(line, NUMBER_MAX)?);
        Ok(Self((time << NUMBER_BITS) | line))
    }
}

impl Serialize for LogPlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LogPlace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A page of the access log.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLines {
    /// The lines, newest first. Few of the lines of a long log may match, so a page can be empty although others follow.
    pub log: Vec<LogLine>,
    /// The `before` of the next page; null on the last one.
    #[schema(value_type = Option<String>, required = true, pattern = "^[0-9]{1,15}-[0-9]{1,5}$", examples("1795163760000-2"))]
    pub next: Option<LogPlace>,
    /// The time to which the log was read for this page; null on the last one.
    pub looked_to: Option<Timestamp>,
}

/// A line of the access log with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    /// The line.
    #[serde(flatten)]
    pub entry: LogEntry,
    /// The `result` of the answer; null in lines of versions that did not store it.
    #[schema(max_length = 200, examples("success"))]
    pub result: Option<String>,
    /// Its position, which no other line has. As `before`, it begins a page after this line.
    #[schema(value_type = String, pattern = "^[0-9]{1,15}-[0-9]{1,5}$", examples("1795163760000-2"))]
    pub place: LogPlace,
}

impl LogLine {
    /// Returns whether the request failed, whatever its status: documented failures have status 200.
    pub fn is_failure(&self) -> bool {
        self.entry.status >= 400 || self.result.as_ref().is_some_and(|result| result != SUCCESS)
    }
}

/// Page through the access log
///
/// Newest first. A page reads a bounded part of the log, so it can be empty although `next` names another page. For
/// administrators and for the member whose lines it asks for, unless the settings make the log public.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GetLog {
    /// Lines of the member with this id, of `guest` or of `removed`.
    #[schema(max_length = 1_000, examples("ann"))]
    pub member: Option<String>,
    /// Lines whose `result` is this text, without regard to case; an underscore stands for a blank.
    #[schema(examples("incorrect_pw"))]
    pub result: Option<String>,
    /// Lines whose path contains this text.
    #[schema(examples("/sign_in"))]
    pub path: Option<String>,
    /// Lines with this status, such as `404`, or with one of a class, such as `4xx`.
    #[schema(pattern = "^([1-5][0-9]{2}|[1-5](xx|XX))$", examples("4xx"))]
    pub status: Option<String>,
    /// Lines at this time or later, RFC 3339.
    #[schema(max_length = 100, examples("2026-11-20T00:00:00Z"))]
    pub since: Option<String>,
    /// Lines before this time, RFC 3339.
    #[schema(max_length = 100, examples("2026-11-20T00:00:00Z"))]
    pub until: Option<String>,
    /// The `next` of the previous page, or the `place` of a line.
    #[schema(pattern = "^[0-9]{1,15}-[0-9]{1,5}$", examples("1795163760000-2"))]
    pub before: Option<String>,
    /// The maximum number of lines, 1 to 1,000; 100 by default.
    #[schema(minimum = 1, maximum = 1_000, examples(100))]
    pub limit: Option<i64>,
}

impl GetLog {
    /// Returns the query of the lines after `place`, of `limit` lines or of the next possible number.
    #[must_use]
    pub fn page(&self, place: Option<LogPlace>, limit: i64) -> Self {
        Self {
            before: place.map(|place| place.to_string()),
            limit: Some(limit.clamp(1, LOG_MAX)),
            ..self.clone()
        }
    }
}

impl Operation for GetLog {
    type Answer = LogLines;
    const SPEC: Spec = Spec::get("analysis", "/get_log", Access::Admins(Scope::AnalyticsRead))
        .works(Work::Query)
        .or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<LogLines> {
        let GetLog { member, result, path, status, since, until, before, limit } = self;
        let limit = limit.unwrap_or(LINES);
        if !(1..=LOG_MAX).contains(&limit) {
            return Err(Error::BadRequest(LIMIT_RULE));
        }
        let time = |text: Option<String>, rule| {
            text.map(|text| Timestamp::parse(&text).ok_or(Error::BadRequest(rule))).transpose()
        };
        let (since, until) = (time(since, SINCE_RULE)?, time(until, UNTIL_RULE)?);
        let status: Option<StatusFilter> =
            status.map(|status| status.parse().map_err(|_| Error::BadRequest(STATUS_RULE))).transpose()?;
        let place: Option<LogPlace> =
            before.map(|before| before.parse().map_err(|_| Error::BadRequest(BEFORE_RULE))).transpose()?;
        let (identity, member) = (call.authority(), member.as_deref().map(fold));
        if place.is_some() || limit > log::READING {
            log::record_reading(call.tidings(), &identity)?;
        }
        call.tidings().analysis().settle();
        let filter = RequestFilter {
            path: path.as_deref(),
            result: result.as_deref(),
            status: status.map(StatusFilter::range),
        };
        let until = until.map_or(i64::MAX, first_key);
        let before = place.map_or(until, |LogPlace(key)| until.min(key));
        // If every line matches, no more lines are read than are shown.
        let lines = if filter.matches_all() { limit + 1 } else { SEARCH_MAX };
        let range = LogRange { since: since.map_or(i64::MIN, first_key), before, lines };
        call.store().read(|tx| {
            let scope = LogAccess::check(tx, call.tidings(), &identity, member.as_deref())?.scope(tx)?;
            let (mut log, searched) = log::search(tx, scope, range, filter, limit + 1)?;
            let next = answer::cut(&mut log, limit).map(|line| line.place).or(searched.map(LogPlace));
            Ok(LogLines { log, next, looked_to: next.map(|LogPlace(key)| log::line_time(key)) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_has_a_text_and_other_texts_are_refused() {
        for key in [0, 1, NUMBER_MAX, NUMBER_MAX + 1, i64::MAX] {
            assert_eq!(LogPlace(key).to_string().parse(), Ok(LogPlace(key)));
        }
        let place = LogPlace((1_795_163_760_000 << NUMBER_BITS) | 2);
        assert_eq!(place.to_string(), "1795163760000-2");
        let other = " 1 1- -1 1-2-3 +1-2 1-16384 562949953421312-0 99999999999999999999-1 a-b";
        for text in other.split(' ') {
            assert_eq!(text.parse::<LogPlace>(), Err(InvalidLogPlace), "{text:?}");
        }
    }
}
