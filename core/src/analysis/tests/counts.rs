use tidings_cluster::only_on_sqlite;

use super::*;
use crate::base::config::Config;
use crate::post;
use crate::record::answer::{Encoded, Ready};
use crate::record::operation::Operation;
use crate::record::scope::Scope;
use crate::service::retention;
use crate::store::{Isolation, StoreError};
use crate::testing::{self, NOW, service, service_at, service_with};
use crate::{profile, search};

fn post(service: &Service, url: &str) -> String {
    testing::publish(service, testing::draft("A title", format!("https://blog.rs/{url}")))
}

const TODAY: GetDay = GetDay { year: 2026, month: 11, day: 20 };

fn day(tidings: &Tidings, caller: &Caller) -> Arc<Day> {
    tidings.call(caller, TODAY).unwrap().fields().analysis
}

fn shown(tidings: &Tidings, caller: &Caller) -> Vec<String> {
    students(&day(tidings, caller)).into_iter().map(|(num, count)| format!("{num} {count}")).collect()
}

fn with_numbers(numbers: config::StudentNumbers) -> Service {
    let mut config = Config::default();
    config.analysis.student_num_chars = numbers;
    service_with(config)
}

#[test]
fn guests_keep_their_number_after_a_restart_but_not_on_the_next_day() {
    let service = service();
    retention::start(&service).unwrap();
    service.visit(&Caller::Guest, 1);
    service.settle();
    let open = |now| {
        let tidings = Tidings::builder(service.location()).clock(Clock::fixed(now)).open().unwrap();
        retention::start(&tidings).unwrap();
        tidings
    };
    let number =
        |tidings: &Tidings| Guest::new(tidings, Ipv4Addr::new(203, 0, 113, 1).into(), AGENT.as_bytes());
    assert_eq!(number(&open(NOW)), number(&service));
    let tomorrow = open(NOW + DAY_MS);
    assert_ne!(number(&tomorrow), number(&service));
    // The key of the first day was replaced, and its guests are deleted.
    assert_ne!(number(&open(NOW)), number(&service));
    retention::delete_expired(&tomorrow);
    let days_in = |table: &str| {
        let today = NOW.as_millis() / DAY_MS;
        service.texts(&format!("SELECT CAST(day - {today} AS TEXT) FROM {table} ORDER BY day"))
    };
    assert_eq!((days_in("visitor"), days_in("day_key")), (vec![], vec!["1".to_owned(), "2".to_owned()]));
    let figures = tomorrow.call(&Caller::Guest, GetSummary {}).unwrap().fields().analysis;
    assert_eq!(figures.total_visitor, 1, "counters stay");
}

#[test]
fn acts_of_removed_members_and_posts_stay_counted_and_failed_ones_are_not() {
    let service = service();
    let (ann, ben, id) = (service.member("ann"), service.member("ben"), post(&service, "a"));
    post::view(&service, &ann, &id).wait().unwrap();
    for _ in 0..2 {
        post::like(&service, &ann, &id).wait().unwrap();
        post::unlike(&service, &ben, &id).wait().unwrap();
    }
    search::log(&service, &ann, None, "rust").wait().unwrap();
    post::view(&service, &ann, "6560c1a2ffeeddccbbaa0001").wait().unwrap_err();
    post::like(&service, &Caller::Guest, &id).wait().unwrap_err();
    search::log(&service, &ann, None, "").wait().unwrap_err();
    let check = |posts_count| {
        let figures = service.figures();
        assert_eq!((figures.total_view, figures.total_fav, figures.search_count), (1, 1, 1));
        assert_eq!((figures.posts_count, figures.communication_avg), (posts_count, 0));
        assert_eq!((service.today().today_view, service.today().today_fav), (1, 1));
    };
    check(1);
    service.call(&ann, profile::Remove {}).unwrap();
    service.call(&Caller::Operator, post::Remove { post_obi: id }).unwrap();
    check(0);
}

