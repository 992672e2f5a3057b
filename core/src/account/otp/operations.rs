//! The operations on the second factor.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{OtpSecret, OtpStatus, RecoveryCodes, sql};

use crate::Tidings;
use crate::account::attempt::ForClient as _;
use crate::account::{Caller, SignInClient};
use crate::base::config::Config;
use crate::record::error::Outcome::{IncorrectOtp, IncorrectPw, OtpRequired};
use crate::record::error::{Error, Result};
use crate::record::operation::{Access, Operation, Rate, Spec, Work};

const GROUP: &str = "account";

/// Get two-factor status
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetOtp {}

impl Operation for GetOtp {
    type Answer = OtpStatus;
    const SPEC: Spec = Spec::get(GROUP, "/get_otp", Access::Members);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<OtpStatus> {
        let identity = caller.identify(tidings);
        tidings.store().read(|tx| {
            let member = identity.member(tx)?;
            let enabled = sql::factor(tx, member.key)?.is_some_and(|factor| factor.is_enabled);
            Ok(OtpStatus { enabled: u8::from(enabled), recovery_codes: sql::recovery_codes(tx, member.key)? })
        })
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
    const SPEC: Spec = confirmed("/begin_otp");

    fn documented_refusals(_: &Config) -> Vec<Error> {
        [IncorrectPw, OtpRequired, IncorrectOtp].map(Error::from).into()
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<OtpSecret> {
        self.run_for(tidings, caller, SignInClient::default())
    }
}

const fn confirmed(path: &'static str) -> Spec {
    Spec::post(GROUP, path, Access::Members).works(Work::Password).limited(Rate::General)
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
    const SPEC: Spec = Spec::post(GROUP, "/enable_otp", Access::Members).limited(Rate::General);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![IncorrectOtp.into()]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<RecoveryCodes> {
        self.run_for(tidings, caller, SignInClient::default())
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
    const SPEC: Spec = confirmed("/disable_otp");

    fn documented_refusals(_: &Config) -> Vec<Error> {
        [IncorrectPw, IncorrectOtp].map(Error::from).into()
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        self.run_for(tidings, caller, SignInClient::default())
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
    const SPEC: Spec = confirmed("/renew_recovery_codes");

    fn documented_refusals(_: &Config) -> Vec<Error> {
        [IncorrectPw, IncorrectOtp].map(Error::from).into()
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<RecoveryCodes> {
        self.run_for(tidings, caller, SignInClient::default())
    }
}
