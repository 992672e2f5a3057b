//! Sign-up.

use std::sync::Arc;

use super::{AccessToken, issue, new_session};
use crate::Tidings;
use crate::account::attempt::ForClient;
use crate::account::device::SignInClient;
use crate::account::{Caller, SignUp, check_new_password, email, find, is_id, new_generation, nickname};
use crate::base::clock::Timestamp;
use crate::base::config;
use crate::mail::address::{Address, RULE};
use crate::record::error::{Code, Error, Outcome, Problem, Result};
use crate::record::id::MemberKey;
use crate::store::{Isolation, StoreError, Tx};

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

/// Signs a member up like [`SignUp`], but begins no session. `grant` makes them an administrator, in the same transaction, so
/// the password may not be one of the most common.
pub(crate) fn sign_up_admin(
    tidings: &Tidings,
    form: &SignUp,
    mut grant: impl FnMut(&mut dyn Tx, MemberKey) -> Result<()> + Send + 'static,
) -> Result<()> {
    let now = tidings.now();
    register(tidings, form, true, |new| {
        let inserted = tidings.store().write(Isolation::Alone, move |tx| {
            let key = sql::insert(tx, &new, new_generation(), now)?;
            grant(tx, key)
        });
        inserted.map_err(taken)
    })
}

/// Checks a sign-up and hashes its password; `insert` inserts the member.
fn register<T>(
    tidings: &Tidings,
    form: &SignUp,
    admin: bool,
    insert: impl FnOnce(New) -> Result<T>,
) -> Result<T> {
    let config = tidings.config();
    if !is_id(config, &form.id) {
        return Err(Outcome::WrongUserInfo.because(Problem::id(config.id_length)));
    }
    check_new_password(config, "pw", &form.pw, admin)?;
    let rule = || Outcome::WrongUserInfo.because(Problem::nickname("nickname", config.nickname_length));
    let nickname = nickname(config, &form.nickname).ok_or_else(rule)?;
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
    /// The name and the major that the university knows.
    pub(in crate::account) verified: Option<(String, String)>,
    /// An address that is to be confirmed.
    pub(in crate::account) email: Option<Address>,
}

/// Inserts a member, and begins no session.
pub(in crate::account) fn insert_member(
    tx: &mut dyn Tx,
    new: &New,
    now: Timestamp,
) -> Result<MemberKey, StoreError> {
    sql::insert(tx, new, new_generation(), now)
}

/// Signs a member up like [`SignUp`], whoever may sign up. `accept` decides, in the same transaction.
///
/// # Errors
/// Those of [`SignUp`] except that nobody signs up; those of `accept`.
pub(in crate::account) fn sign_up_with(
    tidings: &Tidings,
    form: &SignUp,
    client: &SignInClient,
    accept: impl Fn(&mut dyn Tx, MemberKey) -> Result<()> + Send + 'static,
) -> Result<AccessToken> {
    register(tidings, form, false, |new| insert_with(tidings, new, client, Isolation::Alone, accept))
}

/// Inserts a member and signs them in.
///
/// # Errors
/// `already id`; an error of the store.
pub(super) fn insert(tidings: &Tidings, new: New, client: &SignInClient) -> Result<AccessToken> {
    // This adds rows alone. If another transaction adds a member with the same id, it waits for the outcome.
    insert_with(tidings, new, client, Isolation::Locking, |_, _| Ok(()))
}

/// Inserts a member and signs them in, if `accept` does not refuse, in one transaction of this isolation.
fn insert_with(
    tidings: &Tidings,
    new: New,
    client: &SignInClient,
    isolation: Isolation,
    accept: impl Fn(&mut dyn Tx, MemberKey) -> Result<()> + Send + 'static,
) -> Result<AccessToken> {
    let (now, generation, id) = (tidings.now(), new_generation(), new.id.clone());
    let session = Arc::new(new_session(tidings, client));
    let begun = Arc::clone(&session);
    let proposal = new.email.clone().map(|email| email::Proposal::new(tidings, email, client.client));
    let inserted = tidings.store().write(isolation, move |tx| {
        let key = sql::insert(tx, &new, generation, now)?;
        accept(tx, key)?;
        if let Some(proposal) = &proposal {
            // Without a mail if there were too many: the member asks for another one later.
            proposal.make(tx, key)?;
        }
        Ok(begun.insert(tx, key, generation, false)?)
    });
    inserted.map_err(taken)?;
    issue(tidings, &id, generation, &session)
}

/// Returns the error of an insertion: another member has the id.
fn taken(error: Error) -> Error {
    match error {
        Error::Store(StoreError::Duplicate) => Outcome::AlreadyId.into(),
        error => error,
    }
}

mod sql {
    use super::{MemberKey, New, StoreError, Tx};
    use crate::account::fold;
    use crate::base::clock::Timestamp;
    use crate::store::{Arg, Topic};

    pub(super) fn insert(
        tx: &mut dyn Tx,
        new: &New,
        generation: i64,
        now: Timestamp,
    ) -> Result<MemberKey, StoreError> {
        let (name, major) = new.verified.as_ref().map(|(name, major)| (name, major)).unzip();
        let sql = "INSERT INTO member (id, folded, password, generation, nickname, name, major, date)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING key";
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
        let key = tx.one(sql, &args)?.take(0)?;
        tx.touch(Topic::Members);
        Ok(key)
    }
}
