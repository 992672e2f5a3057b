//! Partitions of tables whose rows expire.
//!
//! Adding and dropping partitions needs a lock that conflicts with every statement on the table, and later statements wait behind
//! the request. So the new tables are made before the request, the request is given up after a moment, and the transaction does
//! not wait for a standby.

use std::fmt::Write as _;

use super::super::StoreError;
use super::super::engine::{Expiry, Leftover};
use super::session::Session;

/// A partition that a promoted standby lacks is added or dropped again.
const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = '20ms'; SET LOCAL synchronous_commit = local";

/// A server holds this lock while it changes partitions: "tdngpart" as a number.
const LOCK: i64 = 0x7464_6e67_7061_7274;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Partition {
    name: String,
    /// The lowest key; `None` for the first partition …
    from: Option<i64>,
    /// … and the key above the greatest; `None` for the last one.
    until: Option<i64>,
}

/// [`StoreError::Conflict`] means that other transactions use the table: nothing has changed, or only the drop is done.
pub(super) fn arrange(session: &mut Session, expiry: &Expiry) -> Result<Leftover, StoreError> {
    in_transaction(session, |session| drop_expired(session, expiry))?;
    in_transaction(session, |session| add(session, expiry))?;
    let partitions = partitions(session, expiry.table)?;
    Ok(leftover(&partitions, expiry))
}

/// Sends the statements that `prepare` returns together with the COMMIT, so that their locks are held for as short as possible.
fn in_transaction(
    session: &mut Session,
    prepare: impl FnOnce(&mut Session) -> Result<Option<String>, StoreError>,
) -> Result<(), StoreError> {
    session.control(BEGIN)?;
    let prepared = match session.first(&format!("SELECT pg_try_advisory_xact_lock({LOCK})"), &[]) {
        Ok(Some(true)) => prepare(session),
        // Another server is doing it.
        other => other.map(|_| None),
    };
    let done = match prepared {
        Ok(Some(statements)) => session.control(&format!("{statements}; COMMIT")).map(drop),
        other => {
            session.roll_back();
            return other.map(drop);
        }
    };
    if done.is_err() {
        session.roll_back();
    }
    done
}

/// The new first partition takes rows that are older still.
fn drop_expired(session: &mut Session, expiry: &Expiry) -> Result<Option<String>, StoreError> {
    let table = expiry.table;
    let partitions = partitions(session, table)?;
    let is_expired = |partition: &&Partition| partition.until.is_some_and(|until| until <= expiry.expired);
    let expired: Vec<&Partition> = partitions.iter().filter(is_expired).collect();
    let Some(until) = expired.last().and_then(|last| last.until) else { return Ok(None) };
    if let [only] = &*expired
        && session.first(&format!("SELECT NOT EXISTS (SELECT FROM {})", only.name), &[])? == Some(true)
    {
        return Ok(None);
    }
    let names: Vec<&str> = expired.iter().map(|partition| &*partition.name).collect();
    let names = names.join(", ");
    // Two names in turn: the table of the same bound may still be the first one.
    let free = [format!("{table}_until_{until}"), format!("{table}_before_{until}")];
    let replacement = free.iter().find(|name| expired.iter().all(|partition| partition.name != **name));
    let replacement = replacement.expect("the expired partitions include one first partition");
    session.control(&format!("CREATE TABLE {replacement} (LIKE {table} INCLUDING ALL)"))?;
    tracing::debug!(table, partitions = names, "drops expired partitions");
    Ok(Some(format!(
        "{}; DROP TABLE {names};
         ALTER TABLE {table} ATTACH PARTITION {replacement} FOR VALUES FROM (MINVALUE) TO ({until})",
        lock(table, &names)
    )))
}

