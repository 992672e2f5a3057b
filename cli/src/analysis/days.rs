//! `tidings analysis days`: the last days, or the days of a period.

use jiff::ToSpan as _;
use jiff::civil::Date;
use tidings_core::analysis::{DAYS_MAX, Day, GetDaysAgo, GetPeriod, PERIOD_MAX};

use crate::prelude::*;

/// The default number of days.
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
    pub(super) fn run(&self, session: &Session) -> Exit {
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

/// Returns the current day in the zone of the service.
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
