//! Which requests are communications, which clients are visitors, and how long the server keeps log lines.

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
fn a_log_line_has_the_documented_fields_and_the_operations_path() {
    let server = Server::with(|serve| {
        serve.args(["--base-path", "/api", "--public-logs"]);
    });
    let anyone = server.anyone();
    let _ = anyone.get("/api/get_newsfeed_of_topic/a?limit=3").succeeded();
    let log = anyone.get("/api/get_log_date/0/1/0/10").succeeded();
    assert_eq!(lines(&log), ["guest GET /get_newsfeed_of_topic/a 200"]);
    let line = log.list("log")[0].as_object().unwrap();
    assert_eq!(line.keys().collect::<Vec<_>>(), ["date", "method", "path", "status", "user_id"]);
    assert!(line["status"].is_u64() && line["date"].is_string());
}

#[test]
fn log_lines_of_a_removed_member_show_the_name_removed() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let _ = ann.get("/get_log_user/ANN/5").succeeded();
    let _ = ann.get("/remove_mine").succeeded();
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 not found");
    let log = lines(&admin.get("/get_log_date/0/1/0/3").succeeded());
    let expected = [
        "guest GET /get_userinfo 200",
        "removed GET /remove_mine 200",
        "removed GET /get_log_user/removed/5 200",
    ];
    assert_eq!(log, expected);
    assert_eq!(lines(&admin.get("/get_log_user/removed/9").succeeded()).len(), 2);
}

#[test]
fn a_member_counts_as_a_visitor_with_any_user_agent() {
    let server = Server::start();
    let ann = server.member("ann").with_header("User-Agent", "Googlebot/2.1");
    let _ = ann.get("/get_userinfo").succeeded();
    let bot = visitor(&server, "Googlebot/2.1");
    let _ = bot.get("/get_device").succeeded();
    assert_eq!(students(&today(&bot)), ["guest 1", "member 1"], "the sign-up counts as a guest");
    wait_until("another process counts both requests of the crawler", || {
        let summary = server.cli(["analysis", "summary"]).succeeded().stdout;
        let crawlers = summary.lines().find(|line| line.contains("crawlers")).unwrap();
        crawlers.trim_end().ends_with(" 2")
    });
}

#[test]
fn a_forwarded_address_counts_only_from_a_trusted_proxy() {
    let from = |server: &Server, addresses: &[&str]| {
        for address in addresses {
            let guest = server.caller_at(address);
            let _ = guest.get("/get_device").succeeded();
        }
        figures(&server.anyone())["today_visitor"].as_u64().unwrap()
    };
    let server = Server::start();
    assert_eq!(from(&server, &["203.0.113.1", "203.0.113.2"]), 1, "the header is ignored");
    let server = Server::with(|serve| {
        serve.args(["--trust-proxy", "127.0.0.1", "--trust-proxy", "198.51.100.7"]);
    });
    // The client is the last address that is not a trusted proxy. A client can invent the addresses before it.
    let spoofed = [
        "203.0.113.1",
        "203.0.113.2, 203.0.113.1",
        "made up, 203.0.113.1",
        "203.0.113.3, 203.0.113.1, 198.51.100.7",
    ];
    assert_eq!(from(&server, &spoofed), 1);
    assert_eq!(
        from(&server, &["203.0.113.1, 203.0.113.2"]),
        3,
        "a second address, and the client that reads the figures"
    );
}

#[test]
fn log_lines_are_kept_for_the_set_number_of_days() {
    let mut server = Server::with(|serve| {
        serve.args(["--log-days", "1"]);
    });
    let admin = server.admin();
    let _ = admin.get("/get_log_date/0/2/0/10").succeeded();
    server.stop();
    let mut database = server.sql();
    // A line's key is its time in milliseconds, times 2^14.
    let day = 86_400_000_i64 << 14;
    for (days, sign) in [(2, 1), (1, 1), (1, -1)] {
        // An hour before and an hour after the line expires.
        let back = days * day + sign * (day / 24);
        let sql = "INSERT INTO log (key, member, request) SELECT key - $1, member, request FROM log
                   ORDER BY key DESC LIMIT 1";
        database.execute(sql, &[back.into()]);
    }
    let mut count = || -> i64 { database.scalar("SELECT count(*) FROM log", &[]) };
    let before = count();
    server.restart();
    wait_until("the server has removed the old lines", || count() == before - 2);
    let remaining = lines(&admin.get("/get_log_date/0/2/0/1000").succeeded());
    assert_eq!(remaining.len(), usize::try_from(before - 2).unwrap());
    assert_eq!(figures(&admin)["communication_avg"], before - 2, "counters do not change");
}
