//! Chooses the backups that are kept: the newest of each of the last days, weeks, months and years that have one.
//!
//! A day without a backup does not count, so backups do not vanish while none are made.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use jiff::civil::{Date, DateTime};

/// How many days, weeks, months and years have a backup that is kept.
///
/// ```
/// use tidings_core::backup::Retention;
///
/// let retention: Retention = "7d,4w,12m".parse().unwrap();
/// assert_eq!(retention.to_string(), "7d,4w,12m");
/// assert!("7".parse::<Retention>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention(Vec<(Unit, NonZeroU32)>);

/// The error for a text that is not a retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be numbers of days, weeks, months and years, each at most once, such as 7d,4w,12m")]
pub struct InvalidRetention;

/// A period of which the newest backup is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Day,
    /// From Monday to Sunday.
    Week,
    Month,
    Year,
}

impl Unit {
    const ALL: [(Self, char); 4] =
        [(Self::Day, 'd'), (Self::Week, 'w'), (Self::Month, 'm'), (Self::Year, 'y')];

    /// Returns the first day of the period of this day.
    fn begin(self, day: Date) -> Date {
        match self {
            Self::Day => day,
            // The first days of the calendar have no Monday before them.
            Self::Week => day
                .checked_sub(jiff::Span::new().days(i64::from(day.weekday().to_monday_zero_offset())))
                .unwrap_or(Date::MIN),
            Self::Month => day.first_of_month(),
            Self::Year => day.first_of_year(),
        }
    }
}

impl Retention {
    /// Returns for each backup whether it is kept, given the times at which they were made, in any order. The newest one
    /// always is.
    pub(super) fn keeps(&self, made: &[DateTime]) -> Vec<bool> {
        let mut newest_first: Vec<usize> = (0..made.len()).collect();
        newest_first.sort_by_key(|index| std::cmp::Reverse(made[*index]));
        let mut keeps = vec![false; made.len()];
        if let Some(newest) = newest_first.first() {
            keeps[*newest] = true;
        }
        for (unit, most) in &self.0 {
            let mut last = None;
            let mut periods = 0;
            for index in &newest_first {
                let period = Some(unit.begin(made[*index].date()));
                if period == last {
                    continue;
                }
                last = period;
                periods += 1;
                if periods > most.get() {
                    break;
                }
                keeps[*index] = true;
            }
        }
        keeps
    }
}

impl FromStr for Retention {
    type Err = InvalidRetention;

    fn from_str(text: &str) -> Result<Self, InvalidRetention> {
        let mut rules: Vec<(Unit, NonZeroU32)> = Vec::new();
        for rule in text.split(',') {
            let (unit, number) = Unit::ALL
                .iter()
                .find_map(|(unit, letter)| Some((*unit, rule.trim().strip_suffix(*letter)?)))
                .ok_or(InvalidRetention)?;
            let number = number.parse().map_err(|_| InvalidRetention)?;
            if rules.iter().any(|(other, _)| *other == unit) {
                return Err(InvalidRetention);
            }
            rules.push((unit, number));
        }
        Ok(Self(rules))
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (unit, number)) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let letter = Unit::ALL.iter().find(|(other, _)| other == unit).map_or('d', |(_, letter)| *letter);
            write!(f, "{comma}{number}{letter}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;

    fn kept(retention: &str, made: &[DateTime]) -> Vec<String> {
        let keeps = retention.parse::<Retention>().unwrap().keeps(made);
        let kept = made.iter().zip(keeps).filter(|(_, keeps)| *keeps);
        kept.map(|(made, _)| made.strftime("%m-%d %H").to_string()).collect()
    }

    #[test]
    fn the_newest_backup_of_each_period_is_kept() {
        // Twice a day for ten weeks, the last time on Monday 2026-03-09.
        let end = date(2026, 3, 9).at(12, 0, 0, 0);
        let made: Vec<DateTime> = (0..140).map(|half| end.saturating_sub((half * 12).hours())).collect();
        assert_eq!(kept("3d", &made), ["03-09 12", "03-08 12", "03-07 12"]);
        assert_eq!(kept("3w", &made), ["03-09 12", "03-08 12", "03-01 12"], "weeks begin on Monday");
        assert_eq!(kept("12m", &made), ["03-09 12", "02-28 12", "01-31 12", "12-31 12"]);
        assert_eq!(kept("1d,2w,2y", &made), ["03-09 12", "03-08 12", "12-31 12"]);
    }

    #[test]
    fn periods_without_a_backup_do_not_count() {
        let made = [date(2026, 3, 9), date(2026, 1, 1), date(2024, 7, 7), date(2020, 2, 29)]
            .map(|day| day.at(3, 0, 0, 0));
        assert_eq!(kept("3d", &made), ["03-09 03", "01-01 03", "07-07 03"]);
    }

    #[test]
    fn a_text_that_is_not_a_retention_is_refused() {
        for text in ["", "7", "d", "0d", "-1d", "7d,", "7d,3d", "7h", "7d 4w", "99999999999d"] {
            assert_eq!(text.parse::<Retention>(), Err(InvalidRetention), "{text}");
        }
        assert_eq!("12m, 7d".parse::<Retention>().unwrap().to_string(), "12m,7d");
    }

    prop_compose! {
        fn times()(seconds in prop::collection::vec(0_i64..400_000_000, 0..80)) -> Vec<DateTime> {
            let begin = date(2020, 1, 1).at(0, 0, 0, 0);
            seconds.into_iter().map(|second| begin.saturating_add(second.seconds())).collect()
        }
    }

    proptest! {
        #[test]
        fn the_newest_is_kept_and_a_second_run_removes_nothing(
            made in times(), days in 1_u32..20, weeks in 1_u32..9, months in 1_u32..15
        ) {
            let retention: Retention = format!("{days}d,{weeks}w,{months}m").parse().unwrap();
            let keeps = retention.keeps(&made);
            let newest = (0..made.len()).max_by_key(|index| made[*index]);
            prop_assert!(newest.is_none_or(|newest| made.iter().zip(&keeps).any(|(at, keeps)| *at == made[newest] && *keeps)));
            let left: Vec<DateTime> =
                made.iter().zip(&keeps).filter(|(_, keeps)| **keeps).map(|(at, _)| *at).collect();
            prop_assert!(left.len() <= (days + weeks + months) as usize);
            prop_assert!(retention.keeps(&left).into_iter().all(|keeps| keeps));
            // Every day that is among the last ones has a backup left.
            let mut all: Vec<Date> = made.iter().map(|at| at.date()).collect();
            all.sort_unstable();
            all.dedup();
            for day in all.iter().rev().take(days as usize) {
                prop_assert!(left.iter().any(|at| at.date() == *day));
            }
        }

        #[test]
        fn a_longer_retention_keeps_more(made in times(), days in 1_u32..20) {
            let keeps = |days: u32| format!("{days}d").parse::<Retention>().unwrap().keeps(&made);
            let (shorter, longer) = (keeps(days), keeps(days + 1));
            prop_assert!(shorter.iter().zip(&longer).all(|(shorter, longer)| !shorter || *longer));
        }
    }
}
