use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{PAGE, Read, sql};

use crate::audit::trail::{self, Action, Actor, Chain, Entry, HASH, Named, Origin, Record, SERVICE, Surface};
use crate::base::clock::{DAY_MS, Timestamp};
use crate::store::{StoreError, Tx};

/// The number of a record, and its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    seq: i64,
    hash: String,
}

/// A text is not the number of a record, a colon and a hash of 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a head is the number of a record, a colon and its hash, as verify prints it")]
pub struct InvalidHead;

impl FromStr for Head {
    type Err = InvalidHead;

    fn from_str(text: &str) -> Result<Self, InvalidHead> {
        let (seq, hash) = text.split_once(':').ok_or(InvalidHead)?;
        let seq = seq.parse().map_err(|_| InvalidHead)?;
        let is_hash = hash.len() == HASH && hash.bytes().all(|b| b.is_ascii_hexdigit());
        if is_hash && seq >= 0 { Ok(Self { seq, hash: hash.to_ascii_lowercase() }) } else { Err(InvalidHead) }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Verification {
    /// Whether every record is as it was written, and none is missing.
    #[schema(examples(true))]
    pub intact: bool,
    /// The number of verified records.
    pub records: i64,
    /// The number of the latest record; 0 if there has been none.
    pub seq: i64,
    /// The hash of the latest record in hexadecimal digits. Kept elsewhere with its number, as `SEQ:HASH`, it shows later
    /// whether the trail was replaced.
    #[schema(
        pattern = "^[0-9a-f]{64}$",
        examples("0000000000000000000000000000000000000000000000000000000000000000")
    )]
    pub hash: String,
    /// The fault, if there is one.
    pub fault: Option<Fault>,
}

/// The first fault of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Fault {
    /// The number of the record, from 1.
    #[schema(minimum = 1, examples(7))]
    pub seq: i64,
    /// What is wrong with it.
    #[schema(max_length = 200, examples("the record is missing"))]
    pub reason: Cow<'static, str>,
}

impl Fault {
    fn new(seq: i64, reason: &'static str) -> Self {
        // A program that can write the database can write any number.
        Self { seq: seq.max(1), reason: reason.into() }
    }
}

const MISSING: &str = "the record is missing";
const CHANGED: &str = "the record was changed, or the one before was replaced";
const RENAMED: &str = "the member has another id than the one who was recorded";
const ENDS_EARLY: &str = "the latest records are missing";
const BEGINS_LATE: &str = "the earlier records are missing, and no record says that they expired";
const BEGINS_WRONG: &str = "the trail does not begin with its first record";
const INSERTED: &str = "the record was inserted before the beginning of the trail";
const NOT_EXPIRED: &str = "the record tells of a removal of records that the trail does not show";
const NOT_OLD: &str = "the record tells of a removal of records that had not expired";
const NOT_THE_HEAD: &str = "the record has another hash than the given one";
const HEAD_GONE: &str = "the record of the given head does not exist";
const HEAD_EXPIRED: &str = "the record of the given head was removed, so that the head proves nothing about the others: give a later one";

/// Without a head, a program that can compute the hashes can replace the chain unnoticed. A head proves all records up to its
/// own, as long as its own still exists or is the last removed one.
pub(crate) fn verify(tx: &mut dyn Tx, head: Option<&Head>) -> Result<Verification, StoreError> {
    let Chain { removed, head: (seq, hash) } = trail::sql::chain(tx)?;
    let has_witness = removed.0 > sql::unwitnessed(tx)?;
    let mut walk = Walk {
        at: removed.clone(),
        records: 0,
        expired: removed.0 == 0,
        has_witness,
        head_seen: false,
        head,
    };
    let fault = match walk.beginning() {
        Some(fault) => Some(fault),
        None => walk.all(tx, &removed)?,
    };
    let inserted = sql::first_until(tx, removed.0)?;
    let fault = fault.or_else(|| match head {
        _ if walk.at != (seq, hash.clone()) => Some(Fault::new(walk.at.0 + 1, ENDS_EARLY)),
        _ if !walk.expired => Some(Fault::new(removed.0 + 1, BEGINS_LATE)),
        _ if inserted.is_some() => inserted.map(|seq| Fault::new(seq, INSERTED)),
        Some(head) if head.seq < removed.0 => Some(Fault::new(head.seq, HEAD_EXPIRED)),
        Some(head) if head.seq == removed.0 && head.hash != removed.1 => {
            Some(Fault::new(head.seq, NOT_THE_HEAD))
        }
        Some(head) if head.seq > removed.0 && !walk.head_seen => Some(Fault::new(head.seq, HEAD_GONE)),
        _ => None,
    });
    let (intact, records) = (fault.is_none(), walk.records);
    Ok(Verification { intact, records, seq, hash, fault })
}

