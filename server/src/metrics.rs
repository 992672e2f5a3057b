//! What the server tells whoever watches over it: Prometheus text, on a listener of its own.
//!
//! Source of the form: Prometheus, *Exposition formats*, the text-based format, version 0.0.4.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::{Display, Write as _};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tidings_core::stats::Stats;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::app::App;
use crate::reply::Refusal;

/// Upper bounds of the latencies that are told apart, in seconds.
const LATENCIES: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];
/// How long a connection may last.
const CONNECTION: Duration = Duration::from_secs(30);
/// Connections at a time.
const CONNECTIONS: usize = 16;

/// The requests that were answered, by their operations.
#[derive(Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<(&'static str, &'static str), Tally>>);

/// The requests of an operation.
#[derive(Default)]
struct Tally {
    /// By the `result` of their answers.
    results: BTreeMap<Cow<'static, str>, u64>,
    /// By their latencies: those of at most so long, each counted once; behind them, longer ones.
    latencies: [u64; LATENCIES.len() + 1],
    seconds: f64,
}

impl Metrics {
    /// Counts a request to the operation of a path; of a path that has none, it is empty.
    pub(crate) fn count(
        &self,
        path: &'static str,
        method: &Method,
        refusal: Option<&Refusal>,
        took: Duration,
    ) {
        // Of what anybody may make up there is one.
        let method = if *method == Method::GET {
            "GET"
        } else if *method == Method::POST {
            "POST"
        } else {
            "other"
        };
        let result = refusal.map_or(Cow::Borrowed("success"), |refusal| Cow::Owned(refusal.to_string()));
        let took = took.as_secs_f64();
        let latency = LATENCIES.iter().position(|bound| took <= *bound).unwrap_or(LATENCIES.len());
        let mut operations = self.lock();
        let tally = operations.entry((path, method)).or_default();
        *tally.results.entry(result).or_insert(0) += 1;
        tally.latencies[latency] += 1;
        tally.seconds += took;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(&'static str, &'static str), Tally>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A page of metrics that is being written.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Begins a metric.
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        // A text takes all that is written to it.
        let _ = writeln!(self.0, "# HELP tidings_{name} {help}\n# TYPE tidings_{name} {kind}");
    }

    /// Writes a sample; `labels` as they stand between the braces.
    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(self.0, "tidings_{name}{labels} {value}");
    }

    /// Writes a metric of one sample.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.metric(name, kind, help);
        self.sample(name, "", value);
    }

    /// Writes the buckets of a histogram, each with the counts of the smaller ones, and its sum.
    fn histogram<B: Display>(
        &mut self,
        name: &str,
        labels: &str,
        buckets: impl Iterator<Item = (B, u64)>,
        (count, sum): (u64, impl Display),
    ) {
        let comma = if labels.is_empty() { "" } else { "," };
        let bucket = format!("{name}_bucket");
        for (bound, count) in buckets {
            self.sample(&bucket, &format!("{labels}{comma}le=\"{bound}\""), count);
        }
        self.sample(&bucket, &format!("{labels}{comma}le=\"+Inf\""), count);
        self.sample(&format!("{name}_sum"), labels, sum);
        self.sample(&format!("{name}_count"), labels, count);
    }
}

/// The metrics of a server as they stand.
pub(crate) fn page(app: &App) -> String {
    let mut page = Page::default();
    if let Some(metrics) = &app.metrics {
        requests(&mut page, &metrics.lock());
    }
    page.metric("operations_waiting", "gauge", "Operations that wait for their turn, by lane.");
    for (lane, depth) in app.lanes.waiting() {
        page.sample("operations_waiting", &format!("lane=\"{lane}\""), depth);
    }
    let stats = Stats::of(&app.tidings);
    page.single("writes_waiting", "gauge", "Writes that wait for the writer.", stats.writes_waiting);
    page.single("records_waiting", "gauge", "Log lines that wait for a commit.", stats.records_waiting);
    page.metric("commit_works", "histogram", "Commits by the works that each carried.");
    let commits = stats.commits;
    page.histogram("commit_works", "", commits.up_to.into_iter(), (commits.count, commits.works));
    page.single("wal_bytes", "gauge", "Size of the write-ahead log.", stats.wal_bytes);
    if let Some(age) = stats.feeds_age_ms {
        let seconds = Duration::from_millis(u64::try_from(age).unwrap_or_default()).as_secs_f64();
        let help = "Seconds since the feeds last followed a change of the posts.";
        page.single("feed_snapshot_age_seconds", "gauge", help, seconds);
    }
    page.0
}

