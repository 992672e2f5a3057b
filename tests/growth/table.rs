//! The rows of the benchmark and their formats.

use std::fmt::Write as _;
use std::time::Duration;

use tidings_client::shown::number::number;

use crate::figures::{aligned, figure, whole};

/// The factor by which a cost may exceed its expected growth.
const TOLERANCE: f64 = 3.0;

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

struct Row {
    part: &'static str,
    what: &'static str,
    growth: Growth,
    /// Milliseconds by size; `None` if the operation exceeded its time limit.
    costs_ms: Vec<Option<f64>>,
    /// The cost of the largest measured size divided by that of the smallest.
    ratio: Option<f64>,
    as_expected: bool,
}

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
            self.rows.push(Row { part, what, growth, costs_ms: Vec::new(), ratio: None, as_expected: true });
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

    pub(crate) fn is_as_expected(&self) -> bool {
        self.rows.iter().all(|row| row.as_expected)
    }

    pub(crate) fn table(&self) -> String {
        let sizes = self.sizes.iter().map(|size| number(*size));
        let head = [String::from("part"), "what, ms".into()].into_iter().chain(sizes);
        let mut lines = vec![head.chain(["ratio".into(), "expected".into(), String::new()]).collect()];
        for row in &self.rows {
            let mark = match row.growth {
                _ if row.as_expected => "",
                Growth::AtMost(_) => "exceeded",
                _ => "grows",
            };
            let mut line: Vec<String> = vec![row.part.into(), row.what.into()];
            line.extend(row.costs_ms.iter().map(|cost| cost.map_or_else(String::new, figure)));
            line.resize(2 + self.sizes.len(), String::new());
            let ratio = row.ratio.map(figure).unwrap_or_default();
            line.extend([ratio, row.growth.name(), mark.to_owned()]);
            lines.push(line);
        }
        let expected = self.sizes.len() + 3;
        let mut text = aligned(&lines, &[0, 1, expected, expected + 1]);
        for failure in &self.failures {
            let _ = writeln!(text, "failed: {failure}");
        }
        text
    }
}
