//! Days and hours in a time zone, computed without a store or a clock.

use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Span;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::base::clock::{DAY_MS, SECOND_MS, Timestamp};
use crate::base::zone::Zone;

pub(crate) const HOUR_MS: i64 = 60 * 60 * SECOND_MS;
/// The number of hours that counters distinguish on a day. An hour that occurs twice on a day counts as one; a skipped
/// hour stays at 0.
pub(crate) const HOURS: usize = 24;

/// Day number 0.
const FIRST: Date = Date::constant(1970, 1, 1);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LocalHour {
    /// Since 1970-01-01.
    pub(crate) day: i64,
    /// 0 to 23.
    pub(crate) hour: u8,
}

/// The local time of a zone, which others may replace from certain times on.
pub(crate) struct LocalTime {
    /// The zones in the order of time; the first has no beginning.
    periods: Vec<ZonePeriod>,
    /// The span that was used last; the next call usually needs the same.
    span: ArcSwap<OffsetSpan>,
}

/// A period ends where the next one begins.
struct ZonePeriod {
    from: Timestamp,
    zone: Zone,
    /// The first day, which is the last day of the period before if that zone is more than a day ahead, so that days never go
    /// back.
    first_day: i64,
}

/// A span of time in which the zone has one offset from UTC.
#[derive(Clone, Copy)]
struct OffsetSpan {
    from: Timestamp,
    until: Timestamp,
    offset: i64,
    first_day: i64,
}

impl LocalTime {
    pub(crate) fn new(zone: Zone) -> Self {
        Self::changing(zone, &[])
    }

    /// Each change is later than the one before.
    pub(crate) fn changing(zone: Zone, changes: &[(Timestamp, Zone)]) -> Self {
        let none = OffsetSpan { from: Timestamp::MIN, until: Timestamp::MIN, offset: 0, first_day: i64::MIN };
        let first = ZonePeriod { from: Timestamp::MIN, zone, first_day: i64::MIN };
        let mut local_time = Self { periods: vec![first], span: ArcSwap::new(Arc::new(none)) };
        for (from, zone) in changes {
            let first_day = local_time.local_hour(*from - 1).day;
            local_time.periods.push(ZonePeriod { from: *from, zone: zone.clone(), first_day });
            local_time.span.store(Arc::new(none));
        }
        local_time
    }

    pub(crate) fn zone_at(&self, at: Timestamp) -> &Zone {
        &self.periods[self.period_at(at)].zone
    }

    pub(crate) fn zones(&self) -> (&Zone, impl Iterator<Item = (Timestamp, &Zone)>) {
        let changes = self.periods[1..].iter().map(|period| (period.from, &period.zone));
        (&self.periods[0].zone, changes)
    }

    fn period_at(&self, at: Timestamp) -> usize {
        self.periods.iter().rposition(|period| period.from <= at).unwrap_or_default()
    }

    /// Times beyond the range of RFC 3339 are clamped to it.
    pub(crate) fn local_hour(&self, at: Timestamp) -> LocalHour {
        let at = at.clamp(Timestamp::RFC3339_MIN, Timestamp::RFC3339_MAX);
        let span = self.span(at);
        let wall = (at + span.offset).as_millis();
        let hour = u8::try_from(wall.rem_euclid(DAY_MS) / HOUR_MS).expect("a day has 24 hours");
        LocalHour { day: wall.div_euclid(DAY_MS).max(span.first_day), hour }
    }

    /// Since the last full hour of local time.
    pub(crate) fn ms_into_hour(&self, at: Timestamp) -> i64 {
        let at = at.clamp(Timestamp::RFC3339_MIN, Timestamp::RFC3339_MAX);
        (at + self.span(at).offset).as_millis().rem_euclid(HOUR_MS)
    }

    fn span(&self, at: Timestamp) -> OffsetSpan {
        let span = **self.span.load();
        if (span.from..span.until).contains(&at) {
            return span;
        }
        let number = self.period_at(at);
        let period = &self.periods[number];
        let mut span = OffsetSpan::around(period.zone.rules(), at);
        span.from = span.from.max(period.from);
        if let Some(next) = self.periods.get(number + 1) {
            span.until = span.until.min(next.from);
        }
        span.first_day = period.first_day;
        self.span.store(Arc::new(span));
        span
    }

