//! The clients from which members signed in in the last 30 days: they can still sign in while too many failures lock a client,
//! such as a campus behind one router. A place is a hash of the client and the member, keyed with the signing key of tokens, so
//! that a copy of the database is not enough to try all addresses.

use std::net::IpAddr;

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use super::find;
use crate::Tidings;
use crate::audit::trail::hex;
use crate::base::client::Client;
use crate::base::clock::{DAY_MS, Timestamp};
use crate::record::error::Result;
use crate::record::id::MemberKey;
use crate::store::{StoreError, Tx};

#[cfg(test)]
mod tests;

const KNOWN_MS: i64 = 30 * DAY_MS;
/// A further one replaces the one with the oldest sign-in.
const PLACES_MAX: i64 = 32;
/// Makes the hashes differ from hashes of anything else.
const DOMAIN: &[u8] = b"tidings sign-in place 1\0";
/// In bytes.
const PLACE: usize = 16;

/// A client, with the keys under which members know it.
#[derive(Clone)]
pub(super) struct Places {
    client: Client,
    /// Of the current signing key, and of the previous one.
    keys: [Hmac<Sha256>; 2],
}

impl Places {
    pub(super) fn of(tidings: &Tidings, client: Client) -> Self {
        let keys = tidings.account().keys.hashers().map(|key| key.chain_update(DOMAIN));
        Self { client, keys }
    }

    /// The one to store, and the one of the previous key.
    fn hashes(&self, member: MemberKey) -> [String; 2] {
        self.keys.clone().map(|key| {
            let key = key.chain_update(member.as_i64().to_be_bytes());
            let key = match self.client.address() {
                IpAddr::V4(v4) => key.chain_update(v4.octets()),
                IpAddr::V6(v6) => key.chain_update(v6.octets()),
            };
            hex(&key.finalize().into_bytes()[..PLACE])
        })
    }

    /// Has no effect if the member's tokens have been revoked since the generation was read.
    pub(super) fn insert(
        &self,
        tx: &mut dyn Tx,
        member: MemberKey,
        generation: i64,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let [place, _] = self.hashes(member);
        let sql = "INSERT INTO sign_in_place (member, place, date)
                   SELECT key, CAST($3 AS TEXT), CAST($4 AS BIGINT) FROM member WHERE key = $1 AND generation = $2
                   ON CONFLICT (member, place) DO UPDATE SET date = excluded.date";
        tx.run(sql, &[member.into(), generation.into(), (&place).into(), at.into()])?;
        let sql = "DELETE FROM sign_in_place WHERE member = $1 AND place IN (
                       SELECT place FROM sign_in_place WHERE member = $1
                       ORDER BY date DESC, place LIMIT 100 OFFSET $2)";
        tx.run(sql, &[member.into(), PLACES_MAX.into()]).map(drop)
    }
}

pub(super) fn is_known(tidings: &Tidings, id: &str, client: Client) -> Result<bool> {
    let (places, since) = (Places::of(tidings, client), tidings.now() - KNOWN_MS);
    Ok(tidings.store().read::<_, StoreError>(|tx| {
        let Some(member) = find(tx, id)? else { return Ok(false) };
        let [current, previous] = places.hashes(member.key);
        let sql = "SELECT 1 FROM sign_in_place WHERE member = $1 AND place IN ($2, $3) AND date > $4 LIMIT 1";
        let args = [member.key.into(), (&current).into(), (&previous).into(), since.into()];
        Ok(tx.row(sql, &args)?.is_some())
    })?)
}

/// Returns whether there may be more.
pub(crate) fn prune(tx: &mut dyn Tx, now: Timestamp, limit: u64) -> Result<bool, StoreError> {
    let sql = "DELETE FROM sign_in_place WHERE (member, place) IN (
                   SELECT member, place FROM sign_in_place WHERE date <= $1 ORDER BY date LIMIT $2)";
    Ok(tx.run(sql, &[(now - KNOWN_MS).into(), limit.cast_signed().into()])? == limit)
}
