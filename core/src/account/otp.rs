//! The second factor: time-based one-time passwords (RFC 6238) and recovery codes.
//!
//! A member who has enabled it needs a code beside the password to sign in. Each code works once, and so does each recovery
//! code. The secret is in the database, because the codes are computed from it: who reads the database file can compute codes,
//! but not passwords.

use data_encoding::{BASE32_NOPAD, Specification};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::attempt::{begin, failed, succeeded};
use super::password::{Check, Purpose, Turn};
use super::{Caller, Member, SignInClient, find};
use crate::Tidings;
use crate::clock::Timestamp;
use crate::error::{Code, Error, Outcome, Problem, Result};
use crate::id::MemberKey;
use crate::random::random;
use crate::store::{Isolation, StoreError, Tx};
use crate::trail::{Action, Entry, hex};

mod code;
pub(crate) mod sql;
#[cfg(test)]
mod tests;

/// The number of recovery codes of a member.
const RECOVERY_CODES: usize = 10;
/// The number of random bytes of a recovery code: 16 letters and digits.
const RECOVERY: usize = 10;
/// The name that authenticators show beside the member's id.
const ISSUER: &str = "tidings";

const ENABLED: Problem = Problem::new(
    Code::NotPossible,
    "the second factor is enabled already: disable it first to set it up again",
);
const NOT_BEGUN: Problem =
    Problem::new(Code::NotPossible, "there is no secret yet: begin to set the second factor up first");
const NOT_ENABLED: Problem = Problem::new(Code::NotPossible, "the second factor is not enabled");

/// The state of a member's second factor.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OtpStatus {
    /// 1 if a sign-in needs a code, otherwise 0.
    pub enabled: u8,
    /// The number of recovery codes that were not used yet.
    pub recovery_codes: i64,
}

/// The secret that an authenticator needs.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OtpSecret {
    /// The secret in base 32, for typing.
    #[serde(serialize_with = "plain")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub secret: Zeroizing<String>,
    /// The same for a QR code, as `otpauth://totp/…`.
    #[serde(serialize_with = "plain")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub uri: Zeroizing<String>,
}

/// New recovery codes, which are not shown again.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecoveryCodes {
    /// Ten codes. Each replaces a code of the authenticator once.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub recovery_codes: Vec<String>,
}

fn plain<S: serde::Serializer>(text: &Zeroizing<String>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

/// Returns the state of the caller's second factor.
///
/// # Errors
/// `bad token`.
pub fn otp_status(tidings: &Tidings, caller: &Caller) -> Result<OtpStatus> {
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| {
        let member = identity.member(tx)?;
        let enabled = sql::factor(tx, member.key)?.is_some_and(|factor| factor.is_enabled);
        Ok(OtpStatus { enabled: u8::from(enabled), recovery_codes: sql::recovery_codes(tx, member.key)? })
    })
}

/// Makes a secret for the caller's authenticator. The second factor is not enabled before [`enable_otp`] has seen a code.
///
/// # Errors
/// `bad token`; `incorrect pw`; `bad request` if the second factor is enabled; `too many requests` and `overloaded` as for a
/// sign-in.
pub fn begin_otp(
    tidings: &Tidings,
    caller: &Caller,
    pw: &str,
    client: impl Into<SignInClient>,
) -> Result<OtpSecret> {
    confirm(tidings, caller, pw, &client.into())?;
    let identity = caller.identify(tidings);
    let secret = Zeroizing::new(BASE32_NOPAD.encode(&*Zeroizing::new(random::<{ code::SECRET }>())));
    let stored = secret.clone();
    let id = tidings.store().write(Isolation::Alone, move |tx| {
        let member = identity.member(tx)?;
        if sql::factor(tx, member.key)?.is_some_and(|factor| factor.is_enabled) {
            return Err(Error::BadRequest(ENABLED));
        }
        sql::begin(tx, &member, &stored)?;
        Ok(member.id.clone())
    })?;
    // An id has only characters that an address may have.
    let uri = format!("otpauth://totp/{ISSUER}:{id}?secret={}&issuer={ISSUER}", *secret);
    Ok(OtpSecret { uri: Zeroizing::new(uri), secret })
}

