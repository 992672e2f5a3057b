//! The verification of the chain, and the removal of its beginning.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{PAGE, Read, sql};
use crate::account::Admin;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::store::{StoreError, Tx};
use crate::trail::{self, Action, Actor, Chain, Entry, HASH, Named, Origin, Surface};

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Verification {
    /// Whether every record is as it was written, and none is missing.
    pub intact: bool,
    /// The number of verified records.
    pub records: i64,
    /// The number of the latest record; 0 if there has been none.
    pub seq: i64,
    /// The hash of the latest record in hexadecimal digits. Kept elsewhere with its number, as `SEQ:HASH`, it shows later
    /// whether the trail was replaced.
    pub hash: String,
    /// What is wrong, if anything is.
    pub fault: Option<Fault>,
}

/// The first fault of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fault {
    /// The number of the record.
    pub seq: i64,
    /// What is wrong with it.
    pub reason: Cow<'static, str>,
}

const MISSING: &str = "the record is missing";
const CHANGED: &str = "the record was changed, or the one before was replaced";
const RENAMED: &str = "the member has another id than the one who was recorded";
const ENDS_EARLY: &str = "the latest records are missing";
const BEGINS_LATE: &str = "the earlier records are missing, and no record says that they expired";
const NOT_THE_HEAD: &str = "the record has another hash than the given one";
const HEAD_GONE: &str = "the record of the given head does not exist";

/// Verifies the chain.
pub(super) fn verify(tx: &mut dyn Tx, admin: &Admin<'_>, head: Option<&Head>) -> Result<Verification> {
    let Chain { removed, head: (seq, hash) } = trail::sql::chain(tx)?;
    let mut walk = Walk { at: removed.clone(), records: 0, expired: removed.0 == 0, head_seen: false, head };
    let fault = walk.all(tx, admin, &removed)?;
    let fault = fault.or_else(|| {
        let fault = |seq, reason: &'static str| Some(Fault { seq, reason: reason.into() });
        match head {
            _ if walk.at != (seq, hash.clone()) => fault(walk.at.0 + 1, ENDS_EARLY),
            _ if !walk.expired => fault(removed.0 + 1, BEGINS_LATE),
            Some(head) if !walk.head_seen && head.seq > removed.0 => fault(head.seq, HEAD_GONE),
            Some(head) if head.seq == removed.0 && head.hash != removed.1 => fault(head.seq, NOT_THE_HEAD),
            _ => None,
        }
    });
    let (intact, records) = (fault.is_none(), walk.records);
    Ok(Verification { intact, records, seq, hash, fault })
}

/// A walk along the chain.
struct Walk<'h> {
    /// The number and the hash of the last verified record.
    at: (i64, String),
    records: i64,
    /// Whether a record tells that the beginning expired, if it did.
    expired: bool,
    head: Option<&'h Head>,
    head_seen: bool,
}

impl Walk<'_> {
    fn all(&mut self, tx: &mut dyn Tx, admin: &Admin<'_>, removed: &(i64, String)) -> Result<Option<Fault>> {
        let expiry = expiry(removed);
        loop {
            let page = sql::after(tx, admin, self.at.0, PAGE)?;
            if page.is_empty() {
                return Ok(None);
            }
            for read in page {
                self.expired |= read.record.action == Action::AuditRetention.name()
                    && read.record.after.as_deref() == Some(&expiry);
                if let Some(reason) = self.step(&read) {
                    return Ok(Some(Fault { seq: self.at.0 + 1, reason: reason.into() }));
                }
                self.at = (read.record.seq, read.record.hash);
                self.records += 1;
            }
        }
    }

    /// Returns what is wrong with the next record.
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

/// Returns whether a member who still exists has the id that a record names.
fn is_of(named: &Named, member: Option<&(String, Option<String>)>) -> bool {
    let Some((id, salt)) = member else { return true };
    let proof = salt.as_ref().map(|salt| trail::proof(salt, id));
    proof.is_some() && proof == named.proof
}

/// Returns what the record of a removal says about the last removed record.
fn expiry((seq, hash): &(i64, String)) -> String {
    format!("{seq}:{hash}")
}

/// Removes up to `limit` records from the beginning that are older than `before`, and appends a record of it. Returns
/// whether there may be more.
pub(crate) fn prune(
    tx: &mut dyn Tx,
    now: Timestamp,
    before: Timestamp,
    limit: u64,
) -> Result<bool, StoreError> {
    let Chain { removed, head } = trail::sql::chain(tx)?;
    let first = sql::ends(tx, removed.0, limit)?;
    let expired = first.into_iter().take_while(|(seq, date, _)| *date < before && *seq < head.0);
    let Some((seq, _, hash)) = expired.last() else { return Ok(false) };
    let count = seq - removed.0;
    sql::remove_until(tx, seq, &hash)?;
    let origin = Origin { at: now, surface: Surface::Library, operator: None };
    let (subject, after) = (format!("{}-{seq}", removed.0 + 1), expiry(&(seq, hash)));
    let entry = Entry::new(Action::AuditRetention).on(&subject).after(&after);
    trail::append(tx, &Actor::Service, &origin, entry)?;
    Ok(count.unsigned_abs() == limit)
}

/// The number, the date and the hash of a record.
pub(super) type End = (i64, Timestamp, String);
