//! `--json` prints what HTTP answers.

use serde_json::{Value, json};
use tidings_tests::{PASSWORD, Server, sample, wait_until};

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

#[test]
fn commands_print_what_http_answers() {
    let server = Server::with(|serve| {
        // A model of words that is learned meanwhile would change searches and feeds.
        serve.args(["--sign-in-slowing", "off", "--words-retrain-after", "0"]);
    });
    let (admin, ann, anyone) = (server.admin(), server.member("ann"), server.anyone());
    let posts = ["one", "two", "three"]
        .map(|title| admin.post("/insert_post", sample::post(title)).succeeded().text("/_id"));
    let notices = ["One", "Two", "Three"]
        .map(|title| admin.post("/insert_notice", sample::notice(title)).succeeded().text("/_id"));
    wait_until("the feeds show the posts", || {
        admin.get("/get_popularity_newsfeed").list("newsfeed").len() == posts.len()
    });
    let sign_up = |id: &str, pw: &str| json!({ "id": id, "pw": pw, "pw_check": pw, "nickname": "N" });
    let search = json!({ "search": "one" });
    let up = ["member", "sign-up", "cid", "--nickname", "N", "--password-stdin"];
    for (command, input, caller, path, body) in [
        (&["member", "show", "ANN"][..], "", &ann, "/get_userinfo".to_owned(), Value::Null),
        (&up[..], PASSWORD, &anyone, "/sign_up".into(), sign_up("dot", PASSWORD)),
        (&up[..], "short", &anyone, "/sign_up".into(), sign_up("eve", "short")),
        (
            &["member", "sign-in", "ann", "--password-stdin"],
            "x",
            &anyone,
            "/sign_in".into(),
            json!({ "id": "ann", "pw": "x" }),
        ),
        (&["blacklist", "add", "cid"], "", &admin, "/push_blacklist/dot".into(), Value::Null),
        (&["blacklist", "add", "admin"], "", &admin, "/push_blacklist/admin".into(), Value::Null),
        (&["--as", "ann", "blacklist", "list"], "", &ann, "/get_blacklist".into(), Value::Null),
        (&["notice", "show", &notices[0]], "", &admin, format!("/get_notice/{}", notices[0]), Value::Null),
        (
            &["notice", "remove", &notices[1], "--yes"],
            "",
            &admin,
            format!("/remove_notice/{}", notices[2]),
            Value::Null,
        ),
        (&["--as=ann", "feedback", "send", "Hi"], "", &ann, "/send_feedback".into(), json!({ "post": "Hi" })),
        (
            &["feed", "popular", "--limit=2"],
            "",
            &anyone,
            "/get_popularity_newsfeed?limit=2".into(),
            Value::Null,
        ),
        (&["post", "show", &posts[0]], "", &anyone, format!("/get_post/{}", posts[0]), Value::Null),
        (&["--as=ann", "post", "like", "x"], "", &ann, "/post_like/x".into(), Value::Null),
        (&["search", "run", "one", "--limit=3"], "", &anyone, "/priority_search/3".into(), search),
    ] {
        let printed = server.cli_with_input([&["--json"], command].concat(), input);
        let answered = if body.is_null() { caller.get(&path) } else { caller.post(&path, body) };
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
    // The server shows what the commands changed.
    assert!(!admin.get("/get_all_notice").column("notice_list", "_id").contains(&notices[1]));
}
