//! Tests of paths that clients invent.

use tidings_cluster::{Scratch, only_on_sqlite};

use super::*;
use crate::service::retention;
use crate::testing::{NOW, service};

const TOPIC: &str = "/get_newsfeed_of_topic/{category_name}";
const DAY: Window = Window { months: 0, days: 1, hours: 0 };

fn rows(service: &Service, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    service.store().read(|tx| tx.one(&sql, &[])?.take(0)).unwrap()
}

fn paths(service: &Service) -> Vec<String> {
    service.settle();
    log_date(service, &Caller::Operator, DAY, 1_000).unwrap().log.into_iter().map(|line| line.path).collect()
}

#[test]
fn each_line_has_its_own_path_and_no_path_makes_the_table_of_requests_larger() {
    let service = service();
    let get = |template, path: &str| service.communicate(&Caller::Guest, 1, "GET", template, path);
    for n in 0..900 {
        get(TOPIC, &format!("/get_newsfeed_of_topic/{n}"));
    }
    get("/get_popularity_newsfeed", "/get_popularity_newsfeed");
    let shown = paths(&service);
    let topics = (0..900).rev().map(|n| format!("/get_newsfeed_of_topic/{n}"));
    let expected: Vec<_> = std::iter::once("/get_popularity_newsfeed".to_owned()).chain(topics).collect();
    assert_eq!(shown, expected);
    assert_eq!(rows(&service, "request"), 2);
    let service = service.reopened();
    service.communicate(&Caller::Guest, 1, "GET", TOPIC, "/get_newsfeed_of_topic/cats");
    assert_eq!(paths(&service)[0], "/get_newsfeed_of_topic/cats");
    assert_eq!(rows(&service, "request"), 2, "a request is found again after a restart");
}

#[test]
fn a_database_whose_requests_have_paths_keeps_its_lines() {
    only_on_sqlite!("it opens files with older schemas");
    let database = Scratch::new();
    let path = database.path();
    let connection = rusqlite::Connection::open(&path).unwrap();
    for step in [
        include_str!("../../store/sqlite/0001_initial.sql"),
        include_str!("../../store/sqlite/0002_analysis.sql"),
        include_str!("../../store/sqlite/0003_acts.sql"),
    ] {
        connection.execute_batch(step).unwrap();
    }
    connection.pragma_update(None, "application_id", 0x7464_6e67).unwrap();
    connection.pragma_update(None, "user_version", 3).unwrap();
    let topic = "/get_newsfeed_of_topic/cats";
    let day = NOW.as_millis() / DAY_MS;
    connection.execute("INSERT INTO request VALUES (7, 'GET', ?1, 5, 200, NULL, ?2)", (topic, day)).unwrap();
    connection.execute("INSERT INTO log VALUES (?1, 0, 7)", (log::first_key(NOW - 5),)).unwrap();
    drop(connection);

    let mut config = config::Config::default();
    config.analysis.log_days = 7;
    let tidings = Tidings::builder(&path).config(config).clock(Clock::fixed(NOW)).open().unwrap();
    let service = Service { tidings, database };
    for _ in 0..2 {
        service.communicate(&Caller::Guest, 1, "GET", TOPIC, topic);
    }
    assert_eq!(paths(&service), [topic; 3]);
    assert_eq!(rows(&service, "request"), 2, "the old row and one for all paths");
    // The old row is deleted with its lines.
    service.clock().advance(9 * DAY_MS);
    service.communicate(&Caller::Guest, 1, "GET", TOPIC, topic);
    service.settle();
    retention::delete_expired(&service);
    assert_eq!((rows(&service, "request"), rows(&service, "log")), (1, 1));
}
