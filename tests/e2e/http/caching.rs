//! Entity tags.

use tidings_tests::{Server, sample, wait_until};

/// Public responses that do not change while they are asked for.
const PUBLIC: [&str; 6] = [
    "/",
    "/openapi.json",
    "/docs/start.js",
    "/get_popularity_newsfeed",
    "/get_newsfeed_of_topic/news",
    "/get_all_notice",
];

#[test]
fn a_tag_is_of_every_coding_outlives_a_restart_and_gets_304_which_the_log_has() {
    let mut server = Server::start();
    let admin = server.admin();
    let mut post = sample::post("Post");
    post["topic"] = serde_json::json!(["news"]);
    let _ = admin.post("/insert_post", post).succeeded();
    let _ = admin.post("/insert_notice", sample::notice("Notice")).succeeded();
    let tags = |server: &Server| {
        wait_until("the feeds show the post", || {
            server.anyone().get("/get_popularity_newsfeed").list("newsfeed").len() == 1
        });
        PUBLIC.map(|path| server.anyone().get(path).header("etag").to_owned())
    };
    let before = tags(&server);
    server.restart();
    assert_eq!(tags(&server), before);
    for (path, tag) in PUBLIC.into_iter().zip(&before) {
        for coding in ["identity", "gzip", "br"] {
            let anyone = server.anyone().with_header("Accept-Encoding", coding);
            let answer = anyone.request("GET", path).header("If-None-Match", tag).send();
            assert_eq!(
                (answer.status, answer.bytes.len(), answer.header("etag")),
                (304, 0, &**tag),
                "{path}"
            );
            assert!(answer.header("access-control-expose-headers").contains("etag"), "{path}");
        }
    }
    let line = admin.get("/get_log_date/0/0/1/1").succeeded().list("log")[0].clone();
    assert_eq!(
        (&line["path"], &line["status"], &line["user_id"]),
        (&"/get_all_notice".into(), &304.into(), &"guest".into())
    );
}
