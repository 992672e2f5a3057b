//! The page of metrics in the text format of Prometheus, and the listener that serves it. The page also has the metrics that the
//! program registers in the default registry of the crate `prometheus`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use prometheus::proto::{Bucket, Histogram, Metric, MetricFamily, MetricType};
use prometheus::{Gauge, GaugeVec, IntCounter, Opts, Registry, TEXT_FORMAT, TextEncoder};
use tidings_core::stats::{Commits, Stats};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::NAMESPACE;
use crate::filter::security;
use crate::state::App;

const CONNECTION: Duration = Duration::from_secs(30);
/// A new connection closes the oldest.
const CONNECTIONS: usize = 16;

fn page(app: &App) -> prometheus::Result<String> {
    let mut families = app.metrics.as_ref().map(|metrics| metrics.registry.gather()).unwrap_or_default();
    let stats = Stats::of(&app.tidings);
    families.push(commits(&stats.commits));
    families.append(&mut gauges(app, &stats)?.gather());
    families.append(&mut counters(&stats)?.gather());
    families.append(&mut prometheus::gather());
    TextEncoder::new().encode_to_string(&families)
}

/// The core counts the commits.
#[expect(clippy::cast_precision_loss, reason = "a histogram needs no more than 52 bits")]
fn commits(commits: &Commits) -> MetricFamily {
    let mut buckets = Vec::new();
    for (size, count) in &commits.up_to {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(*size as f64);
        bucket.set_cumulative_count(*count);
        buckets.push(bucket);
    }
    let mut histogram = Histogram::default();
    histogram.set_bucket(buckets);
    histogram.set_sample_count(commits.count);
    histogram.set_sample_sum(commits.writes as f64);
    let mut metric = Metric::default();
    metric.set_histogram(histogram);
    let mut family = MetricFamily::default();
    family.set_name(format!("{NAMESPACE}_commit_works"));
    family.set_help("Commits by the works that each carried.".to_owned());
    family.set_field_type(MetricType::HISTOGRAM);
    family.set_metric(vec![metric]);
    family
}

/// Read for each page.
#[expect(clippy::cast_precision_loss, reason = "a gauge needs no more than 52 bits")]
fn gauges(app: &App, stats: &Stats) -> prometheus::Result<Registry> {
    let gauges = Registry::new_custom(Some(NAMESPACE.to_owned()), None)?;
    let waiting = Opts::new("operations_waiting", "Waiting operations by lane.");
    let waiting = GaugeVec::new(waiting, &["lane"])?;
    for (lane, depth) in app.lanes.waiting() {
        waiting.with_label_values(&[lane]).set(depth as f64);
    }
    gauges.register(Box::new(waiting))?;
    let lag = "Seconds until a standby had replayed a recent commit, as the primary measured it.";
    let lag = GaugeVec::new(Opts::new("replication_lag_seconds", lag), &["standby", "state"])?;
    for follower in &stats.followers {
        let labels = [&*follower.name, &*follower.state];
        lag.with_label_values(&labels).set(follower.lag_ms.unsigned_abs() as f64 / 1_000.0);
    }
    gauges.register(Box::new(lag))?;
    let tls = app.tls.get();
    for (name, help, value) in [
        ("writes_waiting", "Writes in the queue of the writer.", Some(stats.writes_waiting as f64)),
        ("records_waiting", "Access log lines that wait for a commit.", Some(stats.records_waiting as f64)),
        (
            "writable",
            "1 while writes succeed, 0 while they fail or the database's files are gone.",
            Some(if stats.writable { 1.0 } else { 0.0 }),
        ),
        (
            "database_bytes",
            "Size of the database, without the write-ahead log.",
            Some(stats.database_bytes as f64),
        ),
        ("wal_bytes", "Size of the write-ahead log of an SQLite file.", Some(stats.wal_bytes as f64)),
        (
            "webhooks_pending",
            "Deliveries of webhooks that wait, or wait to be tried again.",
            Some(stats.webhooks.pending as f64),
        ),
        (
            "webhooks_dead",
            "Deliveries of webhooks that were given up in the last 30 days.",
            Some(stats.webhooks.dead as f64),
        ),
        ("event_streams", "Open streams of live events.", Some(app.events.listeners() as f64)),
        (
            "certificate_remaining_seconds",
            "Seconds until the certificate expires, negative afterwards.",
            tls.map(|tls| tls.remaining_s() as f64),
        ),
        (
            "certificate_stale",
            "1 while the certificate's files hold a pair that cannot be used, 0 otherwise.",
            tls.map(|tls| if tls.is_stale() { 1.0 } else { 0.0 }),
        ),
    ] {
        if let Some(value) = value {
            let gauge = Gauge::new(name, help)?;
            gauge.set(value);
            gauges.register(Box::new(gauge))?;
        }
    }
    Ok(gauges)
}

fn counters(stats: &Stats) -> prometheus::Result<Registry> {
    let counters = Registry::new_custom(Some(NAMESPACE.to_owned()), None)?;
    for (name, help, value) in [
        (
            "records_lost_total",
            "Access log lines that were lost before they were committed.",
            stats.records_lost,
        ),
        (
            "statements_total",
            "SQL statements that were run in transactions, BEGIN and COMMIT included.",
            stats.statements,
        ),
        ("commits_failed_total", "Commits that failed.", stats.commits_failed),
        ("crawler_requests_total", "Requests of crawlers, which do not count as visitors.", stats.crawled),
    ] {
        let counter = IntCounter::new(name, help)?;
        counter.inc_by(value);
        counters.register(Box::new(counter))?;
    }
    Ok(counters)
}

