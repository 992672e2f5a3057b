use std::fs;
use std::io::Write as _;

use jiff::ToSpan as _;
use jiff::civil::Date;
use tidings_core::analysis::{
    self, DAYS_MAX, Day, GetDay, GetDaysAgo, GetDevices, GetPeriod, GetReport, GetSummary, InsertDevice,
    OneDay, PERIOD_MAX, PeriodReport,
};
use tidings_report::{Place, Table as CsvTable};

use crate::atomic_file::{AtomicFile, Readers, refuse_stdout, unwritable};
use crate::output;
use crate::prelude::*;

mod follow;
mod log;

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
    Days(Days),
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
    Report(ReportArgs),
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
        Analysis::Report(args) => report(session, args),
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

const DAYS: i64 = 7;

#[derive(Debug, Args)]
pub(crate) struct Days {
    /// The number of days, today included, 1 to 367 [default: 7]
    #[arg(value_name = "N", conflicts_with_all = ["from", "to"])]
    number: Option<i64>,
    /// The first day of a period [default: six days before the last one]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date)]
    from: Option<Date>,
    /// The last day of a period, of at most 366 days [default: today]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date)]
    to: Option<Date>,
}

fn date(text: &str) -> Result<Date, String> {
    let date = Some(text).filter(|text| text.len() == "2026-11-20".len()).and_then(|text| text.parse().ok());
    date.ok_or_else(|| "write a date as YYYY-MM-DD".to_owned())
}

impl Days {
    fn run(&self, session: &Session) -> Exit {
        let Session { service, out } = session;
        if self.from.is_none() && self.to.is_none() {
            // Over HTTP, the number is how many days ago the first day is.
            let number = self.number.unwrap_or(DAYS);
            if !(1..=DAYS_MAX + 1).contains(&number) {
                return Err(Failure::declined(format!(
                    "bad request: invalid value '{number}' for '[N]': it is 1 to {}",
                    DAYS_MAX + 1
                )));
            }
            let days = service.call(GetDaysAgo { days: number - 1 })?.fields();
            let figures = |day: &Day| [day.today_visitor, day.today_view, day.today_fav];
            return out
                .table(&days, &days.analysis, "", |table| columns(table, |day| (&day.date, figures(day))));
        }
        let [first, last] = self.period(session)?.map(|date| date.to_string());
        let period = service.call(GetPeriod { first, last })?;
        out.table(&period, &period.days, "", |table| {
            columns(table, |day| (&day.date, [day.visitor, day.view, day.like]))
        })
    }

    fn period(&self, session: &Session) -> Result<[Date; 2], Failure> {
        let to = match self.to {
            Some(to) => to,
            None => today(session)?,
        };
        let from = self.from.unwrap_or_else(|| to.saturating_sub((DAYS - 1).days()));
        if from > to {
            let rule = format!("it is after the last day, {to}");
            return Err(Failure::invalid(&from.to_string(), FROM, rule));
        }
        let days = i64::from(from.until(to).map_or(i32::MAX - 1, |span| span.get_days())) + 1;
        if days > PERIOD_MAX {
            let (days, most) = (number(days), number(PERIOD_MAX));
            let rule = format!("{from} to {to} are {days} days, and a period has at most {most}");
            return Err(Failure::invalid(&from.to_string(), FROM, rule));
        }
        Ok([from, to])
    }
}

const FROM: &str = "'--from <YYYY-MM-DD>'";

fn today(session: &Session) -> Result<Date, Failure> {
    let today = session.service.call(GetDaysAgo { days: 0 })?.fields();
    let date = today.analysis.first().and_then(|day| day.date.parse().ok());
    date.ok_or_else(|| Failure::system("the service does not tell which day it is"))
}

/// `of` returns a day with its visitors, views and likes.
fn columns<T>(table: Table<'_, T>, of: impl Fn(&T) -> (&String, [i64; 3])) -> Table<'_, T> {
    table
        .whole("Day", |day| of(day).0.clone())
        .number("Visitors", |day| number(of(day).1[0]))
        .number("Views", |day| number(of(day).1[1]))
        .number("Likes", |day| number(of(day).1[2]))
        .bars(|day| of(day).1[0])
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The first day [default: 29 days before the last day]
    #[arg(long, value_name = "YYYY-MM-DD")]
    from: Option<String>,
    /// The last day [default: today]
    #[arg(long, value_name = "YYYY-MM-DD")]
    to: Option<String>,
    /// Write the report as an HTML page with charts, or - for standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write each table of the report as a CSV file to this directory
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
}

fn report(session: &Session, args: &ReportArgs) -> Exit {
    let to_stdout = args.html.as_deref().is_some_and(|file| file.as_os_str() == "-");
    if to_stdout && session.out.is_for_programs() {
        return Err(Failure::usage(
            "the page and the answer would be mixed: name a file, or leave --json out",
        ));
    }
    let asked = GetReport { from: args.from.clone(), to: args.to.clone() };
    let report = session.service.as_reader().call(asked)?.fields();
    let mut written = Vec::new();
    if let Some(directory) = &args.csv {
        refuse_stdout(directory)?;
        fs::create_dir_all(directory).map_err(|error| unwritable(directory, &error))?;
        for table in CsvTable::ALL {
            let file = directory.join(table.file_name());
            write(session, &file, &table.csv(&report))?;
            written.push(file);
        }
    }
    match &args.html {
        Some(_) if to_stdout => {
            let page = tidings_report::page(&report, Place::File);
            output::has_reader(std::io::stdout().lock().write_all(page.as_bytes()))?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(file) => {
            write(session, file, &tidings_report::page(&report, Place::File))?;
            written.push(file.clone());
        }
        None => {}
    }
    session.out.answer(&report, |page| {
        if written.is_empty() {
            report_figures(page, &report);
        }
        for file in &written {
            page.line(format!("Wrote {}.", file.display()));
        }
    })
}

fn write(session: &Session, path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = AtomicFile::beside(&session.service, path, Readers::Umask)?;
    file.append(text.as_bytes())?;
    file.keep()
}

fn report_figures(page: &mut Page, report: &PeriodReport) {
    let [visitors, visits, views, likes, searches] = report.sums().map(number);
    page.fields(&[
        ("Period", format!("{} to {} ({})", report.from, report.to, report.zone)),
        ("Visitors", visitors),
        ("Visits", visits),
        ("Views", views),
        ("Likes", likes),
        ("Searches", searches),
        ("Posts", number(report.post_count)),
    ]);
    page.line("");
    let table = Table::of(&report.days)
        .whole("Day", |day| day.date.clone())
        .number("Visitors", |day| number(day.visitor))
        .number("Visits", |day| number(day.visit))
        .number("Views", |day| number(day.view))
        .number("Likes", |day| number(day.like))
        .number("Searches", |day| number(day.search))
        .bars(|day| day.visitor);
    page.table(&table, "");
}
