//! `HEAD` is answered where `GET` only reads.

use serde_json::json;
use tidings_tests::{Caller, OPERATIONS, Server};

use super::path;

#[test]
fn head_has_the_status_and_headers_of_get_without_the_body() {
    let server = Server::start();
    let admin = server.admin();
    let mut paths: Vec<_> = OPERATIONS.iter().filter(|operation| operation.only_reads).map(path).collect();
    paths.extend(["/", "/docs/", "/openapi.json", "/reports", "/account/email"].map(str::to_owned));
    for path in paths {
        for caller in [&server.anyone(), &admin] {
            let send = |method| caller.request(method, &path).header("Accept-Encoding", "gzip").send();
            let head = send("HEAD");
            let get = send("GET");
            assert_eq!((head.status, head.bytes.len()), (get.status, 0), "{path}");
            for (name, value) in &get.headers {
                // A report, a log or a state of before the two requests differs from that after them.
                let may_differ =
                    ["_log", "analysis", "_status", "report"].iter().any(|part| path.contains(part));
                // A stream has no length, so that its body comes in chunks; HEAD has no body.
                if ["date", "transfer-encoding"].contains(&name.as_str()) {
                    continue;
                }
                if !(may_differ && ["etag", "content-length"].contains(&name.as_str())) {
                    assert_eq!(head.headers.get(name), Some(value), "{path}, {name}");
                }
            }
        }
    }
    assert_eq!(server.anyone().request("HEAD", "/nothing").send().status, 404);
}

#[test]
fn head_is_refused_where_get_changes_something_and_changes_nothing() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let notice = admin.post("/insert_notice", json!({ "title": "Title", "post": "Text" })).text("/_id");
    let before = server.dump();
    let changing = OPERATIONS.iter().filter(|operation| !operation.only_reads);
    for path in changing.map(|operation| operation.path_with(|_| notice.clone())) {
        let answer = admin.request("HEAD", &path).send();
        assert_eq!((answer.status, answer.bytes.len()), (405, 0), "{path}");
        assert!(!answer.header("allow").is_empty() && !answer.header("allow").contains("HEAD"), "{path}");
    }
    // Only the access log has changed.
    let changed: Vec<_> =
        server.dump().into_iter().filter(|(table, rows)| before.get(table) != Some(rows)).collect();
    for (table, _) in changed {
        let of_log =
            ["log", "request", "visitor", "day_count", "hour_count", "total_count", "version", "path_budget"];
        assert!(of_log.iter().any(|name| table.starts_with(name)), "{table}");
    }
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 success");
}

#[test]
fn head_of_a_topic_feed_is_not_recorded_as_opening_it() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let mut post = tidings_tests::sample::post("Post");
    post["topic"] = json!(["news"]);
    let _ = admin.post("/insert_post", post).succeeded();
    let topics = |caller: &Caller| caller.get("/get_specific_userinfo/4").list("newsfeed_list").len();
    tidings_tests::wait_until("the feed shows the post", || {
        !server.anyone().get("/get_newsfeed_of_topic/news").list("newsfeed").is_empty()
    });
    let head = ann.request("HEAD", "/get_newsfeed_of_topic/news").send();
    assert_eq!((head.status, head.header("cache-control"), topics(&ann)), (200, "no-store", 0));
    let get = ann.get("/get_newsfeed_of_topic/news");
    assert_eq!((head.header("content-length"), topics(&ann)), (&*get.bytes.len().to_string(), 1));
}
