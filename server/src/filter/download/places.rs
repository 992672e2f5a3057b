//! The places of downloads, of which each caller and each address has a part.

use std::sync::Arc;

use tidings_core::Result;
use tidings_core::account::{Account, Client};

use crate::filter::shares::{Part, Share, Shares};

/// Concurrent downloads: of members who download their own data, and of administrators and API keys, whose places members cannot
/// take. More get `overloaded`.
const OF_MEMBERS: usize = 16;
const OF_ADMINS: usize = 16;
/// Concurrent downloads of one member of their own data, of the members at one address or IPv6 /64, and of one administrator or
/// API key.
pub(super) const OF_MEMBER: usize = 2;
const OF_CLIENT: usize = 8;
pub(super) const OF_ADMIN: usize = 4;

pub(crate) struct Downloads {
    members: Arc<Shares<Account>>,
    clients: Arc<Shares<Client>>,
    pub(super) admins: Arc<Shares<Account>>,
}

/// Returned when it is dropped.
pub(crate) struct Place {
    _account: Option<Share<Account>>,
    _client: Option<Share<Client>>,
}

/// Decides from which places a download takes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The member downloads their own data.
    Member,
    /// Data for administrators and API keys.
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
    pub(super) fn take(&self, account: Option<Account>, client: Client, of: Of) -> Result<Place> {
        let take = |shares: &Arc<Shares<Account>>| account.map(|account| shares.take(account, 1)).transpose();
        Ok(match of {
            Of::Member => {
                let client = self.clients.take(client, 1)?;
                Place { _account: take(&self.members)?, _client: Some(client) }
            }
            Of::Admin => Place { _account: take(&self.admins)?, _client: None },
        })
    }
}
