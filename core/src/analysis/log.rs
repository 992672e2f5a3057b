//! The access log as the database stores it. A line has a time, a member, a request and, if it differs from the template of the
//! request, a path. A line without a path takes approximately forty bytes, including the indexes for the three queries.

use std::cmp::Reverse;

use super::{LogEntry, LogLine, LogPlace};
use crate::account::{self, Member};
use crate::base::clock::{DAY_MS, Timestamp};
use crate::record::id::MemberKey;
use crate::store::{Arg, Expiry, FromValue, Row, StoreError, Tx, Value, send_each};

mod request;
mod scope;

pub use request::Operation;
pub(crate) use request::RequestKeys;
pub(crate) use request::prune as prune_requests;
pub(super) use request::{LoggedAnswer, LoggedPath, named_id};
pub(super) use scope::{LogAccess, LogScope, READING, record_reading};
pub(crate) use sql::{anonymise, lines_of, prune};

/// The prefix of the name of an API key where a line has the id of a member: ids have no colon.
const KEY_PREFIX: &str = "key:";
/// The number of low bits of a line's key that number the lines of a millisecond.
pub(super) const NUMBER_BITS: u32 = 14;
/// The approximate number of partitions, if the engine has any …
const PARTITIONS: i64 = 26;
/// … and the maximum number of days of one.
const PARTITION_DAYS_MAX: i64 = 366;
/// For engines whose statements take no arrays.
const INSERT_BATCH: usize = 5;
const COLUMNS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogMember {
    Guest,
    Removed,
    /// The API key with this number, above 0.
    Key(i64),
    /// The member with this key. Lines of a removed member keep it until [`anonymise`] changes them.
    Member(MemberKey),
}

impl LogMember {
    /// The value in the database for a guest; it must never change.
    const GUEST: i64 = 0;
    /// The value in the database for a removed member; it must never change.
    const REMOVED: i64 = -1;
}

impl From<LogMember> for Arg<'_> {
    fn from(member: LogMember) -> Self {
        match member {
            LogMember::Guest => LogMember::GUEST.into(),
            LogMember::Removed => LogMember::REMOVED.into(),
            LogMember::Key(number) => (LogMember::REMOVED - number).into(),
            LogMember::Member(key) => key.into(),
        }
    }
}

impl FromValue for LogMember {
    fn from_value(value: &mut Value) -> Option<Self> {
        match i64::from_value(value)? {
            Self::GUEST => Some(Self::Guest),
            Self::REMOVED => Some(Self::Removed),
            below if below < Self::REMOVED => Some(Self::Key(Self::REMOVED - below)),
            _ => MemberKey::from_value(value).map(Self::Member),
        }
    }
}

pub(super) struct Entry<'p> {
    pub(super) at: Timestamp,
    pub(super) member: LogMember,
    pub(super) request: i64,
    pub(super) path: LoggedPath<'p>,
}

impl Entry<'_> {
    fn columns(&self, key: i64) -> [Arg<'_>; COLUMNS] {
        let LoggedPath { text, member: named } = &self.path;
        [key.into(), self.member.into(), self.request.into(), text.as_deref().into(), (*named).into()]
    }
}

/// `until` is exclusive. Requests that are no longer in the log are missing.
pub(crate) fn times(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    from: Timestamp,
    until: Timestamp,
) -> Result<Vec<Timestamp>, StoreError> {
    let sql = "SELECT key FROM log WHERE member = $1 AND key >= $2 AND key < $3";
    let rows = tx.rows(sql, &[member.key.into(), first_key(from).into(), first_key(until).into()])?;
    rows.into_iter().map(|mut row| Ok(line_time(row.take(0)?))).collect()
}

