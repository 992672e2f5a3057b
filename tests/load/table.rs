//! The results: one row per measurement, printed as a table or as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use crate::cost::Costs;
use crate::figures::{aligned, figure};
use crate::histogram::Histogram;
use crate::measure::Measured;

/// A client that uses a larger share of its processor is the bottleneck, so the ratio is unreliable.
const CLIENT_IS_THE_LIMIT: f64 = 0.97;

#[derive(Default, Serialize)]
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
    per_request: Costs,
}

impl Row {
    /// Creates a row without a target.
    pub(crate) fn new(what: impl Into<String>, measured: f64, unit: &'static str) -> Self {
        Self { what: what.into(), measured, unit, ok: true, ..Self::default() }
    }

    /// Creates a row of requests per second, with the baseline, latencies and costs.
    pub(crate) fn measured(what: impl Into<String>, measured: &Measured) -> Self {
        let row = Self::new(what, measured.rate, "/s").latency(&measured.latency).costs(measured.costs);
        let (bare, ratio) = measured.limit.unzip();
        Self { bare, ratio, ..row.client_busy(measured.client_busy) }
    }

    /// Adds a target for the ratio to the baseline.
    pub(crate) fn ratio_at_least(self, wanted: f64) -> Self {
        let met = self.ratio.is_some_and(|ratio| ratio >= wanted);
        self.wanted(&format!("{wanted:.2} of bare"), met)
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
        add(&mut self.target, ", ", wanted);
        self.ok &= met;
        self
    }

    pub(crate) fn latency(mut self, latency: &Histogram) -> Self {
        let ms = |time: Duration| Some(time.as_secs_f64() * 1000.0);
        self.p50_ms = ms(latency.percentile(50.0));
        self.p99_ms = ms(latency.percentile(99.0));
        self.max_ms = ms(latency.longest());
        self
    }

    pub(crate) fn costs(self, costs: Costs) -> Self {
        Self { per_request: costs, ..self }
    }

    pub(crate) fn client_busy(mut self, share: f64) -> Self {
        self.client_busy = Some(share);
        if share > CLIENT_IS_THE_LIMIT { self.note("the client was the bottleneck") } else { self }
    }

    pub(crate) fn note(mut self, note: impl AsRef<str>) -> Self {
        add(&mut self.note, "; ", note.as_ref());
        self
    }

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

/// Adds a part to a list in a text.
fn add(list: &mut String, separator: &str, part: &str) {
    if !list.is_empty() {
        list.push_str(separator);
    }
    list.push_str(part);
}

#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) processors: usize,
    pub(crate) posts: usize,
    pub(crate) seconds: f64,
    pub(crate) rows: Vec<Row>,
    /// The parts that could not be measured, with the error.
    pub(crate) failures: Vec<String>,
}

impl Report {
    /// Formats the rows as a table of rates and a table of costs, followed by failed parts.
    pub(crate) fn table(&self) -> String {
        let table = |head: &[&str], texts: &[usize], cells: fn(&Row) -> Vec<String>| {
            let mut lines: Vec<Vec<String>> = vec![head.iter().map(|cell| (*cell).to_owned()).collect()];
            lines.extend(self.rows.iter().map(cells));
            aligned(&lines, texts)
        };
        let head =
            ["what", "measured", "bare limit", "ratio", "target", "", "p50 ms", "p99 ms", "max ms", ""];
        let rates = table(&head, &[0, 4, 5, 9], Row::cells);
        let head = ["cost of one request", "statements", "bytes", "allocations", "bytes allocated", "CPU µs"];
        let mut text = format!("{rates}\n{}\n", table(&head, &[0], Row::cost_cells));
        for failure in &self.failures {
            let _ = writeln!(text, "failed: {failure}");
        }
        let Self { processors, posts, seconds, .. } = self;
        let _ = writeln!(text, "{processors} processors, {posts} posts, {seconds} seconds per measurement");
        text
    }
}
