//! The chain of records, appended in the transaction of the change ([`append`]). A record is never changed, and its hash covers
//! the hash of the one before. A member in a record is their key and a salted hash of their id; the salt disappears with the
//! member: then nobody can tell whose id it was, and the chain is still intact.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::base::clock::Timestamp;
use crate::base::random::random;
use crate::base::text::shortened;
use crate::record::id::MemberKey;
use crate::record::schema::{one_of, schemas};
use crate::store::{Row, StoreError, Tx};

mod action;

pub(crate) use action::Action;

/// In hexadecimal digits.
pub(crate) const HASH: usize = 64;
/// In characters.
const CHANGE_MAX: usize = 200;
pub(crate) const SERVICE: &str = "service";
/// Begins each hashed text, so that the hash cannot be one of anything else.
const DOMAIN: &[u8] = b"tidings audit record 1\0";

/// The way in which an operation was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surface {
    /// A program that embeds the library.
    #[default]
    Library,
    /// The HTTP API.
    Http,
    /// The command line.
    Cli,
    /// The terminal UI.
    Tui,
}

schemas! {
    Surface = one_of([Surface::Library, Surface::Http, Surface::Cli, Surface::Tui].map(Surface::name));
}

impl Surface {
    /// Returns its name in the audit trail.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Http => "http",
            Self::Cli => "cli",
            Self::Tui => "tui",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) at: Timestamp,
    pub(crate) surface: Surface,
    /// The name of the operator's account on this machine, if the program knows it.
    pub(crate) operator: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    Operator,
    /// A member with a token: an administrator, a member with a role, or a member who changed their own second factor.
    Member(MemberKey),
    /// The operator in the name of an administrator.
    OperatorAs(MemberKey),
    Key(Arc<str>),
    Service,
}

impl Actor {
    /// Returns the kind, the name and the member.
    fn stored<'a>(&'a self, origin: &'a Origin) -> (&'static str, Option<&'a str>, Option<MemberKey>) {
        match self {
            Self::Operator => ("operator", origin.operator.as_deref(), None),
            Self::OperatorAs(member) => ("operator", origin.operator.as_deref(), Some(*member)),
            Self::Member(member) => ("member", None, Some(*member)),
            Self::Key(name) => ("key", Some(&**name), None),
            Self::Service => (SERVICE, None, None),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    action: Action,
    subject: Option<&'a str>,
    member: Option<MemberKey>,
    before: Option<&'a str>,
    after: Option<&'a str>,
}

impl<'a> Entry<'a> {
    pub(crate) const fn new(action: Action) -> Self {
        Self { action, subject: None, member: None, before: None, after: None }
    }

    /// `subject` must not name a member.
    pub(crate) const fn on(self, subject: &'a str) -> Self {
        Self { subject: Some(subject), ..self }
    }

    pub(crate) const fn on_member(self, member: MemberKey) -> Self {
        Self { member: Some(member), ..self }
    }

    /// The texts must not name a member.
    pub(crate) const fn change(self, before: Option<&'a str>, after: Option<&'a str>) -> Self {
        Self { before, after, ..self }
    }

    /// The text must not name a member.
    pub(crate) const fn after(self, text: &'a str) -> Self {
        Self { after: Some(text), ..self }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) seq: i64,
    pub(crate) date: Timestamp,
    pub(crate) surface: String,
    /// `operator`, `member`, `key` or `service`.
    pub(crate) actor: String,
    pub(crate) actor_name: Option<String>,
    pub(crate) actor_member: Named,
    pub(crate) action: String,
    pub(crate) subject: Option<String>,
    pub(crate) subject_member: Named,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    /// In hexadecimal digits.
    pub(crate) hash: String,
}

/// `proof` is the salted hash of the member's id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) key: Option<i64>,
    pub(crate) proof: Option<String>,
}

