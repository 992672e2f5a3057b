//! Access tokens (JWT with HS256) and their signing keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::base::clock::{Clock, Timestamp};
use crate::base::config::{Config, Secret};
use crate::base::files::key_file;
use crate::base::keyed;
use crate::base::random::random;
use crate::record::error::{Error, Result};
use crate::store::{Isolation, Store, StoreError};
use source::{Source, Stamp, fingerprint, is_given, make_first, record, recorded, sources};

mod hmac;
mod source;
#[cfg(test)]
mod tests;

#[cfg(unix)]
pub(crate) use source::NOT_THEIRS;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Claims {
    /// The id as registered.
    pub(crate) sub: String,
    /// The signing time, in seconds since 1970.
    iat: i64,
    /// The expiry, in seconds since 1970.
    exp: i64,
    /// The member's generation when the token was signed. Another generation of the member revokes the token.
    #[serde(rename = "gen")]
    pub(crate) generation: i64,
    /// `None` in a token that is older than sessions, or whose session could not be stored.
    #[serde(rename = "sid", default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// As the last operation that looked found it.
    #[serde(skip)]
    is_revoked: AtomicBool,
}

impl Claims {
    pub(crate) fn is_revoked(&self) -> bool {
        self.is_revoked.load(Ordering::Relaxed)
    }

    pub(crate) fn note_revoked(&self, is_revoked: bool) {
        self.is_revoked.store(is_revoked, Ordering::Relaxed);
    }

    /// The start of that second.
    pub(crate) fn signed(&self) -> Timestamp {
        Timestamp::from_millis(self.iat.saturating_mul(1_000))
    }

    pub(crate) fn lasts(&self, now: Timestamp) -> bool {
        now < Timestamp::from_millis(self.exp.saturating_mul(1_000))
    }
}

/// Tokens are signed with the current key. Tokens of the previous key are also valid while that key exists. Key files are read
/// again when they change, so that a key can be replaced while any number of processes run.
pub(crate) struct Keys {
    current: Source,
    previous: Option<Source>,
    set: ArcSwap<Set>,
    clock: Clock,
    /// The last time a valid token led to a check of the key files, in monotonic milliseconds.
    looked: AtomicI64,
    validation: Validation,
    lifetime_s: i64,
    /// The database if several servers share it: it has the fingerprint of the current key.
    shared: Option<Arc<Store>>,
    /// The default key file if other servers sign tokens with a key that this program does not have. `current` is then random.
    missing: Option<PathBuf>,
    /// The key to make as soon as one is needed, if a shared database has none yet. Until then, the key in use is random.
    first: Option<First>,
}

struct First {
    file: PathBuf,
    is_made: Mutex<bool>,
}

type Secrets = (Secret, Option<Secret>);

/// The stamps are those of the files when the keys were read.
struct Set {
    stamps: [Option<Stamp>; 2],
    secrets: Secrets,
    signs: EncodingKey,
    current: DecodingKey,
    previous: Option<DecodingKey>,
    /// Tokens that the current key has signed.
    verified: VerifiedTokens,
}

const LOOK_MS: i64 = 1_000;

impl Keys {
    /// Opens the keys that the settings name, or else those next to the database. If there is none, creates the first one there:
    /// that next to `named`, a link to the database, where earlier versions put it, or otherwise a random one.
    pub(crate) fn open(config: &Config, database: &Path, named: &Path, clock: Clock) -> Result<Self> {
        if !is_given(config) {
            let earlier = (named != database).then(|| key_file(named));
            make_first(&key_file(database), earlier.as_deref())?;
        }
        let (current, previous) = sources(config, database);
        Self::new(current, previous, config.token_days, clock)
    }

    /// Like [`Keys::open`] for a database that several servers share and that has the fingerprint of their key. `stem` determines
    /// the default file. Without a key, the first program that [needs](Keys::required) one creates it. Programs on other machines
    /// then have none: they can do everything but sign and verify tokens, so that an operator need not have the key.
    pub(crate) fn open_shared(
        config: &Config,
        stem: &Path,
        store: &Arc<Store>,
        clock: Clock,
    ) -> Result<Self> {
        let file = key_file(stem);
        let recorded = store.read(recorded)?;
        if !is_given(config) && matches!(file.try_exists(), Ok(false)) {
            let random = Secret(random::<{ Secret::BYTES_MIN }>().to_vec().into());
            if recorded.is_some() {
                let keys = Self::new(Source::Given(random), None, config.token_days, clock)?;
                return Ok(Self { missing: Some(file), ..keys });
            }
            let (current, previous) = sources(config, stem);
            let set = Set::new([None, None], random, None);
            let first = Some(First { file, is_made: Mutex::default() });
            let keys = Self::with(set, current, previous, config.token_days, clock);
            return Ok(Self { first, shared: Some(Arc::clone(store)), ..keys });
        }
        let keys = Self { shared: Some(Arc::clone(store)), ..Self::open(config, stem, stem, clock)? };
        let (current, previous) = keys.set.load().secrets.clone();
        let current = fingerprint(&current);
        if recorded.as_ref() == Some(&current) {
            return Ok(keys);
        }
        let earlier: Vec<_> = previous.iter().map(fingerprint).collect();
        if store.write::<_, StoreError>(Isolation::Alone, move |tx| record(tx, &current, &earlier))? {
            return Ok(keys);
        }
        Err(StoreError::OtherKey { file }.into())
    }

