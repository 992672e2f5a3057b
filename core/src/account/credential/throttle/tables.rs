//! The places of failures: the memory of one process, or an unlogged table with a row for each key, which all servers of a
//! database share.

use super::{CLIENT_WINDOW_MS, FORGET_MS, Failures, Key, Kind, Millis, Table};
use crate::base::clock::Timestamp;
use crate::base::keyed::OwnMap;
use crate::record::error::{Error, Result};
use crate::store::{StoreError, Tx};

/// The maximum number of keys of each kind, which take 20 MB with the times of all clients' failures. A map that is less than
/// half full does not grow, however many keys come and go.
const MAX: [usize; 3] = [12_000, 57_000, 7_000];

#[derive(Default)]
pub(super) struct Memory {
    /// By kind. The keys are keyed hashes, so nobody can choose some that collide.
    pub(super) failures: [OwnMap<u64, Failures>; 3],
}

impl Table for Memory {
    fn get(&mut self, Key { kind, hash }: Key, now: Millis) -> Result<Failures, StoreError> {
        let known = self.failures[kind as usize].get(&hash).cloned();
        let mut failures = known.unwrap_or(Failures::new(kind));
        failures.refresh(now);
        Ok(failures)
    }

    fn put(&mut self, Key { kind, hash }: Key, failures: Failures) -> Result<(), StoreError> {
        let map = &mut self.failures[kind as usize];
        if failures.is_empty() {
            map.remove(&hash);
            return Ok(());
        }
        map.insert(hash, failures);
        if map.len() > MAX[kind as usize] {
            shed(map);
        }
        Ok(())
    }
}

/// Removes the eighth of the keys with the lowest priority: a flood of new keys replaces other small ones, and frees no client
/// that has to wait.
fn shed(map: &mut OwnMap<u64, Failures>) {
    let mut keys: Vec<_> = map.iter().map(|(hash, failures)| (failures.priority(), *hash)).collect();
    let removed = keys.len() / 8;
    keys.select_nth_unstable(removed);
    for (_, hash) in &keys[..removed] {
        map.remove(hash);
    }
}

/// The maximum number of rows that [`prune`] leaves.
const ROWS_MAX: i64 = 200_000;

pub(super) struct Rows<'t>(pub(super) &'t mut dyn Tx);

impl Table for Rows<'_> {
    fn get(&mut self, Key { kind, hash }: Key, now: Millis) -> Result<Failures, StoreError> {
        let sql = "SELECT failures, last, times, running, reserved FROM sign_in_failure WHERE kind = $1 AND key = $2";
        let mut failures = Failures::new(kind);
        if let Some(mut row) = self.0.row(sql, &[(kind as i64).into(), hash.cast_signed().into()])? {
            let number = |number: i64| u32::try_from(number).unwrap_or_default();
            (failures.count, failures.last_at) = (number(row.take(0)?), row.take(1)?);
            let times: String = row.take(2)?;
            failures.times = times.split(' ').filter_map(|time| time.parse().ok()).collect();
            (failures.running, failures.reserved_until) = (number(row.take(3)?), row.take(4)?);
        }
        failures.refresh(now);
        Ok(failures)
    }

    fn put(&mut self, Key { kind, hash }: Key, failures: Failures) -> Result<(), StoreError> {
        let key = [(kind as i64).into(), hash.cast_signed().into()];
        if failures.is_empty() {
            return self.0.send("DELETE FROM sign_in_failure WHERE kind = $1 AND key = $2", &key);
        }
        let Failures { count, last_at, ref times, running, reserved_until, .. } = failures;
        let forgotten = last_at + if kind == Kind::Client { CLIENT_WINDOW_MS } else { FORGET_MS };
        let times = times.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let sql = "INSERT INTO sign_in_failure (kind, key, failures, last, times, running, reserved, until)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                   ON CONFLICT (kind, key) DO UPDATE SET failures = excluded.failures, last = excluded.last,
                   times = excluded.times, running = excluded.running, reserved = excluded.reserved,
                   until = excluded.until";
        let [kind, key] = key;
        let (count, running) = (i64::from(count).into(), i64::from(running).into());
        let until = forgotten.max(reserved_until).into();
        let args =
            [kind, key, count, last_at.into(), times.as_str().into(), running, reserved_until.into(), until];
        self.0.send(sql, &args)
    }
}

/// The keys are the halves of the secret that all servers know for the hashes of paths.
pub(super) fn keys(tx: &mut dyn Tx) -> Result<(u64, u64)> {
    let secret: String = tx.one("SELECT secret FROM path_key WHERE one = 1", &[])?.take(0)?;
    let secret = u128::from_str_radix(&secret, 16).map_err(|e| Error::Internal(e.into()))?;
    #[expect(clippy::cast_possible_truncation, reason = "the halves of the secret")]
    Ok(((secret >> 64) as u64, secret as u64))
}

/// Deletes expired rows, and excess rows with the fewest failures, of these the oldest; up to `limit` of each. Returns whether
/// there may be more.
pub(crate) fn prune(tx: &mut dyn Tx, now: Timestamp, limit: u64) -> Result<bool, StoreError> {
    // Where there is one server, the failures are in its memory.
    if !tx.dialect().is_concurrent() {
        return Ok(false);
    }
    let sql = "DELETE FROM sign_in_failure WHERE (kind, key) IN
               (SELECT kind, key FROM sign_in_failure WHERE until < $1 LIMIT $2)";
    let forgotten = tx.run(sql, &[now.into(), limit.cast_signed().into()])?;
    let sql = "DELETE FROM sign_in_failure WHERE (kind, key) IN
               (SELECT kind, key FROM sign_in_failure ORDER BY failures, last
                LIMIT least($1, (SELECT greatest(count(*) - $2, 0) FROM sign_in_failure)))";
    let excess = tx.run(sql, &[limit.cast_signed().into(), ROWS_MAX.into()])?;
    Ok(forgotten == limit || excess == limit)
}
