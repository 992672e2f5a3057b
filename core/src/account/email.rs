//! The e-mail address of a member: one, which is confirmed with a code that was sent to it.
//!
//! Only a confirmed address counts: it gets codes for new passwords, and belongs to one member. Whether an address is that of
//! somebody else is never answered: a mail says it to the address.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::attempt::{ForClient, begin, failed, succeeded};
use super::password::Check;
use super::{Caller, SignInClient, fold, otp};

use crate::Tidings;
use crate::audit::trail::{Action, Entry, hex};
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::base::config::{Config, Mail, PageUrl};
use crate::base::random::random;
use crate::mail::address::{ADDRESS_MAX, Address, RULE};
use crate::mail::letter::{Letter, Text};
use crate::mail::limit;
use crate::mail::outbox::{Kind, NO_MAIL, Outbox, To};
use crate::record::error::{Error, Outcome, Result};
use crate::record::id::{MemberKey, ObjectId};
use crate::record::operation::{Access, Operation, Rate, Spec, Work};
use crate::store::{Isolation, StoreError, Tx};

mod sql;
#[cfg(test)]
mod tests;

pub(super) use sql::owner;
pub(crate) use sql::{addresses, confirmed, id, import, reachable};

const GROUP: &str = "account";

/// The time for which codes in mail work, in milliseconds.
pub(super) const LASTS_MS: i64 = 20 * 60 * SECOND_MS;
/// The number of wrong codes of six digits after which the right one does not work any more.
const WRONG_MAX: i64 = 5;
/// Mails with a code to one address, and for one member, in an hour.
const MAILS_MAX: i64 = 5;

/// The address of the member.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EmailAddress {
    /// The confirmed address; null if there is none.
    #[schema(max_length = 254, examples("ann@example.org"))]
    pub email: Option<String>,
    /// An address that waits for its confirmation; null if there is none.
    #[schema(max_length = 254, examples("ann.lee@example.org"))]
    pub pending_email: Option<String>,
}

/// Get the e-mail address of the member
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetEmail {}

impl Operation for GetEmail {
    type Answer = EmailAddress;
    const SPEC: Spec = Spec::get(GROUP, "/get_email", Access::Members);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<EmailAddress> {
        let identity = caller.identify(tidings);
        tidings.store().read(|tx| {
            let member = identity.member(tx)?;
            Ok(sql::addresses(tx, member.key)?)
        })
    }
}

/// Give the member an e-mail address, which a mail with a code confirms, or another one, or none
///
/// Until then, an earlier address stays. The answer is the same whether or not another member has the address: that is told to the
/// address alone. `result` is `success`; or `incorrect pw`. After several requests in an hour, further ones are refused with 429.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = SetEmailFields)]
pub struct SetEmail {
    /// The current password.
    #[schema(max_length = 1_000_000, examples("a long sentence"))]
    pub pw: String,
    /// The address; empty removes the one that the member has.
    #[schema(max_length = 254, examples("ann@example.org"))]
    pub email: String,
}

impl Operation for SetEmail {
    type Answer = ();
    const SPEC: Spec =
        Spec::post(GROUP, "/set_email", Access::Members).works(Work::Password).limited(Rate::General);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::IncorrectPw.into()]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        self.run_for(tidings, caller, SignInClient::default())
    }
}

