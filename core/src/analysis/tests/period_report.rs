use super::*;
use crate::base::clock::Timestamp;
use crate::base::config::Config;
use crate::post::{self, Draft};
use crate::record::answer::Ready;
use crate::testing::{draft, publish, service, service_at};

const HOUR_MS: i64 = 60 * 60 * 1_000;

fn at(time: &str, zone: &str) -> Service {
    let mut config = Config::default();
    config.analysis.timezone = Some(zone.parse().unwrap());
    service_at(Timestamp::parse(time).unwrap(), config)
}

fn insert(service: &Service, title: &str, date: &str, topics: &[&str]) -> String {
    let topic = Some(topics.iter().map(|topic| (*topic).to_owned()).collect());
    let draft = draft(title, format!("https://news.example.org/{title}"));
    publish(service, Draft { date: Some(date.into()), topic, ..draft })
}

fn view(service: &Service, id: &str, times: usize) {
    for _ in 0..times {
        post::view(service, &Caller::Guest, id).wait().unwrap();
    }
}

fn answer(service: &Service, from: &str, to: &str) -> Ready<PeriodReport> {
    service.settle();
    service.call(&Caller::Guest, GetReport { from: Some(from.into()), to: Some(to.into()) }).unwrap()
}

fn report(service: &Service, from: &str, to: &str) -> PeriodReport {
    answer(service, from, to).fields()
}

#[test]
fn the_last_30_days_are_the_default_and_an_empty_report_is_complete() {
    let service = service();
    let report = service.call(&Caller::Guest, GetReport { from: None, to: None }).unwrap().fields();
    assert_eq!((&*report.from, &*report.to, &*report.zone), ("2026-10-22", "2026-11-20", "UTC"));
    assert_eq!((report.days.len(), report.sums(), report.is_final), (30, [0; 5], false));
    let empty = GetReport { from: Some(String::new()), to: Some(String::new()) };
    assert_eq!(report, service.call(&Caller::Guest, empty).unwrap().fields());
    // 30 days are four weeks and two days: the last one is a Friday.
    let days: Vec<_> = report.weekdays.iter().map(|weekday| (&*weekday.weekday, weekday.days)).collect();
    assert_eq!(days[2..5], [("Wednesday", 4), ("Thursday", 5), ("Friday", 5)]);
    assert_eq!((&report.terms, &*report.topics, &*report.posts), (&Some(vec![]), &[][..], &[][..]));
}

#[test]
fn a_period_ends_today_at_the_latest_and_has_at_most_366_days() {
    let service = service();
    let of = |from: Option<&str>, to: Option<&str>| {
        let report = GetReport { from: from.map(str::to_owned), to: to.map(str::to_owned) };
        let report = service.call(&Caller::Guest, report)?.fields();
        Ok::<_, Error>((report.from, report.to))
    };
    let days = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(of(Some("2026-11-20"), Some("2027-01-01")).unwrap(), days("2026-11-20", "2026-11-20"));
    assert_eq!(of(None, Some("2026-03-01")).unwrap(), days("2026-01-31", "2026-03-01"));
    assert_eq!(of(Some("2025-11-20"), None).unwrap(), days("2025-11-20", "2026-11-20"));
    for (from, to, field) in [
        (Some("2025-11-19"), None, None),
        (Some("2026-11-21"), None, None),
        (Some("2026-11-02"), Some("2026-11-01"), None),
        (Some("2026-02-29"), None, Some("from")),
        (None, Some("yesterday"), Some("to")),
    ] {
        let refused = of(from, to).unwrap_err();
        assert_eq!((refused.result(), refused.problem().field), ("bad request", field), "{from:?} {to:?}");
    }
}

#[test]
fn a_report_counts_what_happened_on_its_days_only() {
    let service = at("2026-11-18T08:36:00Z", "Asia/Seoul");
    let ann = service.member("ann");
    for _ in 0..3 {
        service.visit(&again(&ann), 0);
        service.visit(&Caller::Guest, 1);
        crate::search::log(&service, &Caller::Guest, None, "eclipse").wait().unwrap();
        insert_device(&service, "tablet").wait().unwrap();
        service.settle();
        service.clock().advance(24 * HOUR_MS);
    }
    // 21 November, a Saturday, 17:36 in Seoul.
    let one = report(&service, "2026-11-19", "2026-11-19");
    let day = &one.days[0];
    assert_eq!((&*day.date, day.visitor, day.visit, day.search), ("2026-11-19", 2, 2, 1));
    assert_eq!((one.weekdays[3].days, one.weekdays[3].hours[17], one.devices.tablet), (1, 2, 1));
    assert_eq!((one.terms.clone(), one.is_final), (None, true), "the terms are those of the last 24 hours");
    let all = report(&service, "2026-11-15", "2026-11-21");
    assert_eq!((all.sums(), all.devices.tablet), ([6, 6, 0, 0, 3], 3));
    let by_weekday: Vec<i64> = all.weekdays.iter().map(|weekday| weekday.hours.iter().sum()).collect();
    assert_eq!(by_weekday, [0, 0, 2, 2, 2, 0, 0]);
    assert!(all.weekdays.iter().all(|weekday| weekday.days == 1) && all.terms.is_some());
    let period = GetPeriod { first: "2026-11-15".into(), last: "2026-11-21".into() };
    let figures = service.call(&Caller::Operator, period).unwrap();
    assert_eq!(all.days, figures.days, "both reports of the same days agree");
}

