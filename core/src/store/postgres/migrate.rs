//! Creates and updates the schema of a database on a server.

use super::super::value::FromValue;
use super::super::{ServerError, StoreError};
use super::session::Session;

/// A step of the schema.
#[derive(Clone, Copy)]
struct Step {
    sql: &'static str,
    /// The oldest version of the program's schema with which a program may still use the database after this step, also one
    /// that is running. It is greater than that of the step before only if such programs would read or write wrong data.
    readable_by: i64,
}

impl Step {
    const fn new(sql: &'static str, readable_by: i64) -> Self {
        Self { sql, readable_by }
    }
}

/// The steps of the schema, applied once each and in order. A released step is never edited.
const STEPS: [Step; 16] = [
    Step::new(include_str!("0001_initial.sql"), 1),
    // Counters have other keys.
    Step::new(include_str!("0002_concurrent.sql"), 2),
    Step::new(include_str!("0003_feed_orders.sql"), 2),
    Step::new(include_str!("0004_sign_in.sql"), 2),
    Step::new(include_str!("0005_day_keys.sql"), 2),
    Step::new(include_str!("0006_leases.sql"), 2),
    // Lines have other keys.
    Step::new(include_str!("0007_log_partitions.sql"), 7),
    Step::new(include_str!("0008_results.sql"), 7),
    // The search index has other tables.
    Step::new(include_str!("0009_search_segments.sql"), 9),
    Step::new(include_str!("0010_references.sql"), 9),
    Step::new(include_str!("0011_hidden.sql"), 9),
    Step::new(include_str!("0012_feed_weights.sql"), 9),
    Step::new(include_str!("0013_audit.sql"), 9),
    Step::new(include_str!("0014_sessions.sql"), 9),
    // Earlier programs would show notices to callers who must not see them.
    Step::new(include_str!("0015_notices.sql"), 15),
    // A server with this step announces the notices of earlier programs.
    Step::new(include_str!("0016_webhooks.sql"), 15),
];

/// The schema version of this program: the number of its steps.
#[expect(clippy::cast_possible_wrap, reason = "a handful of steps")]
const VERSION: i64 = STEPS.len() as i64;

/// The key of the lock that a program holds while it updates the schema: "tdngsche" as a number.
const LOCK: i64 = 0x7464_6e67_7363_6865;

/// The table of a database that a copy has not finished. Its existence is all that it says.
pub(super) const INCOMPLETE: &str = "incomplete_copy";

/// Creates the schema if there is none, and updates an older one.
///
/// # Errors
/// When the database has tables of another program, or a schema that this program does not understand; when it is
/// incomplete.
pub(super) fn migrate(session: &mut Session) -> Result<(), StoreError> {
    refuse_incomplete(session)?;
    migrate_incomplete(session)
}

/// Does the same as [`migrate`] for a database that may be incomplete.
pub(super) fn migrate_incomplete(session: &mut Session) -> Result<(), StoreError> {
    apply(session, &STEPS)?;
    raise_base(session)
}

/// Refuses a schema of a newer program that this one may not use any more.
///
/// # Errors
/// [`StoreError::Newer`].
pub(super) fn refuse_newer(session: &mut Session) -> Result<(), StoreError> {
    version(session).map(drop)
}

/// Applies the steps that are missing.
#[expect(clippy::cast_possible_wrap, reason = "a handful of steps")]
fn apply(session: &mut Session, steps: &[Step]) -> Result<(), StoreError> {
    if version(session)? < steps.len() as i64 {
        // Two servers that start at the same time: the second one waits, and finds the new schema.
        session.control(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})"))?;
        let updated = update(session, steps).and_then(|()| session.commit());
        if updated.is_err() {
            session.roll_back();
        }
        updated?;
    }
    Ok(())
}

/// Raises the base of the revisions if the database has greater ones than its next transaction would get. This is so after
/// a dump was restored on another server, which has given out fewer transaction ids.
fn raise_base(session: &mut Session) -> Result<(), StoreError> {
    let is_behind = "(SELECT coalesce(max(revision), 0) FROM lane)
                     >= base + CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint)";
    let is_restored: Option<bool> = first(session, &format!("SELECT {is_behind} FROM revision_base"))?;
    if is_restored != Some(true) {
        return Ok(());
    }
    let raise = format!("UPDATE revision_base SET base = (SELECT max(revision) FROM lane) WHERE {is_behind}");
    session.run(&raise, &[])?;
    tracing::info!(
        "the database was restored on another server: its revisions continue after those in the dump"
    );
    Ok(())
}

