use tidings_cluster::only_on_sqlite;

use super::*;
use crate::Tidings;
use crate::post::{self, Draft, index};
use crate::record::id::PostKey;
use crate::store::{Isolation, Tx};
use crate::testing::{NOW, Service, draft, operator, publish, service};

mod older;

fn context() -> Context<'static> {
    Context { clock: Clock::fixed(NOW), ..Context::default() }
}

/// Checks a database. The settings of the PostgreSQL server of the tests do not survive a crash, which is no fault here.
fn look_at(location: &str) -> Checks {
    let mut checks = check(operator(), location, &context(), &mut |_| {}, &CancelFlag::default()).unwrap();
    checks.checks.retain(|check| check.name != "durability");
    checks
}

fn mend(location: &str) {
    repair(operator(), location, &mut |_| {}, &CancelFlag::default()).unwrap();
}

fn wrong(location: &str) -> Vec<&'static str> {
    look_at(location).checks.iter().filter(|check| !check.ok).map(|check| check.name).collect()
}

#[test]
fn what_cannot_be_read_is_an_error_and_no_damaged_database() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path(), &directory.path().join("nowhere.db")] {
        let checked = check(operator(), path, &context(), &mut |_| {}, &CancelFlag::default());
        assert!(matches!(checked, Err(crate::Error::Store(StoreError::Other(_)))), "{path:?}");
    }
    assert!(!directory.path().join("nowhere.db").exists(), "a check creates no database");
}

fn lively() -> Service {
    let service = service();
    let ann = service.member("ann");
    for n in 0..5 {
        let draft = draft(format!("Post {n} about crabs"), format!("https://a.example/{n}"));
        let (topic, tag) = (vec!["sea".into(), format!("topic {n}")], vec!["sea".into(), "crab".into()]);
        let draft = Draft { topic: Some(topic), tag: Some(tag), ..draft };
        let id = publish(&service, draft);
        post::view(&service, &ann, &id).wait().unwrap();
        post::like(&service, &ann, &id).wait().unwrap();
    }
    service
}

fn kept(tidings: &Tidings) -> Vec<String> {
    let read = |sql: &str| format!("{:?}", tidings.store().read(|tx| tx.rows(sql, &[])).unwrap());
    [
        "SELECT counter, sum(n) FROM total_count GROUP BY counter ORDER BY counter",
        "SELECT name, posts FROM category ORDER BY name",
        "SELECT name, post, topic FROM label ORDER BY name, post",
        "SELECT post, view, fav, heat_0, heat_5, heat_11 FROM post_stats ORDER BY post",
    ]
    .map(read)
    .into()
}

#[test]
fn a_forged_record_of_the_audit_trail_is_found() {
    let service = lively();
    assert!(wrong(&service.location()).is_empty());
    service.run("UPDATE audit SET new_value = 'Other' WHERE seq = 2");
    assert_eq!(wrong(&service.location()), ["audit"]);
    let checks = look_at(&service.location());
    assert!(!checks.repairable());
    let audit = checks.checks.iter().find(|check| check.name == "audit").unwrap();
    assert!(audit.detail.starts_with("record 2: the record was changed"), "{}", audit.detail);
}

