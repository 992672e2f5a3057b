//! New passwords of members who have forgotten theirs. The member chooses the password with a code, from a mail or from an
//! administrator, so nobody else knows it. The second factor stays: a code alone does not let a finder in.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::attempt::{begin, failed};
use super::{code, email, sign_in};
use crate::account::{Call, MemberRecord, check_new_passwords, find, passwords_differ, revoke_tokens};

use crate::account::{Admin, Identity, Transaction};
use crate::audit::trail::{Action, Entry};
use crate::base::clock::{HOUR_MS, Timestamp};
use crate::base::config::{Config, Mail, RESET_PAGE};
use crate::mail::letter::{Letter, Text};
use crate::mail::limit;
use crate::mail::outbox::{Kind, NO_MAIL, To};
use crate::record::error::{Code, Error, Outcome, Problem, Result};
use crate::record::id::{MemberKey, ObjectId};
use crate::record::operation::{Access, Failure, Operation, Rate, Spec, Work};
use crate::store::{Isolation, StoreError, Tx};

#[cfg(test)]
mod tests;

const LASTS_MS: i64 = HOUR_MS;

const OWN: Problem = Problem::new(
    Code::NotPossible,
    "administrators cannot issue a code to themselves: change your password, or ask the operator or another administrator",
);

/// A code with which a member chooses a new password once.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ResetCode {
    /// The code, which is not shown again.
    #[schema(max_length = 1_000, examples("8k2m-0qwz-7hn4-c9xe"))]
    pub code: String,
    /// The time at which it expires.
    pub expires: Timestamp,
}

/// Issue a password reset code
///
/// A member who has forgotten their password chooses a new one with it. The code works once and for an hour, and replaces an
/// earlier one of an administrator. It ends when the password changes or the member is signed out everywhere. Administrators cannot
/// issue one to themselves. Only administrators do this: no API key and no role allows it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IssueReset {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Transaction for IssueReset {
    type By = Admin<'static>;
    type Answer = ResetCode;
    const SPEC: Spec =
        Spec::get("admin", "/issue_pw_reset/{user_id}", Access::Persons).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<ResetCode> {
        let (code, expires) = (code::generate(), identity.now() + LASTS_MS);
        let member = find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
        if admin.is(member.key) {
            return Err(Error::BadRequest(OWN));
        }
        code::insert(tx, code::Kind::IssuedReset, member.key, &code::hash(&code), "", expires)?;
        admin.record(tx, Entry::new(Action::MemberResetCode).on_member(member.key))?;
        Ok(ResetCode { code, expires })
    }
}

/// Request a password reset
///
/// Mails a code with which the member chooses a new password. The mail goes to the confirmed address of the member, if there is
/// one. The answer is the same, after the same time, whether or not there is such a member. The code works once and for 20 minutes;
/// of the codes of several mails, the latest three work. After several requests of a client in an hour, further ones are refused
/// with 429; after several about one member, it is sent no further mail.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = RequestResetFields)]
pub struct RequestReset {
    /// The id of the member, or their address.
    #[schema(max_length = 1_000_000, examples("ann@example.org"))]
    pub id: String,
}

impl Operation for RequestReset {
    type Answer = ();
    const SPEC: Spec = Spec::post("account", "/request_pw_reset", Access::Open).attempt();

    fn run(self, call: &Call<'_>) -> Result<()> {
        let tidings = call.tidings();
        let (now, outbox, asked) = (call.now(), tidings.outbox(), email::asked(&self.id));
        if !outbox.is_on() {
            return Err(Error::BadRequest(NO_MAIL));
        }
        let (network, mail) =
            (limit::network(tidings, call.client().client()), ObjectId::new(tidings.clock()));
        // The member is looked up when the mail is sent, so nothing here depends on whether there is one.
        call.store().write(Isolation::Alone, move |tx| {
            if !limit::take_of_network(tx, &network, now)? {
                return Err(limit::EXCEEDED);
            }
            outbox.append(tx, mail, Kind::Reset, To::Asked(&asked, &network), now)?;
            Ok(())
        })
    }
}

