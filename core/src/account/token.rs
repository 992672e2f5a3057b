//! Access tokens: JWT with HS256, and the key they are signed with.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files::{beside, private};
use crate::id::random;
use crate::store::StoreError;

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
pub(crate) struct Keys {
    encoding: EncodingKey,
    decoding: DecodingKey,
    validation: Validation,
    lifetime_s: i64,
}

impl Keys {
    /// Signs with `secret`, for so many days.
    ///
    /// # Errors
    /// When the secret is shorter than 32 bytes.
    pub(crate) fn new(secret: &[u8], lifetime_days: u32) -> Result<Self> {
        if secret.len() < KEY_BYTES {
            return Err(Error::Internal("the token key is shorter than 32 bytes".into()));
        }
        let mut validation = Validation::new(Algorithm::HS256);
        // The end is checked against our clock, with no grace.
        validation.validate_exp = false;
        validation.required_spec_claims.clear();
        Ok(Self {
            encoding: EncodingKey::from_secret(secret),
            decoding: DecodingKey::from_secret(secret),
            validation,
            lifetime_s: i64::from(lifetime_days) * 24 * 60 * 60,
        })
    }

    /// A token of the member `id` in its present generation.
    pub(crate) fn sign(&self, id: &str, generation: i64, now: i64) -> Result<String> {
        let iat = now.div_euclid(1_000);
        let claims = Claims { sub: id.to_owned(), iat, exp: iat + self.lifetime_s, generation };
        let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding);
        token.map_err(|e| Error::Internal(e.into()))
    }

    /// What a token says, when it was signed with our key.
    pub(crate) fn verify(&self, token: &str) -> Option<Claims> {
        Some(jsonwebtoken::decode(token, &self.decoding, &self.validation).ok()?.claims)
    }
}

/// The file with the signing key of a database.
pub(crate) fn key_file(database: &Path) -> PathBuf {
    beside(database, ".key")
}

/// The signing key in the file beside the database, made at the first start, readable by its owner alone.
///
/// # Errors
/// When the file cannot be read, or made, or holds too little.
pub(crate) fn key_beside(database: &Path) -> Result<Vec<u8>> {
    let path = key_file(database);
    let failed = |what: &str, e: &std::io::Error| {
        Error::Internal(format!("cannot {what} the token key {}: {e}", path.display()).into())
    };
    match fs::read(&path) {
        Ok(key) if key.len() < KEY_BYTES => {
            let what = format!(
                "the token key {} is shorter than {KEY_BYTES} bytes: put its copy back, or remove it, and everybody has \
                 to sign in again",
                path.display()
            );
            return Err(Error::Internal(what.into()));
        }
        Ok(key) => return Ok(key),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(failed("read", &e)),
    }
    // Written whole under a name of its own and then linked, so that another process that starts at the
    // same time finds all of a key or none, and both go on with the same one.
    let draft = path.with_extension(format!("key.{:016x}", u64::from_le_bytes(random())));
    let made =
        write_private(&draft, &random::<KEY_BYTES>()).and_then(|()| match fs::hard_link(&draft, &path) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(e),
            _ => Ok(()),
        });
    let _ = fs::remove_file(&draft);
    made.map_err(|e| match e.kind() {
        std::io::ErrorKind::StorageFull => StoreError::Full.into(),
        _ => failed("write", &e),
    })?;
    fs::read(&path).map_err(|e| failed("read", &e))
}

fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = private(OpenOptions::new().write(true).create_new(true)).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"a key of thirty-two bytes exactly";

    #[test]
    fn a_token_says_whose_it_is_until_it_ends() {
        let keys = Keys::new(KEY, 30).unwrap();
        let token = keys.sign("Ann", 7, 1_000_000).unwrap();
        let end = 1_000_000 + 30 * 24 * 60 * 60 * 1_000;
        let claims = keys.verify(&token).unwrap();
        assert_eq!((claims.sub.as_str(), claims.generation), ("Ann", 7));
        assert!(claims.lasts(end - 1) && !claims.lasts(end));
    }

    #[test]
    fn forged_tokens_are_nobodys() {
        let keys = Keys::new(KEY, 30).unwrap();
        let claims = Claims { sub: "Ann".into(), iat: 0, exp: i64::MAX / 2_000, generation: 7 };
        let other = EncodingKey::from_secret(b"another key of thirty-two bytes!!");
        let sign = |algorithm, key| jsonwebtoken::encode(&Header::new(algorithm), &claims, key).unwrap();
        let good = sign(Algorithm::HS256, &keys.encoding);
        assert!(keys.verify(&good).is_some());
        let payload = good.split('.').nth(1).unwrap();
        let none = format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{payload}.");
        let forged = [sign(Algorithm::HS256, &other), sign(Algorithm::HS512, &keys.encoding), none];
        for token in forged.iter().map(String::as_str).chain(["", "a.b.c", payload]) {
            assert!(keys.verify(token).is_none(), "{token}");
        }
    }

    #[test]
    fn the_key_is_made_once_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("a.db");
        let key = key_beside(&database).unwrap();
        assert_eq!(key.len(), KEY_BYTES);
        assert_eq!(key_beside(&database).unwrap(), key);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(dir.path().join("a.db.key")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left");
        assert!(Keys::new(b"short", 30).is_err());
    }

    #[test]
    fn a_key_that_was_cut_short_is_named_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.db.key");
        fs::write(&file, "short").unwrap();
        let error = key_beside(&dir.path().join("a.db")).unwrap_err();
        assert!(error.detail().is_some_and(|detail| detail.contains("a.db.key")), "{error:?}");
        assert_eq!(fs::read(&file).unwrap(), b"short");
    }
}
