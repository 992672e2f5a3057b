//! Feedback: members write to the administrators, with or without a notice, and administrators read it.

use serde_json::{Value, json};
use tidings_tests::{Caller, Server, sample};

use crate::form::{is_date, is_id};

fn notice(admin: &Caller) -> String {
    admin.post("/insert_notice", sample::notice("on which there is feedback")).succeeded().text("/_id")
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
    let notice = notice(&admin);
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
    let id = feedback_with_text(&admin, "a search by date")["_id"].as_str().unwrap().to_owned();
    let _ = admin.get(&format!("/update_feedback/{id}/0")).succeeded();
    assert_eq!(feedback_with_text(&admin, "a search by date")["activation"], 0);
}
