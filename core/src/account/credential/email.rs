//! The e-mail address of a member: at most one, confirmed with a code that is mailed to it. Only a confirmed address counts: it
//! belongs to one member, and receives codes for new passwords. No response reveals whether an address belongs to another member:
//! only a mail to the address does.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::attempt::{begin, failed, with_password};
use super::code;
use super::otp::proof::prove;
use crate::account::{Call, Identity, Member, Transaction, fold};

use crate::Tidings;
use crate::audit::trail::{Action, Entry, hex};
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::base::config::{CONFIRM_PAGE, Config, Mail};
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

pub(super) const LASTS_MS: i64 = 20 * 60 * SECOND_MS;
/// The number of wrong codes of six digits after which the right one no longer works.
const WRONG_MAX: i64 = 5;
const MEMBER_MAX: i64 = 5;

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

/// Get the e-mail address
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetEmail {}

impl Transaction for GetEmail {
    type By = Member<'static>;
    type Answer = EmailAddress;
    const SPEC: Spec = Spec::get(GROUP, "/get_email", Access::Members);

    fn run(&self, tx: &mut dyn Tx, member: &Member<'_>, _: &Identity) -> Result<EmailAddress> {
        Ok(sql::addresses(tx, member.key)?)
    }
}

/// Set the e-mail address
///
/// A mail with a code confirms a new address. An empty address removes the present one. Until then, an earlier address stays, and a
/// mail tells it. The answer is the same whether or not another member has the address: that is told to the address alone. A new
/// password, and whatever else ends the sessions of the member, withdraws it. `result` is `success`; or `incorrect pw`. Only for a
/// member who has enabled the second factor, it is `otp required` without a code and `incorrect otp` with a wrong one. After
/// several requests in an hour, further ones are refused with 429.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = SetEmailFields)]
pub struct SetEmail {
    /// The current password.
    #[schema(max_length = 1_000_000, examples("a long sentence"))]
    pub pw: String,
    /// The address; empty removes the one that the member has.
    #[schema(max_length = 254, examples("ann@example.org"))]
    pub email: String,
    /// The code of the authenticator, or a recovery code, of a member who has enabled the second factor.
    #[schema(max_length = 1_000, examples("287082"))]
    pub otp: Option<String>,
}

impl Operation for SetEmail {
    type Answer = ();
    const SPEC: Spec = with_password("/set_email");

    fn documented_refusals(_: &Config) -> Vec<Error> {
        [Outcome::IncorrectPw, Outcome::OtpRequired, Outcome::IncorrectOtp].map(Error::from).into()
    }

    fn run(self, call: &Call<'_>) -> Result<()> {
        let tidings = call.tidings();
        let (identity, now) = (call.authority(), call.now());
        call.store().read(|tx| identity.member(tx).map(drop))?;
        let proposal = match self.email.trim() {
            "" => None,
            email => {
                let address = Address::parse(email).ok_or(Error::BadRequest(RULE))?;
                Some(Proposal::new(call, address))
            }
        };
        if proposal.is_some() && !tidings.outbox().is_on() {
            return Err(Error::BadRequest(NO_MAIL));
        }
        prove(call, &self.pw, self.otp.as_deref())?;
        let is_new = proposal.is_some();
        let note = Note::new(tidings, if is_new { Kind::AddressProposed } else { Kind::AddressChanged });
        call.store().write(Isolation::Alone, move |tx| {
            let member = identity.member(tx)?;
            let had = sql::confirmed(tx, member.key)?;
            let Some(proposal) = &proposal else {
                if had.is_some() {
                    note.send(tx, member.key)?;
                    identity.record_own(tx, &member, Entry::new(Action::MemberEmail))?;
                }
                sql::remove(tx, member.key)?;
                return Ok(code::remove(tx, code::Kind::Reset, member.key)?);
            };
            let of_member = format!("member {}", member.key.as_i64());
            if !limit::take(tx, &of_member, MEMBER_MAX, now)? || !proposal.make(tx, member.key)? {
                return Err(limit::EXCEEDED);
            }
            if had.is_some_and(|had| had.to_ascii_lowercase() != proposal.address.folded()) {
                note.send(tx, member.key)?;
            }
            Ok(())
        })
    }
}