fn requests(page: &mut Page, operations: &BTreeMap<(&'static str, &'static str), Tally>) {
    page.metric("requests_total", "counter", "Answered requests by operation and result.");
    for ((path, method), tally) in operations {
        for (result, count) in &tally.results {
            let labels = format!("method=\"{method}\",path=\"{path}\",result=\"{result}\"");
            page.sample("requests_total", &labels, count);
        }
    }
    page.metric("request_duration_seconds", "histogram", "How long answers took, by operation.");
    for ((path, method), tally) in operations {
        let mut count = 0;
        let buckets = LATENCIES.iter().zip(&tally.latencies).map(|(bound, n)| {
            count += n;
            (bound, count)
        });
        let buckets: Vec<_> = buckets.collect();
        let count = tally.latencies.iter().sum();
        let labels = format!("method=\"{method}\",path=\"{path}\"");
        page.histogram("request_duration_seconds", &labels, buckets.into_iter(), (count, tally.seconds));
    }
}

/// A listener for metrics.
///
/// # Errors
/// When it cannot be opened there.
pub(crate) async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(address).await?;
    tracing::info!(address = %listener.local_addr()?, "metrics are served");
    Ok(listener)
}

/// Answers `GET /metrics` there until it is dropped.
pub(crate) async fn serve(app: Arc<App>, listener: TcpListener) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    // Dropped with this, it ends them.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((socket, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        let app = Arc::clone(&app);
        connections.spawn(async move {
            let _place = place;
            let answer = hyper::service::service_fn(move |request: Request<Incoming>| {
                let answer = answer(&app, request.method(), request.uri().path());
                async { Ok::<_, Infallible>(answer) }
            });
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), answer);
            // How it ended is for whoever asked to know.
            let _ = timeout(CONNECTION, connection).await;
        });
    }
}

fn answer(app: &App, method: &Method, path: &str) -> Response<Full<Bytes>> {
    let found = path == "/metrics";
    let body = if found && method == Method::GET { page(app) } else { String::new() };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = match (found, method == Method::GET) {
        (false, _) => StatusCode::NOT_FOUND,
        (true, false) => StatusCode::METHOD_NOT_ALLOWED,
        (true, true) => StatusCode::OK,
    };
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::testing::{post, request, service};

    #[tokio::test]
    async fn requests_are_counted_by_operation_and_result() {
        let service = service();
        let config = Config { metrics_listen: Some(([127, 0, 0, 1], 0).into()), ..Config::default() };
        let app = App::new(service.tidings.clone(), config);
        for (method, path) in [
            ("GET", "/get_device"),
            ("GET", "/get_device"),
            ("GET", "/get_userinfo"),
            ("GET", "/post_view/1"),
            ("PUT", "/get_device"),
            ("GET", "/nowhere/203.0.113.7"),
        ] {
            service.answer_of(&app, request(method, path)).await;
        }
        service.answer_of(&app, post("/sign_in", "application/json", r#"{"id":"ann","pw":"x"}"#)).await;
        let page = page(&app);
        let requests = page.lines().filter_map(|line| line.strip_prefix("tidings_requests_total"));
        let expected = [
            r#"{method="GET",path="",result="Not found"} 1"#,
            r#"{method="GET",path="/get_device",result="success"} 2"#,
            r#"{method="other",path="/get_device",result="method not allowed"} 1"#,
            r#"{method="GET",path="/get_userinfo",result="not found"} 1"#,
            r#"{method="GET",path="/post_view/{post_obi}",result="Not found"} 1"#,
            r#"{method="POST",path="/sign_in",result="No member"} 1"#,
        ];
        assert_eq!(requests.collect::<Vec<_>>(), expected);
        for line in [
            r#"tidings_request_duration_seconds_bucket{method="GET",path="/get_device",le="+Inf"} 2"#,
            r#"tidings_request_duration_seconds_count{method="GET",path="/get_device"} 2"#,
            r#"tidings_operations_waiting{lane="store"} 0"#,
            "tidings_writes_waiting 0",
        ] {
            assert!(page.lines().any(|one| one == line), "{line}\n{page}");
        }
        assert!(page.contains("\ntidings_wal_bytes ") && !page.contains("203.0.113.7"));
    }

    #[tokio::test]
    async fn only_metrics_are_there() {
        let service = service();
        let app = App::new(service.tidings.clone(), Config::default());
        let status = |method, path| answer(&app, &method, path).status().as_u16();
        assert_eq!(status(Method::GET, "/metrics"), 200);
        assert_eq!(status(Method::POST, "/metrics"), 405);
        assert_eq!(status(Method::GET, "/get_device"), 404);
        assert_eq!(service.call(request("GET", "/metrics")).await.status(), 404);
    }
}
