//! API keys, with which programs administer without a person's password. A key may do what its scopes allow, wherever a token is
//! accepted, and is not a member. It is shown once; the database has its SHA-256, which suffices because a key is random. Each
//! request looks the key up, so that a revoked key fails at once, on every server.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::{Caller, Scopes, Token};

use crate::Tidings;
use crate::audit::trail::hex;
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::base::config::Bounds;
use crate::base::random::random;
use crate::record::error::{Code, Problem};
use crate::record::id::ObjectId;
use crate::store::{Isolation, StoreError};

mod operations;
mod sql;

#[cfg(test)]
mod tests;

pub use super::scopes::SCOPE_RULE;
pub use crate::record::scope::{Scope, UnknownScope};
pub use operations::{Add, List, Revoke};
pub(crate) use sql::find;
pub(crate) use sql::{logged, logged_name};

/// The beginning of every key, by which secret scanners recognise it: a key matches `tidings_[0-9a-f]{48}`.
pub const PREFIX: &str = "tidings_";
/// Random bytes.
const SECRET: usize = 20;
/// Bytes after them, which tell a mistyped key from an unknown one without the database.
const CHECKSUM: usize = 4;
/// The length of a name in characters.
pub const NAME: Bounds = Bounds { min: 1, max: 50 };
/// The maximum number of keys.
pub const KEYS_MAX: usize = 1_000;
const KNOWN: NonZeroUsize = NonZeroUsize::new(4_096).expect("not zero");

const USED_MS: i64 = 60 * SECOND_MS;

/// The problem of a name that breaks its rule.
pub const NAME_RULE: Problem = Problem::invalid("name", "name is 1 to 50 visible characters on one line");
const NAME_TAKEN: Problem =
    Problem::new(Code::NameTaken, "another key has this name: revoke it first, or choose another name")
        .of("name");
const NO_SCOPE: Problem = Problem::missing("scopes", "a key needs at least one scope");
const EXPIRES_RULE: Problem = Problem::invalid("expires", "expires is written like 2026-11-20T08:36:00Z");
const EXPIRED: Problem = Problem::invalid("expires", "expires must be later than now");
const TOO_MANY: Problem =
    Problem::new(Code::NotPossible, "there are 1,000 keys already: revoke those that nobody uses");

/// A key that may be invalid, as the bearer sent it: its SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// `None` unless the text has the form of a key and the right checksum.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        if digits.len() != 2 * (SECRET + CHECKSUM) {
            return None;
        }
        let (secret, sum) = digits.split_at_checked(2 * SECRET)?;
        (checksum(secret) == sum).then(|| Self(Sha256::digest(text).into()))
    }

    pub(crate) fn digits(&self) -> String {
        hex(&self.0)
    }
}

/// Returns whether a text is an API key by its form and its checksum; it may be revoked.
pub fn is_key(text: &str) -> bool {
    KeyHash::of(text).is_some()
}

fn checksum(secret: &str) -> String {
    hex(&Sha256::digest(secret)[..CHECKSUM])
}

fn generate() -> Zeroizing<String> {
    let secret = Zeroizing::new(hex(&*Zeroizing::new(random::<SECRET>())));
    Zeroizing::new(format!("{PREFIX}{}{}", *secret, checksum(&secret)))
}

#[derive(Clone, Debug)]
pub(crate) struct KeyRecord {
    pub(crate) id: Arc<str>,
    pub(crate) name: Arc<str>,
    scopes: Scopes,
    expires: Option<Timestamp>,
    pub(crate) last_used: Option<Timestamp>,
}

impl KeyRecord {
    pub(crate) fn lasts(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|end| now < end)
    }

    pub(crate) fn allows(&self, scope: Scope) -> bool {
        self.scopes.allow(scope)
    }
}

/// Each with the time of the last write of its use.
pub(crate) struct KnownKeys(Mutex<LruCache<KeyHash, Timestamp>>);

impl KnownKeys {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::new(KNOWN)))
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<KeyHash, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the use at most once a minute, and does not wait.
    pub(super) fn used(&self, tidings: &Tidings, key: KeyHash, found: &KeyRecord) {
        let now = tidings.now();
        let mut keys = self.lock();
        let written = keys.get(&key).copied().max(found.last_used);
        let is_due = written.is_none_or(|written| now - written >= USED_MS);
        keys.put(key, if is_due { now } else { written.unwrap_or(now) });
        drop(keys);
        if is_due {
            let id = Arc::clone(&found.id);
            // It changes one row. The next minute makes up for a write that fails.
            drop(
                tidings
                    .store()
                    .submit::<_, StoreError>(Isolation::Locking, move |tx| sql::used(tx, &id, now)),
            );
        }
    }

    pub(super) fn remove(&self, key: &KeyHash) {
        self.lock().pop(key);
    }
}

impl Caller {
    /// Returns the caller's API key if a request has recently used it with success. It may have been revoked since: only an
    /// operation checks that.
    pub fn known_key(&self, tidings: &Tidings) -> Option<KeyHash> {
        let Self::Token(Token(state)) = self else { return None };
        let key = state.key?;
        tidings.account().known_keys.lock().get(&key).map(|_| key)
    }
}

/// The answer to making a key.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct NewKey {
    /// Its id.
    #[serde(rename = "_id")]
    pub id: ObjectId,
    /// The key. It is not shown again.
    #[schema(value_type = String, pattern = "^tidings_[0-9a-f]{48}$", examples("tidings_0123456789abcdef0123456789abcdef0123456789abcdef"))]
    pub key: Zeroizing<String>,
}

/// The API keys.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Keys {
    /// The keys by name.
    pub keys: Vec<Key>,
}

/// An API key, without its secret.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Key {
    /// Its id.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// What it is for.
    #[schema(max_length = 50, examples("importer"))]
    pub name: String,
    /// What it may do.
    #[schema(value_type = Vec<Scope>)]
    pub scopes: Vec<Scope>,
    /// The date when it was made.
    pub date: Timestamp,
    /// The time from which on it fails; null if it never does.
    pub expires: Option<Timestamp>,
    /// The time of its latest use, up to a minute late; null if it was never used.
    pub last_used: Option<Timestamp>,
}