/// Confirm an e-mail address
///
/// Takes the code of the mail that `set_email` or `sign_up` sent. The six digits need the member's token; the code of the link does
/// not. `result` is `success`; or `incorrect code` when the code is wrong, was used before or has expired. The digits do not work
/// any more after five wrong ones: ask for another mail.
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
        Spec::post(GROUP, "/confirm_email", Access::Anyone).works(Work::Store).limited(Rate::Write).attempt();

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::IncorrectCode.into()]
    }

    fn run(self, call: &Call<'_>) -> Result<()> {
        let tidings = call.tidings();
        let (identity, now, outbox) = (call.authority(), call.now(), tidings.outbox());
        let attempt = begin(call, None)?;
        let (mail, link) = (ObjectId::new(tidings.clock()), code::hash(&self.code));
        let digits = Some(code::typed(&self.code)).filter(|code| code.len() == DIGITS);
        let is_confirmed = call.store().write(Isolation::Alone, move |tx| {
            let waiting = match &digits {
                None => of_link(tx, &link, now)?,
                Some(digits) => match identity.visitor(tx)? {
                    Some(member) => of_digits(tx, member.key, digits, now)?,
                    None => None,
                },
            };
            let Some(Waiting { member, address, had }) = waiting else { return Ok(false) };
            let Some(address) = Address::parse(&address) else { return Ok(false) };
            if sql::owner(tx, &address.folded())?.is_some_and(|owner| owner != member) {
                return Ok(false);
            }
            sql::confirm(tx, member, &address, now)?;
            code::remove(tx, code::Kind::Reset, member)?;
            if let Some(had) = had.filter(|had| had.to_ascii_lowercase() != address.folded()) {
                outbox.append(tx, mail, Kind::AddressChanged, To::Address(member, &had), now)?;
            }
            identity.record_by_code(tx, member, Entry::new(Action::MemberEmail))?;
            Ok::<_, Error>(true)
        })?;
        if is_confirmed { Ok(()) } else { Err(failed(attempt, Outcome::IncorrectCode)) }
    }
}

const DIGITS: usize = 6;

struct Waiting {
    member: MemberKey,
    address: String,
    /// The address that it replaces.
    had: Option<String>,
}

impl Waiting {
    fn of(tx: &mut dyn Tx, member: MemberKey) -> Result<Option<Self>, StoreError> {
        let EmailAddress { email: had, pending_email } = sql::addresses(tx, member)?;
        Ok(pending_email.map(|address| Self { member, address, had }))
    }
}

fn of_link(tx: &mut dyn Tx, hash: &str, now: Timestamp) -> Result<Option<Waiting>, StoreError> {
    let found = code::find(tx, &[code::Kind::Address], hash, now)?;
    found.map_or(Ok(None), |found| Waiting::of(tx, found.member))
}

fn of_digits(
    tx: &mut dyn Tx,
    member: MemberKey,
    digits: &str,
    now: Timestamp,
) -> Result<Option<Waiting>, StoreError> {
    let of = [(code::Kind::Address as i64).into(), member.into(), WRONG_MAX.into(), now.into()];
    let which = "kind = $1 AND member = $2 AND wrong < $3 AND expires > $4";
    let Some(mut row) = tx.row(&format!("SELECT hash, data FROM code WHERE {which}"), &of)? else {
        return Ok(None);
    };
    let (link, hash): (String, String) = (row.take(0)?, row.take(1)?);
    if hash_of_digits(&link, digits) == hash {
        return Waiting::of(tx, member);
    }
    tx.run(&format!("UPDATE code SET wrong = wrong + 1 WHERE {which}"), &of)?;
    Ok(None)
}