#[test]
fn a_day_of_25_hours_and_one_of_23_have_24_columns() {
    // In Berlin, 2:30 occurs twice on 25 October 2026, a Sunday.
    let service = at("2026-10-25T00:30:00Z", "Europe/Berlin");
    service.visit(&Caller::Guest, 1);
    service.clock().advance(HOUR_MS);
    service.visit(&Caller::Guest, 2);
    let long = report(&service, "2026-10-25", "2026-10-25");
    let hours = long.weekdays[6].hours;
    assert_eq!((hours[2], hours.iter().sum::<i64>(), long.days[0].visitor), (2, 2, 2));

    // On 28 March 2027, a Sunday, 2:00 is skipped. The day has its last minute, and not that of the next one.
    let service = at("2027-03-28T00:59:00Z", "Europe/Berlin");
    service.visit(&Caller::Guest, 1);
    service.clock().advance(2 * 60_000);
    service.visit(&Caller::Guest, 1);
    for (title, date) in [
        ("before", "2027-03-27T22:59:59Z"),
        ("first", "2027-03-27T23:00:00Z"),
        ("next", "2027-03-28T22:00:00Z"),
    ] {
        insert(&service, title, date, &[]);
    }
    service.clock().advance(21 * HOUR_MS);
    let short = report(&service, "2027-03-28", "2027-03-28");
    let hours = short.weekdays[6].hours;
    assert_eq!((hours[1], hours[2], hours[3]), (1, 0, 1));
    let titles: Vec<_> = short.posts.iter().map(|post| (&*post.title, &*post.date)).collect();
    assert_eq!((titles, short.post_count), (vec![("first", "2027-03-28")], 1));
}

#[test]
fn topics_and_posts_are_those_that_were_published_in_the_period() {
    let service = service();
    let ann = service.member("ann");
    let old = insert(&service, "old", "2026-10-31T23:59:59Z", &["sea"]);
    let calm = insert(&service, "calm", "2026-11-01T00:00:00Z", &["sea", "sky"]);
    let storm = insert(&service, "storm", "2026-11-02T00:00:00Z", &["sea"]);
    insert(&service, "still", "2026-11-03T00:00:00Z", &["sky", "moon"]);
    insert(&service, "planned", "2026-11-20T20:00:00Z", &["sea"]);
    view(&service, &old, 9);
    view(&service, &calm, 1);
    view(&service, &storm, 3);
    post::like(&service, &ann, &storm).wait().unwrap();
    let report = report(&service, "2026-11-01", "2026-11-20");
    let posts: Vec<_> = report.posts.iter().map(|post| (&*post.title, post.view, post.like)).collect();
    assert_eq!(posts, [("storm", 3, 1), ("calm", 1, 0), ("still", 0, 0)]);
    assert_eq!((&report.posts[0].id, &*report.posts[0].date), (&storm, "2026-11-02"));
    let topics = report.topics.iter().map(|of| (&*of.topic, of.post, of.view, of.like));
    assert_eq!(topics.collect::<Vec<_>>(), [("sea", 2, 4, 1), ("sky", 2, 1, 0), ("moon", 1, 0, 0)]);
    assert_eq!(report.post_count, 3);
}

#[test]
fn at_most_ten_posts_and_topics_are_shown_and_nothing_of_a_member() {
    let service = service();
    for n in 0..12 {
        insert(&service, &format!("post-{n}"), "2026-11-20T00:00:00Z", &[&format!("topic {n}")]);
    }
    let ann = service.member("ann-of-the-lake");
    service.visit(&ann, 7);
    let report = report(&service, "2026-11-20", "2026-11-20");
    assert_eq!((report.posts.len(), report.topics.len(), report.post_count), (10, 10, 12));
    let json = serde_json::to_string(&report).unwrap();
    assert!(!json.contains("ann-of-the-lake") && !json.contains("203.0.113"), "{json}");
    assert_eq!(serde_json::from_str::<PeriodReport>(&json).unwrap(), report);
}

#[test]
fn a_report_is_computed_again_when_something_in_it_changes() {
    let service = service();
    let old = insert(&service, "old", "2026-11-01T00:00:00Z", &["sea"]);
    let encoded = |to| Arc::clone(answer(&service, "2026-11-01", to).encoded());
    let ended = || report(&service, "2026-11-01", "2026-11-10");
    let open = || report(&service, "2026-11-01", "2026-11-20");
    let [first, today] = ["2026-11-10", "2026-11-20"].map(encoded);
    assert!(Arc::ptr_eq(&first, &encoded("2026-11-10")) && Arc::ptr_eq(&today, &encoded("2026-11-20")));
    assert_eq!(open().sums()[0], 0);
    service.visit(&Caller::Guest, 3);
    assert!(Arc::ptr_eq(&first, &encoded("2026-11-10")), "nothing is counted on its days any more");
    assert_eq!(open().sums()[0], 1);
    view(&service, &old, 2);
    assert_eq!((ended().posts[0].view, open().posts[0].view), (2, 2));
    insert(&service, "planned", "2026-11-20T20:00:00Z", &[]);
    assert_eq!(open().post_count, 1);
    service.clock().advance(12 * HOUR_MS);
    assert_eq!((open().post_count, open().is_final), (2, false));
    service.clock().advance(24 * HOUR_MS);
    assert!(open().is_final);
}

#[test]
fn a_report_that_is_kept_has_the_time_zone_of_now() {
    let service = service();
    let zone = || report(&service, "2026-11-01", "2026-11-10").zone;
    assert_eq!((zone(), zone()), ("UTC".into(), "UTC".into()));
    set_timezone(&service, &Caller::Operator, &"Asia/Seoul".parse().unwrap()).unwrap();
    assert_eq!(zone(), "Asia/Seoul");
}