    fn new(current: Source, previous: Option<Source>, lifetime_days: u32, clock: Clock) -> Result<Self> {
        let set = Set::read(&current, previous.as_ref())?;
        Ok(Self::with(set, current, previous, lifetime_days, clock))
    }

    fn with(set: Set, current: Source, previous: Option<Source>, lifetime_days: u32, clock: Clock) -> Self {
        hmac::install();
        let mut validation = Validation::new(Algorithm::HS256);
        // `Claims::lasts` checks the expiry against our clock, without leeway.
        validation.validate_exp = false;
        validation.required_spec_claims.clear();
        Self {
            set: ArcSwap::from_pointee(set),
            current,
            previous,
            clock,
            looked: AtomicI64::new(i64::MIN),
            validation,
            lifetime_s: i64::from(lifetime_days) * 24 * 60 * 60,
            shared: None,
            missing: None,
            first: None,
        }
    }

    /// Checks that there is a key, which a server needs. Makes the first key of a shared database.
    pub(crate) fn required(&self) -> Result<()> {
        if let Some(file) = &self.missing {
            return Err(StoreError::MissingKey { file: file.clone() }.into());
        }
        if let (Some(First { file, is_made }), Some(store)) = (&self.first, &self.shared) {
            let mut is_made = is_made.lock().unwrap_or_else(PoisonError::into_inner);
            if !*is_made {
                self.make_first(file, store)?;
                *is_made = true;
            }
        }
        Ok(())
    }

    fn make_first(&self, file: &Path, store: &Store) -> Result<()> {
        make_first(file, None)?;
        let set = Set::read(&self.current, self.previous.as_ref())?;
        let current = fingerprint(&set.secrets.0);
        if store.write::<_, StoreError>(Isolation::Alone, move |tx| record(tx, &current, &[]))? {
            self.set.store(set.into());
            return Ok(());
        }
        // Another program made the first key at the same time. Otherwise the next start would find this key.
        let _ = fs::remove_file(file);
        Err(StoreError::OtherKey { file: file.to_owned() }.into())
    }

    pub(crate) fn expiry(&self, now: Timestamp) -> Timestamp {
        Timestamp::from_millis((now.as_millis().div_euclid(1_000) + self.lifetime_s).saturating_mul(1_000))
    }

