//! Visitors: who was there on a day, in which hours, and how often they came.
//!
//! A visitor is a member, or a guest: a client who is not signed in, told apart for one day only by a keyed hash
//! of address and user agent. The key of a day is random, stands in the database so that a restart and another
//! process tell the same guests apart, and gives its place to a later day's when the day is over. No address is
//! ever stored. With the same key the network of an address becomes a number, which bounds what one client can do with
//! many user agents or addresses.
//!
//! A visit is a visitor's requests with gaps under half an hour. It is one day's: who stays over midnight begins
//! another.
//!
//! Source of the hash: Aumasson and Bernstein, *`SipHash`: a fast short-input PRF*, INDOCRYPT 2012.

use std::hash::Hasher as _;
use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use siphasher::sip::SipHasher24;
use zeroize::Zeroizing;

use super::bucket::{HOURS, Slot};
use super::calendar::Calendar;
use super::counters::{Counter, hour};
use super::{State, crawler};
use crate::Tidings;
use crate::account::Member;
use crate::clock::{SECOND_MS, Timestamp};
use crate::error::Result;
use crate::id::{MemberKey, random};
use crate::keyed::OwnMap;
use crate::store::{Arg, FromValue, Store, StoreError, Topic, Tx, Value};

/// A gap between two requests that ends a visit.
pub(crate) const GAP_MS: i64 = 30 * 60 * SECOND_MS;

/// A visitor in the tables of visitors and of search terms: a member's key, a guest's number below 0, or 0 for nobody
/// in particular.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct VisitorNumber(i64);

impl VisitorNumber {
    /// Nobody in particular, such as an operator or a declared crawler.
    pub(crate) const NOBODY: Self = Self(0);

    /// Returns a guest's number; the sign bit of `bits` is replaced by a guest's.
    pub(super) const fn guest(bits: i64) -> Self {
        Self(bits | i64::MIN)
    }

    pub(super) const fn is_member(self) -> bool {
        self.0 > 0
    }

    pub(super) const fn is_guest(self) -> bool {
        self.0 < 0
    }
}

impl From<MemberKey> for VisitorNumber {
    fn from(key: MemberKey) -> Self {
        Self(key.as_i64())
    }
}

impl From<VisitorNumber> for Arg<'_> {
    fn from(visitor: VisitorNumber) -> Self {
        visitor.0.into()
    }
}

impl FromValue for VisitorNumber {
    fn from_value(value: &mut Value) -> Option<Self> {
        i64::from_value(value).map(Self)
    }
}

/// A client as it is told apart while it is not signed in: by a number that means nothing after its day, and by a
/// number of its network that means nothing after it either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guest(pub(super) Option<VisitorNumber>, pub(super) Network);

impl Guest {
    /// The guest with this address and user agent; a declared crawler is nobody.
    pub fn new(tidings: &Tidings, address: IpAddr, user_agent: &[u8]) -> Self {
        Self::at(tidings.analysis(), tidings.now(), address, user_agent)
    }

    /// As [`Guest::new`], at some time.
    pub(super) fn at(analysis: &State, at: Timestamp, address: IpAddr, user_agent: &[u8]) -> Self {
        if crawler::is_declared(user_agent) {
            return Self::CRAWLER;
        }
        let day = analysis.calendar.slot(at).day;
        analysis.keys.hash(day, |secret| {
            Self(Some(number(secret, address, user_agent)), Network::new(secret, address))
        })
    }

    /// A declared crawler, or nobody who is a guest.
    pub(super) const CRAWLER: Self = Self(None, Network(0));

    /// Whether it is a declared crawler.
    pub(crate) const fn is_crawler(self) -> bool {
        self.0.is_none()
    }

    /// Returns the number; that of nobody in particular for a declared crawler.
    pub(crate) fn number(self) -> VisitorNumber {
        self.0.unwrap_or_default()
    }

    /// The number of its network on this day.
    pub(crate) fn network(self) -> i64 {
        i64::from(self.1.0)
    }

    /// Returns the number under which its searches are kept: it tells guests apart, and also shows which of them are
    /// of one network. That of nobody in particular for a declared crawler.
    pub(crate) fn searcher(self) -> VisitorNumber {
        let Some(VisitorNumber(number)) = self.0 else { return VisitorNumber::NOBODY };
        VisitorNumber::guest(self.network() << Network::SHIFT | number & ((1 << Network::SHIFT) - 1))
    }
}

/// The network of an address, as a keyed hash of one day: of IPv4 the first 24 bits, of IPv6 the first 48. That is what
/// one customer or one campus has at least, so that nobody gets another network by changing an address.
///
/// It has 24 bits. Of two networks that have the same number, which one in 16 million pairs has, the guests share
/// their bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Network(pub(super) u32);