pub(crate) async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let failed = |e: std::io::Error| {
        std::io::Error::new(e.kind(), format!("metrics cannot be served on {address}: {e}"))
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    tracing::info!(address = %listener.local_addr()?, "metrics are served");
    Ok(listener)
}

/// Answers `GET /metrics` until this future is dropped.
pub(crate) async fn serve(app: Arc<App>, listener: TcpListener) {
    let mut open = VecDeque::new();
    // Dropping the set aborts the connections.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((socket, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        open.retain(|task: &AbortHandle| !task.is_finished());
        // A page takes milliseconds to write, so the oldest connection is idle.
        if open.len() >= CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        let app = Arc::clone(&app);
        let task = connections.spawn(async move {
            let answer = hyper::service::service_fn(move |request: Request<Incoming>| {
                let answer = answer(&app, request.method(), request.uri().path());
                async { Ok::<_, Infallible>(answer) }
            });
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), answer);
            // A failed connection concerns only its client.
            let _ = timeout(CONNECTION, connection).await;
        });
        open.push_back(task);
    }
}

fn answer(app: &App, method: &Method, path: &str) -> Response<Full<Bytes>> {
    let (status, body) = match (path, method) {
        ("/metrics", &Method::GET) => match page(app) {
            Ok(page) => (StatusCode::OK, page),
            Err(error) => {
                tracing::error!(%error, "metrics cannot be written");
                (StatusCode::INTERNAL_SERVER_ERROR, String::new())
            }
        },
        ("/metrics", _) => (StatusCode::METHOD_NOT_ALLOWED, String::new()),
        _ => (StatusCode::NOT_FOUND, String::new()),
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(TEXT_FORMAT));
    security::secure(response.headers_mut());
    response
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::config::Config;
    use crate::testing::{post, request, service, with};

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
            service.answer_of(&app, with(request(method, path), "user-agent", "app")).await;
        }
        let sign_in = post("/sign_in", "application/json", r#"{"id":"ann","pw":"x"}"#);
        service.answer_of(&app, with(sign_in, "user-agent", "app")).await;
        // The thread of the access log may write at the moment.
        let end = Instant::now() + Duration::from_secs(10);
        let page = loop {
            let page = page(&app).unwrap();
            if page.contains("\ntidings_writes_waiting 0\n") || Instant::now() > end {
                break page;
            }
            tokio::task::yield_now().await;
        };
        let requests = page.lines().filter_map(|line| line.strip_prefix("tidings_requests_total"));
        let expected = [
            r#"{method="GET",path="",result="Not found"} 1"#,
            r#"{method="GET",path="/get_device",result="success"} 2"#,
            r#"{method="GET",path="/get_userinfo",result="not found"} 1"#,
            r#"{method="GET",path="/post_view/{post_obi}",result="Not found"} 1"#,
            r#"{method="POST",path="/sign_in",result="No member"} 1"#,
            r#"{method="other",path="/get_device",result="method not allowed"} 1"#,
        ];
        assert_eq!(requests.collect::<Vec<_>>(), expected);
        for line in [
            r#"tidings_request_duration_seconds_bucket{method="GET",path="/get_device",le="+Inf"} 2"#,
            r#"tidings_request_duration_seconds_count{method="GET",path="/get_device"} 2"#,
            r#"tidings_operations_waiting{lane="store"} 0"#,
            "tidings_writes_waiting 0",
            "tidings_records_lost_total 0",
            "tidings_crawler_requests_total 0",
            "tidings_commits_failed_total 0",
            "tidings_writable 1",
            "tidings_webhooks_pending 0",
            "tidings_webhooks_dead 0",
        ] {
            assert!(page.lines().any(|one| one == line), "{line}\n{page}");
        }
        assert!(page.contains("\ntidings_commit_works_bucket{le=\"1000\"} "), "{page}");
        assert!(page.contains("\ntidings_wal_bytes ") && !page.contains("203.0.113.7"));
    }

    #[test]
    fn the_page_has_the_metrics_of_the_program() {
        let own = IntCounter::new("program_total", "A counter of the program.").unwrap();
        prometheus::register(Box::new(own.clone())).unwrap();
        own.inc();
        let page = page(&App::new(service().tidings.clone(), Config::default())).unwrap();
        assert!(page.lines().any(|line| line == "program_total 1"), "{page}");
        assert!(page.contains("\ntidings_statements_total "), "{page}");
    }

    #[tokio::test]
    async fn the_listener_serves_only_metrics() {
        let service = service();
        let app = App::new(service.tidings.clone(), Config::default());
        let status = |method, path| answer(&app, &method, path).status().as_u16();
        assert_eq!(status(Method::GET, "/metrics"), 200);
        let refused = answer(&app, &Method::GET, "/");
        assert_eq!(refused.headers()["x-content-type-options"], "nosniff");
        assert_eq!(status(Method::POST, "/metrics"), 405);
        assert_eq!(status(Method::GET, "/get_device"), 404);
        assert_eq!(service.call(request("GET", "/metrics")).await.status(), 404);
    }
}
