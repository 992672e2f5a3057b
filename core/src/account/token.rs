//! Access tokens: JWT with HS256, and the keys they are signed with.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::ArcSwap;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::config::{Config, Secret};
use crate::error::{Error, Result};
use file::Stamp;

mod file;
mod hmac;

#[cfg(unix)]
pub(crate) use file::NOT_THEIRS;
pub(crate) use file::{key_file, previous_file};

/// Bytes of a signing key, as many as the hash of HS256 has.
///
/// Source: RFC 7518 section 3.2, a key of the hash's size or larger.
pub(crate) const KEY_BYTES: usize = 32;

/// What a token says: whose it is, until when, and of which generation.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Claims {
    /// The member's id as registered.
    pub(crate) sub: String,
    /// When it was made, in seconds since 1970.
    iat: i64,
    /// When it ends, in seconds since 1970.
    exp: i64,
    /// The member's generation when it was made: another one since means that it is revoked.
    #[serde(rename = "gen")]
    pub(crate) generation: i64,
}

impl Claims {
    /// Whether the token has not ended.
    pub(crate) fn lasts(&self, now: i64) -> bool {
        now < self.exp.saturating_mul(1_000)
    }
}

/// Signs tokens and checks them.
///
/// Tokens are signed with the current key; those of the previous one are good as well while it is there. Keys in files
/// are read again when they have changed, so that a key is replaced while any number of processes run.
pub(crate) struct Keys {
    current: Source,
    previous: Option<Source>,
    set: ArcSwap<Set>,
    clock: Clock,
    /// When a token of the previous key was last a reason to look whether that is still there.
    looked: AtomicI64,
    validation: Validation,
    lifetime_s: i64,
}

/// Where a key comes from.
enum Source {
    Given(Secret),
    File(PathBuf),
}

impl Source {
    fn read(&self) -> Result<Option<Secret>> {
        match self {
            Self::Given(secret) => Ok(Some(secret.clone())),
            Self::File(path) => file::read(path),
        }
    }

    fn stamp(&self) -> Option<Stamp> {
        match self {
            Self::Given(_) => None,
            Self::File(path) => Some(Stamp::of(path)),
        }
    }
}

/// The keys as they were read.
struct Set {
    stamps: [Option<Stamp>; 2],
    secrets: (Secret, Option<Secret>),
    signs: EncodingKey,
    current: DecodingKey,
    previous: Option<DecodingKey>,
}

/// How often the files are looked at for tokens that are good.
const LOOK_MS: i64 = 1_000;

impl Keys {
    /// The keys that the settings name, or else those beside the database; a first one is made there.
    ///
    /// # Errors
    /// When a file cannot be read, or made, anybody may write it, or a key is shorter than 32 bytes.
    pub(crate) fn open(config: &Config, database: &Path, clock: Clock) -> Result<Self> {
        let file = |path: &Option<PathBuf>| path.clone().map(Source::File);
        let given = |secret: &Option<Secret>| secret.clone().map(Source::Given);
        let current = given(&config.token_key).or_else(|| file(&config.token_key_file));
        let current = match current {
            Some(source) => source,
            None => {
                let path = key_file(database);
                file::read_or_make(&path)?;
                Source::File(path)
            }
        };
        let beside = match &current {
            Source::Given(_) => None,
            Source::File(path) => Some(Source::File(previous_file(path))),
        };
        let previous = given(&config.token_key_previous).or_else(|| file(&config.token_key_previous_file));
        Self::new(current, previous.or(beside), config.token_days, clock)
    }

    fn new(current: Source, previous: Option<Source>, lifetime_days: u32, clock: Clock) -> Result<Self> {
        hmac::install();
        let mut validation = Validation::new(Algorithm::HS256);
        // The end is checked against our clock, with no grace.
        validation.validate_exp = false;
        validation.required_spec_claims.clear();
        Ok(Self {
            set: ArcSwap::from_pointee(Set::read(&current, previous.as_ref())?),
            current,
            previous,
            clock,
            looked: AtomicI64::new(i64::MIN),
            validation,
            lifetime_s: i64::from(lifetime_days) * 24 * 60 * 60,
        })
    }

