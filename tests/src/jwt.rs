//! Reads access tokens, and forges them with any key and algorithm.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Sha256, Sha384, Sha512};

pub fn claims(token: &str) -> Value {
    part(token, 1)
}

pub fn header(token: &str) -> Value {
    part(token, 0)
}

fn part(token: &str, number: usize) -> Value {
    let part = token.split('.').nth(number).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// Returns a token with these claims, signed with `key` using `HS256`, `HS384` or `HS512`.
pub fn forge(claims: &Value, algorithm: &str, key: &[u8]) -> String {
    let head = json!({ "typ": "JWT", "alg": algorithm });
    let [head, claims] = [&head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let message = format!("{head}.{claims}");
    let signature = match algorithm {
        "HS256" => mac::<Hmac<Sha256>>(key, &message),
        "HS384" => mac::<Hmac<Sha384>>(key, &message),
        "HS512" => mac::<Hmac<Sha512>>(key, &message),
        other => panic!("unknown algorithm {other}"),
    };
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn mac<M: Mac + KeyInit>(key: &[u8], message: &str) -> Vec<u8> {
    let mac = <M as KeyInit>::new_from_slice(key).unwrap();
    mac.chain_update(message).finalize().into_bytes().to_vec()
}
