//! The outbox: mail that has to be sent.
//!
//! An operation appends to it in the transaction of its change, so that a crash loses no mail, and no mail tells of a change that
//! was rolled back.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::clock::{DAY_MS, HOUR_MS, Timestamp};
use crate::base::config::Config;
use crate::record::error::{Code, Problem};
use crate::record::id::{MemberKey, ObjectId};
use crate::record::schema::{one_of, schemas};
use crate::store::{Row, StoreError, Topic, Tx};

pub(crate) const NO_MAIL: Problem = Problem::new(
    Code::NotPossible,
    "this service sends no mail: ask an administrator for a code, or to set smtp-url, which turns mail on",
);
/// [`NO_MAIL`] for administrators.
pub(crate) const MAIL_IS_OFF: Problem =
    Problem::new(Code::NotPossible, "this service sends no mail: the setting smtp-url turns it on");
const PENDING_MAX: i64 = 10_000;
const DEAD_MAX: i64 = 1_000;
const DEAD_MS: i64 = 30 * DAY_MS;
/// After this time nobody waits for a code any more.
const CODE_MS: i64 = HOUR_MS;

/// What a mail is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A code that confirms an address.
    Confirm,
    /// A code for a new password.
    Reset,
    /// A note that the password has changed.
    PasswordChanged,
    /// A note to an address that it is no longer that of the account.
    AddressChanged,
    /// A note to an address that another one was given in its place.
    AddressProposed,
    /// A note that what a sign-in needs has changed: the second factor, a passkey or a single sign-on.
    SignInChanged,
    /// The code of an invitation.
    Invite,
}

impl Kind {
    pub(super) const ALL: [Self; 7] = [
        Self::Confirm,
        Self::Reset,
        Self::PasswordChanged,
        Self::AddressChanged,
        Self::AddressProposed,
        Self::SignInChanged,
        Self::Invite,
    ];