    /// A token of the member `id` in its present generation.
    pub(crate) fn sign(&self, id: &str, generation: i64, now: i64) -> Result<String> {
        self.follow();
        let iat = now.div_euclid(1_000);
        let claims = Claims { sub: id.to_owned(), iat, exp: iat + self.lifetime_s, generation };
        let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.set.load().signs);
        token.map_err(|e| Error::Internal(e.into()))
    }

    /// What a token says, when it was signed with our key, or the previous one.
    pub(crate) fn verify(&self, token: &str) -> Option<Claims> {
        let set = self.set.load();
        if let Some(claims) = self.decode(token, &set.current) {
            return Some(claims);
        }
        let claims = set.previous.as_ref().and_then(|key| self.decode(token, key));
        // Another process may sign with a newer key; and the previous one is good only while it is there.
        let is_followed = if claims.is_some() { self.is_due() && self.follow() } else { self.follow() };
        if !is_followed {
            return claims;
        }
        let set = self.set.load();
        let previous = || set.previous.as_ref().and_then(|key| self.decode(token, key));
        self.decode(token, &set.current).or_else(previous)
    }

    fn decode(&self, token: &str, key: &DecodingKey) -> Option<Claims> {
        Some(jsonwebtoken::decode(token, key, &self.validation).ok()?.claims)
    }

    /// Whether the files were not looked at for as long as may be.
    fn is_due(&self) -> bool {
        let (now, looked) = (self.clock.monotonic(), self.looked.load(Ordering::Relaxed));
        now.saturating_sub(looked) >= LOOK_MS
            && self.looked.compare_exchange(looked, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Reads the keys again when their files have changed; whether they are others now.
    fn follow(&self) -> bool {
        let stamps = stamps(&self.current, self.previous.as_ref());
        let set = self.set.load();
        if stamps == set.stamps {
            return false;
        }
        match Set::read(&self.current, self.previous.as_ref()) {
            Ok(read) => {
                let changed = read.secrets != set.secrets;
                if changed {
                    tracing::info!(previous = read.previous.is_some(), "the token keys have changed");
                }
                self.set.store(read.into());
                changed
            }
            Err(error) => {
                let cause = error.detail().unwrap_or_else(|| error.to_string());
                tracing::error!(
                    cause,
                    "the token keys have changed and cannot be read: the earlier ones stay in use"
                );
                // Not again until the files change again.
                self.set.store(set.at(stamps).into());
                false
            }
        }
    }
}

fn stamps(current: &Source, previous: Option<&Source>) -> [Option<Stamp>; 2] {
    [current.stamp(), previous.and_then(Source::stamp)]
}

impl Set {
    fn read(current: &Source, previous: Option<&Source>) -> Result<Self> {
        // Before the keys are read: what changes while they are is read again.
        let stamps = stamps(current, previous);
        let secret = current.read()?.ok_or_else(|| Error::Internal("there is no token key".into()))?;
        let previous = previous.map(Source::read).transpose()?.flatten();
        for secret in [Some(&secret), previous.as_ref()].into_iter().flatten() {
            secret.check().map_err(|wrong| Error::Internal(wrong.into()))?;
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
        }
    }

    /// The same keys, of files that look like this.
    fn at(&self, stamps: [Option<Stamp>; 2]) -> Self {
        let (current, previous) = self.secrets.clone();
        Self::new(stamps, current, previous)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const KEY: &[u8] = b"a key of thirty-two bytes exactly";

    fn given(secret: &[u8]) -> Source {
        Source::Given(Secret(secret.to_vec().into()))
    }

    fn keys(secret: &[u8]) -> Keys {
        Keys::new(given(secret), None, 30, Clock::fixed(0)).unwrap()
    }

    #[test]
    fn a_token_says_whose_it_is_until_it_ends() {
        let keys = keys(KEY);
        let token = keys.sign("Ann", 7, 1_000_000).unwrap();
        let end = 1_000_000 + 30 * 24 * 60 * 60 * 1_000;
        let claims = keys.verify(&token).unwrap();
        assert_eq!((claims.sub.as_str(), claims.generation), ("Ann", 7));
        assert!(claims.lasts(end - 1) && !claims.lasts(end));
    }

    #[test]
    fn a_token_of_the_standard_is_read() {
        // Source: RFC 7515 appendix A.1, whose claims are others than ours.
        let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6\
                     Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        hmac::install();
        let key = DecodingKey::from_secret(&[
            3, 35, 53, 75, 43, 15, 165, 188, 131, 126, 6, 101, 119, 123, 166, 143, 90, 179, 40, 230, 240, 84,
            201, 40, 169, 15, 132, 178, 210, 80, 46, 191, 211, 251, 90, 146, 210, 6, 71, 239, 150, 138, 180,
            195, 119, 98, 61, 34, 61, 46, 33, 114, 5, 46, 79, 8, 192, 205, 154, 245, 103, 208, 128, 163,
        ]);
        let mut validation = Validation::new(Algorithm::HS256);
        validation.validate_exp = false;
        let read = jsonwebtoken::decode::<serde_json::Value>(token, &key, &validation).unwrap();
        assert_eq!(read.claims["iss"], "joe");
    }

    #[test]
    fn forged_tokens_are_nobodys() {
        let keys = keys(KEY);
        let good = keys.sign("Ann", 7, 0).unwrap();
        assert!(keys.verify(&good).is_some());
        let other = self::keys(b"another key of thirty-two bytes!!").sign("Ann", 7, 0).unwrap();
        let [head, payload, signature] = good.split('.').collect::<Vec<_>>().try_into().unwrap();
        let none = format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{payload}.");
        // {"alg":"HS512"}, of which no key is ours.
        let longer = format!("eyJhbGciOiJIUzUxMiJ9.{payload}.{signature}");
        let cut = format!("{head}.{payload}.{}", &signature[..signature.len() - 2]);
        let forged = [other, none, longer, cut, format!("{head}.{payload}.")];
        for token in forged.iter().map(String::as_str).chain(["", "a.b.c", payload]) {
            assert!(keys.verify(token).is_none(), "{token}");
        }
        assert!(
            jsonwebtoken::encode(&Header::new(Algorithm::HS512), &0, &EncodingKey::from_secret(KEY)).is_err()
        );
    }

    #[test]
    fn a_token_of_the_previous_key_is_good_while_that_is_set_and_new_ones_are_of_the_new_key() {
        const NEW: &[u8] = b"a newer key, of thirty-two bytes and more";
        let old = keys(KEY).sign("Ann", 7, 0).unwrap();
        let both = Keys::new(given(NEW), Some(given(KEY)), 30, Clock::fixed(0)).unwrap();
        assert_eq!(both.verify(&old).unwrap().sub, "Ann");
        let new = both.sign("Ann", 7, 0).unwrap();
        assert!(both.verify(&new).is_some() && keys(KEY).verify(&new).is_none());
        let dropped = keys(NEW);
        assert!(dropped.verify(&new).is_some() && dropped.verify(&old).is_none());
    }

    #[test]
    fn keys_that_are_too_short_are_refused() {
        assert!(Keys::new(given(b"short"), None, 30, Clock::fixed(0)).is_err());
        assert!(Keys::new(given(KEY), Some(given(b"short")), 30, Clock::fixed(0)).is_err());
    }

    #[test]
    fn a_key_is_replaced_while_several_processes_run_and_nobody_is_signed_out() {
        let dir = tempfile::tempdir().unwrap();
        let (database, clock) = (dir.path().join("a.db"), Clock::fixed(0));
        let open = || Keys::open(&Config::default(), &database, clock.clone()).unwrap();
        let (one, two) = (open(), open());
        let old = one.sign("Ann", 7, 0).unwrap();
        let key = key_file(&database);
        let next = dir.path().join("next");
        fs::copy(&key, previous_file(&key)).unwrap();
        assert!(one.verify(&old).is_some() && two.verify(&old).is_some());
        fs::write(&next, b"a newer key, of thirty-two bytes and more").unwrap();
        fs::rename(&next, &key).unwrap();
        let new = one.sign("Ann", 7, 0).unwrap();
        assert!(keys(b"a newer key, of thirty-two bytes and more").verify(&new).is_some());
        for keys in [&one, &two, &open()] {
            assert!(keys.verify(&new).is_some() && keys.verify(&old).is_some());
        }
        // A file that is no key changes nothing.
        fs::write(&next, b"short").unwrap();
        fs::rename(&next, &key).unwrap();
        assert!(one.verify("a.b.c").is_none());
        assert!(one.verify(&new).is_some() && one.verify(&old).is_some() && one.sign("Ann", 7, 0).is_ok());
        fs::write(&next, b"a newer key, of thirty-two bytes and more").unwrap();
        fs::rename(&next, &key).unwrap();
        fs::remove_file(previous_file(&key)).unwrap();
        clock.advance(LOOK_MS);
        for keys in [&one, &two, &open()] {
            assert!(keys.verify(&new).is_some() && keys.verify(&old).is_none());
        }
    }
}