/// The lines must be in chronological order.
pub(super) fn append(tx: &mut dyn Tx, lines: &[Entry<'_>]) -> Result<(), StoreError> {
    // A failed transaction is rolled back as a whole. With OR FAIL, SQLite need not copy the pages that a statement with
    // several rows changes, which it would do to roll back the statement alone.
    const SQL: [&str; 2] = [
        "INSERT INTO log (key, member, request, path, named_member) VALUES ($1, $2, $3, $4, $5)",
        "INSERT OR FAIL INTO log (key, member, request, path, named_member) VALUES
         ($1, $2, $3, $4, $5), ($6, $7, $8, $9, $10), ($11, $12, $13, $14, $15), ($16, $17, $18, $19, $20),
         ($21, $22, $23, $24, $25)",
    ];
    let mut free_keys = FreeKeys::new(tx)?;
    if tx.dialect().is_concurrent() {
        let mut rows = Vec::with_capacity(lines.len());
        for line in lines {
            rows.push(line.columns(free_keys.next(tx, line.at)?));
        }
        send_each(tx, SQL[0], &rows)?;
        return free_keys.end(tx);
    }
    let mut args: Vec<Arg<'_>> = Vec::with_capacity(INSERT_BATCH * COLUMNS);
    let (chunks, rest) = lines.as_chunks::<INSERT_BATCH>();
    for chunk in chunks.iter().map(<[Entry<'_>; INSERT_BATCH]>::as_slice).chain(rest.chunks(1)) {
        args.clear();
        for line in chunk {
            let key = free_keys.next(tx, line.at)?;
            args.extend(line.columns(key));
        }
        tx.send(SQL[usize::from(chunk.len() == INSERT_BATCH)], &args)?;
    }
    free_keys.end(tx)
}

/// Assigns free keys to lines in chronological order. Where several transactions write at the same time, each assigns keys of its
/// own shard: a part of the numbers within each millisecond. The row of a shard has the greatest key that it has assigned, and is
/// locked, because transactions share a shard when there are more of them than shards.
struct FreeKeys {
    /// The shard and the greatest key that it had assigned before; `None` if all keys are one shard.
    shard: Option<(i64, i64)>,
    /// Within a millisecond.
    numbers: std::ops::Range<i64>,
    /// The greatest key of the shard before the first line; that of the log, if all keys are one shard.
    last: i64,
    assigned: i64,
    /// The millisecond whose keys are being assigned …
    at: Timestamp,
    /// … and its free keys.
    free: std::ops::Range<i64>,
}

impl FreeKeys {
    fn new(tx: &mut dyn Tx) -> Result<Self, StoreError> {
        let shards = tx.dialect().log_shards();
        let (shard, size) = (tx.writer().rem_euclid(shards), (1 << NUMBER_BITS) / shards);
        let (shard, last) = if shards == 1 {
            (None, tx.one("SELECT max(key) FROM log", &[])?.take::<Option<i64>>(0)?.unwrap_or(i64::MIN))
        } else {
            let last = sql::lock_shard(tx, shard)?;
            (Some((shard, last)), last)
        };
        let first = shard.map_or(0, |(shard, _)| shard * size);
        let numbers = first..first + size;
        Ok(Self { shard, numbers, last, assigned: last, at: Timestamp::MIN, free: 0..0 })
    }

    /// Of the millisecond, or of a later one if it is full.
    fn next(&mut self, tx: &mut dyn Tx, at: Timestamp) -> Result<i64, StoreError> {
        if at > self.at {
            self.open(tx, at)?;
        }
        loop {
            if let Some(key) = self.free.next() {
                self.assigned = self.assigned.max(key);
                return Ok(key);
            }
            self.open(tx, self.at + 1)?;
        }
    }

    fn open(&mut self, tx: &mut dyn Tx, at: Timestamp) -> Result<(), StoreError> {
        let [mut first, end] =
            [self.numbers.start, self.numbers.end].map(|number| first_key(at).saturating_add(number));
        // The log usually ends before `at`. Otherwise another process has written lines, or the clock was set back.
        if first <= self.last {
            let sql = "SELECT max(key) FROM log WHERE key >= $1 AND key < $2";
            let taken: Option<i64> = tx.one(sql, &[first.into(), end.into()])?.take(0)?;
            first = taken.map_or(first, |taken| taken + 1);
        }
        (self.at, self.free) = (at, first..end);
        Ok(())
    }

    fn end(self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        match self.shard {
            Some((shard, before)) if self.assigned > before => sql::update_shard(tx, shard, self.assigned),
            _ => Ok(()),
        }
    }
}

pub(super) const fn first_key(at: Timestamp) -> i64 {
    // Multiplication saturates only for times more than 17,000 years from 1970.
    at.as_millis().saturating_mul(1 << NUMBER_BITS)
}

/// A range of the log to search, by the keys of lines, newest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogRange {
    /// The lowest key in the range …
    pub(super) since: i64,
    /// … the key above the range …
    pub(super) before: i64,
    /// … and the maximum number of lines to search.
    pub(super) lines: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestFilter<'a> {
    pub(super) path: Option<&'a str>,
    /// Compared without regard to case; an underscore stands for a blank.
    pub(super) result: Option<&'a str>,
    /// Both inclusive.
    pub(super) status: Option<(u16, u16)>,
}

impl RequestFilter<'_> {
    pub(super) const fn matches_all(&self) -> bool {
        self.path.is_none() && self.result.is_none() && self.status.is_none()
    }
}

