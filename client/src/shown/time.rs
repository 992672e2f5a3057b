//! Times as people read and type them: to the minute, in a time zone.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use tidings_core::clock::Timestamp;

/// `2026-12-05 09:00`.
pub fn stamp(at: Timestamp, zone: &TimeZone) -> String {
    formatted(at, zone, "%Y-%m-%d %H:%M")
}

/// `format` is one of `strftime`.
pub fn formatted(at: Timestamp, zone: &TimeZone, format: &str) -> String {
    match jiff::Timestamp::from_millisecond(at.as_millis()) {
        Ok(moment) => moment.to_zoned(zone.clone()).strftime(format).to_string(),
        Err(_) => at.to_string(),
    }
}

/// Reads a date, which begins at midnight, or a date with a time, in the zone; or RFC 3339.
pub fn parse(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    let has_offset = text.parse::<jiff::Timestamp>().is_ok();
    let local = text.parse::<DateTime>().ok().filter(|_| !has_offset);
    match local.map(|local| local.to_zoned(zone.clone())) {
        Some(Ok(local)) => Some(Timestamp::from_millis(local.timestamp().as_millisecond())),
        // The last hours of the year 9999, which stand for "never".
        Some(Err(_)) | None => Timestamp::parse(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_the_zone_unless_they_have_an_offset() {
        let seoul = TimeZone::get("Asia/Seoul").unwrap();
        let read = |text| parse(text, &seoul).map(|at| at.to_string());
        for (text, at) in [
            ("2026-12-05 09:00", "2026-12-05T00:00:00.000Z"),
            (" 2026-12-05T09:00:30 ", "2026-12-05T00:00:30.000Z"),
            ("2026-12-05", "2026-12-04T15:00:00.000Z"),
            ("2026-12-05T09:00+02:00", "2026-12-05T07:00:00.000Z"),
            ("2026-12-05T09:00:00Z", "2026-12-05T09:00:00.000Z"),
            ("2026-12-05T24:00:00Z", "2026-12-06T00:00:00.000Z"),
            ("9999-12-31T23:59:59Z", "9999-12-30T22:00:00.000Z"),
        ] {
            assert_eq!(read(text).as_deref(), Some(at), "{text}");
        }
        for text in ["", "tomorrow", "12-05", "2026-13-05", "2026-12-05 25:00", "09:00"] {
            assert_eq!(read(text), None, "{text}");
        }
        let never = Timestamp::parse("9999-12-31");
        assert_eq!(parse("9999-12-31", &TimeZone::UTC), never);
    }

    #[test]
    fn a_time_that_is_shown_is_read_as_the_same_time() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let at = Timestamp::parse("2026-07-05T08:36:00Z").unwrap();
        assert_eq!(stamp(at, &zone), "2026-07-05 10:36");
        assert_eq!(parse(&stamp(at, &zone), &zone), Some(at));
    }
}
