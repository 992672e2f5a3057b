//! An authenticator: time-based one-time passwords (RFC 6238).

use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;

/// Returns the code that an authenticator with this secret, in base 32, shows `steps` periods of 30 seconds from now.
#[expect(clippy::disallowed_methods, reason = "an authenticator has a clock of its own")]
pub fn code(secret: &str, steps: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let step = i64::try_from(now / 30).unwrap() + steps;
    let secret = BASE32_NOPAD.decode(secret.as_bytes()).unwrap();
    let mut mac = Hmac::<Sha1>::new_from_slice(&secret).unwrap();
    mac.update(&step.to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let at = usize::from(hash[19] & 0x0f);
    let number = u32::from_be_bytes([hash[at] & 0x7f, hash[at + 1], hash[at + 2], hash[at + 3]]);
    format!("{:06}", number % 1_000_000)
}
