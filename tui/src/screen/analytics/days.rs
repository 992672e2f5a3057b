//! The days whose figures are shown.

use jiff::ToSpan as _;
use jiff::civil::Date;
use tidings_core::analysis::PERIOD_MAX;

pub(super) const HINT: &str = "2026-11-20, 2026-11-01..2026-11-20, 30d";
const NO_DAYS: &str = "Days look like 2026-11-20, 2026-11-01..2026-11-20 or 30d.";
const TOO_MANY: &str = "A range has at most 366 days and starts with its first day.";

/// Both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Days {
    pub(super) first: Date,
    pub(super) last: Date,
}

impl Days {
    pub(super) const fn one(day: Date) -> Self {
        Self { first: day, last: day }
    }

    pub(super) fn len(self) -> i32 {
        self.first.until(self.last).map_or(1, |span| span.get_days() + 1)
    }

    /// By `by` times the length of the range.
    pub(super) fn moved(self, by: i32) -> Self {
        let span = (self.len() * by).days();
        match (self.first.checked_add(span), self.last.checked_add(span)) {
            (Ok(first), Ok(last)) => Self { first, last },
            _ => self,
        }
    }

    /// Accepts one day, two days separated by two dots, or the number of days up to today.
    pub(super) fn parse(text: &str, today: Date) -> Result<Self, &'static str> {
        let text = text.trim();
        let date = |text: &str| text.trim().parse::<Date>().map_err(|_| NO_DAYS);
        let days = if let Some((first, last)) = text.split_once("..") {
            Self { first: date(first)?, last: date(last)? }
        } else if let Some(n) = text.strip_suffix('d') {
            let n: i32 = n.trim().parse().ok().filter(|n| (1..=10_000).contains(n)).ok_or(NO_DAYS)?;
            Self { first: today.checked_sub((n - 1).days()).map_err(|_| NO_DAYS)?, last: today }
        } else if text.is_empty() || text == "today" {
            Self::one(today)
        } else {
            Self::one(date(text)?)
        };
        if (1..=PERIOD_MAX).contains(&i64::from(days.len())) { Ok(days) } else { Err(TOO_MANY) }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    const TODAY: Date = date(2026, 11, 20);

    #[test]
    fn days_are_a_day_a_range_or_a_number_of_days() {
        assert_eq!(Days::parse("2026-02-28", TODAY), Ok(Days::one(date(2026, 2, 28))));
        let both = Days { first: date(2026, 11, 1), last: TODAY };
        assert_eq!(Days::parse("2026-11-01..2026-11-20", TODAY), Ok(both));
        assert_eq!(Days::parse("20d", TODAY), Ok(both));
        assert_eq!((both.len(), Days::parse(" ", TODAY)), (20, Ok(Days::one(TODAY))));
    }

    #[test]
    fn invalid_days_are_refused_with_a_reason() {
        for text in ["2026-02-29", "yesterday", "0d", "-3d", "d", "2026-11-01.."] {
            assert_eq!(Days::parse(text, TODAY), Err(NO_DAYS), "{text}");
        }
        for text in ["2026-11-20..2026-11-19", "367d", "2025-01-01..2026-11-20"] {
            assert_eq!(Days::parse(text, TODAY), Err(TOO_MANY), "{text}");
        }
        assert_eq!(Days::parse("366d", TODAY).map(Days::len), Ok(366));
    }

    #[test]
    fn a_range_moves_by_its_own_length() {
        let week = Days { first: date(2026, 11, 14), last: TODAY };
        assert_eq!(week.moved(-1), Days { first: date(2026, 11, 7), last: date(2026, 11, 13) });
        assert_eq!(week.moved(-1).moved(1), week);
        assert_eq!(Days::one(Date::MIN).moved(-1), Days::one(Date::MIN));
    }
}
