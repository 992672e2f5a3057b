use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::New;
use super::{AccessToken, Proof, blacklisted, finish, insert, issue, new_session, sql, warn_if_common};
use crate::account::credential::attempt::{begin, failed, succeeded, with_password};
use crate::account::credential::email;
use crate::account::credential::password::Check;
use crate::account::credential::verify::{Verdict, university_id, university_name};
use crate::account::{
    Call, check_new_passwords, cut_nickname, fold, is_too_long, passwords_differ, revoke_tokens,
};
use crate::base::config::{self, Config};
use crate::mail::outbox::Kind;
use crate::record::error::{Error, Outcome, Problem, Result, SIGN_UP_CLOSED};
use crate::record::operation::{Access, Operation, Rate, Spec, Work};
use crate::store::{Isolation, Tx};

const GROUP: &str = "account";

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
    const SPEC: Spec =
        Spec::post(GROUP, "/sign_in", Access::Open).works(Work::SignIn).limited(Rate::General).attempt();

    fn documented_refusals(_: &Config) -> Vec<Error> {
        use Outcome::{BlacklistUser, IncorrectOtp, IncorrectPw, NoMember, OtpRequired};
        [NoMember, IncorrectPw, BlacklistUser, OtpRequired, IncorrectOtp].map(Error::from).into()
    }

    fn run(self, call: &Call<'_>) -> Result<AccessToken> {
        let tidings = call.tidings();
        let SignIn { id, pw, otp } = self;
        let possible = !is_too_long(&id);
        let attempt = begin(call, possible.then_some(&*id))?;
        if !possible {
            return Err(failed(attempt, Outcome::NoMember));
        }
        let stored = call.store().read(|tx| sql::credentials(tx, &fold(&id)))?;
        let check =
            tidings.account().hasher.check(&pw, stored.as_ref().map(|stored| stored.password.as_str()))?;
        let stored = match (stored, check) {
            (None, _) => return Err(failed(attempt, Outcome::NoMember)),
            (Some(_), Check::Wrong) => return Err(failed(attempt, Outcome::IncorrectPw)),
            (Some(stored), _) => stored,
        };
        if stored.blacklisted {
            return Err(blacklisted(&stored, attempt));
        }
        warn_if_common(&stored, &pw);
        let is_old = check == Check::RightButOld;
        let rehashed = is_old.then(|| tidings.account().hasher.hash(&pw)).transpose()?;
        let (key, generation) = (stored.key, stored.generation);
        let change = move |tx: &mut dyn Tx| {
            if let Some(password) = &rehashed {
                // Has no effect if the password has changed since it was checked.
                sql::set_password(tx, key, generation, password)?;
            }
            Ok(generation)
        };
        match finish(call, &stored, attempt, Proof::Code(otp.as_deref()), Isolation::Locking, change) {
            // Members can still sign in while the disk is full. Such a token ends with all others of the member.
            Err(Error::Store(cause)) if !stored.has_factor => {
                tracing::warn!(%cause, "a session could not be stored: its member cannot see it");
                let token = tidings.account().keys.sign(&stored.id, generation, None, call.now())?;
                Ok(AccessToken { access_token: token })
            }
            finished => finished,
        }
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
    const SPEC: Spec = Spec::post(GROUP, "/sign_in_up", Access::Open)
        .works(Work::University)
        .limited(Rate::General)
        .attempt();

    fn documented_refusals(_: &Config) -> Vec<Error> {
        use Outcome::{ApiError, BlacklistUser, IncorrectOtp, NotSchool, OtpRequired, PwIncorrect};
        let all = [ApiError, NotSchool, OtpRequired, PwIncorrect, BlacklistUser, OtpRequired, IncorrectOtp];
        let closed = NotSchool.because(SIGN_UP_CLOSED);
        all.map(Error::from).into_iter().chain([closed]).collect()
    }

    fn run(self, call: &Call<'_>) -> Result<AccessToken> {
        let tidings = call.tidings();
        let SignIn { id, pw, otp } = self.form;
        let id = university_id(&id);
        let attempt = begin(call, id.as_deref())?;
        // The verifier is not asked about an id that breaks the rule.
        let Some(id) = id.as_deref() else { return Err(failed(attempt, Outcome::NotSchool)) };
        let (name, major) = match tidings.account().verifier.verify(tidings, id, &pw)?? {
            Verdict::Unknown => return Err(failed(attempt, Outcome::NotSchool)),
            Verdict::WrongPassword => return Err(failed(attempt, Outcome::PwIncorrect)),
            Verdict::Verified { name, major } => (university_name(&name), university_name(&major)),
        };
        let stored = call.store().read(|tx| sql::credentials(tx, &fold(id)))?;
        let check = match &stored {
            Some(stored) => tidings.account().hasher.check(&pw, Some(&stored.password))?,
            None => Check::Wrong,
        };
        let Some(stored) = stored else {
            // No member may have the address of another member as an id.
            if call.store().read(|tx| email::owner(tx, &fold(id)))?.is_some() {
                succeeded(attempt);
                return Err(Outcome::NotSchool.into());
            }
            if tidings.config().sign_up == config::Registration::Closed {
                // The password was right, so the attempt is no failure.
                succeeded(attempt);
                return Err(Outcome::NotSchool.because(SIGN_UP_CLOSED));
            }
            let nickname = cut_nickname(&name, id);
            let password = tidings.account().hasher.hash(&pw)?;
            succeeded(attempt);
            let new =
                New { id: id.to_owned(), nickname, password, verified: Some((name, major)), email: None };
            return insert(call, new);
        };
        if !stored.verified && check == Check::Wrong {
            return Err(failed(attempt, Outcome::PwIncorrect));
        }
        if stored.blacklisted {
            return Err(blacklisted(&stored, attempt));
        }
        warn_if_common(&stored, &pw);
        let password = if check == Check::Right { None } else { Some(tidings.account().hasher.hash(&pw)?) };
        let (key, generation) = (stored.key, stored.generation);
        // A new password at the university revokes the tokens, like any changed password.
        let changed = check == Check::Wrong;
        let change = move |tx: &mut dyn Tx| {
            if let Some(password) = &password {
                sql::set_password(tx, key, generation, password)?;
            }
            sql::set_verified(tx, key, &name, &major)?;
            if changed { Ok(revoke_tokens(tx, key)?) } else { Ok(generation) }
        };
        finish(call, &stored, attempt, Proof::Code(otp.as_deref()), Isolation::Alone, change)
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
    const SPEC: Spec = with_password("/change_pw");

    fn documented_refusals(settings: &Config) -> Vec<Error> {
        vec![
            Outcome::IncorrectPw.into(),
            Outcome::WrongUserInfo.because(Problem::password("new_pw", settings.password_length())),
            passwords_differ(),
        ]
    }

    fn run(self, call: &Call<'_>) -> Result<AccessToken> {
        let tidings = call.tidings();
        let identity = call.authority();
        let stored = call.store().read(|tx| {
            let member = identity.member(tx)?;
            sql::credentials(tx, &fold(&member.id))?.ok_or(Error::BadToken)
        })?;
        let attempt = begin(call, Some(&stored.id))?;
        if tidings.account().hasher.check(&self.pw, Some(&stored.password))? == Check::Wrong {
            return Err(failed(attempt, Outcome::IncorrectPw));
        }
        check_new_passwords(tidings.config(), &self.new_pw, &self.new_pw_check, stored.admin)?;
        let password = tidings.account().hasher.hash(&self.new_pw)?;
        let session = Arc::new(new_session(call));
        let (new, generation) = (Arc::clone(&session), stored.generation);
        let note = email::Note::new(tidings, Kind::PasswordChanged);
        let generation = call.store().write(Isolation::Alone, move |tx| {
            let member = identity.member(tx)?;
            if sql::set_password(tx, member.key, generation, &password)? == 0 {
                return Err(Error::BadToken);
            }
            let generation = revoke_tokens(tx, member.key)?;
            new.insert(tx, member.key, generation, member.gave_code)?;
            note.send(tx, member.key)?;
            Ok(generation)
        })?;
        // The right password alone excuses nothing: with an invalid new one it could be given again and again, and it proves
        // nothing about codes.
        if !stored.has_factor {
            succeeded(attempt);
        }
        issue(call, &stored.id, generation, &session)
    }
}
