use data_encoding::BASE32_NOPAD;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::proof::{Confirmed, confirm};
use super::{
    ENABLED, Factor, ISSUER, NOT_BEGUN, NOT_ENABLED, OtpSecret, OtpStatus, RecoveryCodes, SECRET_BYTES,
    changed, enrolment, generate, matching, sql, verify,
};
use crate::account::credential::code::{self, hash, typed};

use crate::account::credential::attempt::{begin, with_password};
use crate::account::credential::email;
use crate::account::{Call, Identity, Member, Transaction};
use crate::audit::trail::Action;
use crate::base::config::Config;
use crate::base::random::random;
use crate::mail::outbox::Kind;
use crate::record::error::Outcome::{self, IncorrectOtp, IncorrectPw, OtpRequired};
use crate::record::error::{Error, Result};
use crate::record::id::MemberKey;
use crate::record::operation::{Access, Operation, Rate, Spec};
use crate::store::{StoreError, Tx};

const GROUP: &str = "account";

/// Get two-factor status
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetOtp {}

impl Transaction for GetOtp {
    type By = Member<'static>;
    type Answer = OtpStatus;
    const SPEC: Spec = Spec::get(GROUP, "/get_otp", Access::Members);

    fn run(&self, tx: &mut dyn Tx, member: &Member<'_>, _: &Identity) -> Result<OtpStatus> {
        let enabled = sql::is_enabled(tx, member.key)?;
        Ok(OtpStatus { enabled: u8::from(enabled), recovery_codes: sql::recovery_codes(tx, member.key)? })
    }
}

/// Begin two-factor enrolment
///
/// Returns a secret for the member's authenticator, such as an app on their phone. The second factor is enabled by `enable_otp`.
/// `result` is `success`; or `incorrect pw`. Only where administrators need a second factor, it is `otp required` without an
/// enrolment code and `incorrect otp` with a wrong one.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = BeginOtpFields)]
pub struct BeginOtp {
    /// The password.
    #[schema(max_length = 1_000_000, examples("a long sentence"))]
    pub pw: String,
    /// The code that `issue_member_otp` or `tidings member otp` has issued, where administrators need a second factor.
    #[schema(max_length = 1_000, examples("8k2m-0qwz-7hn4-c9xe"))]
    pub enrolment_code: Option<String>,
}

impl Operation for BeginOtp {
    type Answer = OtpSecret;
    const SPEC: Spec = with_password("/begin_otp");

    fn documented_refusals(_: &Config) -> Vec<Error> {
        [IncorrectPw, OtpRequired, IncorrectOtp].map(Error::from).into()
    }

    fn run(self, call: &Call<'_>) -> Result<OtpSecret> {
        let (identity, now) = (call.authority(), call.now());
        let confirmed = confirm(call, &self.pw)?;
        let code =
            self.enrolment_code.as_deref().map(typed).filter(|code| !code.is_empty()).map(|code| hash(&code));
        let needs_code = identity.needs_enrolment_code();
        if needs_code && code.is_none() && !confirmed.is_enabled {
            return Err(Outcome::OtpRequired.because(enrolment::NEEDED));
        }
        let secret = Zeroizing::new(BASE32_NOPAD.encode(&*Zeroizing::new(random::<SECRET_BYTES>())));
        let stored = secret.clone();
        let id = confirmed.check(call, needs_code, move |tx| {
            let member = identity.member(tx)?;
            if sql::is_enabled(tx, member.key)? {
                return Err(Error::BadRequest(ENABLED));
            }
            if needs_code && !enrolment::take(tx, member.key, code.as_deref().unwrap_or_default(), now)? {
                return Err(Outcome::IncorrectOtp.because(enrolment::WRONG));
            }
            sql::begin(tx, &member, &stored, needs_code.then_some(now))?;
            Ok(member.id.clone())
        })?;
        // An id has only characters that an address may have.
        let uri = Zeroizing::new(format!("otpauth://totp/{ISSUER}:{id}?secret={}&issuer={ISSUER}", *secret));
        Ok(OtpSecret { qr: qr(&uri)?, uri, secret })
    }
}

/// Enable the second factor
///
/// From then on, a sign-in needs a code of the authenticator. The member's other sessions end. `result` is `success`; or
/// `incorrect otp`. The recovery codes are not shown again.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = EnableOtpFields)]
pub struct EnableOtp {
    /// The code that the authenticator shows.
    #[schema(max_length = 1_000, examples("287082"))]
    pub otp: String,
}