/// Applies the missing steps in the transaction of the session.
#[expect(clippy::cast_possible_wrap, reason = "a handful of steps")]
fn update(session: &mut Session, steps: &[Step]) -> Result<(), StoreError> {
    let found = version(session)?;
    if found == 0 && has_tables(session)? {
        return Err(StoreError::Foreign);
    }
    let missing = steps.get(usize::try_from(found).unwrap_or_default()..).unwrap_or_default();
    let Some(readable_by) = missing.iter().map(|step| step.readable_by).max() else { return Ok(()) };
    if found > 0 && readable_by > found {
        // Running programs that may not use the new schema have lanes. They find out at their next transaction, for which
        // they look for another lane; this waits for the end of their current ones.
        session.run("UPDATE lane SET owner = NULL, until = 0", &[])?;
    }
    for step in missing {
        session.control(step.sql)?;
    }
    let sql = "UPDATE schema_version SET version = $1, readable_by = greatest(readable_by, $2)";
    session.run(sql, &[(steps.len() as i64).into(), readable_by.into()])?;
    Ok(())
}

/// Returns whether the schema in which new tables are created has any.
fn has_tables(session: &mut Session) -> Result<bool, StoreError> {
    let sql = "SELECT count(*) FROM pg_class
               WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm')";
    Ok(first::<i64>(session, sql)?.unwrap_or_default() > 0)
}

/// Returns whether a copy to the database was begun and not finished.
pub(super) fn is_incomplete(session: &mut Session) -> Result<bool, StoreError> {
    Ok(first(session, &format!("SELECT to_regclass('{INCOMPLETE}') IS NOT NULL"))? == Some(true))
}

fn refuse_incomplete(session: &mut Session) -> Result<(), StoreError> {
    if !is_incomplete(session)? {
        return Ok(());
    }
    let database = first(session, "SELECT current_database()")?.unwrap_or_default();
    Err(ServerError::Incomplete { database }.into())
}

/// Returns the schema of the database.
///
/// # Errors
/// When there is none, or the database is incomplete.
pub(super) fn existing(session: &mut Session) -> Result<Schema, StoreError> {
    refuse_incomplete(session)?;
    existing_or_incomplete(session)
}

/// Does the same as [`existing`] for a database that may be incomplete.
pub(super) fn existing_or_incomplete(session: &mut Session) -> Result<Schema, StoreError> {
    if let Some(schema) = Schema::find(session)? {
        return Ok(schema);
    }
    if has_tables(session)? {
        return Err(StoreError::Foreign);
    }
    let database = first(session, "SELECT current_database()")?.unwrap_or_default();
    Err(ServerError::NoTables { database }.into())
}

/// Returns the version of the schema, 0 if there is none.
///
/// # Errors
/// [`StoreError::Newer`] if a newer program has changed the schema in a way that this one does not understand.
fn version(session: &mut Session) -> Result<i64, StoreError> {
    match Schema::find(session)? {
        None => Ok(0),
        Some(Schema { found, known }) if known < found => Err(StoreError::Newer { found, known }),
        Some(Schema { found, .. }) => Ok(found),
    }
}

/// The schema of a database.
#[derive(Clone, Copy)]
pub(super) struct Schema {
    /// Its version.
    pub(super) found: i64,
    /// The newest version that this program understands: a newer one than its own, if that one permits it.
    pub(super) known: i64,
}

impl Schema {
    /// Returns the schema of the database, if there is one.
    pub(super) fn find(session: &mut Session) -> Result<Option<Self>, StoreError> {
        let exists: Option<bool> = first(session, "SELECT to_regclass('schema_version') IS NOT NULL")?;
        if exists != Some(true) {
            return Ok(None);
        }
        let found: i64 = first(session, "SELECT version FROM schema_version")?.unwrap_or_default();
        let oldest: i64 = first(session, "SELECT readable_by FROM schema_version")?.unwrap_or_default();
        let known = if oldest > VERSION { VERSION } else { found.max(VERSION) };
        Ok(Some(Self { found, known }))
    }
}