    pub(crate) fn sign(
        &self,
        id: &str,
        generation: i64,
        session: Option<String>,
        now: Timestamp,
    ) -> Result<String> {
        self.required()?;
        self.follow();
        let iat = now.as_millis().div_euclid(1_000);
        let claims = Claims {
            sub: id.to_owned(),
            iat,
            exp: iat + self.lifetime_s,
            generation,
            session,
            is_revoked: AtomicBool::default(),
        };
        let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.set.load().signs);
        token.map_err(|e| Error::Internal(e.into()))
    }

    /// Checks neither the expiry nor whether the token was revoked. The signature of a token of the current key is verified once,
    /// while the key is current and the token is among the latest few thousand.
    pub(crate) fn verify(&self, token: &str) -> Option<Arc<Claims>> {
        let set = self.set.load();
        let claims = self.verify_with(&set, token);
        // The keys may have been replaced, and another process may already sign with a newer one.
        if claims.is_some() && !self.is_due() {
            return claims;
        }
        self.follow();
        // Another thread may have read the new keys.
        let latest = self.set.load();
        if Arc::ptr_eq(&set, &latest) { claims } else { self.verify_with(&latest, token) }
    }

    fn verify_with(&self, set: &Set, token: &str) -> Option<Arc<Claims>> {
        if let Some(claims) = set.verified.get(token) {
            return Some(claims);
        }
        if let Some(claims) = self.decode(token, &set.current) {
            return Some(set.verified.insert(token, claims));
        }
        set.previous.as_ref().and_then(|key| self.decode(token, key)).map(Arc::new)
    }

    fn decode(&self, token: &str, key: &DecodingKey) -> Option<Claims> {
        Some(jsonwebtoken::decode(token, key, &self.validation).ok()?.claims)
    }

    /// Also notes that the check has been made.
    fn is_due(&self) -> bool {
        let (now, looked) = (self.clock.monotonic().as_millis(), self.looked.load(Ordering::Relaxed));
        now.saturating_sub(looked) >= LOOK_MS
            && self.looked.compare_exchange(looked, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn follow(&self) {
        let stamps = stamps(&self.current, self.previous.as_ref());
        let set = self.set.load();
        if stamps == set.stamps {
            return;
        }
        match Set::read(&self.current, self.previous.as_ref()) {
            Ok(read) => {
                if read.secrets != set.secrets {
                    tracing::info!(previous = read.previous.is_some(), "the token keys have changed");
                    self.record(&set.secrets, &read.secrets);
                }
                self.set.store(read.into());
            }
            Err(error) => {
                let cause = error.detail().unwrap_or_else(|| error.to_string());
                tracing::error!(
                    cause,
                    "the token keys have changed and cannot be read: the earlier keys remain in use"
                );
                // The files are not read again until they change again.
                self.set.store(set.at(stamps).into());
            }
        }
    }

    /// Records the fingerprint in a shared database, so that the next start succeeds without the earlier key. Does not wait.
    fn record(&self, before: &Secrets, now: &Secrets) {
        let Some(store) = &self.shared else { return };
        let current = fingerprint(&now.0);
        let earlier: Vec<_> =
            [Some(&before.0), now.1.as_ref()].into_iter().flatten().map(fingerprint).collect();
        // If it fails, the next start reports it.
        drop(store.submit::<_, StoreError>(Isolation::Alone, move |tx| record(tx, &current, &earlier)));
    }
}

fn stamps(current: &Source, previous: Option<&Source>) -> [Option<Stamp>; 2] {
    [current.stamp(), previous.and_then(Source::stamp)]
}

impl Set {
    fn read(current: &Source, previous: Option<&Source>) -> Result<Self> {
        // The stamps are taken first, so that a change while the keys are read is noticed later.
        let stamps = stamps(current, previous);
        let secret = current.read()?.ok_or_else(|| Error::Internal("there is no token key".into()))?;
        let previous = previous.map(Source::read).transpose()?.flatten();
        for secret in [Some(&secret), previous.as_ref()].into_iter().flatten() {
            secret.check().map_err(|rule| Error::Internal(rule.into()))?;
        }
        Ok(Self::new(stamps, secret, previous))
    }

    fn new(stamps: [Option<Stamp>; 2], current: Secret, previous: Option<Secret>) -> Self {
        Self {
            stamps,
            signs: EncodingKey::from_secret(&current.0),
            current: DecodingKey::from_secret(&current.0),
            previous: previous.as_ref().map(|secret| DecodingKey::from_secret(&secret.0)),
            secrets: (current, previous),
            verified: VerifiedTokens::new(),
        }
    }

    fn at(&self, stamps: [Option<Stamp>; 2]) -> Self {
        let (current, previous) = self.secrets.clone();
        Self::new(stamps, current, previous)
    }
}

/// A token has one slot, and replaces the token in it.
const SLOTS: usize = 4_096;
/// In bytes. Those that [`Keys::sign`] makes are much shorter.
const TOKEN_MAX: usize = 1_024;

/// Tokens that one key has signed, whose signature is not verified again for each request. Reading and inserting take no lock.
struct VerifiedTokens(Box<[ArcSwapOption<Verified>]>);

struct Verified {
    /// The token's hash under the random key of this process. It is compared first, so that the time of the comparison of the
    /// texts reveals nothing about a token.
    hash: u64,
    token: Zeroizing<String>,
    claims: Arc<Claims>,
}

impl VerifiedTokens {
    fn new() -> Self {
        Self((0..SLOTS).map(|_| ArcSwapOption::empty()).collect())
    }

    fn get(&self, token: &str) -> Option<Arc<Claims>> {
        let hash = keyed::hash(token);
        let found = self.slot(hash).load();
        let found = found.as_ref().filter(|found| found.hash == hash && *found.token == token);
        found.map(|found| Arc::clone(&found.claims))
    }

    fn insert(&self, token: &str, claims: Claims) -> Arc<Claims> {
        let claims = Arc::new(claims);
        if token.len() <= TOKEN_MAX {
            let (hash, token) = (keyed::hash(token), Zeroizing::new(token.to_owned()));
            let verified = Verified { hash, token, claims: Arc::clone(&claims) };
            self.slot(hash).store(Some(Arc::new(verified)));
        }
        claims
    }

    #[expect(clippy::cast_possible_truncation, reason = "the remainder is small")]
    fn slot(&self, hash: u64) -> &ArcSwapOption<Verified> {
        &self.0[(hash % SLOTS as u64) as usize]
    }
}
