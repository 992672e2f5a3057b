use std::time::{Duration, Instant};

use tidings_cluster::{Cluster, Database, is_installed};

use crate::Tidings;
use crate::account::Caller;
use crate::base::clock::Clock;
use crate::base::config::{Config, Secret};
use crate::post;
use crate::record::error::{Error, Result};
use crate::store::{ServerError, StoreError};
use crate::testing::{NOW, draft, operator, publish, sign_up_form};
use crate::transfer::check::{CancelFlag, Check, Checks, Context, check, repair};

const WHAT: &str = "checks of a PostgreSQL server";

fn context() -> Context<'static> {
    Context { clock: Clock::fixed(NOW), ..Context::default() }
}

fn checked(url: &str) -> Result<Checks> {
    check(operator(), url, &context(), &mut |_| {}, &CancelFlag::default())
}

fn named<'c>(checks: &'c Checks, name: &str) -> &'c Check {
    checks.checks.iter().find(|check| check.name == name).expect(name)
}

/// Returns the failed checks except for that of the settings of the shared server, which ignores crashes.
fn wrong(url: &str) -> Vec<&'static str> {
    let wrong = checked(url).unwrap().checks.into_iter().filter(|check| !check.ok);
    wrong.map(|check| check.name).filter(|name| *name != "durability").collect()
}

fn lively(url: &str) -> Tidings {
    let config = Config {
        token_key: Some(Secret(b"a key for tests, long enough for a signature".to_vec().into())),
        ..Config::default()
    };
    let tidings = Tidings::builder(url).config(config).clock(Clock::fixed(NOW)).open().unwrap();
    let ann = tidings.call(&Caller::Guest, sign_up_form("ann")).unwrap();
    let ann = Caller::token(ann.access_token);
    for n in 0..3 {
        let draft = draft(format!("Post {n} about crabs"), format!("https://a.example/{n}"));
        let id = publish(&tidings, draft.with_topic("sea"));
        post::view(&tidings, &ann, &id).wait().unwrap();
        post::like(&tidings, &ann, &id).wait().unwrap();
    }
    tidings
}

/// Returns the keys of the posts. They have gaps where a transaction that took one was rolled back.
fn posts(database: &Database) -> Vec<String> {
    let rows = database.query("SELECT key FROM post ORDER BY key", &[]);
    rows.into_iter().flatten().map(|key| key.expect("a key is not null")).collect()
}

fn shared() -> Option<Database> {
    is_installed(WHAT).then(|| Cluster::shared().unwrap().database())
}

#[test]
fn a_sound_database_on_a_server_passes_all_checks_but_those_of_an_unsafe_server() {
    let Some(database) = shared() else { return };
    let _tidings = lively(database.url());
    let checks = checked(database.url()).unwrap();
    let names: Vec<&str> = checks.checks.iter().map(|check| check.name).collect();
    let expected = "integrity foreign_keys posts categories likes_and_views search_index visitors totals audit sources \
        schema server writable collation durability replication lanes size";
    assert!(names.join(" ").starts_with(expected), "{names:?}");
    let wrong: Vec<_> = checks.checks.iter().filter(|check| !check.ok).map(|check| check.name).collect();
    assert_eq!(wrong, ["durability"], "{checks:#?}");
    for setting in ["fsync is off", "synchronous_commit is off"] {
        assert!(named(&checks, "durability").detail.contains(setting), "{setting}");
    }
    assert_eq!(named(&checks, "lanes").detail, "1 of 1 write lanes are reserved");
}

#[test]
fn wrong_rows_on_a_server_are_repaired_while_another_process_writes() {
    let Some(database) = shared() else { return };
    let tidings = lively(database.url());
    let [first, second, third] = posts(&database).try_into().unwrap();
    database.query(
        &format!(
            "UPDATE total_count SET n = n + 1 WHERE counter IN (2, 12);
             UPDATE category SET posts = 9;
             UPDATE post_stats SET fav = 0 WHERE post = {first};
             DELETE FROM post_stats WHERE post = {second};
             DELETE FROM post_terms WHERE post = {third};
             INSERT INTO visitor (day, visitor, visits, hours, seen) VALUES (20000, 1, 1, 1, 1);
             INSERT INTO viewed (member, post, date) VALUES (999, {first}, 1)"
        ),
        &[],
    );
    let expected = ["posts", "categories", "likes_and_views", "search_index", "visitors", "totals"];
    assert_eq!(wrong(database.url()), expected);
    let mut repaired = Vec::new();
    let mut progress = |name| repaired.push(name);
    repair(operator(), database.url(), &mut progress, &CancelFlag::default()).unwrap();
    assert_eq!(repaired, expected);
    assert_eq!(wrong(database.url()), [] as [&str; 0]);
    let sql = format!("SELECT fav, view FROM post_stats WHERE post IN ({first}, {second}) ORDER BY post");
    let one = || Some("1".to_owned());
    // The view of the member who does not exist counts, as those of removed members do.
    assert_eq!(database.query(&sql, &[]), [[one(), Some("2".to_owned())], [one(), one()]]);
    // The open handle goes on writing, and the lane of the repair is free.
    publish(&tidings, draft("More", "https://a.example/9"));
    assert_eq!(database.query("SELECT count(*) FROM lane WHERE until > 0", &[]), [[one()]]);
    assert_eq!(wrong(database.url()), [] as [&str; 0]);
}

