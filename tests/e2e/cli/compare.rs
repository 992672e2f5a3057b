//! `--json` prints what HTTP answers: each test runs an operation both ways on the same database.

use serde_json::{Value, json};
use tidings_tests::{Caller, PASSWORD, Server, sample, wait_until};

use super::fixture::UNKNOWN;

/// An operation as a command and as a request.
pub(super) struct Pair<'a> {
    command: Vec<&'a str>,
    input: &'a str,
    caller: &'a Caller,
    path: String,
    body: Option<Value>,
}

/// Returns an answer without the values that differ on each call.
fn without_varying_values(mut answer: Value) -> Value {
    for (name, value) in answer.as_object_mut().unwrap() {
        match name.as_str() {
            // A token, an id or a feed's next page: both answers must have one, with any value.
            "access_token" | "_id" | "next" if value.is_string() => *value = "…".into(),
            // Each read of a notice counts a view.
            "notice_list" if value.is_object() => {
                value["view"].take();
            }
            _ => {}
        }
    }
    answer
}

pub(super) fn compare(server: &Server, pairs: &[Pair<'_>]) {
    for Pair { command, input, caller, path, body } in pairs {
        let printed = server.cli_with_input([&["--json"], &command[..]].concat(), input);
        let answered = match body {
            Some(body) => caller.post(path, body.clone()),
            None => caller.get(path),
        };
        let what = format!("{command:?} {path}: {printed:?} {answered:?}");
        assert_eq!(
            without_varying_values(printed.json()),
            without_varying_values(answered.body.clone()),
            "{what}"
        );
        // No command here has a usage error, which HTTP has no equivalent of.
        let succeeded = answered.result() == "success";
        assert_eq!(printed.status == 0, succeeded, "{what}");
        assert_eq!(printed.stderr.is_empty(), succeeded, "{what}");
    }
}

/// A server with records of every kind.
pub(super) struct Fixture {
    pub(super) server: Server,
    pub(super) admin: Caller,
    pub(super) ann: Caller,
    posts: Vec<String>,
    pub(super) notices: Vec<String>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let server = Server::with(|serve| {
            // A model of words that is learned meanwhile would change searches and feeds.
            serve.args(["--sign-in-slowing", "off", "--words-retrain-after", "0"]);
        });
        let (admin, ann) = (server.admin(), server.member("ann"));
        let _ = server.member("ben");
        let _ = server.cli_with_input(["post", "import", "-"], sample::RUST_BLOG).succeeded();
        for title in ["One", "Two", "Three"] {
            let _ = admin.post("/insert_notice", sample::notice(title)).succeeded();
        }
        let hidden = json!({ "title": "Hidden", "post": "Not yet.", "activation": 0 });
        let _ = admin.post("/insert_notice", hidden).succeeded();
        let notices = admin.get("/get_all_notice").column("notice_list", "_id");
        let posts = server.cli(["post", "list", "--json"]).succeeded().json();
        let posts = posts["posts"].as_array().unwrap().iter();
        let posts: Vec<String> = posts.map(|post| post["_id"].as_str().unwrap().to_owned()).collect();
        wait_until("the feeds show the posts", || {
            admin.get("/get_popularity_newsfeed").list("newsfeed").len() == posts.len()
        });
        for path in [
            format!("/post_view/{}", posts[0]),
            format!("/post_view/{}", posts[1]),
            format!("/post_like/{}", posts[1]),
            String::from("/get_newsfeed_of_topic/rust"),
        ] {
            let _ = ann.get(&path).succeeded();
        }
        wait_until("the feeds count the like", || {
            admin.get("/get_popularity_newsfeed").list("newsfeed")[0]["fav_cnt"] == 1
        });
        let _ = ann.post("/search_logging", json!({ "search": "Borrow checker" })).succeeded();
        let _ = ann.post("/send_feedback", json!({ "post": "Well done" })).succeeded();
        Self { server, admin, ann, posts, notices }
    }
}

pub(super) fn get<'a>(command: &[&'a str], caller: &'a Caller, path: impl Into<String>) -> Pair<'a> {
    Pair { command: command.to_vec(), input: "", caller, path: path.into(), body: None }
}

pub(super) fn post<'a>(
    command: &[&'a str],
    caller: &'a Caller,
    path: impl Into<String>,
    body: Value,
) -> Pair<'a> {
    Pair { body: Some(body), ..get(command, caller, path) }
}

