//! Feedback: members write to the administrators, with or without a notice, and administrators read it.

use serde_json::{Value, json};
use tidings_tests::{Caller, Server, sample};

use crate::form::{is_date, is_id};

const UNKNOWN: &str = "0123456789abcdef01234567";

fn notice(admin: &Caller, activation: i64) -> String {
    let mut notice = sample::notice("on which there is feedback");
    notice["activation"] = json!(activation);
    admin.post("/insert_notice", notice).succeeded().text("/_id")
}

fn list(admin: &Caller) -> Vec<Value> {
    admin.get("/get_all_feedback").succeeded().list("feedback_list").to_vec()
}

/// Returns the only feedback with this text.
fn feedback_with_text(admin: &Caller, text: &str) -> Value {
    let list = list(admin);
    let mut found = list.iter().filter(|feedback| feedback["post"] == text);
    let one = found.next().unwrap_or_else(|| panic!("no {text:?} in {list:?}"));
    assert!(found.next().is_none(), "{text:?} is twice in {list:?}");
    one.clone()
}

#[test]
fn administrators_read_feedback_with_and_without_a_notice() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("Ann.K"));
    let notice = notice(&admin, 1);
    let on_notice = json!({ "type": "오류", "post": "시간이 틀려요 🕙\n열 시입니다" });
    let sent = ann.post(&format!("/remove_notice/{notice}"), on_notice);
    assert_eq!(sent.succeeded().body, json!({ "result": "success" }));
    let sent = ann.post("/send_feedback", json!({ "type": "idea", "post": "a search by date" }));
    assert_eq!(sent.succeeded().body, json!({ "result": "success" }));

    assert_eq!(list(&admin).len(), 2);
    for (text, kind, on) in
        [("시간이 틀려요 🕙\n열 시입니다", "오류", &*notice), ("a search by date", "idea", "")]
    {
        let found = feedback_with_text(&admin, text);
        let (id, date) = (found["_id"].as_str().unwrap(), found["date"].as_str().unwrap());
        assert!(is_id(id) && is_date(date), "{found}");
        let expected = json!({
            "_id": id, "type": kind, "post": text, "author": "Ann.K", "date": date, "notice": on, "activation": 1,
        });
        assert_eq!(found, expected);
    }
    let shown = server.anyone().get("/get_all_notice").column("notice_list", "_id");
    assert_eq!(shown, [notice], "feedback removes no notice");
}

#[test]
fn a_form_a_missing_type_and_the_field_feedback_are_accepted() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let path = format!("/remove_notice/{}", notice(&admin, 1));
    for path in [&*path, "/send_feedback"] {
        let kind = if path == "/send_feedback" { "on none" } else { "on one" };
        let _ = ann.form(path, &[("type", "양식"), ("post", &format!("form {kind} & more"))]).succeeded();
        let _ = ann.form(path, &[("feedback", &format!("form feedback {kind}"))]).succeeded();
        let _ = ann.post(path, json!({ "feedback": format!("json feedback {kind}") })).succeeded();
        let _ = ann.post(path, json!({ "post": format!("no type {kind}"), "unknown": [1] })).succeeded();
        assert_eq!(feedback_with_text(&admin, &format!("form {kind} & more"))["type"], "양식");
        for untyped in ["form feedback", "json feedback", "no type"] {
            assert_eq!(feedback_with_text(&admin, &format!("{untyped} {kind}"))["type"], "general");
        }
    }
}

#[test]
fn types_have_1_to_50_characters_and_texts_1_to_5000() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let path = format!("/remove_notice/{}", notice(&admin, 1));
    let mut sent = 0;
    for path in [&*path, "/send_feedback"] {
        for letter in ["a", "한", "🦀"] {
            let longest = json!({ "type": letter.repeat(50), "post": letter.repeat(5_000) });
            let _ = ann.post(path, longest).succeeded();
            sent += 1;
            for refused in [
                json!({ "type": letter.repeat(51), "post": letter }),
                json!({ "type": letter, "post": letter.repeat(5_001) }),
                json!({ "feedback": letter.repeat(5_001) }),
                json!({ "type": "", "post": letter }),
                json!({ "type": letter, "post": "" }),
                json!({ "type": letter }),
                json!({}),
            ] {
                assert_eq!(ann.post(path, refused.clone()).outcome(), "200 fail", "{refused:.60}");
            }
            assert_eq!(list(&admin).len(), sent);
        }
        assert_eq!(
            ann.request("POST", path).send().outcome(),
            "200 fail",
            "a request without a body has no text"
        );
        assert_eq!(ann.form(path, &[("type", "a")]).outcome(), "200 fail");
        assert_eq!(ann.form(path, &[("type", "a"), ("post", "")]).outcome(), "200 fail");
    }
    assert_eq!(list(&admin).len(), sent);
}

