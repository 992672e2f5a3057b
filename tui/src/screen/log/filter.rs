use std::collections::BTreeSet;

use jiff::civil::{Date, Time};
use jiff::{Span, ToSpan as _, Zoned};
use tidings_core::analysis::GetLog;
use tidings_core::clock::Timestamp;

use crate::screen::Ctx;

pub(super) const HINT: &str = "ann  /path  2h  7d  2026-11-20  14:30  14:00-15:30  =incorrect_pw";
const TWICE: &str = "One member, one path, one result and one time, separated by spaces.";
const NO_TIME: &str = "A time looks like 30m, 2h, 7d, 2026-11-20, 14:30 or 14:00-15:30.";

pub(super) fn parse(text: &str, ctx: &Ctx) -> Result<GetLog, &'static str> {
    let mut filter = GetLog::default();
    for word in text.split_whitespace() {
        if word.starts_with('/') {
            set(&mut filter.path, word.to_owned())?;
        } else if let Some(result) = word.strip_prefix('=') {
            set(&mut filter.result, result.to_owned())?;
        } else if let Some(times) = times(word, ctx) {
            let (since, until) = times?;
            set(&mut filter.since, since.to_string())?;
            filter.until = until.map(|until| until.to_string());
        } else {
            set(&mut filter.member, word.trim_start_matches('@').to_owned())?;
        }
    }
    // A path that is only a slash, as when the user starts typing one, matches every path.
    filter.path = filter.path.filter(|path| path != "/");
    filter.result = filter.result.filter(|result| !result.is_empty());
    Ok(filter)
}

/// Replaces the result by the one after it: the first if the filter has none, and none after the last.
pub(super) fn with_next_result(text: &str, results: &BTreeSet<String>) -> String {
    let words = text.split_whitespace().filter(|word| !word.starts_with('='));
    let now = text.split_whitespace().find_map(|word| word.strip_prefix('='));
    let next = results.iter().find(|result| now.is_none_or(|now| result.as_str() > now));
    words.map(str::to_owned).chain(next.map(|next| format!("={next}"))).collect::<Vec<_>>().join(" ")
}

fn set<T>(field: &mut Option<T>, value: T) -> Result<(), &'static str> {
    match field.replace(value) {
        Some(_) => Err(TWICE),
        None => Ok(()),
    }
}

/// The start and the end of a time; `None` if the word is not a time, such as a member's id.
type Times = Option<Result<(Timestamp, Option<Timestamp>), &'static str>>;

fn times(word: &str, ctx: &Ctx) -> Times {
    if let Some(ago) = ago(word) {
        let now = jiff::Timestamp::from_millisecond(ctx.now.as_millis()).ok()?.to_zoned(ctx.zone.clone());
        let since = now.checked_sub(ago).map(|since| timestamp(&since));
        return Some(since.map(|since| (since, None)).map_err(|_| NO_TIME));
    }
    if let Ok(date) = word.parse::<Date>() {
        let begins = |date: Date| Some(timestamp(&date.to_zoned(ctx.zone.clone()).ok()?));
        let until = date.tomorrow().ok().and_then(begins);
        return Some(begins(date).map(|since| (since, until)).ok_or(NO_TIME));
    }
    let today: Date = ctx.day(ctx.now).parse().ok()?;
    let at = |time: &str| {
        let (hour, minute) = time.split_once(':')?;
        let time = Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()?;
        Some(timestamp(&today.to_datetime(time).to_zoned(ctx.zone.clone()).ok()?))
    };
    if !word.contains(':') {
        return None;
    }
    let (since, until) = word.split_once('-').map_or((word, None), |(since, until)| (since, Some(until)));
    let until = match until.filter(|until| !until.is_empty()).map(at) {
        Some(None) => return Some(Err(NO_TIME)),
        Some(until) => until,
        None => None,
    };
    Some(at(since).map(|since| (since, until)).ok_or(NO_TIME))
}

fn timestamp(at: &Zoned) -> Timestamp {
    Timestamp::from_millis(at.timestamp().as_millisecond())
}

fn ago(word: &str) -> Option<Span> {
    let (digits, unit) = word.split_at_checked(word.len().checked_sub(1)?)?;
    let n: i64 = digits.parse().ok().filter(|n| (1..=100_000).contains(n))?;
    match unit {
        "m" => Some(n.minutes()),
        "h" => Some(n.hours()),
        "d" => Some(n.days()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tidings_core::clock::Timestamp;

    use super::*;

    /// 2026-11-20T08:36:00Z, which is 17:36 in Seoul.
    const NOW: Timestamp = Timestamp::from_millis(1_795_163_760_000);
    const HOUR_MS: i64 = 3_600_000;

    fn wanted(text: &str) -> Result<GetLog, &'static str> {
        parse(text, &Ctx::of_tests(NOW))
    }

    #[test]
    fn a_member_a_path_a_result_and_a_time_are_given_in_any_order() {
        let all = GetLog {
            member: Some("ann".into()),
            path: Some("/get_post".into()),
            result: Some("Not_found".into()),
            since: Some((NOW - 2 * HOUR_MS).to_string()),
            ..GetLog::default()
        };
        for (text, filter) in [
            ("ann /get_post =Not_found 2h", Ok(&all)),
            (" 120m  =Not_found /get_post @ann", Ok(&all)),
            ("", Ok(&GetLog::default())),
            ("/ =", Ok(&GetLog::default())),
            ("2026-13-01", Ok(&GetLog { member: Some("2026-13-01".into()), ..GetLog::default() })),
            ("ann ben", Err(TWICE)),
            ("/a /b", Err(TWICE)),
            ("25:00", Err(NO_TIME)),
            ("14:00-26:00", Err(NO_TIME)),
        ] {
            assert_eq!(wanted(text), filter.cloned(), "{text}");
        }
    }

    #[test]
    fn times_are_in_the_configured_zone() {
        let time = |text: String| Timestamp::parse(&text).unwrap();
        let midnight = NOW - 17 * HOUR_MS - 36 * 60_000;
        for (text, since, until) in [
            ("2026-11-20", midnight, Some(midnight + 24 * HOUR_MS)),
            ("14:30", midnight + 29 * HOUR_MS / 2, None),
            ("14:00-15:30", midnight + 14 * HOUR_MS, Some(midnight + 31 * HOUR_MS / 2)),
            ("14:00-", midnight + 14 * HOUR_MS, None),
            ("7d", NOW - 7 * 24 * HOUR_MS, None),
        ] {
            let filter = wanted(text).unwrap();
            assert_eq!((filter.since.map(time), filter.until.map(time)), (Some(since), until), "{text}");
        }
    }

    #[test]
    fn the_next_result_replaces_the_one_of_the_filter() {
        let results = ["Not_found", "bad_token", "success"].map(str::to_owned).into();
        for (text, next) in [
            ("ann 2h", "ann 2h =Not_found"),
            ("ann 2h =Not_found", "ann 2h =bad_token"),
            ("ann 2h =bad_token", "ann 2h =success"),
            ("ann 2h =success", "ann 2h"),
            ("=gone", "=success"),
        ] {
            assert_eq!(with_next_result(text, &results), next);
        }
        assert_eq!(with_next_result("", &BTreeSet::new()), "");
    }
}
