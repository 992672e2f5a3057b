//! The report of a period: days, hours by weekday, search terms, devices, topics and posts. Everyone may read it, like the daily
//! reports: it contains nothing about a single visitor, and reads the counters of at most 366 days and at most [`POSTS_READ`]
//! posts, however long the history is. Reports are cached.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::counters::{Counter, Counts};
use super::local_time::{HOURS, date_text};
use super::period::{DayFigures, PERIOD_MAX, day_number};
use super::report::{Devices, Question, Validity};
use super::trends;
use crate::account::Call;
use crate::record::id::ObjectId;
use crate::record::schema::{Date, one_of, schemas};

use crate::Tidings;
use crate::base::clock::Timestamp;
use crate::record::answer::{self, Encoded, Ready};
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::operation::{Access, Operation, Spec, Work};
use crate::store::{QUERY_TIMEOUT, Topic, Tx, version_in};

mod sql;

/// The number of days of a report whose first day is not given.
pub const REPORT_DAYS: i64 = 30;
/// The maximum number of posts of a period from which a report takes its topics and posts; the newest ones.
pub const POSTS_READ: i64 = 10_000;
/// The maximum number of topics, and of posts, in a report.
pub const RANKED_MAX: i64 = 10;

const FROM_RULE: Problem = Problem::invalid("from", "the first day is a date such as 2026-11-20");
const TO_RULE: Problem = Problem::invalid("to", "the last day is a date such as 2026-11-20");
const REPORT_RULE: Problem = Problem::new(
    Code::InvalidValue,
    "a report begins today at the latest, ends on or after its first day, and has at most 366 days",
);

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

schemas! {
    /// A day of the week.
    pub(super) Weekday = one_of(WEEKDAYS);
}

/// The figures of a period, for people to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PeriodReport {
    /// The first day, `YYYY-MM-DD`.
    #[schema(value_type = Date)]
    pub from: String,
    /// The last day, `YYYY-MM-DD`.
    #[schema(value_type = Date)]
    pub to: String,
    /// The time zone in which days and hours are counted.
    #[schema(max_length = 100, examples("Asia/Seoul"))]
    pub zone: String,
    /// Whether all days are final: nothing is counted on the last day any more.
    #[schema(examples(true))]
    pub is_final: bool,
    /// The days, oldest first.
    #[schema(min_items = 1, max_items = 366)]
    pub days: Vec<DayFigures>,
    /// The hours of each weekday, Monday first.
    #[schema(min_items = 7, max_items = 7)]
    pub weekdays: Vec<WeekdayHours>,
    /// The most searched terms of the last 24 hours, most searched first; missing if the period ends before today.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 10)]
    pub terms: Option<Vec<TermCount>>,
    /// Devices that apps reported on these days.
    pub devices: Devices,
    /// Number of posts with a date in the period, from which `topics` and `posts` are taken: the newest 10,000 at most.
    pub post_count: i64,
    /// The topics with the most posts of the period, at most ten.
    #[schema(max_items = 10)]
    pub topics: Vec<TopicFigures>,
    /// The posts of the period with the most views, at most ten.
    #[schema(max_items = 10)]
    pub posts: Vec<PostFigures>,
}

/// The visitors in each hour of a weekday.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WeekdayHours {
    /// The English name of the weekday.
    #[schema(value_type = Weekday)]
    pub weekday: String,
    /// Number of days of the period that are this weekday.
    pub days: i64,
    /// Number of visitors in each hour, 0 to 23, summed over these days.
    #[schema(value_type = Vec<i64>, min_items = 24, max_items = 24)]
    pub hours: [i64; HOURS],
}

/// A search term with its number of searches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TermCount {
    /// The term.
    #[schema(max_length = 200, examples("eclipse"))]
    pub term: String,
    /// Number of searches in the last 24 hours.
    pub count: i64,
}

/// The posts of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TopicFigures {
    /// The topic.
    #[schema(max_length = 2_000, examples("science"))]
    pub topic: String,
    /// Number of posts with a date in the period.
    pub post: i64,
    /// Number of views of these posts until now.
    pub view: i64,
    /// Number of likes of these posts now.
    pub like: i64,
}

/// A post with its figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PostFigures {
    /// The id.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// The title.
    #[schema(max_length = 300, examples("An eclipse over the lake"))]
    pub title: String,
    /// The address.
    #[schema(max_length = 2_000, examples("https://news.example.org/eclipse"))]
    pub url: String,
    /// The day of the post's date, `YYYY-MM-DD`.
    #[schema(value_type = Date)]
    pub date: String,
    /// Number of views until now.
    pub view: i64,
    /// Number of likes now.
    pub like: i64,
}

impl PeriodReport {
    /// Returns the sums of all days: visitors, visits, views, likes, searches.
    pub fn sums(&self) -> [i64; 5] {
        let mut sums = [0; 5];
        for day in &self.days {
            let of_day = [day.visitor, day.visit, day.view, day.like, day.search];
            sums.iter_mut().zip(of_day).for_each(|(sum, n)| *sum += n);
        }
        sums
    }
}

/// Get a period's report
///
/// A period has at most 366 days. Figures by day, visitors by weekday and hour, devices, and the topics and posts that were
/// published in the period. Search terms are those of the last 24 hours, and are missing if the period ends before today. Nothing
/// in a report is about a single visitor.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetReport {
    /// The first day, `YYYY-MM-DD`; by default, or if it is empty, 29 days before the last day.
    #[schema(max_length = 100, examples("2026-11-20"))]
    pub from: Option<String>,
    /// The last day, `YYYY-MM-DD`; by default, if it is empty, or after today, today.
    #[schema(max_length = 100, examples("2026-11-20"))]
    pub to: Option<String>,
}

