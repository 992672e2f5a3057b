//! The calendar of a database: the zone whose days and hours its counters are kept by.
//!
//! Days that are counted cannot be cut anew, so the zone stands in the database and stays once anything is
//! counted. Who opens it with another one is refused.

use std::sync::atomic::{AtomicBool, Ordering};

use super::bucket::{Cutter, Slot};
use super::counters::{Counter, hourly};
use crate::clock::{Clock, Monotonic, Timestamp};
use crate::error::{Error, Result};
use crate::store::{Store, StoreError, Topic, Tx};
use crate::zone::Zone;

/// Counts what happens by the days and hours of the database's zone.
pub(crate) struct Calendar {
    cutter: Cutter,
    clock: Clock,
    /// Whether the zone is known to stay.
    settled: AtomicBool,
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
                store.write(move |tx| sql::keep_zone(tx, &name))?;
                asked.clone()
            }
            Some(asked) => asked.clone(),
            None => kept.parse().map_err(|_| {
                Error::Internal(format!("this program does not know the database's time zone {kept}").into())
            })?,
        };
        Ok(Self { cutter: Cutter::new(zone), clock, settled: AtomicBool::new(false) })
    }

    pub(crate) fn cutter(&self) -> &Cutter {
        &self.cutter
    }

    /// The time by which durations are measured.
    pub(super) fn monotonic(&self) -> Monotonic {
        self.clock.monotonic()
    }

    /// The day and the hour of a moment.
    pub(crate) fn slot(&self, at: Timestamp) -> Slot {
        self.cutter.slot(at)
    }

    /// The present day.
    pub(crate) fn today(&self) -> i64 {
        self.slot(self.clock.now()).day
    }

    /// Counts one of something that happened at some time.
    ///
    /// # Errors
    /// When the store fails; when the database's zone is another one by now.
    pub(crate) fn count(&self, tx: &mut dyn Tx, counter: Counter, at: Timestamp) -> Result<(), StoreError> {
        self.count_in(tx, counter, self.slot(at), 1)
    }

    /// Adds to what is counted of something on a day, and in its hour.
    ///
    /// # Errors
    /// As [`Calendar::count`].
    pub(crate) fn count_in(
        &self,
        tx: &mut dyn Tx,
        counter: Counter,
        slot: Slot,
        n: i64,
    ) -> Result<(), StoreError> {
        self.add(tx, counter as i64, slot.day, n)?;
        if counter.is_hourly() {
            tx.count_on(hourly(counter, slot.hour), slot.day, n);
        }
        Ok(())
    }

    /// Adds to a counter of a day.
    ///
    /// # Errors
    /// As [`Calendar::count`].
    pub(crate) fn add(&self, tx: &mut dyn Tx, counter: i64, day: i64, n: i64) -> Result<(), StoreError> {
        self.settle(tx)?;
        tx.count(counter, Some(day), n);
        if day != self.today() {
            tx.touch(Topic::History);
        }
        Ok(())
    }

    /// Makes sure, until anything is counted, that nobody has given the database another zone meanwhile.
    fn settle(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        if self.settled.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (kept, counted) = sql::zone(tx)?;
        let own = self.cutter.zone().name();
        if kept != own {
            return Err(StoreError::Zone { counted: kept, asked: own.to_owned() });
        }
        // What is counted is written with the commit, so this was committed before, and the zone stays.
        self.settled.store(counted, Ordering::Relaxed);
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
    pub(super) fn keep_zone(tx: &mut dyn Tx, name: &str) -> Result<(), StoreError> {
        let (kept, counted) = zone(tx)?;
        if counted && kept != name {
            return Err(StoreError::Zone { counted: kept, asked: name.to_owned() });
        }
        let sql = "INSERT INTO zone (one, name) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET name = excluded.name";
        tx.run(sql, &[name.into()])?;
        Ok(())
    }
}