impl ForClient for SetEmail {
    fn run_for(self, tidings: &Tidings, caller: &Caller, client: SignInClient) -> Result<()> {
        let (identity, now, outbox) = (caller.identify(tidings), tidings.now(), tidings.outbox());
        let stored = tidings.store().read(|tx| {
            let member = identity.member(tx)?;
            sql::password(tx, member.key)?.ok_or(Error::BadToken)
        })?;
        let address = match self.email.trim() {
            "" => None,
            email => Some(Address::parse(email).ok_or(Error::BadRequest(RULE))?),
        };
        if address.is_some() && !outbox.is_on() {
            return Err(Error::BadRequest(NO_MAIL));
        }
        let attempt = begin(tidings, Some(&stored.id), client.client)?;
        if tidings.hasher().check(&self.pw, Some(&stored.password))? == Check::Wrong {
            return Err(failed(attempt, Outcome::IncorrectPw));
        }
        let mail = ObjectId::new(tidings.clock());
        tidings.store().write(Isolation::Alone, move |tx| {
            let member = identity.member(tx)?;
            let Some(address) = &address else {
                let had = sql::confirmed(tx, member.key)?;
                sql::remove(tx, member.key)?;
                if let Some(had) = had {
                    let to = To::Address(member.key, &had);
                    outbox.append(tx, mail, Kind::AddressChanged, to, now)?;
                    identity.record_own(tx, &member, Entry::new(Action::MemberEmail))?;
                }
                return Ok(());
            };
            let is_within = limit::take(tx, &format!("member {}", member.key.as_i64()), MAILS_MAX, now)?
                && limit::take(tx, &subject(address), MAILS_MAX, now)?;
            if !is_within {
                return Err(Error::TooManyRequests { retry_after_s: 3_600 });
            }
            sql::propose(tx, member.key, address.as_str())?;
            outbox.append(tx, mail, Kind::Confirm, To::Member(member.key), now)?;
            Ok(())
        })?;
        succeeded(attempt);
        Ok(())
    }
}

/// Confirm the address that waits for it, with the code of a mail
///
/// The six digits need the member's token; the code of the link does not. `result` is `success`; or `incorrect code` when the code is
/// wrong, was used before or has expired. The digits do not work any more after five wrong ones: ask for another mail.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = ConfirmEmailFields)]
pub struct ConfirmEmail {
    /// The code.
    #[schema(max_length = 1_000, examples("287082"))]
    pub code: String,
}

impl Operation for ConfirmEmail {
    type Answer = ();
    const SPEC: Spec =
        Spec::post(GROUP, "/confirm_email", Access::Anyone).works(Work::Store).limited(Rate::Write);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::IncorrectCode.into()]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        self.run_for(tidings, caller, SignInClient::default())
    }
}

impl ForClient for ConfirmEmail {
    fn run_for(self, tidings: &Tidings, caller: &Caller, client: SignInClient) -> Result<()> {
        let (identity, now, outbox) = (caller.identify(tidings), tidings.now(), tidings.outbox());
        let attempt = begin(tidings, None, client.client)?;
        let (mail, link) = (ObjectId::new(tidings.clock()), otp::hash(&self.code));
        let digits = Some(otp::typed(&self.code)).filter(|code| code.len() == DIGITS);
        let is_confirmed = tidings.store().write(Isolation::Alone, move |tx| {
            let waiting = match &digits {
                None => sql::of_link(tx, &link, now)?,
                Some(digits) => match identity.member(tx) {
                    Ok(member) => of_digits(tx, member.key, digits, now)?,
                    Err(Error::BadToken | Error::Forbidden) => None,
                    Err(error) => return Err(error),
                },
            };
            let Some(Waiting { member, address, had, .. }) = waiting else { return Ok(false) };
            let Some(address) = Address::parse(&address) else { return Ok(false) };
            if sql::owner(tx, &address.folded())?.is_some_and(|owner| owner != member) {
                return Ok(false);
            }
            sql::confirm(tx, member, &address, now)?;
            if let Some(had) = had.filter(|had| had.to_ascii_lowercase() != address.folded()) {
                outbox.append(tx, mail, Kind::AddressChanged, To::Address(member, &had), now)?;
            }
            identity.record_by_code(tx, member, Entry::new(Action::MemberEmail))?;
            Ok::<_, Error>(true)
        })?;
        if is_confirmed { Ok(()) } else { Err(failed(attempt, Outcome::IncorrectCode)) }
    }
}

/// The number of digits of a code.
const DIGITS: usize = 6;

/// An address that waits for its confirmation.
struct Waiting {
    member: MemberKey,
    address: String,
    /// The address that it replaces.
    had: Option<String>,
    link: String,
    code: String,
}

