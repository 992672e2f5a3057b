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
use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{TEXT_FORMAT, TextEncoder};
use tidings_core::stats::{Commits, Stats};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::NAMESPACE;
use crate::filter::security;
use crate::state::App;

const CONNECTION: Duration = Duration::from_secs(30);
/// A new connection closes the oldest.
const CONNECTIONS: usize = 16;

#[expect(clippy::cast_precision_loss, reason = "a figure needs no more than 52 bits")]
fn page(app: &App) -> prometheus::Result<String> {
    let stats = Stats::of(&app.tidings);
    let (lost, pending, dead) = (stats.records_lost, stats.webhooks.pending, stats.webhooks.dead);
    let writable = f64::from(u8::from(stats.writable));
    let mut figures = vec![
        ("writes_waiting", "Writes in the queue of the writer.", stats.writes_waiting as f64),
        ("records_waiting", "Access log lines that wait for a commit.", stats.records_waiting as f64),
        ("writable", "1 while writes succeed, 0 while they fail or the database's files are gone.", writable),
        ("database_bytes", "Size of the database, without the write-ahead log.", stats.database_bytes as f64),
        ("wal_bytes", "Size of the write-ahead log of an SQLite file.", stats.wal_bytes as f64),
        ("webhooks_pending", "Deliveries of webhooks that wait, or wait to be tried again.", pending as f64),
        ("webhooks_dead", "Deliveries of webhooks that were given up in the last 30 days.", dead as f64),
        ("event_streams", "Open streams of live events.", app.events.listeners() as f64),
        ("records_lost_total", "Access log lines that were lost before they were committed.", lost as f64),
        (
            "statements_total",
            "SQL statements that were run in transactions, BEGIN and COMMIT included.",
            stats.statements as f64,
        ),
        ("commits_failed_total", "Commits that failed.", stats.commits_failed as f64),
        (
            "crawler_requests_total",
            "Requests of crawlers, which do not count as visitors.",
            stats.crawled as f64,
        ),
    ];
    if let Some(tls) = app.tls.get() {
        let expires = "Seconds until the certificate expires, negative afterwards.";
        figures.push(("certificate_remaining_seconds", expires, tls.remaining_s() as f64));
        let stale = "1 while the certificate's files hold a pair that cannot be used, 0 otherwise.";
        figures.push(("certificate_stale", stale, f64::from(u8::from(tls.is_stale()))));
    }
    let mut page = app.metrics.as_ref().map(|metrics| metrics.registry.gather()).unwrap_or_default();
    let works = "Commits by the works that each carried.";
    page.push(family("commit_works", works, MetricType::HISTOGRAM, vec![commits(&stats.commits)]));
    let waiting = app.lanes.waiting().map(|(lane, depth)| sample(&[("lane", lane)], depth as f64));
    page.push(family("operations_waiting", "Waiting operations by lane.", MetricType::GAUGE, waiting.into()));
    let lags = stats.followers.iter().map(|follower| {
        let labels = [("standby", &*follower.name), ("state", &*follower.state)];
        sample(&labels, follower.lag_ms.unsigned_abs() as f64 / 1_000.0)
    });
    if !stats.followers.is_empty() {
        let lag = "Seconds until a standby had replayed a recent commit, as the primary measured it.";
        page.push(family("replication_lag_seconds", lag, MetricType::GAUGE, lags.collect()));
    }
    for (name, help, value) in figures {
        let kind = if name.ends_with("_total") { MetricType::COUNTER } else { MetricType::GAUGE };
        page.push(family(name, help, kind, vec![sample(&[], value)]));
    }
    page.append(&mut prometheus::gather());
    TextEncoder::new().encode_to_string(&page)
}

fn family(name: &str, help: &str, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(format!("{NAMESPACE}_{name}"));
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}

fn sample(labels: &[(&str, &str)], value: f64) -> Metric {
    let labels = labels.iter().map(|(name, value)| {
        let mut label = LabelPair::default();
        label.set_name((*name).to_owned());
        label.set_value((*value).to_owned());
        label
    });
    let (mut metric, mut gauge, mut counter) = (Metric::default(), Gauge::default(), Counter::default());
    gauge.set_value(value);
    counter.set_value(value);
    metric.set_label(labels.collect());
    metric.set_gauge(gauge);
    metric.set_counter(counter);
    metric
}

