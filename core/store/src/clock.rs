//! Points in time, and the clock that tests can set.
//!
//! [`Timestamp`] is a date and a time of day. [`Monotonic`] measures waits and ages: it does not change when the
//! system's date is set. Neither converts to the other. The difference of two points of either kind is an `i64` of
//! milliseconds, negative when the second is later; sums and differences saturate at the ends of the range.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};

pub const SECOND_MS: i64 = 1_000;
/// Milliseconds in a day of 24 hours.
pub const DAY_MS: i64 = 24 * HOUR_MS;
/// The number of milliseconds in an hour.
pub const HOUR_MS: i64 = 60 * 60 * SECOND_MS;

/// A point in time: milliseconds since 1970, UTC. The default is 1970-01-01T00:00:00Z.
///
/// ```
/// # use tidings_store as tidings_core;
/// use tidings_core::clock::Timestamp;
///
/// let begin = Timestamp::parse("2026-11-20T17:36:00+09:00").unwrap();
/// assert_eq!(begin, Timestamp::from_millis(1_795_163_760_000));
/// assert_eq!(begin.to_string(), "2026-11-20T08:36:00.000Z");
/// assert_eq!((begin + 1_500) - begin, 1_500);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The least value; earlier than any date that RFC 3339 can express.
    pub const MIN: Self = Self(i64::MIN);
    /// The greatest value; later than any date that RFC 3339 can express.
    pub const MAX: Self = Self(i64::MAX);
    /// 0000-01-01T00:00:00Z, the earliest time that RFC 3339 can express.
    pub const RFC3339_MIN: Self = Self(-62_167_219_200_000);
    /// 9999-12-30T22:00:00Z, the latest time whose year has four digits in every time zone.
    pub const RFC3339_MAX: Self = Self(253_402_207_200_000);

    /// Returns the point in time `ms` milliseconds after 1970-01-01T00:00:00Z.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Returns the milliseconds since 1970-01-01T00:00:00Z.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339 with any offset; a date without a time is its midnight, UTC. The last 26 hours of the year 9999
    /// are their beginning. Returns `None` for any other text.
    ///
    /// ```
    /// # use tidings_store as tidings_core;
    /// use tidings_core::clock::Timestamp;
    ///
    /// assert_eq!(Timestamp::parse("2026-11-20"), Some(Timestamp::from_millis(1_795_132_800_000)));
    /// assert_eq!(Timestamp::parse("9999-12-31").unwrap().to_string(), "9999-12-30T22:00:00.000Z");
    /// assert_eq!(Timestamp::parse("tomorrow"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(day_before) = at_end_of_day(text) {
            return Self::parse(&day_before)
                .map(|time| time + DAY_MS)
                .filter(|time| *time <= Self::RFC3339_MAX);
        }
        let time = match text.parse::<jiff::Timestamp>() {
            Ok(time) => time,
            Err(_) if text.len() == "2026-11-20".len() => return Self::parse(&format!("{text}T00:00:00Z")),
            // The last hours of the year 9999, which people write for "never", are beyond the greatest time of `jiff`.
            Err(_) => {
                let hours = text.strip_prefix("9999-12-3")?;
                return Self::parse(&format!("9998-12-3{hours}")).map(|_| Self::RFC3339_MAX);
            }
        };
        let time = Self(time.as_millisecond());
        (Self::RFC3339_MIN..=Self::RFC3339_MAX).contains(&time).then_some(time)
    }
}

/// Replaces 24:00, the end of a day and the beginning of the next one, with 00:00; `None` for any other text.
fn at_end_of_day(text: &str) -> Option<String> {
    const END: &str = "24:00";
    let at = text.find(END)?;
    let (before, after) = (&text[..at], &text[at + END.len()..]);
    let seconds = after.strip_prefix(":00").map_or(after, |rest| {
        rest.strip_prefix('.').map_or(rest, |fraction| fraction.trim_start_matches('0'))
    });
    let is_time =
        before.ends_with(['T', 't', ' ']) && !seconds.starts_with(|c: char| c == ':' || c.is_ascii_digit());
    is_time.then(|| format!("{before}00:00{after}"))
}

/// Writes RFC 3339, UTC, with milliseconds. A time outside the years 0 to 9999 is shown as the nearest time within
/// them.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = (*self).clamp(Self::RFC3339_MIN, Self::RFC3339_MAX);
        let time = jiff::Timestamp::from_millisecond(shown.0).expect("the clamped range is valid");
        write!(f, "{time:.3}")
    }
}

/// Serialises as [`Display`](fmt::Display) writes it.
impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Deserialises a text that [`Timestamp::parse`] accepts.
impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("a date is in RFC 3339"))
    }
}

