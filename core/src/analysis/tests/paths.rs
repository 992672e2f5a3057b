//! Tests of paths that clients invent.

use std::collections::HashMap;

use siphasher::sip::SipHasher13;
use tidings_cluster::{Scratch, only_on_sqlite};

use super::*;
use crate::analysis::log::{LoggedRequest, RequestKeys};
use crate::retention;
use crate::store::{Arg, Dialect, Effects, Isolation, Row, StoreError};
use crate::testing::{NOW, service};

const TOPIC: &str = "/get_newsfeed_of_topic/{category_name}";
const DAY: Window = Window { months: 0, days: 1, hours: 0 };

/// A transaction that counts its statements.
struct Counting<'t> {
    tx: &'t mut dyn Tx,
    statements: usize,
}

impl Tx for Counting<'_> {
    fn for_each(
        &mut self,
        sql: &str,
        args: &[Arg<'_>],
        each: &mut dyn FnMut(&mut Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.statements += 1;
        self.tx.for_each(sql, args, each)
    }
    fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, StoreError> {
        self.statements += 1;
        self.tx.run(sql, args)
    }
    fn dialect(&self) -> Dialect {
        self.tx.dialect()
    }
    fn revision(&self) -> i64 {
        self.tx.revision()
    }
    fn horizon(&mut self) -> Result<i64, StoreError> {
        self.tx.horizon()
    }
    fn at_commit(&mut self) -> Option<&mut Effects> {
        self.tx.at_commit()
    }
}

/// Returns the number of statements that finding the keys of these requests takes, all at one time.
fn statements(
    template: &'static str,
    status: u16,
    paths: impl Iterator<Item = String> + Clone + Send + 'static,
) -> usize {
    let service = service();
    let operation = Operation::new("GET", template);
    let counted = service.store().write(Isolation::Alone, move |tx| {
        let (mut tx, mut requests) = (Counting { tx, statements: 0 }, RequestKeys::default());
        for path in paths.clone() {
            let request = LoggedRequest {
                operation,
                path: Some(&path),
                answer: LoggedAnswer { status, result: SUCCESS },
                at: NOW,
            };
            requests.key(&mut tx, request, 20_000)?;
        }
        Ok::<_, StoreError>(tx.statements)
    });
    counted.unwrap()
}

fn rows(service: &Service, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    service.store().read(|tx| tx.one(&sql, &[])?.take(0)).unwrap()
}

fn paths(service: &Service) -> Vec<String> {
    service.settle();
    log_date(service, &Caller::Operator, DAY, 1_000).unwrap().log.into_iter().map(|line| line.path).collect()
}

#[test]
fn a_flood_of_new_paths_costs_a_bounded_number_of_statements() {
    let topics = statements(TOPIC, 200, (0..10_000).map(|n| format!("/get_newsfeed_of_topic/{n}")));
    // Lookups and inserts, plus the template, the key of the hash and the number of rows.
    assert_eq!(topics, 2 * 4_096 + 4);
    let posts = statements("/get_post/{post_obi}", 404, (0..10_000).map(|n| format!("/get_post/{n}")));
    assert_eq!(posts, 2 * 1_024 + 4);
    // The member in the path is looked up too. None of them exists, so there is one row.
    let names = (0..10_000).map(|n| format!("/get_log_user/nobody{n}/5"));
    assert_eq!(statements("/get_log_user/{user_id}/{limit}", 401, names), 2 * 1_024 + 5);
}

#[test]
fn a_flood_of_paths_is_logged_as_templates_and_spares_other_operations() {
    let service = service();
    let topic = |name: &str| {
        service.communicate(&Caller::Guest, 1, "GET", TOPIC, &format!("/get_newsfeed_of_topic/{name}"));
    };
    topic("cats");
    for n in 0..5_000 {
        topic(&n.to_string());
    }
    service.settle();
    assert_eq!(rows(&service, "request"), 4_096 + 1);
    service.clock().advance(1);
    topic("dogs");
    topic("cats");
    service.communicate(
        &Caller::Guest,
        1,
        "GET",
        "/get_post/{post_obi}",
        "/get_post/6560c1a2ffeeddccbbaa0001",
    );
    service.clock().advance(10_000);
    topic("dogs");
    let expected = [
        "/get_newsfeed_of_topic/dogs",
        "/get_post/6560c1a2ffeeddccbbaa0001",
        "/get_newsfeed_of_topic/cats",
        TOPIC,
        TOPIC,
    ];
    assert_eq!(paths(&service)[..5], expected);
    assert_eq!(service.figures().communication_avg, 5_005, "all are counted");
}

#[test]
fn paths_made_up_to_collide_do_not_collide() {
    // A hash without a secret key, which clients can compute.
    let unkeyed = |path: &str| SipHasher13::new_with_key(&[0; 16]).hash(path.as_bytes()) >> 32;
    let (mut made, mut pairs) = (HashMap::new(), Vec::new());
    for n in 0..300_000 {
        let path = format!("/get_newsfeed_of_topic/{n}");
        if let Some(other) = made.insert(unkeyed(&path), path.clone()) {
            pairs.extend([path, other]);
        }
    }
    assert!(pairs.len() > 4, "{pairs:?}");
    let service = service();
    for path in &pairs {
        service.communicate(&Caller::Guest, 1, "GET", TOPIC, path);
    }
    service.settle();
    let sql = "SELECT count(*), count(DISTINCT hash) FROM request";
    let counted = service.store().read(|tx| {
        let mut row = tx.one(sql, &[])?;
        Ok::<_, StoreError>((row.take::<i64>(0)?, row.take::<i64>(1)?))
    });
    let all = i64::try_from(pairs.len()).unwrap();
    assert_eq!(counted.unwrap(), (all, all));
}

#[test]
fn each_database_hashes_paths_with_its_own_permanent_key() {
    let hashed = |service: &Service| -> (i64, i64) {
        service.visit(&Caller::Guest, 1);
        service.settle();
        let sql = "SELECT hash, (SELECT count(*) FROM request) FROM request";
        let read = service.store().read(|tx| {
            let mut row = tx.one(sql, &[])?;
            Ok::<_, StoreError>((row.take(0)?, row.take(1)?))
        });
        read.unwrap()
    };
    let (one, other) = (service(), service());
    let (hash, _) = hashed(&one);
    assert_ne!(hash, hashed(&other).0);
    assert_eq!(hashed(&one.reopened()), (hash, 1), "a request is found again after a restart");
}

#[test]
fn a_database_from_before_the_hash_key_keeps_its_lines() {
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
    let hash = (SipHasher13::new_with_key(&[0; 16]).hash(topic.as_bytes()) >> 32).cast_signed();
    let day = NOW.as_millis() / DAY_MS;
    connection
        .execute("INSERT INTO request VALUES (7, 'GET', ?1, ?2, 200, NULL, ?3)", (topic, hash, day))
        .unwrap();
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
    assert_eq!(rows(&service, "request"), 2, "the old row and a new one, which is found");
    // The old row is deleted with its lines.
    service.clock().advance(9 * DAY_MS);
    service.communicate(&Caller::Guest, 1, "GET", TOPIC, topic);
    service.settle();
    retention::delete_expired(&service);
    assert_eq!((rows(&service, "request"), rows(&service, "log")), (1, 1));
}