#[test]
fn a_report_has_at_most_366_days_before_today() {
    let service = service();
    let days =
        |days| service.call(&Caller::Guest, GetDaysAgo { days }).map(|days| days.fields().analysis.len());
    assert_eq!(days(366).unwrap(), 367);
    assert!(matches!(days(367), Err(Error::BadRequest(_))));
}

#[test]
fn student_numbers_are_truncated_and_added_up_except_for_administrators() {
    let service = with_numbers(config::StudentNumbers::First(4));
    let root = service.admin("root");
    for id in ["2019001", "2019002", "2020001", "guests"] {
        service.visit(&service.member(id), 1);
    }
    service.visit(&Caller::Guest, 1);
    let removed = service.member("2019003");
    service.visit(&removed, 1);
    service.settle();
    service.call(&removed, profile::Remove {}).unwrap();
    let truncated = ["2019 2", "2020 1", "gues 1", "guest 1", "removed 1"];
    let whole = ["2019001 1", "2019002 1", "2020001 1", "guest 1", "guests 1", "removed 1"];
    for (caller, expected) in [
        (Caller::Guest, &truncated[..]),
        (service.member("2021001"), &truncated),
        (service.key(Scope::Posts), &truncated),
        (root.clone(), &whole),
        (Caller::Operator, &whole),
        (service.key(Scope::AnalyticsRead), &whole),
    ] {
        assert_eq!(shown(&service, &caller), expected, "{caller:?}");
    }
    // An answer that is cached for one caller is not shown to a caller with other permissions.
    let [long, short] = [&root, &Caller::Guest].map(|caller| service.call(caller, TODAY).unwrap());
    assert!(long.encoded().json().len() > short.encoded().json().len());
    assert!(Arc::ptr_eq(short.encoded(), &TODAY.remembered(&service).unwrap().unwrap()));
}

#[test]
fn reports_show_entrance_years_and_no_other_ids_unless_the_settings_say_so() {
    use crate::base::config::StudentNumbers::First;
    let ids = &["2019001", "2019002", "202", "2020-1", "ann", "ben"][..];
    for (numbers, ids, expected) in [
        (config::StudentNumbers::default(), ids, &["member 3", "2019 2", "202 1"][..]),
        (First(2), ids, &["20 4", "an 1", "be 1"]),
        // A truncated number never reads guest or removed.
        (First(5), &["guest2"], &["gues 1"]),
        (First(5), &["GUESTS"], &["GUES 1"]),
        (First(7), &["removed-1"], &["remove 1"]),
    ] {
        let service = with_numbers(numbers);
        for id in ids {
            service.visit(&service.member(id), 1);
        }
        service.settle();
        let (mut shown, mut expected) = (shown(&service, &Caller::Guest), expected.to_vec());
        shown.sort();
        expected.sort_unstable();
        assert_eq!(shown, expected);
    }
}

#[test]
fn visits_of_removed_members_are_added_up_on_past_days_too() {
    let service = service();
    let (ann, ben) = (service.member("ann"), service.member("ben"));
    service.visit(&ann, 1);
    service.visit(&ben, 1);
    service.settle();
    service.clock().advance(DAY_MS);
    let yesterday = || shown(&service, &Caller::Operator);
    assert_eq!(yesterday(), ["ann 1", "ben 1"]);
    service.call(&ann, profile::Remove {}).unwrap();
    assert_eq!(yesterday(), ["ben 1", "removed 1"]);
    service.call(&ben, profile::Remove {}).unwrap();
    assert_eq!(yesterday(), ["removed 2"]);
    service.member("ann");
    assert_eq!(yesterday(), ["removed 2"]);
}

fn remembered(service: &Service, question: &impl Operation) -> Option<Arc<Encoded>> {
    question.remembered(service).map(Result::unwrap)
}

