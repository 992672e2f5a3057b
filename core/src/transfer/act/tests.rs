//! Tests of the import of acts. They compare it with the same acts in this service, and with imports in a different
//! order.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::account::Caller;
use crate::analysis;
use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::config::Config;
use crate::import::{About, to_the_end};
use crate::newsfeed::Page;
use crate::record::answer::LineError;
use crate::store::Row;
use crate::testing::{NOW, Service, cases, service_at};
use crate::transfer::member_import;
use crate::{post, profile, search};

mod popularity;

const MINUTE: i64 = 60_000;
const MEMBERS: [&str; 4] = ["ann", "ben", "cid", "dan"];
const TOPICS: [&str; 3] = ["rust", "cats", "도서관"];

#[derive(Clone, Copy, Debug)]
struct TestAct {
    member: usize,
    kind: &'static str,
    what: usize,
    at: Timestamp,
}

impl TestAct {
    fn line(self) -> String {
        let Self { member, kind, what, at } = self;
        let (id, date) = (MEMBERS[member].to_uppercase(), at.to_string());
        let line = match kind {
            "search" => json!({"id": id, "type": kind, "search": searched(what), "date": date}),
            "newsfeed" => {
                json!({"id": id, "type": kind, "newsfeed_name": TOPICS[what % TOPICS.len()], "date": date})
            }
            kind => json!({"id": id, "type": kind, "url": url(what), "date": date}),
        };
        format!("{line}\n")
    }
}

fn url(n: usize) -> String {
    format!("https://example.com/{n}")
}

fn searched(n: usize) -> String {
    format!("Topic {} {}", TOPICS[n % TOPICS.len()], n % 5)
}

fn service(now: Timestamp) -> Service {
    let mut config = Config { token_days: 400, ..Config::default() };
    config.analysis.timezone = Some("Asia/Seoul".parse().unwrap());
    let service = service_at(now, config);
    let posts = (0..12).map(|n| {
        json!({
            "_id": format!("{n:024x}"), "url": url(n), "title": format!("Post {n} of {}", TOPICS[n % 3]),
            "topic": [TOPICS[n % 3]], "tag": [format!("tag {}", n % 4), "all"],
            "date": NOW - 100 * DAY_MS + i64::try_from(n).unwrap() * MINUTE,
        })
    });
    let posts: String = posts.map(|post| post.to_string() + "\n").collect();
    post::import(&service, &Caller::Operator, posts.as_bytes(), &mut to_the_end).unwrap();
    service
}

fn import_from(service: &Service, acts: &[TestAct]) -> Report {
    let lines: String = acts.iter().map(|act| act.line()).collect();
    ImportActs {}.import(service, &Caller::Operator, lines.as_bytes(), &mut to_the_end).unwrap()
}

/// Returns acts of the 40 days before [`NOW`], ordered by time, without equal times: some are close together, some
/// hours apart.
fn history() -> Vec<TestAct> {
    let mut state = 7_u64;
    let mut dice = |sides: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((state >> 33) % sides).unwrap()
    };
    let (mut at, mut acts) = (NOW - 40 * DAY_MS, Vec::new());
    while at < NOW {
        let kind = ["view", "view", "view", "like", "search", "newsfeed"][dice(6)];
        acts.push(TestAct { member: dice(4), kind, what: dice(12), at });
        at += [1, 10 * MINUTE, 29 * MINUTE, 30 * MINUTE, 31 * MINUTE, 5 * 60 * MINUTE][dice(6)];
    }
    acts
}

/// Imports members without passwords, which is faster than signing up.
fn import_members(service: &Service) {
    let members = MEMBERS.map(|id| json!({"id": id}).to_string()).join("\n");
    member_import::import_members(service, &Caller::Operator, members.as_bytes(), &mut to_the_end).unwrap();
}

