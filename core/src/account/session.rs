//! Sign-up, sign-in, sign-out and password changes.

use serde::Serialize;

use super::password::{Check, Purpose, Turn, is_common};
use super::throttle::Attempt;
use super::verify::{Verdict, university_id, university_name};
use super::{
    Caller, check_new_password, cut_nickname, find, fold, is_id, is_too_long, new_generation, nickname,
    revoke_tokens, sign_out,
};
use crate::Tidings;
use crate::client::Client;
use crate::error::{Error, Outcome, Problem, Result};
use crate::id::MemberKey;
use crate::store::{Arg, Isolation, StoreError, Tx};

#[cfg(test)]
mod tests;

/// The answer of the operations that sign a member in.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccessToken {
    /// The bearer token that the other operations take.
    pub access_token: String,
}

/// The input of a sign-up.
#[derive(Clone, Default)]
pub struct SignUp {
    /// The sign-in identifier.
    pub id: String,
    /// The password.
    pub pw: String,
    /// The password again.
    pub pw_check: String,
    /// The name that the app shows.
    pub nickname: String,
}

/// Registers a member and signs them in.
///
/// # Errors
/// In this order: `wrong user info` if the id, password or nickname breaks its rule; `check pw` if the passwords
/// differ; `already id` if the id is taken or reserved for the university. `sign_up fail` if the store fails;
/// `overloaded` if too many passwords wait to be hashed.
pub fn sign_up(tidings: &Tidings, form: &SignUp) -> Result<AccessToken> {
    sign_up_from(tidings, form, None)
}

/// Signs a member up like [`sign_up`], for `client`, which takes turns with other clients when passwords wait to be
/// hashed; `None` is this machine.
///
/// # Errors
/// The errors of [`sign_up`].
pub fn sign_up_from(tidings: &Tidings, form: &SignUp, client: Option<Client>) -> Result<AccessToken> {
    register(tidings, form, client, false)
}

/// Signs a member up like [`sign_up_from`]; if `admin`, the password may not be one of the most common.
///
/// # Errors
/// The errors of [`sign_up`].
pub(crate) fn register(
    tidings: &Tidings,
    form: &SignUp,
    client: Option<Client>,
    admin: bool,
) -> Result<AccessToken> {
    let config = tidings.config();
    if !is_id(config, &form.id) {
        return Err(Outcome::WrongUserInfo.because(Problem::id(config.id_length)));
    }
    check_new_password(config, "pw", &form.pw, admin)?;
    let rule = || Outcome::WrongUserInfo.because(Problem::nickname("nickname", config.nickname_length));
    let nickname = nickname(config, &form.nickname).ok_or_else(rule)?;
    if form.pw != form.pw_check {
        return Err(Outcome::CheckPw.into());
    }
    let register = || {
        // Checked before hashing, which is slow.
        let taken = tidings.store().read(|tx| find(tx, &form.id))?.is_some();
        if taken || tidings.verifier().reserves(tidings, &form.id)? {
            return Err(Outcome::AlreadyId.into());
        }
        let password = tidings.hasher().hash(Turn::new(Purpose::SignUp, client), &form.pw)?;
        insert(tidings, New { id: form.id.clone(), nickname, password, verified: None })
    };
    register().map_err(|e: Error| e.if_failed("sign_up fail"))
}

/// Signs a member in. `client` is the origin of the attempt, for sign-in slowing; `None` is never slowed.
///
/// # Errors
/// `No member`, `incorrect pw`, `blacklist user`, in this order; `too many requests` after many failures;
/// `overloaded` if too many passwords wait to be hashed.
pub fn sign_in(tidings: &Tidings, id: &str, pw: &str, client: Option<Client>) -> Result<AccessToken> {
    let possible = !is_too_long(tidings.config(), id);
    let attempt = begin(tidings, possible.then_some(id), client)?;
    if !possible {
        return Err(failed(attempt, Outcome::NoMember));
    }
    let stored = tidings.store().read(|tx| sql::credentials(tx, &fold(id)))?;
    let turn = Turn::new(Purpose::SignIn, client);
    let check = tidings.hasher().check(turn, pw, stored.as_ref().map(|stored| stored.password.as_str()))?;
    let stored = match (stored, check) {
        (None, _) => return Err(failed(attempt, Outcome::NoMember)),
        (Some(_), Check::Wrong) => return Err(failed(attempt, Outcome::IncorrectPw)),
        (Some(stored), _) => stored,
    };
    if let Some(attempt) = attempt {
        attempt.succeeded();
    }
    if stored.blacklisted {
        return Err(Outcome::BlacklistUser.into());
    }
    warn_if_common(&stored, pw);
    if check == Check::RightButOld {
        let (key, generation) = (stored.key, stored.generation);
        match tidings.hasher().hash(Turn::new(Purpose::Rehash, client), pw) {
            // Has no effect if the password has changed since it was checked.
            Ok(password) => {
                // This changes one row, unless work that ran alone has changed the password.
                tidings
                    .store()
                    .write(Isolation::Locking, move |tx| sql::set_password(tx, key, generation, &password))?;
            }
            // The member is signed in nevertheless; their next sign-in tries to rehash again.
            Err(Error::Overloaded) => {}
            Err(error) => return Err(error),
        }
    }
    issue(tidings, &stored.id, stored.generation)
}

