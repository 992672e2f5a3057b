//! The two lines that an app shows on its front page.

use serde_json::{Value, json};
use tidings_tests::Server;

fn lines(server: &Server) -> Value {
    let answer = server.anyone().get("/get_main_info").succeeded();
    assert_eq!(answer.body, json!({ "result": "success", "main_info": answer.body["main_info"] }));
    answer.body["main_info"].clone()
}

#[test]
fn an_administrator_writes_either_line_or_both_and_anybody_reads_them() {
    let mut server = Server::start();
    let admin = server.admin();
    assert_eq!(lines(&server), json!(["", ""]));
    let update = |body: Value| admin.post("/update_main_info", body).succeeded().body;
    assert_eq!(
        update(json!({ "new_info_1": "어서 오세요 🎓", "new_info_2": "Term begins" })),
        json!({ "result": "success" })
    );
    assert_eq!(lines(&server), json!(["어서 오세요 🎓", "Term begins"]));
    update(json!({ "new_info_2": "Exams", "unknown": 1 }));
    assert_eq!(lines(&server), json!(["어서 오세요 🎓", "Exams"]));
    update(json!({ "new_info_1": "" }));
    assert_eq!(lines(&server), json!(["", "Exams"]));
    let _ = admin.form("/update_main_info", &[("new_info_1", "시험 & 방학")]).succeeded();
    assert_eq!(lines(&server), json!(["시험 & 방학", "Exams"]));
    server.restart();
    assert_eq!(lines(&server), json!(["시험 & 방학", "Exams"]));
}

#[test]
fn lines_have_up_to_50_characters_and_one_must_be_given() {
    let server = Server::start();
    let admin = server.admin();
    for letter in ["a", "가", "🦀"] {
        let longest = letter.repeat(50);
        let _ = admin
            .post("/update_main_info", json!({ "new_info_1": longest, "new_info_2": longest }))
            .succeeded();
        for refused in [
            json!({ "new_info_1": letter.repeat(51) }),
            json!({ "new_info_2": letter.repeat(51) }),
            json!({ "new_info_1": "good", "new_info_2": letter.repeat(51) }),
            json!({ "new_info_1": 1 }),
            json!({ "new_info_2": ["a"] }),
            json!({ "unknown": "a" }),
            json!({}),
        ] {
            assert_eq!(
                admin.post("/update_main_info", refused.clone()).outcome(),
                "400 bad request",
                "{refused}"
            );
        }
        assert_eq!(admin.request("POST", "/update_main_info").send().outcome(), "400 bad request");
        assert_eq!(lines(&server), json!([longest, longest]));
    }
}

#[test]
fn only_administrators_write_the_lines() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let _ = admin.post("/update_main_info", json!({ "new_info_1": "a", "new_info_2": "b" })).succeeded();
    let mine = json!({ "new_info_1": "mine" });
    for caller in [server.anyone(), ann.with_token("admin", "forged")] {
        let refused = caller.post("/update_main_info", mine.clone());
        assert_eq!(refused.outcome(), "401 bad token");
        assert_eq!(refused.header("WWW-Authenticate"), "Bearer");
    }
    assert_eq!(ann.post("/update_main_info", mine).outcome(), "403 Not admin");
    assert_eq!(lines(&server), json!(["a", "b"]));
}