impl Operation for GetReport {
    type Answer = Ready<PeriodReport>;
    const SPEC: Spec = Spec::get("analysis", "/get_report", Access::Open).public().works(Work::Query);

    fn run(self, call: &Call<'_>) -> Result<Ready<PeriodReport>> {
        let (analysis, now) = (call.tidings().analysis(), call.now());
        let zone = call.store().version(Topic::Zone);
        analysis.calendar.refresh(call.store());
        let today = analysis.calendar.local_hour(now).day;
        let (first, last) = days(today, self.from.as_deref(), self.to.as_deref())?;
        analysis.report(Question::Period(first, last), now, || {
            compute(call.tidings(), zone, (first, last), today, now)
        })
    }

    fn shared(answer: &Ready<PeriodReport>) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }

    fn remembered(&self, tidings: &Tidings) -> Option<Result<Arc<Encoded>>> {
        let (analysis, now) = (tidings.analysis(), tidings.now());
        let today = analysis.calendar.local_hour(now).day;
        let (first, last) = days(today, self.from.as_deref(), self.to.as_deref()).ok()?;
        analysis.cached(Question::Period(first, last), now).map(Ok)
    }
}

/// `zone` is the version from before the time zone was read.
fn compute(
    tidings: &Tidings,
    zone: i64,
    (first, last): (i64, i64),
    today: i64,
    now: Timestamp,
) -> Result<(Vec<u8>, Validity)> {
    let analysis = tidings.analysis();
    let ranking = (last == today).then(|| analysis.trends.ranking(tidings.store(), now)).transpose()?;
    let term = |(term, count)| TermCount { term, count };
    let (terms, searches) = ranking
        .map(|trends::Current { list, version, until }| {
            (list.into_iter().map(term).collect::<Vec<_>>(), (version, until))
        })
        .unzip();
    let local_time = analysis.calendar.local_time();
    let starts = local_time.day_start(first)..local_time.day_start(last + 1);
    // A post with a later date is not published yet.
    let dates = starts.start..starts.end.min(now + 1);
    let is_final = last < analysis.calendar.local_hour(now - super::LATE_MS).day;
    analysis.settle();
    tidings.store().read_within(QUERY_TIMEOUT, |tx| {
        let mut versions = vec![(Topic::Zone, zone)];
        versions.extend(searches.map(|(version, _)| (Topic::Terms, version)));
        // Nothing is counted on days that are final, except what touches the history.
        let topics = [Topic::Posts, Topic::History, Topic::Counts];
        for topic in &topics[..if is_final { 2 } else { 3 }] {
            versions.push((*topic, version_in(tx, *topic)?));
        }
        let (days, weekdays, devices) = count(tx, first, last)?;
        let (post_count, topics) = sql::topics(tx, &dates)?;
        let day_of = |date: Timestamp| date_text(local_time.local_hour(date).day);
        let report = PeriodReport {
            from: date_text(first),
            to: date_text(last),
            zone: local_time.zone_at(now).name().to_owned(),
            is_final,
            days,
            weekdays,
            terms,
            devices,
            post_count,
            topics,
            posts: sql::posts(tx, &dates, day_of)?,
        };
        let ends = [
            Some(local_time.day_start(today + 1)),
            searches.map(|(_, until)| until),
            (!is_final).then_some(starts.end + super::LATE_MS),
            sql::next(tx, &(dates.end..starts.end))?,
        ];
        let until = ends.into_iter().flatten().min().unwrap_or(now);
        Ok((answer::success(&report), Validity { versions, from: now, until }))
    })
}

fn days(today: i64, from: Option<&str>, to: Option<&str>) -> Result<(i64, i64)> {
    let number = |text: Option<&str>, rule| {
        let text = text.filter(|text| !text.is_empty());
        text.map(|text| day_number(text).ok_or(Error::BadRequest(rule))).transpose()
    };
    let last = number(to, TO_RULE)?.unwrap_or(today).min(today);
    let first = number(from, FROM_RULE)?.unwrap_or(last - (REPORT_DAYS - 1));
    if (0..PERIOD_MAX).contains(&(last - first)) {
        Ok((first, last))
    } else {
        Err(Error::BadRequest(REPORT_RULE))
    }
}

fn count(tx: &mut dyn Tx, first: i64, last: i64) -> Result<(Vec<DayFigures>, Vec<WeekdayHours>, Devices)> {
    let weekday = |weekday: &str| WeekdayHours { weekday: weekday.to_owned(), days: 0, hours: [0; HOURS] };
    let mut weekdays = WEEKDAYS.map(weekday);
    let mut devices = Devices { pc: 0, tablet: 0, mobile: 0 };
    let counted = Counts::of_days(tx, first, last)?;
    let days = (first..).zip(counted).map(|(day, counts)| {
        let weekday = &mut weekdays[weekday_index(day)];
        weekday.days += 1;
        weekday.hours.iter_mut().zip(counts.hours).for_each(|(sum, hour)| *sum += hour);
        devices.pc += counts.of(Counter::Pc);
        devices.tablet += counts.of(Counter::Tablet);
        devices.mobile += counts.of(Counter::Mobile);
        DayFigures::new(day, &counts, counts.of(Counter::GuestVisit) + counts.of(Counter::MemberVisit))
    });
    let days = days.collect();
    Ok((days, weekdays.into(), devices))
}

/// Day 0, 1970-01-01, was a Thursday.
fn weekday_index(day: i64) -> usize {
    usize::try_from((day + 3).rem_euclid(7)).expect("a remainder of 7 is small")
}
