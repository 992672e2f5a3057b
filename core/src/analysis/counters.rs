use crate::analysis::local_time::HOURS;
use crate::store::{StoreError, Tx};

/// The database stores these numbers; they must never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i64)]
pub(crate) enum Counter {
    /// Each visitor counts once per day.
    Visitor = 1,
    View = 2,
    Like = 3,
    Unlike = 4,
    Search = 5,
    Communication = 6,
    /// Communications of declared crawlers, which are not visitors.
    Crawler = 7,
    GuestVisit = 8,
    Pc = 9,
    Tablet = 10,
    Mobile = 11,
    /// Existing posts; the only counter that also decreases. Not counted by days.
    Posts = 12,
    /// Changes to the words of posts: posts inserted, removed or edited. Not counted by days.
    Wording = 13,
    MemberVisit = 14,
    /// Each member counts once per day.
    MemberVisitor = 15,
}

impl Counter {
    /// Events that are also counted by hour, so that two days can be compared up to the same time of day.
    pub(crate) const fn is_hourly(self) -> bool {
        matches!(
            self,
            Self::Visitor | Self::View | Self::Like | Self::Search | Self::GuestVisit | Self::MemberVisit
        )
    }
}

const FIRST_HOUR: i64 = 100;

pub(crate) const fn hour(hour: u8) -> i64 {
    FIRST_HOUR + hour as i64
}

/// The first number of the counters by hour, 24 for each [`Counter`].
const FIRST_HOURLY: i64 = 200;

/// A visitor counts in the hour of the first request of the day.
pub(crate) const fn hourly(counter: Counter, hour: u8) -> i64 {
    FIRST_HOURLY + 24 * counter as i64 + hour as i64
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    single: [i64; Counter::MemberVisitor as usize + 1],
    pub(crate) hours: [i64; HOURS],
}

impl Counts {
    pub(crate) const fn of(&self, counter: Counter) -> i64 {
        self.single[counter as usize]
    }

    /// Each writer may have a row of its own for a counter, so rows are added up.
    fn add(&mut self, counter: i64, n: i64) {
        let index = |from: i64| usize::try_from(counter - from).unwrap_or(usize::MAX);
        // A newer version may have counters that this one does not know.
        if let Some(entry) = self.single.get_mut(index(0)).or(self.hours.get_mut(index(FIRST_HOUR))) {
            *entry += n;
        }
    }

    pub(crate) fn of_day(tx: &mut dyn Tx, day: i64) -> Result<Self, StoreError> {
        Self::read(tx, "SELECT counter, n FROM day_count WHERE day = $1 AND counter < 200", Some(day))
    }

    pub(crate) fn of_days(tx: &mut dyn Tx, first: i64, last: i64) -> Result<Vec<Self>, StoreError> {
        let sql = "SELECT day, counter, n FROM day_count WHERE day BETWEEN $1 AND $2 AND counter < 200";
        let mut days: Vec<_> = (first..=last).map(|_| Self::default()).collect();
        for mut row in tx.rows(sql, &[first.into(), last.into()])? {
            let index = usize::try_from(row.take::<i64>(0)? - first).unwrap_or(usize::MAX);
            if let Some(counts) = days.get_mut(index) {
                counts.add(row.take(1)?, row.take(2)?);
            }
        }
        Ok(days)
    }

    pub(crate) fn hourly(tx: &mut dyn Tx, day: i64, counter: Counter) -> Result<[i64; HOURS], StoreError> {
        let first = hourly(counter, 0);
        let sql = "SELECT counter, n FROM day_count WHERE day = $1 AND counter BETWEEN $2 AND $3";
        let last = hourly(counter, 23);
        let mut hours = [0; HOURS];
        for mut row in tx.rows(sql, &[day.into(), first.into(), last.into()])? {
            let hour = usize::try_from(row.take::<i64>(0)? - first).unwrap_or(HOURS);
            if let Some(entry) = hours.get_mut(hour) {
                *entry += row.take::<i64>(1)?;
            }
        }
        Ok(hours)
    }

    pub(crate) fn single(tx: &mut dyn Tx, day: i64, counter: Counter) -> Result<i64, StoreError> {
        let sql = "SELECT coalesce(sum(n), 0) FROM day_count WHERE day = $1 AND counter = $2";
        tx.one(sql, &[day.into(), (counter as i64).into()])?.take(0)
    }

    pub(crate) fn in_total(tx: &mut dyn Tx) -> Result<Self, StoreError> {
        Self::read(tx, "SELECT counter, n FROM total_count", None)
    }

    fn read(tx: &mut dyn Tx, sql: &str, day: Option<i64>) -> Result<Self, StoreError> {
        let arg = day.map(Into::into);
        let mut counts = Self::default();
        for mut row in tx.rows(sql, arg.as_slice())? {
            counts.add(row.take(0)?, row.take(1)?);
        }
        Ok(counts)
    }
}

pub(crate) fn first_day(tx: &mut dyn Tx) -> Result<Option<i64>, StoreError> {
    tx.one("SELECT min(day) FROM day_count", &[])?.take(0)
}

pub(crate) fn most_visitors(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    let row = tx.row(tx.dialect().most_visitors(), &[])?;
    row.map_or(Ok(0), |mut row| row.take(0))
}
