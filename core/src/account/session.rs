//! Sign-in, sign-out and password changes; the module `sign_up` has the sign-up.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::attempt::{ForClient, begin, begin_code, failed, succeeded};
use super::device::SignInClient;
use super::operations::{ChangePassword, SignIn, SignInUp};
use super::otp::{self, Factor};
use super::password::{Check, is_common};
use super::places::Places;
use super::sessions::NewSession;
use super::throttle::Attempt;
use super::verify::{Verdict, university_id, university_name};
use super::{Caller, check_new_password, code, cut_nickname, email, fold, is_too_long, revoke_tokens};

use crate::Tidings;
use crate::base::config;
use crate::mail::outbox::Kind;
use crate::record::error::{Error, Outcome, Result, SIGN_UP_CLOSED};
use crate::record::id::{MemberKey, ObjectId};
use crate::store::{Isolation, StoreError, Tx};

mod sign_up;
#[cfg(test)]
mod tests;

use sign_up::insert;
pub(crate) use sign_up::sign_up_admin;
pub(super) use sign_up::{New, insert_member, sign_up_with};
pub(super) use sql::set_password;

/// The answer of the operations that sign a member in.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct AccessToken {
    /// The bearer token that the other operations take.
    #[schema(
        pattern = r"^[\w-]+\.[\w-]+\.[\w-]+$",
        examples("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.Zm9yIHRoZSBkb2N1bWVudA")
    )]
    pub access_token: String,
}

impl ForClient for SignIn {
    fn run_for(self, tidings: &Tidings, _: &Caller, client: SignInClient) -> Result<AccessToken> {
        let SignIn { id, pw, otp } = self;
        let possible = !is_too_long(&id);
        let attempt = begin(tidings, possible.then_some(&*id), client.client)?;
        if !possible {
            return Err(failed(attempt, Outcome::NoMember));
        }
        let stored = tidings.store().read(|tx| sql::credentials(tx, &fold(&id)))?;
        let check = tidings.hasher().check(&pw, stored.as_ref().map(|stored| stored.password.as_str()))?;
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
        let rehashed = is_old.then(|| tidings.hasher().hash(&pw)).transpose()?;
        let (key, generation) = (stored.key, stored.generation);
        let change = move |tx: &mut dyn Tx| {
            if let Some(password) = &rehashed {
                // Has no effect if the password has changed since it was checked.
                sql::set_password(tx, key, generation, password)?;
            }
            Ok(generation)
        };
        match finish(
            tidings,
            &stored,
            attempt,
            Proof::Code(otp.as_deref()),
            &client,
            Isolation::Locking,
            change,
        ) {
            // Members can still sign in while the disk is full. Such a token ends with all others of the member.
            Err(Error::Store(cause)) if !stored.has_factor => {
                tracing::warn!(%cause, "a session could not be stored: its member cannot see it");
                let token = tidings.keys().sign(&stored.id, generation, None, tidings.now())?;
                Ok(AccessToken { access_token: token })
            }
            finished => finished,
        }
    }
}

/// The password was right, which does not excuse wrong codes.
fn blacklisted(stored: &Credentials, attempt: Option<Attempt<'_>>) -> Error {
    if !stored.has_factor {
        succeeded(attempt);
    }
    Outcome::BlacklistUser.into()
}

