//! Bars that compare numbers in a column of a table.

/// Returns a bar that covers `value / most` of `cells`, to an eighth of a cell, and at most `cells`.
pub(super) fn bar(value: i64, most: i64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = |n: i64| u64::try_from(n).unwrap_or_default();
    let whole = (cells as u64) * 8;
    // Even a small number is visible.
    let eighths = match share(value) * whole / share(most).max(1) {
        0 if value > 0 => 1,
        eighths => eighths.min(whole),
    };
    let part = EIGHTHS[usize::try_from(eighths % 8).unwrap_or_default()];
    format!("{}{part}", "█".repeat(usize::try_from(eighths / 8).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share_and_never_longer() {
        assert_eq!(bar(0, 10, 4), "");
        assert_eq!(bar(5, 10, 4), "██");
        assert_eq!(bar(10, 10, 4), "████");
        assert_eq!(bar(20, 10, 4), "████");
        assert_eq!(bar(1, 1_000, 4), "▏", "a small number is visible");
        assert_eq!(bar(5, 8, 1), "▋");
        assert_eq!(bar(3, 0, 2), "██");
    }
}