    pub(crate) fn months_before(&self, at: Timestamp, months: i64) -> Timestamp {
        let earlier = Span::new().try_months(months).ok().and_then(|months| {
            let now = to_jiff(at.clamp(Timestamp::RFC3339_MIN, Timestamp::RFC3339_MAX))
                .to_zoned(self.zone_at(at).rules().clone());
            now.checked_sub(months).ok()
        });
        earlier.map_or(Timestamp::RFC3339_MIN, |earlier| from_jiff(earlier.timestamp()))
    }

    /// Midnight, or the first time after it if clocks are put forward over midnight.
    pub(crate) fn day_start(&self, day: i64) -> Timestamp {
        let ended_before = |next: &ZonePeriod| next.first_day < day;
        let number = self.periods[1..].iter().take_while(|next| ended_before(next)).count();
        let period = &self.periods[number];
        day_start(&period.zone, day).max(period.from)
    }
}

pub(super) fn day_start(zone: &Zone, day: i64) -> Timestamp {
    let date = date(day).and_then(|date| date.to_zoned(zone.rules().clone()).ok());
    date.and_then(|date| date.start_of_day().ok())
        .map_or(Timestamp::from_millis(day.saturating_mul(DAY_MS)), |first| from_jiff(first.timestamp()))
}

impl OffsetSpan {
    fn around(zone: &TimeZone, at: Timestamp) -> Self {
        let time = to_jiff(at);
        // A transition exactly at this time counts as one before it.
        let next = time.checked_add(Span::new().nanoseconds(1)).unwrap_or(time);
        let from = zone.preceding(next).next().map_or(Timestamp::RFC3339_MIN, |t| ceil(t.timestamp()));
        let until = zone.following(time).next().map_or(Timestamp::RFC3339_MAX + 1, |t| ceil(t.timestamp()));
        let offset = i64::from(zone.to_offset(time).seconds()) * SECOND_MS;
        Self { from, until, offset, first_day: i64::MIN }
    }
}

/// Rounds the time of a transition up to a millisecond.
fn ceil(at: jiff::Timestamp) -> Timestamp {
    from_jiff(at) + i64::from(at.as_nanosecond().rem_euclid(1_000_000) != 0)
}

fn from_jiff(at: jiff::Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millisecond())
}

/// `at` must be in the range of years of RFC 3339.
fn to_jiff(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(at.as_millis()).expect("the clamped range is valid")
}

/// `None` if the date does not exist.
pub(crate) fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let year = i16::try_from(year).ok().filter(|year| (1..=9_999).contains(year))?;
    let date = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    Some(FIRST.until(date).ok()?.get_days().into())
}

/// `YYYY-MM-DD`; empty for a day beyond the calendar.
pub(crate) fn date_text(day: i64) -> String {
    date(day).map_or_else(String::new, |date| date.to_string())
}

