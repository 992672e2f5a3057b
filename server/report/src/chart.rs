//! A chart is as wide as the page: places across it are percentages, and places down it are pixels, so that texts have the same
//! size on every screen. The names of the axis are left of the chart, in its margin.

use maud::{Markup, html};
use tidings_core::analysis::{DayFigures, WeekdayHours};

use crate::format::{average, axis, number, share, short_date, short_number};

/// With the places of the highest and the lowest line.
pub(crate) const DAYS_HEIGHT: u32 = 250;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 220.0;
const NAMED_DAYS: usize = 5;
/// Up to this number, each day has a point on the line of visits, which is thinner for more days.
const POINTS_MAX: usize = 62;

/// With the heights of the heading and of a row.
pub(crate) const HOURS_HEIGHT: u32 = 236;
const HEADING: u32 = 20;
const ROW: u32 = 26;
const NAMED_HOURS: usize = 3;

/// Visitors are bars, and visits are a line. `is_final` is whether the last day is over; its bar is lighter if it is not.
pub(crate) fn days(days: &[DayFigures], is_final: bool) -> Markup {
    let most = days.iter().map(|day| day.visitor.max(day.visit)).max().unwrap_or_default();
    let lines = axis(most);
    let top = lines.last().copied().unwrap_or_default();
    let step = 100.0 / count(days.len());
    html! {
        svg .chart #days-chart width="100%" height=(DAYS_HEIGHT) role="img" aria-labelledby="days-title days-desc" {
            title #days-title { "Visitors and visits of each day" }
            desc #days-desc { (describe_days(days)) }
            @for line in &lines {
                line .grid x1="0" x2="100%" y1=(y(*line, top)) y2=(y(*line, top)) {}
                text .axis x="-8" y=(y(*line, top)) dy="4" text-anchor="end" { (short_number(*line)) }
            }
            @if most > 0 { (days_drawn(days, is_final, top)) } @else {
                text .empty x="50%" y="120" text-anchor="middle" { "No visitors in this period" }
            }
            @for n in named(days.len()) {
                text .axis x=(percent(step * (count(n) + 0.5))) y="240" text-anchor=(anchor(n, days.len())) { (short_date(&days[n].date)) }
            }
        }
    }
}

fn days_drawn(days: &[DayFigures], is_final: bool, top: i64) -> Markup {
    let step = 100.0 / count(days.len());
    let middle = |n: usize| percent(step * (count(n) + 0.5));
    let open_day = if is_final { None } else { days.len().checked_sub(1) };
    html! {
        rect .visitors x="0" y="4" width="12" height="12" rx="2" {}
        text .name x="18" y="14" { "Visitors" }
        circle .visits cx="92" cy="10" r="5" {}
        text .name x="102" y="14" { "Visits" }
        @for (n, day) in days.iter().enumerate() {
            @let at = y(day.visitor, top);
            rect .visitors .open[open_day == Some(n)] x=(percent(step * (count(n) + 0.14))) width=(percent(step * 0.72))
                y=(at) height=(fixed(BOTTOM - at)) rx="2" {}
        }
        @for (n, pair) in days.windows(2).enumerate() {
            line .visits .thin[days.len() > POINTS_MAX] x1=(middle(n)) y1=(y(pair[0].visit, top)) x2=(middle(n + 1)) y2=(y(pair[1].visit, top)) {}
        }
        @if days.len() <= POINTS_MAX {
            @for (n, day) in days.iter().enumerate() {
                circle .visits cx=(middle(n)) cy=(y(day.visit, top)) r="3" {}
            }
        }
        // Shows the figures of a day under the pointer.
        @for (n, day) in days.iter().enumerate() {
            rect .pointed x=(percent(step * count(n))) width=(percent(step)) y=(TOP) height=(BOTTOM - TOP) {
                title { (short_date(&day.date)) ": " (number(day.visitor)) " visitors, " (number(day.visit)) " visits" }
            }
        }
    }
}

fn y(n: i64, top: i64) -> f64 {
    fixed(BOTTOM - (BOTTOM - TOP) * share(n, top))
}