/// Returns the address of a member that these digits confirm, or counts them as wrong.
fn of_digits(
    tx: &mut dyn Tx,
    member: MemberKey,
    digits: &str,
    now: Timestamp,
) -> Result<Option<Waiting>, StoreError> {
    let Some(waiting) = sql::waiting(tx, member, WRONG_MAX, now)? else { return Ok(None) };
    if hash_of_digits(&waiting.link, digits) == waiting.code {
        return Ok(Some(waiting));
    }
    sql::count_wrong(tx, member)?;
    Ok(None)
}

fn hash_of_digits(link: &str, digits: &str) -> String {
    hex(&Sha256::new_with_prefix("tidings address 1\0").chain_update(link).chain_update(digits).finalize())
}

/// Returns six random digits.
fn random_digits() -> Zeroizing<String> {
    // The rest of 64 bits favours no digit by more than 10⁻¹³.
    Zeroizing::new(format!("{:06}", u64::from_be_bytes(random()) % 1_000_000))
}

/// Stores the address that somebody has given at their sign-up, and asks them to confirm it. The transaction adds rows alone.
pub(super) fn sign_up(
    tx: &mut dyn Tx,
    outbox: Outbox,
    mail: ObjectId,
    member: MemberKey,
    address: &Address,
    now: Timestamp,
) -> Result<(), StoreError> {
    sql::propose(tx, member, address.as_str())?;
    if limit::take(tx, &subject(address), MAILS_MAX, now)? {
        outbox.append(tx, mail, Kind::Confirm, To::Member(member), now)?;
    }
    Ok(())
}

/// A note to the address of a member, which the transaction of a change sends.
#[derive(Clone, Copy)]
pub(crate) struct Note {
    outbox: Outbox,
    mail: ObjectId,
    kind: Kind,
    /// The time of the change.
    pub(crate) at: Timestamp,
}

impl Note {
    pub(crate) fn new(tidings: &Tidings, kind: Kind) -> Self {
        Self { outbox: tidings.outbox(), mail: ObjectId::new(tidings.clock()), kind, at: tidings.now() }
    }

    /// Sends it, if the member has an address.
    pub(crate) fn send(self, tx: &mut dyn Tx, member: MemberKey) -> Result<(), StoreError> {
        match sql::confirmed(tx, member)? {
            Some(address) => {
                let to = To::Address(member, &address);
                self.outbox.append(tx, self.mail, self.kind, to, self.at).map(drop)
            }
            None => Ok(()),
        }
    }
}

/// Returns what limits count for an address: a hash, because the address may be nobody's.
fn subject(address: &Address) -> String {
    format!("address {}", hex(&Sha256::digest(address.folded())))
}

/// Returns what a guest may have typed to name a member, an address or an id, as it is looked up; empty if it is neither.
pub(super) fn asked(text: &str) -> String {
    let id = || if text.len() > ADDRESS_MAX { String::new() } else { fold(text.trim()) };
    Address::parse(text).map_or_else(id, |address| address.folded())
}

/// Returns the mail that asks a member to confirm their address, with new codes.
pub(crate) fn confirmation(
    tx: &mut dyn Tx,
    config: &Mail,
    member: MemberKey,
    now: Timestamp,
) -> Result<Option<Letter>, StoreError> {
    let (Some(id), Some(pending)) = (sql::id(tx, member)?, sql::addresses(tx, member)?.pending_email) else {
        return Ok(None);
    };
    let owner = match Address::parse(&pending) {
        Some(address) => sql::owner(tx, &address.folded())?.filter(|owner| *owner != member),
        None => return Ok(None),
    };
    if let Some(owner) = owner {
        sql::withdraw(tx, member)?;
        let owner = sql::id(tx, owner)?;
        return Ok(owner.map(|id| Letter { to: pending, text: Text::Taken, id, code: None, link: None }));
    }
    let (link, digits) = (otp::random_code(), random_digits());
    let hash = otp::hash(&link);
    sql::set_codes(tx, member, &hash, &hash_of_digits(&hash, &digits), now + LASTS_MS)?;
    let link = config.confirm_url.as_ref().map(|page: &PageUrl| page.with_code(&link));
    Ok(Some(Letter { to: pending, text: Text::Confirm, id, code: Some(digits), link }))
}