fn perform(service: &Service, acts: &[TestAct]) {
    let members = MEMBERS.map(|id| service.member(id));
    for act in acts {
        service.clock().advance(act.at - service.clock().now());
        let (caller, id) = (&members[act.member], format!("{:024x}", act.what));
        match act.kind {
            "view" => post::view(service, caller, &id).wait().unwrap(),
            "like" => post::like(service, caller, &id).wait().unwrap(),
            "search" => search::log(service, caller, None, &searched(act.what)).wait().unwrap(),
            _ => {
                let topic = TOPICS[act.what % TOPICS.len()];
                drop(newsfeed::topic(service, caller, topic, &Page::default()).unwrap());
            }
        }
        service.communicate(caller, 1, "GET", "/test", "/test");
        // Otherwise requests of many hours of this clock are written together, and count in the last of them.
        service.store().flush().wait().unwrap();
    }
    service.clock().advance(NOW - service.clock().now());
}

fn figures(service: &Service) -> analysis::Analysis {
    service.call(&Caller::Guest, analysis::GetSummary {}).unwrap().fields().analysis
}

fn reports(service: &Service) -> Value {
    let days = service.call(&Caller::Operator, analysis::GetDaysAgo { days: 60 }).unwrap().fields();
    let mut summary = json!(figures(service));
    summary["communication_avg"].take();
    let feed = |answer: crate::newsfeed::FeedPage| -> Value {
        serde_json::from_slice::<Value>(answer.answer().json()).unwrap()["newsfeed"].take()
    };
    let page = Page::default();
    let mut report = json!({
        "summary": summary,
        "days": days,
        "realtime": service.call(&Caller::Guest, analysis::GetRealtime {}).unwrap().fields(),
        "popular": feed(newsfeed::popular(service, &page).unwrap()),
        "guests": feed(newsfeed::recommended(service, &Caller::Guest, &page).unwrap()),
    });
    for id in MEMBERS {
        let caller = Caller::Member(id.to_owned());
        report[id] = json!({
            "info": service.call(&caller, profile::Get {}).unwrap(),
            "lists": service.call(&caller, profile::GetLists { type_num: "0".into() }).unwrap(),
            "lately": service.call(&caller, search::ListRecent { num: 300 }).unwrap(),
            "recommended": feed(newsfeed::recommended(service, &caller, &page).unwrap()),
        });
    }
    report
}

fn counted(service: &Service) -> Vec<String> {
    let read = service.store().read(|tx| {
        let mut rows = rows(tx, "day_count", "day, counter, n", "WHERE n <> 0 AND counter <> 6")?;
        rows.extend(self::rows(tx, "visitor", "day || '.' || visitor, visits || '.' || hours, seen", "")?);
        Ok::<_, crate::Error>(rows)
    });
    read.unwrap()
}

fn rows(tx: &mut dyn Tx, table: &str, columns: &str, which: &str) -> Result<Vec<String>> {
    let rows = tx.rows(&format!("SELECT {columns} FROM {table} {which} ORDER BY 1, 2, 3"), &[])?;
    Ok(rows.into_iter().map(|row: Row| format!("{table} {row:?}")).collect())
}

#[test]
fn imported_acts_give_the_same_reports_as_performed_acts() {
    let acts = history();
    assert!(acts.len() > 500, "{}", acts.len());
    let here = service(NOW - 40 * DAY_MS);
    perform(&here, &acts);
    let there = service(NOW);
    import_members(&there);
    let mut turned = acts.clone();
    turned.reverse();
    let (second, first) = turned.split_at(turned.len() / 3);
    let reports_of = [first, second, &acts].map(|acts| import_from(&there, acts));
    let repeated = acts.len() as u64 - reports_of[0].inserted - reports_of[1].inserted;
    assert!(reports_of.iter().all(|report| report.errors.is_empty()));
    assert_eq!((reports_of[2].inserted, reports_of[2].skipped), (0, acts.len() as u64));
    assert!(repeated > 0, "some posts were liked again");

    let (here, there) = (here.reopened(), there.reopened());
    assert_eq!(counted(&here), counted(&there));
    let (here, there) = (reports(&here), reports(&there));
    for (name, report) in here.as_object().unwrap() {
        assert_eq!(report, &there[name], "{name}");
    }
    assert!(!here["realtime"]["search_realtime"].as_array().unwrap().is_empty());
    assert_ne!(here["ann"]["recommended"], here["guests"]);
}

