//! How often mail is sent for an account, to an address, or at the request of a network.

use hmac::Mac as _;

use super::address::Address;
use crate::Tidings;
use crate::audit::trail::hex;
use crate::base::client::Client;
use crate::base::clock::{HOUR_MS, Timestamp};
use crate::record::error::Error;
use crate::store::{StoreError, Tx};

/// In an hour, for any purpose.
const NETWORK_MAX: i64 = 30;
/// Mails in an hour about one subject that one network asks for, and that all networks ask for together.
const PAIR_MAX: i64 = 5;
const SUBJECT_MAX: i64 = 20;

pub(crate) const EXCEEDED: Error = Error::TooManyRequests { retry_after_s: 3_600 };

/// Keyed with the signing key of tokens, which is not in the database.
fn keyed(tidings: &Tidings, subject: &str) -> String {
    let [key, _] = tidings.account().keys.hashers();
    hex(&key.chain_update("tidings mail limit 1\0").chain_update(subject).finalize().into_bytes())
}

/// Empty for this machine, which may ask for any number of mails.
pub(crate) fn network(tidings: &Tidings, client: Option<Client>) -> String {
    client.map(|client| keyed(tidings, &format!("network {}", client.address()))).unwrap_or_default()
}

/// At many providers, a mailbox also gets mail with a tag (RFC 5233) or other dots before the `@`.
pub(crate) fn mailbox(tidings: &Tidings, address: &Address) -> String {
    let folded = address.folded();
    let (local, domain) = folded.rsplit_once('@').unwrap_or_default();
    let local = local.split('+').next().unwrap_or_default().replace('.', "");
    keyed(tidings, &format!("address {local}@{}", domain.trim_end_matches('.')))
}

/// Counts a mail; returns whether it may be sent.
pub(crate) fn take_of_network(tx: &mut dyn Tx, network: &str, now: Timestamp) -> Result<bool, StoreError> {
    Ok(network.is_empty() || take(tx, network, NETWORK_MAX, now)?)
}

/// Counts a mail; returns whether it may be sent. Refused requests of one network do not count for the others, so one network
/// cannot use up the limit of the owner.
pub(crate) fn take_pair(
    tx: &mut dyn Tx,
    subject: &str,
    network: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    Ok(take(tx, &format!("{subject} {network}"), PAIR_MAX, now)? && take(tx, subject, SUBJECT_MAX, now)?)
}

/// Counts a request, and returns whether it is one of the first `most` in an hour.
pub(crate) fn take(tx: &mut dyn Tx, subject: &str, most: i64, now: Timestamp) -> Result<bool, StoreError> {
    let sql = "INSERT INTO mail_limit (subject, since, count) VALUES ($1, $2, 1)
               ON CONFLICT (subject) DO UPDATE SET
                   count = CASE WHEN mail_limit.since <= $3 THEN 1 ELSE mail_limit.count + 1 END,
                   since = CASE WHEN mail_limit.since <= $3 THEN excluded.since ELSE mail_limit.since END
               RETURNING count";
    let count: i64 = tx.one(sql, &[subject.into(), now.into(), (now - HOUR_MS).into()])?.take(0)?;
    Ok(count <= most)
}

pub(crate) fn prune(tx: &mut dyn Tx, now: Timestamp, limit: u64) -> Result<bool, StoreError> {
    let sql = "DELETE FROM mail_limit WHERE subject IN
               (SELECT subject FROM mail_limit WHERE since <= $1 ORDER BY since LIMIT $2)";
    Ok(tx.run(sql, &[(now - HOUR_MS).into(), limit.cast_signed().into()])? == limit)
}
