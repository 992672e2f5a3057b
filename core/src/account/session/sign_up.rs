//! Sign-up.

use std::sync::Arc;

use super::{AccessToken, issue, new_session};
use crate::Tidings;
use crate::account::attempt::ForClient;
use crate::account::device::SignInClient;
use crate::account::{
    Caller, SignUp, check_new_password, email, find, fold, is_id, new_generation, nickname,
};
use crate::base::clock::Timestamp;
use crate::base::config::{self, ID_LENGTH, NICKNAME_LENGTH};
use crate::mail::address::{Address, RULE};
use crate::record::error::{Code, Error, Outcome, Problem, Result};
use crate::record::id::MemberKey;
use crate::store::{Arg, Isolation, StoreError, Topic, Tx};

const ROSTER_ONLY: Problem = Problem::new(
    Code::SignUpClosed,
    "only members of the university become members here: sign in with sign_in_up",
);

impl ForClient for SignUp {
    fn run_for(self, tidings: &Tidings, caller: &Caller, client: SignInClient) -> Result<AccessToken> {
        match (caller, tidings.config().sign_up) {
            (Caller::Operator, _) | (_, config::Registration::Open) => {
                register(tidings, &self, false, |new| insert(tidings, new, &client))
            }
            (_, config::Registration::Roster) => Err(Outcome::SignUpFail.because(ROSTER_ONLY)),
            (_, config::Registration::Closed) => Err(Outcome::SignUpFail.into()),
        }
    }
}

/// Like [`SignUp`], but begins no session. `grant` makes the member an administrator in the same transaction, so the password may
/// not be one of the most common.
pub(crate) fn sign_up_admin(
    tidings: &Tidings,
    form: &SignUp,
    mut grant: impl FnMut(&mut dyn Tx, MemberKey) -> Result<()> + Send + 'static,
) -> Result<()> {
    let now = tidings.now();
    register(tidings, form, true, |new| {
        let inserted = tidings.store().write(Isolation::Alone, move |tx| {
            let (key, _) = insert_member(tx, &new, now)?;
            grant(tx, key)
        });
        inserted.map_err(taken)
    })
}

fn register<T>(
    tidings: &Tidings,
    form: &SignUp,
    admin: bool,
    insert: impl FnOnce(New) -> Result<T>,
) -> Result<T> {
    let config = tidings.config();
    if !is_id(&form.id) {
        return Err(Outcome::WrongUserInfo.because(Problem::id(ID_LENGTH)));
    }
    check_new_password(config, "pw", &form.pw, admin)?;
    let rule = || Outcome::WrongUserInfo.because(Problem::nickname("nickname", NICKNAME_LENGTH));
    let nickname = nickname(&form.nickname).ok_or_else(rule)?;
    let email = match form.email.as_deref().map(str::trim).filter(|email| !email.is_empty()) {
        Some(email) => Some(Address::parse(email).ok_or_else(|| Outcome::WrongUserInfo.because(RULE))?),
        None if config.mail.required && !admin => {
            return Err(
                Outcome::WrongUserInfo.because(Problem::missing("email", "an e-mail address is needed"))
            );
        }
        None => None,
    };
    if form.pw != form.pw_check {
        return Err(Outcome::CheckPw.into());
    }
    let register = || {
        // Checked before hashing, which is slow.
        let taken = tidings.store().read(|tx| find(tx, &form.id))?.is_some();
        if taken || tidings.verifier().reserves(tidings, &form.id)? {
            return Err(Outcome::AlreadyId.into());
        }
        let password = tidings.hasher().hash(&form.pw)?;
        insert(New { id: form.id.clone(), nickname, password, verified: None, email })
    };
    register().map_err(|e: Error| e.if_failed("sign_up fail"))
}

pub(in crate::account) struct New {
    pub(in crate::account) id: String,
    pub(in crate::account) nickname: String,
    /// The hash of the password.
    pub(in crate::account) password: String,
    /// The name and the major, if the university has verified the member.
    pub(in crate::account) verified: Option<(String, String)>,
    /// An address that is not confirmed yet.
    pub(in crate::account) email: Option<Address>,
}

/// Also returns the generation of the member's tokens.
pub(in crate::account) fn insert_member(
    tx: &mut dyn Tx,
    new: &New,
    now: Timestamp,
) -> Result<(MemberKey, i64), StoreError> {
    let (name, major) = new.verified.as_ref().map(|(name, major)| (name, major)).unzip();
    let sql = "INSERT INTO member (id, folded, password, generation, nickname, name, major, date)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING key";
    let (folded, generation) = (fold(&new.id), new_generation());
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
    let key = tx.one(sql, &args)?.take(0)?;
    tx.touch(Topic::Members);
    Ok((key, generation))
}

/// Like [`SignUp`], whatever the setting `sign_up`: `accept` decides, in the same transaction.
pub(in crate::account) fn sign_up_with(
    tidings: &Tidings,
    form: &SignUp,
    client: &SignInClient,
    accept: impl Fn(&mut dyn Tx, MemberKey) -> Result<()> + Send + 'static,
) -> Result<AccessToken> {
    register(tidings, form, false, |new| insert_with(tidings, new, client, Isolation::Alone, accept))
}

pub(super) fn insert(tidings: &Tidings, new: New, client: &SignInClient) -> Result<AccessToken> {
    // This only adds rows. If another transaction adds a member with the same id, it waits for the outcome.
    insert_with(tidings, new, client, Isolation::Locking, |_, _| Ok(()))
}

fn insert_with(
    tidings: &Tidings,
    new: New,
    client: &SignInClient,
    isolation: Isolation,
    accept: impl Fn(&mut dyn Tx, MemberKey) -> Result<()> + Send + 'static,
) -> Result<AccessToken> {
    let (now, id) = (tidings.now(), new.id.clone());
    let session = Arc::new(new_session(tidings, client));
    let begun = Arc::clone(&session);
    let proposal = new.email.clone().map(|email| email::Proposal::new(tidings, email, client.client));
    let inserted = tidings.store().write(isolation, move |tx| {
        let (key, generation) = insert_member(tx, &new, now)?;
        accept(tx, key)?;
        if let Some(proposal) = &proposal {
            // Without a mail if there were too many: the member asks for another one later.
            proposal.make(tx, key)?;
        }
        begun.insert(tx, key, generation, false)?;
        Ok(generation)
    });
    issue(tidings, &id, inserted.map_err(taken)?, &session)
}

fn taken(error: Error) -> Error {
    match error {
        Error::Store(StoreError::Duplicate) => Outcome::AlreadyId.into(),
        error => error,
    }
}