#[test]
fn imported_and_performed_acts_close_together_are_one_visit() {
    let day = NOW - NOW.as_millis() % DAY_MS;
    let at = |minutes: i64| day + minutes * MINUTE;
    let view = |minutes| TestAct { member: 0, kind: "view", what: 0, at: at(minutes) };
    let service = service(at(0));
    perform(&service, &[view(60), view(61), view(120)]);
    let visits = || {
        let days = service.call(&Caller::Operator, analysis::GetDaysAgo { days: 0 }).unwrap().fields();
        let day = &days.analysis[0];
        (day.today_visitor, day.today_view, day.today_student_visitor[0].count)
    };
    assert_eq!(visits(), (1, 3, 2));
    assert_eq!(import_from(&service, &[view(10), view(200), view(171)]).inserted, 3);
    assert_eq!(visits(), (1, 6, 4), "one more visit, from minute 171 to 200");
    assert_eq!(import_from(&service, &[view(100), view(89)]).inserted, 2);
    assert_eq!(visits(), (1, 8, 3), "the visits from minute 60 to 120 become one");
}

#[test]
fn acts_before_a_reset_are_not_listed_except_likes() {
    let service = service(NOW);
    let ann = service.member("ann");
    service.call(&ann, profile::ResetMeasurement {}).unwrap();
    service.clock().advance(DAY_MS);
    let act = |kind, what, at| TestAct { member: 0, kind, what, at };
    let acts: Vec<TestAct> = [NOW - DAY_MS, NOW, NOW + 1]
        .into_iter()
        .zip(0..)
        .flat_map(|(at, n)| ["view", "like", "search", "newsfeed"].map(|kind| act(kind, n, at)))
        .collect();
    assert_eq!(import_from(&service, &acts).inserted, 12);
    let lists = json!(service.call(&ann, profile::GetLists { type_num: "0".into() }).unwrap());
    let lengths = ["view_list", "search_list", "newsfeed_list", "fav_list"]
        .map(|name| lists[name].as_array().unwrap().len());
    assert_eq!(lengths, [1, 1, 1, 3]);
    assert_eq!(figures(&service).total_view, 3);
}

#[test]
fn lists_keep_the_newest_300_entries_in_any_import_order() {
    let service = service(NOW);
    let ann = service.member("ann");
    let act = |n: usize| TestAct {
        member: 0,
        kind: "search",
        what: n,
        at: NOW - i64::try_from(n).unwrap() * 1_000,
    };
    for range in [200..310, 0..120, 100..250] {
        import_from(&service, &range.map(act).collect::<Vec<_>>());
    }
    let list = service.call(&ann, search::ListRecent { num: 300 }).unwrap().fields().lately_search_list;
    let dates: Vec<Timestamp> = list.iter().map(|record| record.date).collect();
    assert_eq!(dates, (0..300).map(|n| NOW - n * 1_000).collect::<Vec<_>>());
    assert_eq!(service.number("SELECT count(*) FROM searched"), 300);
    assert_eq!(figures(&service).search_count, 310);
}

