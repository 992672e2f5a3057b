//! The schema of a database on a server, compared with that of a new database, which is created in a transaction and rolled
//! back. So the server writes both in the same form, whatever its version.

use super::super::schema::{Comparison, Part, PartKind, PartName, Parts, compare};
use super::super::{FromValue, StoreError};
use super::migrate;
use super::session::Session;

/// The schema in which the reference is created.
const REFERENCE: &str = "tidings_reference";

/// The parts of the schema with the table `schema_version`, except partitions: kind, table, name, definition, the statements that
/// create and remove it, and whether it affects writes.
const PARTS: &str = "
WITH ns AS (
    SELECT n.oid, quote_ident(n.nspname) || '.' AS prefix FROM pg_namespace n
    WHERE n.oid = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('schema_version'))),
tab AS (
    SELECT c.oid, CAST(c.relname AS text) AS name, c.relkind, c.relpersistence FROM pg_class c
    JOIN ns ON ns.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition),
constrained AS (SELECT * FROM pg_constraint WHERE contype IN ('p', 'u', 'c', 'f', 'x'))
SELECT 'table', name, name,
       CASE relpersistence WHEN 'u' THEN 'UNLOGGED ' ELSE '' END || coalesce(pg_get_partkeydef(oid), ''), '', '', false
FROM tab
UNION ALL
SELECT 'column', t.name, CAST(a.attname AS text),
       format_type(a.atttypid, a.atttypmod)
           || CASE WHEN a.attcollation <> y.typcollation THEN ' COLLATE ' || quote_ident(l.collname) ELSE '' END
           || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
           || CASE WHEN a.attidentity <> '' THEN ' IDENTITY ' || CAST(a.attidentity AS text) ELSE '' END
           || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), ''), '', '', true
FROM tab t
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type y ON y.oid = a.atttypid
LEFT JOIN pg_collation l ON l.oid = a.attcollation
LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum
UNION ALL
SELECT 'constraint', t.name, CAST(k.conname AS text), pg_get_constraintdef(k.oid),
       format('ALTER TABLE %I ADD CONSTRAINT %I %s', t.name, k.conname, pg_get_constraintdef(k.oid)),
       format('ALTER TABLE %I DROP CONSTRAINT %I', t.name, k.conname), true
FROM tab t JOIN constrained k ON k.conrelid = t.oid
UNION ALL
SELECT 'index', t.name, CAST(c.relname AS text), x.text, replace(x.text, ' ON ONLY ', ' ON '),
       format('DROP INDEX %I', c.relname), i.indisunique
FROM tab t
JOIN pg_index i ON i.indrelid = t.oid
JOIN pg_class c ON c.oid = i.indexrelid
CROSS JOIN LATERAL (SELECT replace(pg_get_indexdef(c.oid), ns.prefix, '') AS text FROM ns) x
WHERE NOT EXISTS (SELECT FROM constrained k WHERE k.conindid = c.oid)
UNION ALL
SELECT 'view', CAST(c.relname AS text), CAST(c.relname AS text), pg_get_viewdef(c.oid),
       format('CREATE VIEW %I AS %s', c.relname, pg_get_viewdef(c.oid)), format('DROP VIEW %I', c.relname), false
FROM pg_class c JOIN ns ON ns.oid = c.relnamespace WHERE c.relkind = 'v'
UNION ALL
SELECT 'trigger', t.name, CAST(g.tgname AS text),
       replace(pg_get_triggerdef(g.oid), ns.prefix, '') || CASE g.tgenabled WHEN 'O' THEN '' ELSE ' but not enabled' END,
       replace(pg_get_triggerdef(g.oid), ns.prefix, ''), format('DROP TRIGGER %I ON %I', g.tgname, t.name), true
FROM tab t JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal CROSS JOIN ns
UNION ALL
SELECT 'function', CAST(p.proname AS text), CAST(p.proname AS text), p.prosrc,
       replace(pg_get_functiondef(p.oid), ns.prefix, ''), format('DROP FUNCTION %I CASCADE', p.proname), false
FROM pg_proc p JOIN ns ON ns.oid = p.pronamespace WHERE p.prokind = 'f' AND p.pronargs = 0
";