#[test]
fn answers_are_cached_until_something_is_counted_or_the_day_changes() {
    fn is_cached<T>(service: &Service, question: &(impl Operation<Answer = Ready<T>> + Clone)) {
        assert!(remembered(service, question).is_none());
        let ask = || Arc::clone(service.call(&Caller::Guest, question.clone()).unwrap().encoded());
        let first = ask();
        assert!(Arc::ptr_eq(&first, &ask()));
        assert!(Arc::ptr_eq(&first, &remembered(service, question).unwrap()));
    }
    let service = service();
    let id = post(&service, "a");
    is_cached(&service, &GetSummary {});
    is_cached(&service, &GetDaysAgo { days: 3 });
    is_cached(&service, &TODAY);
    is_cached(&service, &GetDevices {});
    is_cached(&service, &GetRealtime {});
    post::view(&service, &Caller::Guest, &id).wait().unwrap();
    assert!(remembered(&service, &GetSummary {}).is_none());
    assert_eq!(service.figures().total_view, 1);
    search::log(&service, &Caller::Guest, None, "Rust").wait().unwrap();
    let trends = service.call(&Caller::Guest, GetRealtime {}).unwrap();
    assert_eq!(trends.encoded().json(), &br#"{"result":"success","search_realtime":[["rust",1]]}"#[..]);
    let today = || service.call(&Caller::Guest, GetDaysAgo { days: 0 }).unwrap().fields().analysis.remove(0);
    let before = today();
    service.clock().advance(DAY_MS);
    assert!(remembered(&service, &GetSummary {}).is_none() && remembered(&service, &TODAY).is_none());
    assert!(remembered(&service, &GetDaysAgo { days: 0 }).is_none());
    assert!(remembered(&service, &GetDevices {}).is_none());
    assert!(remembered(&service, &GetRealtime {}).is_none());
    assert_ne!(today(), before);
}

#[test]
fn reports_that_are_requested_often_are_a_second_old_at_most() {
    let service = service();
    let id = post(&service, "a");
    let mut views = 0;
    let mut is_exact = || {
        post::view(&service, &Caller::Guest, &id).wait().unwrap();
        views += 1;
        service.call(&Caller::Guest, GetSummary {}).unwrap().fields().analysis.total_view == views
    };
    assert!((0..32).all(|_| is_exact()) && !is_exact());
    service.clock().advance(999);
    assert!(!is_exact());
    service.clock().advance(1);
    assert!((0..32).all(|_| is_exact()) && !is_exact());
}

#[test]
fn an_event_committed_after_midnight_counts_on_the_day_before() {
    let midnight = Timestamp::parse("2026-11-21T00:00:00Z").unwrap();
    let service = service_at(midnight - 1, Config::default());
    let (tidings, clock) = (service.tidings.clone(), service.clock().clone());
    let yesterday = |tidings: &Tidings| day(tidings, &Caller::Guest).today_view;
    let before = service.store().write(Isolation::Alone, move |tx| {
        tidings.analysis().calendar.count(tx, Counter::View, midnight - 1)?;
        // Midnight passes during the commit, and a report is made.
        clock.advance(1);
        Ok::<_, StoreError>(yesterday(&tidings))
    });
    assert_eq!((before.unwrap(), yesterday(&service)), (0, 1));
}

#[test]
fn a_replaced_day_key_is_nowhere_on_disk() {
    only_on_sqlite!("it reads the bytes of the file");
    let service = service();
    retention::start(&service).unwrap();
    let keys = || service.texts("SELECT secret FROM day_key");
    let on_disk = |keys: &[String]| {
        let files = ["test.db", "test.db-wal"].map(|file| service.path().with_file_name(file));
        let files = files.map(|file| std::fs::read(file).unwrap());
        let held = |key: &&String| {
            files.iter().any(|file| file.windows(key.len()).any(|part| part == key.as_bytes()))
        };
        keys.iter().filter(held).count()
    };
    let first = keys();
    assert_eq!((first.len(), on_disk(&first)), (2, 2));
    service.visit(&Caller::Guest, 1);
    service.settle();
    service.clock().advance(2 * DAY_MS);
    retention::delete_expired(&service);
    assert_eq!((on_disk(&first), on_disk(&keys())), (0, 2));
}
