//! Invitations: codes with which people sign up where the setting `sign_up` keeps others out. An invitation works only while the
//! administrator who made it still is one, because the role that it gives comes from them. Each use is counted in the transaction
//! that inserts the member, so that the limit holds and a sign-up that fails uses nothing.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::attempt::{begin, failed};
use super::sign_in::sign_up_refusals;
use super::{code, sign_in};
use crate::account::{AccessToken, Admin, Call, Identity, Scopes, SignUp, Transaction, role};

use crate::audit::trail::{Action, Entry};
use crate::base::clock::{DAY_MS, Timestamp};
use crate::base::config::{Bounds, Config, INVITE_PAGE, Mail};
use crate::base::text;
use crate::mail::address::{Address, RULE};
use crate::mail::letter::{Letter, Text};
use crate::mail::outbox::{Kind, MAIL_IS_OFF, Outbox, To};
use crate::record::error::{Code, Error, Outcome, Problem, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Operation, Rate, Spec, Work};
use crate::record::schema::Switch;
use crate::record::scope::Scope;
use crate::store::{Isolation, StoreError, Tx};

mod sql;
#[cfg(test)]
mod tests;

pub(crate) use sql::forget_mail;
pub(in crate::account) use sql::remove_all;

const INVITATIONS_MAX: usize = 1_000;
const USES_MAX: i64 = 1_000;
const USES: i64 = 1;
const DAYS_MAX: i64 = 90;
const DAYS: i64 = 7;
/// In characters.
const NOTE: Bounds = Bounds { min: 1, max: 100 };

const GROUP: &str = "admin";

const USES_RULE: Problem = Problem::invalid("uses", "uses is a number from 1 to 1,000");
const DAYS_RULE: Problem = Problem::invalid("days", "days is a number from 1 to 90");
const NOTE_RULE: Problem = Problem::invalid("note", "note is up to 100 visible characters on one line");
const TOO_MANY: Problem =
    Problem::new(Code::NotPossible, "there are 1,000 invitations already: remove those that nobody will use");
const WRONG: Problem = Problem::new(
    Code::WrongCode,
    "the code is wrong, was used as often as it may be, has expired, or is no longer valid: ask for another invitation",
)
.of("code");

/// A new invitation.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct NewInvitation {
    /// Its id.
    #[serde(rename = "_id")]
    pub id: ObjectId,
    /// The code with which people sign up, which is not shown again; null if it is mailed.
    #[schema(max_length = 1_000, examples("8k2m-0qwz-7hn4-c9xe"))]
    pub code: Option<String>,
    /// The time at which it expires.
    pub expires: Timestamp,
}

/// The invitations.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Invitations {
    /// The invitations, the latest first. Those that are used up or have expired are deleted when the next one is made.
    pub invitations: Vec<Invitation>,
}

/// An invitation, without its code.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Invitation {
    /// Its id.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// By what an administrator recognises it; null without a note.
    #[schema(max_length = 100, examples("the library's team"))]
    pub note: Option<String>,
    /// How many members can still sign up with it.
    #[schema(minimum = 0, maximum = 1_000, examples(1))]
    pub uses: i64,
    /// The role of these members: what they may administer.
    #[schema(value_type = Vec<Scope>)]
    pub scopes: Vec<Scope>,
    /// The id of the administrator who made it; null if the operator did.
    #[schema(max_length = 1_000_000, examples("boss"))]
    pub made_by: Option<String>,
    /// The date when it was made.
    pub date: Timestamp,
    /// The time at which it expires.
    pub expires: Timestamp,
    /// 1 if it works now; 0 if it is used up or has expired, or if the one who made it is not an administrator now.
    #[schema(value_type = Switch)]
    pub open: u8,
}

/// List invitations
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {}

impl Transaction for List {
    type By = Admin<'static>;
    type Answer = Invitations;
    const SPEC: Spec = Spec::get(GROUP, "/get_invitations", Access::Persons);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<Invitations> {
        Ok(Invitations { invitations: sql::list(tx, admin, identity.now())? })
    }
}

