//! Visits, which are counted by hour, and the rows of visitors.

use super::VisitorNumber;
use crate::account::Member;
use crate::analysis::calendar::Calendar;
use crate::analysis::counters::{Counter, hour};
use crate::analysis::local_time::{HOURS, LocalHour};
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::base::keyed::OwnMap;
use crate::record::error::Result;
use crate::store::{StoreError, Topic, Tx};

pub(crate) use sql::delete_guests;
pub(in crate::analysis) use sql::member_visits;

const GAP_MS: i64 = 30 * 60 * SECOND_MS;

/// The requests of visitors, by day and visitor, gathered to be written together. Clients cannot choose colliding keys: a key has
/// a day and either a key of the database or a hash under a secret key.
#[derive(Default)]
pub(crate) struct Visits(OwnMap<(i64, VisitorNumber), VisitorDay>);

struct VisitorDay {
    first: Timestamp,
    last: Timestamp,
    gaps: i64,
    /// The hours with requests, a bit for each.
    hours: i64,
}

impl Visits {
    /// The requests of one visitor must be added in chronological order.
    pub(crate) fn add(&mut self, visitor: VisitorNumber, at: Timestamp, LocalHour { day, hour }: LocalHour) {
        let requests =
            self.0.entry((day, visitor)).or_insert(VisitorDay { first: at, last: at, gaps: 0, hours: 0 });
        requests.gaps += i64::from(at - requests.last >= GAP_MS);
        requests.last = at;
        requests.hours |= 1 << hour;
    }

    /// Each visitor counts once per day.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Counts only visitors, hours and visits that are new.
    pub(crate) fn write(self, tx: &mut dyn Tx, calendar: &Calendar) -> Result<(), StoreError> {
        let mut visitors: Vec<_> = self.0.into_iter().collect();
        // All transactions lock the rows in this order.
        visitors.sort_unstable_by_key(|(key, _)| *key);
        let keys: Vec<_> = visitors.iter().map(|(key, _)| *key).collect();
        let known = sql::lock_visits(tx, &keys)?;
        let mut rows = Vec::with_capacity(visitors.len());
        for (((day, visitor), requests), known) in visitors.into_iter().zip(known) {
            let (first, last) = (first_hour(requests.hours), last_hour(requests.hours));
            let in_hour = |hour| LocalHour { day, hour };
            let (visits, hours) = match known {
                None => {
                    calendar.count_in(tx, Counter::Visitor, in_hour(first), 1)?;
                    if visitor.is_member() {
                        calendar.count_in(tx, Counter::MemberVisitor, in_hour(first), 1)?;
                    }
                    (requests.gaps + 1, requests.hours)
                }
                Some(VisitorRow { hours, last_seen, .. }) => {
                    let is_new_visit =
                        requests.first - last_seen >= GAP_MS || last_seen - requests.last >= GAP_MS;
                    (requests.gaps + i64::from(is_new_visit), requests.hours & !hours)
                }
            };
            for h in (0..24).filter(|h| hours & (1 << h) != 0) {
                calendar.add(tx, hour(h), day, 1)?;
            }
            if visits > 0 {
                // Requests are usually written within the hour. Visits of a backlog count in its last hour.
                let counter = if visitor.is_guest() { Counter::GuestVisit } else { Counter::MemberVisit };
                calendar.count_in(tx, counter, in_hour(last), visits)?;
            }
            rows.push((day, visitor, visits, requests));
        }
        sql::add_visits(tx, &rows)
    }
}

/// Returns 0 if `hours`, which has a bit for each hour, is empty.
fn first_hour(hours: i64) -> u8 {
    (0..24).find(|hour| hours & (1 << hour) != 0).unwrap_or_default()
}

fn last_hour(hours: i64) -> u8 {
    (0..24).rev().find(|hour| hours & (1 << hour) != 0).unwrap_or_default()
}

