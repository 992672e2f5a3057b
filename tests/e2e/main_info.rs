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
