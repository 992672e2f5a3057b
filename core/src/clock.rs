//! The time, asked of one place so that tests can set it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

/// Milliseconds in a second.
pub(crate) const SECOND_MS: i64 = 1_000;
/// Milliseconds in a day of 24 hours.
pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * SECOND_MS;

/// A source of the present time: the system's, or one that stands still until it is moved.
///
/// ```
/// use tidings_core::clock::Clock;
///
/// let clock = Clock::fixed(1_700_000_000_000);
/// clock.advance(500);
/// assert_eq!(clock.now(), 1_700_000_000_500);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<Fixed>>);

/// A clock that tests move.
#[derive(Debug)]
struct Fixed {
    now: AtomicI64,
    monotonic: AtomicI64,
}

impl Clock {
    /// The clock of the operating system.
    pub fn system() -> Self {
        Self(None)
    }

    /// A clock that stands at `now` (milliseconds since 1970, UTC). Its clones stand at the same time.
    pub fn fixed(now: i64) -> Self {
        Self(Some(Arc::new(Fixed { now: AtomicI64::new(now), monotonic: AtomicI64::new(0) })))
    }

    /// Lets `ms` milliseconds pass on a fixed clock; the system's clock is not ours to move.
    pub fn advance(&self, ms: i64) {
        if let Some(fixed) = &self.0 {
            fixed.now.fetch_add(ms, Ordering::SeqCst);
            fixed.monotonic.fetch_add(ms.max(0), Ordering::SeqCst);
        }
    }

    /// Sets the date of a fixed clock `ms` milliseconds forward, or back where negative, as an administrator or a
    /// time server does with a system's: no time passes.
    pub fn set_by(&self, ms: i64) {
        if let Some(fixed) = &self.0 {
            fixed.now.fetch_add(ms, Ordering::SeqCst);
        }
    }

    /// The present time in milliseconds since 1970, UTC.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the system")]
    pub fn now(&self) -> i64 {
        self.0
            .as_ref()
            .map_or_else(|| jiff::Timestamp::now().as_millisecond(), |fixed| fixed.now.load(Ordering::SeqCst))
    }

    /// Milliseconds that have passed since some moment of this process: for waits and ages, as it never goes back
    /// and takes no notice when the date is set.
    ///
    /// ```
    /// use tidings_core::clock::Clock;
    ///
    /// let clock = Clock::fixed(1_700_000_000_000);
    /// let before = clock.monotonic();
    /// clock.advance(500);
    /// clock.set_by(-3 * 24 * 60 * 60 * 1_000);
    /// assert_eq!(clock.monotonic() - before, 500);
    /// ```
    pub fn monotonic(&self) -> i64 {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        match &self.0 {
            None => i64::try_from(BEGAN.elapsed().as_millis()).unwrap_or(i64::MAX),
            Some(fixed) => fixed.monotonic.load(Ordering::SeqCst),
        }
    }
}

/// A point in time as it is sent: RFC 3339, UTC, with milliseconds.
///
/// Times outside the years 0 to 9999 cannot be written so and are shown as the nearest that can.
///
/// ```
/// assert_eq!(tidings_core::clock::rfc3339(1_795_163_760_000), "2026-11-20T08:36:00.000Z");
/// ```
pub fn rfc3339(ms: i64) -> String {
    let ms = ms.clamp(TIME_MIN, TIME_MAX);
    let time = jiff::Timestamp::from_millisecond(ms).expect("clamped to what can be written");
    format!("{time:.3}")
}

/// Reads a point in time: RFC 3339 with any offset (a date alone is its midnight, UTC), as milliseconds.
///
/// ```
/// use tidings_core::clock::parse;
///
/// assert_eq!(parse("2026-11-20T17:36:00+09:00"), Some(1_795_163_760_000));
/// assert_eq!(parse("2026-11-20"), Some(1_795_132_800_000));
/// assert_eq!(parse("tomorrow"), None);
/// ```
pub fn parse(text: &str) -> Option<i64> {
    let time = match text.parse::<jiff::Timestamp>() {
        Ok(time) => time,
        Err(_) if text.len() == "2026-11-20".len() => {
            let date: jiff::civil::Date = text.parse().ok()?;
            date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp()
        }
        Err(_) => return None,
    };
    let ms = time.as_millisecond();
    (TIME_MIN..=TIME_MAX).contains(&ms).then_some(ms)
}

/// 0000-01-01T00:00:00Z, the earliest time that RFC 3339 writes.
pub(crate) const TIME_MIN: i64 = -62_167_219_200_000;
/// 9999-12-30T22:00:00Z, the latest time that is still written in four digits everywhere.
pub(crate) const TIME_MAX: i64 = 253_402_207_200_000;

/// A point in time in milliseconds, serialised as [`rfc3339`] writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub i64);

impl serde::Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(ms in TIME_MIN..=TIME_MAX) {
            prop_assert_eq!(parse(&rfc3339(ms)), Some(ms));
        }

        #[test]
        fn no_time_and_no_text_panics(ms: i64, text: String) {
            prop_assert!(rfc3339(ms).ends_with('Z'));
            let _ = parse(&text);
        }
    }
}
