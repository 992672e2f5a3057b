//! What is counted, each by its number.

use crate::analysis::bucket::HOURS;
use crate::store::{StoreError, Tx};

/// What is counted. The numbers stand in the database and may not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i64)]
pub(crate) enum Counter {
    /// Visitors, each once a day.
    Visitor = 1,
    /// Views of posts.
    View = 2,
    /// Likes given.
    Like = 3,
    /// Likes taken back.
    Unlike = 4,
    /// Searches.
    Search = 5,
    /// Communications.
    Communication = 6,
    /// Communications of programs that say they are crawlers; they are no visitors.
    Crawler = 7,
    /// Visits of guests.
    GuestVisit = 8,
    /// Devices, as apps report them.
    Pc = 9,
    Tablet = 10,
    Mobile = 11,
    /// Posts that are there: the only one that also goes down. Not counted by days.
    Posts = 12,
    /// How often the words of posts changed: by posts that came, went or were written anew. Not counted by days.
    Wording = 13,
}

/// Counters of the visitors in each hour of a day begin here.
const FIRST_HOUR: i64 = 100;

/// The number of the counter of visitors in an hour of the day, 0 to 23.
pub(crate) const fn hour(hour: u8) -> i64 {
    FIRST_HOUR + hour as i64
}

/// What was counted, on a day or all in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    single: [i64; Counter::Wording as usize + 1],
    pub(crate) hours: [i64; HOURS],
}

impl Counts {
    /// What was counted of this.
    pub(crate) const fn of(&self, counter: Counter) -> i64 {
        self.single[counter as usize]
    }

    fn set(&mut self, counter: i64, n: i64) {
        let index = |from: i64| usize::try_from(counter - from).unwrap_or(usize::MAX);
        // A newer program may count more than this one knows.
        if let Some(slot) = self.single.get_mut(index(0)).or(self.hours.get_mut(index(FIRST_HOUR))) {
            *slot = n;
        }
    }

    /// What was counted on a day.
    pub(crate) fn of_day(tx: &mut dyn Tx, day: i64) -> Result<Self, StoreError> {
        Self::read(tx, "SELECT counter, n FROM day_count WHERE day = $1", Some(day))
    }

    /// What was counted all in all.
    pub(crate) fn in_total(tx: &mut dyn Tx) -> Result<Self, StoreError> {
        Self::read(tx, "SELECT counter, n FROM total_count", None)
    }

    fn read(tx: &mut dyn Tx, sql: &str, day: Option<i64>) -> Result<Self, StoreError> {
        let arg = day.map(Into::into);
        let mut counts = Self::default();
        for mut row in tx.rows(sql, arg.as_slice())? {
            counts.set(row.take(0)?, row.take(1)?);
        }
        Ok(counts)
    }
}

/// The first day on which anything was counted.
pub(crate) fn first_day(tx: &mut dyn Tx) -> Result<Option<i64>, StoreError> {
    tx.one("SELECT min(day) FROM day_count", &[])?.take(0)
}

/// The most visitors of a day.
pub(crate) fn most_visitors(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    // The number stands in the statement, as it does in the index that answers it.
    let row = tx.row("SELECT n FROM day_count WHERE counter = 1 ORDER BY n DESC LIMIT 1", &[])?;
    row.map_or(Ok(0), |mut row| row.take(0))
}
