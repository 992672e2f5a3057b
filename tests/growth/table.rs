//! The rows of the benchmark and their formats.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

/// The factor by which a cost may exceed its expected growth.
const TOLERANCE: f64 = 3.0;

/// The growth that is expected of a cost.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Growth {
    /// It does not depend on the size.
    Flat,
    /// It is at most proportional to n log n.
    NLogN,
    /// It is a wait of at most this many milliseconds at any size.
    AtMost(f64),
    /// It is only for comparison.
    Any,
}

impl Growth {
    fn name(self) -> String {
        match self {
            Self::Flat => "flat".into(),
            Self::NLogN => "n log n".into(),
            Self::AtMost(most) => format!("≤ {most} ms"),
            Self::Any => String::new(),
        }
    }
}

/// An operation with its costs.
#[derive(Serialize)]
struct Row {
    part: &'static str,
    what: &'static str,
    expected: String,
    #[serde(skip)]
    growth: Growth,
    /// Milliseconds by size; `None` if the operation exceeded its time limit.
    costs_ms: Vec<Option<f64>>,
    /// The cost of the largest measured size divided by that of the smallest.
    ratio: Option<f64>,
    as_expected: bool,
}

/// All rows of a run.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) sizes: Vec<u64>,
    rows: Vec<Row>,
    /// The parts that could not be measured, with the error.
    pub(crate) failures: Vec<String>,
}

impl Report {
    pub(crate) fn new(sizes: Vec<u64>) -> Self {
        Self { sizes, rows: Vec::new(), failures: Vec::new() }
    }

    /// Adds the cost of an operation at the next size.
    pub(crate) fn add(
        &mut self,
        part: &'static str,
        what: &'static str,
        growth: Growth,
        cost: Option<Duration>,
    ) {
        let cost = cost.map(|cost| cost.as_secs_f64() * 1_000.0);
        let known = self.rows.iter().position(|row| (row.part, row.what) == (part, what));
        let at = known.unwrap_or_else(|| {
            let (costs_ms, expected) = (Vec::new(), growth.name());
            self.rows.push(Row { part, what, expected, growth, costs_ms, ratio: None, as_expected: true });
            self.rows.len() - 1
        });
        let row = &mut self.rows[at];
        row.costs_ms.push(cost);
        let measured: Vec<(f64, f64)> = self
            .sizes
            .iter()
            .zip(&row.costs_ms)
            .filter_map(|(n, cost)| Some((whole(*n), (*cost)?)))
            .collect();
        let (Some((small, low)), Some((large, high))) = (measured.first(), measured.last()) else { return };
        let n_log_n = |n: f64| n * n.log2();
        row.ratio = Some(high / low);
        row.as_expected = match growth {
            Growth::Flat => *high <= low * TOLERANCE,
            Growth::NLogN => *high <= low * TOLERANCE * n_log_n(*large) / n_log_n(*small),
            Growth::AtMost(bound) => measured.iter().all(|(_, cost)| *cost <= bound),
            Growth::Any => true,
        };
    }

    /// Returns whether no cost grows more than expected.
    pub(crate) fn is_as_expected(&self) -> bool {
        self.rows.iter().all(|row| row.as_expected)
    }

    /// Formats the rows as a table.
    pub(crate) fn table(&self) -> String {
        let sizes = self.sizes.iter().map(|size| grouped(*size));
        let mut lines = vec![
            [String::from("part"), "what, ms".into()]
                .into_iter()
                .chain(sizes)
                .chain(["ratio".into(), "expected".into(), String::new()])
                .collect::<Vec<_>>(),
        ];
        for row in &self.rows {
            let mut costs: Vec<String> =
                row.costs_ms.iter().map(|cost| cost.map_or_else(String::new, figure)).collect();
            costs.resize(self.sizes.len(), String::new());
            let ratio = row.ratio.map(figure).unwrap_or_default();
            let mark = match row.growth {
                _ if row.as_expected => "",
                Growth::AtMost(_) => "exceeded",
                _ => "grows",
            };
            let mut line = vec![row.part.to_owned(), row.what.to_owned()];
            line.extend(costs);
            line.extend([ratio, row.expected.clone(), mark.to_owned()]);
            lines.push(line);
        }
        let widths: Vec<usize> = (0..lines[0].len())
            .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default())
            .collect();
        let mut text = String::new();
        for line in lines {
            let mut shown = String::new();
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                // Figures are aligned to the right. Writing to a String cannot fail.
                let _ = if (2..self.sizes.len() + 3).contains(&column) {
                    write!(shown, "{cell:>width$}  ")
                } else {
                    write!(shown, "{cell:<width$}  ")
                };
            }
            text.push_str(shown.trim_end());
            text.push('\n');
        }
        for failure in &self.failures {
            let _ = writeln!(text, "failed: {failure}");
        }
        text
    }
}

/// Converts a count to a float; exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
fn whole(count: u64) -> f64 {
    count as f64
}

/// Formats a figure with a suitable number of digits: `0.00042`, `0.052`, `2.31`, `61.4`, `1234`.
fn figure(value: f64) -> String {
    match value {
        ..0.01 => format!("{value:.5}"),
        ..1.0 => format!("{value:.3}"),
        ..10.0 => format!("{value:.2}"),
        ..1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Formats a number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
