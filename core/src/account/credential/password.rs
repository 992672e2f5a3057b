//! Password hashing with Argon2id, at most one hash per core at a time, and checks of hashes of other systems (`stored`). The
//! number of callers that wait for a core is not limited here. A server runs them in worker pools, which limit it and whose queues
//! let clients take turns.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use argon2::password_hash::PasswordHasher as _;
use argon2::{Algorithm, Argon2, Params, Version};
use unicode_normalization::UnicodeNormalization as _;
use zeroize::Zeroizing;

use crate::record::error::{Error, Result};

pub(crate) mod stored;

use stored::Stored;

#[cfg(feature = "fuzzing")]
pub(crate) fn is_hash(text: &str) -> bool {
    Stored::parse(text).is_ok()
}

/// The 10,000 most common passwords, which attackers try first, in NFC and lower case, one per line. Source and licence:
/// `common/LICENSE`.
const COMMON: &str = include_str!("password/common/passwords.txt");
/// In bytes.
const COMMON_MAX: usize = 64;

/// 19 MiB of memory, two passes, one lane: the first choice of the OWASP Password Storage Cheat Sheet.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// The hash that is checked for an account that does not exist, so that the check takes as long as for an existing one.
const DUMMY_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5bm9ib2R5bm9ibw$dDnUGUH+JbWWAo5VAhEnJcUfPWqYBqPTlWcYqmtiM1Y";

/// Callers beyond `parallel` wait, in the order in which they arrive.
pub(crate) struct Hasher {
    tickets: Mutex<Tickets>,
    changed: Condvar,
    parallel: u64,
}

/// A hash begins once fewer than `parallel` hashes with earlier tickets are incomplete.
#[derive(Default)]
struct Tickets {
    taken: u64,
    complete: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    Wrong,
    Right,
    /// The hash should be replaced, because it was not made with the current parameters.
    RightButOld,
}

impl Hasher {
    pub(crate) fn new() -> Self {
        let parallel = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        Self { tickets: Mutex::default(), changed: Condvar::new(), parallel }
    }

    pub(crate) fn hash(&self, password: &str) -> Result<String> {
        let password = normalised(password);
        let _permit = self.permit();
        let hash = argon2().hash_password(password.as_bytes());
        hash.map(|hash| hash.to_string()).map_err(|e| Error::Internal(e.to_string().into()))
    }

    /// `hash` is a [`Stored`] text: `None` for an account that does not exist, and empty for one without a password. In both
    /// cases the result is [`Check::Wrong`] and takes as long as another check.
    pub(crate) fn check(&self, password: &str, hash: Option<&str>) -> Result<Check> {
        let hash = hash.filter(|hash| !hash.is_empty());
        let stored = Stored::parse(hash.unwrap_or(DUMMY_HASH));
        let stored =
            stored.map_err(|reason| Error::Internal(format!("a stored password: {reason}").into()))?;
        let composed = normalised(password);
        let _permit = self.permit();
        let mut right = stored.is_of(composed.as_bytes());
        if !right && *composed != password {
            // Other systems hashed passwords without normalising them.
            right = stored.is_of(password.as_bytes());
        }
        Ok(match (right && hash.is_some(), stored.is_made_with(&params())) {
            (false, _) => Check::Wrong,
            (true, true) => Check::Right,
            (true, false) => Check::RightButOld,
        })
    }

    /// Held until the hash is complete.
    fn permit(&self) -> Permit<'_> {
        let mut tickets = self.lock();
        let ticket = tickets.taken;
        tickets.taken += 1;
        let waits = |tickets: &mut Tickets| ticket >= tickets.complete + self.parallel;
        drop(self.changed.wait_while(tickets, waits).unwrap_or_else(PoisonError::into_inner));
        Permit(self)
    }

    fn lock(&self) -> MutexGuard<'_, Tickets> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Permit<'h>(&'h Hasher);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.lock().complete += 1;
        self.0.changed.notify_all();
    }
}

fn argon2() -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params())
}

fn params() -> Params {
    Params::new(MEMORY_KIB, PASSES, LANES, None).expect("the parameters are within bounds")
}

pub(crate) fn is_common(password: &str) -> bool {
    if password.len() > 2 * COMMON_MAX {
        return false;
    }
    let folded = Zeroizing::new(normalised(password).to_lowercase());
    COMMON.lines().any(|line| line == *folded)
}

/// NFC does not depend on how the keyboard composes characters.
fn normalised(password: &str) -> Zeroizing<String> {
    Zeroizing::new(password.nfc().collect())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_password_is_right_in_every_normalisation_form() {
        let hasher = Hasher::new();
        let hash = hasher.hash("caf\u{e9} noir 8").unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_eq!(hasher.check("cafe\u{301} noir 8", Some(&hash)).unwrap(), Check::Right);
        assert_eq!(hasher.check("cafe noir 8", Some(&hash)).unwrap(), Check::Wrong);
        assert_eq!(hasher.check("nobody", None).unwrap(), Check::Wrong);
    }

    #[test]
    fn a_hash_of_another_system_is_right_but_old_in_every_normalisation_form() {
        let hasher = Hasher::new();
        for hash in [
            "849346315e78d833de1bc9b3eda02a596e3d99fc4204be25905de1e492e38ae9",
            "492e87fa32603d70cc65996366facd6b4d8051854e149c2d0dedc60397b83fbf",
        ] {
            let hash = format!("pbkdf2:sha256:1000$abcDEF0123456789${hash}");
            let typed: String = "비밀번호여덟글자".nfd().collect();
            assert_eq!(hasher.check(&typed, Some(&hash)).unwrap(), Check::RightButOld);
            assert_eq!(hasher.check("비밀번호여덟글", Some(&hash)).unwrap(), Check::Wrong);
        }
        assert_eq!(hasher.check("", Some("")).unwrap(), Check::Wrong);
        assert!(matches!(hasher.check("long enough", Some("plain")), Err(Error::Internal(_))));
    }

    #[test]
    fn callers_get_a_core_in_the_order_in_which_they_arrive() {
        let hasher = Hasher { parallel: 2, ..Hasher::new() };
        let (told, order) = mpsc::channel();
        let mut held = vec![hasher.permit(), hasher.permit()];
        std::thread::scope(|threads| {
            for n in 0..8 {
                let (hasher, told) = (&hasher, told.clone());
                threads.spawn(move || {
                    let _permit = hasher.permit();
                    told.send(n).unwrap();
                });
                while hasher.lock().taken < n + 3 {
                    std::thread::yield_now();
                }
            }
            assert!(order.try_recv().is_err());
            // With one core, the callers follow each other.
            held.pop();
            assert!(order.iter().take(8).eq(0..8));
        });
        assert_eq!(hasher.lock().complete, 9);
    }

    #[test]
    fn common_passwords_are_found_in_any_case_and_others_are_not() {
        let lines: Vec<&str> = COMMON.lines().collect();
        assert_eq!(lines.len(), 10_000);
        assert!(lines.is_sorted_by(|one, next| one.as_bytes() < next.as_bytes()));
        for line in lines {
            assert!(is_common(line) && line.len() <= COMMON_MAX, "{line}");
            assert_eq!(*normalised(&line.to_lowercase()), *line);
        }
        assert!(["PassWord", "QWERTYUIOP", "ПАРОЛЬ"].into_iter().all(is_common));
        let long = "password".repeat(10_000);
        for other in ["", "\n", "password\n", "correct horse", "비밀번호여덟글자", "\0", &long] {
            assert!(!is_common(other), "{other:.20}");
        }
    }
}
