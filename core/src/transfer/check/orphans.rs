//! Rows that belong to a row of another table that does not exist.

use crate::record::error::Result;
use crate::store::Tx;
use crate::store::inspect::Inspected;

/// A table whose rows belong to rows of another one, and are deleted with them.
struct Owned {
    table: &'static str,
    /// The columns of its primary key.
    key: &'static str,
    /// The column that names the row of the other table.
    column: &'static str,
    owner: &'static str,
    owner_key: &'static str,
}

const MEMBER_TABLES: [Owned; 9] = [
    Owned::new("label", "name, post", "post", "post", "key"),
    Owned::new("post_stats", "post", "post", "post", "key"),
    Owned::new("post_source", "post", "post", "post", "key"),
    Owned::new("post_source", "post", "source", "source", "key"),
    Owned::new("source_hub", "source", "source", "source", "key"),
    Owned::new("source_removed", "key", "source", "source", "key"),
    Owned::new("hidden", "member, post", "post", "post", "key"),
    Owned::new("notice_reads", "notice, day", "notice", "notice", "id"),
    Owned::new("webhook_delivery", "key", "webhook", "webhook", "id"),
];

/// Maximum number of rows that a transaction deletes. No cache has rows without an owner.
const BATCH: u64 = 1_000;

impl Owned {
    const fn new(
        table: &'static str,
        key: &'static str,
        column: &'static str,
        owner: &'static str,
        owner_key: &'static str,
    ) -> Self {
        Self { table, key, column, owner, owner_key }
    }

    /// Returns the condition of rows without an owner.
    fn condition(&self) -> String {
        let Self { table, column, owner, owner_key, .. } = self;
        format!("NOT EXISTS (SELECT 1 FROM {owner} WHERE {owner}.{owner_key} = {table}.{column})")
    }
}

/// Returns whether a repair deletes the rows of this table that refer to a missing row.
pub(super) fn are_deleted(table: &str) -> bool {
    MEMBER_TABLES.iter().any(|owned| owned.table == table)
}

/// Describes the tables that have rows without an owner.
pub(super) fn wrong(database: &dyn Inspected) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for owned in &MEMBER_TABLES {
        let sql = format!("SELECT count(*) FROM {} WHERE {}", owned.table, owned.condition());
        let rows: i64 = database.read(|tx| tx.one(&sql, &[])?.take(0))?;
        if rows > 0 {
            wrong.push(format!("{rows} rows of {} without a {}", owned.table, owned.owner));
        }
    }
    Ok(wrong)
}

/// Deletes these rows.
pub(super) fn delete(database: &dyn Inspected) -> Result<()> {
    for owned in &MEMBER_TABLES {
        let (Owned { table, key, .. }, condition) = (owned, owned.condition());
        let sql = format!(
            "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {condition} LIMIT $1)"
        );
        let delete = |tx: &mut dyn Tx| tx.run(&sql, &[BATCH.cast_signed().into()]);
        while database.write(delete)? == BATCH {}
    }
    Ok(())
}