/// Add an invitation
///
/// People sign up with its code, whatever `sign-up` says. The code is not shown again. It works while the administrator who made it
/// is one. Only administrators invite: no API key and no role allows it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = InvitationFields)]
pub struct Add {
    /// How many members can sign up with the code; 1 by default.
    #[schema(minimum = 1, maximum = 1_000, examples(30))]
    pub uses: Option<i64>,
    /// The number of days for which it works; 7 by default.
    #[schema(minimum = 1, maximum = 90, examples(7))]
    pub days: Option<i64>,
    /// The role of these members, what they may administer: names of scopes. Without any they have no role.
    #[schema(value_type = Option<Vec<Scope>>, max_items = 100)]
    pub scopes: Option<Vec<String>>,
    /// By what an administrator recognises the invitation, up to 100 characters on one line.
    #[schema(max_length = 100, examples("the library's team"))]
    pub note: Option<String>,
    /// An e-mail address to which the code is mailed, on a service that sends mail. Then it is not shown.
    #[schema(max_length = 254, examples("ann@example.org"))]
    pub email: Option<String>,
}

struct Draft {
    uses: i64,
    scopes: Scopes,
    note: Option<String>,
    email: Option<Address>,
    expires: Timestamp,
}

impl Add {
    fn parse(&self, outbox: Outbox, now: Timestamp) -> Result<Draft, Problem> {
        let within = |value: Option<i64>, default: i64, max: i64, rule: Problem| {
            Some(value.unwrap_or(default)).filter(|value| (1..=max).contains(value)).ok_or(rule)
        };
        let uses = within(self.uses, USES, USES_MAX, USES_RULE)?;
        let days = within(self.days, DAYS, DAYS_MAX, DAYS_RULE)?;
        let scopes = Scopes::parse(self.scopes.as_deref().unwrap_or_default())?;
        let note = self.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
        let note = note.map(|note| text::name(note, NOTE).ok_or(NOTE_RULE)).transpose()?;
        let email = self.email.as_deref().map(str::trim).filter(|email| !email.is_empty());
        let email = email.map(|email| Address::parse(email).ok_or(RULE)).transpose()?;
        if email.is_some() && !outbox.is_on() {
            return Err(MAIL_IS_OFF);
        }
        Ok(Draft { uses, scopes, note, email, expires: now + days * DAY_MS })
    }
}

impl Operation for Add {
    type Answer = NewInvitation;
    const SPEC: Spec = Spec::post(GROUP, "/add_invitation", Access::Persons);

    fn run(self, call: &Call<'_>) -> Result<NewInvitation> {
        let (identity, now) = (call.authority(), call.now());
        let outbox = call.tidings().outbox();
        let draft = self.parse(outbox, now);
        let is_mailed = draft.as_ref().is_ok_and(|draft| draft.email.is_some());
        let mail = ObjectId::new(call.tidings().clock());
        // If the invitation is mailed, the mail gets another code, and nobody learns this one.
        let (id, code) = (ObjectId::new(call.tidings().clock()), code::generate());
        let hash = code::hash(&code);
        let expires = call.store().write(Isolation::Alone, move |tx| {
            // A caller who may not invite learns nothing about the invitations.
            let admin = identity.admin(tx)?;
            let draft = draft.as_ref().map_err(|rule| Error::BadRequest(*rule))?;
            sql::prune(tx, now)?;
            if sql::count(tx)? >= INVITATIONS_MAX {
                return Err(Error::BadRequest(TOO_MANY));
            }
            let (id, scopes) = (id.to_string(), draft.scopes.stored());
            sql::insert(tx, &admin, &id, &hash, draft, now)?;
            admin.record(tx, Entry::new(Action::InvitationAdd).on(&id).change(None, scopes.as_deref()))?;
            if let Some(email) = &draft.email
                && !outbox.append(tx, mail, Kind::Invite, To::Invited(email.as_str(), &id), now)?
            {
                return Err(Error::Overloaded);
            }
            Ok(draft.expires)
        })?;
        Ok(NewInvitation { id, code: (!is_mailed).then_some(code), expires })
    }
}

