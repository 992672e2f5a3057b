use super::{BYTES_MAX, DELETE_MAX, NewOrder, OrderRow, StoreError, Timestamp, Tx, packed};
use crate::store::{Arg, row_each, run_each};

const PERSONAL: i64 = 3;
/// Like [`PERSONAL`], without the posts to skip in the row. Servers of earlier versions do not find these orders.
const PERSONAL_SKIPPING_SEEN: i64 = 4;

pub(crate) fn order(tx: &mut dyn Tx, id: u64) -> Result<Option<OrderRow>, StoreError> {
    let sql = "SELECT feed, owner, begun, tail, keys, skip FROM feed_order WHERE id = $1";
    let Some(mut row) = tx.row(sql, &[id.cast_signed().into()])? else { return Ok(None) };
    let (feed, owner) = (row.take(0)?, row.take(1)?);
    let skips_seen = feed == PERSONAL_SKIPPING_SEEN;
    Ok(Some(OrderRow {
        skips_seen,
        kind: (if skips_seen { PERSONAL } else { feed }, owner),
        begun: row.take(2)?,
        tail: row.take::<Option<i64>>(3)?.map(i64::cast_unsigned),
        keys: row.take(4)?,
        skip: row.take(5)?,
    }))
}

/// `None` for an order that is not in the table.
pub(crate) fn begun(
    tx: &mut dyn Tx,
    ids: impl Iterator<Item = u64>,
) -> Result<Vec<Option<Timestamp>>, StoreError> {
    let ids: Vec<_> = ids.map(|id| [id.cast_signed().into()]).collect();
    let rows = row_each(tx, "SELECT begun FROM feed_order WHERE id = $1", &ids)?;
    rows.into_iter().map(|row| row.map(|mut row| row.take(0)).transpose()).collect()
}

pub(crate) fn touch(tx: &mut dyn Tx, id: u64, now: Timestamp) -> Result<(), StoreError> {
    let sql = "UPDATE feed_order SET begun = $2
               WHERE id = (SELECT id FROM feed_order WHERE id = $1 FOR UPDATE SKIP LOCKED)";
    tx.send(sql, &[id.cast_signed().into(), now.into()])
}

/// The orders must be distinct. Updates the times of existing ones.
pub(crate) fn insert(tx: &mut dyn Tx, rows: &[NewOrder<'_>], now: Timestamp) -> Result<(), StoreError> {
    let sql = "INSERT INTO feed_order (id, feed, owner, begun, bytes, tail, keys, skip)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING";
    let texts: Vec<_> =
        rows.iter().map(|row| [packed(row.keys), packed(row.skip.unwrap_or_default())]).collect();
    let args = rows.iter().zip(&texts).map(|(NewOrder { id, kind, tail, skip, .. }, texts)| {
        let feed = if skip.is_some() { kind.numbers().0 } else { PERSONAL_SKIPPING_SEEN };
        let (owner, [keys, skip]) = (kind.numbers().1, texts);
        let bytes = i64::try_from(keys.len() + skip.len() + 200).unwrap_or(i64::MAX);
        let tail = tail.map_or(Arg::Null, |id| id.cast_signed().into());
        let (id, now) = (id.cast_signed().into(), now.into());
        [id, feed.into(), owner.into(), now, bytes.into(), tail, keys.into(), skip.into()]
    });
    let inserted = run_each(tx, sql, &args.collect::<Vec<_>>())?;
    let mut existing = rows.iter().zip(inserted).filter(|(_, inserted)| *inserted == 0);
    existing.try_for_each(|(row, _)| touch(tx, row.id, now))
}

/// Also deletes the oldest rows while all rows are too large.
pub(crate) fn delete_oldest(tx: &mut dyn Tx, expired: Timestamp) -> Result<(), StoreError> {
    let sql = "DELETE FROM feed_order WHERE id IN (
                   SELECT id FROM feed_order WHERE begun < greatest(CAST($1 AS bigint), (
                       SELECT max(begun) FROM (
                           SELECT begun, sum(bytes) OVER (ORDER BY begun DESC, id) AS newer FROM feed_order
                       ) AS sums WHERE newer > CAST($2 AS bigint))) + 1
                   ORDER BY begun LIMIT $3 FOR UPDATE SKIP LOCKED)";
    tx.send(sql, &[expired.into(), BYTES_MAX.into(), DELETE_MAX.into()])
}
