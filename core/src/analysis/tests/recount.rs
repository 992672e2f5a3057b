//! Compares counters with a recount of all events, in various zones, on days of all lengths, after restarts, and with a
//! second process on the same file.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;
use crate::analysis::counters::Counts;
use crate::analysis::local_time::{HOURS, day_of, tests::ZONES};
use crate::base::config::Config;
use crate::testing::{cases, service_at};
use crate::{post, search};

#[derive(Clone, Copy, Debug)]
enum Client {
    Member(usize),
    Guest(u8),
    Crawler,
}

fn client() -> impl Strategy<Value = Client> {
    prop_oneof![
        3 => (0..3_usize).prop_map(Client::Member),
        3 => (0..3_u8).prop_map(Client::Guest),
        1 => Just(Client::Crawler),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Nothing,
    View,
    Like,
    Unlike,
    Search,
    Report,
}

fn act() -> impl Strategy<Value = Act> {
    proptest::sample::select(&[Act::Nothing, Act::View, Act::Like, Act::Unlike, Act::Search, Act::Report])
}

#[derive(Clone, Copy, Debug)]
enum Next {
    Continues,
    Settles,
    Restarts,
    /// A second process that has the file open continues.
    Switches,
}

fn next() -> impl Strategy<Value = Next> {
    prop_oneof![
        15 => Just(Next::Continues),
        3 => Just(Next::Settles),
        1 => Just(Next::Restarts),
        1 => Just(Next::Switches),
    ]
}

/// Returns a time shortly before clocks change in the zone, `years` years later.
fn start(zone: &str, years: i64) -> Timestamp {
    let zone = TimeZone::get(zone).unwrap();
    let from = jiff::Timestamp::from_second(1_300_000_000 + years * 31_556_952).unwrap();
    let change = zone.following(from).next().map_or(from, |change| change.timestamp());
    Timestamp::from_millis(change.as_millisecond() - 15 * 3_600_000)
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn hours_days_and_totals_agree_with_a_recount(
        zone in proptest::sample::select(&ZONES),
        years in 0..20_i64,
        steps in proptest::collection::vec((client(), act(), wait(), next()), 1..120),
    ) {
        let mut config = Config::default();
        config.analysis.timezone = Some(zone.parse().unwrap());
        let mut service = service_at(start(zone, years), config);
        let tz = TimeZone::get(zone).unwrap();
        let zoned = |at: Timestamp| {
            jiff::Timestamp::from_millisecond(at.as_millis()).unwrap().to_zoned(tz.clone())
        };
        let ids = ["ann", "ben", "cid"];
        let members = ids.map(|id| service.member(id));
        let draft = post::Draft {
            title: Some("t".into()), url: Some("https://a.b/".into()), ..post::Draft::default()
        };
        let id = service.call(&Caller::Operator, post::Insert { draft }).unwrap().id.to_string();
        let (location, clock) = (service.location(), service.clock().clone());
        let open = || Tidings::builder(&location).clock(clock.clone()).open().unwrap();
        let (mut other, mut events, mut liked) = (open(), Vec::new(), BTreeSet::new());
        for (client, mut act, wait, next) in steps {
            service.clock().advance(wait);
            let now = service.clock().now();
            // Rotates the keys as the retention thread does at midnight.
            service.analysis().keys.rotate(service.store(), service.analysis().calendar.local_hour(now).day).unwrap();
            let caller = match client {
                Client::Member(n) => {
                    let change = match act {
                        Act::Like => liked.insert(n),
                        Act::Unlike => liked.remove(&n),
                        _ => true,
                    };
                    service.visit(&again(&members[n]), 0);
                    act = if change { act } else { Act::Nothing };
                    again(&members[n])
                }
                Client::Guest(from) => {
                    service.visit(&Caller::Guest, from);
                    Caller::Guest
                }
                Client::Crawler => {
                    let feed = ("GET", "/get_device", "/get_device", 200);
                    service.communicate_as(&Caller::Guest, 0, "bingbot/2.0", feed);
                    Caller::Guest
                }
            };
            // Only members can like.
            if !matches!(client, Client::Member(_)) && matches!(act, Act::Like | Act::Unlike) {
                act = Act::Nothing;
            }
            match act {
                Act::Nothing => {}
                Act::View => post::view(&service, &caller, &id).wait().unwrap(),
                Act::Like => post::like(&service, &caller, &id).wait().unwrap(),
                Act::Unlike => post::unlike(&service, &caller, &id).wait().unwrap(),
                Act::Search => search::log(&service, &caller, None, "rust").wait().unwrap(),
                Act::Report => insert_device(&service, "tablet").wait().unwrap(),
            }
            match next {
                Next::Continues => {}
                Next::Settles => service.settle(),
                Next::Restarts => service.tidings = open(),
                Next::Switches => {
                    service.settle();
                    std::mem::swap(&mut service.tidings, &mut other);
                }
            }
            events.push((client, act, zoned(now)));
        }
        service.settle();
        // This process reads what the other one counted.
        service.tidings = open();

        // A recount that is independent of the service.
        let mut days: BTreeMap<String, Recount> = BTreeMap::new();
        for (client, act, at) in &events {
            let day = days.entry(at.date().to_string()).or_default();
            day.communications += 1;
            let in_hours = match act {
                Act::View => Some(&mut day.views),
                Act::Like => Some(&mut day.likes),
                Act::Search => Some(&mut day.searches),
                Act::Report => {
                    day.reports += 1;
                    None
                }
                Act::Nothing | Act::Unlike => None,
            };
            if let Some(hours) = in_hours {
                hours[usize::try_from(at.hour()).unwrap()] += 1;
            }
            let visitor = match client {
                Client::Member(n) => ids[*n].to_owned(),
                Client::Guest(from) => format!("guest {from}"),
                Client::Crawler => continue,
            };
            let ms = at.timestamp().as_millisecond();
            let hour = usize::try_from(at.hour()).unwrap();
            day.hours.insert((hour, visitor.clone()));
            let is_new_visit = day.seen.insert(visitor.clone(), ms).is_none_or(|before| ms - before >= 30 * 60_000);
            let student = if visitor.starts_with("guest") { "guest".to_owned() } else { visitor };
            *day.visits.entry(student).or_insert(0) += i64::from(is_new_visit);
        }

        let today = &events.last().unwrap().2;
        let first = &events[0].2;
        let span = i64::from((today.date() - first.date()).get_days());
        let report = service.call(&Caller::Operator, GetDaysAgo { days: span.min(366) }).unwrap().fields().analysis;
        let (mut visitors, mut highest) = (0, 0);
        for day in &report {
            let expected = days.get(&day.date).cloned().unwrap_or_default();
            prop_assert_eq!(day.today_visitor, i64::try_from(expected.seen.len()).unwrap(), "{}", day.date);
            for hour in &day.today_time_visitor {
                let visitors = expected.hours.iter().filter(|(h, _)| *h == hour.time).count();
                prop_assert_eq!(hour.visitor, i64::try_from(visitors).unwrap(), "{} {}", day.date, hour.time);
            }
            let shown: BTreeMap<String, i64> =
                day.today_student_visitor.iter().map(|s| (s.student_num.clone(), s.count)).collect();
            prop_assert_eq!(&shown, &expected.visits, "{}", day.date);
            prop_assert!(day.today_student_visitor.is_sorted_by_key(|s| -s.count));
            let [views, likes] = [expected.views, expected.likes].map(|hours| hours.iter().sum::<i64>());
            prop_assert_eq!((day.today_view, day.today_fav), (views, likes), "{}", day.date);
            let (counts, hourly) = counted(&service, &day.date);
            prop_assert_eq!(counts.of(Counter::Tablet), expected.reports, "{}", day.date);
            for (counter, hours) in &hourly {
                prop_assert_eq!(hours.iter().sum::<i64>(), counts.of(*counter), "{:?} {}", counter, day.date);
            }
            for (counter, hours) in [
                (Counter::View, expected.views),
                (Counter::Like, expected.likes),
                (Counter::Search, expected.searches),
            ] {
                prop_assert!(hourly.contains(&(counter, hours)), "{:?} {} {:?}", counter, day.date, hourly);
            }
            visitors += day.today_visitor;
            highest = highest.max(day.today_visitor);
        }
        let figures = service.figures();
        prop_assert_eq!(figures.total_visitor, visitors);
        prop_assert_eq!(figures.highest_day_visitor, highest);
        prop_assert_eq!(figures.day_avg_visitor, visitors / (span + 1));
        prop_assert_eq!(figures.today_visitor, report.last().unwrap().today_visitor);
        prop_assert_eq!(figures.communication_avg, i64::try_from(events.len()).unwrap());
        let all = |wanted| i64::try_from(events.iter().filter(|(_, act, _)| *act == wanted).count()).unwrap();
        prop_assert_eq!(figures.total_view, all(Act::View));
        prop_assert_eq!(figures.total_fav, i64::try_from(liked.len()).unwrap());
        prop_assert_eq!(figures.search_count, all(Act::Search));
        prop_assert_eq!(service.call(&Caller::Guest, GetDevices {}).unwrap().fields().tablet, all(Act::Report));

        // The log has the same communications on the same days.
        let everything = Window { months: i64::MAX, ..Window::default() };
        let lines = log_date(&service, &Caller::Operator, everything, LOG_MAX).unwrap().log;
        let mut communications: BTreeMap<String, i64> = BTreeMap::new();
        for line in lines {
            let at = zoned(line.date);
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
    views: [i64; HOURS],
    likes: [i64; HOURS],
    searches: [i64; HOURS],
    reports: i64,
}

fn counted(service: &Tidings, date: &str) -> (Counts, Vec<(Counter, [i64; HOURS])>) {
    let parts: Vec<i64> = date.split('-').map(|part| part.parse().unwrap()).collect();
    let day = day_of(parts[0], parts[1], parts[2]).unwrap();
    let hourly = [
        Counter::Visitor,
        Counter::View,
        Counter::Like,
        Counter::Search,
        Counter::GuestVisit,
        Counter::MemberVisit,
    ];
    let read = service.store().read(|tx| {
        let counts = Counts::of_day(tx, day)?;
        let hourly = hourly.map(|counter| Ok((counter, Counts::hourly(tx, day, counter)?)));
        Ok::<_, crate::Error>((counts, hourly.into_iter().collect::<Result<_>>()?))
    });
    read.unwrap()
}
