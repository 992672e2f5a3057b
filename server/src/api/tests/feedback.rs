//! Tests: Members' feedback to the administrators.

use tidings_core::account::Caller;
use tidings_core::notice;

use crate::testing::{by, json, outcome, post, request, service};

#[tokio::test]
async fn get_removes_the_notice_and_post_on_the_same_path_sends_feedback() {
    let service = service();
    let draft = notice::Draft {
        title: Some("Library".into()),
        post: Some("Open.".into()),
        ..notice::Draft::default()
    };
    let id = service.tidings.call(&Caller::Operator, notice::Insert { draft }).unwrap().id;
    let (member, admin) = (service.member("ann").await, service.admin("boss").await);
    let path = format!("/remove_notice/{id}");
    for (content_type, body) in [
        ("application/json", r#"{"type":"praise","post":"Thank you."}"#),
        ("application/x-www-form-urlencoded", "type=praise&feedback=Thank+you."),
    ] {
        assert_eq!(outcome(&service.call(by(&member, post(&path, content_type, body))).await), "200 success");
    }
    let list = json(&service.call(by(&admin, request("GET", "/get_all_feedback"))).await);
    for feedback in list["feedback_list"].as_array().unwrap() {
        assert_eq!((&feedback["type"], &feedback["post"]), (&"praise".into(), &"Thank you.".into()));
        assert_eq!((&feedback["notice"], &feedback["activation"]), (&id.to_string().into(), &1.into()));
    }
    assert_eq!(outcome(&service.call(by(&member, request("GET", &path))).await), "200 Not admin");
    assert_eq!(outcome(&service.call(by(&admin, request("GET", &path))).await), "200 success");
    assert_eq!(outcome(&service.call(by(&admin, request("GET", &path))).await), "200 Not found");
}

#[tokio::test]
async fn a_missing_text_is_fail_and_a_malformed_body_is_bad_request() {
    let service = service();
    let token = service.member("ann").await;
    for (body, expected) in [("", "200 fail"), ("{}", "200 fail"), ("{", "400 bad request")] {
        let sent = post("/send_feedback", "application/json", body);
        assert_eq!(outcome(&service.call(by(&token, sent)).await), expected, "{body}");
    }
    let from_guest = post("/send_feedback", "application/json", r#"{"post":"Hello."}"#);
    assert_eq!(outcome(&service.call(from_guest).await), "200 bad request");
}