/// Returns `None` if the member has no confirmed address, or has received too many mails.
pub(crate) fn letter(
    tx: &mut dyn Tx,
    config: &Mail,
    member: MemberKey,
    network: &str,
    now: Timestamp,
) -> Result<Option<Letter>, StoreError> {
    let (Some(id), Some(to)) = (email::id(tx, member)?, email::confirmed(tx, member)?) else {
        return Ok(None);
    };
    // Counted by member, so that requests by id and by address count together.
    if !limit::take_pair(tx, &format!("reset {}", member.as_i64()), network, now)? {
        return Ok(None);
    }
    let code = Zeroizing::new(code::generate());
    code::insert(tx, code::Kind::Reset, member, &code::hash(&code), "", now + email::LASTS_MS)?;
    let link = config.link(RESET_PAGE, &code);
    Ok(Some(Letter { to, text: Text::Reset, id, code: Some(code), link }))
}

fn holder_of(tx: &mut dyn Tx, hash: &str, now: Timestamp) -> Result<Option<MemberRecord>, StoreError> {
    let found = code::find(tx, &[code::Kind::Reset, code::Kind::IssuedReset], hash, now)?;
    let id = found.map_or(Ok(None), |found| email::id(tx, found.member))?;
    id.map_or(Ok(None), |id| find(tx, &id))
}

/// Reset a forgotten password
///
/// Takes a code of a mail or of an administrator, and signs the member out everywhere. The member signs in with it afterwards, and
/// with their second factor if they have enabled one. `result` is `success`; or `incorrect code` when the code is wrong, was used
/// before or has expired, `wrong user info` when the new password is not valid, `check pw` when its two copies differ. After
/// several wrong codes, further attempts of the client are refused for a while with 429.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = ResetPasswordFields)]
pub struct ResetPassword {
    /// The code.
    #[schema(max_length = 1_000, examples("8k2m-0qwz-7hn4-c9xe"))]
    pub code: String,
    /// The new password, {pw} characters.
    #[schema(examples("another long sentence"))]
    pub new_pw: String,
    /// The new password again.
    #[schema(max_length = 1_000_000, examples("another long sentence"))]
    pub new_pw_check: String,
}

impl Operation for ResetPassword {
    type Answer = ();
    const SPEC: Spec = Spec::post("account", "/reset_pw", Access::Open)
        .works(Work::Password)
        .limited(Rate::General)
        .attempt();

    fn documented_refusals(settings: &Config) -> Vec<Error> {
        vec![
            Outcome::IncorrectCode.into(),
            Outcome::WrongUserInfo.because(Problem::password("new_pw", settings.password_length())),
            passwords_differ(),
        ]
    }

    fn run(self, call: &Call<'_>) -> Result<()> {
        let tidings = call.tidings();
        let (identity, now, hash) = (call.authority(), call.now(), code::hash(&self.code));
        let note = email::Note::new(tidings, Kind::PasswordChanged);
        let attempt = begin(call, None)?;
        let Some(holder) = call.store().read(|tx| holder_of(tx, &hash, now))? else {
            return Err(failed(attempt, Outcome::IncorrectCode));
        };
        check_new_passwords(tidings.config(), &self.new_pw, &self.new_pw_check, holder.admin)?;
        let password = tidings.account().hasher.hash(&self.new_pw)?;
        call.store().write(Isolation::Alone, move |tx| {
            // The code may have been used or replaced in the meantime.
            let holder = holder_of(tx, &hash, now)?.ok_or(Outcome::IncorrectCode)?;
            sign_in::set_password(tx, holder.key, holder.generation, &password)?;
            revoke_tokens(tx, holder.key)?;
            note.send(tx, holder.key)?;
            Ok(identity.record_by_code(tx, holder.key, Entry::new(Action::MemberResetPassword))?)
        })
    }
}
