//! The calendar of a database: the time zones in which its counters count days and hours. Counted days cannot be converted to
//! another zone. So the database stores the zone, and once anything is counted, opening the database with a different zone fails.
//! [`set_timezone`] changes the zone from the next midnight on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use arc_swap::ArcSwap;
use serde::Serialize;

use super::counters::{Counter, hourly};
use super::local_time::{LocalHour, LocalTime, day_start};
use crate::Tidings;
use crate::account::Caller;
use crate::audit::trail::{Action, Entry};
use crate::base::clock::{Clock, Monotonic, Timestamp};
use crate::base::zone::Zone;
use crate::record::error::{Error, Result};
use crate::store::{Isolation, Store, StoreError, Topic, Tx, Versions, version_in};

/// The minimum time between a change of the zone and the midnight from which it counts, so that all servers know it by then.
const NOTICE_MS: i64 = 60 * crate::base::clock::SECOND_MS;

pub(crate) struct Calendar {
    local_time: ArcSwap<LocalTime>,
    /// The version of [`Topic::Zone`] to which `local_time` belongs.
    version: AtomicI64,
    versions: Arc<Versions>,
    clock: Clock,
    /// Something is counted, so that the first zone cannot change.
    zone_is_fixed: AtomicBool,
}

/// The time zone of a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timezone {
    /// The zone in which days and hours are counted now, such as `Asia/Seoul`.
    pub zone: String,
    /// The zone that replaces it.
    pub next: Option<NextTimezone>,
    /// Whether anything is counted, so that another zone counts from a midnight on.
    pub is_counted: bool,
}

/// A time zone in which days and hours will be counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextTimezone {
    /// The name of the zone.
    pub zone: String,
    /// The midnight from which it counts.
    pub date: Timestamp,
}

/// Returns the time zone of the database.
///
/// # Errors
/// When the store fails.
pub fn timezone(tidings: &Tidings) -> Result<Timezone> {
    let now = tidings.now();
    tidings.store().read(|tx| Ok(Stored::read(tx)?.described(now)))
}

/// Changes the time zone of the database: at once if nothing is counted, otherwise from the next midnight of the new zone on.
/// Days that are counted stay as they are. Another change before that midnight replaces this one; the zone that is in force
/// cancels it.
///
/// # Errors
/// `Not admin` for every caller but the operator.
pub fn set_timezone(tidings: &Tidings, caller: &Caller, zone: &Zone) -> Result<Timezone> {
    let (operator, origin, now) = (caller.operator()?, tidings.origin(), tidings.now());
    let (zone, store) = (zone.clone(), tidings.store());
    let set = store.write::<_, Error>(Isolation::Alone, move |tx| {
        let before = Stored::read(tx)?;
        let is_in_force = before.zone_at(now)?.is_same(&zone);
        if !before.is_counted {
            sql::set_zone(tx, zone.name())?;
        } else if is_in_force {
            sql::remove_changes(tx, now)?;
        } else {
            let local_time = LocalTime::new(zone.clone());
            let midnight = day_start(&zone, local_time.local_hour(now + NOTICE_MS).day + 1);
            sql::remove_changes(tx, now)?;
            sql::insert_change(tx, midnight, zone.name())?;
        }
        let after = Stored::read(tx)?;
        if after != before {
            tx.touch(Topic::Zone);
            // Cached reports are valid until a midnight.
            tx.touch(Topic::Counts);
            let (old, new) = (before.described(now).latest(), after.described(now).latest());
            operator.record(tx, &origin, Entry::new(Action::StoreTimezone).change(Some(&old), Some(&new)))?;
        }
        Ok(after.described(now))
    })?;
    tidings.analysis().calendar.refresh(store);
    Ok(set)
}

impl Timezone {
    fn latest(&self) -> String {
        self.next.as_ref().map_or(&self.zone, |next| &next.zone).clone()
    }
}