/// The new code replaces the earlier one; `None` if the invitation no longer works.
pub(crate) fn letter(
    tx: &mut dyn Tx,
    config: &Mail,
    id: &str,
    to: &str,
    now: Timestamp,
) -> Result<Option<Letter>, StoreError> {
    let code = Zeroizing::new(code::generate());
    if !sql::set_hash(tx, id, &code::hash(&code), now)? {
        return Ok(None);
    }
    let link = config.link(INVITE_PAGE, &code);
    Ok(Some(Letter { to: to.to_owned(), text: Text::Invite, id: String::new(), code: Some(code), link }))
}

/// Remove an invitation
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Remove {
    /// The id of the invitation
    #[schema(min_length = 1, max_length = 1_000, examples("6560c1a2ffeeddccbbaa0099"))]
    pub invitation_obi: String,
}

impl Transaction for Remove {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/remove_invitation/{invitation_obi}", Access::Persons)
        .writes()
        .or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<()> {
        if !sql::remove(tx, admin, &self.invitation_obi)? {
            return Err(Error::NotFound);
        }
        sql::forget_mail(tx, identity.now())?;
        Ok(admin.record(tx, Entry::new(Action::InvitationRemove).on(&self.invitation_obi))?)
    }
}

/// Sign up with an invitation
///
/// It works whoever else may sign up, and the member gets the role of the invitation.
/// `result` is `success`; or `incorrect code` when the code is wrong, used up, expired or removed, `wrong user info` when the id,
/// password or nickname is not valid, `check pw` when the passwords differ, `already id` when the id is taken. The first that
/// applies is returned, and such a sign-up does not use the invitation. After several wrong codes, further attempts of the client
/// are refused for a while with 429.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = InvitedSignUpFields)]
pub struct SignUpInvited {
    /// What a sign-up takes.
    #[serde(rename = "..")]
    pub form: SignUp,
    /// The code of the invitation.
    #[schema(max_length = 1_000, examples("8k2m-0qwz-7hn4-c9xe"))]
    pub code: String,
}

impl Operation for SignUpInvited {
    type Answer = AccessToken;
    const SPEC: Spec = Spec::post("account", "/sign_up_invited", Access::Open)
        .works(Work::SignUp)
        .limited(Rate::SignUp)
        .or(&[Failure::SignUp])
        .attempt();

    fn documented_refusals(settings: &Config) -> Vec<Error> {
        sign_up_refusals(settings).into_iter().chain([wrong_code()]).collect()
    }

    fn run(self, call: &Call<'_>) -> Result<AccessToken> {
        let (identity, now, hash) = (call.authority(), call.now(), code::hash(&self.code));
        let attempt = begin(call, None)?;
        // Checked first, so that only invited people learn which ids are taken, and only they make the server hash a password.
        if !call.store().read(|tx| sql::is_open(tx, &hash, now))? {
            return Err(failed(attempt, wrong_code()));
        }
        sign_in::sign_up_with(call, &self.form, move |tx, member| {
            // Another member may have used it up in the meantime.
            let (id, scopes) = sql::count_use(tx, &hash, now)?.ok_or_else(wrong_code)?;
            sql::forget_mail(tx, now)?;
            let names = scopes.stored();
            if names.is_some() {
                role::sql::set(tx, member, &scopes)?;
            }
            let used = names.map_or_else(|| id.clone(), |names| format!("{id} {names}"));
            Ok(identity.record_by_code(tx, member, Entry::new(Action::InvitationUse).after(&used))?)
        })
    }
}

fn wrong_code() -> Error {
    Outcome::IncorrectCode.because(WRONG)
}