impl Record {
    /// Hashes a fixed text, the digits of the previous hash, the number, the date in milliseconds since 1970, and the other
    /// fields in order. Each of these is one byte, 0 if it is absent and otherwise 1, its length, and its bytes, so that no two
    /// records have the same bytes. Numbers and lengths are big-endian and have eight bytes.
    pub(crate) fn digest(&self, previous: &str) -> String {
        let mut hash = Sha256::new_with_prefix(DOMAIN).chain_update(previous);
        hash.update(self.seq.to_be_bytes());
        hash.update(self.date.as_millis().to_be_bytes());
        let mut field = |bytes: Option<&[u8]>| {
            let Some(bytes) = bytes else { return hash.update([0]) };
            hash.update([1]);
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        let acting = self.actor_member.key.map(i64::to_be_bytes);
        let acted_on = self.subject_member.key.map(i64::to_be_bytes);
        field(Some(self.surface.as_bytes()));
        field(Some(self.actor.as_bytes()));
        field(self.actor_name.as_deref().map(str::as_bytes));
        field(acting.as_ref().map(<[u8; 8]>::as_slice));
        field(self.actor_member.proof.as_deref().map(str::as_bytes));
        field(Some(self.action.as_bytes()));
        field(self.subject.as_deref().map(str::as_bytes));
        field(acted_on.as_ref().map(<[u8; 8]>::as_slice));
        field(self.subject_member.proof.as_deref().map(str::as_bytes));
        field(self.before.as_deref().map(str::as_bytes));
        field(self.after.as_deref().map(str::as_bytes));
        hex(&hash.finalize())
    }
}

pub(crate) fn proof(salt: &str, id: &str) -> String {
    hex(&Sha256::new().chain_update(salt).chain_update(id).finalize())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

pub(crate) struct Chain {
    /// The number and the hash of the last record that retention has removed; 0 and zeros if it has removed none.
    pub(crate) removed: (i64, String),
    pub(crate) head: (i64, String),
}

/// The transaction must run alone, because each record has the hash of the one before.
pub(crate) fn append(
    tx: &mut dyn Tx,
    actor: &Actor,
    origin: &Origin,
    entry: Entry<'_>,
) -> Result<(), StoreError> {
    let Chain { head, .. } = sql::chain(tx)?;
    let (kind, name, acting) = actor.stored(origin);
    let short = |text: &str| shortened(text.to_owned(), CHANGE_MAX);
    let mut record = Record {
        seq: head.0 + 1,
        date: origin.at,
        surface: origin.surface.name().to_owned(),
        actor: kind.to_owned(),
        actor_name: name.map(str::to_owned),
        actor_member: named(tx, acting)?,
        action: entry.action.name().to_owned(),
        subject: entry.subject.map(short),
        subject_member: named(tx, entry.member)?,
        before: entry.before.map(short),
        after: entry.after.map(short),
        hash: String::new(),
    };
    record.hash = record.digest(&head.1);
    sql::insert(tx, &record)
}

pub(crate) fn is_recorded(
    tx: &mut dyn Tx,
    actor: &Actor,
    origin: &Origin,
    action: Action,
    since: Timestamp,
) -> Result<bool, StoreError> {
    let (kind, name, acting) = actor.stored(origin);
    let sql = "SELECT 1 FROM audit WHERE date > $1 AND action = $2 AND actor = $3
               AND coalesce(actor_name, '') = $4 AND coalesce(actor_member, 0) = $5 LIMIT 1";
    let (name, member) = (name.unwrap_or_default(), acting.map_or(0, MemberKey::as_i64));
    let found =
        tx.row(sql, &[since.into(), action.name().into(), kind.into(), name.into(), member.into()])?;
    Ok(found.is_some())
}

/// Creates the salt if the member has none.
fn named(tx: &mut dyn Tx, member: Option<MemberKey>) -> Result<Named, StoreError> {
    let Some(member) = member else { return Ok(Named::default()) };
    let (id, salt) = sql::identity(tx, member)?;
    let salt = match salt {
        Some(salt) => salt,
        None => sql::insert_salt(tx, member, hex(&random::<16>()))?,
    };
    Ok(Named { key: Some(member.as_i64()), proof: Some(proof(&salt, &id)) })
}

pub(crate) mod sql {
    use super::{Chain, MemberKey, Named, Record, Row, StoreError, Tx};
    use crate::store::Topic;

    pub(crate) const COLUMNS: &str =
        "seq, date, surface, actor, actor_name, actor_member, actor_proof, action,
        subject, subject_member, subject_proof, old_value, new_value, hash";

    pub(crate) fn record(row: &mut Row) -> Result<Record, StoreError> {
        Ok(Record {
            seq: row.take(0)?,
            date: row.take(1)?,
            surface: row.take(2)?,
            actor: row.take(3)?,
            actor_name: row.take(4)?,
            actor_member: Named { key: row.take(5)?, proof: row.take(6)? },
            action: row.take(7)?,
            subject: row.take(8)?,
            subject_member: Named { key: row.take(9)?, proof: row.take(10)? },
            before: row.take(11)?,
            after: row.take(12)?,
            hash: row.take(13)?,
        })
    }

    pub(crate) fn chain(tx: &mut dyn Tx) -> Result<Chain, StoreError> {
        let mut row =
            tx.one("SELECT removed_seq, removed_hash, head_seq, head_hash FROM audit_chain", &[])?;
        Ok(Chain { removed: (row.take(0)?, row.take(1)?), head: (row.take(2)?, row.take(3)?) })
    }

    pub(super) fn insert(tx: &mut dyn Tx, record: &Record) -> Result<(), StoreError> {
        let sql = format!(
            "INSERT INTO audit ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
        );
        let Record { seq, date, surface, actor, actor_name, actor_member, action, subject, .. } = record;
        let Record { subject_member, before, after, hash, .. } = record;
        tx.run(
            &sql,
            &[
                (*seq).into(),
                (*date).into(),
                surface.into(),
                actor.into(),
                actor_name.as_ref().into(),
                actor_member.key.into(),
                actor_member.proof.as_ref().into(),
                action.into(),
                subject.as_ref().into(),
                subject_member.key.into(),
                subject_member.proof.as_ref().into(),
                before.as_ref().into(),
                after.as_ref().into(),
                hash.into(),
            ],
        )?;
        tx.run("UPDATE audit_chain SET head_seq = $1, head_hash = $2", &[(*seq).into(), hash.into()])?;
        tx.touch(Topic::Audit);
        Ok(())
    }

    pub(super) fn identity(
        tx: &mut dyn Tx,
        member: MemberKey,
    ) -> Result<(String, Option<String>), StoreError> {
        let sql = "SELECT m.id, i.salt FROM member m LEFT JOIN audit_identity i ON i.member = m.key
                   WHERE m.key = $1";
        let mut row = tx.one(sql, &[member.into()])?;
        Ok((row.take(0)?, row.take(1)?))
    }

    pub(super) fn insert_salt(
        tx: &mut dyn Tx,
        member: MemberKey,
        salt: String,
    ) -> Result<String, StoreError> {
        let sql = "INSERT INTO audit_identity (member, salt) VALUES ($1, $2)";
        tx.run(sql, &[member.into(), (&salt).into()])?;
        Ok(salt)
    }
}
