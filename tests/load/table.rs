//! The results: one row per measurement, printed as a table or as JSON.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;
use tidings_tui::number::number;

use crate::histogram::Histogram;
use crate::measure::Against;

/// A client that uses a larger share of its processor is the bottleneck, so the ratio is unreliable.
const CLIENT_IS_THE_LIMIT: f64 = 0.97;

/// One measurement, its target, and whether it met the target.
#[derive(Serialize)]
pub(crate) struct Row {
    what: String,
    measured: f64,
    unit: &'static str,
    bare: Option<f64>,
    ratio: Option<f64>,
    target: String,
    ok: bool,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
    max_ms: Option<f64>,
    client_busy: Option<f64>,
    note: String,
}

impl Row {
    /// Creates a row without a target.
    pub(crate) fn new(what: impl Into<String>, measured: f64, unit: &'static str) -> Self {
        Self {
            what: what.into(),
            measured,
            unit,
            bare: None,
            ratio: None,
            target: String::new(),
            ok: true,
            p50_ms: None,
            p99_ms: None,
            max_ms: None,
            client_busy: None,
            note: String::new(),
        }
    }

    /// Adds the baseline of the rate, and the ratio to reach.
    pub(crate) fn against(mut self, limit: Against, wanted: f64) -> Self {
        self.bare = Some(limit.rate);
        self.ratio = Some(limit.ratio);
        self.wanted(&format!("{wanted:.2} of bare"), limit.ratio >= wanted)
    }

    pub(crate) fn at_least(self, wanted: f64) -> Self {
        let met = self.measured >= wanted;
        self.wanted(&format!("≥ {}", figure(wanted)), met)
    }

    pub(crate) fn at_most(self, wanted: f64) -> Self {
        let met = self.measured <= wanted;
        self.wanted(&format!("≤ {}", figure(wanted)), met)
    }

    /// Adds a target for the 99th percentile of latency; call it after [`Row::latency`].
    pub(crate) fn p99_under(self, wanted_ms: f64) -> Self {
        let met = self.p99_ms.is_some_and(|p99| p99 < wanted_ms);
        self.wanted(&format!("p99 < {wanted_ms:.0} ms"), met)
    }

    fn wanted(mut self, wanted: &str, met: bool) -> Self {
        if !self.target.is_empty() {
            self.target.push_str(", ");
        }
        self.target.push_str(wanted);
        self.ok &= met;
        self
    }

    pub(crate) fn latency(mut self, latency: &Histogram) -> Self {
        self.p50_ms = Some(ms(latency.percentile(50.0)));
        self.p99_ms = Some(ms(latency.percentile(99.0)));
        self.max_ms = Some(ms(latency.longest()));
        self
    }

    pub(crate) fn client_busy(mut self, share: f64) -> Self {
        self.client_busy = Some(share);
        if share > CLIENT_IS_THE_LIMIT { self.note("the client was the bottleneck") } else { self }
    }

    pub(crate) fn note(mut self, note: impl AsRef<str>) -> Self {
        if !self.note.is_empty() {
            self.note.push_str("; ");
        }
        self.note.push_str(note.as_ref());
        self
    }

    fn cells(&self) -> [String; 10] {
        let optional = |value: Option<f64>| value.map(figure).unwrap_or_default();
        [
            self.what.clone(),
            format!("{} {}", figure(self.measured), self.unit),
            optional(self.bare),
            self.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            self.target.clone(),
            if self.ok { "ok" } else { "missed" }.to_owned(),
            optional(self.p50_ms),
            optional(self.p99_ms),
            optional(self.max_ms),
            self.note.clone(),
        ]
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Formats a figure with a suitable number of digits: `48,123`, `61.4`, `2.31`, `0.052`.
fn figure(value: f64) -> String {
    match value {
        ..1.0 => format!("{value:.3}"),
        ..10.0 => format!("{value:.2}"),
        ..1000.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => number(format!("{value:.0}").parse::<i128>().unwrap_or(i128::MAX)),
    }
}

/// The results of a run.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) processors: usize,
    pub(crate) posts: usize,
    pub(crate) seconds: f64,
    pub(crate) rows: Vec<Row>,
    /// The parts that other programs disturbed, with the number of turns.
    pub(crate) disturbed: Vec<String>,
    /// The parts that could not be measured, with the error.
    pub(crate) failures: Vec<String>,
}

impl Report {
    /// Formats the rows as a table, followed by disturbed and failed parts.
    pub(crate) fn table(&self) -> String {
        let head =
            ["what", "measured", "bare limit", "ratio", "target", "", "p50 ms", "p99 ms", "max ms", ""];
        let mut lines = vec![head.map(ToOwned::to_owned)];
        lines.extend(self.rows.iter().map(Row::cells));
        let widths: Vec<usize> = (0..head.len())
            .map(|column| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or_default())
            .collect();
        let mut text = String::new();
        for cells in lines {
            let mut line = String::new();
            for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                // Align figures to the right and text to the left. Writing to a String cannot fail.
                let _ = match column {
                    1..=3 | 6..=8 => write!(line, "{cell:>width$}  "),
                    _ => write!(line, "{cell:<width$}  "),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        for disturbed in &self.disturbed {
            let _ = writeln!(text, "disturbed: {disturbed}");
        }
        for failure in &self.failures {
            let _ = writeln!(text, "failed: {failure}");
        }
        let Self { processors, posts, seconds, .. } = self;
        let _ = writeln!(text, "{processors} processors, {posts} posts, {seconds} seconds per measurement");
        text
    }
}
