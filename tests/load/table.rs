//! The results: one row per measurement, printed as a table or as JSON.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;
use tidings_client::shown::number::number;

use crate::cost::Costs;
use crate::histogram::Histogram;
use crate::measure::{Against, Measured};

/// A client that uses a larger share of its processor is the bottleneck, so the ratio is unreliable.
const CLIENT_IS_THE_LIMIT: f64 = 0.97;

/// One measurement, its target, and whether it met the target.
#[derive(Clone, Serialize)]
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
    /// What one request costs the server.
    per_request: Costs,
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
            per_request: Costs::default(),
        }
    }

    /// Creates a row of requests per second, with latencies and costs.
    pub(crate) fn measured(what: impl Into<String>, measured: &Measured) -> Self {
        let row = Self::new(what, measured.rate, "/s").latency(&measured.latency).costs(measured.costs);
        row.client_busy(measured.client_busy)
    }

    /// Adds the baseline of the rate, and the ratio to reach.
    pub(crate) fn against(self, limit: Against, wanted: f64) -> Self {
        self.beside(limit).wanted(&format!("{wanted:.2} of bare"), limit.ratio >= wanted)
    }

    /// Adds the baseline of the rate without a target.
    pub(crate) fn beside(self, limit: Against) -> Self {
        Self { bare: Some(limit.rate), ratio: Some(limit.ratio), ..self }
    }

    pub(crate) fn at_least(self, wanted: f64) -> Self {
        let met = self.measured >= wanted;
        self.wanted(&format!("≥ {}", figure(wanted)), met)
    }

    pub(crate) fn at_most(self, wanted: f64) -> Self {
        let met = self.measured <= wanted;
        self.wanted(&format!("≤ {}", figure(wanted)), met)
    }

    /// Adds a target for the processor time of a request in microseconds; call it after [`Row::costs`].
    pub(crate) fn cpu_at_most(self, wanted_us: f64) -> Self {
        let met = self.per_request.cpu_us.is_none_or(|used| used <= wanted_us);
        self.wanted(&format!("≤ {} µs", figure(wanted_us)), met)
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

    /// Adds what one request costs.
    pub(crate) fn costs(self, costs: Costs) -> Self {
        Self { per_request: costs, ..self }
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

    /// Returns what one request costs, by column.
    fn cost_cells(&self) -> Vec<String> {
        let costs = self.per_request.columns();
        let costs = costs.map(|cost| cost.map_or_else(|| "-".to_owned(), figure));
        [vec![self.what.clone()], costs.into()].concat()
    }

    fn cells(&self) -> Vec<String> {
        let optional = |value: Option<f64>| value.map(figure).unwrap_or_default();
        vec![
            self.what.clone(),
            format!("{} {}", figure(self.measured), self.unit),
            optional(self.bare),
            self.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            self.target.clone(),
            match self.ok {
                _ if self.target.is_empty() => "",
                true => "ok",
                false => "missed",
            }
            .to_owned(),
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
        0.0 => "0".to_owned(),
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
    /// Whether the measured binary counted allocations, which makes rates lower.
    pub(crate) allocations_slow_rates: bool,
    /// The parts that other programs disturbed, with the number of turns.
    pub(crate) disturbed: Vec<String>,
    /// The parts that could not be measured, with the error.
    pub(crate) failures: Vec<String>,
}

impl Report {
    /// Formats the rows as a table of rates and a table of costs, followed by disturbed and failed parts.
    pub(crate) fn table(&self) -> String {
        let head =
            ["what", "measured", "bare limit", "ratio", "target", "", "p50 ms", "p99 ms", "max ms", ""];
        let mut text = aligned(&head, &[0, 4, 5, 9], self.rows.iter().map(Row::cells));
        let head = [
            "cost of one request",
            "statements",
            "pages",
            "bytes",
            "allocations",
            "bytes allocated",
            "CPU µs",
        ];
        text.push('\n');
        text.push_str(&aligned(&head, &[0], self.rows.iter().map(Row::cost_cells)));
        text.push('\n');
        if self.allocations_slow_rates {
            text.push_str(
                "the rates are lower than usual, because the measured binary counted allocations\n",
            );
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

/// Formats lines of cells as a table. The columns `texts` are aligned to the left; the others are figures, aligned to the
/// right.
fn aligned(head: &[&str], texts: &[usize], lines: impl Iterator<Item = Vec<String>>) -> String {
    let head = head.iter().copied().map(ToOwned::to_owned).collect();
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(lines).collect();
    let width = |column: usize| {
        lines.iter().filter_map(|cells| cells.get(column)).map(|cell| cell.chars().count()).max()
    };
    let mut text = String::new();
    for cells in &lines {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let width = width(column).unwrap_or_default();
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
