//! Password hashes: PHC strings of Argon2, and those of imported members. PBKDF2 and scrypt are as Werkzeug writes them
//! (`pbkdf2:sha256:600000$salt$hex`, `scrypt:32768:8:1$salt$hex`; the salt is not decoded); bcrypt `$2a$`, `$2b$` and `$2y$` are
//! one function. An empty text is no password. The cost is bounded, so that an imported hash cannot exhaust memory or time.

use std::ops::RangeInclusive;

use argon2::password_hash::PasswordVerifier as _;
use argon2::{Algorithm, Argon2, Params, PasswordHash, Version};
use data_encoding::{Encoding, Specification};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

const MEMORY_KIB_MAX: u64 = 256 << 10;
/// Memory times passes: 1 GiB takes about a second.
const WORK_KIB_MAX: u64 = 1 << 20;
/// Twice the recommended number for the fastest digest.
const ITERATIONS_MAX: u32 = 2_800_000;
const SALT_MAX: usize = 128;
const SCRYPT_LEN: usize = 64;
/// bcrypt repeats its work two to the power of the cost times: 14 takes about a second.
const BCRYPT_COSTS: RangeInclusive<u32> = 4..=14;
/// In characters, as it is written.
const BCRYPT_SALT: usize = 22;
/// In bytes, without the last one, which is not written.
const BCRYPT_HASH: usize = 23;
/// As many as bcrypt reads of a password, with a NUL at its end.
const BCRYPT_BYTES: usize = 72;

const FORM: &str =
    "password_hash is an Argon2 PHC string, a bcrypt hash, or as Werkzeug writes pbkdf2 and scrypt";
const COSTLY: &str = "password_hash is too costly to check: at most 256 MiB, 1 GiB in all passes, 2800000 iterations, or bcrypt's cost 14";
const NO_ITERATIONS: &str = "password_hash does not say how many iterations it was made with";

pub(crate) enum Stored {
    /// Every password is wrong.
    Nothing,
    Argon2(Box<PasswordHash>),
    Bcrypt {
        cost: u32,
        salt: [u8; 16],
        hash: Vec<u8>,
    },
    Pbkdf2 {
        digest: Digest,
        iterations: u32,
        salt: Vec<u8>,
        hash: Vec<u8>,
    },
    Scrypt {
        params: scrypt::Params,
        salt: Vec<u8>,
        hash: Vec<u8>,
    },
}

#[derive(Clone, Copy)]
pub(crate) enum Digest {
    Sha1,
    Sha256,
    Sha512,
}

impl Digest {
    fn named(name: &str) -> Option<Self> {
        match name {
            "sha1" => Some(Self::Sha1),
            "sha256" => Some(Self::Sha256),
            "sha512" => Some(Self::Sha512),
            _ => None,
        }
    }

    const fn len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }
}

impl Stored {
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Ok(Self::Nothing);
        }
        if text.starts_with("$argon2") {
            return argon2_hash(text);
        }
        if let Some(rest) = ["$2a$", "$2b$", "$2y$"].iter().find_map(|prefix| text.strip_prefix(prefix)) {
            return bcrypt_hash(rest);
        }
        let mut parts = text.splitn(3, '$');
        let (Some(method), Some(salt), Some(hash)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(FORM);
        };
        let hash = hex(hash).ok_or(FORM)?;
        if salt.is_empty() || salt.len() > SALT_MAX {
            return Err(FORM);
        }
        let salt = salt.as_bytes().to_vec();
        let method: Vec<&str> = method.split(':').collect();
        match method[..] {
            ["pbkdf2", digest, iterations] => {
                let digest = Digest::named(digest).filter(|digest| digest.len() == hash.len()).ok_or(FORM)?;
                let iterations = number(iterations).ok_or(FORM)?;
                let iterations =
                    u32::try_from(iterations).ok().filter(|n| *n <= ITERATIONS_MAX).ok_or(COSTLY)?;
                Ok(Self::Pbkdf2 { digest, iterations, salt, hash })
            }
            ["pbkdf2"] | ["pbkdf2", _] => Err(NO_ITERATIONS),
            ["scrypt", n, r, p] if hash.len() == SCRYPT_LEN => {
                let (n, r, p) = (number(n).ok_or(FORM)?, number(r).ok_or(FORM)?, number(p).ok_or(FORM)?);
                Ok(Self::Scrypt { params: scrypt_params(n, r, p)?, salt, hash })
            }
            _ => Err(FORM),
        }
    }

    pub(super) fn is_of(&self, password: &[u8]) -> bool {
        match self {
            Self::Nothing => false,
            // `verify_password` uses the parameters in the hash, not the default ones.
            Self::Argon2(hash) => Argon2::default().verify_password(password, &**hash).is_ok(),
            Self::Bcrypt { cost, salt, hash } => {
                let mut read = Zeroizing::new(password.to_vec());
                read.push(0);
                read.truncate(BCRYPT_BYTES);
                // The last byte of a hash is not written.
                bcrypt::bcrypt(*cost, *salt, &read)[..hash.len()].ct_eq(hash).into()
            }
            Self::Pbkdf2 { digest, iterations, salt, hash } => {
                let mut made = vec![0; hash.len()];
                match digest {
                    Digest::Sha1 => pbkdf2::pbkdf2_hmac::<sha1::Sha1>(password, salt, *iterations, &mut made),
                    Digest::Sha256 => {
                        pbkdf2::pbkdf2_hmac::<sha2::Sha256>(password, salt, *iterations, &mut made);
                    }
                    Digest::Sha512 => {
                        pbkdf2::pbkdf2_hmac::<sha2::Sha512>(password, salt, *iterations, &mut made);
                    }
                }
                made.ct_eq(hash).into()
            }
            Self::Scrypt { params, salt, hash } => {
                let mut made = vec![0; hash.len()];
                scrypt::scrypt(password, salt, params, &mut made).is_ok() && bool::from(made.ct_eq(hash))
            }
        }
    }

    pub(super) fn is_made_with(&self, params: &Params) -> bool {
        let Self::Argon2(hash) = self else { return false };
        let cost = |params: &Params| (params.m_cost(), params.t_cost(), params.p_cost());
        hash.algorithm.as_str() == Algorithm::Argon2id.as_str()
            && hash.version == Some(Version::V0x13.into())
            && Params::try_from(&**hash).is_ok_and(|made| cost(&made) == cost(params))
    }
}