#[test]
fn feedback_must_name_a_notice_that_the_member_can_see() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let (hidden, removed) = (notice(&admin, 0), notice(&admin, 1));
    let _ = admin.get(&format!("/remove_notice/{removed}")).succeeded();
    let feedback = json!({ "type": "bug", "post": "where?" });
    for notice in [UNKNOWN, "1", "%EA%B0%80", &hidden, &removed] {
        let sent = ann.post(&format!("/remove_notice/{notice}"), feedback.clone());
        assert_eq!(sent.outcome(), "200 fail", "{notice}");
    }
    assert_eq!(list(&admin), [] as [Value; 0]);
    let _ = admin.post(&format!("/remove_notice/{hidden}"), feedback).succeeded();
    assert_eq!(feedback_with_text(&admin, "where?")["notice"], hidden);
}

#[test]
fn feedback_without_a_valid_token_is_a_bad_request() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let (notice, gone) = (notice(&admin, 1), server.member("gone"));
    let _ = gone.get("/remove_mine").succeeded();
    for caller in [server.anyone(), ann.with_token("ann", "forged"), gone] {
        for path in
            [format!("/remove_notice/{notice}"), format!("/remove_notice/{UNKNOWN}"), "/send_feedback".into()]
        {
            for body in [json!({ "type": "bug", "post": "text" }), json!({ "post": "" }), json!({})] {
                assert_eq!(caller.post(&path, body.clone()).outcome(), "200 bad request", "{path} {body}");
            }
        }
    }
    assert_eq!(list(&admin), [] as [Value; 0]);
}

#[test]
fn only_administrators_read_and_close_feedback() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let _ = ann.post("/send_feedback", json!({ "post": "first" })).succeeded();
    let _ = ann.post("/send_feedback", json!({ "post": "second" })).succeeded();
    let id = feedback_with_text(&admin, "first")["_id"].as_str().unwrap().to_owned();
    let done = format!("/update_feedback/{id}/0");
    for caller in [server.anyone(), ann.with_token("admin", "forged")] {
        for path in ["/get_all_feedback", &done] {
            let refused = caller.get(path);
            assert_eq!(refused.outcome(), "401 bad token", "{path}");
            assert_eq!(refused.header("WWW-Authenticate"), "Bearer");
        }
    }
    for path in ["/get_all_feedback", &done, &format!("/update_feedback/{UNKNOWN}/0")] {
        assert_eq!(ann.get(path).outcome(), "403 Not admin", "{path}");
    }
    assert_eq!(feedback_with_text(&admin, "first")["activation"], 1);

    // Setting the same activation again changes nothing, and closed feedback can be opened again.
    for activation in [0, 0, 1, 1, 0] {
        let set = admin.get(&format!("/update_feedback/{id}/{activation}"));
        assert_eq!(set.succeeded().body, json!({ "result": "success" }));
        assert_eq!(feedback_with_text(&admin, "first")["activation"], activation);
        assert_eq!(feedback_with_text(&admin, "second")["activation"], 1);
    }
    for wrong in ["2", "-1", "x", "0.5", "99999999999999999999", "%EA%B0%80"] {
        let set = admin.get(&format!("/update_feedback/{id}/{wrong}"));
        assert_eq!(set.outcome(), "400 bad request", "{wrong}");
    }
    for unknown in [UNKNOWN, "1", "%EA%B0%80"] {
        assert_eq!(
            admin.get(&format!("/update_feedback/{unknown}/0")).outcome(),
            "404 Not found",
            "{unknown}"
        );
    }
    assert_eq!(feedback_with_text(&admin, "first")["activation"], 0);
}

#[test]
fn feedback_stays_after_its_author_and_notice_are_removed() {
    let mut server = Server::start();
    let (admin, ann, ben) = (server.admin(), server.member("ann"), server.member("ben"));
    let notice = notice(&admin, 1);
    let path = format!("/remove_notice/{notice}");
    let _ = ann.post(&path, json!({ "post": "from ann" })).succeeded();
    let _ = ben.post(&path, json!({ "post": "from ben" })).succeeded();
    let _ = ann.get("/remove_mine").succeeded();
    let _ = admin.get("/admin_remove_user/ben").succeeded();
    let _ = admin.get(&path).succeeded();
    // A new member with the id is not the author.
    let _ = server.member("ann").post("/send_feedback", json!({ "post": "from another ann" })).succeeded();
    server.restart();
    for (text, author) in [("from ann", "removed"), ("from ben", "removed"), ("from another ann", "ann")] {
        assert_eq!(feedback_with_text(&admin, text)["author"], author);
    }
    assert_eq!(feedback_with_text(&admin, "from ann")["notice"], notice);
}
