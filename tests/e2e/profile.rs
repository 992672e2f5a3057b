//! A member's own data: profile, nickname, lists and account removal.

use insta::assert_json_snapshot;
use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, Server, sample};

/// Inserts a post with this title, topics and tags, and returns its id.
fn insert_post(admin: &Caller, title: &str, topic: &[&str], tag: &[&str]) -> String {
    let mut post = sample::post(title);
    post["topic"] = json!(topic);
    post["tag"] = json!(tag);
    admin.post("/insert_post", post).succeeded().text("/_id")
}

fn fields(body: &Value) -> Vec<&str> {
    body.as_object().unwrap().keys().map(String::as_str).collect()
}

fn search(caller: &Caller, text: &str) -> Answer {
    caller.post("/search_logging", json!({ "search": text })).succeeded()
}

#[test]
fn a_member_has_a_nickname_and_an_auto_login_that_they_change() {
    let server = Server::start();
    let ann = server.member("ann");
    let info = ann.get("/get_userinfo");
    assert_eq!(info.header("cache-control"), "no-store");
    assert_json_snapshot!(info.body, @r#"
    {
      "admin": 0,
      "auto_login": 0,
      "nickname": "ann",
      "result": "success",
      "user_fav_list": [],
      "user_id": "ann",
      "user_major": "",
      "user_name": "ann",
      "user_nickname": "ann"
    }
    "#);
    assert_eq!(server.admin().get("/get_userinfo").body["admin"], 1);
    let refused = server.anyone().get("/get_userinfo");
    assert_eq!(refused.outcome(), "200 not found");
    assert_eq!(fields(&refused.body), ["code", "message", "result"]);

    for nickname in ["Annie", "앤 🦀", " a ", "e\u{301}"] {
        let answer = ann.post("/change_nickname", json!({ "new_nickname": nickname }));
        assert_eq!(answer.outcome(), "200 success");
        assert_eq!(fields(&answer.body), ["result"]);
    }
    assert_eq!(ann.form("/change_nickname", &[("new_nickname", "Ann & Bob")]).outcome(), "200 success");
    for wrong in ["", " ", "\u{3000}", "a\nb", "a\0", "\u{1b}[1m", &"한".repeat(31)] {
        let answer = ann.post("/change_nickname", json!({ "new_nickname": wrong }));
        assert_eq!(answer.outcome(), "200 rewrite_nickname", "{wrong:?}");
    }
    for value in [1, 0, 1] {
        assert_eq!(ann.get(&format!("/update_auto_login/{value}")).outcome(), "200 success");
        assert_eq!(ann.get("/get_userinfo").body["auto_login"], value);
    }
    let info = ann.get("/get_userinfo");
    assert_eq!(info.body["auto_login"], 1);
    for field in ["/nickname", "/user_nickname", "/user_name"] {
        assert_eq!(info.text(field), "Ann & Bob", "{field}");
    }
}

#[test]
fn the_lists_hold_the_members_acts_with_every_documented_field() {
    let server = Server::start();
    let (ann, admin) = (server.member("ann"), server.admin());
    let plain = insert_post(&admin, "Rust 2.0", &["releases"], &["compiler", "cargo"]);
    let mut with_image = sample::post("대학 축제");
    with_image["img"] = json!("https://news.example.org/a.png");
    with_image["date"] = json!("2026-01-02T03:04:05+09:00");
    let with_image = admin.post("/insert_post", with_image).succeeded().text("/_id");
    let _ = ann.get(&format!("/post_like/{plain}")).succeeded();
    let _ = ann.get(&format!("/post_view/{with_image}")).succeeded();
    search(&ann, "Release  Notes");
    tidings_tests::wait_until("the topic feed has the post", || {
        !ann.get("/get_newsfeed_of_topic/releases").list("newsfeed").is_empty()
    });
    let lists = ann.get("/get_specific_userinfo/0");
    assert_eq!(lists.header("cache-control"), "no-store");
    assert_json_snapshot!(lists.body, {
        ".**._id" => insta::dynamic_redaction(|id, _| {
            let id = id.as_str().unwrap();
            assert!(id.len() == 24 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')), "{id}");
            "[id]"
        }),
        ".**.date" => insta::dynamic_redaction(time),
        ".fav_list[].post_date" => insta::dynamic_redaction(time),
    });
}

/// Redacts a time, and asserts that it has the format of the interface.
#[expect(clippy::needless_pass_by_value, reason = "insta requires this signature")]
fn time(time: insta::internals::Content, _: insta::internals::ContentPath<'_>) -> &'static str {
    let text = time.as_str().unwrap();
    let form: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(form, "0000-00-00T00:00:00.000Z", "{text}");
    "[time]"
}

#[test]
fn resetting_the_measurement_clears_the_histories_and_keeps_the_likes() {
    let server = Server::start();
    let (ann, bob, admin) = (server.member("ann"), server.member("bob"), server.admin());
    let post = insert_post(&admin, "A", &["news"], &[]);
    tidings_tests::wait_until("the topic feed has the post", || {
        !server.anyone().get("/get_newsfeed_of_topic/news").list("newsfeed").is_empty()
    });
    for member in [&ann, &bob] {
        for path in ["post_view", "post_like"] {
            let _ = member.get(&format!("/{path}/{post}")).succeeded();
        }
        search(member, "term");
        let _ = member.get("/get_newsfeed_of_topic/news").succeeded();
    }
    assert_eq!(ann.get("/reset_user_measurement").outcome(), "200 success");
    let count = |caller: &Caller| {
        let lists = caller.get("/get_specific_userinfo/0");
        ["fav_list", "view_list", "search_list", "newsfeed_list"].map(|list| lists.list(list).len())
    };
    assert_eq!(count(&ann), [1, 0, 0, 0]);
    assert_eq!(count(&bob), [1, 1, 1, 1], "other members' lists do not change");
    assert_eq!(ann.get(&format!("/post_unlike/{post}")).outcome(), "200 success");
    assert_eq!(count(&ann), [0, 0, 0, 0]);
    assert_eq!(server.anyone().get("/reset_user_measurement").outcome(), "200 Not found");
}
