//! Entity tags, and requests of clients that already have the response.

use tidings_tests::{Answer, Caller, Server, sample, wait_until};

/// Returns the response to a client that has responses with these tags.
fn get_unless(caller: &Caller, path: &str, known: &str) -> Answer {
    caller.request("GET", path).header("If-None-Match", known).send()
}

/// Returns a server with a post and a notice, and its administrator.
fn filled() -> (Server, Caller) {
    let server = Server::start();
    let admin = server.admin();
    let mut post = sample::post("Post");
    post["topic"] = serde_json::json!(["news"]);
    let _ = admin.post("/insert_post", post).succeeded();
    let _ = admin.post("/insert_notice", sample::notice("Notice")).succeeded();
    wait_until("the feeds show the post", || {
        server.anyone().get("/get_popularity_newsfeed").list("newsfeed").len() == 1
    });
    (server, admin)
}

/// The paths of public responses that do not change while they are asked for.
const PUBLIC: [&str; 12] = [
    "/",
    "/openapi.json",
    "/docs/",
    "/docs/start.js",
    "/get_popularity_newsfeed",
    "/get_recommendation_newsfeed?limit=7",
    "/get_newsfeed_of_topic/news",
    "/get_topic_newsfeed/news",
    "/get_all_notice",
    "/get_main_info",
    "/get_categories",
    "/get_device",
];

#[test]
fn a_client_with_the_current_response_gets_304_in_every_coding_and_form_of_the_tag() {
    let (server, _) = filled();
    let anyone = server.anyone().with_header("Origin", "https://app.example.org");
    for path in PUBLIC {
        let full = anyone.get(path);
        let tag = full.header("etag");
        assert!(full.status == 200 && tag.starts_with("W/\""), "{path}: {full:?}");
        for known in [tag, &tag[2..], "*", &format!("\"x\", {tag}")] {
            for coding in ["identity", "gzip", "br"] {
                let answer = anyone.with_header("Accept-Encoding", coding);
                let answer = get_unless(&answer, path, known);
                assert_eq!((answer.status, answer.bytes.len()), (304, 0), "{path}, {known}");
                for name in ["etag", "cache-control", "vary", "access-control-allow-origin"] {
                    assert_eq!(answer.header(name), full.header(name), "{path}, {name}");
                    assert!(!answer.header(name).is_empty(), "{path}, {name}");
                }
                assert!(answer.header("access-control-expose-headers").contains("etag"), "{path}");
                assert_eq!(answer.header("content-encoding"), "", "{path}");
            }
        }
        assert_eq!(get_unless(&anyone, path, "W/\"x\", \"\"").bytes, full.bytes, "{path}");
    }
    let head = anyone.request("HEAD", "/get_categories").header("If-None-Match", "*").send();
    assert_eq!(head.status, 304);
}

#[test]
fn members_and_failures_get_neither_a_tag_nor_304() {
    let (server, _) = filled();
    let ann = server.member("ann");
    for path in PUBLIC {
        for caller in [&ann, &server.anyone().with_token("x", "a.b.c")] {
            let answer = get_unless(caller, path, "*");
            let headers = (answer.header("etag"), answer.header("cache-control"));
            assert_eq!((answer.status, headers), (200, ("", "no-store")), "{path}");
        }
    }
    for (path, status) in [
        ("/get_post/1", 404),
        ("/get_all_notice?x", 304),
        ("/get_userinfo", 200),
        ("/sign_out_all", 401),
        ("/x", 404),
    ] {
        assert_eq!(get_unless(&server.anyone(), path, "*").status, status, "{path}");
    }
}

#[test]
fn what_was_published_just_before_is_seen_at_once() {
    let (server, admin) = filled();
    let anyone = server.anyone();
    let mut tag = anyone.get("/get_all_notice").header("etag").to_owned();
    for n in 0..3 {
        let title = format!("Notice {n}");
        let _ = admin.post("/insert_notice", sample::notice(&title)).succeeded();
        let answer = get_unless(&anyone, "/get_all_notice", &tag);
        assert_eq!((answer.status, answer.column("notice_list", "title")[0].as_str()), (200, &*title));
        assert_ne!(answer.header("etag"), tag);
        answer.header("etag").clone_into(&mut tag);
        assert_eq!(get_unless(&anyone, "/get_all_notice", &tag).status, 304);
    }
}

#[test]
fn a_tag_outlives_a_restart() {
    let (mut server, _) = filled();
    let tags = |server: &Server| PUBLIC.map(|path| server.anyone().get(path).header("etag").to_owned());
    let before = tags(&server);
    server.restart();
    wait_until("the feeds show the post", || {
        server.anyone().get("/get_popularity_newsfeed").list("newsfeed").len() == 1
    });
    assert_eq!(tags(&server), before);
}

#[test]
fn the_log_has_304() {
    let (server, admin) = filled();
    assert_eq!(get_unless(&server.anyone(), "/get_main_info", "*").status, 304);
    let line = admin.get("/get_log_date/0/0/1/1").succeeded().list("log")[0].clone();
    assert_eq!(
        (&line["path"], &line["status"], &line["user_id"]),
        (&"/get_main_info".into(), &304.into(), &"guest".into())
    );
}