impl utoipa::PartialSchema for Timestamp {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .pattern(Some(r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$"))
            .examples(["2026-11-20T08:36:00.000Z"])
            .into()
    }
}

impl utoipa::ToSchema for Timestamp {}

/// A point in monotonic time: milliseconds since an unspecified moment of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Monotonic(i64);

impl Monotonic {
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// For storage in an atomic or a packed value.
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

/// Implements the arithmetic that the module documentation describes.
macro_rules! arithmetic {
    ($point:ty) => {
        impl Add<i64> for $point {
            type Output = Self;

            fn add(self, ms: i64) -> Self {
                Self(self.0.saturating_add(ms))
            }
        }

        impl AddAssign<i64> for $point {
            fn add_assign(&mut self, ms: i64) {
                *self = *self + ms;
            }
        }

        impl Sub<i64> for $point {
            type Output = Self;

            fn sub(self, ms: i64) -> Self {
                Self(self.0.saturating_sub(ms))
            }
        }

        impl Sub for $point {
            type Output = i64;

            fn sub(self, earlier: Self) -> i64 {
                self.0.saturating_sub(earlier.0)
            }
        }
    };
}

arithmetic!(Timestamp);
arithmetic!(Monotonic);

/// A source of the current time: the system clock, or a fixed clock that changes only when it is set.
///
/// ```
/// # use tidings_store as tidings_core;
/// use tidings_core::clock::{Clock, Timestamp};
///
/// let begin = Timestamp::from_millis(1_700_000_000_000);
/// let clock = Clock::fixed(begin);
/// clock.advance(500);
/// assert_eq!(clock.now(), begin + 500);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Clock(Source);

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    System,
    /// The operating system, corrected by the milliseconds by which a shared clock is ahead of it.
    Shared(Arc<AtomicI64>),
    Fixed(Arc<Fixed>),
}

#[derive(Debug)]
struct Fixed {
    now: AtomicI64,
    monotonic: AtomicI64,
}

impl Clock {
    /// The clock of the operating system.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// Returns a clock that is `ahead` milliseconds ahead of this one, if this is that of the operating system.
    #[must_use]
    pub fn corrected(&self, ahead: Arc<AtomicI64>) -> Self {
        if let Source::System = self.0 { Self(Source::Shared(ahead)) } else { self.clone() }
    }

    /// Returns a clock that shows `now` until it is advanced or set. Its clones share the time.
    pub fn fixed(now: Timestamp) -> Self {
        Self(Source::Fixed(Arc::new(Fixed { now: AtomicI64::new(now.0), monotonic: AtomicI64::new(0) })))
    }

    /// Advances a fixed clock by `ms` milliseconds. Does nothing on the system clock.
    pub fn advance(&self, ms: i64) {
        if let Source::Fixed(fixed) = &self.0 {
            fixed.now.fetch_add(ms, Ordering::SeqCst);
            fixed.monotonic.fetch_add(ms.max(0), Ordering::SeqCst);
        }
    }

    /// Sets the date of a fixed clock forward by `ms` milliseconds, or back if negative, as an administrator or a time
    /// server sets a system clock. The monotonic time does not change.
    pub fn set_by(&self, ms: i64) {
        if let Source::Fixed(fixed) = &self.0 {
            fixed.now.fetch_add(ms, Ordering::SeqCst);
        }
    }

    /// Returns the current time.
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
    pub fn now(&self) -> Timestamp {
        let system = || Timestamp(jiff::Timestamp::now().as_millisecond());
        match &self.0 {
            Source::System => system(),
            Source::Shared(ahead) => system() + ahead.load(Ordering::Relaxed),
            Source::Fixed(fixed) => Timestamp(fixed.now.load(Ordering::SeqCst)),
        }
    }

    /// Returns the current monotonic time, which never decreases and does not change when the date is set.
    ///
    /// ```
    /// # use tidings_store as tidings_core;
    /// use tidings_core::clock::{Clock, Timestamp};
    ///
    /// let clock = Clock::fixed(Timestamp::from_millis(1_700_000_000_000));
    /// let before = clock.monotonic();
    /// clock.advance(500);
    /// clock.set_by(-3 * 24 * 60 * 60 * 1_000);
    /// assert_eq!(clock.monotonic() - before, 500);
    /// ```
    pub fn monotonic(&self) -> Monotonic {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        Monotonic(match &self.0 {
            Source::System | Source::Shared(_) => {
                i64::try_from(BEGAN.elapsed().as_millis()).unwrap_or(i64::MAX)
            }
            Source::Fixed(fixed) => fixed.monotonic.load(Ordering::SeqCst),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(ms in Timestamp::RFC3339_MIN.0..=Timestamp::RFC3339_MAX.0) {
            let time = Timestamp::from_millis(ms);
            prop_assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        }

        #[test]
        fn no_time_and_no_text_panics(ms: i64, text: String) {
            prop_assert!(Timestamp::from_millis(ms).to_string().ends_with('Z'));
            let _ = Timestamp::parse(&text);
        }
    }

    #[test]
    fn sums_and_differences_saturate() {
        assert_eq!((Timestamp::MAX + 1, Timestamp::MIN - 1), (Timestamp::MAX, Timestamp::MIN));
        assert_eq!(Timestamp::MAX - Timestamp::MIN, i64::MAX);
    }
}
