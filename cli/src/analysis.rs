//! `tidings analysis`: what is counted of what happens, and the access log.

use std::fmt::Write as _;
use std::process::ExitCode;

use tidings_core::Tidings;
use tidings_core::account::Caller;
use tidings_core::analysis::{self, Day, Log, OneDay, Window};
use tidings_core::clock::rfc3339;

use crate::args::{Analysis, Global, LogArgs};
use crate::output::{self, Failure};

pub(crate) fn run(tidings: &Tidings, global: &Global, command: &Analysis) -> Result<ExitCode, Failure> {
    match command {
        Analysis::Summary => {
            let summary = analysis::summary(tidings)?;
            let figures = &summary.analysis;
            let text = format!(
                "visitors        {} today, {} in all, {} a day, {} at most\n\
                 views           {}\nlikes           {}\nsearches        {}\nposts           {}\n\
                 communications  {}",
                figures.today_visitor,
                figures.total_visitor,
                figures.day_avg_visitor,
                figures.highest_day_visitor,
                figures.total_view,
                figures.total_fav,
                figures.search_count,
                figures.posts_count,
                figures.communication_avg
            );
            Ok(output::success(global.json, &summary, &text))
        }
        Analysis::Day { date } => {
            let day = one_day(tidings, date.as_deref())?;
            Ok(output::success(global.json, &day, &of_day(&day.analysis)))
        }
        Analysis::Days { days } => {
            let days = analysis::days_ago(tidings, &Caller::Operator, *days)?;
            let text: Vec<String> = days.analysis.iter().map(|day| of_day(day)).collect();
            Ok(output::success(global.json, &days, &text.join("\n")))
        }
        Analysis::Device { device: Some(device) } => {
            analysis::insert_device(tidings, device).wait()?;
            Ok(output::success(global.json, &(), &format!("One {device} more.")))
        }
        Analysis::Device { device: None } => {
            let devices = analysis::devices(tidings)?;
            let text = format!("pc {}\ntablet {}\nmobile {}", devices.pc, devices.tablet, devices.mobile);
            Ok(output::success(global.json, &devices, &text))
        }
        Analysis::Log(args) => {
            let log = log(tidings, args)?;
            Ok(output::success(global.json, &log, &of_log(&log)))
        }
    }
}

/// A day by its date; the present one where none is named.
fn one_day(tidings: &Tidings, date: Option<&str>) -> Result<OneDay, Failure> {
    let Some(date) = date else {
        let mut today = analysis::days_ago(tidings, &Caller::Operator, 0)?;
        return Ok(OneDay { analysis: today.analysis.remove(0) });
    };
    let wrong = || Failure::usage(format!("{date:?} is no date: write YYYY-MM-DD"));
    let numbers = date.split('-').map(str::parse).collect::<Result<Vec<i64>, _>>().map_err(|_| wrong())?;
    let [year, month, day] = numbers[..] else { return Err(wrong()) };
    Ok(analysis::day(tidings, &Caller::Operator, year, month, day)?)
}

fn log(tidings: &Tidings, args: &LogArgs) -> Result<Log, Failure> {
    let number = |n: Option<u32>| n.map_or(0, i64::from);
    let window = Window { months: number(args.months), days: number(args.days), hours: number(args.hours) };
    let given = window != Window::default();
    let window = if given { window } else { Window { days: 1, ..window } };
    let (operator, limit) = (&Caller::Operator, i64::from(args.limit));
    Ok(match &args.member {
        Some(id) => analysis::log_user_date(tidings, operator, id, window, limit)?,
        None => analysis::log_date(tidings, operator, window, limit)?,
    })
}

fn of_day(day: &Day) -> String {
    let Day { date, today_visitor, today_view, today_fav, .. } = day;
    let mut text = format!("{date}  visitors {today_visitor}, views {today_view}, likes {today_fav}");
    let hours = day.today_time_visitor.iter().filter(|hour| hour.visitor > 0);
    let hours: Vec<String> = hours.map(|hour| format!("{:02}h {}", hour.time, hour.visitor)).collect();
    let students = day.today_student_visitor.iter();
    let students: Vec<String> = students.map(|s| format!("{} {}", s.student_num, s.count)).collect();
    for (name, parts) in [("visitors", hours), ("visits", students)] {
        if !parts.is_empty() {
            // A text takes all that is written to it.
            let _ = write!(text, "\n            {name}: {}", parts.join(", "));
        }
    }
    text
}

fn of_log(log: &Log) -> String {
    let lines = log.log.iter();
    let line = |e: &analysis::LogEntry| {
        format!("{}  {}  {} {}  {}", rfc3339(e.date.0), e.user_id, e.method, e.path, e.status)
    };
    lines.map(line).collect::<Vec<_>>().join("\n")
}
