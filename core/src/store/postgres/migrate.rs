//! Creates and updates the schema of a database on a server.

use super::super::value::FromValue;
use super::super::{ServerError, StoreError};
use super::session::Session;

/// The steps of the schema, applied once each and in order. A released step is never edited.
const MIGRATIONS: [&str; 6] = [
    include_str!("0001_initial.sql"),
    include_str!("0002_concurrent.sql"),
    include_str!("0003_feed_orders.sql"),
    include_str!("0004_sign_in.sql"),
    include_str!("0005_day_keys.sql"),
    include_str!("0006_leases.sql"),
];

/// The schema version of this program: the number of its migrations.
#[expect(clippy::cast_possible_wrap, reason = "a handful of migrations")]
const VERSION: i64 = MIGRATIONS.len() as i64;

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
    if version(session)? < VERSION {
        // Two servers that start at the same time: the second one waits, and finds the new schema.
        session.control(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})"))?;
        let updated = update(session).and_then(|()| session.commit());
        if updated.is_err() {
            session.roll_back();
        }
        updated?;
    }
    raise_base(session)
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

/// Applies the steps that are missing.
fn update(session: &mut Session) -> Result<(), StoreError> {
    let found = version(session)?;
    if found == 0 && has_tables(session)? {
        return Err(StoreError::Foreign);
    }
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or_default()) {
        session.control(migration)?;
    }
    if found < VERSION {
        session.run("UPDATE schema_version SET version = $1", &[VERSION.into()])?;
    }
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
    use tidings_cluster::{Cluster, is_installed};

    use super::*;
    use crate::location::Location;
    use crate::store::{Isolation, Store};

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
