//! A device with one passkey, and the browser that asks it.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::super::Ceremony;
use crate::testing::signer::Signer;

pub(super) const DOMAIN: &str = "app.example";

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const NEW_KEY: u8 = 0x40;

pub(super) struct Device {
    key: Signer,
    credential: [u8; 32],
    handle: String,
    pub(super) counter: u32,
    pub(super) origin: String,
    pub(super) is_verified: bool,
}

impl Device {
    pub(super) fn new(seed: u8) -> Self {
        Self {
            key: Signer::new(seed),
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

    pub(super) fn create(&mut self, ceremony: &Ceremony) -> String {
        self.create_with(ceremony, "none").0
    }

    /// Makes a passkey, and says something about itself in this format; returns also what it says about the passkey alone.
    pub(super) fn create_with(&mut self, ceremony: &Ceremony, format: &str) -> (String, String) {
        let options = options(ceremony);
        options["user"]["id"].as_str().unwrap().clone_into(&mut self.handle);
        // No name of a model, the length and the id of the credential, and its key in COSE: OKP, EdDSA, Ed25519.
        let mut new_key = vec![0; 16];
        new_key.extend([0, 32]);
        new_key.extend(self.credential);
        new_key.extend(HEXLOWER.decode(b"a4010103272006215820").unwrap());
        new_key.extend(self.key.public());
        let data = self.data(NEW_KEY, &new_key);
        // In CBOR: {"fmt": format, "attStmt": {…}, "authData": data}.
        let mut object = b"\xa3\x63fmt".to_vec();
        object.push(0x60 + u8::try_from(format.len()).unwrap());
        object.extend(format.as_bytes());
        let statement = if format == "none" { &b"\xa0"[..] } else { b"\xa1\x63x5c\x81\x42ab" };
        object.extend([b"\x67attStmt", statement, b"\x68authData\x58"].concat());
        object.push(data.len().try_into().unwrap());
        object.extend(&data);
        let answer = self.answer(&json!({
            "clientDataJSON": encode(&self.client_data("webauthn.create", &options)),
            "attestationObject": encode(&object),
            "transports": ["internal"],
        }));
        (answer, encode(&data))
    }

    pub(super) fn get(&mut self, ceremony: &Ceremony) -> String {
        self.counter += 1;
        let client_data = self.client_data("webauthn.get", &options(ceremony));
        let data = self.data(0, &[]);
        let signed = [&data[..], &Sha256::digest(&client_data)].concat();
        let signature = self.key.sign(&signed);
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

pub(super) fn options(ceremony: &Ceremony) -> Value {
    serde_json::from_str(&ceremony.options).unwrap()
}

pub(super) fn encode(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

pub(super) fn decode(text: &str) -> Vec<u8> {
    BASE64URL_NOPAD.decode(text.as_bytes()).unwrap()
}