#[test]
fn reading_commands_answer_like_http() {
    let Fixture { server, admin, ann, posts, notices } = Fixture::new();
    let anyone = server.anyone();
    let (first, shown, hidden) = (posts[0].as_str(), notices[1].as_str(), notices[0].as_str());
    let search = json!({ "search": "rust release" });
    compare(
        &server,
        &[
            get(&["member", "show", "ANN"], &ann, "/get_userinfo"),
            get(&["member", "lists", "ann"], &ann, "/get_specific_userinfo/0"),
            get(&["member", "lists", "ann", "--type", "1"], &ann, "/get_specific_userinfo/1"),
            get(&["member", "lists", "ann", "--type", "2"], &ann, "/get_specific_userinfo/2"),
            get(&["member", "lists", "ann", "--type", "3"], &ann, "/get_specific_userinfo/3"),
            get(&["--as", "ann", "member", "lists", "ann", "--type", "4"], &ann, "/get_specific_userinfo/4"),
            get(&["admin", "check", "admin"], &admin, "/check_admin"),
            get(&["admin", "check", "ann"], &ann, "/check_admin"),
            get(&["blacklist", "list"], &admin, "/get_blacklist"),
            get(&["--as", "ann", "blacklist", "list"], &ann, "/get_blacklist"),
            get(&["notice", "list"], &anyone, "/get_all_notice"),
            get(&["notice", "list", "--all"], &admin, "/get_all_notice"),
            get(&["notice", "list", "--all", "--as", "ann"], &ann, "/get_all_notice"),
            get(&["notice", "show", shown], &anyone, format!("/get_notice/{shown}")),
            get(&["notice", "show", hidden], &admin, format!("/get_notice/{hidden}")),
            get(&["--as", "ann", "notice", "show", hidden], &ann, format!("/get_notice/{hidden}")),
            get(&["notice", "show", "x"], &anyone, "/get_notice/x"),
            get(&["feedback", "list", "--all"], &admin, "/get_all_feedback"),
            get(&["feedback", "list", "--as", "ann"], &ann, "/get_all_feedback"),
            get(&["post", "show", first], &anyone, format!("/get_post/{first}")),
            get(&["post", "show", UNKNOWN], &anyone, format!("/get_post/{UNKNOWN}")),
            get(&["feed", "popular", "--limit", "2"], &anyone, "/get_popularity_newsfeed?limit=2"),
            get(&["feed", "popular"], &anyone, "/get_popularity_newsfeed"),
            get(&["feed", "popular", "--limit", "0"], &anyone, "/get_popularity_newsfeed?limit=0"),
            get(&["feed", "topic", "rust"], &anyone, "/get_newsfeed_of_topic/rust"),
            get(&["feed", "recommended"], &anyone, "/get_recommendation_newsfeed"),
            get(&["--as", "ann", "feed", "recommended"], &ann, "/get_recommendation_newsfeed"),
            post(&["search", "run", "rust release"], &anyone, "/priority_search/20", search.clone()),
            post(
                &["search", "run", "rust release", "--limit=3"],
                &anyone,
                "/priority_search/3",
                search.clone(),
            ),
            post(
                &["search", "run", "rust release", "--category=x"],
                &anyone,
                "/category_search/x/20",
                search.clone(),
            ),
            post(&["search", "run", " "], &anyone, "/priority_search/20", json!({ "search": " " })),
            post(&["search", "run", "rust", "--limit=301"], &anyone, "/priority_search/301", search.clone()),
            post(&["search", "similar", "rust release"], &anyone, "/get_similarity_words", search),
            get(&["--as", "ann", "search", "recent"], &ann, "/get_user_lately_search/20"),
            get(&["--as", "ann", "search", "recent", "--limit=301"], &ann, "/get_user_lately_search/301"),
        ],
    );
}

