//! Signing keys for issuers and devices in tests, made of a number.

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};
use jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER;
use jsonwebtoken::jwk::EllipticCurve;
use jsonwebtoken::{Algorithm, AlgorithmFamily, EncodingKey};
use serde_json::{Value, json};

/// RSA with 2,048 bits (RFC 8017), which takes too long to make.
const RSA: &str = include_str!("rsa.txt");

pub(crate) struct Signer {
    algorithm: Algorithm,
    /// In the encoding that the library reads.
    der: Vec<u8>,
}

impl Signer {
    /// Of Ed25519.
    pub(crate) fn new(number: u8) -> Self {
        Self::of(Algorithm::EdDSA, number)
    }

    /// There is one key of RSA, whatever the number.
    pub(crate) fn of(algorithm: Algorithm, number: u8) -> Self {
        // A private key without its public one, in PKCS #8 (RFC 5915, RFC 8410).
        let key = |head: &str, length: usize| {
            let mut der = HEXLOWER.decode(head.as_bytes()).unwrap();
            der.extend(vec![number; length]);
            der
        };
        let der = match algorithm {
            Algorithm::EdDSA => key("302e020100300506032b657004220420", 32),
            Algorithm::ES256 => {
                key("3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420", 32)
            }
            Algorithm::ES384 => key("304e020100301006072a8648ce3d020106052b81040022043730350201010430", 48),
            _ => BASE64.decode(RSA.replace('\n', "").as_bytes()).unwrap(),
        };
        Self { algorithm, der }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let key = match self.algorithm.family() {
            AlgorithmFamily::Ed => EncodingKey::from_ed_der(&self.der),
            AlgorithmFamily::Ec => EncodingKey::from_ec_der(&self.der),
            AlgorithmFamily::Rsa => EncodingKey::from_rsa_der(&self.der),
            AlgorithmFamily::Hmac => EncodingKey::from_secret(&self.der),
        };
        (DEFAULT_PROVIDER.signer_factory)(&self.algorithm, &key).unwrap().sign(message)
    }

    /// Of Ed25519.
    pub(crate) fn public(&self) -> Vec<u8> {
        let public = DEFAULT_PROVIDER.key_utils.ed_pub_components_from_private_key;
        public(&self.der, &EllipticCurve::Ed25519).unwrap()
    }

    /// RFC 7517.
    pub(crate) fn jwk(&self) -> Value {
        let (utils, text) = (&DEFAULT_PROVIDER.key_utils, |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes));
        match self.algorithm.family() {
            AlgorithmFamily::Ed => json!({ "kty": "OKP", "crv": "Ed25519", "x": text(&self.public()) }),
            AlgorithmFamily::Ec => {
                let (_, x, y) =
                    (utils.ec_pub_components_from_private_key)(&self.der, self.algorithm).unwrap();
                let crv = if self.algorithm == Algorithm::ES256 { "P-256" } else { "P-384" };
                json!({ "kty": "EC", "crv": crv, "x": text(&x), "y": text(&y) })
            }
            _ => {
                let (n, e) = (utils.rsa_pub_components_from_private_key)(&self.der).unwrap();
                json!({ "kty": "RSA", "n": text(&n), "e": text(&e) })
            }
        }
    }
}