impl Calendar {
    /// If `asked` is `None`, the calendar has the zone that the database stores. A database without a zone in which nothing is
    /// counted gets that of this machine. Fails if days are counted in a zone other than `asked`.
    pub(crate) fn open(store: &Store, asked: Option<&Zone>, clock: Clock) -> Result<Self> {
        let now = clock.now();
        let mut stored = store.read(|tx| Stored::read(tx))?;
        if let Some(new) = stored.replaced_by(asked, now)? {
            let asked = asked.cloned();
            stored = store.write::<_, Error>(Isolation::Alone, move |tx| {
                // Another server may have set it meanwhile.
                let stored = Stored::read(tx)?;
                if stored.replaced_by(asked.as_ref(), now)?.is_some() {
                    sql::set_zone(tx, new.name())?;
                }
                Ok(Stored::read(tx)?)
            })?;
        }
        Ok(Self {
            local_time: ArcSwap::new(Arc::new(stored.local_time()?)),
            version: AtomicI64::new(stored.version),
            versions: store.versions(),
            clock,
            zone_is_fixed: AtomicBool::new(false),
        })
    }

    pub(crate) fn local_time(&self) -> Arc<LocalTime> {
        self.local_time.load_full()
    }

    pub(crate) fn zone(&self) -> Zone {
        self.local_time.load().zone_at(self.clock.now()).clone()
    }

    /// A change is stored at least a minute before it counts, so that the next call can make up for one that fails.
    pub(crate) fn refresh(&self, store: &Store) {
        if self.versions.get(Topic::Zone) <= self.version.load(Ordering::Acquire) {
            return;
        }
        let loaded = store.read(|tx| Stored::read(tx)).map_err(Error::from);
        match loaded.and_then(|stored| Ok((stored.local_time()?, stored.version))) {
            Ok((local_time, version)) => {
                self.local_time.store(Arc::new(local_time));
                self.version.store(version, Ordering::Release);
            }
            Err(error) => {
                crate::record::background::log_failure(
                    &error,
                    "the time zone of the database could not be read yet",
                );
            }
        }
    }

    pub(super) fn monotonic(&self) -> Monotonic {
        self.clock.monotonic()
    }

    pub(crate) fn local_hour(&self, at: Timestamp) -> LocalHour {
        self.local_time.load().local_hour(at)
    }

    pub(crate) fn today(&self) -> i64 {
        self.local_hour(self.clock.now()).day
    }

    pub(crate) fn count(&self, tx: &mut dyn Tx, counter: Counter, at: Timestamp) -> Result<(), StoreError> {
        self.check_zone(tx)?;
        self.count_in(tx, counter, self.local_hour(at), 1)
    }

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

    pub(crate) fn add(&self, tx: &mut dyn Tx, counter: i64, day: i64, n: i64) -> Result<(), StoreError> {
        self.check_zone(tx)?;
        tx.count(counter, Some(day), n);
        if day != self.today() {
            tx.touch(Topic::History);
        }
        Ok(())
    }

    /// Until anything is counted, this fails if another process has opened the database with another zone. A zone that
    /// [`set_timezone`] has set is loaded instead.
    pub(crate) fn check_zone(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        if self.zone_is_fixed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let stored = Stored::read(tx)?;
        if !stored.is_of(&self.local_time.load()) {
            if stored.version <= self.version.load(Ordering::Acquire) {
                let own = self.local_time.load().zones().0.name().to_owned();
                return Err(StoreError::Zone { counted: stored.first_name().to_owned(), asked: own });
            }
            let local_time = stored.local_time().map_err(StoreError::other)?;
            self.local_time.store(Arc::new(local_time));
        }
        // Counters are written with their own commit. So a counter that exists here was committed before, and the zone is fixed.
        self.zone_is_fixed.store(stored.is_counted, Ordering::Relaxed);
        Ok(())
    }
}

#[derive(PartialEq, Eq)]
struct Stored {
    /// The zone of the first days; `None` is UTC if anything is counted.
    first: Option<String>,
    /// Each with the midnight from which it counts.
    changes: Vec<(Timestamp, String)>,
    is_counted: bool,
    version: i64,
}

impl Stored {
    fn read(tx: &mut dyn Tx) -> Result<Self, StoreError> {
        let (first, is_counted) = sql::zone(tx)?;
        Ok(Self { first, is_counted, changes: sql::changes(tx)?, version: version_in(tx, Topic::Zone)? })
    }

