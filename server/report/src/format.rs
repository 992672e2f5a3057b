use jiff::civil::Date;

/// With a comma between thousands.
pub(crate) fn number(n: i64) -> String {
    if n.unsigned_abs() < 1_000 {
        return n.to_string();
    }
    format!("{},{:03}", number(n / 1_000), n.unsigned_abs() % 1_000)
}

/// At most five characters, such as `1.2k`, for an axis.
pub(crate) fn short_number(n: i64) -> String {
    let (unit, name) = match n {
        ..10_000 => return number(n),
        10_000..1_000_000 => (1_000, "k"),
        1_000_000..1_000_000_000 => (1_000_000, "M"),
        _ => (1_000_000_000, "G"),
    };
    match (n / unit, n % unit * 10 / unit) {
        (whole, 0) => format!("{whole}{name}"),
        (whole, tenth) => format!("{whole}.{tenth}{name}"),
    }
}

pub(crate) fn average(sum: i64, days: i64) -> String {
    let tenths = if days == 0 { 0 } else { (sum * 10 + days / 2) / days };
    format!("{}.{}", number(tenths / 10), tenths % 10)
}

pub(crate) fn percent(n: i64, sum: i64) -> String {
    let whole = if sum == 0 { 0 } else { (n * 100 + sum / 2) / sum };
    format!("{whole}%")
}

/// `20 Nov`.
pub(crate) fn short_date(date: &str) -> String {
    formatted(date, "%-d %b")
}

/// `20 November 2026`.
pub(crate) fn long_date(date: &str) -> String {
    formatted(date, "%-d %B %Y")
}

fn formatted(date: &str, format: &str) -> String {
    date.parse::<Date>().map_or_else(|_| date.to_owned(), |date| date.strftime(format).to_string())
}

/// The values at which an axis up to `max` has lines: from three to six, all multiples of the second, which is 1, 2 or 5 times a
/// power of ten. The last is `max` or more. Only 0 if `max` is 0.
pub(crate) fn axis(max: i64) -> Vec<i64> {
    if max <= 0 {
        return vec![0];
    }
    let steps = (0..)
        .flat_map(|power| [1, 2, 5].map(|digit: i64| digit.saturating_mul(10_i64.saturating_pow(power))));
    let step = steps.into_iter().find(|step| max <= step.saturating_mul(5)).unwrap_or(max);
    let lines = (max + step - 1) / step;
    (0..=lines.max(2)).map(|line| line * step).collect()
}

/// From 0 to 1, with at most four decimals.
#[expect(clippy::cast_precision_loss, reason = "a share is drawn, and the figures are in the table")]
pub(crate) fn share(n: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { (n as f64 / whole as f64 * 10_000.0).round() / 10_000.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_dates_are_written_for_people() {
        assert_eq!([0, 999, 1_000, -1_234_567].map(number), ["0", "999", "1,000", "-1,234,567"]);
        let short = [9_999, 10_000, 12_500, 999_999, 1_000_000, 2_350_000_000].map(short_number);
        assert_eq!(short, ["9,999", "10k", "12.5k", "999.9k", "1M", "2.3G"]);
        assert_eq!([average(0, 0), average(1, 3), average(45_678, 4)], ["0.0", "0.3", "11,419.5"]);
        assert_eq!([percent(0, 0), percent(1, 3), percent(2, 3)], ["0%", "33%", "67%"]);
        assert_eq!(short_date("2026-01-05"), "5 Jan");
        assert_eq!(long_date("2026-11-20"), "20 November 2026");
        assert_eq!(long_date("no date"), "no date");
    }

    #[test]
    fn an_axis_has_few_round_lines_and_reaches_the_maximum() {
        assert_eq!(axis(0), [0]);
        assert_eq!(axis(1), [0, 1, 2]);
        assert_eq!(axis(7), [0, 2, 4, 6, 8]);
        assert_eq!(axis(340), [0, 100, 200, 300, 400]);
        for max in (1..2_000).chain([999_999, 1_000_001, i64::MAX / 10]) {
            let lines = axis(max);
            assert!((3..=6).contains(&lines.len()) && *lines.last().unwrap() >= max, "{max}: {lines:?}");
        }
    }

    #[test]
    fn a_share_is_short() {
        let shares = [share(1, 3), share(3, 3), share(0, 0)];
        assert_eq!(shares.map(|share| share.to_string()), ["0.3333", "1", "0"]);
    }
}
