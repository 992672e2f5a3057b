//! Secrets and signatures of webhooks.
//!
//! Source: Standard Webhooks 1.0, <https://www.standardwebhooks.com>.

use data_encoding::BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::base::clock::{SECOND_MS, Timestamp};
use crate::base::random::random;

const PREFIX: &str = "whsec_";
/// Random bytes of a secret.
const SECRET: usize = 32;

pub(super) fn generate() -> Zeroizing<String> {
    let bytes = Zeroizing::new(random::<SECRET>());
    let encoded = Zeroizing::new(BASE64.encode(&*bytes));
    Zeroizing::new(format!("{PREFIX}{}", *encoded))
}

/// As it is sent and signed: seconds since 1970.
pub(super) fn seconds(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(SECOND_MS)
}

/// A signature with each of the secrets, separated by spaces.
pub(super) fn signatures(secrets: &[Zeroizing<String>], id: &str, seconds: i64, body: &str) -> String {
    let signed = secrets.iter().filter_map(|secret| signature(secret, id, seconds, body));
    signed.collect::<Vec<_>>().join(" ")
}

/// `None` if the secret is malformed.
fn signature(secret: &str, id: &str, seconds: i64, body: &str) -> Option<String> {
    let key = Zeroizing::new(BASE64.decode(secret.strip_prefix(PREFIX)?.as_bytes()).ok()?);
    let mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
    let mac = mac.chain_update(format!("{id}.{seconds}.")).chain_update(body);
    Some(format!("v1,{}", BASE64.encode(&mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_specification() {
        // From the test of the reference implementation.
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let signed =
            signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn each_secret_signs() {
        let secrets = [generate(), generate()];
        assert_ne!(*secrets[0], *secrets[1]);
        assert_eq!(BASE64.decode(&secrets[0].as_bytes()[PREFIX.len()..]).unwrap().len(), SECRET);
        let both = signatures(&secrets, "1", 2, "{}");
        let parts: Vec<_> = both.split(' ').collect();
        assert_eq!(parts, [signatures(&secrets[..1], "1", 2, "{}"), signatures(&secrets[1..], "1", 2, "{}")]);
        assert_eq!(signatures(&[Zeroizing::new("whsec_!".into())], "1", 2, "{}"), "");
    }
}