fn argon2_hash(text: &str) -> Result<Stored, &'static str> {
    let hash = PasswordHash::new(text).map_err(|_| FORM)?;
    let params = Params::try_from(&hash).map_err(|_| FORM)?;
    let known =
        Algorithm::try_from(hash.algorithm.as_str()).is_ok() && hash.salt.is_some() && hash.hash.is_some();
    if !known {
        return Err(FORM);
    }
    let memory = u64::from(params.m_cost());
    affordable(memory, memory.saturating_mul(params.t_cost().into()))?;
    Ok(Stored::Argon2(hash.into()))
}

/// `text` is what follows the version.
fn bcrypt_hash(text: &str) -> Result<Stored, &'static str> {
    let (cost, rest) = text.split_once('$').filter(|(cost, _)| cost.len() == 2).ok_or(FORM)?;
    let cost = number(cost).and_then(|cost| u32::try_from(cost).ok()).ok_or(FORM)?;
    if cost > *BCRYPT_COSTS.end() {
        return Err(COSTLY);
    }
    let (salt, hash) = rest.split_at_checked(BCRYPT_SALT).ok_or(FORM)?;
    let bytes = |text: &str| bcrypt_letters().decode(text.as_bytes()).map_err(|_| FORM);
    let (salt, hash) = (bytes(salt)?.try_into().map_err(|_| FORM)?, bytes(hash)?);
    if hash.len() != BCRYPT_HASH || cost < *BCRYPT_COSTS.start() {
        return Err(FORM);
    }
    Ok(Stored::Bcrypt { cost, salt, hash })
}

/// Old systems wrote salts whose last bits have no meaning and are not zero.
fn bcrypt_letters() -> Encoding {
    let mut letters = Specification::new();
    letters.symbols.push_str("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
    letters.check_trailing_bits = false;
    letters.encoding().expect("the alphabet has 64 different characters")
}

/// scrypt uses `n` blocks of `128 · r` bytes, `p` times.
fn scrypt_params(n: u64, r: u64, p: u64) -> Result<scrypt::Params, &'static str> {
    let memory = n.saturating_mul(r).div_ceil(8);
    affordable(memory, memory.saturating_mul(p))?;
    let log_n = u8::try_from(n.ilog2()).ok().filter(|_| n.is_power_of_two()).ok_or(FORM)?;
    let (r, p) = (u32::try_from(r).map_err(|_| FORM)?, u32::try_from(p).map_err(|_| FORM)?);
    scrypt::Params::new(log_n, r, p).map_err(|_| FORM)
}

fn affordable(memory_kib: u64, work_kib: u64) -> Result<(), &'static str> {
    if memory_kib <= MEMORY_KIB_MAX && work_kib <= WORK_KIB_MAX { Ok(()) } else { Err(COSTLY) }
}

fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number > 0)
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok());
    bytes.collect::<Option<_>>().filter(|_| rest.is_empty())
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Hashes of `correct horse`, made by Werkzeug, libxcrypt and the reference implementation of Argon2.
    pub(crate) const FOREIGN: [&str; 9] = [
        "$2a$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e",
        "$2b$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2",
        // With a salt as old systems wrote it.
        "$2b$05$abcdefghijklmnopqrstuvHNbAKRhpaujgo33bRWs.NLUTJO3lOy2",
        "$2y$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e",
        "pbkdf2:sha1:1000$abcDEF0123456789$a47d0122e619ec1ea2a2207aaf013764d91b7fde",
        "pbkdf2:sha256:1000$abcDEF0123456789$c4a753c699272d707372cc2e394122a883a176a5661bebeac3098df02f7b532d",
        "pbkdf2:sha512:1000$abcDEF0123456789$cdc655aaeffdfab04d4da6953f987c23176d18ca6893b769def88c24a30a582ed798aa\
         2932eb6dbfaf65e7da3d61acbda87bb56ff7adb86c29a1328ecd26717b",
        "scrypt:1024:8:1$abcDEF0123456789$88d9c36506e82e4d9f27cb8a97fcacbb07e659ea07e37969d4f94fb9593a22100bbb39970\
         23cbab4da97c41b49d644a31efe06af90d6fa3b2d7d4167e8015fab",
        "scrypt:16:1:2$abcDEF0123456789$09753a2fc870c3fcb7e102a49b590f603a8b103d93b104033ff6de6cdbeea0c4505d0378539\
         39d94ec9a05d562734f9f5ec5190572c209579c2ea971afaf5192",
    ];

    #[test]
    fn werkzeugs_hashes_match_only_their_password() {
        for text in FOREIGN {
            let stored = Stored::parse(text).unwrap();
            assert!(stored.is_of(b"correct horse"), "{text}");
            assert!(!stored.is_of(b"correct horsf") && !stored.is_of(b""), "{text}");
        }
    }

    #[test]
    fn every_variant_of_argon2_is_checked_with_the_parameters_in_its_hash() {
        for (algorithm, m, t, p) in [
            (Algorithm::Argon2i, 64, 3, 1),
            (Algorithm::Argon2d, 128, 1, 4),
            (Algorithm::Argon2id, 256, 2, 2),
        ] {
            use argon2::password_hash::PasswordHasher as _;
            let params = Params::new(m, t, p, Some(24)).unwrap();
            let hasher = Argon2::new(algorithm, Version::V0x13, params.clone());
            let text = hasher.hash_password(b"correct horse").unwrap().to_string();
            let stored = Stored::parse(&text).unwrap();
            assert!(stored.is_of(b"correct horse") && !stored.is_of(b"correct"), "{text}");
            assert_eq!(stored.is_made_with(&params), algorithm == Algorithm::Argon2id);
        }
    }

    #[test]
    fn bcrypt_reads_the_first_72_bytes_of_a_password() {
        // Made by libxcrypt of ten times `correct horse`.
        let stored = Stored::parse("$2b$04$abcdefghijklmnopqrstuu62xRgOHofvUD80kqN4W7fhcF5w16HZO").unwrap();
        let long = "correct horse".repeat(10);
        assert!(stored.is_of(long.as_bytes()) && stored.is_of(&long.as_bytes()[..72]));
        assert!(!stored.is_of(&long.as_bytes()[..71]));
    }

    #[test]
    fn costly_and_malformed_hashes_are_refused() {
        let salt = "bm9ib2R5bm9ib2R5bm9ib2R5bm9ib2R5";
        for (reason, texts) in [
            (
                COSTLY,
                "scrypt:1048576:8:1$salt$<64>|scrypt:32768:8:1024$salt$<64>|scrypt:18446744073709551615:8:1$salt$<64>\
                |pbkdf2:sha256:4000000000$salt$<32>|pbkdf2:sha256:99999999999$salt$<32>\
                |$2b$15$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e\
                |$argon2id$v=19$m=4194304,t=1,p=1$<salt>$<salt>|$argon2id$v=19$m=19456,t=4000000,p=1$<salt>$<salt>",
            ),
            (NO_ITERATIONS, "pbkdf2:sha256$salt$<32>"),
            (
                FORM,
                "scrypt:1000:8:1$salt$<64>|scrypt:0:8:1$salt$<64>|scrypt:1024:8:1$salt$<32>|pbkdf2:sha256:0$salt$<32>\
                |pbkdf2:sha256:+9$salt$<32>|pbkdf2:md5:1000$salt$<16>|pbkdf2:sha256:1000$$<32>\
                |pbkdf2:sha256:1000$salt$abc|sha1$salt$abcd|correct horse|$2b$12$abcdefghijklmnopqrstuv\
                |$2b$03$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e\
                |$2b$4$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e\
                |$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6\
                |$2b$04$abcdefghijklmnopqrst\u{ac00}ujydOTSfIH/d5oUHpsygqV5X9xJLQc6e\
                |$2x$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e\
                |$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5bm9ib2R5",
            ),
        ] {
            for text in texts.replace("<salt>", salt).split('|') {
                let filled = [16, 32, 64].iter().fold(text.to_owned(), |text, bytes| {
                    text.replace(&format!("<{bytes}>"), &"ab".repeat(*bytes))
                });
                assert_eq!(Stored::parse(&filled).err(), Some(reason), "{filled}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(pbkdf2|scrypt|\\$argon2id?|\\$2b\\$0[4-9]\\$)?[:$,=a-z0-9]{0,60}") {
            let _ = Stored::parse(&text);
        }
    }
}
