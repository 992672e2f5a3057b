//! Password hashing with Argon2id, at most one hash per core at a time. It also checks hashes of other systems
//! (`stored`).
//!
//! Callers that wait for a core take turns by purpose and by network ([`crate::base::fair`]): a flood of sign-ups delays a
//! sign-in by one hash.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use argon2::password_hash::PasswordHasher as _;
use argon2::{Algorithm, Argon2, Params, Version};
use unicode_normalization::UnicodeNormalization as _;
use zeroize::Zeroizing;

use crate::base::client::Client;
use crate::base::fair::{FairQueue, Pushed};
use crate::record::error::{Error, Result};

mod common;
pub(crate) mod stored;

pub(crate) use common::is_common;
use stored::Stored;

/// Returns whether a text is a password hash.
#[cfg(feature = "fuzzing")]
pub(crate) fn is_hash(text: &str) -> bool {
    Stored::parse(text).is_ok()
}

/// The parameters of Argon2id: 19 MiB of memory, two passes, one lane.
///
/// Source: OWASP Password Storage Cheat Sheet, the first choice for Argon2id.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// The hash that is checked for an account that does not exist, so that the check takes as long as for an existing one.
const DUMMY_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5bm9ib2R5bm9ibw$dDnUGUH+JbWWAo5VAhEnJcUfPWqYBqPTlWcYqmtiM1Y";

/// Hashes passwords, a bounded number at a time; callers beyond that wait in a bounded queue.
pub(crate) struct Hasher {
    slots: Mutex<Slots>,
    parallel: usize,
}

struct Slots {
    running: usize,
    waiting: FairQueue<Purpose, oneshot::Sender<()>>,
}

/// The reason to hash a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    SignIn,
    SignUp,
    SignInUp,
    ChangePw,
    /// Replacing a hash that has other parameters or comes from another system.
    Rehash,
    /// Setting another person's password.
    Administration,
}

/// The purpose and the client by which callers take turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    purpose: Purpose,
    client: Client,
}

impl Turn {
    /// Returns the turn of a client; `None` is this machine.
    pub(crate) fn new(purpose: Purpose, client: Option<Client>) -> Self {
        Self { purpose, client: client.unwrap_or_else(|| IpAddr::from(Ipv4Addr::LOCALHOST).into()) }
    }
}

/// The result of checking a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// The password is wrong.
    Wrong,
    /// The password is right.
    Right,
    /// The password is right, and its hash should be replaced because it was not made with the current parameters.
    RightButOld,
}

impl Hasher {
    /// Returns a hasher that runs one hash per core and queues up to `queue` more callers.
    pub(crate) fn new(queue: usize) -> Self {
        let parallel = std::thread::available_parallelism().map_or(1, usize::from);
        Self { slots: Mutex::new(Slots { running: 0, waiting: FairQueue::new(queue) }), parallel }
    }

    /// Hashes a password with a new random salt and returns the PHC string.
    ///
    /// # Errors
    /// `overloaded` if the queue is full of callers that are served before this one.
    pub(crate) fn hash(&self, turn: Turn, password: &str) -> Result<String> {
        let password = normalised(password);
        let _permit = self.permit(turn)?;
        let hash = argon2().hash_password(password.as_bytes());
        hash.map(|hash| hash.to_string()).map_err(|e| Error::Internal(e.to_string().into()))
    }

    /// Checks whether `hash` ([`Stored`]) is the hash of `password`. For an account that does not exist, `hash` is
    /// `None`; for one without a password, it is empty. In both cases the answer is [`Check::Wrong`] and takes as
    /// long as another check.
    ///
    /// # Errors
    /// `overloaded` as for [`Hasher::hash`]; an internal error if `hash` is not a valid hash.
    pub(crate) fn check(&self, turn: Turn, password: &str, hash: Option<&str>) -> Result<Check> {
        let hash = hash.filter(|hash| !hash.is_empty());
        let stored = Stored::parse(hash.unwrap_or(DUMMY_HASH));
        let stored =
            stored.map_err(|reason| Error::Internal(format!("a stored password: {reason}").into()))?;
        let composed = normalised(password);
        let _permit = self.permit(turn)?;
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

    /// Waits for a core. The caller holds the permit until its hash is complete.
    fn permit(&self, turn: Turn) -> Result<Permit<'_>> {
        let mut slots = self.lock();
        if slots.running < self.parallel {
            slots.running += 1;
            return Ok(Permit(self));
        }
        let (grant, granted) = oneshot::channel();
        match slots.waiting.push(turn.purpose, turn.client, grant) {
            // Dropping the `grant` of a displaced caller ends its wait.
            Pushed::Waiting(_) | Pushed::Displaced(..) => {}
            Pushed::Refused(_) => return Err(Error::Overloaded),
        }
        drop(slots);
        granted.recv().map_err(|_| Error::Overloaded)?;
        Ok(Permit(self))
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Permit<'h>(&'h Hasher);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut slots = self.0.lock();
        while let Some(next) = slots.waiting.pop() {
            if next.send(()).is_ok() {
                return;
            }
        }
        slots.running -= 1;
    }
}

