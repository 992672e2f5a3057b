//! Creates and updates the schema of a database on a server.

use super::super::{ServerError, StoreError, missing};
use super::session::Session;

#[derive(Clone, Copy)]
struct Step {
    sql: &'static str,
    /// The oldest version of the program's schema with which a program, also a running one, may still use the database after this
    /// step. It is greater than that of the step before only if such programs would read or write wrong data.
    readable_by: i64,
}

impl Step {
    const fn new(sql: &'static str, readable_by: i64) -> Self {
        Self { sql, readable_by }
    }
}

/// The schema of version [`BASE`], and the steps after it, as on SQLite.
const STEPS: [Step; 3] = [
    Step::new(include_str!("0034_schema.sql"), 26),
    Step::new(include_str!("0035_corrections.sql"), 35),
    Step::new(include_str!("0036_codes.sql"), 36),
];

const BASE: usize = 34;

pub(super) const VERSION: i64 = version_after(&STEPS);

#[expect(clippy::cast_possible_wrap, reason = "a handful of steps")]
const fn version_after(steps: &[Step]) -> i64 {
    (BASE + steps.len() - 1) as i64
}

/// A program holds this lock while it updates the schema: "tdngsche" as a number.
const LOCK: i64 = 0x7464_6e67_7363_6865;

/// A copy to a database with this table has not finished. The table is empty.
pub(super) const INCOMPLETE: &str = "incomplete_copy";

const OF_EXTENSION: &str = "EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
    AND d.objid = c.oid AND d.deptype = 'e')";

/// Creates the schema if there is none, and updates an older one.
pub(super) fn migrate(session: &mut Session) -> Result<(), StoreError> {
    refuse_incomplete(session)?;
    migrate_incomplete(session)
}

pub(super) fn migrate_incomplete(session: &mut Session) -> Result<(), StoreError> {
    apply(session, &STEPS)?;
    raise_base(session)
}

pub(super) fn refuse_newer(session: &mut Session) -> Result<(), StoreError> {
    version(session).map(drop)
}

fn apply(session: &mut Session, steps: &[Step]) -> Result<(), StoreError> {
    if version(session)? < version_after(steps) {
        // Of two servers that start at the same time, the second one waits, and finds the new schema.
        session.control(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})"))?;
        let updated = update(session, steps).and_then(|()| session.commit());
        if updated.is_err() {
            session.roll_back();
        }
        updated?;
    }
    Ok(())
}

/// Raises the base of the revisions if the database has greater ones than its next transaction would get: a dump was restored on
/// another server, which has given out fewer transaction ids.
fn raise_base(session: &mut Session) -> Result<(), StoreError> {
    let is_behind = "(SELECT coalesce(max(revision), 0) FROM lane)
                     >= base + CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint)";
    if session.first(&format!("SELECT {is_behind} FROM revision_base"), &[])? != Some(true) {
        return Ok(());
    }
    let raise = format!("UPDATE revision_base SET base = (SELECT max(revision) FROM lane) WHERE {is_behind}");
    session.run(&raise, &[])?;
    tracing::info!(
        "the database was restored on another server: its revisions continue after those in the dump"
    );
    Ok(())
}

fn update(session: &mut Session, steps: &[Step]) -> Result<(), StoreError> {
    let found = version(session)?;
    if found == 0 && has_tables(session)? {
        return Err(foreign(session));
    }
    let missing = missing(steps, BASE, found)?;
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
    session.run(sql, &[version_after(steps).into(), readable_by.into()])?;
    Ok(())
}

/// Ignores the tables of extensions. Fails if new tables cannot be created in any schema.
fn has_tables(session: &mut Session) -> Result<bool, StoreError> {
    let schema = "SELECT CAST(current_schema() AS text)
                  WHERE left(current_schema(), 3) <> 'pg_' AND current_schema() <> 'information_schema'";
    if session.row(schema, &[])?.is_none() {
        let path = session.first("SELECT current_setting('search_path')", &[])?.unwrap_or_default();
        let user = session.first("SELECT CAST(current_user AS text)", &[])?.unwrap_or_default();
        return Err(ServerError::NoSchema { path, user }.into());
    }
    let sql = format!(
        "SELECT count(*) FROM pg_class c WHERE relnamespace = current_schema()::regnamespace
                AND relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT {OF_EXTENSION}"
    );
    Ok(session.first::<i64>(&sql, &[])?.unwrap_or_default() > 0)
}

fn foreign(session: &mut Session) -> StoreError {
    match session.first("SELECT CAST(current_schema() AS text)", &[]) {
        Ok(schema) => ServerError::Foreign { schema: schema.unwrap_or_default() }.into(),
        Err(error) => error,
    }
}

pub(super) fn is_incomplete(session: &mut Session) -> Result<bool, StoreError> {
    Ok(session.first(&format!("SELECT to_regclass('{INCOMPLETE}') IS NOT NULL"), &[])? == Some(true))
}

fn refuse_incomplete(session: &mut Session) -> Result<(), StoreError> {
    if !is_incomplete(session)? {
        return Ok(());
    }
    Err(ServerError::Incomplete { database: database(session)? }.into())
}

pub(super) fn existing(session: &mut Session) -> Result<Schema, StoreError> {
    refuse_incomplete(session)?;
    existing_or_incomplete(session)
}

pub(super) fn existing_or_incomplete(session: &mut Session) -> Result<Schema, StoreError> {
    if let Some(schema) = Schema::find(session)? {
        return Ok(schema);
    }
    if has_tables(session)? {
        return Err(foreign(session));
    }
    Err(ServerError::NoTables { database: database(session)? }.into())
}

fn database(session: &mut Session) -> Result<String, StoreError> {
    Ok(session.first("SELECT current_database()", &[])?.unwrap_or_default())
}

/// 0 if there is no schema.
fn version(session: &mut Session) -> Result<i64, StoreError> {
    match Schema::find(session)? {
        None => Ok(0),
        Some(Schema { found, known }) if known < found => Err(StoreError::Newer { found, known }),
        Some(Schema { found, .. }) => Ok(found),
    }
}

#[derive(Clone, Copy)]
pub(super) struct Schema {
    pub(super) found: i64,
    /// The newest version that this program understands: a newer one than its own, if that one permits it.
    pub(super) known: i64,
}

impl Schema {
    pub(super) fn find(session: &mut Session) -> Result<Option<Self>, StoreError> {
        if session.first("SELECT to_regclass('schema_version') IS NOT NULL", &[])? != Some(true) {
            return Ok(None);
        }
        let (found, oldest) = match session.row("SELECT version, readable_by FROM schema_version", &[])? {
            Some(mut row) => (row.take(0)?, row.take(1)?),
            None => (0, 0),
        };
        let known = if oldest > VERSION { VERSION } else { VERSION.max(found) };
        Ok(Some(Self { found, known }))
    }
}

#[cfg(test)]
mod tests;
