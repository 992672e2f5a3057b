//! The horizon of a snapshot: the revision up to which it sees every commit of this database.
//!
//! A revision is the id of a transaction plus a base, and a snapshot lists the ids of the transactions that were running when
//! it was taken. Only those of this database count: one of another database may run for hours, in which time no cache would
//! be complete. So the running transactions of this database are listed first, and the snapshot is taken afterwards. A
//! transaction of this database that the snapshot does not see
//!
//! - has an id from the limit on, the least id that may have been unknown to the server when the list was made,
//! - or was running then, so that it is on the list, and in the snapshot.

use super::super::StoreError;
use super::session::Session;

/// Returns the limit, the last 32 bits of the ids of this database's running transactions, and the number of sessions about which
/// the server does not tell this user.
///
/// The snapshot of the statement is taken before it reads the list, so an id below the limit was known when it was.
const RUNNING: &str = "SELECT CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint),
           coalesce(string_agg(CAST(backend_xid AS text), ','), ''),
           count(*) FILTER (WHERE query = '<insufficient privilege>')
    FROM pg_stat_activity WHERE datname = current_database()";

#[derive(Debug)]
pub(super) struct Running {
    /// The least id that may be missing.
    limit: u64,
    /// The last 32 bits of the ids.
    ids: Vec<u32>,
}

impl Running {
    /// `None` if the server does not tell of all transactions. The session is in no transaction.
    pub(super) fn list(session: &mut Session) -> Result<Option<Self>, StoreError> {
        let Some(mut row) = session.row(RUNNING, &[])? else { return Ok(None) };
        if row.take::<i64>(2)? > 0 {
            return Ok(None);
        }
        Ok(Some(Self { limit: row.take::<i64>(0)?.unsigned_abs(), ids: numbers(&row.take::<String>(1)?)? }))
    }
}

/// `running` was listed before the transaction of `session` began; without it, every transaction that the snapshot does not see
/// counts as one of this database.
pub(super) fn horizon(session: &mut Session, running: Option<&Running>) -> Result<i64, StoreError> {
    let sql = "SELECT CAST(pg_current_snapshot() AS text), base FROM revision_base";
    let row = session.row(sql, &[])?;
    let mut row = row.ok_or_else(|| StoreError::other("there is no base of the revisions"))?;
    let (snapshot, base): (String, i64) = (row.take(0)?, row.take(1)?);
    Ok(Snapshot::parse(&snapshot)?.seen_by(running).cast_signed() + base)
}

/// The text form is `xmin:xmax:xip_list`.
struct Snapshot {
    xmin: u64,
    running: Vec<u64>,
    /// No transaction with an id from this one on has ended.
    xmax: u64,
}

impl Snapshot {
    fn parse(text: &str) -> Result<Self, StoreError> {
        let mut parts = text.splitn(3, ':');
        let mut part = || parts.next().unwrap_or_default();
        let (xmin, xmax, running) = (part(), part(), part());
        let number = |text: &str| text.parse().map_err(StoreError::other);
        Ok(Self { xmin: number(xmin)?, xmax: number(xmax)?, running: numbers(running)? })
    }

    /// The id up to which the snapshot sees every committed transaction of this database.
    fn seen_by(&self, own: Option<&Running>) -> u64 {
        let Some(own) = own else { return self.xmin - 1 };
        #[expect(clippy::cast_possible_truncation, reason = "the list has the last 32 bits")]
        let is_own = |id: &&u64| own.ids.contains(&(**id as u32));
        let first = self.running.iter().filter(is_own).min().copied().unwrap_or(u64::MAX);
        first.min(own.limit).min(self.xmax) - 1
    }
}

fn numbers<T: std::str::FromStr<Err = std::num::ParseIntError>>(text: &str) -> Result<Vec<T>, StoreError> {
    let texts = text.split(',').filter(|text| !text.is_empty());
    texts.map(|text| text.parse().map_err(StoreError::other)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_transaction_of_another_database_does_not_count() {
        let snapshot = Snapshot::parse("4294967300:4294967310:4294967300,4294967305").unwrap();
        let seen = |ids: &[u32], limit| snapshot.seen_by(Some(&Running { limit, ids: ids.to_vec() }));
        assert_eq!(seen(&[], 4_294_967_308), 4_294_967_307);
        assert_eq!(seen(&[], 4_294_967_400), 4_294_967_309, "a snapshot knows nothing from its end on");
        assert_eq!(seen(&[9], 4_294_967_308), 4_294_967_304);
        assert_eq!(seen(&[4, 9], 4_294_967_308), 4_294_967_299);
        assert_eq!(snapshot.seen_by(None), 4_294_967_299, "without a list all count");
        let nothing = Snapshot::parse("7:7:").unwrap();
        assert_eq!(nothing.seen_by(Some(&Running { limit: 7, ids: Vec::new() })), 6);
        assert!(Snapshot::parse("7:x:").is_err());
    }

    proptest! {
        /// Transactions begin and end; the list is made at one moment and the snapshot is taken at a later one.
        #[test]
        fn every_transaction_up_to_the_horizon_that_ends_is_seen(
            transactions in prop::collection::vec((any::<bool>(), 0_u64..40, 0_u64..20), 1..40),
            (listed, later) in (0_u64..60, 0_u64..20),
        ) {
            // Ids are given out in the order of the beginnings.
            let mut transactions = transactions;
            transactions.sort_by_key(|(_, begin, _)| *begin);
            let transactions: Vec<_> = (100_u64..)
                .zip(transactions)
                .map(|(id, (is_own, begin, took))| (id, is_own, begin, begin + took + 1))
                .collect();
            let taken = listed + later;
            let running = |at: u64| {
                move |(_, _, begin, end): &&(u64, bool, u64, u64)| *begin <= at && at < *end
            };
            let xmax = |at: u64| {
                let ended = transactions.iter().filter(|(.., end)| *end <= at);
                ended.map(|(id, ..)| id + 1).max().unwrap_or(100)
            };
            let own = transactions.iter().filter(running(listed)).filter(|(_, is_own, ..)| *is_own);
            let ids = own.map(|(id, ..)| u32::try_from(*id).unwrap()).collect();
            let list = Running { limit: xmax(listed), ids };
            let unseen: BTreeSet<u64> = transactions.iter().filter(running(taken)).map(|(id, ..)| *id).collect();
            let in_snapshot: Vec<u64> = unseen.iter().copied().filter(|id| *id < xmax(taken)).collect();
            let snapshot =
                Snapshot { xmin: in_snapshot.first().copied().unwrap_or(xmax(taken)), running: in_snapshot, xmax: xmax(taken) };
            let horizon = snapshot.seen_by(Some(&list));
            for (id, is_own, begin, end) in &transactions {
                let is_seen = *end <= taken && *id < snapshot.xmax && !unseen.contains(id);
                prop_assert!(!is_own || *id > horizon || is_seen, "{id} began at {begin}: {horizon}");
            }
        }
    }
}
