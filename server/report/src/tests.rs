//! Tests of the page, its charts and the tables as CSV.

use tidings_core::analysis::{
    DayFigures, Devices, PeriodReport, PostFigures, TermCount, TopicFigures, WeekdayHours,
};

use super::*;
use crate::chart;

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/// Visitors on a usual day from Monday to Sunday, and in each hour of it in hundredths.
const OF_WEEKDAY: [i64; 7] = [92, 104, 112, 101, 88, 46, 40];
const OF_HOUR: [i64; 24] =
    [4, 2, 1, 1, 1, 2, 5, 12, 20, 24, 26, 25, 30, 28, 24, 22, 21, 20, 18, 20, 24, 22, 14, 8];

/// Returns the report of 30 days from Sunday, 1 November 2026.
fn busy() -> PeriodReport {
    let day = |n: i64| {
        let visitor = OF_WEEKDAY[usize::try_from((n + 6) % 7).unwrap()] + n * 37 % 23;
        DayFigures {
            date: format!("2026-11-{:02}", n + 1),
            visitor,
            visit: visitor + 4 + n * 13 % 17,
            view: visitor * 3 + n * 29 % 71,
            like: visitor / 4 + n * 7 % 11,
            search: visitor / 5 + n * 5 % 13,
            communication: visitor * 9,
        }
    };
    let weekday = |(n, name): (usize, &&str)| {
        let days = if n == 0 || n == 6 { 5 } else { 4 };
        let hours = OF_HOUR.map(|of_hour| OF_WEEKDAY[n] * of_hour * days / 100);
        WeekdayHours { weekday: (*name).to_owned(), days, hours }
    };
    let title = ["An eclipse over the lake", "도서관이 다시 열립니다", "Closed on Friday"];
    PeriodReport {
        from: "2026-11-01".into(),
        to: "2026-11-30".into(),
        zone: "Asia/Seoul".into(),
        is_final: false,
        days: (0..30).map(day).collect(),
        weekdays: WEEKDAYS.iter().enumerate().map(weekday).collect(),
        terms: Some(vec![
            TermCount { term: "eclipse".into(), count: 21 },
            TermCount { term: "학식".into(), count: 9 },
        ]),
        devices: Devices { pc: 120, tablet: 31, mobile: 245 },
        post_count: 42,
        topics: vec![TopicFigures { topic: "science".into(), post: 12, view: 1_300, like: 88 }],
        posts: (0..3)
            .map(|n: usize| PostFigures {
                id: format!("6b0039acd7c34f1e5b2e91a{n}"),
                title: title[n].into(),
                url: format!("https://news.example.org/{n}"),
                date: format!("2026-11-{:02}", 3 + n),
                view: 420 / (1 + i64::try_from(n).unwrap()),
                like: 31,
            })
            .collect(),
    }
}

/// Returns a report without figures of a day in the past.
fn empty() -> PeriodReport {
    let date = || "2026-11-20".to_owned();
    let day =
        DayFigures { date: date(), visitor: 0, visit: 0, view: 0, like: 0, search: 0, communication: 0 };
    let weekday = |name: &&str| WeekdayHours {
        weekday: (*name).to_owned(),
        days: i64::from(*name == "Friday"),
        hours: [0; 24],
    };
    PeriodReport {
        from: date(),
        to: date(),
        zone: "UTC".into(),
        is_final: true,
        days: vec![day],
        weekdays: WEEKDAYS.iter().map(weekday).collect(),
        terms: None,
        devices: Devices { pc: 0, tablet: 0, mobile: 0 },
        post_count: 0,
        topics: vec![],
        posts: vec![],
    }
}

/// Returns the page without its style and its drawings, with an element or a row of a table a line, and three rows of each
/// table.
fn readable(page: &str) -> String {
    let (head, rest) = page.split_once("<style>").unwrap();
    let (style, body) = rest.split_once("</style>").unwrap();
    assert_eq!(style, STYLE);
    let parts = body.split("<svg ").map(|part| part.split_once("</svg>").map_or(part, |(_, after)| after));
    let body = parts.collect::<Vec<_>>().join("[a drawing]");
    let parts = body.split("</tbody>").map(|part| match part.split_once("<tbody>") {
        Some((before, rows)) => {
            format!("{before}<tbody>{}", rows.split_inclusive("</tr>").take(3).collect::<String>())
        }
        None => part.to_owned(),
    });
    let body = parts.collect::<Vec<_>>().join("</tbody>");
    let whole = format!("{head}<style>[the style]</style>{body}");
    let lines = whole.replace("><", ">\n<").replace(">\n</", "></");
    lines.replace(">\n<td", "><td").replace(">\n<th", "><th")
}

