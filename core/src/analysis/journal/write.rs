use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Record;
use crate::account::key::{self, KeyHash};
use crate::account::{ResolvedCaller, sessions};
use crate::analysis::calendar::Calendar;
use crate::analysis::counters::Counter;
use crate::analysis::log::{self, Entry, LogMember, LoggedPath, RequestKeys, named_id};
use crate::analysis::visitor::Visits;
use crate::base::keyed::OwnMap;
use crate::record::id::MemberKey;
use crate::store::{StoreError, TimeSlice, Tx};

/// The number of records that a commit writes even if the time slice is over. A report that waits for the queue
/// includes all of these, however slow the machine is.
pub(super) const MIN_RECORDS: usize = 512;
const STEP: usize = 64;
const LOOKED_UP: usize = MIN_RECORDS;
/// The maximum number of visitors written together. A visitor costs as much as many lines, and one client may send
/// a different user agent with each request.
const VISITORS_MAX: usize = 512;

pub(in crate::analysis) struct Written {
    /// From the first record on.
    pub(in crate::analysis) records: usize,
    pub(super) crawled: u64,
}

/// The records must be in chronological order. Writes at least a few hundred, and more until the time slice is over.
pub(in crate::analysis) fn write(
    tx: &mut dyn Tx,
    calendar: &Calendar,
    requests: &mut RequestKeys,
    records: &[Record],
    time: TimeSlice,
) -> Result<Written, StoreError> {
    let (mut members, mut visits, mut crawled) = (MemberCache::default(), Visits::default(), 0);
    let (mut lines, mut days) = (Vec::with_capacity(records.len()), BTreeMap::new());
    calendar.check_zone(tx)?;
    for record in records {
        let is_time = lines.len() >= MIN_RECORDS && lines.len().is_multiple_of(STEP) && time.is_over();
        if is_time || visits.len() >= VISITORS_MAX {
            break;
        }
        if lines.len().is_multiple_of(LOOKED_UP) {
            let records = &records[lines.len()..records.len().min(lines.len() + LOOKED_UP)];
            members.look_up(tx, records)?;
        }
        let Record { at, operation, path, answer, seen, guest, .. } = record;
        let time = calendar.local_hour(*at);
        let member = members.key(tx, seen)?;
        let request = requests.key(tx, *operation, *answer)?;
        let path = LoggedPath::of(*operation, path.as_deref(), |id| members.named.get(id).copied());
        lines.push(Entry { at: *at, member: member.shown, request, path });
        if !operation.is_counted() {
            continue;
        }
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

#[derive(Default)]
struct MemberCache {
    /// By key: whether the member still exists.
    members: OwnMap<MemberKey, bool>,
    /// By their hashes.
    keys: HashMap<KeyHash, Option<i64>>,
    /// By id, which members choose themselves: key and generation.
    ids: HashMap<Box<str>, Option<(MemberKey, i64)>>,
    /// By their ids.
    named: HashMap<String, MemberKey>,
}

struct LogIdentity {
    key: Option<MemberKey>,
    shown: LogMember,
}

impl MemberCache {
    /// Looks up the callers that are known by their keys, which are nearly all, and the members whom paths name.
    fn look_up(&mut self, tx: &mut dyn Tx, records: &[Record]) -> Result<(), StoreError> {
        let keys = records.iter().filter_map(|record| match record.seen {
            ResolvedCaller::Member(key) if !self.members.contains_key(&key) => Some(key),
            _ => None,
        });
        let keys: Vec<MemberKey> = keys.collect::<BTreeSet<_>>().into_iter().collect();
        let exist = sql::are_members(tx, &keys)?;
        self.members.extend(keys.into_iter().zip(exist));
        let named = records.iter().filter_map(|record| named_id(record.operation, record.path.as_deref()?));
        let named: Vec<String> = named.collect::<BTreeSet<_>>().into_iter().collect();
        let found = sql::by_ids(tx, &named)?;
        let found = named.into_iter().zip(found).filter_map(|(id, key)| Some((id, key?)));
        self.named.extend(found);
        Ok(())
    }

    fn key(&mut self, tx: &mut dyn Tx, seen: &ResolvedCaller) -> Result<LogIdentity, StoreError> {
        let guest = LogIdentity { key: None, shown: LogMember::Guest };
        match seen {
            ResolvedCaller::Guest => Ok(guest),
            ResolvedCaller::Key(key) => {
                let number = match self.keys.get(key) {
                    Some(number) => *number,
                    None => *self.keys.entry(*key).or_insert(key::logged(tx, *key)?),
                };
                // A program is counted as the guest at its address.
                Ok(LogIdentity { key: None, shown: number.map_or(LogMember::Guest, LogMember::Key) })
            }
            ResolvedCaller::Member(key) => {
                let exists = self.members.get(key).is_some_and(|exists| *exists);
                Ok(LogIdentity {
                    key: Some(*key),
                    shown: if exists { LogMember::Member(*key) } else { LogMember::Removed },
                })
            }
            ResolvedCaller::Named { folded, generation, session } => {
                let row = match self.ids.get(folded) {
                    Some(row) => *row,
                    None => *self.ids.entry(folded.clone()).or_insert(sql::by_id(tx, folded)?),
                };
                let mut key = row.filter(|(_, current)| current == generation).map(|(key, _)| key);
                if let (Some(member), Some(session)) = (key, session)
                    && !sessions::sql::exists(tx, member, session)?
                {
                    key = None;
                }
                Ok(key.map_or(guest, |key| LogIdentity { key: Some(key), shown: LogMember::Member(key) }))
            }
        }
    }
}

mod sql {
    use super::{MemberKey, StoreError, Tx};
    use crate::store::row_each;

    pub(super) fn are_members(tx: &mut dyn Tx, keys: &[MemberKey]) -> Result<Vec<bool>, StoreError> {
        let keys: Vec<_> = keys.iter().map(|key| [(*key).into()]).collect();
        let rows = row_each(tx, "SELECT 1 FROM member WHERE key = $1", &keys)?;
        Ok(rows.iter().map(Option::is_some).collect())
    }

    pub(super) fn by_ids(tx: &mut dyn Tx, folded: &[String]) -> Result<Vec<Option<MemberKey>>, StoreError> {
        let folded: Vec<_> = folded.iter().map(|id| [id.into()]).collect();
        let rows = row_each(tx, "SELECT key FROM member WHERE folded = $1", &folded)?;
        rows.into_iter().map(|row| row.map(|mut row| row.take(0)).transpose()).collect()
    }

    /// Ignores blacklisted members.
    pub(super) fn by_id(tx: &mut dyn Tx, folded: &str) -> Result<Option<(MemberKey, i64)>, StoreError> {
        let sql = "SELECT key, generation FROM member WHERE folded = $1 AND blacklisted IS NULL";
        let row = tx.row(sql, &[folded.into()])?;
        row.map(|mut row| Ok((row.take(0)?, row.take(1)?))).transpose()
    }
}
