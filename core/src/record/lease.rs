//! Leases: work that one server of a database does for all.
//!
//! A server that [holds](Lease::hold) a lease does the work and renews the lease. When it stops, it releases the lease;
//! when it dies, another server takes over within seconds. Work that stays within an SQLite file needs none: it may be done twice.
//!
//! # Concurrent writes
//!
//! Taking and releasing a lease is one statement on one row, which other servers lock with the same statements. Of two that
//! take a lease at the same time, the second one waits for the first and finds its row.

use std::sync::{Arc, Mutex};

use crate::base::clock::{Clock, SECOND_MS, Timestamp};
use crate::base::lock::lock;
use crate::base::random::random;
use crate::store::{Isolation, Store, StoreError};

const TERM_MS: i64 = 15 * SECOND_MS;
const RENEW_MS: i64 = 5 * SECOND_MS;
/// How often a server checks whether a lease of another server has ended.
const LOOK_MS: i64 = 2 * SECOND_MS;

pub(crate) struct Lease {
    store: Arc<Store>,
    clock: Clock,
    name: &'static str,
    /// Whether the work affects other machines, so that two processes of one SQLite file must not both do it.
    reaches_out: bool,
    /// Random, one per process.
    owner: String,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// Set while this process holds the lease.
    until: Option<Timestamp>,
    looked: Option<Timestamp>,
}

impl Lease {
    /// `clock` is that of the primary.
    pub(crate) fn new(store: Arc<Store>, clock: Clock, name: &'static str) -> Self {
        let owner = format!("{:032x}", u128::from_be_bytes(random()));
        Self { store, clock, name, reaches_out: false, owner, state: Mutex::default() }
    }

    pub(crate) fn reaching_out(store: Arc<Store>, clock: Clock, name: &'static str) -> Self {
        Self { reaches_out: true, ..Self::new(store, clock, name) }
    }

    /// Takes or renews the lease, and returns whether this process has it. Long work calls this repeatedly.
    pub(crate) fn hold(&self) -> Result<bool, StoreError> {
        if !self.store.is_on_server() && !self.reaches_out {
            return Ok(true);
        }
        let now = self.clock.now();
        // The lock is not held during a write, which may take long while there is no primary.
        let state = *lock(&self.state);
        let is_fresh = |since: Timestamp, ms: i64| (0..ms).contains(&(now - since));
        if state.until.is_some_and(|until| is_fresh(until - TERM_MS, RENEW_MS)) {
            return Ok(true);
        }
        if state.until.is_none() && state.looked.is_some_and(|looked| is_fresh(looked, LOOK_MS)) {
            return Ok(false);
        }
        let is_held = self.is_free_at(now)? && self.take(now)?;
        let until = is_held.then(|| now + TERM_MS);
        *lock(&self.state) = State { until, looked: Some(now) };
        Ok(is_held)
    }

    fn is_free_at(&self, now: Timestamp) -> Result<bool, StoreError> {
        self.store.read(|tx| {
            let sql = "SELECT count(*) FROM lease WHERE name = $1 AND owner <> $2 AND until > $3";
            Ok(tx.one(sql, &[self.name.into(), (&self.owner).into(), now.into()])?.take::<i64>(0)? == 0)
        })
    }

    fn take(&self, now: Timestamp) -> Result<bool, StoreError> {
        let (name, owner) = (self.name, self.owner.clone());
        self.store.write(Isolation::Locking, move |tx| {
            let sql = "INSERT INTO lease (name, owner, until) VALUES ($1, $2, $4)
                       ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
                       WHERE lease.owner = excluded.owner OR lease.until <= $3";
            let args = [name.into(), (&owner).into(), now.into(), (now + TERM_MS).into()];
            Ok(tx.run(sql, &args)? == 1)
        })
    }

    pub(crate) fn release(&self) -> Result<(), StoreError> {
        if std::mem::take(&mut *lock(&self.state)).until.is_none() {
            return Ok(());
        }
        let (name, owner) = (self.name, self.owner.clone());
        self.store.write(Isolation::Locking, move |tx| {
            tx.run("DELETE FROM lease WHERE name = $1 AND owner = $2", &[name.into(), (&owner).into()])
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::location::Location;
    use crate::testing;

    fn lease(location: &str, clock: &Clock) -> Lease {
        let store = Store::open(&Location::from(location)).unwrap();
        Lease::reaching_out(Arc::new(store), clock.clone(), "test")
    }

    #[test]
    fn one_server_holds_a_lease_until_it_stops_or_dies() {
        let service = testing::service();
        let clock = service.clock();
        let [one, two, three] = [(); 3].map(|()| lease(&service.location(), clock));
        assert_eq!([&one, &two, &three].map(|lease| lease.hold().unwrap()), [true, false, false]);
        for _ in 0..10 {
            clock.advance(RENEW_MS);
            assert!(one.hold().unwrap() && !two.hold().unwrap(), "it is renewed");
        }
        one.release().unwrap();
        clock.advance(LOOK_MS);
        assert!(two.hold().unwrap() && !three.hold().unwrap() && !one.hold().unwrap());
        drop(two);
        clock.advance(TERM_MS);
        assert!(three.hold().unwrap(), "the owner has died");
    }
}