pub(crate) fn hours(weekdays: &[WeekdayHours]) -> Markup {
    // The colours compare averages: thousandths of visitors.
    let mean =
        |of: &WeekdayHours, hour: usize| if of.days == 0 { 0 } else { of.hours[hour] * 1_000 / of.days };
    let means = weekdays.iter().flat_map(|of| (0..of.hours.len()).map(move |hour| mean(of, hour)));
    let most = means.max().unwrap_or_default();
    let column = 100.0 / 24.0;
    let legend = HEADING + 7 * ROW + 14;
    html! {
        svg .chart #hours-chart width="100%" height=(HOURS_HEIGHT) role="img" aria-labelledby="hours-title hours-desc" {
            title #hours-title { "Average number of visitors by weekday and hour" }
            desc #hours-desc { (describe_hours(weekdays)) }
            @for hour in (0..24).step_by(NAMED_HOURS) {
                text .axis x=(percent(column * count(hour))) y="12" { (format!("{hour:02}")) }
            }
            @for (row, of) in (0..).zip(weekdays) {
                text .axis x="-8" y=(HEADING + row * ROW) dy="17" text-anchor="end" { (of.weekday[..3]) }
                @for hour in 0..of.hours.len() {
                    @let level = share(mean(of, hour), most);
                    rect .hour .none[level == 0.0] x=(percent(column * count(hour))) width=(percent(column * 0.92))
                        y=(HEADING + row * ROW) height=(ROW - 2) rx="3"
                        fill-opacity=[(level > 0.0).then(|| shade(level))] {
                        title {
                            (of.weekday) " " (format!("{hour:02}")) ":00: " (average(of.hours[hour], of.days)) " visitors"
                        }
                    }
                }
            }
            @if most > 0 {
                text .axis x="0" y=(legend + 12) { "0" }
                @for (n, level) in [0.0, 0.25, 0.5, 0.75, 1.0].into_iter().enumerate() {
                    rect .hour .none[level == 0.0] x=(16 + 24 * n) y=(legend + 1) width="22" height="14" rx="3"
                        fill-opacity=[(level > 0.0).then(|| shade(level))] {}
                }
                text .axis x="142" y=(legend + 12) { (average(most, 1_000)) " visitors an hour" }
            }
        }
    }
}

/// Compares a number with the largest one. The number itself is in the table around the bar.
pub(crate) fn bar(n: i64, most: i64) -> Markup {
    html! {
        svg .bar width="100%" height="10" aria-hidden="true" {
            rect .track width="100%" height="10" rx="3" {}
            rect .filled width=(percent(100.0 * share(n, most))) height="10" rx="3" {}
        }
    }
}

pub(crate) fn sparkline(days: impl ExactSizeIterator<Item = i64> + Clone) -> Markup {
    let (most, step) = (days.clone().max().unwrap_or_default(), 100.0 / count(days.len()));
    html! {
        svg .spark width="100%" height="28" aria-hidden="true" {
            @for (n, day) in days.enumerate() {
                @let height = fixed(27.0 * share(day, most) + 1.0);
                rect x=(percent(step * (count(n) + 0.1))) width=(percent(step * 0.8)) y=(fixed(28.0 - height)) height=(height) {}
            }
        }
    }
}

fn describe_days(days: &[DayFigures]) -> String {
    let Some(best) = days.iter().rev().max_by_key(|day| day.visitor).filter(|day| day.visitor > 0) else {
        return "No visitors in this period.".into();
    };
    format!(
        "Most visitors on {}: {}. The table below has the figures of every day.",
        short_date(&best.date),
        number(best.visitor)
    )
}

fn describe_hours(weekdays: &[WeekdayHours]) -> String {
    let cells = weekdays.iter().flat_map(|of| (0..of.hours.len()).map(move |hour| (of, hour)));
    // Averages are compared without division.
    let busiest = cells.reduce(|best, cell| {
        let value =
            |(of, hour): (&WeekdayHours, usize), other: &WeekdayHours| of.hours[hour] * other.days.max(1);
        if value(cell, best.0) > value(best, cell.0) { cell } else { best }
    });
    let Some((of, hour)) = busiest.filter(|(of, hour)| of.hours[*hour] > 0) else {
        return "No visitors in this period.".into();
    };
    format!(
        "Busiest hour: {} from {hour:02}:00, with {} visitors on average. The table below has the figures of every hour.",
        of.weekday,
        average(of.hours[hour], of.days)
    )
}

fn named(days: usize) -> Vec<usize> {
    let last = days.saturating_sub(1);
    let names = NAMED_DAYS.min(days);
    (0..names).map(|n| if names == 1 { 0 } else { n * last / (names - 1) }).collect()
}

/// The name of the last of many days stays within the chart.
fn anchor(n: usize, days: usize) -> &'static str {
    if days > 14 && n + 1 == days { "end" } else { "middle" }
}

/// `level` is from 0 to 1. The lowest level can still be told from none.
fn shade(level: f64) -> f64 {
    fixed(0.12 + 0.88 * level)
}

fn percent(n: f64) -> String {
    format!("{}%", fixed(n))
}

/// Rounds to hundredths, so that a chart is short and the same on every machine.
fn fixed(n: f64) -> f64 {
    (n * 100.0).round() / 100.0
}

#[expect(clippy::cast_precision_loss, reason = "a chart has a few hundred columns")]
fn count(n: usize) -> f64 {
    n as f64
}