/// Adds requests of a member, at the times `new`, to a day that may be in the past. `known` has the times of the requests of the
/// member in the log. Unlike the requests of [`Visits`], they may be in any order: a request between two visits may join them into
/// one.
pub(crate) fn add_past(
    tx: &mut dyn Tx,
    calendar: &Calendar,
    (day, member): (i64, &Member<'_>),
    mut known: Vec<Timestamp>,
    new: &[Timestamp],
) -> Result<()> {
    let (Some(first), Some(last)) = (new.iter().min(), new.iter().max()) else { return Ok(()) };
    let hours = new.iter().fold(0, |hours, at| hours | 1 << calendar.local_hour(*at).hour);
    let row = sql::visits(tx, day, member.key.into())?;
    let (visits, known_hours) = row.map_or((0, 0), |row| (row.visits, row.hours));
    let in_hour = |hour| LocalHour { day, hour };
    let first_of_day = in_hour(first_hour(hours | known_hours));
    if visits == 0 && known_hours == 0 {
        calendar.count_in(tx, Counter::Visitor, first_of_day, 1)?;
        calendar.count_in(tx, Counter::MemberVisitor, first_of_day, 1)?;
    } else if in_hour(first_hour(known_hours)) != first_of_day {
        // The member's first hour is now an earlier one.
        calendar.count_in(tx, Counter::Visitor, in_hour(first_hour(known_hours)), -1)?;
        calendar.count_in(tx, Counter::Visitor, first_of_day, 1)?;
    }
    for h in (0..24).filter(|h| hours & !known_hours & (1 << h) != 0) {
        calendar.add(tx, hour(h), day, 1)?;
    }
    let before = visits_by_hour(calendar, &mut known);
    known.extend(new);
    let after = visits_by_hour(calendar, &mut known);
    let mut more = 0;
    for (h, (after, before)) in (0..).zip(after.into_iter().zip(before)) {
        if after != before {
            calendar.count_in(tx, Counter::MemberVisit, in_hour(h), after - before)?;
            more += after - before;
        }
    }
    // Requests that the log no longer holds may have joined visits. The day keeps at least one visit.
    let missing = 1 - (visits + more);
    if missing > 0 {
        calendar.count_in(tx, Counter::MemberVisit, first_of_day, missing)?;
        more += missing;
    }
    let requests = VisitorDay { first: *first, last: *last, gaps: 0, hours };
    sql::add_visits(tx, &[(day, member.key.into(), more, requests)])?;
    // Reports also read the rows of visitors, which can change without a counter.
    tx.touch(Topic::Counts);
    if day != calendar.today() {
        tx.touch(Topic::History);
    }
    Ok(())
}

/// By the hour in which they begin.
fn visits_by_hour(calendar: &Calendar, times: &mut [Timestamp]) -> [i64; HOURS] {
    times.sort_unstable();
    let mut hours = [0; HOURS];
    for (n, at) in times.iter().enumerate() {
        if n == 0 || *at - times[n - 1] >= GAP_MS {
            hours[usize::from(calendar.local_hour(*at).hour)] += 1;
        }
    }
    hours
}

struct VisitorRow {
    visits: i64,
    hours: i64,
    last_seen: Timestamp,
}

pub(crate) fn days_with_guests(tx: &mut dyn Tx, before: i64) -> Result<Vec<i64>, StoreError> {
    let (mut days, mut last) = (Vec::new(), None);
    // The index gives the next day directly, so that the rows of members are not scanned.
    while let Some(day) = sql::next_day(tx, last)?.filter(|day| *day < before) {
        if sql::has_guests(tx, day)? {
            days.push(day);
        }
        last = Some(day);
    }
    Ok(days)
}

mod sql {
    use super::{StoreError, Tx, VisitorDay, VisitorNumber, VisitorRow};
    use crate::store::{Pipelined, Row, ask_run_each, row_each, send_each};

    const VISITS: &str = "SELECT visits, hours, seen FROM visitor WHERE day = $1 AND visitor = $2";

    pub(super) fn visits(
        tx: &mut dyn Tx,
        day: i64,
        visitor: VisitorNumber,
    ) -> Result<Option<VisitorRow>, StoreError> {
        tx.row(VISITS, &[day.into(), visitor.into()])?.map(visitor_row).transpose()
    }

    /// Returns the rows as they are after all concurrent transactions that change them; `None` for visitors without one. If the
    /// engine runs transactions concurrently, each visitor then has a row, which is locked.
    pub(super) fn lock_visits(
        tx: &mut dyn Tx,
        keys: &[(i64, VisitorNumber)],
    ) -> Result<Vec<Option<VisitorRow>>, StoreError> {
        let args: Vec<_> = keys.iter().map(|(day, visitor)| [(*day).into(), (*visitor).into()]).collect();
        let inserted = if tx.dialect().is_concurrent() {
            let sql = "INSERT INTO visitor (day, visitor, visits, hours, seen)
                       SELECT $1, $2, 0, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM visitor WHERE day = $1 AND visitor = $2)
                       ON CONFLICT (day, visitor) DO NOTHING";
            ask_run_each(tx, sql, &args)?
        } else {
            Pipelined::given(vec![0; keys.len()])
        };
        let sql = format!("{VISITS} {}", tx.dialect().for_update());
        let found = row_each(tx, &sql, &args)?.into_iter().zip(inserted.answer(tx)?);
        found.map(|(row, new)| row.filter(|_| new == 0).map(visitor_row).transpose()).collect()
    }

    fn visitor_row(mut row: Row) -> Result<VisitorRow, StoreError> {
        Ok(VisitorRow { visits: row.take(0)?, hours: row.take(1)?, last_seen: row.take(2)? })
    }

    /// The visitors of a day must differ.
    pub(super) fn add_visits(
        tx: &mut dyn Tx,
        rows: &[(i64, VisitorNumber, i64, VisitorDay)],
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO visitor (day, visitor, visits, hours, seen) VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (day, visitor) DO UPDATE SET visits = visitor.visits + excluded.visits,
                   hours = visitor.hours | excluded.hours,
                   seen = CASE WHEN visitor.seen > excluded.seen THEN visitor.seen ELSE excluded.seen END";
        let args = rows.iter().map(|(day, visitor, visits, VisitorDay { last, hours, .. })| {
            [(*day).into(), (*visitor).into(), (*visits).into(), (*hours).into(), (*last).into()]
        });
        send_each(tx, sql, &args.collect::<Vec<_>>())
    }

    pub(super) fn next_day(tx: &mut dyn Tx, after: Option<i64>) -> Result<Option<i64>, StoreError> {
        let after = after.unwrap_or(i64::MIN);
        tx.one("SELECT min(day) FROM visitor WHERE day > $1", &[after.into()])?.take(0)
    }

    pub(super) fn has_guests(tx: &mut dyn Tx, day: i64) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM visitor WHERE day = $1 AND visitor < 0 LIMIT 1";
        Ok(tx.row(sql, &[day.into()])?.is_some())
    }

    /// Returns whether there may be more.
    pub(crate) fn delete_guests(tx: &mut dyn Tx, day: i64, limit: u64) -> Result<bool, StoreError> {
        let sql = "DELETE FROM visitor WHERE day = $1 AND visitor IN
                   (SELECT visitor FROM visitor WHERE day = $1 AND visitor < 0 LIMIT $2)";
        Ok(tx.run(sql, &[day.into(), limit.cast_signed().into()])? == limit)
    }

    /// The id of a removed member is `None`.
    pub(in crate::analysis) fn member_visits(
        tx: &mut dyn Tx,
        day: i64,
    ) -> Result<Vec<(Option<String>, i64)>, StoreError> {
        let sql = "SELECT m.id, v.visits FROM visitor v LEFT JOIN member m ON m.key = v.visitor
                   WHERE v.day = $1 AND v.visitor > 0";
        let rows = tx.rows(sql, &[day.into()])?;
        rows.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
    }
}
