//! Tests of the schema of a database on a server.

use std::time::{Duration, Instant};

use tidings_cluster::{Cluster, Database, is_installed};

use super::super::connect::Connector;
use super::super::server::Server;
use super::*;
use crate::location::Location;
use crate::{Isolation, Store};

/// Applies steps to a database.
fn update_to(database: &Database, steps: &[Step]) {
    let Location::Postgres(url) = Location::from(database.url()) else { panic!("a path") };
    let server = Server::new(Connector::new(&url).unwrap());
    apply(&mut server.connect().unwrap(), steps).unwrap();
}

/// Returns the error of opening a database.
fn refused(url: &str) -> String {
    Store::open(&Location::from(url)).err().expect("it is refused").to_string()
}

#[test]
fn a_database_with_extensions_alone_is_empty() {
    let (Some(database), Some(other)) = (database(), database()) else { return };
    // One has a view, the other a table that no program has made.
    database.query(
        "CREATE EXTENSION pg_stat_statements; CREATE TABLE queue (id int);
         ALTER EXTENSION pg_stat_statements ADD TABLE queue",
        &[],
    );
    assert!(write(&Store::open(&Location::from(database.url())).unwrap()).is_ok());
    other.query("CREATE EXTENSION pg_stat_statements; CREATE VIEW mine AS SELECT 1", &[]);
    assert!(refused(other.url()).contains(r#"schema "public" has tables of another program"#));
}

#[test]
fn a_search_path_without_a_schema_for_tables_is_named() {
    for path in ["pg_catalog", "missing", "information_schema", "''"] {
        let Some(database) = database() else { return };
        database.query(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = ', current_database())
                         || 'PATH'; END $$"
                .replace("PATH", &path.replace('\'', "''"))
                .as_str(),
            &[],
        );
        let error = refused(database.url());
        assert!(error.contains("search_path") && error.contains(path.trim_matches('\'')), "{path}: {error}");
        assert!(error.contains("ALTER ROLE \"postgres\" SET search_path"), "{error}");
    }
    let Some(database) = database() else { return };
    database.query("CREATE ROLE guest LOGIN; REVOKE ALL ON SCHEMA public FROM PUBLIC", &[]);
    let error = refused(&database.url().replace("postgres://postgres@", "postgres://guest@"));
    assert!(error.contains("GRANT USAGE, CREATE ON SCHEMA"), "{error}");
}

#[test]
fn every_text_compares_by_its_bytes() {
    let Some(database) = database() else { return };
    drop(Store::open(&Location::from(database.url())).unwrap());
    let sql = "SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
               WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') AND a.attnum > 0
                     AND NOT a.attisdropped AND a.attcollation NOT IN (0, CAST('\"C\"' AS regcollation))";
    assert!(database.query(sql, &[]).is_empty(), "{:?} lack COLLATE \"C\"", database.query(sql, &[]));
    let sql = "SELECT count(*) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
               WHERE c.relnamespace = 'public'::regnamespace AND a.attcollation = CAST('\"C\"' AS regcollation)";
    assert!(database.query(sql, &[])[0][0].as_deref().unwrap().parse::<i64>().unwrap() > 100);
}

fn database() -> Option<Database> {
    let cluster = || Cluster::shared().expect("it is installed");
    is_installed("updates of the schema").then(|| cluster().database())
}

/// The steps of this program and one of a newer program.
fn newer(readable_by: i64) -> Vec<Step> {
    let sql = "ALTER TABLE main_info ADD COLUMN info_3 bigint NOT NULL DEFAULT 0";
    STEPS.into_iter().chain([Step::new(sql, readable_by)]).collect()
}

fn write(store: &Store) -> Result<u64, StoreError> {
    store.write(Isolation::Alone, |tx| tx.run("UPDATE main_info SET info_1 = 'a'", &[]))
}

#[test]
fn a_running_server_goes_on_with_a_newer_schema_that_allows_it() {
    let Some(database) = database() else { return };
    let location = Location::from(database.url());
    let store = Store::open(&location).unwrap();
    update_to(&database, &newer(VERSION));
    assert!(write(&store).is_ok());
    assert!(write(&Store::open(&location).unwrap()).is_ok(), "it can also be started again");
    assert!(store.writable().is_ok());
}

#[test]
fn a_running_server_refuses_a_newer_schema_that_does_not_allow_it() {
    let Some(database) = database() else { return };
    let location = Location::from(database.url());
    let store = Store::open(&location).unwrap();
    write(&store).unwrap();
    update_to(&database, &newer(VERSION + 1));
    let is_newer = |result: Result<u64, StoreError>| matches!(result, Err(StoreError::Newer { .. }));
    assert!(is_newer(write(&store)) && is_newer(write(&store)));
    assert!(is_newer(Store::open(&location).map(|_| 0)));
    let begin = Instant::now();
    while store.writable().is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(20), "the server is not ready any more");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn revisions_continue_after_those_of_a_dump_from_another_server() {
    const LAST: i64 = 1_000_000_000_000;
    if !is_installed("revisions after a restored dump") {
        return;
    }
    let database = Cluster::shared().expect("it is installed").database();
    let open = || Store::open(&Location::from(database.url())).unwrap();
    let revision_of_write =
        |store: &Store| store.write(Isolation::Alone, |tx| Ok::<_, StoreError>(tx.revision())).unwrap();
    let fresh = open();
    assert!(revision_of_write(&fresh) < LAST);
    drop(fresh);
    database.query(&format!("UPDATE lane SET revision = {LAST}"), &[]);
    let restored = open();
    assert!(revision_of_write(&restored) > LAST);
    drop(restored);
    // Once is enough: later programs and other servers keep the base.
    let base = || database.query("SELECT base FROM revision_base", &[]);
    let raised = base();
    drop(open());
    assert_eq!(base(), raised);
}
