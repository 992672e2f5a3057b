//! The outbox: mail that has to be sent. An operation appends to it in the transaction of its change, so that a crash loses no
//! mail, and no mail tells of a change that was rolled back.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::base::clock::{HOUR_MS, Timestamp};
use crate::base::config::Config;
use crate::record::error::{Code, Problem};
use crate::record::id::{MemberKey, ObjectId};
use crate::record::jobs::{self, Table};
use crate::record::schema::{one_of, schemas};
use crate::store::{Row, StoreError, Topic, Tx};

pub(crate) const NO_MAIL: Problem = Problem::new(
    Code::NotPossible,
    "this service sends no mail: ask an administrator for a code, or to set smtp-url, which turns mail on",
);
pub(crate) const MAIL_IS_OFF: Problem =
    Problem::new(Code::NotPossible, "this service sends no mail: the setting smtp-url turns it on");
const PENDING_MAX: i64 = 10_000;
/// After this time nobody waits for a code any more.
const CODE_MS: i64 = HOUR_MS;

pub(crate) static MAILS: Table =
    Table { name: "mail", receiver: "''", dead_max: 1_000, spreads: false, job: "a mail" };

/// What a mail is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
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
    /// A note is sent however late it is.
    pub(super) fn until(self, date: Timestamp) -> Option<Timestamp> {
        matches!(self, Self::Confirm | Self::Reset).then(|| date + CODE_MS)
    }
}

schemas! {
    Kind = one_of(Kind::VARIANTS.iter().map(Into::into));
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
            <&str>::from(kind).into(),
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

/// Those that have been due the longest.
pub(super) fn look(tx: &mut dyn Tx, now: Timestamp, limit: usize) -> Result<jobs::Due<String>, StoreError> {
    let sql =
        "SELECT id FROM mail WHERE dead IS NULL AND next_attempt <= $1 ORDER BY next_attempt, key LIMIT $2";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let due = tx.rows(sql, &[now.into(), limit.into()])?.into_iter();
    let jobs = due.map(|mut row| Ok((row.take(0)?, String::new()))).collect::<Result<_, StoreError>>()?;
    let next = "SELECT min(next_attempt) FROM mail WHERE dead IS NULL AND next_attempt > $1";
    Ok(jobs::Due { jobs, next: tx.one(next, &[now.into()])?.take(0)? })
}

pub(super) struct Due {
    pub(super) kind: Option<Kind>,
    pub(super) member: Option<MemberKey>,
    pub(super) address: Option<String>,
    pub(super) asked: Option<String>,
    /// The hash of the network that has asked for it.
    pub(super) client: Option<String>,
    pub(super) date: Timestamp,
    pub(super) attempts: i64,
}

pub(super) fn due(tx: &mut dyn Tx, id: &str, now: Timestamp) -> Result<Option<Due>, StoreError> {
    let sql = "SELECT kind, member, address, asked, date, attempts, client FROM mail
               WHERE id = $1 AND dead IS NULL AND next_attempt <= $2";
    let due = |mut row: Row| {
        Ok(Due {
            kind: row.take::<String>(0)?.parse().ok(),
            member: row.take(1)?,
            address: row.take(2)?,
            asked: row.take(3)?,
            date: row.take(4)?,
            attempts: row.take(5)?,
            client: row.take(6)?,
        })
    };
    tx.row(sql, &[id.into(), now.into()])?.map(due).transpose()
}

pub(super) fn set_member(tx: &mut dyn Tx, id: &str, member: MemberKey) -> Result<(), StoreError> {
    let sql = "UPDATE mail SET member = $2, asked = NULL WHERE id = $1";
    tx.run(sql, &[id.into(), member.into()]).map(drop)
}
