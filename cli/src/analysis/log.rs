use std::collections::BTreeMap;

use clap::builder::NonEmptyStringValueParser;
use tidings_core::analysis::{self, GetLog, LogLine, LogPlace, StatusFilter, Window};

use super::follow;
use crate::prelude::*;

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only requests of this member, or of guest or removed
    #[arg(long, value_name = "ID", add = ids(Kind::Member))]
    member: Option<String>,
    /// Only requests whose path contains this
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    path: Option<String>,
    /// Only requests with this status, such as 404, or with one of a class, such as 5xx
    #[arg(long, value_name = "STATUS")]
    status: Option<StatusFilter>,
    /// Only requests with this result, for example "incorrect pw"
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    result: Option<String>,
    /// Only the last N calendar months
    #[arg(long, value_name = "N", group = "window", value_parser = clap::value_parser!(u32).range(1..))]
    months: Option<u32>,
    /// Only the last N times 24 hours [default: 1]
    #[arg(long, value_name = "N", group = "window", value_parser = clap::value_parser!(u32).range(1..))]
    days: Option<u32>,
    /// Only the last N hours
    #[arg(long, value_name = "N", group = "window", value_parser = clap::value_parser!(u32).range(1..))]
    hours: Option<u32>,
    /// The maximum number of lines, up to 1000 without --ndjson [default: 100, with --ndjson all, with --follow 10]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Print the newest lines, oldest first, and new ones as they come, until Ctrl-C; with --json one object per line
    #[arg(long)]
    follow: bool,
}

impl LogArgs {
    pub(super) fn run(&self, session: &Session) -> Exit {
        const LIMIT: u32 = 100;
        const OLDER: u32 = 10;
        let out = &session.out;
        let filter = self.filter(session)?;
        if self.follow {
            let limit = self.limit.unwrap_or(OLDER);
            let older = newest(session, &filter, limit)?;
            return follow::run(session, filter, &older, limit == 0);
        }
        if out.streams() {
            let limit = self.limit.map(i64::from);
            return stream_pages(limit, None, |place, left| page(session, &filter, place, left));
        }
        let log = newest(session, &filter, self.limit.unwrap_or(LIMIT))?;
        out.answer(&BTreeMap::from([("log", &log)]), |page| {
            let table = Table::of(&log)
                .whole(dated("Date"), |line| local(line.entry.date))
                .whole("Member", |line| line.entry.user_id.clone())
                .optional_whole("Method", |line| line.entry.method.clone())
                .text("Path", |line| line.entry.path.clone())
                .optional_number("Status", |line| line.entry.status.to_string())
                .optional_text("Result", |line| line.result.clone().unwrap_or_default());
            page.table(&table, "There were no requests in this time.");
        })
    }

    fn filter(&self, session: &Session) -> Result<GetLog, Failure> {
        let since = Some(session.service.since(self.window())?.to_string());
        let Self { member, path, status, result, .. } = self;
        let (member, path, result) = (member.clone(), path.clone(), result.clone());
        let status = status.map(|status| status.to_string());
        Ok(GetLog { member, path, result, status, since, ..GetLog::default() })
    }

    fn window(&self) -> Window {
        let number = |n: Option<u32>| n.map_or(0, i64::from);
        let window =
            Window { months: number(self.months), days: number(self.days), hours: number(self.hours) };
        if window == Window::default() { Window { days: 1, ..window } } else { window }
    }
}

fn newest(session: &Session, filter: &GetLog, limit: u32) -> Result<Vec<LogLine>, Failure> {
    let limit = i64::from(limit).min(analysis::LOG_MAX);
    let (mut lines, mut place) = (Vec::new(), None);
    loop {
        let left = limit - i64::try_from(lines.len()).unwrap_or(limit);
        if left <= 0 {
            return Ok(lines);
        }
        let (found, next) = page(session, filter, place, left)?;
        lines.extend(found);
        if next.is_none() {
            return Ok(lines);
        }
        place = next;
    }
}

fn page(
    session: &Session,
    filter: &GetLog,
    place: Option<LogPlace>,
    limit: i64,
) -> Result<(Vec<LogLine>, Option<LogPlace>), Failure> {
    let member = filter.member.as_deref().unwrap_or_default();
    let page = session.call_on("member", member, filter.page(place, limit))?;
    Ok((page.log, page.next))
}