impl Network {
    const BITS: u32 = 24;
    /// Where it begins in the number of a guest who searches: below it are 39 bits that tell guests apart.
    const SHIFT: u32 = 63 - Self::BITS;

    fn new(secret: &Secret, address: IpAddr) -> Self {
        let mut hasher = SipHasher24::new_with_key(secret);
        match address.to_canonical() {
            IpAddr::V4(v4) => hasher.write(&v4.octets()[..3]),
            IpAddr::V6(v6) => hasher.write(&v6.octets()[..6]),
        }
        Self(u32::try_from(hasher.finish() >> (64 - Self::BITS)).unwrap_or_default())
    }

    /// The network of a guest who searches, by the number that [`Guest::searcher`] gives; `None` of others.
    pub(super) fn of_searcher(visitor: VisitorNumber) -> Option<Self> {
        let network = || u32::try_from((visitor.0 & i64::MAX) >> Self::SHIFT).unwrap_or_default();
        visitor.is_guest().then(|| Self(network()))
    }
}

/// The key of a hash.
pub(super) type Secret = Zeroizing<[u8; 16]>;

/// The keys of the days that guests are told apart on.
#[derive(Default)]
pub(crate) struct DayKeys(ArcSwap<Vec<(i64, Secret)>>);

impl DayKeys {
    /// What `hash` makes with the key of a day.
    fn hash<T>(&self, day: i64, hash: impl Fn(&Secret) -> T) -> T {
        let keys = self.0.load();
        let found = keys.iter().find(|(of, _)| *of == day).map(|(_, secret)| hash(secret));
        found.unwrap_or_else(|| hash(&self.make(day)))
    }

    /// Whether the keys of this day and the next are there.
    pub(super) fn has_keys(&self, day: i64) -> bool {
        let keys = self.0.load();
        [day, day + 1].iter().all(|day| keys.iter().any(|(of, _)| of == day))
    }

    /// Loads the keys of this day and the next, made where there are none: those of earlier days give way. What is
    /// left of them in the write-ahead log goes with [`Store::empty_wal`].
    ///
    /// # Errors
    /// When the store fails.
    pub(super) fn rotate(&self, store: &Store, day: i64) -> Result<()> {
        let fresh = [day, day + 1].map(|day| (day, encode(&random())));
        let kept = store.write(move |tx| {
            fresh.iter().try_for_each(|(day, secret)| sql::keep_key(tx, *day, secret))?;
            sql::keys(tx)
        })?;
        let kept =
            kept.iter().filter(|(of, _)| *of >= day).filter_map(|(of, text)| Some((*of, decode(text)?)));
        self.0.store(Arc::new(kept.collect()));
        Ok(())
    }

    /// A key for a day that has none here, because nobody has turned the keys for more than a day: it is this
    /// process's own until they are.
    fn make(&self, day: i64) -> Secret {
        let fresh = Secret::new(random());
        let keys = self.0.rcu(|keys| {
            let mut keys = Vec::clone(keys);
            if !keys.iter().any(|(of, _)| *of == day) {
                keys.push((day, fresh.clone()));
            }
            keys
        });
        let raced = keys.iter().find(|(of, _)| *of == day);
        raced.map_or(fresh, |(_, secret)| secret.clone())
    }
}

/// The number of a guest.
fn number(secret: &Secret, address: IpAddr, user_agent: &[u8]) -> VisitorNumber {
    let mut hasher = SipHasher24::new_with_key(secret);
    let address = match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    hasher.write(&address.octets());
    hasher.write(user_agent);
    VisitorNumber::guest(hasher.finish().cast_signed())
}

fn encode(secret: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*secret))
}

/// A key as the database has it: 32 hexadecimal digits.
pub(super) fn decode(text: &str) -> Option<Secret> {
    Some(Secret::new(u128::from_str_radix(text, 16).ok()?.to_be_bytes()))
}

/// When visitors were there, gathered to be written together: by day and visitor, who is a key of ours or a hash under
/// the day's key.
#[derive(Default)]
pub(crate) struct Visits(OwnMap<(i64, VisitorNumber), Stay>);

/// The requests of a visitor on a day, in the order of time.
struct Stay {
    first: Timestamp,
    last: Timestamp,
    /// Gaps between them that end a visit.
    gaps: i64,
    /// A bit for each hour.
    hours: i64,
}