#[test]
fn wrong_derived_rows_are_reported_and_repaired() {
    let service = lively();
    let location = service.location();
    let before = kept(&service);
    let assert_repairable = |name: &str, case: &dyn std::fmt::Debug| {
        let found = wrong(&location);
        assert!(found.contains(&name), "{case:?}: {found:?}");
        assert!(look_at(&location).repairable(), "{case:?}");
        mend(&location);
        assert_eq!(wrong(&location), [] as [&str; 0], "{case:?}");
        assert_eq!(kept(&service), before, "{case:?}");
        assert_eq!(crate::testing::search(&service, "crabs", 10).unwrap().search_result.len(), 5);
    };
    for (name, sql) in [
        ("posts", "UPDATE total_count SET n = n + 3 WHERE counter = 12 AND n <> 0"),
        ("posts", "DELETE FROM total_count WHERE counter = 12"),
        ("categories", "UPDATE category SET posts = 9 WHERE name = 'sea'"),
        ("categories", "DELETE FROM category WHERE name = 'sea'"),
        ("categories", "INSERT INTO category (name, posts) VALUES ('land', 2)"),
        ("likes_and_views", "UPDATE post_stats SET fav = 0 WHERE post = 3"),
        ("likes_and_views", "UPDATE post_stats SET view = 0 WHERE post = 3"),
        ("totals", "UPDATE total_count SET n = n + 1 WHERE counter = 2"),
        ("totals", "DELETE FROM total_count WHERE counter = 3"),
    ] {
        service.run(sql);
        assert_repairable(name, &sql);
    }
    for (key, word) in [(2, None), (99, Some("crab"))] {
        let corrupt = move |tx: &mut dyn Tx| index::corrupt(tx, PostKey::new(key), word);
        service.store().write(Isolation::Alone, corrupt).unwrap();
        assert_repairable("search_index", &(key, word));
    }
}

#[test]
fn visitors_are_at_least_as_many_as_their_rows() {
    let service = lively();
    for sql in [
        "INSERT INTO visitor (day, visitor, visits, hours, seen) VALUES (20000, 1, 1, 1, 1), (20000, 2, 1, 1, 1)",
        "INSERT INTO day_count (day, counter, n) VALUES (20001, 1, 7)",
        "INSERT INTO total_count (counter, n) VALUES (1, 7)",
    ] {
        service.run(sql);
    }
    assert_eq!(wrong(&service.location()), ["visitors"]);
    let checks = look_at(&service.location());
    assert!(checks.checks.iter().any(|check| check.detail.contains("2024-10-04")), "{checks:#?}");
    mend(&service.location());
    assert_eq!(wrong(&service.location()), [] as [&str; 0]);
    assert_eq!(service.number("SELECT sum(n) FROM total_count WHERE counter = 1"), 9);
}

#[test]
fn likes_and_views_that_lists_do_not_show_stay_counted() {
    let service = lively();
    service.run("UPDATE post_stats SET fav = 40, view = 50 WHERE post = 1");
    service.run("DELETE FROM post_stats WHERE post = 2");
    assert_eq!(wrong(&service.location()), ["likes_and_views"]);
    mend(&service.location());
    let sql = "SELECT fav || ' ' || view FROM post_stats WHERE post <= 2 ORDER BY post";
    assert_eq!(service.texts(sql), ["40 50", "1 1"]);
}

#[test]
fn a_broken_search_index_is_rebuilt() {
    only_on_sqlite!("it is about parts of the file");
    let Service { tidings, database } = lively();
    drop(tidings);
    let (path, location) = (database.path(), database.location());
    // SQLite forbids this in its default, defensive mode.
    let broken = rusqlite::Connection::open(&path).unwrap();
    broken.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
    broken.execute_batch("DELETE FROM post_index_data WHERE id > 10").unwrap();
    drop(broken);
    assert!(wrong(&location).contains(&"integrity"), "{:?}", look_at(&location));
    assert!(look_at(&location).repairable());
    mend(&location);
    assert_eq!(wrong(&location), [] as [&str; 0]);
    let tidings = Tidings::open(&path).unwrap();
    assert_eq!(crate::testing::search(&tidings, "crabs", 10).unwrap().search_result.len(), 5);
}

#[cfg(unix)]
#[test]
fn files_that_other_users_can_read_are_reported_with_the_remedy() {
    use std::os::unix::fs::PermissionsExt as _;
    let service = lively();
    let key = service.database.beside(".key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let checks = look_at(&service.location());
    let found = checks.checks.iter().find(|check| !check.ok).unwrap();
    assert_eq!(found.name, "permissions");
    // The name of a server's database is a relative path.
    let name = key.file_name().unwrap().to_string_lossy();
    assert!(found.detail.contains("chmod 600 ") && found.detail.ends_with(&*name), "{}", found.detail);
}
