//! A hub that a source names sends new entries at once, to an address with a token that only the hub knows, signed with a key. The
//! source is still fetched, as rarely as the settings allow, because a hub may lose something. Source: W3C Recommendation
//! *`WebSub`*, 2018, <https://www.w3.org/TR/websub/>.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use hmac::{Hmac, Mac};
use tidings_feeds::Feed;
use url::{Url, form_urlencoded};
use zeroize::Zeroizing;

pub use super::fetch::BODY_MAX;
use super::fetch::{Failure, Http};
use super::run::{Reader, read};
use super::seen::Seen;
use super::sql::{self, Offer};
use super::{MINUTE_MS, arrive};
use crate::Tidings;
use crate::base::clock::{DAY_MS, HOUR_MS, SECOND_MS, Timestamp};
use crate::base::random::random;
use crate::record::error::{Error, Result};
use crate::record::id::SourceKey;
use crate::store::{Isolation, Row, StoreError, Topic, Tx};

/// The path of a subscription.
pub const PATH: &str = "/websub/{token}";
/// Until the next attempt, if the hub does not confirm this one.
const RETRY_MS: i64 = HOUR_MS;
/// Until the next attempt after a hub has refused.
const REFUSED_MS: i64 = DAY_MS;
/// The time for which a subscription is requested, and for which it lasts if the hub names none.
const LEASE_MS: i64 = 10 * DAY_MS;
/// Bounds of the time that a hub names.
const LEASE_MIN_MS: i64 = 5 * MINUTE_MS;
const LEASE_MAX_MS: i64 = 30 * DAY_MS;
const SECRET: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct Subscription {
    pub(super) offer: Offer,
    pub(super) token: String,
    pub(super) secret: Zeroizing<String>,
}

fn secret() -> Zeroizing<String> {
    Zeroizing::new(HEXLOWER.encode(&*Zeroizing::new(random::<SECRET>())))
}

impl Subscription {
    /// The hub sends to a path below the address `own`. It then asks back.
    pub(super) fn ask(&self, http: &Http, own: &Url) -> Result<(), Failure> {
        let callback = PATH.replace("{token}", &self.token);
        let callback = format!("{}{callback}", own.as_str().trim_end_matches('/'));
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("hub.callback", &callback)
            .append_pair("hub.mode", "subscribe")
            .append_pair("hub.topic", &self.offer.topic)
            .append_pair("hub.secret", &self.secret)
            .append_pair("hub.lease_seconds", &(LEASE_MS / SECOND_MS).to_string())
            .finish();
        http.post(&self.offer.hub, &Zeroizing::new(form))
    }
}

/// Answers a hub that asks whether the service wants the subscription with this token, or tells that it refuses it. `query` is
/// that of its request. Returns the content of the answer.
///
/// # Errors
/// `Not found` if nobody wants it; an error of the store.
pub fn confirm(tidings: &Tidings, token: &str, query: &str) -> Result<String> {
    let field = |name: &str| form_urlencoded::parse(query.as_bytes()).find(|(field, _)| field == name);
    let field = |name| field(name).map(|(_, value)| value.into_owned());
    let (mode, topic) = (field("hub.mode").unwrap_or_default(), field("hub.topic").unwrap_or_default());
    let lease = field("hub.lease_seconds").and_then(|seconds| seconds.parse::<u32>().ok());
    let lease = lease.map_or(LEASE_MS, |seconds| i64::from(seconds) * SECOND_MS);
    let lease = lease.clamp(LEASE_MIN_MS, LEASE_MAX_MS);
    let answer = match &*mode {
        "subscribe" => field("hub.challenge").ok_or(Error::NotFound)?,
        "denied" => String::new(),
        _ => return Err(Error::NotFound),
    };
    // A request with an unknown token takes no write.
    check(tidings, token)?;
    let (now, is_confirmed, token) = (tidings.now(), mode == "subscribe", token.to_owned());
    tidings.store().write(Isolation::Alone, move |tx| {
        let found = subscribed(tx, &token)?.filter(|(_, found)| found.offer.topic == topic);
        let (source, _) = found.ok_or(Error::NotFound)?;
        if is_confirmed {
            set_confirmed(tx, source, now + lease, now + (lease - lease / 10))?;
        } else {
            set_refused(tx, source, now, now + REFUSED_MS)?;
        }
        tx.touch(Topic::Sources);
        Ok::<_, Error>(())
    })?;
    Ok(answer)
}

/// Checks that there is a subscription with this token.
///
/// # Errors
/// `Not found`; an error of the store.
pub fn check(tidings: &Tidings, token: &str) -> Result<()> {
    find(tidings, token).map(drop)
}

fn find(tidings: &Tidings, token: &str) -> Result<(SourceKey, Subscription)> {
    tidings.store().read(|tx| subscribed(tx, token))?.ok_or(Error::NotFound)
}

