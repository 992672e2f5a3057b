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
    // Sign-in is slowed after too many wrong passwords.
    let mut tries = 0;
    wait_until("the attempts are slowed", || {
        let answer = anyone.post("/sign_in", json!({ "id": "nobody", "pw": "wrong horse" }));
        tries += u64::from(answer.status == 200);
        answer.status == 429
    });
    assert_eq!(communications_and_lines(&server, 0), (tries, tries));
    // The queue for password hashing is full.
    let mut answered = tries;
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
    assert_eq!(communications_and_lines(&server, 1), (answered, answered));
    // Paths that are not operations, and the preflight request of a browser.
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs/", "/nowhere"] {
        anyone.get(path);
    }
    let preflight = anyone.request("OPTIONS", "/get_device").header("Origin", "https://app.example.org");
    let preflight = preflight.header("Access-Control-Request-Method", "GET").send();
    assert!(preflight.status < 300 && !preflight.header("access-control-allow-origin").is_empty());
    assert_eq!(communications_and_lines(&server, 2), (answered, answered));
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

#[test]
fn apps_and_members_are_visitors_but_crawlers_and_programs_are_not() {
    let server = Server::start();
    let ann = server.member("ann").with_header("User-Agent", "Googlebot/2.1");
    let _ = ann.get("/get_userinfo").succeeded();
    let phone = "Mozilla/5.0 (Linux; Android 13; CUBOT X70) AppleWebKit/537.36 Chrome/124.0.0.0";
    for agent in ["okhttp/4.12.0", phone, "curl/8.5.0", ""] {
        let _ = visitor(&server, agent).get("/get_categories").succeeded();
    }
    let bot = visitor(&server, "Googlebot/2.1");
    let _ = bot.get("/get_categories").succeeded();
    let figures = figures(&bot);
    assert_eq!((&figures["today_visitor"], &figures["communication_avg"]), (&json!(4), &json!(7)));
    assert_eq!(students(&today(&bot)), ["guest 3", "member 1"], "the sign-up counts as a guest");
    wait_until("another process counts all five requests of crawlers and programs", || {
        let summary = server.cli(["analysis", "summary"]).succeeded().stdout;
        let crawlers = summary.lines().find(|line| line.contains("crawlers")).unwrap();
        crawlers.trim_end().ends_with(" 5")
    });
}
