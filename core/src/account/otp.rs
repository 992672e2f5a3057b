//! The second factor: time-based one-time passwords (RFC 6238) and recovery codes.
//!
//! A member who has enabled it needs a code beside the password to sign in. Each code works once, and so does each recovery code.
//! The secret is in the database, because codes are computed from it: a reader of the database can compute codes, but not
//! passwords.

use data_encoding::Specification;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use unicode_normalization::UnicodeNormalization as _;
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::{Call, Identity, Member, email, find, sessions};

use crate::audit::trail::{Action, Entry, hex};
use crate::base::clock::Timestamp;
use crate::base::random::random;
use crate::mail::outbox::Kind;
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::id::MemberKey;
use crate::record::operation::{Access, Failure, Operation, Spec};
use crate::record::schema::{RecoveryCode, Switch};
use crate::store::{Isolation, StoreError, Tx};

mod code;
mod enrolment;
mod operations;
mod proof;
mod sql;
#[cfg(test)]
pub(super) mod tests;

pub use enrolment::EnrolmentCode;
pub use enrolment::IssueOtp;
pub use operations::{BeginOtp, DisableOtp, EnableOtp, GetOtp, RenewRecoveryCodes};
pub(super) use proof::{Proven, confirm, present, prove};

const RECOVERY_CODES: usize = 10;
/// The number of random bytes of a recovery code: 16 letters and digits.
const RECOVERY: usize = 10;
/// The maximum number of characters that are read of a typed code, including those around its letters and digits.
const CODE_MAX: usize = 128;
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
    /// The member has not enabled one.
    None,
    Missing,
    /// Not a code, or one that was used before.
    Wrong,
    /// The code is right, and no longer works now.
    Right,
}

/// `otp` is a code of an authenticator or a recovery code, as [`typed`] returns it. It is used up.
///
/// Locks the member's second factor before it decides, so that two sign-ins cannot use the same code.
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
    let is_used_up = match code::matching(&factor.secret, otp, now, factor.last_step) {
        Some(step) => sql::use_step(tx, member, step)?,
        None => sql::use_recovery_code(tx, member, &hash(otp))?,
    };
    Ok(if is_used_up { Factor::Right } else { Factor::Wrong })
}

/// Removes what people type and paste around the digits of a code: white space, hyphens and invisible characters. Full-width
/// digits and letters become ASCII ones.
pub(super) fn typed(code: &str) -> Zeroizing<String> {
    let is_part = |c: &char| {
        !c.is_whitespace()
            && !matches!(c, '-' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2010}'..='\u{2015}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{2212}' | '\u{feff}')
    };
    // The longest code has 16 characters, and no more than four around each.
    Zeroizing::new(code.chars().take(CODE_MAX).nfkc().filter(is_part).collect())
}

fn generate() -> RecoveryCodes {
    RecoveryCodes { recovery_codes: (0..RECOVERY_CODES).map(|_| random_code()).collect() }
}

/// Four groups of four letters and digits.
pub(super) fn random_code() -> String {
    let mut letters = Specification::new();
    // Crockford's alphabet, without letters that look like digits.
    letters.symbols.push_str("0123456789abcdefghjkmnpqrstvwxyz");
    let encoding = letters.encoding().expect("the alphabet has 32 different characters");
    let text = encoding.encode(&random::<RECOVERY>());
    let groups: Vec<&str> = (0..text.len()).step_by(4).map(|at| &text[at..at + 4]).collect();
    groups.join("-")
}

/// Letters that look like digits count as these digits.
pub(super) fn hash(code: &str) -> String {
    let code = typed(code);
    let letters = code.chars().map(|c| match c.to_ascii_lowercase() {
        'o' => '0',
        'i' | 'l' => '1',
        c => c,
    });
    hex(&Sha256::digest(Zeroizing::new(letters.collect::<String>()).as_bytes()))
}