    /// Never changes.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Reset => "reset",
            Self::PasswordChanged => "password_changed",
            Self::AddressChanged => "address_changed",
            Self::AddressProposed => "address_proposed",
            Self::SignInChanged => "sign_in_changed",
            Self::Invite => "invite",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Nobody waits long for a code.
    const fn has_code(self) -> bool {
        matches!(self, Self::Confirm | Self::Reset)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

schemas! {
    Kind = one_of(Kind::ALL.map(Kind::name));
}

/// A service without a mail server stores no mail.
#[derive(Clone, Copy)]
pub(crate) struct Outbox {
    is_on: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum To<'a> {
    /// The address of a member that waits for its confirmation.
    Member(MemberKey),
    /// The address is or was that of a member.
    Address(MemberKey, &'a str),
    /// The member with this id or address, if there is one, for whom the network with this hash has asked.
    Asked(&'a str, &'a str),
    /// An address, and the id of the invitation.
    Invited(&'a str, &'a str),
}

impl Outbox {
    pub(crate) const fn of(config: &Config) -> Self {
        Self { is_on: config.mail.is_on() }
    }

    pub(crate) const fn is_on(self) -> bool {
        self.is_on
    }

    /// Returns false if the same mail waits already, or too many do.
    pub(crate) fn append(
        self,
        tx: &mut dyn Tx,
        id: ObjectId,
        kind: Kind,
        to: To<'_>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        if !self.is_on {
            return Ok(false);
        }
        let (member, address, asked, client) = match to {
            To::Member(member) => (Some(member), None, None, None),
            To::Address(member, address) => (Some(member), Some(address), None, None),
            To::Asked(asked, network) => (None, None, Some(asked), Some(network)),
            To::Invited(address, invitation) => (None, Some(address), Some(invitation), None),
        };
        let sql = "INSERT INTO mail (id, kind, member, address, asked, date, next_attempt, client)
                   SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS bigint), CAST($4 AS text), CAST($5 AS text),
                          CAST($6 AS bigint), CAST($6 AS bigint), CAST($8 AS text)
                   WHERE (SELECT count(*) FROM mail WHERE dead IS NULL) < $7
                     AND NOT EXISTS (SELECT 1 FROM mail WHERE dead IS NULL AND attempts = 0 AND kind = $2
                                     AND coalesce(member, 0) = coalesce(CAST($3 AS bigint), 0)
                                     AND coalesce(address, '') = coalesce(CAST($4 AS text), '')
                                     AND coalesce(asked, '') = coalesce(CAST($5 AS text), '')
                                     AND coalesce(client, '') = coalesce(CAST($8 AS text), ''))";
        let id = id.to_string();
        let args = [
            (&id).into(),
            kind.name().into(),
            member.into(),
            address.into(),
            asked.into(),
            now.into(),
            PENDING_MAX.into(),
            client.into(),
        ];
        let is_appended = tx.run(sql, &args)? > 0;
        tx.touch(Topic::Mail);
        Ok(is_appended)
    }
}

pub(super) struct Due {
    pub(super) id: String,
    pub(super) kind: Option<Kind>,
    pub(super) member: Option<MemberKey>,
    pub(super) address: Option<String>,
    pub(super) asked: Option<String>,
    /// The hash of the network that has asked for it.
    pub(super) client: Option<String>,
    pub(super) date: Timestamp,
    pub(super) attempts: i64,
}

pub(super) fn next_attempt(tx: &mut dyn Tx) -> Result<Option<Timestamp>, StoreError> {
    tx.one("SELECT min(next_attempt) FROM mail WHERE dead IS NULL", &[])?.take(0)
}

/// The mails that have been due the longest.
pub(super) fn due(tx: &mut dyn Tx, now: Timestamp, limit: i64) -> Result<Vec<Due>, StoreError> {
    let sql = "SELECT id, kind, member, address, asked, date, attempts, client FROM mail
               WHERE dead IS NULL AND next_attempt <= $1 ORDER BY next_attempt, key LIMIT $2";
    let due = |mut row: Row| {
        Ok(Due {
            id: row.take(0)?,
            kind: Kind::named(&row.take::<String>(1)?),
            member: row.take(2)?,
            address: row.take(3)?,
            asked: row.take(4)?,
            date: row.take(5)?,
            attempts: row.take(6)?,
            client: row.take(7)?,
        })
    };
    tx.rows(sql, &[now.into(), limit.into()])?.into_iter().map(due).collect()
}

pub(super) fn set_member(tx: &mut dyn Tx, id: &str, member: MemberKey) -> Result<(), StoreError> {
    let sql = "UPDATE mail SET member = $2, asked = NULL WHERE id = $1";
    tx.run(sql, &[id.into(), member.into()]).map(drop)
}

pub(super) fn remove(tx: &mut dyn Tx, id: &str) -> Result<(), StoreError> {
    tx.run("DELETE FROM mail WHERE id = $1", &[id.into()]).map(drop)
}

/// Without a `next` attempt the mail is given up; beyond [`DEAD_MAX`] the oldest ones are removed.
pub(super) fn failed(
    tx: &mut dyn Tx,
    id: &str,
    next: Option<Timestamp>,
    error: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE mail SET attempts = attempts + 1, next_attempt = $2, last_error = $3, dead = $4 WHERE id = $1";
    let dead = next.is_none().then_some(now);
    tx.run(sql, &[id.into(), next.unwrap_or(now).into(), error.into(), dead.into()])?;
    let sql = "SELECT key FROM mail WHERE dead IS NOT NULL ORDER BY key DESC LIMIT 1 OFFSET $1";
    if let Some(mut row) = tx.row(sql, &[DEAD_MAX.into()])? {
        let sql = "DELETE FROM mail WHERE dead IS NOT NULL AND key <= $1";
        tx.run(sql, &[row.take::<i64>(0)?.into()])?;
    }
    Ok(())
}

/// Nobody waits any more for a mail of this date.
pub(super) fn is_late(kind: Kind, date: Timestamp, at: Timestamp) -> bool {
    kind.has_code() && at - date > CODE_MS
}

/// Removes at most `limit` mails that were given up long ago. Returns whether there may be more.
pub(crate) fn prune(tx: &mut dyn Tx, now: Timestamp, limit: u64) -> Result<bool, StoreError> {
    let sql = "DELETE FROM mail WHERE key IN (SELECT key FROM mail WHERE dead <= $1 LIMIT $2)";
    Ok(tx.run(sql, &[(now - DEAD_MS).into(), limit.cast_signed().into()])? == limit)
}