/// Enables the caller's second factor, after their authenticator has shown its first code.
///
/// # Errors
/// `bad token`; `incorrect otp` if it is not the code; `bad request` without [`begin_otp`], or if it is enabled already.
pub fn enable_otp(
    tidings: &Tidings,
    caller: &Caller,
    otp: &str,
    client: impl Into<SignInClient>,
) -> Result<RecoveryCodes> {
    let (identity, now, client) = (caller.identify(tidings), tidings.now(), client.into());
    let id = tidings.store().read(|tx| Ok::<_, Error>(identity.member(tx)?.id.clone()))?;
    let attempt = begin(tidings, Some(&id), client.client)?;
    let (otp, codes) = (otp.trim().to_owned(), generate());
    let hashes: Vec<_> = codes.recovery_codes.iter().map(|code| hash(code)).collect();
    let enabled = tidings.store().write(Isolation::Alone, move |tx| {
        let member = identity.member(tx)?;
        let factor = sql::factor(tx, member.key)?.ok_or(Error::BadRequest(NOT_BEGUN))?;
        if factor.is_enabled {
            return Err(Error::BadRequest(ENABLED));
        }
        let Some(step) = code::matching(&factor.secret, &otp, now, factor.last_step) else {
            return Err(Outcome::IncorrectOtp.into());
        };
        sql::enable(tx, &member, now, step)?;
        Ok(sql::replace_recovery_codes(tx, member.key, &hashes)?)
    });
    match enabled {
        Err(Error::Documented(Outcome::IncorrectOtp, _)) => Err(failed(attempt, Outcome::IncorrectOtp)),
        Err(error) => Err(error),
        Ok(()) => {
            succeeded(attempt);
            Ok(codes)
        }
    }
}

/// Disables the caller's second factor.
///
/// # Errors
/// `bad token`; `incorrect pw`, `incorrect otp`; `bad request` if it is not enabled; `too many requests` and `overloaded` as
/// for a sign-in.
pub fn disable_otp(
    tidings: &Tidings,
    caller: &Caller,
    pw: &str,
    otp: &str,
    client: impl Into<SignInClient>,
) -> Result<()> {
    with_both(tidings, caller, (pw, otp), &client.into(), |tx, member| sql::disable(tx, member))
}

/// Replaces the caller's recovery codes, used and unused ones.
///
/// # Errors
/// The errors of [`disable_otp`].
pub fn renew_recovery_codes(
    tidings: &Tidings,
    caller: &Caller,
    pw: &str,
    otp: &str,
    client: impl Into<SignInClient>,
) -> Result<RecoveryCodes> {
    let codes = generate();
    let hashes: Vec<_> = codes.recovery_codes.iter().map(|code| hash(code)).collect();
    with_both(tidings, caller, (pw, otp), &client.into(), move |tx, member| {
        sql::replace_recovery_codes(tx, member, &hashes)
    })?;
    Ok(codes)
}

/// Disables the second factor of a member who has lost it.
///
/// # Errors
/// `bad token`, `Not admin`, also for an API key; `Not found` if no member has this id; `bad request` if it is not enabled.
pub fn reset_otp(tidings: &Tidings, caller: &Caller, id: &str) -> Result<()> {
    let (identity, id) = (caller.identify(tidings), id.to_owned());
    tidings.store().write(Isolation::Alone, move |tx| {
        let admin = identity.administrator(tx)?;
        let member = find(tx, &id)?.ok_or(Error::NotFound)?;
        if sql::factor(tx, member.key)?.is_none() {
            return Err(Error::BadRequest(NOT_ENABLED));
        }
        sql::disable(tx, member.key)?;
        Ok(admin.record(tx, Entry::new(Action::MemberOtpReset).on_member(member.key))?)
    })
}

