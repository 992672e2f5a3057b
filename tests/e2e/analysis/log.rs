//! The access log.

use super::*;

#[test]
fn the_log_records_the_member_the_request_and_the_status() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("Ann"));
    let _ = server.anyone().get("/get_popularity_newsfeed?limit=3").succeeded();
    assert_eq!(ann.get("/get_post/0123456789abcdef01234567").status, 404);
    assert_eq!(ann.get("/get_newsfeed_of_topic/%EB%8C%80").status, 200);
    assert_eq!(server.anyone().with_token("x", "a.b.c").get("/sign_out_all").status, 401);
    assert_eq!(ann.request("PUT", "/get_userinfo").send().status, 405);
    for path in ["/healthz", "/readyz", "/openapi.json", "/docs/", "/nothing"] {
        server.anyone().get(path);
    }
    let log = admin.get("/get_log_date/0/1/0/1000").succeeded();
    assert_eq!(
        lines(&log),
        [
            "guest GET unknown path 404",
            "Ann PUT /get_userinfo 405",
            "guest GET /sign_out_all 401",
            "Ann GET /get_newsfeed_of_topic/%EB%8C%80 200",
            "Ann GET /get_post/0123456789abcdef01234567 404",
            "guest GET /get_popularity_newsfeed 200",
            "guest POST /sign_up 200",
            "guest POST /sign_up 200",
        ]
    );
    let dates = log.column("log", "date");
    assert!(dates.is_sorted_by(|a, b| a >= b), "{dates:?}");
    assert!(dates.iter().all(|date| date.len() == 24 && date.ends_with('Z')), "{dates:?}");
    assert_eq!(
        lines(&admin.get("/get_log_date/0/0/1/1").succeeded()),
        ["admin GET /get_log_date/0/1/0/1000 200"]
    );
    let of_ann = admin.get("/get_log_user/ann/2").succeeded();
    assert_eq!(lines(&of_ann), ["Ann PUT /get_userinfo 405", "Ann GET /get_newsfeed_of_topic/%EB%8C%80 200"]);
    assert_eq!(lines(&admin.get("/get_log_user_date/ANN/1/0/0/1000").succeeded()).len(), 3);
    assert_eq!(lines(&admin.get("/get_log_user/guest/1000").succeeded()).len(), 5);
}

#[test]
fn disabled_analytics_record_no_log_and_no_visitors() {
    let server = Server::with(|serve| {
        serve.args(["--analytics", "off"]);
    });
    let admin = server.admin();
    let id = insert_post(&admin, "One");
    let _ = server.anyone().get(&format!("/post_view/{id}")).succeeded();
    assert!(admin.get("/get_log_date/0/1/0/10").succeeded().list("log").is_empty());
    let figures = figures(&admin);
    assert_eq!((&figures["communication_avg"], &figures["total_visitor"]), (&json!(0), &json!(0)));
    assert_eq!(figures["total_view"], 1, "acts are counted when they are stored");
}

#[test]
fn the_command_line_prints_the_whole_log() {
    let mut server = Server::start();
    let ann = server.member("ann");
    for _ in 0..3 {
        let _ = ann.get("/get_userinfo").succeeded();
    }
    server.stop();
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
               INSERT INTO log (key, member, request)
               SELECT key + i, member, request FROM (SELECT * FROM log ORDER BY key DESC LIMIT 1) AS last, n";
    assert_eq!(server.sql().execute(sql, &[]), 2_500);
    let log = |args: &[&str]| server.cli([&["analysis", "log"], args].concat()).succeeded();
    let count = |args: &[&str]| log(&[args, &["--ndjson"]].concat()).stdout.lines().count();
    assert_eq!(count(&[]), 2_504, "including the sign-up");
    assert_eq!(count(&["--member", "ANN", "--hours", "1"]), 2_503);
    assert_eq!(count(&["--member", "guest"]), 1);
    assert_eq!(count(&["--limit", "1200"]), 1_200);
    assert_eq!(count(&["--member", "ann", "--as", "ann", "--months", "1"]), 2_503);
    let object = |args: &[&str]| log(&[args, &["--json"]].concat()).json()["log"].as_array().unwrap().len();
    assert_eq!((object(&[]), object(&["--limit", "1200"])), (100, 1_000));
    let refused = server.cli(["--as", "ann", "analysis", "log", "--ndjson"]);
    assert_eq!((refused.status, refused.json()["result"].as_str()), (1, Some("Not admin")));
}
