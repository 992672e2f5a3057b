//! Dates of feeds in the forms that feeds have beside their own.

use jiff::civil::DateTime;
use jiff::fmt::rfc2822;
use jiff::tz::TimeZone;

use crate::base::clock::{DAY_MS, Timestamp, at_end_of_day};

/// Names of time zones that RFC 5322 does not know, and which have one meaning.
const ZONES: [(&str, &str); 4] = [("KST", "+0900"), ("JST", "+0900"), ("CET", "+0100"), ("CEST", "+0200")];

/// Reads a date: RFC 3339, also without an offset, then in UTC; or RFC 5322, also with names of a few other time zones: an
/// unknown name is UTC, as RFC 5322 advises.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Some(day_before) = at_end_of_day(text) {
        return parse(&day_before).map(|time| time + DAY_MS);
    }
    Timestamp::parse(text).or_else(|| without_offset(text)).or_else(|| of_mail(text))
}

fn without_offset(text: &str) -> Option<Timestamp> {
    let time: DateTime = text.parse().ok()?;
    Some(Timestamp::from_millis(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond()))
}

fn of_mail(text: &str) -> Option<Timestamp> {
    let offset = |(name, offset): &(&str, &str)| Some(format!("{}{offset}", text.strip_suffix(name)?));
    let text = ZONES.iter().find_map(offset).unwrap_or_else(|| text.to_owned());
    let parser = rfc2822::DateTimeParser::new().relaxed_weekday(true);
    Some(Timestamp::from_millis(parser.parse_timestamp(&text).ok()?.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_the_forms_that_feeds_have() {
        for text in [
            "2026-11-20T08:36:00Z",
            "2026-11-20T17:36:00.000+09:00",
            "2026-11-20 08:36:00",
            " Fri, 20 Nov 2026 08:36:00 GMT",
            "20 Nov 2026 08:36 +0000",
            "Mon, 20 Nov 2026 17:36:00 KST",
            "Fri, 20 Nov 2026 10:36:00 CEST",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), "2026-11-20T08:36:00.000Z", "{text}");
        }
        for text in [
            "Mon, 21 Apr 2025 24:00:00 GMT",
            "21 Apr 2025 24:00 +0000",
            "2025-04-21T24:00:00Z",
            "2025-04-21T24:00:00.000Z",
            "2025-04-21 24:00:00",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), "2025-04-22T00:00:00.000Z", "{text}");
        }
        for text in ["Mon, 21 Apr 2025 24:05:00 GMT", "2025-04-21T24:00:01Z", "2025-04-21T24:01:00Z"] {
            assert_eq!(parse(text), None, "{text}");
        }
        for text in ["", "Montag", "Montag, 20 Nov 2026 08:36:00 +0000", "2026-11-31T00:00:00Z"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
