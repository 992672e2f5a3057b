//! The metrics that a monitoring system reads.

use std::cell::RefCell;
use std::net::SocketAddr;

use serde_json::json;
use tidings_tests::{Engine, Server, sample, wait_until};

/// Waits until a server serves its metrics, and returns their address.
pub(crate) fn address_of(server: &Server) -> SocketAddr {
    let address = RefCell::new(None);
    wait_until("metrics are served", || {
        let log = server.log();
        let line = log.lines().find(|line| line.contains("metrics are served"));
        *address.borrow_mut() = line.and_then(|line| line.rsplit_once("address=")?.1.trim().parse().ok());
        address.borrow().is_some()
    });
    address.take().unwrap()
}

pub(crate) fn get(address: SocketAddr, path: &str) -> (u16, String) {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: metrics\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn value(page: &str, name: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[test]
fn the_metrics_report_responses_and_the_store_on_their_own_listener_alone() {
    let server = Server::with(|serve| {
        serve.args(["--metrics-listen", "127.0.0.1:0"]);
    });
    let metrics = address_of(&server);
    assert_eq!((server.anyone().get("/metrics").status, get(metrics, "/get_device").0), (404, 404));
    assert_eq!(get(metrics, "/metrics").0, 200);
    let figures = server.anyone().get("/get_analysis").succeeded();
    let communications = &figures.body["analysis"]["communication_avg"];
    assert_eq!(*communications, 0, "a request for metrics is not a communication");
    let ann = server.member("ann");
    let admin = server.admin();
    let id = admin.post("/insert_post", sample::post("News")).succeeded().text("/_id");
    for _ in 0..3 {
        let _ = ann.get(&format!("/post_like/{id}")).succeeded();
    }
    assert_eq!(ann.post("/insert_notice", json!({})).outcome(), "200 Not admin");
    let bot = server.anyone().with_header("User-Agent", "Googlebot/2.1");
    for _ in 0..3 {
        let _ = bot.get("/get_popularity_newsfeed").succeeded();
    }
    wait_until("the crawler requests are counted", || {
        value(&get(metrics, "/metrics").1, "tidings_crawler_requests_total") == Some(3.0)
    });

    let page = get(metrics, "/metrics").1;
    let statements = value(&page, "tidings_statements_total");
    let _ = server.anyone().get(&format!("/get_post/{id}")).succeeded();
    assert!(value(&get(metrics, "/metrics").1, "tidings_statements_total") > statements, "{page}");
    let likes = r#"tidings_request_duration_seconds_count{method="GET",path="/post_like/{post_obi}"}"#;
    for (name, expected) in [
        (r#"tidings_requests_total{method="GET",path="/post_like/{post_obi}",result="success"}"#, 3.0),
        (r#"tidings_requests_total{method="POST",path="/insert_notice",result="Not admin"}"#, 1.0),
        (likes, 3.0),
        ("tidings_records_lost_total", 0.0),
    ] {
        assert_eq!(value(&page, name), Some(expected), "{name}: {page}");
    }
    assert!(value(&page, "tidings_commit_works_count").unwrap() >= 5.0, "{page}");
    for name in ["database_bytes", "commit_works_sum", "statements_total"] {
        assert!(value(&page, &format!("tidings_{name}")).is_some_and(|n| n > 0.0), "{name}: {page}");
    }
    // A server does not say how long its log is.
    let has_log = value(&page, "tidings_wal_bytes").is_some_and(|n| n > 0.0);
    assert_eq!(has_log, Engine::chosen() == Engine::Sqlite, "{page}");
    for pool in ["read", "store", "query", "codec", "password", "university", "import"] {
        let waiting = value(&page, &format!("tidings_operations_waiting{{lane=\"{pool}\"}}"));
        assert_eq!(waiting, Some(0.0), "{pool}: {page}");
    }
    for name in ["writes_waiting", "records_waiting"] {
        assert!(value(&page, &format!("tidings_{name}")).is_some(), "{name}: {page}");
    }
    for personal in ["ann", "127.0.0.1", &id] {
        assert!(!page.contains(personal), "{personal}: {page}");
    }
}
