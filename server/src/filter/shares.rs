//! A shared capacity of which each holder has a limited part: places for downloads and imports, streams of live events, the
//! memory of bodies.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidings_core::account::{Account, Client};
use tidings_core::{Error, Result};

/// `Retry-After` for a holder that has its part, in seconds.
const RETRY_S: u64 = 30;
/// One holder may have this many times what is free, so at most three quarters of all. The more it has, the less another one may
/// have, so a few holders never have all.
const TIMES_FREE: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    AtMost(usize),
    OfFree,
}

pub(crate) struct Shares<K> {
    total: usize,
    part: Part,
    state: Mutex<State<K>>,
}

struct State<K> {
    taken: usize,
    holders: HashMap<K, usize>,
}

pub(crate) struct Share<K: Eq + Hash> {
    shares: Arc<Shares<K>>,
    holder: K,
    amount: usize,
}

impl<K: Eq + Hash + Clone> Shares<K> {
    pub(crate) fn new(total: usize, part: Part) -> Arc<Self> {
        let state = State { taken: 0, holders: HashMap::new() };
        Arc::new(Self { total, part, state: Mutex::new(state) })
    }

    /// `overloaded` if `amount` is not free, `too many requests` if the holder has its part.
    pub(crate) fn take(self: &Arc<Self>, holder: K, amount: usize) -> Result<Share<K>> {
        self.reserve(&holder, amount)?;
        Ok(Share { shares: Arc::clone(self), holder, amount })
    }

    fn reserve(&self, holder: &K, amount: usize) -> Result<()> {
        let mut state = self.state();
        let free = self.total - state.taken;
        let held = state.holders.get(holder).copied().unwrap_or_default() + amount;
        if amount > free {
            return Err(Error::Overloaded);
        }
        let most = match self.part {
            Part::AtMost(most) => most,
            Part::OfFree => free.saturating_mul(TIMES_FREE),
        };
        if held > most {
            return Err(Error::TooManyRequests { retry_after_s: RETRY_S });
        }
        state.taken += amount;
        state.holders.insert(holder.clone(), held);
        Ok(())
    }

    pub(crate) fn taken(&self) -> usize {
        self.state().taken
    }
}

impl<K> Shares<K> {
    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash + Clone> Share<K> {
    pub(crate) fn grow(&mut self, amount: usize) -> Result<()> {
        self.shares.reserve(&self.holder, amount)?;
        self.amount += amount;
        Ok(())
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        let mut state = self.shares.state();
        state.taken -= self.amount;
        if let Some(held) = state.holders.get_mut(&self.holder) {
            *held -= self.amount;
            if *held == 0 {
                state.holders.remove(&self.holder);
            }
        }
    }
}

/// Concurrent downloads: of members who download their own data, and of administrators and API keys, whose places members cannot
/// take. More get `overloaded`.
const OF_MEMBERS: usize = 16;
const OF_ADMINS: usize = 16;
/// Concurrent downloads of one member of their own data, of the members at one address or IPv6 /64, and of one administrator or
/// API key.
const OF_MEMBER: usize = 2;
const OF_CLIENT: usize = 8;
const OF_ADMIN: usize = 4;

pub(crate) struct Downloads {
    members: Arc<Shares<Account>>,
    clients: Arc<Shares<Client>>,
    pub(super) admins: Arc<Shares<Account>>,
}

pub(super) type DownloadShare = (Option<Share<Account>>, Option<Share<Client>>);

#[derive(Clone, Copy)]
pub(crate) enum Of {
    Member,
    Admin,
}

impl Downloads {
    pub(crate) fn new() -> Self {
        Self {
            members: Shares::new(OF_MEMBERS, Part::AtMost(OF_MEMBER)),
            clients: Shares::new(OF_MEMBERS, Part::AtMost(OF_CLIENT)),
            admins: Shares::new(OF_ADMINS, Part::AtMost(OF_ADMIN)),
        }
    }

    /// The right of the caller has been checked. `overloaded` if no place is free; `too many requests` if the caller, or their
    /// address, has its part.
    pub(super) fn take(&self, account: Option<Account>, client: Client, of: Of) -> Result<DownloadShare> {
        let (accounts, client) = match of {
            Of::Member => (&self.members, Some(self.clients.take(client, 1)?)),
            Of::Admin => (&self.admins, None),
        };
        Ok((account.map(|account| accounts.take(account, 1)).transpose()?, client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_has_at_most_its_part_until_it_returns_some() {
        let shares = Shares::new(3, Part::AtMost(2));
        let mut of_ann: Vec<_> = (0..2).map(|_| shares.take("ann", 1).ok().unwrap()).collect();
        assert!(matches!(shares.take("ann", 1), Err(Error::TooManyRequests { .. })));
        let of_bob = shares.take("bob", 1).ok().unwrap();
        assert!(matches!(shares.take("bob", 1), Err(Error::Overloaded)));
        of_ann.pop();
        let _again = shares.take("ann", 1).ok().unwrap();
        drop((of_ann, of_bob));
        assert_eq!(shares.taken(), 1);
        assert_eq!(shares.state().holders.len(), 1);
    }

    #[test]
    fn a_few_holders_never_have_all_of_a_shared_capacity() {
        let shares = Shares::new(10_000, Part::OfFree);
        let mut held = Vec::new();
        for holder in 0..4 {
            let before = held.len();
            while let Ok(share) = shares.take(holder, 1) {
                held.push(share);
            }
            if holder == 0 {
                assert_eq!(held.len(), 7_500, "one holder");
            }
            assert!(held.len() > before, "holder {holder} gets some");
        }
        assert!(shares.taken() < 10_000);
        assert!(Shares::new(1, Part::OfFree).take(0, 1).is_ok(), "a single place");
    }
}