/// Gives the last partition an upper bound, and adds later ones, if its keys begin soon.
fn add(session: &mut Session, expiry: &Expiry) -> Result<Option<String>, StoreError> {
    let table = expiry.table;
    let partitions = partitions(session, table)?;
    let Some(Partition { name: last, from: Some(from), until: None }) = partitions.last() else {
        return Err(StoreError::Damaged(format!("the table {table} has no last partition")));
    };
    if *from >= expiry.now.saturating_add(expiry.span) {
        return Ok(None);
    }
    let greatest = session.first(&format!("SELECT max(key) FROM {last}"), &[])?.flatten();
    let bounds = later_bounds(*from, greatest, expiry);
    let Some(end) = bounds.first() else { return Ok(None) };
    let name = |bound: &i64| format!("{table}_{bound}");
    for bound in &bounds {
        session.control(&format!("CREATE TABLE {} (LIKE {table} INCLUDING ALL)", name(bound)))?;
    }
    // The server reads the last partition, to see that its rows are within the bounds. Usually there are none.
    let mut statements = format!(
        "{}; ALTER TABLE {table} DETACH PARTITION {last};
         ALTER TABLE {table} ATTACH PARTITION {last} FOR VALUES FROM ({from}) TO ({end})",
        lock(table, last)
    );
    for (n, bound) in bounds.iter().enumerate() {
        let until = bounds.get(n + 1).map_or("MAXVALUE".to_owned(), i64::to_string);
        let name = name(bound);
        let _ = write!(
            statements,
            "; ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({bound}) TO ({until})"
        );
    }
    Ok(Some(statements))
}

/// The upper bound of the last partition, which begins at `from` and has rows up to the key `greatest`, and the bounds after it.
/// The last new partition begins a whole span after now.
fn later_bounds(from: i64, greatest: Option<i64>, expiry: &Expiry) -> Vec<i64> {
    let Expiry { now, span, unit, .. } = *expiry;
    let soon = now.saturating_add(span);
    // After a time in which none was added, one partition has all keys of that time.
    let today = now.div_euclid(unit) * unit;
    let after_rows = greatest.map_or(i64::MIN, |key| (key.div_euclid(unit) + 1).saturating_mul(unit));
    let first = from.saturating_add(span).max(today).max(after_rows);
    let next = |bound: &i64| (*bound < soon).then(|| bound.saturating_add(span));
    std::iter::successors(Some(first), next).collect()
}

fn leftover(partitions: &[Partition], expiry: &Expiry) -> Leftover {
    let partly = partitions.iter().find(|partition| partition.until.is_none_or(|end| end > expiry.expired));
    match partly {
        Some(Partition { from: Some(from), until: Some(until), .. }) if until - from <= 2 * expiry.span => {
            Leftover::MayWait
        }
        _ => Leftover::Delete,
    }
}

/// After the table is locked, only maintenance such as a vacuum still uses a partition, which nobody waits for.
fn lock(table: &str, partitions: &str) -> String {
    format!(
        "LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE; LOCK TABLE {partitions} IN ACCESS EXCLUSIVE MODE NOWAIT"
    )
}

/// In the order of their keys.
fn partitions(session: &mut Session, table: &str) -> Result<Vec<Partition>, StoreError> {
    let sql = format!(
        "SELECT CAST(c.relname AS text), pg_get_expr(c.relpartbound, c.oid)
         FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass('{table}')"
    );
    let mut found = Vec::new();
    session.for_each(&sql, &[], &mut |row| {
        let (name, bounds): (String, String) = (row.take(0)?, row.take(1)?);
        let parsed = parse(&bounds);
        let (from, until) = parsed
            .ok_or_else(|| StoreError::Damaged(format!("the partition {name} has the bounds {bounds}")))?;
        found.push(Partition { name, from, until });
        Ok(())
    })?;
    found.sort_by_key(|partition| partition.from);
    Ok(found)
}

/// Bounds have the form `FOR VALUES FROM (MINVALUE) TO ('7')`.
fn parse(bounds: &str) -> Option<(Option<i64>, Option<i64>)> {
    let (from, until) = bounds.strip_prefix("FOR VALUES FROM (")?.strip_suffix(')')?.split_once(") TO (")?;
    let bound = |text: &str, infinite| {
        if text == infinite { Some(None) } else { text.trim_matches('\'').parse().ok().map(Some) }
    };
    Some((bound(from, "MINVALUE")?, bound(until, "MAXVALUE")?))
}

#[cfg(test)]
mod tests;