#[test]
fn account_commands_answer_like_http() {
    let Fixture { server, admin, ann, .. } = Fixture::new();
    let anyone = server.anyone();
    let _ =
        server.cli_with_input(["roster", "import", "-"], "id,name,major,password\ns1,Kim,Physics,secret\n");
    let sign_up = |id: &str, pw: &str| json!({ "id": id, "pw": pw, "pw_check": pw, "nickname": "N" });
    let credentials = |id: &str, pw: &str| json!({ "id": id, "pw": pw });
    let up = |id| vec!["member", "sign-up", id, "--nickname", "N", "--password-stdin"];
    let with = |command: &[&'static str], input, path: &str, body| Pair {
        input,
        ..post(command, &anyone, path, body)
    };
    compare(
        &server,
        &[
            with(&up("cid"), PASSWORD, "/sign_up", sign_up("dot", PASSWORD)),
            with(&up("cid"), PASSWORD, "/sign_up", sign_up("dot", PASSWORD)),
            with(&up("eve"), "short", "/sign_up", sign_up("eve", "short")),
            with(&up("s1"), PASSWORD, "/sign_up", sign_up("s1", PASSWORD)),
            with(
                &["member", "sign-in", "ann", "--password-stdin"],
                PASSWORD,
                "/sign_in",
                credentials("ann", PASSWORD),
            ),
            with(&["member", "sign-in", "ann", "--password-stdin"], "x", "/sign_in", credentials("ann", "x")),
            with(&["member", "sign-in", "no", "--password-stdin"], "x", "/sign_in", credentials("no", "x")),
            with(
                &["member", "sign-in-up", "s1", "--password-stdin"],
                "secret",
                "/sign_in_up",
                credentials("s1", "secret"),
            ),
            with(
                &["member", "sign-in-up", "s1", "--password-stdin"],
                "x",
                "/sign_in_up",
                credentials("s1", "x"),
            ),
            with(
                &["member", "sign-in-up", "no", "--password-stdin"],
                "x",
                "/sign_in_up",
                credentials("no", "x"),
            ),
            get(&["blacklist", "add", "cid"], &admin, "/push_blacklist/dot"),
            get(&["blacklist", "add", "nobody"], &admin, "/push_blacklist/nobody"),
            get(&["blacklist", "add", "admin"], &admin, "/push_blacklist/admin"),
            get(&["--as", "ann", "blacklist", "add", "cid"], &ann, "/push_blacklist/cid"),
            with(
                &["member", "sign-in", "cid", "--password-stdin"],
                PASSWORD,
                "/sign_in",
                credentials("dot", PASSWORD),
            ),
            get(&["blacklist", "remove", "cid"], &admin, "/pop_blacklist/dot"),
            get(&["blacklist", "remove", "nobody"], &admin, "/pop_blacklist/nobody"),
            post(
                &["member", "nickname", "ann", "Annie"],
                &ann,
                "/change_nickname",
                json!({ "new_nickname": "Annie" }),
            ),
            post(&["member", "nickname", "ann", ""], &ann, "/change_nickname", json!({ "new_nickname": "" })),
            get(&["member", "auto-login", "ann", "1"], &ann, "/update_auto_login/1"),
            get(&["member", "reset", "ann"], &ann, "/reset_user_measurement"),
            get(&["member", "remove", "nobody", "--yes"], &admin, "/admin_remove_user/nobody"),
            get(&["member", "remove", "admin", "--yes"], &admin, "/admin_remove_user/admin"),
            get(&["--as", "ann", "member", "remove", "ben", "--yes"], &ann, "/admin_remove_user/ben"),
            get(&["--as", "admin", "member", "remove", "cid", "--yes"], &admin, "/admin_remove_user/dot"),
            get(&["--as", "ben", "member", "remove", "ben", "--yes"], &ann, "/remove_mine"),
        ],
    );
}