/// Signs in a member whom the university verifies, and registers them at their first sign-in.
///
/// Our length conditions do not apply to the university's ids and passwords: an id has 1 to 128 characters, no
/// control or invisible characters, no white space at its ends, and is not `guest` or `removed`. The first 100
/// characters of the name and the major are stored, on one line.
///
/// # Errors
/// `api error` if the university does not answer; `not school` if it does not know the id, or the id breaks the rule
/// above; `pw incorrect` if the password differs from the university's, or from that of a member who signed up here
/// with that id; `blacklist user`; `too many requests` and `overloaded` as for [`sign_in`].
pub fn sign_in_up(tidings: &Tidings, id: &str, pw: &str, client: Option<Client>) -> Result<AccessToken> {
    let id = university_id(id);
    let attempt = begin(tidings, id.as_deref(), client)?;
    // The verifier is not asked about an id that breaks the rule.
    let Some(id) = id.as_deref() else { return Err(failed(attempt, Outcome::NotSchool)) };
    let (name, major) = match tidings.verifier().verify_for(tidings, id, pw, client)?? {
        Verdict::Unknown => return Err(failed(attempt, Outcome::NotSchool)),
        Verdict::WrongPassword => return Err(failed(attempt, Outcome::PwIncorrect)),
        Verdict::Verified { name, major } => (university_name(&name), university_name(&major)),
    };
    let stored = tidings.store().read(|tx| sql::credentials(tx, &fold(id)))?;
    let turn = Turn::new(Purpose::SignInUp, client);
    let check = match &stored {
        Some(stored) => tidings.hasher().check(turn, pw, Some(&stored.password))?,
        None => Check::Wrong,
    };
    let Some(stored) = stored else {
        let nickname = cut_nickname(tidings.config(), &name, id);
        let password = tidings.hasher().hash(turn, pw)?;
        succeeded(attempt);
        return insert(tidings, New { id: id.to_owned(), nickname, password, verified: Some((name, major)) });
    };
    if !stored.verified && check == Check::Wrong {
        return Err(failed(attempt, Outcome::PwIncorrect));
    }
    succeeded(attempt);
    if stored.blacklisted {
        return Err(Outcome::BlacklistUser.into());
    }
    warn_if_common(&stored, pw);
    let password = if check == Check::Right { None } else { Some(tidings.hasher().hash(turn, pw)?) };
    let (key, generation) = (stored.key, stored.generation);
    // A new password at the university revokes the tokens, like any changed password.
    let changed = check == Check::Wrong;
    let generation = tidings.store().write(Isolation::Alone, move |tx| {
        if let Some(password) = &password {
            sql::set_password(tx, key, generation, password)?;
        }
        sql::set_verified(tx, key, &name, &major)?;
        if changed { revoke_tokens(tx, key) } else { Ok(generation) }
    })?;
    issue(tidings, &stored.id, generation)
}

/// The input of a password change.
#[derive(Clone, Default)]
pub struct NewPassword {
    /// The current password.
    pub pw: String,
    /// The new password.
    pub new_pw: String,
    /// The new password again.
    pub new_pw_check: String,
}

/// Changes the caller's password, revokes their tokens and returns a new one.
///
/// # Errors
/// `bad token`; `incorrect pw`; `wrong user info` if the new password breaks its rule; `check pw` if the two new
/// passwords differ; `too many requests` and `overloaded` as for [`sign_in`].
pub fn change_pw(
    tidings: &Tidings,
    caller: &Caller,
    form: &NewPassword,
    client: Option<Client>,
) -> Result<AccessToken> {
    let identity = caller.identify(tidings);
    let stored = tidings.store().read(|tx| {
        let member = identity.member(tx)?;
        sql::credentials(tx, &fold(&member.id))?.ok_or(Error::BadToken)
    })?;
    let attempt = begin(tidings, Some(&stored.id), client)?;
    let turn = Turn::new(Purpose::ChangePw, client);
    if tidings.hasher().check(turn, &form.pw, Some(&stored.password))? == Check::Wrong {
        return Err(failed(attempt, Outcome::IncorrectPw));
    }
    succeeded(attempt);
    check_new_password(tidings.config(), "new_pw", &form.new_pw, stored.admin)?;
    if form.new_pw != form.new_pw_check {
        let problem = Outcome::CheckPw.problem().of("new_pw_check");
        return Err(Outcome::CheckPw.because(problem));
    }
    let password = tidings.hasher().hash(turn, &form.new_pw)?;
    let generation = tidings.store().write(Isolation::Alone, move |tx| {
        let member = identity.member(tx)?;
        if sql::set_password(tx, member.key, stored.generation, &password)? == 0 {
            return Err(Error::BadToken);
        }
        Ok(revoke_tokens(tx, member.key)?)
    })?;
    issue(tidings, &stored.id, generation)
}

