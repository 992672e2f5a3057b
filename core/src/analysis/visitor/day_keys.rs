//! The keys that guests are hashed with, one for each day.

use std::sync::Arc;

use arc_swap::ArcSwap;
use zeroize::Zeroizing;

use crate::base::random::random;
use crate::record::error::Result;
use crate::store::{Isolation, Store, StoreError, Tx};

pub(super) type Secret = Zeroizing<[u8; 16]>;

/// The loaded keys as (day, key): those of the current day and the next, and keys that [`DayKeys::create`] made.
#[derive(Default)]
pub(crate) struct DayKeys(ArcSwap<Vec<(i64, Secret)>>);

impl DayKeys {
    pub(super) fn hash<T>(&self, day: i64, hash: impl Fn(&Secret) -> T) -> T {
        let keys = self.0.load();
        let found = keys.iter().find(|(of, _)| *of == day).map(|(_, secret)| hash(secret));
        found.unwrap_or_else(|| hash(&self.create(day)))
    }

    /// Checks the keys of this day and the next.
    pub(crate) fn has_keys(&self, day: i64) -> bool {
        let keys = self.0.load();
        [day, day + 1].iter().all(|day| keys.iter().any(|(of, _)| of == day))
    }

    /// Loads the keys of this day and the next, creates missing ones, and removes those of earlier days. Files still hold
    /// removed keys until [`erase_replaced`] is called.
    pub(crate) fn rotate(&self, store: &Store, day: i64) -> Result<()> {
        let loaded = self.0.load();
        let fresh = [day, day + 1].map(|day| {
            let known = loaded.iter().find(|(of, _)| *of == day);
            (day, known.map_or_else(|| encode(&random()), |(_, secret)| encode(secret)))
        });
        let stored = store.write(Isolation::Alone, move |tx| {
            fresh.iter().try_for_each(|(day, secret)| sql::insert_key(tx, *day, secret))?;
            sql::keys(tx)
        })?;
        let keys =
            stored.iter().filter(|(of, _)| *of >= day).filter_map(|(of, text)| Some((*of, decode(text)?)));
        self.0.store(Arc::new(keys.collect()));
        Ok(())
    }

    /// Creates a key for a day whose key is not loaded, because [`DayKeys::rotate`] has not run for more than a day. Only
    /// this process uses it, until the next rotation.
    fn create(&self, day: i64) -> Secret {
        let fresh = Secret::new(random());
        let keys = self.0.rcu(|keys| {
            let mut keys = Vec::clone(keys);
            if !keys.iter().any(|(of, _)| *of == day) {
                keys.push((day, fresh.clone()));
            }
            keys
        });
        let stored = keys.iter().find(|(of, _)| *of == day);
        stored.map_or(fresh, |(_, secret)| secret.clone())
    }
}

/// Removes the remains of replaced keys: from the write-ahead log of a file, or from the file of a table of a server. Returns
/// false when a reader prevents it. Blocks writes for at most 50 ms.
pub(crate) fn erase_replaced(store: &Store) -> Result<bool> {
    if store.is_on_server() {
        Ok(store.write_long(Isolation::Alone, sql::rewrite)?)
    } else {
        Ok(store.empty_wal()?)
    }
}

fn encode(secret: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*secret))
}

fn decode(text: &str) -> Option<Secret> {
    Some(Secret::new(u128::from_str_radix(text, 16).ok()?.to_be_bytes()))
}

mod sql {
    use super::{StoreError, Tx};

    /// Does nothing if the day has a key. Otherwise this key replaces that of two days before, which has the same slot.
    pub(super) fn insert_key(tx: &mut dyn Tx, day: i64, secret: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO day_key (slot, day, secret) VALUES ($1, $2, $3) ON CONFLICT (slot)
                   DO UPDATE SET day = excluded.day, secret = excluded.secret WHERE day_key.day < excluded.day";
        tx.run(sql, &[day.rem_euclid(2).into(), day.into(), secret.into()])?;
        Ok(())
    }

    /// Empties the table of a server, and inserts its rows again. A replaced row would stay in the file of the table, which is
    /// now a different file. Returns false when another transaction uses the table, such as a dump: writers would wait for it.
    pub(super) fn rewrite(tx: &mut dyn Tx) -> Result<bool, StoreError> {
        let used = "SELECT count(*) FROM pg_locks WHERE relation = CAST('day_key' AS regclass) AND pid <> pg_backend_pid()
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        if tx.one(used, &[])?.take::<i64>(0)? > 0 {
            return Ok(false);
        }
        // In case another transaction uses the table from now on.
        tx.run("SET LOCAL lock_timeout = '50ms'", &[])?;
        tx.run("LOCK TABLE day_key IN ACCESS EXCLUSIVE MODE", &[])?;
        let keys = keys(tx)?;
        tx.run("TRUNCATE day_key", &[])?;
        keys.iter().try_for_each(|(day, secret)| insert_key(tx, *day, secret))?;
        // The timeout of all transactions of the store.
        tx.run("SET LOCAL lock_timeout = '10s'", &[])?;
        Ok(true)
    }

    pub(super) fn keys(tx: &mut dyn Tx) -> Result<Vec<(i64, String)>, StoreError> {
        let rows = tx.rows("SELECT day, secret FROM day_key ORDER BY day", &[])?;
        rows.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
    }
}

#[cfg(test)]
mod tests;
