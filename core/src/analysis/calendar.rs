//! The calendar of a database: the zone whose days and hours its counters are kept by.
//!
//! Days that are counted cannot be cut anew, so the zone stands in the database and stays once anything is
//! counted. Who opens it with another one is refused.

use std::sync::atomic::{AtomicBool, Ordering};

use super::counters::{Counter, hourly};
use super::local_time::{LocalHour, LocalTime};
use crate::clock::{Clock, Monotonic, Timestamp};
use crate::error::{Error, Result};
use crate::store::{Store, StoreError, Topic, Tx};
use crate::zone::Zone;

/// Counts what happens by the days and hours of the database's zone.
pub(crate) struct Calendar {
    local_time: LocalTime,
    clock: Clock,
    /// Whether the zone is known to stay.
    zone_is_fixed: AtomicBool,
}

impl Calendar {
    /// The calendar of a database, in the zone `asked` for, else in its own, else in UTC.
    ///
    /// # Errors
    /// When days are counted in another zone than the one asked for.
    pub(crate) fn open(store: &Store, asked: Option<&Zone>, clock: Clock) -> Result<Self> {
        let (kept, counted) = store.read(|tx| sql::zone(tx))?;
        let zone = match asked {
            Some(asked) if asked.name() != kept => {
                if counted {
                    return Err(StoreError::Zone { counted: kept, asked: asked.name().to_owned() }.into());
                }
                let name = asked.name().to_owned();
                store.write(move |tx| sql::set_zone(tx, &name))?;
                asked.clone()
            }
            Some(asked) => asked.clone(),
            None => kept.parse().map_err(|_| {
                Error::Internal(format!("this program does not know the database's time zone {kept}").into())
            })?,
        };
        Ok(Self { local_time: LocalTime::new(zone), clock, zone_is_fixed: AtomicBool::new(false) })
    }

    pub(crate) fn local_time(&self) -> &LocalTime {
        &self.local_time
    }

    /// The time by which durations are measured.
    pub(super) fn monotonic(&self) -> Monotonic {
        self.clock.monotonic()
    }

    /// The day and the hour of a moment.
    pub(crate) fn local_hour(&self, at: Timestamp) -> LocalHour {
        self.local_time.local_hour(at)
    }

    /// The present day.
    pub(crate) fn today(&self) -> i64 {
        self.local_hour(self.clock.now()).day
    }

    /// Counts one of something that happened at some time.
    ///
    /// # Errors
    /// When the store fails; when the database's zone is another one by now.
    pub(crate) fn count(&self, tx: &mut dyn Tx, counter: Counter, at: Timestamp) -> Result<(), StoreError> {
        self.count_in(tx, counter, self.local_hour(at), 1)
    }

    /// Adds to what is counted of something on a day, and in its hour.
    ///
    /// # Errors
    /// As [`Calendar::count`].
    pub(crate) fn count_in(
        &self,
        tx: &mut dyn Tx,
        counter: Counter,
        at: LocalHour,
        n: i64,
    ) -> Result<(), StoreError> {
        self.add(tx, counter as i64, at.day, n)?;
        if counter.is_hourly() {
            tx.count_on(hourly(counter, at.hour), at.day, n);
        }
        Ok(())
    }

    /// Adds to a counter of a day.
    ///
    /// # Errors
    /// As [`Calendar::count`].
    pub(crate) fn add(&self, tx: &mut dyn Tx, counter: i64, day: i64, n: i64) -> Result<(), StoreError> {
        self.check_zone(tx)?;
        tx.count(counter, Some(day), n);
        if day != self.today() {
            tx.touch(Topic::History);
        }
        Ok(())
    }

    /// Makes sure, until anything is counted, that nobody has given the database another zone meanwhile.
    fn check_zone(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        if self.zone_is_fixed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (kept, counted) = sql::zone(tx)?;
        let own = self.local_time.zone().name();
        if kept != own {
            return Err(StoreError::Zone { counted: kept, asked: own.to_owned() });
        }
        // What is counted is written with the commit, so this was committed before, and the zone stays.
        self.zone_is_fixed.store(counted, Ordering::Relaxed);
        Ok(())
    }
}

mod sql {
    use super::{StoreError, Tx};

    /// The zone in which days are counted, and whether any is.
    pub(super) fn zone(tx: &mut dyn Tx) -> Result<(String, bool), StoreError> {
        let sql = "SELECT coalesce((SELECT name FROM zone), 'UTC'), EXISTS (SELECT 1 FROM day_count)";
        let mut row = tx.one(sql, &[])?;
        Ok((row.take(0)?, row.take(1)?))
    }

    /// Keeps another zone, where nothing is counted.
    pub(super) fn set_zone(tx: &mut dyn Tx, name: &str) -> Result<(), StoreError> {
        let (kept, counted) = zone(tx)?;
        if counted && kept != name {
            return Err(StoreError::Zone { counted: kept, asked: name.to_owned() });
        }
        let sql = "INSERT INTO zone (one, name) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET name = excluded.name";
        tx.run(sql, &[name.into()])?;
        Ok(())
    }
}
