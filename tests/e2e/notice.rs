//! Notices: administrators insert, update and remove them, and anyone reads those that are shown.

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, Server};

use crate::form::{is_date, is_id};

mod planned;

fn insert(admin: &Caller, notice: Value) -> String {
    admin.post("/insert_notice", notice).succeeded().text("/_id")
}

fn titles(reader: &Caller) -> Vec<String> {
    reader.get("/get_all_notice").succeeded().column("notice_list", "title")
}

fn get(reader: &Caller, id: &str) -> Answer {
    reader.get(&format!("/get_notice/{id}"))
}

#[test]
fn anybody_reads_an_inserted_notice_as_it_is_changed_until_it_is_removed() {
    let server = Server::start();
    let (admin, anyone) = (server.admin(), server.anyone());
    assert_eq!(anyone.get("/get_all_notice").body, json!({ "result": "success", "notice_list": [] }));
    let inserted =
        admin.post("/insert_notice", json!({ "title": "개강", "post": "3월 2일\n\t<b>수요일</b> 🎓" }));
    let id = inserted.text("/_id");
    assert_eq!(inserted.body, json!({ "result": "success", "_id": id }));
    assert!(is_id(&id), "{id}");

    let list = anyone.get("/get_all_notice").succeeded();
    let date = list.text("/notice_list/0/date");
    assert!(is_date(&date), "{date}");
    let mut notice = json!({
        "_id": id, "title": "개강", "post": "3월 2일\n\t<b>수요일</b> 🎓", "view": 0, "date": date, "activation": 1,
    });
    assert_eq!(list.body, json!({ "result": "success", "notice_list": [notice] }));
    notice["view"] = json!(1);
    assert_eq!(get(&anyone, &id).body, json!({ "result": "success", "notice_list": notice }));

    let update = |fields: Value| admin.post(&format!("/update_notice/{id}"), fields).succeeded().body;
    assert_eq!(update(json!({ "title": "새 제목", "unknown": 1 })), json!({ "result": "success" }));
    (notice["title"], notice["view"]) = (json!("새 제목"), json!(2));
    assert_eq!(get(&anyone, &id).body["notice_list"], notice);
    update(json!({ "activation": 0 }));
    assert_eq!((titles(&anyone), titles(&admin)), (vec![], vec!["새 제목".to_owned()]));
    assert_eq!(get(&anyone, &id).outcome(), "404 Not found");

    let removed = admin.get(&format!("/remove_notice/{id}")).succeeded();
    assert_eq!(removed.body, json!({ "result": "success" }));
    assert!(titles(&admin).is_empty());
    assert_eq!(admin.get(&format!("/remove_notice/{id}")).outcome(), "200 Not found");
}