#[expect(clippy::cast_precision_loss, reason = "a histogram needs no more than 52 bits")]
fn commits(commits: &Commits) -> Metric {
    let buckets = commits.up_to.iter().map(|(size, count)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(*size as f64);
        bucket.set_cumulative_count(*count);
        bucket
    });
    let (mut metric, mut histogram) = (Metric::default(), Histogram::default());
    histogram.set_bucket(buckets.collect());
    histogram.set_sample_count(commits.count);
    histogram.set_sample_sum(commits.writes as f64);
    metric.set_histogram(histogram);
    metric
}

pub(crate) async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let failed = |e: std::io::Error| {
        std::io::Error::new(e.kind(), format!("metrics cannot be served on {address}: {e}"))
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    tracing::info!(address = %listener.local_addr()?, "metrics are served");
    Ok(listener)
}

pub(crate) async fn serve(app: Arc<App>, listener: TcpListener) {
    let mut open = VecDeque::new();
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        open.retain(|task: &AbortOnDropHandle<()>| !task.is_finished());
        // A page takes milliseconds to write, so the oldest connection is idle.
        if open.len() >= CONNECTIONS {
            open.pop_front();
        }
        let app = Arc::clone(&app);
        open.push_back(AbortOnDropHandle::new(tokio::spawn(async move {
            let answer = hyper::service::service_fn(move |request: Request<Incoming>| {
                let answer = answer(&app, request.method(), request.uri().path());
                async { Ok::<_, Infallible>(answer) }
            });
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), answer);
            let _ = timeout(CONNECTION, connection).await;
        })));
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
    use prometheus::IntCounter;

    use super::*;
    use crate::config::Config;
    use crate::testing::{request, service, with};

    #[tokio::test]
    async fn requests_are_counted_by_operation_and_result() {
        let service = service();
        let app =
            service.app(Config { metrics_listen: Some(([127, 0, 0, 1], 0).into()), ..Config::default() });
        for (method, path) in [
            ("GET", "/get_device"),
            ("GET", "/get_device"),
            ("GET", "/post_view/1"),
            ("PUT", "/get_device"),
            ("GET", "/nowhere/203.0.113.7"),
        ] {
            service.answer_of(&app, with(request(method, path), "user-agent", "app")).await;
        }
        let page = page(&app).unwrap();
        let requests = page.lines().filter_map(|line| line.strip_prefix("tidings_requests_total"));
        let expected = [
            r#"{method="GET",path="",result="Not found"} 1"#,
            r#"{method="GET",path="/get_device",result="success"} 2"#,
            r#"{method="GET",path="/post_view/{post_obi}",result="Not found"} 1"#,
            r#"{method="other",path="/get_device",result="method not allowed"} 1"#,
        ];
        assert_eq!(requests.collect::<Vec<_>>(), expected);
        for line in [
            r#"tidings_request_duration_seconds_bucket{method="GET",path="/get_device",le="+Inf"} 2"#,
            "tidings_commits_failed_total 0",
            "tidings_writable 1",
            "tidings_webhooks_pending 0",
            "tidings_webhooks_dead 0",
        ] {
            assert!(page.lines().any(|one| one == line), "{line}\n{page}");
        }
        assert!(page.contains("\ntidings_commit_works_bucket{le=\"1000\"} "), "{page}");
        assert!(!page.contains("203.0.113.7"));
    }

    #[test]
    fn the_page_has_the_metrics_of_the_program() {
        let own = IntCounter::new("program_total", "A counter of the program.").unwrap();
        prometheus::register(Box::new(own.clone())).unwrap();
        own.inc();
        let page = page(&service().app(Config::default())).unwrap();
        assert!(page.lines().any(|line| line == "program_total 1"), "{page}");
        assert!(page.contains("\ntidings_statements_total "), "{page}");
    }

    #[tokio::test]
    async fn the_listener_serves_only_metrics() {
        let service = service();
        let app = service.app(Config::default());
        for (method, path, status) in
            [(Method::GET, "/metrics", 200), (Method::POST, "/metrics", 405), (Method::GET, "/", 404)]
        {
            let answer = answer(&app, &method, path);
            assert_eq!(answer.status(), status, "{method} {path}");
            assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
        }
    }
}