/// Checks the caller's password, as a sign-in does, and returns their id.
fn confirm(tidings: &Tidings, caller: &Caller, pw: &str, client: &SignInClient) -> Result<String> {
    let identity = caller.identify(tidings);
    let (id, password) = tidings.store().read(|tx| {
        let member = identity.member(tx)?;
        Ok::<_, Error>((member.id.clone(), sql::password(tx, &member)?))
    })?;
    let attempt = begin(tidings, Some(&id), client.client)?;
    let turn = Turn::new(Purpose::ChangePw, client.client);
    if tidings.hasher().check(turn, pw, Some(&password))? == Check::Wrong {
        return Err(failed(attempt, Outcome::IncorrectPw));
    }
    // No success is recorded: a right password does not excuse wrong codes.
    Ok(id)
}

/// Checks the caller's password and code, and calls `change`.
fn with_both(
    tidings: &Tidings,
    caller: &Caller,
    (pw, otp): (&str, &str),
    client: &SignInClient,
    change: impl Fn(&mut dyn Tx, MemberKey) -> Result<(), StoreError> + Send + 'static,
) -> Result<()> {
    let id = confirm(tidings, caller, pw, client)?;
    let attempt = begin(tidings, Some(&id), client.client)?;
    let (identity, now, otp) = (caller.identify(tidings), tidings.now(), otp.to_owned());
    let changed = tidings.store().write(Isolation::Alone, move |tx| {
        let member: Member<'_> = identity.member(tx)?;
        match verify(tx, member.key, Some(&otp), now)? {
            Factor::None => return Err(Error::BadRequest(NOT_ENABLED)),
            Factor::Right => {}
            Factor::Missing | Factor::Wrong => return Err(Outcome::IncorrectOtp.into()),
        }
        Ok(change(tx, member.key)?)
    });
    match changed {
        Err(Error::Documented(Outcome::IncorrectOtp, _)) => Err(failed(attempt, Outcome::IncorrectOtp)),
        Err(error) => Err(error),
        Ok(()) => {
            succeeded(attempt);
            Ok(())
        }
    }
}

/// The result of checking the second factor of a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factor {
    /// The member has not enabled one.
    None,
    /// A code is needed, and none was given.
    Missing,
    /// It is not a code, or was used before.
    Wrong,
    /// It is a code, which no longer works now.
    Right,
}

/// Checks a code of an authenticator, or a recovery code, and uses it up.
///
/// It locks the member's second factor before it decides, so that two sign-ins cannot use the same code.
pub(super) fn verify(
    tx: &mut dyn Tx,
    member: MemberKey,
    otp: Option<&str>,
    now: Timestamp,
) -> Result<Factor, StoreError> {
    let Some(factor) = sql::factor(tx, member)?.filter(|factor| factor.is_enabled) else {
        return Ok(Factor::None);
    };
    let Some(otp) = otp.map(str::trim).filter(|otp| !otp.is_empty()) else { return Ok(Factor::Missing) };
    let is_used_up = match code::matching(&factor.secret, otp, now, factor.last_step) {
        Some(step) => sql::use_step(tx, member, step)?,
        None => sql::use_recovery_code(tx, member, &hash(otp))?,
    };
    Ok(if is_used_up { Factor::Right } else { Factor::Wrong })
}

/// Returns new recovery codes: four groups of four letters and digits.
fn generate() -> RecoveryCodes {
    let mut letters = Specification::new();
    // Crockford's alphabet, without letters that look like digits.
    letters.symbols.push_str("0123456789abcdefghjkmnpqrstvwxyz");
    let encoding = letters.encoding().expect("the alphabet has 32 different characters");
    let code = || {
        let text = encoding.encode(&random::<RECOVERY>());
        let groups: Vec<&str> = (0..text.len()).step_by(4).map(|at| &text[at..at + 4]).collect();
        groups.join("-")
    };
    RecoveryCodes { recovery_codes: (0..RECOVERY_CODES).map(|_| code()).collect() }
}

/// Returns the hash of a recovery code, as a member types it.
fn hash(code: &str) -> String {
    let letters =
        code.chars().filter(|c| !c.is_whitespace() && *c != '-').map(|c| match c.to_ascii_lowercase() {
            'o' => '0',
            'i' | 'l' => '1',
            c => c,
        });
    hex(&Sha256::digest(Zeroizing::new(letters.take(128).collect::<String>()).as_bytes()))
}
