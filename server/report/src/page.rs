use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use tidings_core::analysis::{DayFigures, POSTS_READ, PeriodReport};

use crate::chart::{self, bar};
use crate::csv::Table;
use crate::format::{average, long_date, number, percent, short_date};

/// The only `<style>` of the page: a policy can name its hash.
pub const STYLE: &str = include_str!("style.css");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file, which has no links to other parts of the report.
    File,
    /// On a server at `reports`, with a form for another period and links to the figures as CSV and JSON, all relative to
    /// that address.
    Server,
}

pub fn page(report: &PeriodReport, place: Place) -> String {
    let (from, to) = (long_date(&report.from), long_date(&report.to));
    let period = if report.from == report.to { from } else { format!("{from} – {to}") };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { "Report: " (period) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p .period { "Report" }
                    h1 { (period) }
                    p .period { (subtitle(report)) }
                    @if place == Place::Server { (links(report)) }
                }
                main {
                    (tiles(report))
                    (days(report))
                    (hours(report))
                    div .pair { (terms(report)) (devices(report)) }
                    (topics(report))
                    (posts(report))
                }
                footer {
                    p {
                        "Days and hours are those of the time zone " (report.zone) ". The report has no address and no "
                        "member: visitors are counted, not listed."
                    }
                }
            }
        }
    };
    page.into_string()
}

fn subtitle(report: &PeriodReport) -> String {
    let days = match report.days.len() {
        1 => "1 day".to_owned(),
        n => format!("{n} days"),
    };
    let open = if report.is_final { "" } else { " · the last day is not final yet" };
    format!("{days} · {}{open}", report.zone)
}

fn links(report: &PeriodReport) -> Markup {
    let PeriodReport { from, to, .. } = report;
    html! {
        nav aria-label="Report" {
            form method="get" action="reports" {
                label { "From" input type="date" name="from" value=(from) required; }
                label { "To" input type="date" name="to" value=(to) required; }
                button { "Show" }
            }
            p {
                "CSV: "
                @for (n, table) in Table::ALL.into_iter().enumerate() {
                    @if n > 0 { ", " }
                    @let file = table.file_name();
                    a href={ "reports/" (file) "?from=" (from) "&to=" (to) } { (file.trim_end_matches(".csv")) }
                }
                " · "
                a href={ "get_report?from=" (from) "&to=" (to) } { "JSON" }
            }
        }
    }
}

type Figure = fn(&DayFigures) -> i64;

/// In the order of [`PeriodReport::sums`].
const FIGURES: [(&str, Figure); 5] = [
    ("Visitors", |day| day.visitor),
    ("Visits", |day| day.visit),
    ("Views", |day| day.view),
    ("Likes", |day| day.like),
    ("Searches", |day| day.search),
];

fn tiles(report: &PeriodReport) -> Markup {
    html! {
        dl .tiles {
            @for ((name, of), sum) in FIGURES.into_iter().zip(report.sums()) {
                div {
                    dt { (name) }
                    dd {
                        div .sum { (number(sum)) }
                        (chart::sparkline(report.days.iter().map(of)))
                    }
                }
            }
        }
    }
}

fn section(id: &str, heading: &str, note: &str, content: &Markup) -> Markup {
    html! {
        section aria-labelledby=(id) {
            h2 #(id) { (heading) }
            p .note { (note) }
            (content)
        }
    }
}

fn days(report: &PeriodReport) -> Markup {
    let rows = report.days.iter().map(|day| {
        let figures = FIGURES.map(|(_, of)| number(of(day)));
        (html! { th .date scope="row" { (day.date) } }, figures.to_vec())
    });
    let names = FIGURES.map(|(name, _)| name);
    let content = html! {
        figure { (chart::days(&report.days, report.is_final)) }
        (figures("Figures of each day", "Day", &names, rows))
    };
    section("days", "Visitors and visits", DAYS_NOTE, &content)
}

fn hours(report: &PeriodReport) -> Markup {
    let rows = (0..24).map(|hour| {
        let averages = report.weekdays.iter().map(|of| average(of.hours[hour], of.days));
        (html! { th scope="row" { (format!("{hour:02}:00")) } }, averages.collect())
    });
    let names: Vec<_> = report.weekdays.iter().map(|of| &of.weekday[..3]).collect();
    let content = html! {
        figure { (chart::hours(&report.weekdays)) }
        (figures("Average of each hour", "Hour", &names, rows))
    };
    section("hours", "Hours of the week", HOURS_NOTE, &content)
}

/// The figures of a chart. The first column is named `first`; a row is its heading and its numbers.
fn figures(
    name: &str,
    first: &str,
    columns: &[&str],
    rows: impl Iterator<Item = (Markup, Vec<String>)>,
) -> Markup {
    html! {
        details {
            summary { (name) }
            div .scroll tabindex="0" role="group" aria-label=(name) {
                table {
                    thead {
                        tr {
                            th scope="col" { (first) }
                            @for name in columns { th .number scope="col" { (name) } }
                        }
                    }
                    tbody {
                        @for (heading, numbers) in rows {
                            tr { (heading) @for number in numbers { td .number { (number) } } }
                        }
                    }
                }
            }
        }
    }
}

