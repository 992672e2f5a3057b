//! Writes records to the log, the counters and the table of visitors.

use std::collections::{BTreeMap, HashMap};

use super::Record;
use crate::account::ResolvedCaller;
use crate::analysis::calendar::Calendar;
use crate::analysis::counters::Counter;
use crate::analysis::log::{self, Entry, LogMember, LoggedRequest, RequestKeys};
use crate::analysis::visitor::Visits;
use crate::id::MemberKey;
use crate::keyed::OwnMap;
use crate::store::{StoreError, TimeSlice, Tx};

/// The number of records that a commit writes even if the time slice is over. A report that waits for the queue
/// includes all of these, however slow the machine is.
pub(super) const MIN_RECORDS: usize = 512;
/// The number of records between two checks of the time slice.
const STEP: usize = 64;
/// The maximum number of visitors written together. A visitor costs as much as many lines, and one client may send
/// a different user agent with each request.
const VISITORS_MAX: usize = 512;

/// The result of [`write`].
pub(in crate::analysis) struct Written {
    /// The number of records written, from the first on.
    pub(in crate::analysis) records: usize,
    /// How many of these came from crawlers.
    pub(super) crawled: u64,
}

/// Writes records, which must be in chronological order: at least a few hundred, and more until the time slice is over.
///
/// # Errors
/// When the store fails.
pub(in crate::analysis) fn write(
    tx: &mut dyn Tx,
    calendar: &Calendar,
    requests: &mut RequestKeys,
    records: &[Record],
    time: TimeSlice,
) -> Result<Written, StoreError> {
    let (mut members, mut visits, mut crawled) = (MemberCache::default(), Visits::default(), 0);
    let (mut lines, mut days) = (Vec::with_capacity(records.len()), BTreeMap::new());
    let today = calendar.today();
    for record in records {
        let is_time = lines.len() >= MIN_RECORDS && lines.len().is_multiple_of(STEP) && time.is_over();
        if is_time || visits.len() >= VISITORS_MAX {
            break;
        }
        let Record { at, operation, path, status, seen, guest } = record;
        let time = calendar.local_hour(*at);
        let member = members.key(tx, seen)?;
        let logged = LoggedRequest { operation: *operation, path: path.as_deref(), status: *status, at: *at };
        let request = requests.key(tx, logged, time.day.max(today))?;
        lines.push(Entry { at: *at, member: member.shown, request });
        *days.entry((time.day, Counter::Communication as i64)).or_insert(0) += 1;
        match (member.key, guest.0) {
            (Some(key), _) => visits.add(key.into(), *at, time),
            (None, Some(number)) => visits.add(number, *at, time),
            (None, None) => {
                crawled += 1;
                *days.entry((time.day, Counter::Crawler as i64)).or_insert(0) += 1;
            }
        }
    }
    log::append(tx, &lines)?;
    for ((day, counter), n) in days {
        calendar.add(tx, counter, day, n)?;
    }
    visits.write(tx, calendar)?;
    Ok(Written { records: lines.len(), crawled })
}

/// The members of the records, each looked up once.
#[derive(Default)]
struct MemberCache {
    /// By key: whether the member still exists.
    members: OwnMap<MemberKey, bool>,
    /// By id, which members choose themselves: key and generation.
    ids: HashMap<Box<str>, Option<(MemberKey, i64)>>,
}

/// The identity of a record's caller.
struct LogIdentity {
    /// The member's key; `None` for a guest.
    key: Option<MemberKey>,
    /// The member column of the line.
    shown: LogMember,
}

impl MemberCache {
    fn key(&mut self, tx: &mut dyn Tx, seen: &ResolvedCaller) -> Result<LogIdentity, StoreError> {
        let guest = LogIdentity { key: None, shown: LogMember::Guest };
        match seen {
            ResolvedCaller::Guest => Ok(guest),
            ResolvedCaller::Member(key) => {
                let exists = match self.members.get(key) {
                    Some(exists) => *exists,
                    None => *self.members.entry(*key).or_insert(sql::is_member(tx, *key)?),
                };
                Ok(LogIdentity {
                    key: Some(*key),
                    shown: if exists { LogMember::Member(*key) } else { LogMember::Removed },
                })
            }
            ResolvedCaller::Named { folded, generation } => {
                let row = match self.ids.get(folded) {
                    Some(row) => *row,
                    None => *self.ids.entry(folded.clone()).or_insert(sql::by_id(tx, folded)?),
                };
                let key = row.filter(|(_, current)| current == generation).map(|(key, _)| key);
                Ok(key.map_or(guest, |key| LogIdentity { key: Some(key), shown: LogMember::Member(key) }))
            }
        }
    }
}

mod sql {
    use super::{MemberKey, StoreError, Tx};

    pub(super) fn is_member(tx: &mut dyn Tx, key: MemberKey) -> Result<bool, StoreError> {
        Ok(tx.row("SELECT 1 FROM member WHERE key = $1", &[key.into()])?.is_some())
    }

    /// Returns the key and generation of a member, unless blacklisted.
    pub(super) fn by_id(tx: &mut dyn Tx, folded: &str) -> Result<Option<(MemberKey, i64)>, StoreError> {
        let sql = "SELECT key, generation FROM member WHERE folded = $1 AND blacklisted IS NULL";
        let row = tx.row(sql, &[folded.into()])?;
        row.map(|mut row| Ok((row.take(0)?, row.take(1)?))).transpose()
    }
}
