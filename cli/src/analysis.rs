//! `tidings analysis`: the figures of the traffic, and the access log.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde::Serialize;
use tidings_core::analysis::{self, Day, LogFilter, LogLine, LogPlace, OneDay, Window};
use tidings_tui::number::number;

use crate::failure::Failure;
use crate::output::{Column, Page, Table, dated, local, stream_pages};
use crate::session::{Session, unknown};

mod report;

#[derive(Debug, Subcommand)]
pub(crate) enum Analysis {
    /// Show the figures over all days
    #[command(after_help = "Example: tidings analysis summary")]
    Summary,
    /// Show one day
    #[command(after_help = "Example: tidings analysis day 2026-11-20")]
    Day {
        /// The day [default: today]
        #[arg(value_name = "YYYY-MM-DD")]
        date: Option<String>,
    },
    /// Show each day from a number of days ago until today
    #[command(after_help = "Example: tidings analysis days 30")]
    Days {
        /// The number of days, 0 to 366
        #[arg(value_name = "N")]
        days: i64,
    },
    /// Show how often apps reported each device, or report a device
    #[command(after_help = "Example: tidings analysis device mobile")]
    Device {
        /// The device to report
        #[arg(value_parser = ["pc", "tablet", "mobile"])]
        device: Option<String>,
    },
    /// Show the report of a period, or write it as a page or as CSV
    #[command(
        after_help = "Examples:\n  tidings analysis report --html report.html\n  tidings analysis report --from 2026-11-01 --to 2026-11-30 --html - --csv tables"
    )]
    Report(report::ReportArgs),
    /// Show the access log, newest first
    #[command(after_help = "Example: tidings analysis log --member ann --days 7")]
    Log(LogArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only requests of this member, or of guest or removed
    #[arg(long, value_name = "ID")]
    member: Option<String>,
    /// Only requests with this result, for example "incorrect pw"
    #[arg(long, value_name = "TEXT")]
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
    /// The maximum number of lines, up to 1000 without --ndjson [default: 100, with --ndjson all]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

pub(crate) fn run(session: &Session, command: &Analysis) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    match command {
        Analysis::Summary => {
            let (summary, crawled) = (service.summary()?, service.crawled()?);
            out.answer(&summary, |page| figures(page, &summary.analysis, crawled))
        }
        Analysis::Day { date } => {
            let day = one_day(session, date.as_deref())?;
            let zone = service.zone();
            out.answer(&day, |page| of_day(page, &day.analysis, zone.as_deref()))
        }
        Analysis::Days { days } => {
            let days = service.days_ago(*days)?;
            out.list(&days, &days.analysis, |page| of_days(page, &days.analysis))
        }
        Analysis::Device { device: Some(device) } => {
            service.insert_device(device)?;
            out.answer(&(), |page| page.line(format!("Reported one {device}.")))
        }
        Analysis::Device { device: None } => {
            let devices = service.devices()?;
            out.answer(&devices, |page| {
                let counts = [("pc", devices.pc), ("tablet", devices.tablet), ("mobile", devices.mobile)];
                bars(page, "Device", "Reported", counts.map(|(name, count)| (name.to_owned(), count)));
            })
        }
        Analysis::Report(args) => report::run(session, args),
        Analysis::Log(args) if out.streams() => all_of_log(session, args),
        Analysis::Log(args) => {
            let log = Log { log: log(session, args)? };
            out.answer(&log, |page| of_log(page, &log.log))
        }
    }
}

/// Returns the day of a date; without a date, today.
fn one_day(session: &Session, date: Option<&str>) -> Result<OneDay, Failure> {
    let Session { service, .. } = session;
    let Some(date) = date else {
        let mut today = service.days_ago(0)?;
        return Ok(OneDay { analysis: today.analysis.remove(0) });
    };
    let wrong = || Failure::usage(format!("{date:?} is no date: write YYYY-MM-DD"));
    let numbers = date.split('-').map(str::parse).collect::<Result<Vec<i64>, _>>().map_err(|_| wrong())?;
    let [year, month, day] = numbers[..] else { return Err(wrong()) };
    Ok(service.day(year, month, day)?)
}

impl LogArgs {
    /// Returns the time span of the log.
    fn window(&self) -> Window {
        let number = |n: Option<u32>| n.map_or(0, i64::from);
        let window =
            Window { months: number(self.months), days: number(self.days), hours: number(self.hours) };
        if window == Window::default() { Window { days: 1, ..window } } else { window }
    }
}

/// The log as `--json` prints it.
#[derive(Serialize)]
struct Log {
    log: Vec<LogLine>,
}

/// Prints the log line by line, without a limit on its length.
fn all_of_log(session: &Session, args: &LogArgs) -> Result<ExitCode, Failure> {
    let filter = filter(session, args)?;
    stream_pages(args.limit.map(i64::from), None, |place, left| page(session, &filter, place, left))
}

