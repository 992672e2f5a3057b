//! Tests of dates.

use super::*;

const AT: i64 = 1_795_163_760_000;

#[test]
fn dates_are_read_in_every_form_that_feeds_have() {
    for text in [
        "2026-11-20T08:36:00Z",
        "2026-11-20T17:36:00.000+09:00",
        "2026-11-20 08:36:00",
        " Fri, 20 Nov 2026 08:36:00 GMT",
        "20 Nov 2026 08:36 +0000",
        "Mon, 20 Nov 2026 17:36:00 KST",
        "Fri, 20 Nov 2026 10:36:00 CEST",
        "Fri, 20 Nov 2026 03:36:00 EST",
        "Fri, 20 Nov 2026 03:36:00 -0500 (EST)",
        "Fri, 20 Nov 2026 08:36:00",
        "Fri 20 Nov 2026 08:36:00 GMT",
        "2026-11-20 17:36:00 +0900",
        "2026-11-20 08:36:00 UTC",
        "2026-11-20 17:36:00 KST",
        "2026-11-20T08:36:00 +00:00",
        "2026-11-20T08:36Z",
        "20261120T083600Z",
        "2026-W47-5T08:36:00Z",
        "2026-324T08:36:00Z",
        "Nov 20, 2026 08:36:00 GMT",
        "November 20, 2026 8:36 AM",
        "2026/11/20 08:36:00",
        "2026.11.20 08:36:00",
        "Fri Nov 20 08:36:00 UTC 2026",
        "Fri Nov 20 08:36:00 2026",
        "Fri Nov 20 2026 17:36:00 GMT+0900 (한국 표준시)",
        "2026-11-20 17:36 UTC+9",
        "20-Nov-26 08:36:00",
        "Fri, 20 Nov 26 08:36:00 Z",
        "20.11.2026 08:36",
        "20/11/2026 08:36",
        "11/20/2026 08:36",
        "2026년 11월 20일  08:36:00",
        "2026년 11월 20일 오전 8시 36분",
        "2026-11-20 오전 8:36:00",
        "Freitag, 20. November 2026 08:36",
        "mar, 20 nov 2026 08:36:00",
        "vendredi 20 novembre 2026, 08:36",
        "Παρ, 20 Νοε 2026 10:36:00 EET",
    ] {
        assert_eq!(parse(text), Ok(Some(AT)), "{text}");
    }
    let day = AT - (8 * 60 + 36) * 60_000;
    for text in
        ["20 Nov 2026", "Fri, 20 Nov 2026", "2026-11-20", "20261120", "2026년 11월 20일", "2026.11.20."]
    {
        assert_eq!(parse(text), Ok(Some(day)), "{text}");
    }
    assert_eq!(parse("2026.11.20 오후 5:36"), Ok(Some(AT + 9 * 60 * 60_000)));
    for (text, months) in [("2026-01", 0), ("2026", 0), ("Jan 2026", 0), ("2026-02", 31)] {
        assert_eq!(parse(text), Ok(Some(1_767_225_600_000 + months * 86_400_000)), "{text}");
    }
}

#[test]
fn the_hour_24_is_the_end_of_the_day() {
    for text in
        ["Mon, 21 Apr 2025 24:00:00 GMT", "21 Apr 2025 24:00 +0000", "2025-04-21T24:00:00.000Z", "2025-04-22"]
    {
        assert_eq!(parse(text), Ok(Some(1_745_280_000_000)), "{text}");
    }
    for text in ["Mon, 21 Apr 2025 24:05:00 GMT", "2025-04-21T24:00:01Z", "2025-04-21T25:00:00Z"] {
        assert_eq!(parse(text), Err(()), "{text}");
    }
}

#[test]
fn a_blank_date_and_one_of_no_year_are_none() {
    for text in ["", " \n", "Mon, 30 Nov -0001 00:00:00 +0000", "0000-00-00 00:00:00", "0001-01-01T00:00:00Z"]
    {
        assert_eq!(parse(text), Ok(None), "{text}");
    }
    for text in [
        "Montag",
        "soon",
        "2026-11-31T00:00:00Z",
        "04/05/2026",
        "5",
        "99999999999999999999",
        "12:00",
        "2026-13-01",
    ] {
        assert_eq!(parse(text), Err(()), "{text}");
    }
}