fn terms(report: &PeriodReport) -> Markup {
    let terms = report.terms.as_deref().unwrap_or_default();
    let most = terms.iter().map(|of| of.count).max().unwrap_or_default();
    let rows = terms.iter().map(|of| row(&of.term, &bar(of.count, most), &[number(of.count)]));
    let none = if report.terms.is_some() { "No terms in the last 24 hours." } else { NO_TERMS };
    section("terms", "Search terms", TERMS_NOTE, &table("Term", &["Searches"], rows, none))
}

fn devices(report: &PeriodReport) -> Markup {
    let devices = &report.devices;
    let sum = devices.pc + devices.tablet + devices.mobile;
    let rows = [("Computer", devices.pc), ("Tablet", devices.tablet), ("Phone", devices.mobile)];
    let rows = rows.into_iter().filter(|_| sum > 0);
    let rows = rows.map(|(name, n)| row(name, &bar(n, sum), &[percent(n, sum), number(n)]));
    let content = table("Device", &["Share", "Reports"], rows, "No app reported a device in this period.");
    section("devices", "Devices", DEVICES_NOTE, &content)
}

fn topics(report: &PeriodReport) -> Markup {
    let most = report.topics.iter().map(|of| of.post).max().unwrap_or_default();
    let rows = report.topics.iter();
    let rows = rows.map(|of| row(&of.topic, &bar(of.post, most), &[of.post, of.view, of.like].map(number)));
    let none = "No posts with a topic in this period.";
    let content = table("Topic", &["Posts", "Views", "Likes"], rows, none);
    section("topics", "Topics", &topics_note(report.post_count), &content)
}

fn posts(report: &PeriodReport) -> Markup {
    let most = report.posts.iter().map(|of| of.view).max().unwrap_or_default();
    let rows = report.posts.iter().map(|of| {
        let heading = html! {
            // Only such addresses lead to a page; another one could run a script.
            @if of.url.starts_with("https://") || of.url.starts_with("http://") {
                a href=(of.url) rel="noopener noreferrer" { (of.title) }
            } @else {
                (of.title)
            }
            " "
            span .date { (short_date(&of.date)) }
        };
        row(heading, &bar(of.view, most), &[of.view, of.like].map(number))
    });
    let content = table("Post", &["Views", "Likes"], rows, "No posts in this period.");
    section("posts", "Posts", POSTS_NOTE, &content)
}

fn row(heading: impl Render, bar: &Markup, numbers: &[String]) -> Markup {
    html! {
        tr {
            th scope="row" { (heading) }
            td .graph { (bar) }
            @for number in numbers { td .number { (number) } }
        }
    }
}

/// The column of bars has no name: the numbers beside it say the same. Without rows, there is the text `none`.
fn table(first: &str, numbers: &[&str], rows: impl Iterator<Item = Markup>, none: &str) -> Markup {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return html! { p .none-yet { (none) } };
    }
    html! {
        table {
            thead {
                tr {
                    th scope="col" { (first) }
                    td class="graph" {}
                    @for name in numbers { th scope="col" class="number" { (name) } }
                }
            }
            tbody { @for row in rows { (row) } }
        }
    }
}

// Notes on each figure: which requests it counts and which it leaves out.

const DAYS_NOTE: &str = "A visitor is a member or a guest, counted once a day. A guest is recognised for one day \
    only, so a guest who returns the next day, or who stays past midnight, counts on both days; the sum of the days \
    counts a person once for each day. A visit ends after 30 minutes without a request, and at midnight. Declared \
    crawlers are neither visitors nor visits. Views and searches count every act, also those of crawlers; a like that is \
    taken back still counts.";

const HOURS_NOTE: &str = "The average number of visitors in an hour of a weekday. A visitor counts in every hour \
    with a request. Declared crawlers are left out. When clocks change, an hour that occurs twice counts as one, and an \
    hour that is skipped has no visitors.";

const TERMS_NOTE: &str = "Searches that apps reported in the last 24 hours, at most ten terms: earlier terms are \
    not kept. For each term, a visitor counts once an hour and five times at most, and the guests of one network count \
    100 times at most. Left out are the searches of declared crawlers, blocked terms, and terms of too few visitors for \
    the settings of this service.";

const NO_TERMS: &str =
    "Terms are kept for 24 hours only, so a report has them only if its last day is today.";

const DEVICES_NOTE: &str = "What apps reported on these days. An app may report a device more than once, and not \
    every app reports, so these are not numbers of visitors.";

const POSTS_NOTE: &str = "The posts with a date in the period that have the most views, at most ten. Views and \
    likes are those until now, not only those of the period, because they are kept for each post and not for each day. \
    Views count every act, also those of crawlers; likes that were taken back, and removed posts, are left out.";

fn topics_note(posts: i64) -> String {
    let read = if posts >= POSTS_READ {
        format!("the newest {} posts", number(POSTS_READ))
    } else {
        match posts {
            1 => "1 post".to_owned(),
            n => format!("{} posts", number(n)),
        }
    };
    format!(
        "The topics of {read} with a date in the period: the ten with the most posts. A post with several topics counts \
         in each of them. Views and likes are those until now, also after the period. Removed posts are left out."
    )
}
