//! Posts: administrators insert, update and remove them; readers view, like and unlike them.

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, Server, sample, wait_until};

use crate::form::is_id;

mod acts;

fn insert(admin: &Caller, post: Value) -> String {
    admin.post("/insert_post", post).succeeded().text("/_id")
}

/// Returns a post with all its fields.
fn get(server: &Server, id: &str) -> Value {
    server.anyone().get(&format!("/get_post/{id}")).succeeded().body["post"].clone()
}

/// Returns a list of the member: 1 for liked posts, 2 for viewed posts.
fn member_list(member: &Caller, type_num: u8) -> Answer {
    member.get(&format!("/get_specific_userinfo/{type_num}")).succeeded()
}

#[test]
fn a_post_has_the_fields_of_its_json_and_of_a_form_with_lists_separated_by_commas() {
    let server = Server::start();
    let admin = server.admin();
    let inserted = admin.post(
        "/insert_post",
        json!({
            "title": "서울의 봄 🌸", "post": "first line\nsecond <line>", "url": "https://example.org/봄?a=1&b=2#c",
            "img": "https://example.org/flower.png", "topic": ["여행", "서울"], "tag": ["봄", "a b"],
            "date": "2026-03-02T09:30:00+09:00", "end_date": "2031-01-01T00:00:00Z", "view": 7, "unknown": {},
        }),
    );
    let id = inserted.text("/_id");
    assert_eq!(inserted.succeeded().body, json!({ "result": "success", "_id": id }));
    assert!(is_id(&id), "{id}");
    let shown = json!({
        "_id": id, "title": "서울의 봄 🌸", "date": "2026-03-02T00:30:00.000Z",
        "img": "https://example.org/flower.png", "fav_cnt": 0, "view": 0, "url": "https://example.org/봄?a=1&b=2#c",
        "end_date": "2031-01-01T00:00:00.000Z",
    });
    let mut whole = shown.clone();
    whole["post"] = json!("first line\nsecond <line>");
    whole["topic"] = json!(["여행", "서울"]);
    whole["tag"] = json!(["봄", "a b"]);
    let answer = server.anyone().get(&format!("/get_post/{id}"));
    assert_eq!(answer.body, json!({ "result": "success", "post": whole }));
    wait_until("the feed shows the post", || {
        server.anyone().get("/get_popularity_newsfeed").body["newsfeed"] == json!([shown])
    });

    let _ =
        admin.form(&format!("/update_post/{id}"), &[("tag", "겨울,눈"), ("title", "새 양식")]).succeeded();
    let post = get(&server, &id);
    assert_eq!((&post["title"], &post["tag"]), (&json!("새 양식"), &json!(["겨울", "눈"])));
    assert_eq!(post["topic"], json!(["여행", "서울"]));
}

#[test]
fn an_update_changes_what_it_names_and_nothing_else() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let mut post = sample::post("first");
    post["topic"] = json!(["news"]);
    post["end_date"] = json!("2031-01-01T00:00:00Z");
    let id = insert(&admin, post);
    let other = insert(&admin, sample::post("other"));
    let _ = ann.get(&format!("/post_like/{id}")).succeeded();
    let _ = ann.get(&format!("/post_view/{id}")).succeeded();
    let (mut expected, untouched) = (get(&server, &id), get(&server, &other));
    for (field, given, stored) in [
        ("title", json!("새 제목"), json!("새 제목")),
        ("url", json!("https://example.org/new"), json!("https://example.org/new")),
        ("img", json!(""), json!("")),
        ("topic", json!(["sport", "news"]), json!(["sport", "news"])),
        ("tag", json!([]), json!([])),
        ("date", json!("2020-01-01T00:00:00Z"), json!("2020-01-01T00:00:00.000Z")),
        ("end_date", json!(""), json!(null)),
    ] {
        let update =
            admin.post(&format!("/update_post/{id}"), json!({ field: given, "view": 99, "fav_cnt": 99 }));
        assert_eq!(update.succeeded().body, json!({ "result": "success" }));
        expected[field] = stored;
        assert_eq!(get(&server, &id), expected, "{field}");
    }
    assert_eq!((&expected["view"], &expected["fav_cnt"]), (&json!(1), &json!(1)));
    assert_eq!(get(&server, &other), untouched);
}