#[test]
fn each_bad_line_is_reported_and_the_others_are_imported() {
    let service = service(NOW);
    service.member("ann");
    let good =
        json!({"id": "ann", "type": "view", "url": " https://example.com/0 ", "date": "2026-11-20", "x": 1});
    let with = |name: &str, value: Value| {
        let mut line = good.clone();
        line[name] = value;
        line
    };
    let long = "a".repeat(201);
    let bad = [
        (with("id", Value::Null), ID_MISSING),
        (with("id", json!("nobody")), "there is no member with this id: import members first"),
        (with("type", json!("click")), TYPE_RULE),
        (with("type", Value::Null), TYPE_RULE),
        (with("url", Value::Null), URL_MISSING),
        (with("url", json!("https://example.com/99")), "there is no post with this url: import posts first"),
        (with("type", json!("search")), SEARCH_MISSING),
        (
            json!({"id": "ann", "type": "search", "search": long, "date": "2026-11-20"}),
            &SEARCH_RULE.message(),
        ),
        (with("type", json!("newsfeed")), NEWSFEED_RULE),
        (with("date", Value::Null), DATE_MISSING),
        (with("date", json!("1969-12-31T23:59:59Z")), DATE_RULE),
        (with("date", json!(1_700_000_000)), "date is not a text in quotes"),
        (with("date", json!("2026-11-20T08:36:00.001Z")), FUTURE),
    ];
    let lines: String =
        bad.iter().map(|(line, _)| line).chain([&good]).map(|line| line.to_string() + "\n").collect();
    let errors = (1..).zip(&bad).map(|(line, (_, reason))| LineError { line, reason: (*reason).to_owned() });
    let about = About { left_out: bad.len() as u64, ..About::default() };
    let imported =
        ImportActs {}.import(&service, &Caller::Operator, lines.as_bytes(), &mut to_the_end).unwrap();
    let expected = Report { inserted: 1, errors: errors.collect(), about, ..Report::default() };
    assert_eq!(imported, expected);
}

fn left(service: &Service) -> Vec<String> {
    let tables = [
        ("moved_act", "member, date, act", ""),
        ("liked", "member, post, date", ""),
        ("viewed", "member, post, date", ""),
        ("searched", "member, original, date", ""),
        ("opened", "member, newsfeed || tag, date", ""),
        ("term", "visitor, term, date", ""),
        (
            "post_stats",
            // The heats of shorter half-lives are estimates once an act has taken the place of another.
            "view, fav, CAST(round(heat_5 * 1000000) AS BIGINT) || '.' || CAST(round(heat_11 * 1000000) AS BIGINT)",
            "",
        ),
        ("visitor", "day || '.' || visitor, visits || '.' || hours, seen", ""),
        ("day_count", "day, counter, n", "WHERE n <> 0"),
        ("total_count", "0, counter, n", "WHERE n <> 0"),
    ];
    let read = service.store().read(|tx| {
        tables
            .map(|(table, columns, which)| rows(tx, table, columns, which))
            .into_iter()
            .collect::<Result<Vec<_>>>()
    });
    read.unwrap().concat()
}

fn act() -> impl Strategy<Value = TestAct> {
    let kind = proptest::sample::select(&["view", "like", "search", "newsfeed"]);
    let at = prop_oneof![
        // Within days, around the end of a visit, and almost at the same time.
        (0..4 * 24 * 60_i64).prop_map(|minutes| NOW - minutes * MINUTE),
        (0..6_i64).prop_map(|n| NOW - n * 15 * MINUTE),
        (0..3_i64).prop_map(|n| NOW - n),
    ];
    (0..2_usize, kind, 0..4_usize, at).prop_map(|(member, kind, what, at)| TestAct { member, kind, what, at })
}

#[test]
fn repeated_imports_in_any_order_write_the_same_rows() {
    let files = proptest::collection::vec(act(), 1..60).prop_flat_map(|acts| {
        let some = proptest::sample::subsequence(acts.clone(), 0..=acts.len()).prop_shuffle();
        (Just(acts.clone()), proptest::collection::vec(some, 0..3), Just(acts).prop_shuffle())
    });
    proptest!(cases(24), |((acts, some, all) in files)| {
        let [whole, split] = [service(NOW), service(NOW)];
        [&whole, &split].into_iter().for_each(import_members);
        let report = import_from(&whole, &acts);
        prop_assert_eq!(report.inserted + report.skipped, acts.len() as u64);
        for file in some.iter().chain([&all]) {
            import_from(&split, file);
        }
        let expected = left(&whole);
        prop_assert_eq!(&left(&split), &expected);
        prop_assert_eq!(import_from(&split, &acts).inserted, 0);
        prop_assert_eq!(&left(&split), &expected);
    });
}