impl Visits {
    /// Adds a request; a visitor's come in the order of time.
    pub(crate) fn add(&mut self, visitor: VisitorNumber, at: Timestamp, Slot { day, hour }: Slot) {
        let stay = self.0.entry((day, visitor)).or_insert(Stay { first: at, last: at, gaps: 0, hours: 0 });
        stay.gaps += i64::from(at - stay.last >= GAP_MS);
        stay.last = at;
        stay.hours |= 1 << hour;
    }

    /// How many visitors there are, each counted once a day.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Writes them, and counts what is new about them.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) fn write(self, tx: &mut dyn Tx, calendar: &Calendar) -> Result<(), StoreError> {
        for ((day, visitor), stay) in self.0 {
            let (came, left) = (first_hour(stay.hours), last_hour(stay.hours));
            let slot = |hour| Slot { day, hour };
            let known = sql::visits(tx, day, visitor)?;
            let (visits, hours) = match known {
                None => {
                    calendar.count_in(tx, Counter::Visitor, slot(came), 1)?;
                    if visitor.is_member() {
                        calendar.count_in(tx, Counter::MemberVisitor, slot(came), 1)?;
                    }
                    (stay.gaps + 1, stay.hours)
                }
                Some(Visited { hours, seen, .. }) => {
                    let comes_again = stay.first - seen >= GAP_MS || seen - stay.last >= GAP_MS;
                    (stay.gaps + i64::from(comes_again), stay.hours & !hours)
                }
            };
            for h in (0..24).filter(|h| hours & (1 << h) != 0) {
                calendar.add(tx, hour(h), day, 1)?;
            }
            if visits > 0 {
                // What is written together is of one moment but for a backlog, whose visits stand in its last hour.
                let whose = if visitor.is_guest() { Counter::GuestVisit } else { Counter::MemberVisit };
                calendar.count_in(tx, whose, slot(left), visits)?;
            }
            sql::keep_visits(tx, day, visitor, visits, &stay)?;
        }
        Ok(())
    }
}

/// The first of some hours, each a bit; 0 where there is none.
fn first_hour(hours: i64) -> u8 {
    (0..24).find(|hour| hours & (1 << hour) != 0).unwrap_or_default()
}

/// The last of some hours, each a bit; 0 where there is none.
fn last_hour(hours: i64) -> u8 {
    (0..24).rev().find(|hour| hours & (1 << hour) != 0).unwrap_or_default()
}

/// Adds the moments at which a member was there on a day that may be long over, to those that are `known`.
///
/// Unlike those of [`Visits`] they come in any order: one may stand between two visits and make them one.
///
/// # Errors
/// When the store fails.
pub(crate) fn add_past(
    tx: &mut dyn Tx,
    calendar: &Calendar,
    (day, member): (i64, &Member<'_>),
    mut known: Vec<Timestamp>,
    new: &[Timestamp],
) -> Result<()> {
    let (Some(first), Some(last)) = (new.iter().min(), new.iter().max()) else { return Ok(()) };
    let hours = new.iter().fold(0, |hours, at| hours | 1 << calendar.slot(*at).hour);
    let there = sql::visits(tx, day, member.key.into())?;
    let (visits, known_hours) = there.map_or((0, 0), |there| (there.visits, there.hours));
    let slot = |hour| Slot { day, hour };
    let came = slot(first_hour(hours | known_hours));
    if visits == 0 && known_hours == 0 {
        calendar.count_in(tx, Counter::Visitor, came, 1)?;
        calendar.count_in(tx, Counter::MemberVisitor, came, 1)?;
    } else if slot(first_hour(known_hours)) != came {
        // They came earlier than they seemed to.
        calendar.count_in(tx, Counter::Visitor, slot(first_hour(known_hours)), -1)?;
        calendar.count_in(tx, Counter::Visitor, came, 1)?;
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
            calendar.count_in(tx, Counter::MemberVisit, slot(h), after - before)?;
            more += after - before;
        }
    }
    // What the log no longer holds may have made one visit of what seem to be two.
    let missing = 1 - (visits + more);
    if missing > 0 {
        calendar.count_in(tx, Counter::MemberVisit, came, missing)?;
        more += missing;
    }
    let stay = Stay { first: *first, last: *last, gaps: 0, hours };
    sql::keep_visits(tx, day, member.key.into(), more, &stay)?;
    // Visits alone are no counter of every report.
    tx.touch(Topic::Counts);
    if day != calendar.today() {
        tx.touch(Topic::History);
    }
    Ok(())
}

/// How many visits begin in each hour, of a visitor who was there at these moments.
fn visits_by_hour(calendar: &Calendar, moments: &mut [Timestamp]) -> [i64; HOURS] {
    moments.sort_unstable();
    let mut hours = [0; HOURS];
    for (n, at) in moments.iter().enumerate() {
        if n == 0 || *at - moments[n - 1] >= GAP_MS {
            hours[usize::from(calendar.slot(*at).hour)] += 1;
        }
    }
    hours
}