#[test]
fn a_page_has_a_chart_a_table_and_a_note_for_every_figure() {
    insta::assert_snapshot!("page", readable(&page(&busy(), Place::Server)));
}

#[test]
fn a_period_without_figures_says_so() {
    let page = page(&empty(), Place::File);
    for text in [
        "<h1>20 November 2026</h1>",
        "1 day · UTC<",
        "No visitors in this period",
        "a report has them only if its last day is today",
        "No app reported a device",
        "No posts with a topic",
        "No posts in this period",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    // A file has no form, and no links.
    assert!(!page.contains("<form") && !page.contains("href") && !page.contains("NaN"), "{page}");
}

#[test]
fn charts_are_svg_with_a_title_and_a_description() {
    for report in [busy(), empty()] {
        let page = page(&report, Place::File);
        let svgs: Vec<_> =
            page.split("<svg ").skip(1).map(|rest| rest.split("</svg>").next().unwrap()).collect();
        assert!(svgs.len() >= 7, "two charts and five tiles");
        for svg in svgs {
            let mut reader = quick_xml::Reader::from_str(svg);
            while !matches!(reader.read_event().unwrap(), quick_xml::events::Event::Eof) {}
            let is_named =
                svg.contains("role=\"img\"") && svg.contains("<title id=") && svg.contains("<desc id=");
            assert!(is_named != svg.contains("aria-hidden=\"true\""), "{svg}");
        }
    }
}

#[test]
fn hostile_texts_are_inert() {
    let mut report = busy();
    let hostile = "</td><script>alert(1)</script>\"'><img src=x onerror=alert(2)>";
    report.posts[0].title = hostile.into();
    report.posts[0].url = "javascript:alert(3)".into();
    report.posts[1].url = format!("https://news.example.org/{hostile}");
    report.topics[0].topic = hostile.into();
    report.terms = Some(vec![TermCount { term: hostile.into(), count: 1 }]);
    for place in [Place::File, Place::Server] {
        let page = page(&report, place);
        assert!(!["<script", "<img", "javascript:"].iter().any(|part| page.contains(part)), "{page}");
        assert_eq!(page.matches("&lt;script&gt;").count(), 4);
        // No attribute was closed early.
        assert!(page.contains(
            "href=\"https://news.example.org/&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;"
        ));
    }
}

#[test]
fn tables_are_csv_that_no_spreadsheet_runs() {
    let mut report = busy();
    report.posts[0].title = "=HYPERLINK(\"https://evil.example\", \"a, b\")".into();
    report.posts[1].title = "two\nlines".into();
    report.topics[0].topic = "+1".into();
    report.terms.as_mut().unwrap()[0].term = "\u{ff1d}1+1".into();
    let tables: Vec<_> = Table::ALL
        .into_iter()
        .map(|table| {
            assert_eq!(Table::of_file_name(table.file_name()), Some(table));
            let csv = table.csv(&report);
            let mut lines = ::csv::Reader::from_reader(csv.as_bytes());
            let width = lines.headers().unwrap().len();
            assert!(lines.records().all(|line| line.unwrap().len() == width));
            let start: Vec<_> = csv.split("\r\n").take(3).collect();
            format!("{}:\n{}", table.file_name(), start.join("\n"))
        })
        .collect();
    insta::assert_snapshot!("tables", tables.join("\n\n"));
    assert_eq!(Table::of_file_name("members.csv"), None);
}

/// Draws the charts in the README; `cargo insta review` updates them.
#[test]
fn the_readme_shows_the_charts_as_they_are() {
    let (busy, hours) = (busy(), chart::DAYS_HEIGHT + 40);
    let height = hours + chart::HOURS_HEIGHT + 12;
    let picture = maud::html! {
        svg xmlns="http://www.w3.org/2000/svg" width="820" height=(height) viewBox={ "0 0 820 " (height) } {
            style { (maud::PreEscaped(STYLE)) "svg.chart{width:100%} .paper{fill:var(--paper)}" }
            rect .paper width="820" height=(height) rx="10" {}
            svg x="60" y="16" width="736" height=(chart::DAYS_HEIGHT) overflow="visible" {
                (chart::days(&busy.days, false))
            }
            svg x="60" y=(hours) width="736" height=(chart::HOURS_HEIGHT) overflow="visible" {
                (chart::hours(&busy.weekdays))
            }
        }
    };
    insta::assert_binary_snapshot!("readme_report.svg", picture.into_string().into_bytes());
}
