//! The second factor: time-based one-time passwords (RFC 6238) and recovery codes. A member who has enabled it needs a code beside
//! the password to sign in. Each code works once, and so does each recovery code. The secret is in the database, because codes are
//! computed from it: a reader of the database can compute codes, but not passwords.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha1::Sha1;
use subtle::ConstantTimeEq as _;
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::code::{self, hash};
use super::email;
use crate::account::{Call, Identity, Member, find, sessions};

use crate::audit::trail::{Action, Entry};
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::mail::outbox::Kind;
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::id::MemberKey;
use crate::record::operation::{Access, Failure, Operation, Spec};
use crate::record::schema::{RecoveryCode, Switch};
use crate::store::{Isolation, StoreError, Tx};

mod enrolment;
mod operations;
pub(super) mod proof;
mod sql;
#[cfg(test)]
pub(super) mod tests;

pub use enrolment::EnrolmentCode;
pub use enrolment::IssueOtp;
pub use operations::{BeginOtp, DisableOtp, EnableOtp, GetOtp, RenewRecoveryCodes};
pub(crate) use sql::is_enabled;

/// In bytes, as RFC 4226 recommends.
const SECRET_BYTES: usize = 20;
const DIGITS: u32 = 6;
const STEP_MS: i64 = 30 * SECOND_MS;
/// In steps, earlier and later, for clocks that differ.
const AROUND: i64 = 1;
const RECOVERY_CODES: usize = 10;
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
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OtpStatus {
    /// 1 if a sign-in needs a code, otherwise 0.
    #[schema(value_type = Switch)]
    pub enabled: u8,
    /// The number of recovery codes that were not used yet.
    #[schema(minimum = 0, maximum = 10, examples(9))]
    pub recovery_codes: i64,
}

/// The secret that an authenticator needs.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct OtpSecret {
    /// The secret in base 32, for typing.
    #[schema(value_type = String, pattern = "^[A-Z2-7]{32}$", examples("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"))]
    pub secret: Zeroizing<String>,
    /// The same for a QR code, as `otpauth://totp/…`.
    #[schema(value_type = String, pattern = "^otpauth://totp/", examples("otpauth://totp/tidings:ann?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=tidings"))]
    pub uri: Zeroizing<String>,
    /// The address as a QR code: an SVG image, for pages and apps that draw none themselves.
    #[schema(value_type = String, max_length = 100_000, pattern = "^<svg ", examples("<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>"), required = true)]
    // A server of an earlier version sends none.
    #[serde(default)]
    pub qr: Zeroizing<String>,
}

/// New recovery codes, which are not shown again.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct RecoveryCodes {
    /// Ten codes. Each replaces a code of the authenticator once.
    #[schema(value_type = Vec<RecoveryCode>, max_items = 10)]
    pub recovery_codes: Vec<String>,
}

/// Disable a member's second factor
///
/// For members who have lost it. Only administrators do this: no API key and no role allows it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ResetOtp {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Operation for ResetOtp {
    type Answer = ();
    const SPEC: Spec =
        Spec::get("admin", "/reset_member_otp/{user_id}", Access::Persons).writes().or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<()> {
        let (identity, now) = (call.authority(), call.now());
        let note = email::Note::new(call.tidings(), Kind::SignInChanged);
        call.store().write(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx)?;
            let member = find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
            if sql::factor(tx, member.key)?.is_none() {
                return Err(Error::BadRequest(NOT_ENABLED));
            }
            sql::disable(tx, member.key)?;
            sessions::end_others(tx, member.key, identity.session(), None, now)?;
            note.send(tx, member.key)?;
            Ok(admin.record(tx, Entry::new(Action::MemberOtpReset).on_member(member.key))?)
        })
    }
}

/// Also ends the other sessions of the member: a stolen password or token is then of no use.
fn changed(
    tx: &mut dyn Tx,
    identity: &Identity,
    member: &Member<'_>,
    action: Action,
    note: email::Note,
) -> Result<()> {
    let gave_code = (!matches!(action, Action::MemberOtpDisable)).then_some(note.at);
    sessions::end_others(tx, member.key, identity.session(), gave_code, note.at)?;
    note.send(tx, member.key)?;
    Ok(identity.record_own(tx, member, Entry::new(action))?)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factor {
    None,
    Missing,
    /// Not a code, or one that was used before.
    Wrong,
    /// The code is right, and no longer works now.
    Right,
}

/// `otp` is a code of an authenticator or a recovery code, as [`typed`] returns it. It is used up. Locks the member's second
/// factor before it decides, so that two sign-ins cannot use the same code.
pub(super) fn verify(
    tx: &mut dyn Tx,
    member: MemberKey,
    otp: Option<&str>,
    now: Timestamp,
) -> Result<Factor, StoreError> {
    let Some(factor) = sql::factor(tx, member)?.filter(|factor| factor.is_enabled) else {
        return Ok(Factor::None);
    };
    let Some(otp) = otp.filter(|otp| !otp.is_empty()) else { return Ok(Factor::Missing) };
    let used = if let Some(step) = matching(&factor.secret, otp, now, factor.last_step) {
        let sql = "UPDATE second_factor SET last_step = $2 WHERE member = $1 AND last_step < $2";
        tx.run(sql, &[member.into(), step.into()])?
    } else {
        let sql = "DELETE FROM recovery_code WHERE member = $1 AND hash = $2";
        tx.run(sql, &[member.into(), (&hash(otp)).into()])?
    };
    Ok(if used > 0 { Factor::Right } else { Factor::Wrong })
}

const fn step(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(STEP_MS)
}

/// RFC 6238, with SHA-1, as all authenticators compute it.
fn one_time(secret: &[u8], step: i64) -> String {
    let mut mac = Hmac::<Sha1>::new_from_slice(secret).expect("a key of HMAC has any length");
    mac.update(&step.to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let offset = usize::from(hash[hash.len() - 1] & 0x0f);
    let four = [hash[offset] & 0x7f, hash[offset + 1], hash[offset + 2], hash[offset + 3]];
    let number = u32::from_be_bytes(four) % 10_u32.pow(DIGITS);
    format!("{number:0width$}", width = DIGITS as usize)
}

/// Returns a period around the time and after the period `last`.
fn matching(secret: &[u8], given: &str, at: Timestamp, last: i64) -> Option<i64> {
    let now = step(at);
    // Every code is compared, so that the time tells nothing.
    (now - AROUND..=now + AROUND).fold(None, |found, step| {
        let is_equal = bool::from(one_time(secret, step).as_bytes().ct_eq(given.as_bytes()));
        if is_equal && step > last { Some(step) } else { found }
    })
}

fn generate() -> RecoveryCodes {
    RecoveryCodes { recovery_codes: (0..RECOVERY_CODES).map(|_| code::generate()).collect() }
}
