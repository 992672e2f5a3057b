//! The operations with which members sign up, sign in and out, and change their passwords.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::attempt::ForClient as _;
use super::{AccessToken, Caller, SignInClient, sign_out};

use crate::Tidings;
use crate::base::config::Config;
use crate::record::error::{Error, Outcome, Problem, Result, SIGN_UP_CLOSED};
use crate::record::operation::{Access, Failure, Operation, Rate, Spec, Work};
use crate::store::Isolation;

const GROUP: &str = "account";

/// Sign up a member
///
/// `result` is `success`; or `sign_up fail` with the code `sign_up_closed` when the server is set up so that nobody signs up
/// here, `wrong user info` when the id, password or nickname is not valid, `check pw` when the passwords differ,
/// `already id` when the id is taken. The first that applies is returned.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = SignUpFields)]
pub struct SignUp {
    /// The sign-in identifier: {id} ASCII letters, digits, `_`, `-` and `.`, a letter or digit first.
    #[schema(examples("ann"))]
    pub id: String,
    /// The password, {pw} characters.
    #[schema(examples("another long sentence"))]
    pub pw: String,
    /// The password again.
    #[schema(max_length = 1_000_000, examples("another long sentence"))]
    pub pw_check: String,
    /// The displayed name, {nickname} characters.
    #[schema(examples("Ann"))]
    pub nickname: String,
    /// An e-mail address, which a mail with a code confirms. Some services need one.
    #[schema(max_length = 254, examples("ann@example.org"))]
    pub email: Option<String>,
}

impl Operation for SignUp {
    type Answer = AccessToken;
    const SPEC: Spec = Spec::post(GROUP, "/sign_up", Access::Open)
        .works(Work::SignUp)
        .limited(Rate::SignUp)
        .or(&[Failure::SignUp]);

    fn documented_refusals(settings: &Config) -> Vec<Error> {
        sign_up_refusals(settings).into_iter().chain([Outcome::SignUpFail.into()]).collect()
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<AccessToken> {
        self.run_for(tidings, caller, SignInClient::default())
    }
}

pub(super) fn sign_up_refusals(settings: &Config) -> [Error; 3] {
    let rule = Problem::password("pw", settings.password_length());
    [Outcome::WrongUserInfo.because(rule), Outcome::CheckPw.into(), Outcome::AlreadyId.into()]
}

/// Sign in
///
/// `result` is `success`; or `No member`, `incorrect pw`, `blacklist user`; the first that applies is returned. Only for a
/// member who has enabled the second factor, it is `otp required` without a code and `incorrect otp` with a wrong one.
/// After several failed attempts, further attempts of the client are refused for a while with 429.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = SignInFields)]
pub struct SignIn {
    /// The sign-in identifier.
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub id: String,
    /// The password.
    #[schema(max_length = 1_000_000, examples("a long sentence"))]
    pub pw: String,
    /// The code of the authenticator, or a recovery code, of a member who has enabled the second factor.
    #[schema(max_length = 1_000, examples("287082"))]
    pub otp: Option<String>,
}

impl Operation for SignIn {
    type Answer = AccessToken;
    const SPEC: Spec = Spec::post(GROUP, "/sign_in", Access::Open).works(Work::SignIn).limited(Rate::General);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        use Outcome::{BlacklistUser, IncorrectOtp, IncorrectPw, NoMember, OtpRequired};
        [NoMember, IncorrectPw, BlacklistUser, OtpRequired, IncorrectOtp].map(Error::from).into()
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<AccessToken> {
        self.run_for(tidings, caller, SignInClient::default())
    }
}

/// Sign in a university member
///
/// The first sign-in signs the member up. `result` is `success`; or `not school` when the university does not know the id, and with
/// the code `sign_up_closed` when it does but nobody becomes a member here; `pw incorrect` when the password is wrong, `api error`
/// when the university's system does not respond, `blacklist user`. Only for a member who has enabled the second factor, it is
/// `otp required` without a code and `incorrect otp` with a wrong one.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = SignInFields)]
pub struct SignInUp {
    /// What a sign-in takes.
    #[serde(rename = "..")]
    pub form: SignIn,
}

impl Operation for SignInUp {
    type Answer = AccessToken;
    const SPEC: Spec =
        Spec::post(GROUP, "/sign_in_up", Access::Open).works(Work::University).limited(Rate::General);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        use Outcome::{ApiError, BlacklistUser, IncorrectOtp, NotSchool, OtpRequired, PwIncorrect};
        let all = [ApiError, NotSchool, OtpRequired, PwIncorrect, BlacklistUser, OtpRequired, IncorrectOtp];
        let closed = NotSchool.because(SIGN_UP_CLOSED);
        all.map(Error::from).into_iter().chain([closed]).collect()
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<AccessToken> {
        self.run_for(tidings, caller, SignInClient::default())
    }
}

/// Change the password
///
/// Revokes all earlier tokens. `result` is `success`; or `incorrect pw`, `wrong user info` when the new password is not valid,
/// `check pw` when its two copies differ.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = NewPasswordFields)]
pub struct ChangePassword {
    /// The current password.
    #[schema(max_length = 1_000_000, examples("a long sentence"))]
    pub pw: String,
    /// The new password, {pw} characters.
    #[schema(examples("another long sentence"))]
    pub new_pw: String,
    /// The new password again.
    #[schema(max_length = 1_000_000, examples("another long sentence"))]
    pub new_pw_check: String,
}

impl Operation for ChangePassword {
    type Answer = AccessToken;
    const SPEC: Spec =
        Spec::post(GROUP, "/change_pw", Access::Members).works(Work::Password).limited(Rate::General);

    fn documented_refusals(settings: &Config) -> Vec<Error> {
        vec![
            Outcome::IncorrectPw.into(),
            Outcome::WrongUserInfo.because(Problem::password("new_pw", settings.password_length())),
            Outcome::CheckPw.because(Outcome::CheckPw.problem().of("new_pw_check")),
        ]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<AccessToken> {
        self.run_for(tidings, caller, SignInClient::default())
    }
}

/// Sign out everywhere
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SignOutAll {}

impl Operation for SignOutAll {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/sign_out_all", Access::Members).writes();

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        let identity = caller.identify(tidings);
        tidings.store().write(Isolation::Alone, move |tx| {
            let member = identity.member(tx)?;
            Ok(sign_out(tx, &member)?)
        })
    }
}