#[test]
fn faults_that_only_the_server_has_are_reported_with_the_remedy() {
    let Some(database) = shared() else { return };
    drop(lively(database.url()));
    database.query("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'post_date'::regclass", &[]);
    database.query("ALTER TABLE notice ALTER COLUMN title TYPE text COLLATE \"default\"", &[]);
    // Without its triggers, the server does not delete the rows that refer to the post.
    let post = &posts(&database)[1];
    let delete = format!("ALTER TABLE post DISABLE TRIGGER ALL; DELETE FROM post WHERE key = {post}");
    database.query(&delete, &[]);
    let checks = checked(database.url()).unwrap();
    let detail = |name: &str| named(&checks, name).detail.clone();
    assert!(detail("integrity").contains("REINDEX INDEX post_date"), "{checks:#?}");
    assert!(detail("collation").contains("notice.title"), "{checks:#?}");
    assert!(detail("foreign_keys").contains("1 of label, 1 of post_stats"), "{checks:#?}");
    for name in ["integrity", "collation"] {
        let check = named(&checks, name);
        assert!(!check.ok && check.remedy.is_none(), "no function of this crate is the remedy: {check:?}");
    }
}

#[test]
fn tables_of_another_program_and_a_missing_database_are_refused() {
    let Some(database) = shared() else { return };
    let refused = |url: &str| match checked(url) {
        Err(Error::Store(error)) => error,
        other => panic!("{other:?}"),
    };
    database.query("CREATE TABLE other (a integer)", &[]);
    assert!(matches!(refused(database.url()), StoreError::Server(ServerError::Foreign { .. })));
    let missing = database.url().replace(database.name(), "no_such_database");
    let missing = refused(&missing);
    assert!(matches!(missing, StoreError::Server(ServerError::NoDatabase { .. })), "{missing}");
}

#[test]
fn a_newer_schema_is_named_and_its_rows_are_not_checked() {
    let Some(database) = shared() else { return };
    drop(lively(database.url()));
    database.query("UPDATE schema_version SET version = version + 1", &[]);
    assert!(wrong(database.url()).is_empty(), "the newer program permits this one");
    database.query("UPDATE schema_version SET readable_by = version", &[]);
    let checks = checked(database.url()).unwrap();
    let schema = named(&checks, "schema");
    assert!(!schema.ok && schema.detail.contains("use the newer program"), "{schema:?}");
    assert!(!checks.checks.iter().any(|check| check.name == "totals"));
}

#[test]
fn a_check_that_waits_for_the_server_is_cancelled() {
    let Some(database) = shared() else { return };
    drop(lively(database.url()));
    let mut other = database.connect();
    other.query("BEGIN; LOCK TABLE post IN ACCESS EXCLUSIVE MODE", &[]);
    let (url, stop) = (database.url().to_owned(), CancelFlag::default());
    let (asked, began) = (stop.clone(), Instant::now());
    let checking =
        std::thread::spawn(move || check(operator(), url.as_str(), &context(), &mut |_| {}, &asked));
    std::thread::sleep(Duration::from_millis(300));
    stop.set();
    let ended = checking.join().unwrap();
    assert!(matches!(ended, Err(Error::Store(StoreError::Interrupted))), "{ended:?}");
    assert!(began.elapsed() < Duration::from_secs(8), "before the time limit of a lock");
}

#[test]
fn a_standby_is_checked_and_so_is_whether_commits_wait_for_it() {
    if !is_installed(WHAT) {
        return;
    }
    let primary = Cluster::builder().start().unwrap();
    let database = primary.database();
    drop(lively(database.url()));
    let standby = primary.standby("second");
    let url = standby.url(database.name());
    let replication = || {
        let checks = checked(database.url()).unwrap();
        let check = named(&checks, "replication");
        (check.ok, check.detail.clone())
    };
    let (ok, detail) = replication();
    assert!(ok && detail.contains("no commit waits for the standbys (second)"), "{detail}");
    primary.wait_for_standby(Some("second"));
    assert_eq!(replication(), (true, "commits wait for second".to_owned()));
    let checks = checked(&url).unwrap();
    let failed = checks.checks.iter().filter(|check| !check.ok).map(|check| check.name);
    assert_eq!(failed.collect::<Vec<_>>(), ["writable"]);
    standby.stop();
    let until = Instant::now() + Duration::from_secs(30);
    while replication().0 {
        assert!(Instant::now() < until, "the loss of the standby is noticed");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(replication().1.contains("no standby of synchronous_standby_names (second) is connected"));
    primary.wait_for_standby(None);
}