/// Newest first, at most `limit` lines. Also returns the last key searched if the range has more lines than its maximum.
pub(super) fn search(
    tx: &mut dyn Tx,
    scope: LogScope,
    range: LogRange,
    filter: RequestFilter<'_>,
    limit: i64,
) -> Result<(Vec<LogLine>, Option<i64>), StoreError> {
    let mut members = vec![scope.member()];
    if scope.member() == Some(LogMember::Removed) {
        // The lines of recently removed members still have the keys of these members.
        members.extend(sql::removed(tx)?.into_iter().map(LogMember::Member).map(Some));
    }
    let shown = usize::try_from(limit).unwrap_or_default();
    let (mut lines, mut end, mut rest) = (Vec::new(), None, range);
    for member in members {
        let found = sql::search(tx, member, rest, filter, limit)?;
        // Lines older than the last line searched for any member are left out, so that the result has no gaps.
        let last = usize::try_from(rest.lines - 1).unwrap_or_default();
        end = end.max(if filter.matches_all() {
            found.get(last).map(|line| line.place.0)
        } else {
            sql::cut_key(tx, member, rest)?
        });
        lines.extend(found);
        lines.sort_by_key(|line| Reverse(line.place));
        lines.truncate(shown);
        // The other members need not be searched beyond the last line that can still be returned.
        let full = lines.get(shown.saturating_sub(1)).map(|line| line.place.0);
        rest.since = rest.since.max(end.unwrap_or(i64::MIN)).max(full.unwrap_or(i64::MIN));
    }
    lines.retain(|line| end.is_none_or(|end| line.place.0 >= end));
    Ok((lines, end))
}

pub(super) const fn line_time(key: i64) -> Timestamp {
    Timestamp::from_millis(key.div_euclid(1 << NUMBER_BITS))
}

fn line(row: &mut Row) -> Result<LogLine, StoreError> {
    let key: i64 = row.take(0)?;
    let user_id = match row.take(1)? {
        LogMember::Guest => account::GUEST.to_owned(),
        LogMember::Key(number) => {
            let name = row.take::<Option<String>>(7)?.unwrap_or_else(|| number.to_string());
            format!("{KEY_PREFIX}{name}")
        }
        _ => row.take::<Option<String>>(2)?.unwrap_or_else(|| account::REMOVED.to_owned()),
    };
    let (method, path, status) = (row.take(3)?, row.take(4)?, row.take(5)?);
    let entry = LogEntry { user_id, date: line_time(key), method, path, status };
    Ok(LogLine { entry, result: row.take(6)?, place: LogPlace(key) })
}

pub(crate) fn expiry(now: Timestamp, before: Timestamp, log_days: u32) -> Expiry {
    // A look-up of one member's lines reads every partition, and a partition is dropped only when all of it has expired.
    let days = i64::from(log_days) / PARTITIONS;
    let unit = first_key(Timestamp::from_millis(DAY_MS));
    Expiry {
        table: "log",
        now: first_key(now),
        expired: first_key(before),
        span: unit * days.clamp(1, PARTITION_DAYS_MAX),
        unit,
    }
}

mod sql {
    use super::{
        Arg, LogLine, LogMember, LogRange, Member, MemberKey, RequestFilter, StoreError, Timestamp, Tx,
        first_key, line,
    };

    /// The path of a line `l` of a request `r`, with the current id of the member it names. Lines of earlier versions have both in
    /// their requests.
    const PATH: &str =
        "CASE WHEN coalesce(l.named_member, r.named_member) IS NULL THEN coalesce(l.path, r.path)
                        ELSE replace(coalesce(l.path, r.path), ' ', coalesce(n.id, 'removed')) END";
    /// The request of a line `l`, its member or its API key, and the member that the path names.
    const JOINED: &str = "JOIN request r ON r.key = l.request LEFT JOIN member m ON m.key = l.member
                          LEFT JOIN member n ON n.key = coalesce(l.named_member, r.named_member)
                          LEFT JOIN logged_key k ON k.number = -1 - l.member";

