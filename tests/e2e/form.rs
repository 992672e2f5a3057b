//! Checks the formats of ids and dates in responses.

/// Returns whether a text is an id: 24 lower-case hexadecimal digits.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == 24 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns whether a text is a date in RFC 3339 format, in UTC and with milliseconds: `2026-11-20T08:36:00.000Z`.
pub(crate) fn is_date(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00.000Z";
    let same = |(b, shape): (u8, &u8)| if *shape == b'0' { b.is_ascii_digit() } else { b == *shape };
    text.len() == SHAPE.len() && text.bytes().zip(SHAPE).all(same)
}