#[test]
fn notice_and_feedback_commands_answer_like_http() {
    let Fixture { server, admin, ann, notices, .. } = Fixture::new();
    let notice = |n: usize| notices[n].as_str();
    let feedback = admin.get("/get_all_feedback").text("/feedback_list/0/_id");
    let text = json!({ "title": "T", "post": "P" });
    let update = |n: usize| format!("/update_notice/{}", notices[n]);
    compare(
        &server,
        &[
            post(&["notice", "add", "--title=T", "--post=P"], &admin, "/insert_notice", text.clone()),
            post(
                &["notice", "add", "--title=", "--post=P"],
                &admin,
                "/insert_notice",
                json!({ "title": "", "post": "P" }),
            ),
            post(
                &["--as=ann", "notice", "add", "--title=T", "--post=P"],
                &ann,
                "/insert_notice",
                text.clone(),
            ),
            post(
                &["notice", "edit", notice(0), "--activation=1"],
                &admin,
                update(0),
                json!({ "activation": 1 }),
            ),
            post(&["notice", "edit", notice(1), "--post="], &admin, update(1), json!({ "post": "" })),
            post(
                &["notice", "edit", UNKNOWN, "--title=T"],
                &admin,
                format!("/update_notice/{UNKNOWN}"),
                text.clone(),
            ),
            post(&["--as=ann", "notice", "edit", notice(1), "--title=T"], &ann, update(1), text),
            get(&["notice", "remove", notice(1), "--yes"], &admin, format!("/remove_notice/{}", notices[2])),
            get(&["notice", "remove", notice(1), "--yes"], &admin, format!("/remove_notice/{}", notices[2])),
            get(
                &["--as=ann", "notice", "remove", notice(0), "--yes"],
                &ann,
                format!("/remove_notice/{}", notices[0]),
            ),
            post(
                &["--as=ann", "feedback", "send", "Hello"],
                &ann,
                "/send_feedback",
                json!({ "post": "Hello" }),
            ),
            post(&["--as=ann", "feedback", "send", ""], &ann, "/send_feedback", json!({ "post": "" })),
            post(
                &["--as=ann", "feedback", "send", "--notice", notice(3), "Hi"],
                &ann,
                format!("/remove_notice/{}", notices[3]),
                json!({ "post": "Hi" }),
            ),
            post(
                &["--as=ann", "feedback", "send", "--notice", UNKNOWN, "Hi"],
                &ann,
                format!("/remove_notice/{UNKNOWN}"),
                json!({ "post": "Hi" }),
            ),
            get(&["feedback", "done", &feedback], &admin, format!("/update_feedback/{feedback}/0")),
            get(&["feedback", "done", UNKNOWN], &admin, format!("/update_feedback/{UNKNOWN}/0")),
        ],
    );
    // The server shows what the commands changed.
    let shown = admin.get("/get_all_notice");
    assert!(!shown.column("notice_list", "_id").contains(&notices[1]));
}

#[test]
fn post_commands_answer_like_http() {
    let Fixture { server, admin, ann, posts, .. } = Fixture::new();
    let (like, unliked) = (format!("/post_like/{}", posts[3]), format!("/post_unlike/{}", posts[3]));
    let urls = [1, 2, 3].map(|n| format!("https://example.org/compare/{n}"));
    let add = |url| vec!["post", "add", "--title", "T", "--url", url];
    compare(
        &server,
        &[
            post(&add(&urls[0]), &admin, "/insert_post", json!({ "title": "T", "url": urls[1] })),
            post(&add(&urls[0]), &admin, "/insert_post", json!({ "title": "T", "url": urls[1] })),
            post(&add("none"), &admin, "/insert_post", json!({ "title": "T", "url": "none" })),
            post(
                &[&add(&urls[2])[..], &["--as=ann"]].concat(),
                &ann,
                "/insert_post",
                json!({ "title": "T", "url": urls[2] }),
            ),
            post(
                &["post", "edit", &posts[5], "--tag=a", "--tag=b"],
                &admin,
                format!("/update_post/{}", posts[6]),
                json!({ "tag": ["a", "b"] }),
            ),
            post(&["post", "edit", &posts[5]], &admin, format!("/update_post/{}", posts[6]), json!({})),
            post(
                &["post", "edit", UNKNOWN, "--title=T"],
                &admin,
                format!("/update_post/{UNKNOWN}"),
                json!({ "title": "T" }),
            ),
            get(&["post", "view", &posts[3]], &ann, format!("/post_view/{}", posts[3])),
            get(&["post", "view", UNKNOWN], &ann, format!("/post_view/{UNKNOWN}")),
            get(&["--as=ann", "post", "like", &posts[3]], &ann, like.clone()),
            get(&["--as=ann", "post", "unlike", &posts[3]], &ann, unliked),
            get(&["--as=ann", "post", "like", "x"], &ann, "/post_like/x"),
            get(&["--as=ann", "post", "hide", &posts[3]], &ann, format!("/post_hide/{}", posts[3])),
            get(
                &["--as=ann", "post", "hide", "--undo", &posts[3]],
                &ann,
                format!("/post_unhide/{}", posts[3]),
            ),
            get(&["--as=ann", "post", "hide", "x"], &ann, "/post_hide/x"),
            get(&["post", "remove", &posts[7], "--yes"], &admin, format!("/remove_post/{}", posts[8])),
            get(&["post", "remove", &posts[7], "--yes"], &admin, format!("/remove_post/{}", posts[8])),
            get(
                &["--as=ann", "post", "remove", &posts[9], "--yes"],
                &ann,
                format!("/remove_post/{}", posts[9]),
            ),
            post(
                &["--as=ann", "search", "log", "crabs"],
                &ann,
                "/search_logging",
                json!({ "search": "crabs" }),
            ),
            post(&["search", "log", ""], &ann, "/search_logging", json!({ "search": "" })),
        ],
    );
}