fn date(day: i64) -> Option<Date> {
    FIRST.checked_add(Span::new().try_days(day).ok()?).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Zones with offsets of whole, half and quarter hours, with days of 23, 24½ and 25 hours, with clocks that go
    /// forward at midnight, and with a skipped day.
    pub(crate) const ZONES: [&str; 12] = [
        "UTC",
        "Asia/Seoul",
        "America/New_York",
        "Europe/Berlin",
        "Asia/Kolkata",
        "Asia/Kathmandu",
        "Australia/Eucla",
        "Australia/Lord_Howe",
        "America/St_Johns",
        "Pacific/Chatham",
        "Africa/Cairo",
        "Pacific/Apia",
    ];

    #[test]
    fn days_have_numbers_and_names() {
        assert_eq!(day_of(1970, 1, 1), Some(0));
        assert_eq!(day_of(2026, 11, 20), Some(20_777));
        assert_eq!(date_text(day_of(2024, 2, 29).unwrap()), "2024-02-29");
        for (year, month, day) in [
            (2026, 2, 29),
            (2026, 13, 1),
            (2026, 0, 1),
            (2026, 1, 32),
            (2026, 1, -1),
            (10_000, 1, 1),
            (0, 1, 1),
            (-1, 1, 1),
        ] {
            assert_eq!(day_of(year, month, day), None, "{year} {month} {day}");
        }
    }

    #[test]
    fn months_are_calendar_months() {
        let before = |zone: &str, at, months| {
            let local_time = LocalTime::new(zone.parse().unwrap());
            local_time.months_before(Timestamp::parse(at).unwrap(), months).to_string()
        };
        assert_eq!(before("UTC", "2026-03-31T12:00:00Z", 1), "2026-02-28T12:00:00.000Z");
        // Noon stays noon although the clocks have changed.
        assert_eq!(before("Europe/Berlin", "2026-04-10T10:00:00Z", 1), "2026-03-10T11:00:00.000Z");
        for months in [i64::MAX, 1_000_000] {
            assert_eq!(before("UTC", "2026-03-31T12:00:00Z", months), "0000-01-01T00:00:00.000Z");
        }
    }

    #[test]
    fn days_go_on_when_the_zone_changes() {
        let midnight = Timestamp::parse("2026-11-21T00:00:00Z").unwrap();
        let far = ["Pacific/Kiritimati", "Etc/GMT+12"];
        for [old, new] in
            [["UTC", "Asia/Seoul"], ["Asia/Seoul", "UTC"], ["America/New_York", "Asia/Kathmandu"], far]
        {
            let (old, new): (Zone, Zone) = (old.parse().unwrap(), new.parse().unwrap());
            let change = day_start(&new, LocalTime::new(new.clone()).local_hour(midnight).day + 1);
            let local_time = LocalTime::changing(old.clone(), &[(change, new.clone())]);
            let before = LocalTime::new(old.clone());
            assert_eq!(local_time.local_hour(change - 1), before.local_hour(change - 1), "{old:?} {new:?}");
            assert_eq!(local_time.local_hour(change).hour, 0, "{old:?} {new:?}");
            assert_eq!(
                (local_time.zone_at(change - 1).name(), local_time.zone_at(change).name()),
                (old.name(), new.name())
            );
            let mut last = i64::MIN;
            for at in (-60..120).map(|hours| change + hours * HOUR_MS).flat_map(|at| [at - 1, at]) {
                let day = local_time.local_hour(at).day;
                assert!(day >= last, "{old:?} {new:?}: days go back");
                let (from, until) = (local_time.day_start(day), local_time.day_start(day + 1));
                assert!((from..until).contains(&at), "{old:?} {new:?} {at}: {from} {until}");
                last = day;
            }
        }
    }

    proptest! {
        #[test]
        fn days_and_hours_agree_with_the_time_zone_database(
            zone in proptest::sample::select(&ZONES),
            times in proptest::collection::vec((1_300_000_000_000_i64..2_200_000_000_000, -5_i64..5), 1..20),
        ) {
            let zone: Zone = zone.parse().unwrap();
            let local_time = LocalTime::new(zone.clone());
            for (at, near) in times {
                // The times around the next transition are tested too.
                let at = Timestamp::from_millis(at);
                let next = zone.rules().following(to_jiff(at)).next();
                let transition = next.map_or(at, |t| from_jiff(t.timestamp()));
                for at in [at, transition + near, transition + near * 20 * 60 * SECOND_MS] {
                    let wall = to_jiff(at).to_zoned(zone.rules().clone());
                    let LocalHour { day, hour } = local_time.local_hour(at);
                    prop_assert_eq!(date_text(day), wall.date().to_string());
                    prop_assert_eq!(i64::from(hour), i64::from(wall.hour()));
                    prop_assert_eq!(local_time.ms_into_hour(at) / 60_000, i64::from(wall.minute()));
                    prop_assert!(local_time.day_start(day) <= at && at < local_time.day_start(day + 1));
                    prop_assert_eq!(local_time.local_hour(local_time.day_start(day)).day, day);
                    prop_assert!(local_time.local_hour(local_time.day_start(day) - 1).day < day);
                }
            }
        }

        #[test]
        fn no_time_or_date_panics(ms: i64, months: i64, (year, month, day) in any::<(i64, i64, i64)>()) {
            let local_time = LocalTime::new("Australia/Lord_Howe".parse().unwrap());
            let at = Timestamp::from_millis(ms);
            let time = local_time.local_hour(at);
            let _ = (local_time.months_before(at, months), local_time.day_start(time.day), local_time.day_start(ms));
            let _ = (day_of(year, month, day), date_text(ms));
        }
    }
}
