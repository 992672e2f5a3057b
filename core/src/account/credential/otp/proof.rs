//! Checks of a member's password and code before a change of their ways to sign in.

use sha2::{Digest as _, Sha256};

use super::{Factor, sql, verify};
use crate::account::credential::attempt::{begin, begin_code, failed, succeeded};
use crate::account::credential::code::typed;
use crate::account::credential::password::Check;
use crate::account::credential::throttle::Attempt;
use crate::account::{Call, Identity, Member};
use crate::audit::trail::hex;
use crate::record::error::{Error, Outcome, Result};
use crate::record::id::MemberKey;
use crate::store::{Isolation, Tx};

pub(in crate::account) struct Confirmed<'t> {
    pub(super) key: MemberKey,
    pub(super) is_enabled: bool,
    pub(super) attempt: Option<Attempt<'t>>,
}

pub(in crate::account) fn confirm<'t>(call: &Call<'t>, pw: &str) -> Result<Confirmed<'t>> {
    let (tidings, identity) = (call.tidings(), call.authority());
    let (key, id, password, is_enabled) = call.store().read(|tx| {
        let member = identity.member(tx)?;
        let password: String =
            tx.one("SELECT password FROM member WHERE key = $1", &[member.key.into()])?.take(0)?;
        let is_enabled = sql::factor(tx, member.key)?.is_some_and(|factor| factor.is_enabled);
        Ok::<_, Error>((member.key, member.id.clone(), password, is_enabled))
    })?;
    let attempt = begin(call, Some(&id))?;
    if tidings.account().hasher.check(pw, Some(&password))? == Check::Wrong {
        return Err(failed(attempt, Outcome::IncorrectPw));
    }
    Ok(Confirmed { key, is_enabled, attempt })
}

impl Confirmed<'_> {
    /// For a change that checks no code. A right password does not excuse wrong codes.
    pub(in crate::account) fn succeeded(self) {
        if !self.is_enabled {
            succeeded(self.attempt);
        }
    }

    /// For a change whose own code was wrong.
    pub(in crate::account) fn failed(self, outcome: Outcome) -> Error {
        failed(self.attempt, outcome)
    }

    /// Calls `change`, which checks a code if `checks_code`, in one write. A wrong code counts as a failure of the client and of
    /// the account. Only a right code counts as a success: a right password does not excuse wrong codes.
    pub(super) fn check<T: Send + 'static>(
        self,
        call: &Call<'_>,
        checks_code: bool,
        change: impl Fn(&mut dyn Tx) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let code_attempt = if checks_code { begin_code(call, self.key)? } else { None };
        match call.store().write(Isolation::Alone, change) {
            Err(error @ Error::Documented(Outcome::IncorrectOtp, _)) => {
                Err(failed(self.attempt, failed(code_attempt, error)))
            }
            Ok(done) if checks_code => {
                succeeded(code_attempt);
                succeeded(self.attempt);
                Ok(done)
            }
            done => done,
        }
    }
}

/// Returns a fingerprint of the member's tokens, session and second factor: a change in two steps fails if it differs in the
/// second.
pub(in crate::account) fn present(tx: &mut dyn Tx, of: &Identity, member: &Member<'_>) -> Result<String> {
    let factor = sql::factor(tx, member.key)?.filter(|factor| factor.is_enabled);
    let (session, secret) = (of.session().unwrap_or_default(), factor.map(|factor| factor.secret));
    let hash = Sha256::new_with_prefix(format!("{} {session} ", member.generation));
    Ok(hex(&hash.chain_update(secret.as_ref().map_or(&[][..], |secret| secret)).finalize()))
}

/// And a code if they have enabled the second factor.
pub(in crate::account) struct Proven {
    pub(in crate::account) member: MemberKey,
    pub(in crate::account) id: String,
    pub(in crate::account) gave_code: bool,
    pub(in crate::account) present: String,
}

pub(in crate::account) fn prove(call: &Call<'_>, pw: &str, otp: Option<&str>) -> Result<Proven> {
    let (identity, now) = (call.authority(), call.now());
    let confirmed = confirm(call, pw)?;
    let (is_enabled, otp) = (confirmed.is_enabled, otp.map(typed));
    confirmed.check(call, is_enabled && otp.is_some(), move |tx| {
        let member = identity.member(tx)?;
        let gave_code = match verify(tx, member.key, otp.as_ref().map(|otp| otp.as_str()), now)? {
            Factor::None => false,
            Factor::Right => true,
            Factor::Missing => return Err(Outcome::OtpRequired.into()),
            Factor::Wrong => return Err(Outcome::IncorrectOtp.into()),
        };
        let present = present(tx, &identity, &member)?;
        Ok(Proven { member: member.key, id: member.id.clone(), gave_code, present })
    })
}