fn argon2() -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params())
}

fn params() -> Params {
    Params::new(MEMORY_KIB, PASSES, LANES, None).expect("the parameters are within bounds")
}

/// Returns the password in NFC, so that it does not depend on how the keyboard composes characters. It is wiped from
/// memory after use.
fn normalised(password: &str) -> Zeroizing<String> {
    Zeroizing::new(password.nfc().collect())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const HERE: Turn = turn(Purpose::SignIn, 1);

    const fn turn(purpose: Purpose, network: u8) -> Turn {
        Turn { purpose, client: Client::v4(Ipv4Addr::new(198, 51, network, 1)) }
    }

    #[test]
    fn a_password_is_right_in_every_normalisation_form() {
        let hasher = Hasher::new(8);
        let hash = hasher.hash(HERE, "caf\u{e9} noir 8").unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_eq!(hasher.check(HERE, "cafe\u{301} noir 8", Some(&hash)).unwrap(), Check::Right);
        assert_eq!(hasher.check(HERE, "cafe noir 8", Some(&hash)).unwrap(), Check::Wrong);
        assert_eq!(hasher.check(HERE, "nobody", None).unwrap(), Check::Wrong);
    }

    #[test]
    fn a_hash_with_other_parameters_is_right_but_old() {
        let other = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(8_192, 1, 1, None).unwrap());
        let hash = other.hash_password(b"long enough").unwrap().to_string();
        assert_eq!(Hasher::new(8).check(HERE, "long enough", Some(&hash)).unwrap(), Check::RightButOld);
    }

    #[test]
    fn a_hash_of_another_system_is_right_but_old_in_every_normalisation_form() {
        let hasher = Hasher::new(8);
        for hash in [
            "849346315e78d833de1bc9b3eda02a596e3d99fc4204be25905de1e492e38ae9",
            "492e87fa32603d70cc65996366facd6b4d8051854e149c2d0dedc60397b83fbf",
        ] {
            let hash = format!("pbkdf2:sha256:1000$abcDEF0123456789${hash}");
            let typed: String = "비밀번호여덟글자".nfd().collect();
            assert_eq!(hasher.check(HERE, &typed, Some(&hash)).unwrap(), Check::RightButOld);
            assert_eq!(hasher.check(HERE, "비밀번호여덟글", Some(&hash)).unwrap(), Check::Wrong);
        }
        assert_eq!(hasher.check(HERE, "", Some("")).unwrap(), Check::Wrong);
        assert!(matches!(hasher.check(HERE, "long enough", Some("plain")), Err(Error::Internal(_))));
    }

    #[test]
    fn a_full_queue_refuses_at_once() {
        let hasher = Hasher { parallel: 1, ..Hasher::new(0) };
        let held = hasher.permit(HERE).unwrap();
        assert!(matches!(hasher.hash(HERE, "long enough"), Err(Error::Overloaded)));
        drop(held);
        assert!(hasher.hash(HERE, "long enough").is_ok());
    }

    #[test]
    fn a_flood_of_sign_ups_does_not_keep_a_sign_in_from_its_turn() {
        let hasher = Hasher { parallel: 1, ..Hasher::new(2) };
        let (told, order) = mpsc::channel();
        let held = hasher.permit(turn(Purpose::SignUp, 66)).unwrap();
        std::thread::scope(|threads| {
            let wait = |turn: Turn, name: &'static str, waiting: usize| {
                let (hasher, told) = (&hasher, told.clone());
                threads.spawn(move || {
                    let permit = hasher.permit(turn);
                    told.send((name, permit.is_ok())).unwrap();
                });
                while hasher.lock().waiting.len() < waiting {
                    std::thread::yield_now();
                }
            };
            wait(turn(Purpose::SignUp, 66), "first of the flood", 1);
            wait(turn(Purpose::SignUp, 66), "second of the flood", 2);
            wait(turn(Purpose::SignIn, 1), "sign-in", 2);
            assert_eq!(order.recv().unwrap(), ("second of the flood", false));
            drop(held);
            assert_eq!(order.recv().unwrap(), ("first of the flood", true));
            assert_eq!(order.recv().unwrap(), ("sign-in", true));
        });
        assert_eq!(hasher.lock().running, 0);
    }
}
