use super::{Filter, Party, Read};
use crate::account::{Admin, Member};
use crate::audit::trail::sql::{COLUMNS, record};
use crate::base::clock::Timestamp;
use crate::store::{Arg, Row, StoreError, Tx};

/// `conditions` also contains the order.
fn select(conditions: &str) -> String {
    let columns: Vec<String> = COLUMNS.split(',').map(|column| format!("a.{}", column.trim())).collect();
    let columns = columns.join(", ");
    format!(
        "SELECT {columns}, m.id, i.salt, n.id, j.salt FROM audit a
         LEFT JOIN member m ON m.key = a.actor_member LEFT JOIN audit_identity i ON i.member = a.actor_member
         LEFT JOIN member n ON n.key = a.subject_member LEFT JOIN audit_identity j ON j.member = a.subject_member
         WHERE {conditions}"
    )
}

fn read(mut row: Row) -> Result<Read, StoreError> {
    let stored = record(&mut row)?;
    let mut member = |at: usize| -> Result<_, StoreError> {
        let salt = row.take::<Option<String>>(at + 1)?;
        Ok(row.take::<Option<String>>(at)?.map(|id| (id, salt)))
    };
    Ok(Read { actor: member(14)?, subject: member(16)?, record: stored })
}

pub(super) fn latest(
    tx: &mut dyn Tx,
    _: &Admin<'_>,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<Read>, StoreError> {
    let mut args: Vec<Arg<'_>> = vec![filter.before.into()];
    let mut conditions = vec!["a.seq < $1".to_owned()];
    let mut add = |condition: &str, arg| {
        args.push(arg);
        conditions.push(condition.replace('?', &format!("${}", args.len())));
    };
    match &filter.action {
        Some(group) if group.ends_with('.') => {
            add("substr(a.action, 1, length(CAST(? AS TEXT))) = ?", group.into());
        }
        Some(action) => add("a.action = ?", action.into()),
        None => {}
    }
    match &filter.actor {
        Some(Party::Member(key)) => add("a.actor_member = ?", (*key).into()),
        Some(Party::Text(name)) => add("(a.actor_name = ? OR a.actor = ?)", name.into()),
        None => {}
    }
    match &filter.subject {
        Some(Party::Member(key)) => add("a.subject_member = ?", (*key).into()),
        Some(Party::Text(id)) => add("a.subject = ?", id.into()),
        None => {}
    }
    add("TRUE ORDER BY a.seq DESC LIMIT ?", limit.into());
    tx.rows(&select(&conditions.join(" AND ")), &args)?.into_iter().map(read).collect()
}

pub(super) fn after(tx: &mut dyn Tx, seq: i64, limit: i64) -> Result<Vec<Read>, StoreError> {
    let sql = select("a.seq > $1 ORDER BY a.seq LIMIT $2");
    tx.rows(&sql, &[seq.into(), limit.into()])?.into_iter().map(read).collect()
}

pub(super) fn first_until(tx: &mut dyn Tx, seq: i64) -> Result<Option<i64>, StoreError> {
    tx.one("SELECT min(seq) FROM audit WHERE seq <= $1", &[seq.into()])?.take(0)
}

pub(super) fn of_member(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    seq: i64,
    limit: i64,
) -> Result<Vec<Read>, StoreError> {
    // Each column has its own index.
    let named = |column: &str| {
        format!(
            "SELECT seq FROM (SELECT seq FROM audit WHERE {column} = $1 AND seq > $2 ORDER BY seq LIMIT $3) x"
        )
    };
    let (acting, acted_on) = (named("actor_member"), named("subject_member"));
    let sql = select(&format!("a.seq IN ({acting} UNION {acted_on}) ORDER BY a.seq LIMIT $3"));
    tx.rows(&sql, &[member.key.into(), seq.into(), limit.into()])?.into_iter().map(read).collect()
}

pub(super) fn ends(
    tx: &mut dyn Tx,
    seq: i64,
    limit: u64,
) -> Result<Vec<(i64, Timestamp, String)>, StoreError> {
    let sql = "SELECT seq, date, hash FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2";
    let rows = tx.rows(sql, &[seq.into(), limit.cast_signed().into()])?.into_iter();
    rows.map(|mut row| Ok((row.take(0)?, row.take(1)?, row.take(2)?))).collect()
}

/// The number of the last record that an earlier version of the program has removed without keeping one as evidence; 0 if none.
pub(super) fn unwitnessed(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    tx.one("SELECT unwitnessed FROM audit_chain", &[])?.take(0)
}

pub(super) fn remove_until(tx: &mut dyn Tx, seq: i64, hash: &str) -> Result<(), StoreError> {
    tx.run("DELETE FROM audit WHERE seq <= $1", &[seq.into()])?;
    tx.run("UPDATE audit_chain SET removed_seq = $1, removed_hash = $2", &[seq.into(), hash.into()])?;
    Ok(())
}
