//! `tidings analysis`: the figures of the traffic, and the access log.

use tidings_core::analysis::{self, Day, GetDay, GetDaysAgo, GetDevices, GetSummary, InsertDevice, OneDay};

use crate::prelude::*;

mod days;
mod follow;
mod log;
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
    /// Show each day of the last seven, of more or fewer, or of a period
    #[command(after_help = "Examples:\n  tidings analysis days 30\n  \
                      tidings analysis days --from 2026-11-01 --to 2026-11-20")]
    Days(days::Days),
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
    #[command(after_help = "Examples:\n  tidings analysis log --member ann --days 7\n  \
                      tidings analysis log --follow --status 5xx\n  \
                      tidings analysis log --path /sign_in --result \"incorrect pw\"")]
    Log(log::LogArgs),
}

pub(crate) fn run(session: &Session, command: &Analysis) -> Exit {
    let Session { service, out } = session;
    match command {
        Analysis::Summary => {
            let (summary, crawled) = (service.as_reader().call(GetSummary {})?.fields(), service.crawled()?);
            out.answer(&summary, |page| figures(page, &summary.analysis, crawled))
        }
        Analysis::Day { date } => {
            let day = one_day(session, date.as_deref())?;
            let zone = service.zone();
            out.answer(&day, |page| of_day(page, &day.analysis, zone.as_deref()))
        }
        Analysis::Days(days) => days.run(session),
        Analysis::Device { device: Some(device) } => {
            service.as_reader().call(InsertDevice { device: device.clone() })?;
            session.done(format!("Reported one {device}."))
        }
        Analysis::Device { device: None } => {
            let devices = service.as_reader().call(GetDevices {})?.fields();
            out.answer(&devices, |page| {
                let counts = [("pc", devices.pc), ("tablet", devices.tablet), ("mobile", devices.mobile)];
                bars(page, "Device", "Reported", &counts, |(name, count)| ((*name).to_owned(), *count));
            })
        }
        Analysis::Report(args) => report::run(session, args),
        Analysis::Log(args) => args.run(session),
    }
}

fn one_day(session: &Session, date: Option<&str>) -> Result<OneDay, Failure> {
    let Session { service, .. } = session;
    let Some(date) = date else {
        let mut today = service.call(GetDaysAgo { days: 0 })?.fields();
        return Ok(OneDay { analysis: today.analysis.remove(0) });
    };
    let [year, month, day] = numbers(date)?;
    Ok(service.call(GetDay { year, month, day })?.fields())
}

fn numbers(date: &str) -> Result<[i64; 3], Failure> {
    let wrong = || Failure::invalid(date, "'[YYYY-MM-DD]'", "write YYYY-MM-DD");
    let numbers = date.split('-').map(str::parse).collect::<Result<Vec<i64>, _>>().map_err(|_| wrong())?;
    numbers.try_into().map_err(|_| wrong())
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
    bars(page, "Hour", "Visitors", &day.today_time_visitor, |hour| {
        (format!("{:02}", hour.time), hour.visitor)
    });
    if !day.today_student_visitor.is_empty() {
        page.line("");
        bars(page, "Student number", "Visits", &day.today_student_visitor, |students| {
            (students.student_num.clone(), students.count)
        });
    }
}

/// `of` returns the name of an item, and what was counted of it.
fn bars<T>(page: &mut Page, name: &str, counted: &str, items: &[T], of: impl Fn(&T) -> (String, i64)) {
    let table = Table::of(items)
        .text(name, |item| of(item).0)
        .number(counted, |item| number(of(item).1))
        .bars(|item| of(item).1);
    page.table(&table, "");
}
