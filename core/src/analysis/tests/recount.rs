//! Counters against a count anew of everything that happened, in all kinds of zones and on days of all lengths.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;
use crate::analysis::bucket::tests::ZONES;
use crate::config::Config;
use crate::testing::service_at;

/// What happens at some time: who comes, and after how long.
#[derive(Clone, Copy, Debug)]
enum Who {
    Member(usize),
    Guest(u8),
    Crawler,
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        3 => (0..3_usize).prop_map(Who::Member),
        3 => (0..3_u8).prop_map(Who::Guest),
        1 => Just(Who::Crawler),
    ]
}

fn wait() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 0..20 * 60_000_i64,
        2 => Just(30 * 60_000 - 1),
        2 => Just(30 * 60_000),
        2 => 0..5 * 3_600_000_i64,
        1 => 20 * 3_600_000..30 * 3_600_000_i64,
    ]
}

/// A moment shortly before clocks change in the zone, from year to year.
fn start(zone: &str, years: i64) -> i64 {
    let zone = TimeZone::get(zone).unwrap();
    let from = Timestamp::from_second(1_300_000_000 + years * 31_556_952).unwrap();
    let change = zone.following(from).next().map_or(from, |change| change.timestamp());
    change.as_millisecond() - 15 * 3_600_000
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn parts_agree_with_totals_and_counters_with_a_recount(
        zone in proptest::sample::select(&ZONES),
        years in 0..20_i64,
        steps in proptest::collection::vec((who(), wait(), proptest::bool::weighted(0.2)), 1..120),
    ) {
        let mut config = Config::default();
        config.analysis.timezone = Some(zone.parse().unwrap());
        let service = service_at(start(zone, years), config);
        let tz = TimeZone::get(zone).unwrap();
        let ids = ["ann", "ben", "cid"];
        let members = ids.map(|id| service.member(id));
        let mut events = Vec::new();
        for (who, wait, settles) in steps {
            service.clock().advance(wait);
            let at = Timestamp::from_millisecond(service.clock().now()).unwrap().to_zoned(tz.clone());
            match who {
                Who::Member(n) => service.visit(&again(&members[n]), 0),
                Who::Guest(from) => service.visit(&Caller::Nobody, from),
                Who::Crawler => {
                    let feed = ("GET", "/get_device", "/get_device", 200);
                    service.communicate_as(&Caller::Nobody, 0, "bingbot/2.0", feed);
                }
            }
            if settles {
                service.settle();
            }
            events.push((who, at));
        }
        service.settle();

        // Counted anew, with nothing of the service's own.
        let mut days: BTreeMap<String, Recount> = BTreeMap::new();
        for (who, at) in &events {
            let day = days.entry(at.date().to_string()).or_default();
            day.communications += 1;
            let visitor = match who {
                Who::Member(n) => ids[*n].to_owned(),
                Who::Guest(from) => format!("guest {from}"),
                Who::Crawler => continue,
            };
            let ms = at.timestamp().as_millisecond();
            let hour = usize::try_from(at.hour()).unwrap();
            day.hours.insert((hour, visitor.clone()));
            let comes = day.seen.insert(visitor.clone(), ms).is_none_or(|before| ms - before >= 30 * 60_000);
            let student = if visitor.starts_with("guest") { "guest".to_owned() } else { visitor };
            *day.visits.entry(student).or_insert(0) += i64::from(comes);
        }

        let today = &events.last().unwrap().1;
        let first = &events[0].1;
        let span = i64::from((today.date() - first.date()).get_days());
        let report = days_ago(&service, &Caller::Nobody, span.min(366)).unwrap().analysis;
        let (mut visitors, mut highest) = (0, 0);
        for day in &report {
            let expected = days.get(&day.date).cloned().unwrap_or_default();
            prop_assert_eq!(day.today_visitor, i64::try_from(expected.seen.len()).unwrap(), "{}", day.date);
            for hour in &day.today_time_visitor {
                let there = expected.hours.iter().filter(|(h, _)| *h == hour.time).count();
                prop_assert_eq!(hour.visitor, i64::try_from(there).unwrap(), "{} {}", day.date, hour.time);
            }
            let shown: BTreeMap<String, i64> =
                day.today_student_visitor.iter().map(|s| (s.student_num.clone(), s.count)).collect();
            prop_assert_eq!(&shown, &expected.visits, "{}", day.date);
            prop_assert!(day.today_student_visitor.is_sorted_by_key(|s| -s.count));
            visitors += day.today_visitor;
            highest = highest.max(day.today_visitor);
        }
        let figures = service.figures();
        prop_assert_eq!(figures.total_visitor, visitors);
        prop_assert_eq!(figures.highest_day_visitor, highest);
        prop_assert_eq!(figures.day_avg_visitor, visitors / (span + 1));
        prop_assert_eq!(figures.today_visitor, report.last().unwrap().today_visitor);
        prop_assert_eq!(figures.communication_avg, i64::try_from(events.len()).unwrap());

        // The log holds the same communications, on the same days.
        let everything = Window { months: i64::MAX, ..Window::default() };
        let lines = log_date(&service, &Caller::Operator, everything, LOG_MAX).unwrap().log;
        let mut communications: BTreeMap<String, i64> = BTreeMap::new();
        for line in lines {
            let at = Timestamp::from_millisecond(line.date.0).unwrap().to_zoned(tz.clone());
            *communications.entry(at.date().to_string()).or_insert(0) += 1;
        }
        let expected: BTreeMap<String, i64> =
            days.iter().map(|(date, day)| (date.clone(), day.communications)).collect();
        prop_assert_eq!(communications, expected);
    }
}

#[derive(Clone, Default)]
struct Recount {
    communications: i64,
    seen: BTreeMap<String, i64>,
    hours: BTreeSet<(usize, String)>,
    visits: BTreeMap<String, i64>,
}
