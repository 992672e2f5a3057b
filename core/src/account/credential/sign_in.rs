//! Sign-in, sign-out and password changes; the module `sign_up` has the sign-up.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::attempt::{begin_code, failed, succeeded};
use super::otp::{self, Factor};
use super::password::is_common;
use super::throttle::Attempt;
use super::{code, email};
use crate::account::places::Places;
use crate::account::sessions::NewSession;
use crate::account::{Call, fold};

use crate::record::error::{Error, Outcome, Result};
use crate::record::id::{MemberKey, ObjectId};
use crate::store::{Isolation, StoreError, Tx};

mod sign_up;
#[cfg(test)]
mod tests;
mod with_password;

pub use sign_up::SignUp;
use sign_up::insert;
pub(crate) use sign_up::sign_up_admin;
pub(super) use sign_up::{New, insert_member, sign_up_refusals, sign_up_with};
pub(super) use sql::set_password;
pub use with_password::{ChangePassword, SignIn, SignInUp};

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

/// The password was right, which does not excuse wrong codes.
fn blacklisted(stored: &Credentials, attempt: Option<Attempt<'_>>) -> Error {
    if !stored.has_factor {
        succeeded(attempt);
    }
    Outcome::BlacklistUser.into()
}

#[derive(Clone, Copy)]
pub(super) enum Proof<'a> {
    Code(Option<&'a str>),
    /// The same, after single sign-on.
    Issuer(Option<&'a str>),
    /// Both factors are proven, so no code is needed.
    Both,
}

/// Ends a sign-in whose password was right: checks the second factor, makes the `change`, which returns the generation of the
/// member's tokens, and begins a session, all in one write. With [`Isolation::Locking`], it locks the rows of one member, in this
/// order: their second factor, their row and their sessions.
fn finish(
    call: &Call<'_>,
    stored: &Credentials,
    attempt: Option<Attempt<'_>>,
    proof: Proof<'_>,
    isolation: Isolation,
    change: impl Fn(&mut dyn Tx) -> Result<i64> + Send + 'static,
) -> Result<AccessToken> {
    let by_issuer = matches!(proof, Proof::Issuer(_));
    let session = Arc::new(NewSession { by_issuer, ..new_session(call) });
    let (key, now, new) = (stored.key, call.now(), Arc::clone(&session));
    let (otp, is_both_factors) = match proof {
        Proof::Code(otp) | Proof::Issuer(otp) => (otp.map(code::typed).filter(|otp| !otp.is_empty()), false),
        Proof::Both => (None, true),
    };
    let code_attempt = if stored.has_factor && otp.is_some() { begin_code(call, key)? } else { None };
    let written = call.store().write::<_, Error>(isolation, move |tx| {
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
            issue(call, &stored.id, generation, &session)
        }
    }
}

/// Signs in a member who was identified without a password; `take` uses that proof up.
pub(super) fn sign_in_identified(
    call: &Call<'_>,
    member: MemberKey,
    proof: Proof<'_>,
    attempt: Option<Attempt<'_>>,
    take: impl Fn(&mut dyn Tx) -> Result<()> + Send + 'static,
) -> Result<AccessToken> {
    let stored = call.store().read(|tx| {
        let id = email::id(tx, member)?.ok_or(Outcome::IncorrectCode)?;
        sql::credentials(tx, &fold(&id))?.ok_or(Error::from(Outcome::IncorrectCode))
    })?;
    if stored.blacklisted {
        return Err(blacklisted(&stored, attempt));
    }
    let generation = stored.generation;
    finish(call, &stored, attempt, proof, Isolation::Alone, move |tx| {
        take(tx)?;
        Ok(generation)
    })
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

fn new_session(call: &Call<'_>) -> NewSession {
    let (tidings, at) = (call.tidings(), call.now());
    let expires = tidings.account().keys.expiry(at);
    let places = call.client().client().map(|client| Places::of(tidings, client));
    let (id, device) = (ObjectId::at(at), call.client().device());
    NewSession { id, device, at, expires, places, by_issuer: false }
}

fn issue(call: &Call<'_>, id: &str, generation: i64, session: &NewSession) -> Result<AccessToken> {
    let token =
        call.tidings().account().keys.sign(id, generation, Some(session.id.to_string()), session.at)?;
    Ok(AccessToken { access_token: token })
}

#[expect(clippy::struct_excessive_bools, reason = "columns of the row")]
struct Credentials {
    key: MemberKey,
    id: String,
    password: String,
    generation: i64,
    blacklisted: bool,
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