/// Takes in what a hub sends for the subscription with this token: a feed with new entries, and the value of
/// `X-Hub-Signature`. What has another signature is ignored, as the specification asks.
///
/// # Errors
/// `Not found`; an error of the store, after which the hub may send it again.
pub fn receive(
    tidings: &Tidings,
    token: &str,
    signature: Option<&str>,
    charset: Option<&str>,
    body: &[u8],
) -> Result<()> {
    let (source, subscription) = find(tidings, token)?;
    if !signature.is_some_and(|signature| is_signed(signature, &subscription.secret, body)) {
        tracing::info!(source = source.as_i64(), "a hub sent something without the right signature");
        return Ok(());
    }
    let topic = Url::parse(&subscription.offer.topic).map_err(|_| Error::NotFound)?;
    match read(body, charset, &topic) {
        Ok(feed) => tidings.sources().take_from_hub(source, feed)?,
        Err(failure) => {
            tracing::info!(source = source.as_i64(), error = failure.reason, "a hub sent what is no feed");
        }
    }
    Ok(())
}

impl Reader {
    fn take_from_hub(&self, source: SourceKey, feed: Feed) -> Result<()> {
        let record = self.record(source)?;
        let mut seen = Seen::default();
        arrive::write(&self.store, &self.clock, &record, feed, &mut seen)?;
        self.write(&record, move |tx, record| {
            // The hub sends only new entries.
            let mut all = sql::seen(tx, record.key)?;
            all.extend(&seen);
            sql::set_seen(tx, record.key, &all)
        })
    }
}

/// A signature is such as `sha256=…`, in hexadecimal digits.
pub(super) fn is_signed(signature: &str, key: &str, body: &[u8]) -> bool {
    let Some((method, digits)) = signature.trim().split_once('=') else { return false };
    let Ok(given) = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()) else { return false };
    match &*method.to_ascii_lowercase() {
        "sha1" => is_mac::<Hmac<sha1::Sha1>>(key, body, &given),
        "sha256" => is_mac::<Hmac<sha2::Sha256>>(key, body, &given),
        "sha384" => is_mac::<Hmac<sha2::Sha384>>(key, body, &given),
        "sha512" => is_mac::<Hmac<sha2::Sha512>>(key, body, &given),
        _ => false,
    }
}

fn is_mac<M: Mac + hmac::KeyInit>(key: &str, body: &[u8], given: &[u8]) -> bool {
    let mac = <M as hmac::KeyInit>::new_from_slice(key.as_bytes());
    mac.is_ok_and(|mac| mac.chain_update(body).verify_slice(given).is_ok())
}

/// The subscriptions that have waited longest come first, each with its hub.
pub(super) fn due(tx: &mut dyn Tx, now: Timestamp) -> Result<Vec<(SourceKey, String)>, StoreError> {
    let sql = "SELECT h.source, h.hub FROM source_hub h JOIN source s ON s.key = h.source
               WHERE h.next_request <= $1 AND s.state = 0 ORDER BY h.next_request";
    let due = |mut row: Row| Ok((row.take(0)?, row.take(1)?));
    tx.rows(sql, &[now.into()])?.into_iter().map(due).collect()
}

pub(super) fn next_request(tx: &mut dyn Tx, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    tx.one("SELECT min(next_request) FROM source_hub WHERE next_request > $1", &[now.into()])?.take(0)
}

/// `None` if the source is not active or names no hub any more.
pub(super) fn begin(
    tx: &mut dyn Tx,
    source: SourceKey,
    now: Timestamp,
) -> Result<Option<Subscription>, StoreError> {
    let sql = "UPDATE source_hub SET token = coalesce(token, $2), secret = coalesce(secret, $3), next_request = $4
               WHERE source = (SELECT key FROM source WHERE key = $1 AND state = 0) RETURNING hub, topic, token, secret";
    let (token, secret) = (secret(), secret());
    let args = [source.into(), token.as_str().into(), secret.as_str().into(), (now + RETRY_MS).into()];
    tx.row(sql, &args)?.map(|mut row| subscription(&mut row)).transpose()
}

fn subscription(row: &mut Row) -> Result<Subscription, StoreError> {
    let offer = Offer { hub: row.take(0)?, topic: row.take(1)? };
    Ok(Subscription { offer, token: row.take(2)?, secret: Zeroizing::new(row.take(3)?) })
}

/// The source must be active.
fn subscribed(tx: &mut dyn Tx, token: &str) -> Result<Option<(SourceKey, Subscription)>, StoreError> {
    let sql = "SELECT h.hub, h.topic, h.token, h.secret, h.source FROM source_hub h JOIN source s ON s.key = h.source
               WHERE h.token = $1 AND s.state = 0";
    let found = tx.row(sql, &[token.into()])?;
    found.map(|mut row| Ok((row.take(4)?, subscription(&mut row)?))).transpose()
}

/// The subscription lasts until `until` and is renewed at `renewal`.
fn set_confirmed(
    tx: &mut dyn Tx,
    source: SourceKey,
    until: Timestamp,
    renewal: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE source_hub SET subscribed_until = $2, next_request = $3 WHERE source = $1";
    tx.run(sql, &[source.into(), until.into(), renewal.into()]).map(drop)
}

/// The subscription is requested again at `next`. The source is fetched as without it.
fn set_refused(
    tx: &mut dyn Tx,
    source: SourceKey,
    now: Timestamp,
    next: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE source_hub SET subscribed_until = NULL, next_request = $2 WHERE source = $1";
    tx.run(sql, &[source.into(), next.into()])?;
    let sql = "UPDATE source SET next_fetch = $2 + wait WHERE key = $1 AND next_fetch > $2 + wait";
    tx.run(sql, &[source.into(), now.into()]).map(drop)
}