/// Revokes every token of the caller, including the one they sent.
///
/// # Errors
/// `bad token`.
pub fn sign_out_all(tidings: &Tidings, caller: &Caller) -> Result<()> {
    let identity = caller.identify(tidings);
    tidings.store().write(Isolation::Alone, move |tx| {
        let member = identity.member(tx)?;
        Ok(sign_out(tx, &member)?)
    })
}

/// Logs a warning if an administrator signs in with one of the most common passwords. They may have had it before they
/// became an administrator, or it is their university password.
fn warn_if_common(stored: &Credentials, pw: &str) {
    if stored.admin && is_common(pw) {
        let id = &stored.id;
        tracing::warn!(
            administrator = id,
            "an administrator signs in with one of the 10,000 most common passwords: tidings member password {id}"
        );
    }
}

/// Begins an attempt, or returns `None` if this client is not slowed. `id` is `None` if no account can have the id.
fn begin<'t>(tidings: &'t Tidings, id: Option<&str>, client: Option<Client>) -> Result<Option<Attempt<'t>>> {
    let Some(client) = client.filter(|_| tidings.config().sign_in_slowing) else { return Ok(None) };
    tidings.throttle().begin(id, client).map(Some)
}

fn succeeded(attempt: Option<Attempt<'_>>) {
    if let Some(attempt) = attempt {
        attempt.succeeded();
    }
}

fn failed(attempt: Option<Attempt<'_>>, outcome: Outcome) -> Error {
    if let Some(attempt) = attempt {
        attempt.failed();
    }
    outcome.into()
}

fn issue(tidings: &Tidings, id: &str, generation: i64) -> Result<AccessToken> {
    Ok(AccessToken { access_token: tidings.keys().sign(id, generation, tidings.now())? })
}

struct New {
    id: String,
    nickname: String,
    password: String,
    verified: Option<(String, String)>,
}

fn insert(tidings: &Tidings, new: New) -> Result<AccessToken> {
    let (now, generation, id) = (tidings.now(), new_generation(), new.id.clone());
    // This adds one row. If another transaction adds a member with the same id, it waits for the outcome.
    let inserted =
        tidings.store().write(Isolation::Locking, move |tx| Ok(sql::insert(tx, &new, generation, now)?));
    match inserted {
        Err(Error::Store(StoreError::Duplicate)) => Err(Outcome::AlreadyId.into()),
        Err(error) => Err(error),
        Ok(()) => issue(tidings, &id, generation),
    }
}

struct Credentials {
    key: MemberKey,
    id: String,
    password: String,
    generation: i64,
    blacklisted: bool,
    verified: bool,
    admin: bool,
}

mod sql {
    use super::{Arg, Credentials, MemberKey, New, StoreError, Tx, fold};
    use crate::clock::Timestamp;
    use crate::store::Topic;

    pub(super) fn credentials(tx: &mut dyn Tx, folded: &str) -> Result<Option<Credentials>, StoreError> {
        let sql = "SELECT key, id, password, generation, blacklisted IS NOT NULL, name IS NOT NULL,
                   admin IS NOT NULL FROM member WHERE folded = $1";
        let Some(mut row) = tx.row(sql, &[folded.into()])? else { return Ok(None) };
        Ok(Some(Credentials {
            key: row.take(0)?,
            id: row.take(1)?,
            password: row.take(2)?,
            generation: row.take(3)?,
            blacklisted: row.take(4)?,
            verified: row.take(5)?,
            admin: row.take(6)?,
        }))
    }

    pub(super) fn insert(
        tx: &mut dyn Tx,
        new: &New,
        generation: i64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (name, major) = new.verified.as_ref().map(|(name, major)| (name, major)).unzip();
        let sql = "INSERT INTO member (id, folded, password, generation, nickname, name, major, date)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let folded = fold(&new.id);
        let args: [Arg<'_>; 8] = [
            (&new.id).into(),
            (&folded).into(),
            (&new.password).into(),
            generation.into(),
            (&new.nickname).into(),
            name.into(),
            major.into(),
            now.into(),
        ];
        tx.run(sql, &args)?;
        tx.touch(Topic::Members);
        Ok(())
    }

    /// Stores a password hash unless the member has been removed or their tokens revoked in the meantime.
    pub(super) fn set_password(
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
        tx.touch(Topic::Members);
        Ok(())
    }
}