impl Operation for EnableOtp {
    type Answer = RecoveryCodes;
    const SPEC: Spec = Spec::post(GROUP, "/enable_otp", Access::Members).limited(Rate::General).attempt();

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![IncorrectOtp.into()]
    }

    fn run(self, call: &Call<'_>) -> Result<RecoveryCodes> {
        let (identity, now) = (call.authority(), call.now());
        let (key, id) = call.store().read(|tx| {
            let member = identity.member(tx)?;
            Ok::<_, Error>((member.key, member.id.clone()))
        })?;
        let attempt = begin(call, Some(&id))?;
        let confirmed = Confirmed { key, is_enabled: false, attempt };
        let (otp, codes, note) =
            (typed(&self.otp), generate(), email::Note::new(call.tidings(), Kind::SignInChanged));
        let hashes: Vec<_> = codes.recovery_codes.iter().map(|code| hash(code)).collect();
        confirmed.check(call, true, move |tx| {
            let member = identity.member(tx)?;
            let factor = sql::factor(tx, member.key)?.ok_or(Error::BadRequest(NOT_BEGUN))?;
            if factor.is_enabled {
                return Err(Error::BadRequest(ENABLED));
            }
            if identity.needs_enrolment_code() && !enrolment::is_admitted(&factor, now) {
                return Err(Error::BadRequest(NOT_BEGUN));
            }
            let Some(step) = matching(&factor.secret, &otp, now, factor.last_step) else {
                return Err(Outcome::IncorrectOtp.into());
            };
            sql::enable(tx, &member, now, step)?;
            sql::replace_recovery_codes(tx, member.key, &hashes)?;
            code::remove(tx, code::Kind::Enrolment, member.key)?;
            changed(tx, &identity, &member, Action::MemberOtpEnable, note)
        })?;
        Ok(codes)
    }
}

/// Disable the second factor
///
/// The member's other sessions end.
/// `result` is `success`; or `incorrect pw`, `incorrect otp`.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = OtpFields)]
pub struct DisableOtp {
    /// The password.
    #[schema(max_length = 1_000_000, examples("a long sentence"))]
    pub pw: String,
    /// The code that the authenticator shows, or a recovery code.
    #[schema(max_length = 1_000, examples("287082"))]
    pub otp: String,
}

impl Operation for DisableOtp {
    type Answer = ();
    const SPEC: Spec = with_password("/disable_otp");

    fn documented_refusals(_: &Config) -> Vec<Error> {
        [IncorrectPw, IncorrectOtp].map(Error::from).into()
    }

    fn run(self, call: &Call<'_>) -> Result<()> {
        with_both(call, (&self.pw, &self.otp), Action::MemberOtpDisable, sql::disable)
    }
}

/// Replace the recovery codes
///
/// The member's other sessions end. `result` is `success`; or `incorrect pw`, `incorrect otp`. The recovery codes are not shown again.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = OtpFields)]
pub struct RenewRecoveryCodes {
    /// The password.
    #[schema(max_length = 1_000_000, examples("a long sentence"))]
    pub pw: String,
    /// The code that the authenticator shows, or a recovery code.
    #[schema(max_length = 1_000, examples("287082"))]
    pub otp: String,
}

impl Operation for RenewRecoveryCodes {
    type Answer = RecoveryCodes;
    const SPEC: Spec = with_password("/renew_recovery_codes");

    fn documented_refusals(_: &Config) -> Vec<Error> {
        [IncorrectPw, IncorrectOtp].map(Error::from).into()
    }

    fn run(self, call: &Call<'_>) -> Result<RecoveryCodes> {
        let codes = generate();
        let hashes: Vec<_> = codes.recovery_codes.iter().map(|code| hash(code)).collect();
        with_both(call, (&self.pw, &self.otp), Action::MemberOtpRenew, move |tx, member| {
            sql::replace_recovery_codes(tx, member, &hashes)
        })?;
        Ok(codes)
    }
}

/// The image has no XML declaration, so that a page can contain it.
fn qr(uri: &str) -> Result<Zeroizing<String>> {
    let code = qrcode::QrCode::new(uri).map_err(|error| Error::Internal(error.into()))?;
    let file = Zeroizing::new(code.render::<qrcode::render::svg::Color<'_>>().build());
    Ok(Zeroizing::new(file[file.find("<svg ").unwrap_or_default()..].to_owned()))
}

fn with_both(
    call: &Call<'_>,
    (pw, otp): (&str, &str),
    action: Action,
    change: impl Fn(&mut dyn Tx, MemberKey) -> Result<(), StoreError> + Send + 'static,
) -> Result<()> {
    let (identity, now, otp) = (call.authority(), call.now(), typed(otp));
    let confirmed = confirm(call, pw)?;
    let (is_enabled, note) = (confirmed.is_enabled, email::Note::new(call.tidings(), Kind::SignInChanged));
    confirmed.check(call, is_enabled, move |tx| {
        let member: Member<'_> = identity.member(tx)?;
        match verify(tx, member.key, Some(&otp), now)? {
            Factor::None => return Err(Error::BadRequest(NOT_ENABLED)),
            Factor::Right => {}
            Factor::Missing | Factor::Wrong => return Err(Outcome::IncorrectOtp.into()),
        }
        change(tx, member.key)?;
        changed(tx, &identity, &member, action, note)
    })
}
