//! Signatures with the keys of tokens: HS256, the only algorithm that signs tokens, as a crypto provider of `jsonwebtoken`, and
//! those of other texts. That crate's own provider, which verifies the tokens of an issuer, also has RSA and elliptic curves:
//! tokens of this service must not be accepted with them.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use hmac::{Hmac, KeyInit as _, Mac as _};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Signer, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::Keys;
use crate::audit::trail::hex;

impl Keys {
    /// The current key and the previous one, or the current one twice, for hashes of anything but tokens.
    pub(crate) fn hashers(&self) -> [Hmac<Sha256>; 2] {
        let set = self.set.load();
        let (current, previous) = &set.secrets;
        [current, previous.as_ref().unwrap_or(current)]
            .map(|key| Hmac::new_from_slice(&key.0).expect("a key of HMAC has any length"))
    }
    /// Returns a signed text that a browser or an app keeps for the service. Each kind of text has its own `purpose`, so that none is
    /// read as another.
    pub(in crate::account) fn seal(&self, purpose: &str, value: &impl Serialize) -> String {
        let json = Zeroizing::new(serde_json::to_vec(value).expect("texts and numbers become JSON"));
        let payload = BASE64URL_NOPAD.encode(&json);
        let [key, _] = self.hashers();
        let signature = hex(&key.chain_update(purpose).chain_update(&payload).finalize().into_bytes());
        format!("{payload}.{signature}")
    }

    /// `None` if the service has not sealed the text for this purpose.
    pub(in crate::account) fn unseal<T: DeserializeOwned>(&self, purpose: &str, text: &str) -> Option<T> {
        let (payload, signature) = text.split_once('.')?;
        let signature = HEXLOWER.decode(signature.as_bytes()).ok()?;
        let of = |key: Hmac<Sha256>| key.chain_update(purpose).chain_update(payload);
        let is_signed = self.hashers().into_iter().any(|key| of(key).verify_slice(&signature).is_ok());
        let json = Zeroizing::new(BASE64URL_NOPAD.decode(payload.as_bytes()).ok().filter(|_| is_signed)?);
        serde_json::from_slice(&json).ok()
    }
}

/// RFC 7518 section 3.2.
struct Hs256(Hmac<Sha256>);

impl Hs256 {
    fn new(algorithm: Algorithm, key: &[u8]) -> Result<Self> {
        if algorithm != Algorithm::HS256 {
            return Err(ErrorKind::InvalidAlgorithm.into());
        }
        Hmac::new_from_slice(key).map(Self).map_err(|_| ErrorKind::InvalidKeyFormat.into())
    }
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        Ok(self.0.clone().chain_update(message).finalize().into_bytes().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        // `verify_slice` compares in constant time.
        self.0.clone().chain_update(message).verify_slice(signature).map_err(Error::from_source)
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm: &Algorithm, key: &EncodingKey| {
        Ok(Box::new(Hs256::new(*algorithm, key.as_bytes())?))
    },
    verifier_factory: |algorithm: &Algorithm, key: &DecodingKey| {
        Ok(Box::new(Hs256::new(*algorithm, key.try_get_as_bytes()?)?))
    },
    key_utils: KeyUtils::new_unimplemented(),
};

/// Applies to the whole process, unless the embedding program has installed another provider.
pub(super) fn install() {
    let _ = PROVIDER.install_default();
}
