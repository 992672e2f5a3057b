//! Looking through the access log page by page, by member, path and time.
//!
//! A page reads a bounded stretch of the log, whatever it is asked for and however long the log is: where few lines
//! match it may hold few or none, and says where to go on.

use super::LogEntry;
use super::log::{self, LogAccess, first_key};
use crate::Tidings;
use crate::account::{Caller, fold};
use crate::clock::Timestamp;
use crate::error::Result;

/// Lines that one page looks at.
const LOOK: i64 = 20_000;
/// The most lines of a page.
const PAGE_MAX: i64 = 1_000;

/// Which lines of the access log are asked for; all of them by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Of this member, of `guest` or of `removed`.
    pub member: Option<String>,
    /// Whose path holds this text.
    pub path: Option<String>,
    /// Of this moment or later …
    pub since: Option<Timestamp>,
    /// … and before this one.
    pub until: Option<Timestamp>,
}

/// A place in the log: before which line to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogPlace(i64);

impl LogEntry {
    /// Where it stands: no other line stands there.
    pub const fn place(&self) -> LogPlace {
        LogPlace(self.key)
    }
}

/// A page of the log.
#[derive(Debug, PartialEq, Eq)]
pub struct LogPage {
    /// The lines, newest first.
    pub lines: Vec<LogEntry>,
    /// Where the next page begins, if the log goes on.
    pub next: Option<LogPlace>,
    /// The moment that the log has been looked through to, where it goes on.
    pub looked_to: Option<Timestamp>,
}

/// The newest lines that match, or those after a `place`; at most `limit` and never more than 1,000.
///
/// # Errors
/// `bad token`; `Not admin` for all but one's own lines; `Not found` when there is no such member.
pub fn browse(
    tidings: &Tidings,
    caller: &Caller,
    filter: &LogFilter,
    place: Option<LogPlace>,
    limit: i64,
) -> Result<LogPage> {
    let (identity, analysis) = (caller.identify(tidings), tidings.analysis());
    let limit = limit.clamp(1, PAGE_MAX);
    analysis.settle();
    tidings.store().read(|tx| {
        let member = filter.member.as_deref().map(fold);
        let scope = LogAccess::check(tx, tidings, &identity, member.as_deref())?.scope(tx)?;
        let before = place.map_or(i64::MAX, |place| place.0).min(filter.until.map_or(i64::MAX, first_key));
        // Where every line matches, no more are looked at than are shown.
        let lines = if filter.path.is_some() { LOOK } else { limit + 1 };
        let range = log::LogRange { since: filter.since.map_or(i64::MIN, first_key), before, lines };
        let (mut lines, looked_to) = log::search(tx, scope, range, filter.path.as_deref(), limit + 1)?;
        let full = lines.len() > usize::try_from(limit).unwrap_or_default();
        lines.truncate(usize::try_from(limit).unwrap_or_default());
        let next = if full { lines.last().map(|line| line.key) } else { looked_to };
        Ok(LogPage { lines, next: next.map(LogPlace), looked_to: next.map(log::line_time) })
    })
}