/// What a sign-in proves of the second factor.
#[derive(Clone, Copy)]
pub(super) enum Proof<'a> {
    Code(Option<&'a str>),
    /// The same, after single sign-on.
    Issuer(Option<&'a str>),
    /// Both factors are proven, so no code is needed.
    Both,
}

/// Ends a sign-in whose password was right: checks the second factor, makes the `change`, which returns the generation of the
/// member's tokens, and begins a session, all in one write.
///
/// With [`Isolation::Locking`], it locks the rows of one member, in this order: their second factor, their row and their
/// sessions.
fn finish(
    tidings: &Tidings,
    stored: &Credentials,
    attempt: Option<Attempt<'_>>,
    proof: Proof<'_>,
    client: &SignInClient,
    isolation: Isolation,
    change: impl Fn(&mut dyn Tx) -> Result<i64> + Send + 'static,
) -> Result<AccessToken> {
    let by_issuer = matches!(proof, Proof::Issuer(_));
    let session = Arc::new(NewSession { by_issuer, ..new_session(tidings, client) });
    let (key, now, new) = (stored.key, tidings.now(), Arc::clone(&session));
    let (otp, is_both_factors) = match proof {
        Proof::Code(otp) | Proof::Issuer(otp) => (otp.map(code::typed).filter(|otp| !otp.is_empty()), false),
        Proof::Both => (None, true),
    };
    let code_attempt =
        if stored.has_factor && otp.is_some() { begin_code(tidings, key, client.client)? } else { None };
    let written = tidings.store().write::<_, Error>(isolation, move |tx| {
        let factor = if is_both_factors {
            Factor::Right
        } else {
            otp::verify(tx, key, otp.as_ref().map(|otp| otp.as_str()), now)?
        };
        if matches!(factor, Factor::Missing | Factor::Wrong) {
            return Ok((factor, 0));
        }
        let generation = change(tx)?;
        new.insert(tx, key, generation, factor == Factor::Right)?;
        Ok((factor, generation))
    });
    match written? {
        // A right password does not excuse wrong codes, so it counts neither as a success nor as a failure.
        (Factor::Missing, _) => Err(Outcome::OtpRequired.into()),
        (Factor::Wrong, _) => {
            let wrong = failed(code_attempt, Outcome::IncorrectOtp);
            Err(failed(attempt, wrong))
        }
        (Factor::None | Factor::Right, generation) => {
            succeeded(code_attempt);
            succeeded(attempt);
            issue(tidings, &stored.id, generation, &session)
        }
    }
}

/// Signs in a member who was identified without a password; `take` uses that proof up.
pub(super) fn sign_in_identified(
    tidings: &Tidings,
    member: MemberKey,
    proof: Proof<'_>,
    attempt: Option<Attempt<'_>>,
    client: &SignInClient,
    take: impl Fn(&mut dyn Tx) -> Result<()> + Send + 'static,
) -> Result<AccessToken> {
    let stored = tidings.store().read(|tx| {
        let id = email::id(tx, member)?.ok_or(Outcome::IncorrectCode)?;
        sql::credentials(tx, &fold(&id))?.ok_or(Error::from(Outcome::IncorrectCode))
    })?;
    if stored.blacklisted {
        return Err(blacklisted(&stored, attempt));
    }
    let generation = stored.generation;
    finish(tidings, &stored, attempt, proof, client, Isolation::Alone, move |tx| {
        take(tx)?;
        Ok(generation)
    })
}

/// The lengths of ids and passwords are those of the university: `university_id` and `university_name` check them. An
/// id may not be the address of a member.
impl ForClient for SignInUp {
    fn run_for(self, tidings: &Tidings, _: &Caller, client: SignInClient) -> Result<AccessToken> {
        let SignIn { id, pw, otp } = self.form;
        let id = university_id(&id);
        let attempt = begin(tidings, id.as_deref(), client.client)?;
        // The verifier is not asked about an id that breaks the rule.
        let Some(id) = id.as_deref() else { return Err(failed(attempt, Outcome::NotSchool)) };
        let (name, major) = match tidings.verifier().verify(tidings, id, &pw)?? {
            Verdict::Unknown => return Err(failed(attempt, Outcome::NotSchool)),
            Verdict::WrongPassword => return Err(failed(attempt, Outcome::PwIncorrect)),
            Verdict::Verified { name, major } => (university_name(&name), university_name(&major)),
        };
        let stored = tidings.store().read(|tx| sql::credentials(tx, &fold(id)))?;
        let check = match &stored {
            Some(stored) => tidings.hasher().check(&pw, Some(&stored.password))?,
            None => Check::Wrong,
        };
        let Some(stored) = stored else {
            // No member may have the address of another member as an id.
            if tidings.store().read(|tx| email::owner(tx, &fold(id)))?.is_some() {
                succeeded(attempt);
                return Err(Outcome::NotSchool.into());
            }
            if tidings.config().sign_up == config::Registration::Closed {
                // The password was right, so the attempt is no failure.
                succeeded(attempt);
                return Err(Outcome::NotSchool.because(SIGN_UP_CLOSED));
            }
            let nickname = cut_nickname(&name, id);
            let password = tidings.hasher().hash(&pw)?;
            succeeded(attempt);
            let new =
                New { id: id.to_owned(), nickname, password, verified: Some((name, major)), email: None };
            return insert(tidings, new, &client);
        };
        if !stored.verified && check == Check::Wrong {
            return Err(failed(attempt, Outcome::PwIncorrect));
        }
        if stored.blacklisted {
            return Err(blacklisted(&stored, attempt));
        }
        warn_if_common(&stored, &pw);
        let password = if check == Check::Right { None } else { Some(tidings.hasher().hash(&pw)?) };
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
        finish(tidings, &stored, attempt, Proof::Code(otp.as_deref()), &client, Isolation::Alone, change)
    }
}

impl ForClient for ChangePassword {
    fn run_for(self, tidings: &Tidings, caller: &Caller, client: SignInClient) -> Result<AccessToken> {
        let identity = caller.identify(tidings);
        let stored = tidings.store().read(|tx| {
            let member = identity.member(tx)?;
            sql::credentials(tx, &fold(&member.id))?.ok_or(Error::BadToken)
        })?;
        let attempt = begin(tidings, Some(&stored.id), client.client)?;
        if tidings.hasher().check(&self.pw, Some(&stored.password))? == Check::Wrong {
            return Err(failed(attempt, Outcome::IncorrectPw));
        }
        check_new_password(tidings.config(), "new_pw", &self.new_pw, stored.admin)?;
        if self.new_pw != self.new_pw_check {
            let problem = Outcome::CheckPw.problem().of("new_pw_check");
            return Err(Outcome::CheckPw.because(problem));
        }
        let password = tidings.hasher().hash(&self.new_pw)?;
        let session = Arc::new(new_session(tidings, &client));
        let (new, generation) = (Arc::clone(&session), stored.generation);
        let note = email::Note::new(tidings, Kind::PasswordChanged);
        let generation = tidings.store().write(Isolation::Alone, move |tx| {
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
        issue(tidings, &stored.id, generation, &session)
    }
}

/// The password may be older than the rights of the administrator, or be that of the university.
fn warn_if_common(stored: &Credentials, pw: &str) {
    if stored.admin && is_common(pw) {
        let id = &stored.id;
        tracing::warn!(
            administrator = id,
            "an administrator signs in with one of the 10,000 most common passwords: tidings member password {id}"
        );
    }
}

fn new_session(tidings: &Tidings, client: &SignInClient) -> NewSession {
    let at = tidings.now();
    let expires = tidings.keys().expiry(at);
    let places = client.client.map(|client| Places::of(tidings, client));
    let (id, device) = (ObjectId::new(tidings.clock()), client.device.clone());
    NewSession { id, device, at, expires, places, by_issuer: false }
}

fn issue(tidings: &Tidings, id: &str, generation: i64, session: &NewSession) -> Result<AccessToken> {
    let token = tidings.keys().sign(id, generation, Some(session.id.to_string()), session.at)?;
    Ok(AccessToken { access_token: token })
}

#[expect(clippy::struct_excessive_bools, reason = "columns of the row")]
struct Credentials {
    key: MemberKey,
    id: String,
    password: String,
    generation: i64,
    blacklisted: bool,
    /// Whether the university has verified the member.
    verified: bool,
    admin: bool,
    has_factor: bool,
}

mod sql {
    use super::{Credentials, MemberKey, StoreError, Tx};
    use crate::store::Topic;

    pub(super) fn credentials(tx: &mut dyn Tx, folded: &str) -> Result<Option<Credentials>, StoreError> {
        let sql = "SELECT key, id, password, generation, blacklisted IS NOT NULL,
                   name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM oidc_identity WHERE member = key AND names = 1),
                   admin IS NOT NULL,
                   EXISTS (SELECT 1 FROM second_factor WHERE member = key AND enabled IS NOT NULL)
                   FROM member WHERE folded = $1";
        let Some(mut row) = tx.row(sql, &[folded.into()])? else { return Ok(None) };
        Ok(Some(Credentials {
            key: row.take(0)?,
            id: row.take(1)?,
            password: row.take(2)?,
            generation: row.take(3)?,
            blacklisted: row.take(4)?,
            verified: row.take(5)?,
            admin: row.take(6)?,
            has_factor: row.take(7)?,
        }))
    }

    /// Has no effect if the member has been removed or their tokens revoked since the generation was read.
    pub(in crate::account) fn set_password(
        tx: &mut dyn Tx,
        key: MemberKey,
        generation: i64,
        password: &str,
    ) -> Result<u64, StoreError> {
        let sql = "UPDATE member SET password = $3 WHERE key = $1 AND generation = $2";
        tx.run(sql, &[key.into(), generation.into(), password.into()])
    }

    pub(super) fn set_verified(
        tx: &mut dyn Tx,
        key: MemberKey,
        name: &str,
        major: &str,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE member SET name = $2, major = $3 WHERE key = $1";
        tx.run(sql, &[key.into(), name.into(), major.into()])?;
        // From now on the university names the member, and no issuer does.
        tx.run("UPDATE oidc_identity SET names = 0 WHERE member = $1", &[key.into()])?;
        tx.touch(Topic::Members);
        Ok(())
    }
}
