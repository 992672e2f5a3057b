//! The access log as the HTTP API and the command line answer it: page by page, with texts for times and positions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use super::browse::{LogFilter, LogPage, LogPlace, STATUS_TEXT, browse};
use super::log::NUMBER_BITS;
use super::{LOG_MAX, LogEntry};

use crate::Tidings;
use crate::account::Caller;
use crate::base::clock::Timestamp;
use crate::record::error::{Error, Problem, Result};
use crate::record::operation::{Access, Failure, Operation, Spec, Work};
use crate::record::scope::Scope;

/// The number of lines of a page by default.
const LINES: i64 = 100;

const LIMIT_RULE: Problem = Problem::invalid("limit", "limit is 1 to 1,000");
const SINCE_RULE: Problem =
    Problem::invalid("since", "since is written like 2026-11-20T08:36:00Z, or 2026-11-20");
const UNTIL_RULE: Problem =
    Problem::invalid("until", "until is written like 2026-11-20T08:36:00Z, or 2026-11-20");
const STATUS_RULE: Problem = Problem::invalid("status", STATUS_TEXT);
const BEFORE_RULE: Problem = Problem::invalid("before", "before is what the page before answered as next");

impl fmt::Display for LogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.0 >> NUMBER_BITS, self.0 & NUMBER_MAX)
    }
}

/// The greatest number of a line within its millisecond.
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
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

impl From<LogEntry> for LogLine {
    fn from(mut entry: LogEntry) -> Self {
        Self { result: entry.result.take(), place: entry.place(), entry }
    }
}

impl From<LogLine> for LogEntry {
    fn from(LogLine { entry, result, place }: LogLine) -> Self {
        Self { key: place.0, result, ..entry }
    }
}

impl From<LogLines> for LogPage {
    fn from(LogLines { log, next, looked_to }: LogLines) -> Self {
        Self { lines: log.into_iter().map(LogEntry::from).collect(), next, looked_to }
    }
}

impl LogFilter {
    /// Returns the operation that reads the newest matching lines, or those after `place`, as [`browse`] does.
    pub fn page(&self, place: Option<LogPlace>, limit: i64) -> GetLog {
        let Self { member, path, result, status, since, until } = self.clone();
        let [since, until] = [since, until].map(|time| time.map(|time| time.to_string()));
        GetLog {
            member,
            result,
            path,
            status: status.map(|status| status.to_string()),
            since,
            until,
            before: place.map(|place| place.to_string()),
            limit: Some(limit.clamp(1, LOG_MAX)),
        }
    }
}

/// Page through the access log
///
/// Newest first. A page reads a bounded part of the log, so it can be empty although `next` names another page. For
/// administrators and for the member whose lines it asks for, unless the settings make the log public.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
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

impl Operation for GetLog {
    type Answer = LogLines;
    const SPEC: Spec = Spec::get("analysis", "/get_log", Access::Admins(Scope::AnalyticsRead))
        .works(Work::Query)
        .or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<LogLines> {
        let GetLog { member, result, path, status, since, until, before, limit } = self;
        let limit = limit.unwrap_or(LINES);
        if !(1..=LOG_MAX).contains(&limit) {
            return Err(Error::BadRequest(LIMIT_RULE));
        }
        let time = |text: Option<String>, rule| {
            text.map(|text| Timestamp::parse(&text).ok_or(Error::BadRequest(rule))).transpose()
        };
        let (since, until) = (time(since, SINCE_RULE)?, time(until, UNTIL_RULE)?);
        let status =
            status.map(|status| status.parse().map_err(|_| Error::BadRequest(STATUS_RULE))).transpose()?;
        let place =
            before.map(|before| before.parse().map_err(|_| Error::BadRequest(BEFORE_RULE))).transpose()?;
        let filter = LogFilter { member, path, result, status, since, until };
        let page = browse(tidings, caller, &filter, place, limit)?;
        Ok(LogLines {
            log: page.lines.into_iter().map(LogLine::from).collect(),
            next: page.next,
            looked_to: page.looked_to,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    use crate::analysis::{Communication, Operation, record};

    use crate::testing::service;

    #[test]
    fn a_position_has_a_text_and_other_texts_are_refused() {
        for key in [0, 1, NUMBER_MAX, NUMBER_MAX + 1, i64::MAX] {
            assert_eq!(LogPlace(key).to_string().parse(), Ok(LogPlace(key)));
        }
        let place = LogPlace((1_795_163_760_000 << NUMBER_BITS) | 2);
        assert_eq!(place.to_string(), "1795163760000-2");
        for text in [
            "",
            "1",
            "1-",
            "-1",
            "1-2-3",
            "+1-2",
            "1-16384",
            "562949953421312-0",
            "99999999999999999999-1",
            "a-b",
        ] {
            assert_eq!(text.parse::<LogPlace>(), Err(InvalidLogPlace), "{text:?}");
        }
    }

    #[test]
    fn a_page_continues_where_the_one_before_ended() {
        let service = service();
        let ann = service.member("ann");
        for n in 0..5 {
            let path = format!("/get_post/{n}");
            let communication = Communication {
                caller: &ann,
                operation: Operation::new("GET", "/get_post/{post_obi}"),
                path: &path,
                status: 404,
                result: "Not found",
                address: IpAddr::V4(Ipv4Addr::LOCALHOST),
                user_agent: b"okhttp/4.12.0",
            };
            record(&service, &communication);
            service.clock().advance(1_000);
        }
        let mut query = GetLog { limit: Some(2), path: Some("get_post".into()), ..GetLog::default() };
        let mut pages = Vec::new();
        loop {
            let page = service.call(&Caller::Operator, query.clone()).unwrap();
            pages.push(page.log.iter().map(|line| line.entry.path.clone()).collect::<Vec<_>>().join(" "));
            assert_eq!(page.next.is_some(), page.looked_to.is_some());
            query.before = page.next.map(|next| next.to_string());
            if query.before.is_none() {
                break;
            }
        }
        assert_eq!(pages, ["/get_post/4 /get_post/3", "/get_post/2 /get_post/1", "/get_post/0"]);
        for (query, field) in [
            (GetLog { limit: Some(0), ..GetLog::default() }, "limit"),
            (GetLog { limit: Some(1_001), ..GetLog::default() }, "limit"),
            (GetLog { since: Some("yesterday".into()), ..GetLog::default() }, "since"),
            (GetLog { status: Some("600".into()), ..GetLog::default() }, "status"),
            (GetLog { before: Some("5".into()), ..GetLog::default() }, "before"),
        ] {
            let refused = service.call(&Caller::Operator, query.clone()).unwrap_err();
            assert_eq!((refused.to_string().as_str(), refused.problem().field), ("bad request", Some(field)));
        }
    }
}