/// Runs a statement and returns the first column of its first row.
fn first<T: FromValue>(session: &mut Session, sql: &str) -> Result<Option<T>, StoreError> {
    let mut found = None;
    session.for_each(sql, &[], &mut |row| {
        found = Some(row.take(0)?);
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tidings_cluster::{Cluster, Database, is_installed};

    use super::super::connect::Connector;
    use super::super::server::Server;
    use super::*;
    use crate::location::Location;
    use crate::store::{Isolation, Store};

    /// Applies steps to a database.
    fn update_to(database: &Database, steps: &[Step]) {
        let Location::Postgres(url) = Location::from(database.url()) else { panic!("a path") };
        let server = Server::new(Connector::new(&url).unwrap()).unwrap();
        apply(&mut server.connect().unwrap(), steps).unwrap();
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
    fn a_database_of_each_earlier_version_is_updated_and_keeps_its_rows() {
        for version in 1..STEPS.len() {
            let Some(database) = database() else { return };
            update_to(&database, &STEPS[..version]);
            database.query(
                "INSERT INTO day_key (slot, day, secret) VALUES (0, 20000, 'zero'), (1, 20001, 'one');
                 INSERT INTO notice (id, title, post, activation, date) VALUES ('6560c1a2ffeeddccbbaa0009', 'a', 'b', 1, 5);
                 INSERT INTO post (id, url, host, title, post, img, topic, tag, token, keyword, date)
                 VALUES ('6560c1a2ffeeddccbbaa0001', 'https://a.example/', 'a.example', 'Sea', 'b', '', '[]', '[]', 'a', 'a', 5);
                 INSERT INTO post_stats (post, view, fav) SELECT key, 7, 0 FROM post;
                 INSERT INTO label (name, post, topic) SELECT 'a', key, 1 FROM post",
                &[],
            );
            let store = Store::open(&Location::from(database.url())).unwrap();
            assert!(write(&store).is_ok());
            let text = |sql: &str| database.query(sql, &[])[0][0].clone().unwrap();
            assert_eq!(
                text("SELECT string_agg(secret, ' ' ORDER BY day) FROM day_key"),
                "zero one",
                "{version}"
            );
            assert_eq!(text("SELECT title FROM notice"), "a");
            // The program fills the search index that the ninth step has emptied.
            if version < 9 {
                assert_eq!(text("SELECT unindexed FROM post_index_size"), i64::MAX.to_string());
                let tidings = crate::testing::open_at(database.url());
                let found = crate::search::run(&tidings, "sea", 9).unwrap().search_result;
                assert_eq!((found.len(), found[0].post.view), (1, 7));
            }
            assert_eq!(text("SELECT version FROM schema_version"), VERSION.to_string());
            // As in a new database.
            let sql = "SELECT string_agg(conname, ' ') FROM pg_constraint WHERE conrelid = CAST('day_key' AS regclass)";
            assert_eq!(text(sql), "day_key_slot");
            assert_eq!(text("SELECT relpersistence FROM pg_class WHERE relname = 'day_key'"), "u");
            database.query("DELETE FROM post", &[]);
            let rows = "SELECT (SELECT count(*) FROM post_stats) + (SELECT count(*) FROM label)";
            assert_eq!(text(rows), "0", "they are removed with the post");
        }
    }

    #[test]
    fn lines_of_a_log_without_partitions_stay() {
        if !is_installed("partitions of an older log") {
            return;
        }
        // One is of a distant time.
        let keys = [1_795_163_760_000 << 14, 1_795_163_760_001 << 14, 4_000_000_000_000 << 14];
        let lines = keys.map(|key| format!("({key}, 7, 1)")).join(", ");
        for rows in [format!("INSERT INTO log (key, member, request) VALUES {lines}"), String::new()] {
            let database = Cluster::shared().expect("it is installed").database();
            update_to(&database, &STEPS[..6]);
            database.query(&rows, &[]);
            let store = Store::open(&Location::from(database.url())).unwrap();
            let mut found =
                store.read(|tx| tx.rows("SELECT key FROM log WHERE member = 7 ORDER BY key", &[])).unwrap();
            let found: Vec<i64> = found.iter_mut().map(|row| row.take(0).unwrap()).collect();
            assert_eq!(found, if rows.is_empty() { &[][..] } else { &keys });
            drop(store);
            // The last partition begins with a day, after all lines.
            let sql = "SELECT CAST(replace(c.relname, 'log_', '') AS bigint) % (86400000 * 16384::bigint)
                       FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                       WHERE i.inhparent = 'log'::regclass AND c.relname <> 'log_first'";
            assert_eq!(database.query(sql, &[]), [[Some("0".to_owned())]]);
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
}
