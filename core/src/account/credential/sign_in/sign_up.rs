use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{AccessToken, issue, new_session};
use crate::Tidings;
use crate::account::credential::email;
use crate::account::{Call, Caller, check_new_password, find, fold, is_id, new_generation, nickname};
use crate::base::clock::Timestamp;
use crate::base::config::{self, Config, ID_LENGTH, NICKNAME_LENGTH};
use crate::mail::address::{Address, RULE};
use crate::record::error::{Code, Error, Outcome, Problem, Result};
use crate::record::id::MemberKey;
use crate::record::operation::{Access, Failure, Operation, Rate, Spec, Work};
use crate::store::{Arg, Isolation, StoreError, Topic, Tx};

const ROSTER_ONLY: Problem = Problem::new(
    Code::SignUpClosed,
    "only members of the university become members here: sign in with sign_in_up",
);

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
    const SPEC: Spec = Spec::post("account", "/sign_up", Access::Open)
        .works(Work::SignUp)
        .limited(Rate::SignUp)
        .or(&[Failure::SignUp]);

    fn documented_refusals(settings: &Config) -> Vec<Error> {
        sign_up_refusals(settings).into_iter().chain([Outcome::SignUpFail.into()]).collect()
    }

    fn run(self, call: &Call<'_>) -> Result<AccessToken> {
        let tidings = call.tidings();
        match (call.caller(), tidings.config().sign_up) {
            (Caller::Operator, _) | (_, config::Registration::Open) => {
                register(tidings, &self, false, |new| insert(call, new))
            }
            (_, config::Registration::Roster) => Err(Outcome::SignUpFail.because(ROSTER_ONLY)),
            (_, config::Registration::Closed) => Err(Outcome::SignUpFail.into()),
        }
    }
}

pub(in crate::account) fn sign_up_refusals(settings: &Config) -> [Error; 3] {
    let rule = Problem::password("pw", settings.password_length());
    [Outcome::WrongUserInfo.because(rule), Outcome::CheckPw.into(), Outcome::AlreadyId.into()]
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
        if taken || tidings.account().verifier.reserves(tidings, &form.id)? {
            return Err(Outcome::AlreadyId.into());
        }
        let password = tidings.account().hasher.hash(&form.pw)?;
        insert(New { id: form.id.clone(), nickname, password, verified: None, email })
    };
    register().map_err(|e: Error| e.if_failed("sign_up fail"))
}

pub(in crate::account) struct New {
    pub(in crate::account) id: String,
    pub(in crate::account) nickname: String,
    /// The hash.
    pub(in crate::account) password: String,
    pub(in crate::account) verified: Option<(String, String)>,
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
    call: &Call<'_>,
    form: &SignUp,
    accept: impl Fn(&mut dyn Tx, MemberKey) -> Result<()> + Send + 'static,
) -> Result<AccessToken> {
    register(call.tidings(), form, false, |new| insert_with(call, new, Isolation::Alone, accept))
}

pub(super) fn insert(call: &Call<'_>, new: New) -> Result<AccessToken> {
    // This only adds rows. If another transaction adds a member with the same id, it waits for the outcome.
    insert_with(call, new, Isolation::Locking, |_, _| Ok(()))
}

fn insert_with(
    call: &Call<'_>,
    new: New,
    isolation: Isolation,
    accept: impl Fn(&mut dyn Tx, MemberKey) -> Result<()> + Send + 'static,
) -> Result<AccessToken> {
    let (now, id) = (call.now(), new.id.clone());
    let session = Arc::new(new_session(call));
    let begun = Arc::clone(&session);
    let proposal = new.email.clone().map(|email| email::Proposal::new(call, email));
    let inserted = call.store().write(isolation, move |tx| {
        let (key, generation) = insert_member(tx, &new, now)?;
        accept(tx, key)?;
        if let Some(proposal) = &proposal {
            // Without a mail if there were too many: the member asks for another one later.
            proposal.make(tx, key)?;
        }
        begun.insert(tx, key, generation, false)?;
        Ok(generation)
    });
    issue(call, &id, inserted.map_err(taken)?, &session)
}

fn taken(error: Error) -> Error {
    match error {
        Error::Store(StoreError::Duplicate) => Outcome::AlreadyId.into(),
        error => error,
    }
}
