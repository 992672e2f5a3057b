//! Which requests are communications, and which clients are visitors.

use tidings_tests::PASSWORD;

use super::*;

/// Returns the number of counted communications and the number of log lines.
///
/// Neither includes the requests of this function itself; the caller passes the number of its earlier calls.
fn communications_and_lines(server: &Server, earlier_calls: u64) -> (u64, u64) {
    let all = figures(&server.anyone())["communication_avg"].as_u64().unwrap();
    let sql = "SELECT count(*) FROM log l JOIN request r ON r.key = l.request WHERE r.path NOT IN ('/get_analysis', 'unknown path')";
    let lines: i64 = server.sql().scalar(sql, &[]);
    (all - earlier_calls, lines.unsigned_abs())
}

#[test]
fn rejected_and_preflight_requests_are_not_communications() {
    let server = Server::start();
    let anyone = server.anyone();
    // The queue for password hashing is full.
    let mut answered = 0;
    wait_until("the queue is full", || {
        let sign_up = |n: usize| {
            let id = format!("member-{n}");
            json!({ "id": id, "pw": PASSWORD, "pw_check": PASSWORD, "nickname": id })
        };
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let burst: Vec<_> = (0..120)
                .map(|n| {
                    let anyone = &anyone;
                    scope.spawn(move || anyone.post("/sign_up", sign_up(n)))
                })
                .collect();
            burst.into_iter().map(|answer| answer.join().unwrap()).collect()
        });
        answered += answers.iter().filter(|answer| answer.status == 200).count() as u64;
        answers.iter().any(|answer| answer.status == 503)
    });
    assert_eq!(communications_and_lines(&server, 0), (answered, answered));
    // Paths that are not operations, and the preflight request of a browser.
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs/", "/nowhere"] {
        anyone.get(path);
    }
    let preflight = anyone.request("OPTIONS", "/get_device").header("Origin", "https://app.example.org");
    let preflight = preflight.header("Access-Control-Request-Method", "GET").send();
    assert!(preflight.status < 300 && !preflight.header("access-control-allow-origin").is_empty());
    assert_eq!(communications_and_lines(&server, 1), (answered, answered));
    // Unknown paths have lines, and share a row for each method and result.
    let unknown = |of: &str| {
        let sql = format!(
            "SELECT count({of}) FROM log l JOIN request r ON r.key = l.request WHERE r.path = 'unknown path'"
        );
        server.sql().scalar::<i64>(&sql, &[])
    };
    assert_eq!((unknown("*"), unknown("DISTINCT r.key")), (2, 1));
}

#[test]
fn a_log_line_has_the_documented_fields_and_a_public_log_is_open_to_all() {
    let server = Server::with(|serve| {
        serve.args(["--base-path", "/api", "--public-logs"]);
    });
    let anyone = server.anyone();
    let _ = anyone.get("/api/get_newsfeed_of_topic/a?limit=3").succeeded();
    let log = anyone.with_token("x", "a.b.c").get("/api/get_log_date/0/1/0/10").succeeded();
    assert_eq!(lines(&log), ["guest GET /get_newsfeed_of_topic/a 200"], "the path is that of the operation");
    let line = log.list("log")[0].as_object().unwrap();
    assert_eq!(line.keys().collect::<Vec<_>>(), ["date", "method", "path", "status", "user_id"]);
    assert!(line["status"].is_u64() && line["date"].is_string());
}
