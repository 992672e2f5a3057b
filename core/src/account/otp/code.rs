//! Time-based one-time passwords.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;
use subtle::ConstantTimeEq as _;

use crate::base::clock::{SECOND_MS, Timestamp};

/// The number of bytes of a secret, which RFC 4226 recommends.
pub(super) const SECRET: usize = 20;
pub(super) const DIGITS: u32 = 6;
/// The period of a code.
pub(super) const STEP_MS: i64 = 30 * SECOND_MS;
/// The number of earlier and later steps whose codes are accepted, for clocks that differ.
const AROUND: i64 = 1;

pub(super) const fn step(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(STEP_MS)
}

/// Returns the code of a period (RFC 6238, with SHA-1, as all authenticators compute it).
fn code(secret: &[u8], step: i64) -> String {
    let mut mac = Hmac::<Sha1>::new_from_slice(secret).expect("a key of HMAC has any length");
    mac.update(&step.to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let offset = usize::from(hash[hash.len() - 1] & 0x0f);
    let four = [hash[offset] & 0x7f, hash[offset + 1], hash[offset + 2], hash[offset + 3]];
    let number = u32::from_be_bytes(four) % 10_u32.pow(DIGITS);
    format!("{number:0width$}", width = DIGITS as usize)
}

/// Returns the code that an authenticator shows at this time.
#[cfg(test)]
pub(super) fn at(secret: &[u8], at: Timestamp) -> String {
    code(secret, step(at))
}

/// Returns the period whose code this is, around the time and after the period `last`; `None` if it is none of these.
pub(super) fn matching(secret: &[u8], given: &str, at: Timestamp, last: i64) -> Option<i64> {
    let now = step(at);
    // Every code is compared, so that the time tells nothing.
    (now - AROUND..=now + AROUND).fold(None, |found, step| {
        let is_equal = bool::from(code(secret, step).as_bytes().ct_eq(given.as_bytes()));
        if is_equal && step > last { Some(step) } else { found }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_rfc() {
        // RFC 6238, appendix B: the last six of the eight digits.
        let secret = b"12345678901234567890";
        for (seconds, digits) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            let at = Timestamp::from_millis(seconds * SECOND_MS);
            assert_eq!(code(secret, step(at)), digits, "{seconds}");
            assert_eq!(matching(secret, digits, at, 0), Some(step(at)));
            assert_eq!(matching(secret, digits, at, step(at)), None, "each code works once");
            assert_eq!(matching(secret, digits, at + STEP_MS, 0), Some(step(at)), "a clock may be late");
            assert_eq!(matching(secret, digits, at + 2 * STEP_MS, 0), None);
            assert_eq!(matching(secret, digits, at + -STEP_MS, 0), Some(step(at)), "or early");
            assert_eq!(matching(secret, digits, at + -2 * STEP_MS, 0), None);
        }
        for other in ["", "28708", "2870822", "000000", "한"] {
            assert_eq!(matching(secret, other, Timestamp::from_millis(59 * SECOND_MS), 0), None, "{other:?}");
        }
    }
}