    fn first_name(&self) -> &str {
        self.first.as_deref().unwrap_or("UTC")
    }

    /// Returns the zone that the database gets when it is opened in the zone `asked`; `None` if it keeps its own. Fails if days
    /// are counted in another zone that is not about to change to `asked`.
    fn replaced_by(&self, asked: Option<&Zone>, now: Timestamp) -> Result<Option<Zone>> {
        let Some(asked) = asked else {
            return Ok((self.first.is_none() && !self.is_counted).then(Zone::of_system));
        };
        if !self.is_counted {
            let is_stored = self.first.is_some() && known(self.first_name())?.is_same(asked);
            return Ok((!is_stored).then(|| asked.clone()));
        }
        let Timezone { zone, next, .. } = self.described(now);
        for zone in [Some(&zone), next.as_ref().map(|next| &next.zone)].into_iter().flatten() {
            if known(zone)?.is_same(asked) {
                return Ok(None);
            }
        }
        Err(StoreError::Zone { counted: zone, asked: asked.name().to_owned() }.into())
    }

    fn described(&self, now: Timestamp) -> Timezone {
        let next = self.changes.iter().find(|(date, _)| *date > now);
        Timezone {
            zone: self.name_at(now).to_owned(),
            next: next.map(|(date, zone)| NextTimezone { zone: zone.clone(), date: *date }),
            is_counted: self.is_counted,
        }
    }

    fn name_at(&self, at: Timestamp) -> &str {
        self.changes.iter().rfind(|(date, _)| *date <= at).map_or(self.first_name(), |(_, name)| name)
    }

    fn zone_at(&self, at: Timestamp) -> Result<Zone> {
        known(self.name_at(at))
    }

    fn local_time(&self) -> Result<LocalTime> {
        let changes = self.changes.iter().map(|(date, name)| Ok((*date, known(name)?)));
        Ok(LocalTime::changing(known(self.first_name())?, &changes.collect::<Result<Vec<_>>>()?))
    }

    fn is_of(&self, local_time: &LocalTime) -> bool {
        let (first, changes) = local_time.zones();
        let changes = changes.map(|(date, zone)| (date, zone.name()));
        first.name() == self.first_name()
            && changes.eq(self.changes.iter().map(|(date, name)| (*date, name.as_str())))
    }
}

fn known(name: &str) -> Result<Zone> {
    name.parse().map_err(|_| {
        Error::Internal(format!("this program does not know the database's time zone {name}").into())
    })
}

mod sql {
    use super::{StoreError, Timestamp, Tx};

    /// And whether anything is counted.
    pub(super) fn zone(tx: &mut dyn Tx) -> Result<(Option<String>, bool), StoreError> {
        let sql = "SELECT (SELECT name FROM zone), EXISTS (SELECT 1 FROM day_count)";
        let mut row = tx.one(sql, &[])?;
        Ok((row.take(0)?, row.take(1)?))
    }

    pub(super) fn changes(tx: &mut dyn Tx) -> Result<Vec<(Timestamp, String)>, StoreError> {
        let rows = tx.rows("SELECT date, name FROM zone_change ORDER BY date", &[])?;
        rows.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
    }

    /// Also removes later zones. Nothing may be counted yet.
    pub(super) fn set_zone(tx: &mut dyn Tx, name: &str) -> Result<(), StoreError> {
        tx.run("DELETE FROM zone_change", &[])?;
        let sql = "INSERT INTO zone (one, name) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET name = excluded.name";
        tx.run(sql, &[name.into()]).map(drop)
    }

    pub(super) fn remove_changes(tx: &mut dyn Tx, after: Timestamp) -> Result<(), StoreError> {
        tx.run("DELETE FROM zone_change WHERE date > $1", &[after.into()]).map(drop)
    }

    pub(super) fn insert_change(tx: &mut dyn Tx, date: Timestamp, name: &str) -> Result<(), StoreError> {
        tx.run("INSERT INTO zone_change (date, name) VALUES ($1, $2)", &[date.into(), name.into()]).map(drop)
    }
}