/// Returns the newest lines, as many as the arguments ask for.
fn log(session: &Session, args: &LogArgs) -> Result<Vec<LogLine>, Failure> {
    /// The default for the number of lines.
    const LIMIT: i64 = 100;
    let filter = filter(session, args)?;
    let limit = args.limit.map_or(LIMIT, i64::from).min(analysis::LOG_MAX);
    let (mut lines, mut place) = (Vec::new(), None);
    loop {
        let left = limit - i64::try_from(lines.len()).unwrap_or(limit);
        if left <= 0 {
            return Ok(lines);
        }
        let (found, next) = page(session, &filter, place, left)?;
        lines.extend(found);
        if next.is_none() {
            return Ok(lines);
        }
        place = next;
    }
}

fn filter(session: &Session, args: &LogArgs) -> Result<LogFilter, Failure> {
    let since = Some(session.service.since(args.window())?);
    let (member, result) = (args.member.clone(), args.result.clone());
    Ok(LogFilter { member, result, since, ..LogFilter::default() })
}

/// Returns a page of the log, and the position of the next one.
fn page(
    session: &Session,
    filter: &LogFilter,
    place: Option<LogPlace>,
    limit: i64,
) -> Result<(Vec<LogLine>, Option<LogPlace>), Failure> {
    let page = session.service.log(filter, place, limit);
    let page =
        page.map_err(|error| unknown(error, "member", filter.member.as_deref().unwrap_or_default()))?;
    Ok((page.lines.into_iter().map(LogLine::from).collect(), page.next))
}

fn figures(page: &mut Page, figures: &analysis::Analysis, crawled: Option<i64>) {
    let mut fields = vec![
        ("Visitors today", number(figures.today_visitor)),
        ("Visitors in all", number(figures.total_visitor)),
        ("Visitors a day", number(figures.day_avg_visitor)),
        ("Most in a day", number(figures.highest_day_visitor)),
        ("Views", number(figures.total_view)),
        ("Likes", number(figures.total_fav)),
        ("Searches", number(figures.search_count)),
        ("Posts", number(figures.posts_count)),
        ("Communications", number(figures.communication_avg)),
    ];
    fields.extend(crawled.map(|crawled| ("Of these, by crawlers", number(crawled))));
    page.fields(&fields);
}

fn of_day(page: &mut Page, day: &Day, zone: Option<&str>) {
    let zone = zone.map(|zone| format!(" ({zone})")).unwrap_or_default();
    page.fields(&[
        ("Day", format!("{}{zone}", day.date)),
        ("Visitors", number(day.today_visitor)),
        ("Views", number(day.today_view)),
        ("Likes", number(day.today_fav)),
    ]);
    page.line("");
    let hours = day.today_time_visitor.iter();
    bars(page, "Hour", "Visitors", hours.map(|hour| (format!("{:02}", hour.time), hour.visitor)));
    if !day.today_student_visitor.is_empty() {
        page.line("");
        let students = day.today_student_visitor.iter();
        bars(page, "Student number", "Visits", students.map(|s| (s.student_num.clone(), s.count)));
    }
}

fn of_days(page: &mut Page, days: &[Arc<Day>]) {
    let columns = [
        Column::whole("Day"),
        Column::number("Visitors"),
        Column::number("Views"),
        Column::number("Likes"),
        Column::bars(),
    ];
    let mut table = Table::new(columns);
    for day in days {
        let [visitors, views, likes] = [day.today_visitor, day.today_view, day.today_fav].map(number);
        table.row([day.date.clone(), visitors, views, likes, day.today_visitor.to_string()]);
    }
    page.table(&table, "");
}

/// Prints names and counts, with bars that compare the counts.
fn bars(page: &mut Page, name: &str, counted: &str, counts: impl IntoIterator<Item = (String, i64)>) {
    let mut table = Table::new([Column::text(name), Column::number(counted), Column::bars()]);
    for (name, count) in counts {
        table.row([name, number(count), count.to_string()]);
    }
    page.table(&table, "");
}

fn of_log(page: &mut Page, log: &[LogLine]) {
    let columns = [
        Column::whole(dated("Date")),
        Column::whole("Member"),
        Column::whole("Method").optional(),
        Column::text("Path"),
        Column::number("Status").optional(),
        Column::text("Result").optional(),
    ];
    let mut table = Table::new(columns);
    for LogLine { entry, result, .. } in log {
        let (date, status) = (local(entry.date), entry.status.to_string());
        let (id, method, path) = (entry.user_id.clone(), entry.method.clone(), entry.path.clone());
        table.row([date, id, method, path, status, result.clone().unwrap_or_default()]);
    }
    page.table(&table, "There were no requests in this time.");
}
