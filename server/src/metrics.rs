//! Metrics: the counters of answered requests here, the page and its listener in `page.rs`.

use std::time::Duration;

use http::Method;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

mod page;

pub(crate) use page::{listen, serve};

const NAMESPACE: &str = "tidings";
/// In seconds.
const LATENCIES: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    durations: HistogramVec,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self::registered().expect("the names are valid, and each is registered once")
    }

    fn registered() -> prometheus::Result<Self> {
        let requests = Opts::new("requests_total", "Answered requests by operation and result.");
        let durations = HistogramOpts::new("request_duration_seconds", "Response times by operation.");
        let metrics = Self {
            registry: Registry::new_custom(Some(NAMESPACE.to_owned()), None)?,
            requests: IntCounterVec::new(requests, &["method", "path", "result"])?,
            durations: HistogramVec::new(durations.buckets(LATENCIES.into()), &["method", "path"])?,
        };
        metrics.registry.register(Box::new(metrics.requests.clone()))?;
        metrics.registry.register(Box::new(metrics.durations.clone()))?;
        Ok(metrics)
    }

    /// `path` is a template; it is empty for an unknown path.
    pub(crate) fn count(&self, path: &str, method: &Method, result: &str, took: Duration) {
        // Clients can invent methods, so all unknown ones share a label.
        let method = match *method {
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            Method::POST => "POST",
            _ => "other",
        };
        self.requests.with_label_values(&[method, path, result]).inc();
        self.durations.with_label_values(&[method, path]).observe(took.as_secs_f64());
    }
}
