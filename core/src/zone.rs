//! Time zones.

use std::fmt;
use std::str::FromStr;

use jiff::tz::TimeZone;

/// A time zone by its IANA name, such as `Asia/Seoul`.
///
/// ```
/// use tidings_core::config::Zone;
///
/// assert_eq!("asia/seoul".parse::<Zone>().unwrap().name(), "Asia/Seoul");
/// assert_eq!(Zone::default().name(), "UTC");
/// assert!("Asia/Atlantis".parse::<Zone>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Returns the IANA name of the zone.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Returns the rules of the zone.
    pub(crate) const fn rules(&self) -> &TimeZone {
        &self.0
    }
}

impl Default for Zone {
    /// UTC.
    fn default() -> Self {
        Self(TimeZone::UTC)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not the name of a time zone.
#[derive(Debug, thiserror::Error)]
#[error("no time zone has this name: use a name such as Asia/Seoul or Europe/Berlin")]
pub struct UnknownZone;

impl FromStr for Zone {
    type Err = UnknownZone;

    fn from_str(name: &str) -> Result<Self, UnknownZone> {
        let zone = TimeZone::get(name).map_err(|_| UnknownZone)?;
        zone.iana_name().is_some().then_some(Self(zone)).ok_or(UnknownZone)
    }
}
