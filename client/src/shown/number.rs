/// Returns a number with its thousands grouped: `1,234,567`.
///
/// ```
/// assert_eq!(tidings_client::shown::number::number(-1_234_567), "-1,234,567");
/// ```
pub fn number(n: impl TryInto<i128>) -> String {
    // Every integer type but `u128` fits, and no count comes near its bound.
    let n = n.try_into().unwrap_or(i128::MAX);
    let digits = n.unsigned_abs().to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    let sign = if n < 0 { "-" } else { "" };
    format!("{sign}{}", groups.join(","))
}

/// Returns a number with its noun: `1 view`, `3 views`.
pub fn count(n: impl TryInto<i128>, noun: &str) -> String {
    let number = number(n);
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let numbers = [0, 999, 1_000, -1_234_567, i64::MAX].map(number);
        assert_eq!(numbers, ["0", "999", "1,000", "-1,234,567", "9,223,372,036,854,775,807"]);
        assert_eq!(number(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn a_noun_is_plural_unless_the_number_is_one() {
        assert_eq!([0, 1, 2_000].map(|n| count(n, "view")), ["0 views", "1 view", "2,000 views"]);
    }
}
