//! A device with one passkey, and the browser that asks it.

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};
use openidconnect::PrivateSigningKey as _;
use openidconnect::core::{CoreEdDsaPrivateSigningKey, CoreJwsSigningAlgorithm};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::super::Ceremony;

pub(super) const DOMAIN: &str = "app.example";

/// What a device says about its user: present, and verified.
const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
/// That a new key follows.
const NEW_KEY: u8 = 0x40;

/// A device.
pub(super) struct Device {
    key: CoreEdDsaPrivateSigningKey,
    credential: [u8; 32],
    handle: String,
    pub(super) counter: u32,
    pub(super) origin: String,
    pub(super) is_verified: bool,
}

impl Device {
    pub(super) fn new(seed: u8) -> Self {
        // A key of Ed25519 in PKCS #8 (RFC 8410).
        let mut der = HEXLOWER.decode(b"302e020100300506032b657004220420").unwrap();
        der.extend([seed; 32]);
        let pem =
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", BASE64.encode(&der));
        Self {
            key: CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pem, None).unwrap(),
            credential: [seed; 32],
            handle: String::new(),
            counter: 0,
            origin: format!("https://{DOMAIN}"),
            is_verified: true,
        }
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let challenge = &options["challenge"];
        let data =
            json!({ "type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": false });
        data.to_string().into_bytes()
    }

    /// Returns what the device says about itself, its user and a new key (Web Authentication Level 3, section 6.1).
    fn data(&self, flags: u8, new_key: &[u8]) -> Vec<u8> {
        let verified = if self.is_verified { VERIFIED } else { 0 };
        let mut data = Sha256::digest(DOMAIN).to_vec();
        data.push(PRESENT | verified | flags);
        data.extend(self.counter.to_be_bytes());
        data.extend(new_key);
        data
    }

    /// Makes a passkey; returns the answer of the browser.
    pub(super) fn create(&mut self, ceremony: &Ceremony) -> String {
        let options = options(ceremony);
        options["user"]["id"].as_str().unwrap().clone_into(&mut self.handle);
        let public = serde_json::to_value(self.key.as_verification_key()).unwrap();
        let public = BASE64URL_NOPAD.decode(public["x"].as_str().unwrap().as_bytes()).unwrap();
        // No name of a model, the length and the id of the credential, and its key in COSE: OKP, EdDSA, Ed25519.
        let mut new_key = vec![0; 16];
        new_key.extend([0, 32]);
        new_key.extend(self.credential);
        new_key.extend(HEXLOWER.decode(b"a4010103272006215820").unwrap());
        new_key.extend(public);
        let data = self.data(NEW_KEY, &new_key);
        // In CBOR: {"fmt": "none", "attStmt": {}, "authData": data}.
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58".to_vec();
        object.push(data.len().try_into().unwrap());
        object.extend(&data);
        self.answer(&json!({
            "clientDataJSON": encode(&self.client_data("webauthn.create", &options)),
            "attestationObject": encode(&object),
            "transports": ["internal"],
        }))
    }

    /// Signs in; returns the answer of the browser.
    pub(super) fn get(&mut self, ceremony: &Ceremony) -> String {
        self.counter += 1;
        let client_data = self.client_data("webauthn.get", &options(ceremony));
        let data = self.data(0, &[]);
        let signed = [&data[..], &Sha256::digest(&client_data)].concat();
        let signature = self.key.sign(&CoreJwsSigningAlgorithm::EdDsa, &signed).unwrap();
        self.answer(&json!({
            "clientDataJSON": encode(&client_data),
            "authenticatorData": encode(&data),
            "signature": encode(&signature),
            "userHandle": self.handle,
        }))
    }

    fn answer(&self, response: &Value) -> String {
        let id = encode(&self.credential);
        json!({
            "id": id, "rawId": id, "type": "public-key", "response": response,
            "authenticatorAttachment": "platform", "clientExtensionResults": {},
        })
        .to_string()
    }
}

/// Returns the options as the browser reads them.
pub(super) fn options(ceremony: &Ceremony) -> Value {
    serde_json::from_str(&ceremony.options).unwrap()
}

fn encode(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}
