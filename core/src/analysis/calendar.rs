//! The calendar of a database: the time zone in which its counters count days and hours.
//!
//! Counted days cannot be converted to another zone. So the database stores the zone, and it is fixed once anything is
//! counted: opening the database with a different zone fails.

use std::sync::atomic::{AtomicBool, Ordering};

use super::counters::{Counter, hourly};
use super::local_time::{LocalHour, LocalTime};
use crate::clock::{Clock, Monotonic, Timestamp};
use crate::error::{Error, Result};
use crate::store::{Isolation, Store, StoreError, Topic, Tx};
use crate::zone::Zone;

/// Counts events by the days and hours of the database's zone.
pub(crate) struct Calendar {
    local_time: LocalTime,
    clock: Clock,
    /// Whether anything is known to be counted, so that the zone cannot change.
    zone_is_fixed: AtomicBool,
}

impl Calendar {
    /// Opens the calendar of a database in the zone `asked`; if it is `None`, in the zone that the database stores,
    /// which is UTC by default.
    ///
    /// # Errors
    /// When days are counted in a zone other than `asked`.
    pub(crate) fn open(store: &Store, asked: Option<&Zone>, clock: Clock) -> Result<Self> {
        let (stored, counted) = store.read(|tx| sql::zone(tx))?;
        let zone = match asked {
            Some(asked) if asked.name() != stored => {
                if counted {
                    return Err(StoreError::Zone { counted: stored, asked: asked.name().to_owned() }.into());
                }
                let name = asked.name().to_owned();
                store.write(Isolation::Alone, move |tx| sql::set_zone(tx, &name))?;
                asked.clone()
            }
            Some(asked) => asked.clone(),
            None => stored.parse().map_err(|_| {
                Error::Internal(
                    format!("this program does not know the database's time zone {stored}").into(),
                )
            })?,
        };
        Ok(Self { local_time: LocalTime::new(zone), clock, zone_is_fixed: AtomicBool::new(false) })
    }

    pub(crate) fn local_time(&self) -> &LocalTime {
        &self.local_time
    }

    /// Returns the monotonic time, for measuring durations.
    pub(super) fn monotonic(&self) -> Monotonic {
        self.clock.monotonic()
    }

    /// Returns the local day and hour of a time.
    pub(crate) fn local_hour(&self, at: Timestamp) -> LocalHour {
        self.local_time.local_hour(at)
    }

    /// Returns the current day.
    pub(crate) fn today(&self) -> i64 {
        self.local_hour(self.clock.now()).day
    }

    /// Counts one event that happened at `at`.
    ///
    /// # Errors
    /// When the store fails; when another process has changed the database's zone.
    pub(crate) fn count(&self, tx: &mut dyn Tx, counter: Counter, at: Timestamp) -> Result<(), StoreError> {
        self.count_in(tx, counter, self.local_hour(at), 1)
    }

    /// Adds to the count of events on a day and in its hour.
    ///
    /// # Errors
    /// Those of [`Calendar::count`].
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
    /// Those of [`Calendar::count`].
    pub(crate) fn add(&self, tx: &mut dyn Tx, counter: i64, day: i64, n: i64) -> Result<(), StoreError> {
        self.check_zone(tx)?;
        tx.count(counter, Some(day), n);
        if day != self.today() {
            tx.touch(Topic::History);
        }
        Ok(())
    }

    /// Checks, until anything is counted, that no other process has changed the database's zone.
    fn check_zone(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        if self.zone_is_fixed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (stored, counted) = sql::zone(tx)?;
        let own = self.local_time.zone().name();
        if stored != own {
            return Err(StoreError::Zone { counted: stored, asked: own.to_owned() });
        }
        // Counters are written with their own commit. So a counter that exists here was committed before, and the zone
        // is fixed.
        self.zone_is_fixed.store(counted, Ordering::Relaxed);
        Ok(())
    }
}

mod sql {
    use super::{StoreError, Tx};

    /// Reads the zone in which days are counted, and whether anything is counted.
    pub(super) fn zone(tx: &mut dyn Tx) -> Result<(String, bool), StoreError> {
        let sql = "SELECT coalesce((SELECT name FROM zone), 'UTC'), EXISTS (SELECT 1 FROM day_count)";
        let mut row = tx.one(sql, &[])?;
        Ok((row.take(0)?, row.take(1)?))
    }

    /// Stores the zone, if nothing is counted.
    pub(super) fn set_zone(tx: &mut dyn Tx, name: &str) -> Result<(), StoreError> {
        let (stored, counted) = zone(tx)?;
        if counted && stored != name {
            return Err(StoreError::Zone { counted: stored, asked: name.to_owned() });
        }
        let sql = "INSERT INTO zone (one, name) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET name = excluded.name";
        tx.run(sql, &[name.into()])?;
        Ok(())
    }
}