/// How the row of a table is created if a new database's row would be wrong: from the rows of other tables. Empty if it cannot.
const ROWS: [(&str, &str); 4] = [
    // Other programs read the version before anything else, so without its row there is no check.
    ("schema_version", ""),
    (
        "revision_base",
        "INSERT INTO revision_base (one, base, timeline) SELECT 1, coalesce(max(revision), 0), 0 FROM lane",
    ),
    // All posts may have changed.
    (
        "post_change",
        "INSERT INTO post_change (revision, post)
         SELECT base + CAST(CAST(pg_current_xact_id() AS text) AS bigint), 0 FROM revision_base",
    ),
    // The chain before its earliest record is known only if that is the first one.
    (
        "audit_chain",
        "INSERT INTO audit_chain (one, removed_seq, removed_hash, head_seq, head_hash)
         SELECT 1, 0, repeat('0', 64), coalesce(max(seq), 0),
                coalesce((SELECT hash FROM audit ORDER BY seq DESC LIMIT 1), repeat('0', 64))
         FROM audit HAVING coalesce(min(seq), 1) = 1",
    ),
];

/// Compares the schema of a database whose version is this program's.
pub(super) fn compare_schema(session: &mut Session) -> Result<Comparison, StoreError> {
    if first(
        session,
        "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'",
    )? {
        return Ok(Comparison::Skipped(
            "that needs a primary, on which a new one is created and rolled back",
        ));
    }
    if !first(session, "SELECT has_database_privilege(current_database(), 'CREATE')")? {
        return Ok(Comparison::Skipped(
            "that needs the right to create a schema, which is rolled back: GRANT CREATE ON DATABASE NAME TO USER",
        ));
    }
    let begin = format!("BEGIN; CREATE SCHEMA {REFERENCE}; SET LOCAL search_path = {REFERENCE}");
    let expected = session.control(&begin).and_then(|_| reference(session));
    session.roll_back();
    let expected = expected?;
    let mut found = parts(session)?;
    let tables = expected.keys().filter(|name| name.kind == PartKind::Row);
    for name in tables.filter(|row| found_table(&found, row)).cloned().collect::<Vec<_>>() {
        if first(session, &format!("SELECT EXISTS (SELECT FROM {})", name.table))? {
            found.insert(name, Part::default());
        }
    }
    Ok(Comparison::Compared(compare(&expected, &found)))
}

fn found_table(found: &Parts, row: &PartName) -> bool {
    found.contains_key(&PartName { kind: PartKind::Table, ..row.clone() })
}

/// Creates the schema in the transaction of the session, and returns its parts, with the rows that every database has. The
/// counters have a check of their own.
fn reference(session: &mut Session) -> Result<Parts, StoreError> {
    migrate::create_schema(session)?;
    let mut parts = parts(session)?;
    let tables = parts.keys().filter(|name| name.kind == PartKind::Table && name.table != "total_count");
    for table in tables.map(|name| name.table.clone()).collect::<Vec<_>>() {
        let sql = format!(
            "SELECT format('INSERT INTO %I SELECT * FROM json_populate_record(CAST(NULL AS %1$I), %L)',
                           '{table}', row_to_json(its_row)) FROM {table} AS its_row LIMIT 1"
        );
        let mut create: Option<String> = None;
        session.for_each(&sql, &[], &mut |row| {
            create = Some(row.take(0)?);
            Ok(())
        })?;
        if let Some(create) = create {
            let replaced = ROWS.iter().find(|(of, _)| *of == table).map(|(_, sql)| (*sql).to_owned());
            let part = Part { create: replaced.unwrap_or(create), ..Part::default() };
            parts.insert(PartName { kind: PartKind::Row, name: table.clone(), table }, part);
        }
    }
    Ok(parts)
}

/// Returns all parts of the schema except rows.
fn parts(session: &mut Session) -> Result<Parts, StoreError> {
    let mut parts = Parts::new();
    session.for_each(PARTS, &[], &mut |row| {
        let kind: String = row.take(0)?;
        let Some(kind) = PartKind::of(&kind) else { return Ok(()) };
        let name = PartName { kind, table: row.take(1)?, name: row.take(2)? };
        let definition: String = row.take(3)?;
        let part = Part {
            definition: definition.split_whitespace().collect::<Vec<_>>().join(" "),
            create: row.take(4)?,
            remove: row.take(5)?,
            affects_writes: row.take(6)?,
        };
        parts.insert(name, part);
        Ok(())
    })?;
    Ok(parts)
}

/// Runs a statement and returns the first column of its row.
fn first<T: FromValue + Default>(session: &mut Session, sql: &str) -> Result<T, StoreError> {
    let mut found = T::default();
    session.for_each(sql, &[], &mut |row| {
        found = row.take(0)?;
        Ok(())
    })?;
    Ok(found)
}