    fn lines(tx: &mut dyn Tx, sql: &str, args: &[Arg<'_>]) -> Result<Vec<LogLine>, StoreError> {
        let mut lines = Vec::new();
        tx.for_each(sql, args, &mut |row| {
            lines.push(line(row)?);
            Ok(())
        })?;
        Ok(lines)
    }

    /// The lines after the one with this key, earliest first.
    pub(crate) fn lines_of(
        tx: &mut dyn Tx,
        member: &Member<'_>,
        after: i64,
        limit: i64,
    ) -> Result<Vec<LogLine>, StoreError> {
        let sql = format!(
            "SELECT l.key, l.member, m.id, r.method, {PATH}, r.status, r.result, k.name
             FROM log l {JOINED} WHERE l.member = $1 AND l.key > $2 ORDER BY l.key LIMIT $3"
        );
        lines(tx, &sql, &[member.key.into(), after.into(), limit.into()])
    }

    pub(super) fn search(
        tx: &mut dyn Tx,
        member: Option<LogMember>,
        LogRange { since, before, lines: searched }: LogRange,
        RequestFilter { path, result, status }: RequestFilter<'_>,
        limit: i64,
    ) -> Result<Vec<LogLine>, StoreError> {
        // Different statements, so that each uses its own index and compares no more than it has to.
        let mut args: Vec<Arg<'_>> = vec![since.into(), before.into(), searched.into(), limit.into()];
        let by_member = if let Some(member) = member {
            args.push(member.into());
            "member = $5 AND"
        } else {
            ""
        };
        let mut conditions = Vec::new();
        if let Some(path) = path {
            args.push(path.into());
            conditions.push(format!("{}({PATH}, ${}) > 0", tx.dialect().position(), args.len()));
        }
        if let Some(result) = result {
            args.push(result.into());
            let [one, other] = ["r.result", &format!("${}", args.len())]
                .map(|text| format!("replace(lower({text}), ' ', '_')"));
            conditions.push(format!("{one} = {other}"));
        }
        if let Some((low, high)) = status {
            args.extend([low, high].map(|status| Arg::from(i64::from(status))));
            conditions.push(format!("r.status BETWEEN ${} AND ${}", args.len() - 1, args.len()));
        }
        let filter = if conditions.is_empty() { "" } else { "WHERE" };
        let conditions = conditions.join(" AND ");
        let sql = format!(
            "SELECT l.key, l.member, m.id, r.method, {PATH}, r.status, r.result, k.name
             FROM (SELECT key, member, request, path, named_member FROM log WHERE {by_member} key >= $1 AND key < $2
                   ORDER BY key DESC LIMIT $3) l {JOINED}
             {filter} {conditions} ORDER BY l.key DESC LIMIT $4"
        );
        lines(tx, &sql, &args)
    }

    /// Returns the last key that a search of the range reads, if the range has more lines than its maximum.
    pub(super) fn cut_key(
        tx: &mut dyn Tx,
        member: Option<LogMember>,
        LogRange { since, before, lines }: LogRange,
    ) -> Result<Option<i64>, StoreError> {
        let by_member = if member.is_some() { "member = $4 AND" } else { "" };
        let sql = format!(
            "SELECT key FROM log WHERE {by_member} key >= $1 AND key < $2 ORDER BY key DESC LIMIT 1 OFFSET $3"
        );
        let args: [Arg<'_>; 4] = [since.into(), before.into(), (lines - 1).into(), member.into()];
        let args = if member.is_some() { &args[..] } else { &args[..3] };
        tx.row(&sql, args)?.map(|mut row| row.take(0)).transpose()
    }

    /// Locks the row of a shard until the end of the transaction, and returns the greatest key that it has assigned.
    pub(super) fn lock_shard(tx: &mut dyn Tx, shard: i64) -> Result<i64, StoreError> {
        let lock = "SELECT last FROM log_shard WHERE shard = $1 FOR UPDATE";
        if let Some(mut row) = tx.row(lock, &[shard.into()])? {
            return row.take(0);
        }
        // A new shard begins after all lines, because those of a copied database have any keys.
        let sql = "INSERT INTO log_shard (shard, last) SELECT $1, coalesce(max(key), $2) FROM log
                   ON CONFLICT (shard) DO NOTHING";
        tx.run(sql, &[shard.into(), i64::MIN.into()])?;
        tx.one(lock, &[shard.into()])?.take(0)
    }

    pub(super) fn update_shard(tx: &mut dyn Tx, shard: i64, last: i64) -> Result<(), StoreError> {
        tx.send("UPDATE log_shard SET last = $2 WHERE shard = $1", &[shard.into(), last.into()])
    }

    pub(super) fn removed(tx: &mut dyn Tx) -> Result<Vec<MemberKey>, StoreError> {
        let rows = tx.rows("SELECT key FROM removed_member ORDER BY key", &[])?;
        rows.into_iter().map(|mut row| row.take(0)).collect()
    }

    /// Changes up to `limit` lines of a removed member to [`LogMember::Removed`], and returns their number.
    pub(crate) fn anonymise(tx: &mut dyn Tx, key: MemberKey, limit: u64) -> Result<u64, StoreError> {
        // A range of keys, because PostgreSQL would read a partitioned table as a whole to find a list of them.
        let sql = "UPDATE log SET member = $2 WHERE member = $1 AND key <=
                   (SELECT max(key) FROM (SELECT key FROM log WHERE member = $1 ORDER BY key LIMIT $3) AS batch)";
        tx.run(sql, &[key.into(), LogMember::Removed.into(), limit.cast_signed().into()])
    }

    /// Returns whether there may be more.
    pub(crate) fn prune(tx: &mut dyn Tx, before: Timestamp, limit: u64) -> Result<bool, StoreError> {
        let sql = "DELETE FROM log WHERE key <=
                   (SELECT max(key) FROM (SELECT key FROM log WHERE key < $1 ORDER BY key LIMIT $2) AS batch)";
        Ok(tx.run(sql, &[first_key(before).into(), limit.cast_signed().into()])? == limit)
    }
}