struct Walk<'h> {
    at: (i64, String),
    records: i64,
    /// Whether a record states the expiry of the removed beginning, or nothing was removed.
    expired: bool,
    /// Whether the first record had expired when the others before it were removed.
    has_witness: bool,
    head: Option<&'h Head>,
    head_seen: bool,
}

impl Walk<'_> {
    /// The hash before the first record is all zeros.
    fn beginning(&self) -> Option<Fault> {
        let (seq, hash) = &self.at;
        let is_wrong = *seq < 0 || (*seq == 0 && hash.bytes().any(|digit| digit != b'0'));
        is_wrong.then(|| Fault::new(1, BEGINS_WRONG))
    }

    fn all(&mut self, tx: &mut dyn Tx, removed: &(i64, String)) -> Result<Option<Fault>, StoreError> {
        let (expiry, mut begins) = (expiry(removed), None);
        loop {
            let page = sql::after(tx, self.at.0, PAGE)?;
            if page.is_empty() {
                return Ok(None);
            }
            for read in page {
                if let Some(reason) = self.step(&read) {
                    return Ok(Some(Fault::new(self.at.0 + 1, reason)));
                }
                let begins = *begins.get_or_insert(read.record.date);
                if let Some(told) = told_expiry(&read.record) {
                    self.expired |= told == expiry;
                    // The shortest time for which records are kept is a day.
                    if told == expiry && self.has_witness && read.record.date < begins + DAY_MS {
                        return Ok(Some(Fault::new(read.record.seq, NOT_OLD)));
                    }
                    if seq_of(told).is_none_or(|seq| seq > removed.0) {
                        return Ok(Some(Fault::new(read.record.seq, NOT_EXPIRED)));
                    }
                }
                self.at = (read.record.seq, read.record.hash);
                self.records += 1;
            }
        }
    }

    fn step(&mut self, Read { record, actor, subject }: &Read) -> Option<&'static str> {
        if record.seq != self.at.0 + 1 {
            return Some(MISSING);
        }
        if record.digest(&self.at.1) != record.hash {
            return Some(CHANGED);
        }
        if !is_of(&record.actor_member, actor.as_ref()) || !is_of(&record.subject_member, subject.as_ref()) {
            return Some(RENAMED);
        }
        if let Some(head) = self.head.filter(|head| head.seq == record.seq) {
            self.head_seen = true;
            if head.hash != record.hash {
                return Some(NOT_THE_HEAD);
            }
        }
        None
    }
}

/// True for a removed member, whose id can no longer be checked.
fn is_of(named: &Named, member: Option<&(String, Option<String>)>) -> bool {
    let Some((id, salt)) = member else { return true };
    let proof = salt.as_ref().map(|salt| trail::proof(salt, id));
    proof.is_some() && proof == named.proof
}

fn expiry((seq, hash): &(i64, String)) -> String {
    format!("{seq}:{hash}")
}

fn told_expiry(record: &Record) -> Option<&str> {
    let is_removal = record.action == Action::AuditRetention.name() && record.actor == SERVICE;
    record.after.as_deref().filter(|_| is_removal)
}

fn seq_of(expiry: &str) -> Option<i64> {
    expiry.split_once(':')?.0.parse().ok()
}

/// Returns whether there may be more. The last expired record stays: its date, which the hashes bind, shows that those before it
/// had expired. Otherwise a program that can write the database could remove any records, and append a record that they had
/// expired.
pub(crate) fn prune(
    tx: &mut dyn Tx,
    now: Timestamp,
    before: Timestamp,
    limit: u64,
) -> Result<bool, StoreError> {
    let Chain { removed, .. } = trail::sql::chain(tx)?;
    let first = sql::ends(tx, removed.0, limit + 1)?;
    let mut expired: Vec<_> = first.into_iter().take_while(|(_, date, _)| *date < before).collect();
    expired.pop();
    let Some((seq, _, hash)) = expired.pop() else { return Ok(false) };
    let count = seq - removed.0;
    sql::remove_until(tx, seq, &hash)?;
    let origin = Origin { at: now, surface: Surface::Library, operator: None };
    let (subject, after) = (format!("{}-{seq}", removed.0 + 1), expiry(&(seq, hash)));
    let entry = Entry::new(Action::AuditRetention).on(&subject).after(&after);
    trail::append(tx, &Actor::Service, &origin, entry)?;
    Ok(count.unsigned_abs() == limit)
}
