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
        "Date: Fri, 20 November 2026 08:36:00 GMT",
        "Fri,20 Nov 2026 08:36:00GMT",
        "Fri, 20 Nov 2026 8:36:00 AM",
        "Fri, 20 Nov 2026 17:36:00 +09:00",
        "2026-11-20T17:36:00.000+0900",
        "2026-11-20T17:36:00+09",
        "2026-11-20 17:36:00 +0900 KST",
        "2026-11-20 (금) 08:36",
        "Friday, November 20th, 2026 at 8:36 am",
        "2026. 11. 20. 오전 8:36",
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
        "1795163760",
        "1795163760000",
        "1795163760.000",
        "20261120083600",
        "202611200836",
        "20261120173600+0900",
        "20261120083600Z",
        "Fri, 11/20/26 - 08:36",
        "2026-11-20 17:36 Asia/Seoul",
        "2026-11-20T09:36:00[Europe/Berlin]",
        "2026-11-20T17:36:00+09:00[Asia/Seoul]",
        "20 Nov 2026 03:36 America/New_York",
        "20 Nov 2026 8:36 a.m.",
        "20 Nov 2026 13:36 PKT",
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
fn months_are_read_in_many_languages() {
    for text in [
        "20 marraskuu 2026",
        "20. marraskuuta 2026",
        "20 listopada 2026",
        "20 lis 2026",
        "2026 m. lapkričio 20",
        "20 kasım 2026",
        "2026. november 20.",
        "20. nóvember 2026",
        "20 noiembrie 2026",
        "20 novembre 2026",
        "20 νοεμβρίου 2026",
        "20 ноября 2026",
        "20 листопада 2026",
        "20 نوفمبر 2026",
        "20 נובמבר 2026",
        "20 November, 2026",
        "2026-NOV-20",
    ] {
        assert_eq!(parse(text), Ok(Some(1_795_132_800_000)), "{text}");
    }
    for (text, month) in [
        ("20 maaliskuuta 2026", "03"),
        ("mardi 20 janvier 2026", "01"),
        ("20 mars 2026", "03"),
        ("20 Mar 2026", "03"),
        ("20 lipca 2026", "07"),
        ("20 lip 2026", "07"),
        ("20 června 2026", "06"),
        ("20 července 2026", "07"),
        ("20 május 2026", "05"),
        ("20 maj 2026", "05"),
        ("mar, 20/10/2026", "10"),
        ("20 août 2026", "08"),
        ("20 Sept. 2026", "09"),
        ("20 ago 2026", "08"),
        ("20 mrt 2026", "03"),
        ("20 huhtikuu 2026", "04"),
    ] {
        assert_eq!(parse(text), parse(&format!("2026-{month}-20")), "{text}");
    }
    for text in ["20 unknownmonth 2026", "2026 unknownmonth 5", "unknownmonth 2026", "maanantai"] {
        assert_eq!(parse(text), Err(()), "{text}");
    }
}

#[test]
fn the_weekday_tells_which_number_is_the_month() {
    for (text, date) in [
        ("Fri, 05/03/2019 - 15:21", "2019-05-03T15:21:00Z"),
        ("Tue, 05/03/2019 - 15:21", "2019-03-05T15:21:00Z"),
        ("Mon, 04/29/2019", "2019-04-29"),
        ("lundi 06/05/2019", "2019-05-06"),
        ("Freitag 05-03-2019", "2019-05-03"),
        ("Fri, 05/03/19", "2019-05-03"),
        ("05.03.2019", "2019-03-05"),
        ("04/04/2019", "2019-04-04"),
    ] {
        assert_eq!(parse(text), parse(date), "{text}");
    }
    assert_eq!(parse("Wed, 05/03/2019"), Err(()), "it is neither");
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