fn hash_of_digits(link: &str, digits: &str) -> String {
    hex(&Sha256::new_with_prefix("tidings address 1\0").chain_update(link).chain_update(digits).finalize())
}

fn random_digits() -> Zeroizing<String> {
    // The remainder of 64 random bits favours no code by more than 10⁻¹³.
    Zeroizing::new(format!("{:06}", u64::from_be_bytes(random()) % 1_000_000))
}

pub(super) struct Proposal {
    address: Address,
    outbox: Outbox,
    mail: ObjectId,
    mailbox: String,
    network: String,
    at: Timestamp,
}

impl Proposal {
    pub(super) fn new(call: &Call<'_>, address: Address) -> Self {
        let (tidings, at) = (call.tidings(), call.now());
        let network = limit::network(tidings, call.client().client());
        let (mailbox, outbox, mail) = (limit::mailbox(tidings, &address), tidings.outbox(), ObjectId::at(at));
        Self { address, outbox, mail, mailbox, network, at }
    }

    /// Stores the address and queues a mail that asks to confirm it. Returns false, without a mail, if there were too many.
    pub(super) fn make(&self, tx: &mut dyn Tx, member: MemberKey) -> Result<bool, StoreError> {
        let sql = "INSERT INTO member_email (member, pending) VALUES ($1, $2)
                   ON CONFLICT (member) DO UPDATE SET pending = excluded.pending";
        tx.run(sql, &[member.into(), self.address.as_str().into()])?;
        code::remove(tx, code::Kind::Address, member)?;
        let is_within = limit::take_of_network(tx, &self.network, self.at)?
            && limit::take_pair(tx, &self.mailbox, &self.network, self.at)?;
        if is_within {
            self.outbox.append(tx, self.mail, Kind::Confirm, To::Member(member), self.at)?;
        }
        Ok(is_within)
    }
}

/// A mail about a change, queued in the transaction of the change.
#[derive(Clone, Copy)]
pub(crate) struct Note {
    outbox: Outbox,
    mail: ObjectId,
    kind: Kind,
    pub(crate) at: Timestamp,
}

impl Note {
    pub(crate) fn new(tidings: &Tidings, kind: Kind) -> Self {
        Self { outbox: tidings.outbox(), mail: ObjectId::new(tidings.clock()), kind, at: tidings.now() }
    }

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

/// Empty if it is neither an address nor an id.
pub(super) fn asked(text: &str) -> String {
    let id = || if text.len() > ADDRESS_MAX { String::new() } else { fold(text.trim()) };
    Address::parse(text).map_or_else(id, |address| address.folded())
}

/// Returns the mail with new codes, or, if another member has the address, the mail that tells them.
pub(crate) fn confirmation(
    tx: &mut dyn Tx,
    config: &Mail,
    member: MemberKey,
    now: Timestamp,
) -> Result<Option<Letter>, StoreError> {
    let (Some(id), Some(pending)) = (sql::id(tx, member)?, sql::addresses(tx, member)?.pending_email) else {
        return Ok(None);
    };
    let Some(address) = Address::parse(&pending) else { return Ok(None) };
    let owner = sql::owner(tx, &address.folded())?.filter(|owner| *owner != member);
    // Codes are stored in either case, so that the member cannot tell that another one has the address.
    let (code, digits) = (code::generate(), random_digits());
    let hash = code::hash(&code);
    let data = hash_of_digits(&hash, &digits);
    code::insert(tx, code::Kind::Address, member, &hash, &data, now + LASTS_MS)?;
    if let Some(owner) = owner {
        let owner = sql::id(tx, owner)?;
        return Ok(owner.map(|id| Letter { to: pending, text: Text::Taken, id, code: None, link: None }));
    }
    let link = config.link(CONFIRM_PAGE, &code);
    Ok(Some(Letter { to: pending, text: Text::Confirm, id, code: Some(digits), link }))
}
