//! Figures and tables as text.

use std::fmt::Write as _;

use tidings_client::shown::number::number;

/// Converts a count to a float; exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn whole(count: u64) -> f64 {
    count as f64
}

/// Formats a figure with a suitable number of digits: `48,123`, `61.4`, `2.31`, `0.052`, `0.00042`.
pub(crate) fn figure(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        ..0.01 => format!("{value:.5}"),
        ..1.0 => format!("{value:.3}"),
        ..10.0 => format!("{value:.2}"),
        ..1000.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => number(format!("{value:.0}").parse::<i128>().unwrap_or(i128::MAX)),
    }
}

/// Formats lines of cells as a table. The columns `texts` are aligned to the left; the others are figures, aligned to the
/// right.
pub(crate) fn aligned(lines: &[Vec<String>], texts: &[usize]) -> String {
    let mut text = String::new();
    for cells in lines {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let width = lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or_default();
            // Writing to a String cannot fail.
            let _ = if texts.contains(&column) {
                write!(line, "{cell:<width$}  ")
            } else {
                write!(line, "{cell:>width$}  ")
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