/// What is known of a visitor on a day.
struct Visited {
    visits: i64,
    hours: i64,
    seen: Timestamp,
}

/// The days before another on which guests are still told apart.
pub(super) fn days_with_guests(tx: &mut dyn Tx, before: i64) -> Result<Vec<i64>, StoreError> {
    let (mut days, mut last) = (Vec::new(), None);
    // From day to day by the index, however many members there were on each.
    while let Some(day) = sql::next_day(tx, last)?.filter(|day| *day < before) {
        if sql::has_guests(tx, day)? {
            days.push(day);
        }
        last = Some(day);
    }
    Ok(days)
}

/// Deletes up to `limit` guests of a day; whether there may be more.
pub(super) fn delete_guests(tx: &mut dyn Tx, day: i64, limit: u64) -> Result<bool, StoreError> {
    Ok(sql::delete_guests(tx, day, limit)? == limit)
}

/// How often each member visited on a day, by their ids; `None` for those who are gone.
pub(super) fn member_visits(tx: &mut dyn Tx, day: i64) -> Result<Vec<(Option<String>, i64)>, StoreError> {
    sql::member_visits(tx, day)
}

mod sql {
    use super::{Stay, StoreError, Tx, Visited, VisitorNumber};

    /// Keeps a day's key, unless there is one: in the place of that of two days before.
    pub(super) fn keep_key(tx: &mut dyn Tx, day: i64, secret: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO day_key (slot, day, secret) VALUES ($1, $2, $3) ON CONFLICT (slot)
                   DO UPDATE SET day = excluded.day, secret = excluded.secret WHERE day_key.day < excluded.day";
        tx.run(sql, &[day.rem_euclid(2).into(), day.into(), secret.into()])?;
        Ok(())
    }

    pub(super) fn keys(tx: &mut dyn Tx) -> Result<Vec<(i64, String)>, StoreError> {
        let rows = tx.rows("SELECT day, secret FROM day_key ORDER BY day", &[])?;
        rows.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
    }

    pub(super) fn visits(
        tx: &mut dyn Tx,
        day: i64,
        visitor: VisitorNumber,
    ) -> Result<Option<Visited>, StoreError> {
        let sql = "SELECT visits, hours, seen FROM visitor WHERE day = $1 AND visitor = $2";
        let row = tx.row(sql, &[day.into(), visitor.into()])?;
        row.map(|mut row| Ok(Visited { visits: row.take(0)?, hours: row.take(1)?, seen: row.take(2)? }))
            .transpose()
    }

    pub(super) fn keep_visits(
        tx: &mut dyn Tx,
        day: i64,
        visitor: VisitorNumber,
        visits: i64,
        stay: &Stay,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO visitor (day, visitor, visits, hours, seen) VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (day, visitor) DO UPDATE SET visits = visitor.visits + excluded.visits,
                   hours = visitor.hours | excluded.hours,
                   seen = CASE WHEN visitor.seen > excluded.seen THEN visitor.seen ELSE excluded.seen END";
        let Stay { last, hours, .. } = stay;
        tx.run(sql, &[day.into(), visitor.into(), visits.into(), (*hours).into(), (*last).into()])?;
        Ok(())
    }

    pub(super) fn next_day(tx: &mut dyn Tx, behind: Option<i64>) -> Result<Option<i64>, StoreError> {
        let behind = behind.unwrap_or(i64::MIN);
        tx.one("SELECT min(day) FROM visitor WHERE day > $1", &[behind.into()])?.take(0)
    }

    pub(super) fn has_guests(tx: &mut dyn Tx, day: i64) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM visitor WHERE day = $1 AND visitor < 0 LIMIT 1";
        Ok(tx.row(sql, &[day.into()])?.is_some())
    }

    pub(super) fn delete_guests(tx: &mut dyn Tx, day: i64, limit: u64) -> Result<u64, StoreError> {
        let sql = "DELETE FROM visitor WHERE day = $1 AND visitor IN
                   (SELECT visitor FROM visitor WHERE day = $1 AND visitor < 0 LIMIT $2)";
        tx.run(sql, &[day.into(), limit.cast_signed().into()])
    }

    pub(super) fn member_visits(tx: &mut dyn Tx, day: i64) -> Result<Vec<(Option<String>, i64)>, StoreError> {
        let sql = "SELECT m.id, v.visits FROM visitor v LEFT JOIN member m ON m.key = v.visitor
                   WHERE v.day = $1 AND v.visitor > 0";
        let rows = tx.rows(sql, &[day.into()])?;
        rows.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
    }
}
