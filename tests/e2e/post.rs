//! Posts: administrators insert, update and remove them; readers view, like and unlike them.

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, Server, sample, wait_until};

use crate::form::{is_date, is_id};

mod acts;

const UNKNOWN: &str = "0123456789abcdef01234567";
const UNKNOWN_IDS: [&str; 4] = [UNKNOWN, "1", "0123456789abcdef0123456z", "%EA%B0%80"];

fn insert(admin: &Caller, post: Value) -> String {
    admin.post("/insert_post", post).succeeded().text("/_id")
}

/// Returns a post with all its fields.
fn get(server: &Server, id: &str) -> Value {
    server.anyone().get(&format!("/get_post/{id}")).succeeded().body["post"].clone()
}

/// Returns all posts with all their fields, sorted by id.
fn all(server: &Server) -> Vec<Value> {
    let mut ids = server.anyone().get("/get_popularity_newsfeed").succeeded().column("newsfeed", "_id");
    ids.sort();
    ids.iter().map(|id| get(server, id)).collect()
}

fn categories(server: &Server) -> Vec<(String, i64)> {
    let answer = server.anyone().get("/get_categories").succeeded();
    let one = |c: &Value| (c["category_name"].as_str().unwrap().to_owned(), c["posts"].as_i64().unwrap());
    let mut found: Vec<_> = answer.list("categories").iter().map(one).collect();
    found.sort();
    found
}

fn expected_categories(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    expected.iter().map(|(name, posts)| ((*name).to_owned(), *posts)).collect()
}

/// Returns a list of the member: 1 for liked posts, 2 for viewed posts.
fn member_list(member: &Caller, type_num: u8) -> Answer {
    member.get(&format!("/get_specific_userinfo/{type_num}")).succeeded()
}

#[test]
fn a_post_has_the_fields_that_it_was_given() {
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
}

#[test]
fn a_post_needs_a_title_and_a_url_and_the_rest_has_defaults() {
    let server = Server::start();
    let admin = server.admin();
    let id = insert(&admin, json!({ "title": "a", "url": "http://example.org" }));
    let post = get(&server, &id);
    assert!(is_date(post["date"].as_str().unwrap()), "{post}");
    let expected = json!({
        "_id": id, "title": "a", "date": post["date"], "img": "", "fav_cnt": 0, "view": 0,
        "url": "http://example.org", "end_date": null, "post": "", "topic": [], "tag": [],
    });
    assert_eq!(post, expected);
    for refused in [json!({}), json!({ "title": "no url" }), json!({ "url": "https://example.org/no-title" })]
    {
        assert_eq!(admin.post("/insert_post", refused.clone()).outcome(), "400 bad request", "{refused}");
    }
    assert_eq!(admin.request("POST", "/insert_post").send().outcome(), "400 bad request");
}

#[test]
fn each_field_keeps_its_bounds_to_the_character() {
    let server = Server::start();
    let admin = server.admin();
    let url = |n: usize| format!("https://example.org/{}", "u".repeat(n - "https://example.org/".len()));
    let names = |count: usize, letters: usize| {
        let name = |n: usize| format!("{n:0>2}{}", "가".repeat(letters - 2));
        json!((0..count).map(name).collect::<Vec<_>>())
    };
    let allowed = json!({
        "title": "🦀".repeat(300), "post": "한".repeat(100_000), "url": url(2_000), "topic": names(50, 100),
        "tag": names(50, 100),
    });
    let id = insert(&admin, allowed.clone());
    let stored = get(&server, &id);
    for field in ["title", "post", "url", "topic", "tag"] {
        assert!(stored[field] == allowed[field], "{field} is stored without truncation");
    }
    for (field, wrong) in [
        ("title", json!("")),
        ("title", json!("가".repeat(301))),
        ("title", json!(1)),
        ("post", json!("a".repeat(100_001))),
        ("post", json!(["a"])),
        ("url", json!("")),
        ("url", json!(url(2_001))),
        ("url", json!("example.org/a")),
        ("url", json!("ftp://example.org/a")),
        ("url", json!("javascript:alert(1)")),
        ("topic", names(51, 10)),
        ("topic", json!(["a", ""])),
        ("topic", json!(["가".repeat(101)])),
        ("topic", json!("a,b")),
        ("topic", json!([1])),
        ("tag", names(51, 10)),
        ("tag", json!([""])),
        ("tag", json!(["🦀".repeat(101)])),
        ("tag", json!({})),
        ("date", json!("yesterday")),
        ("date", json!("2026-02-30T00:00:00Z")),
        ("date", json!("")),
        ("date", json!(1_795_163_760)),
        ("end_date", json!("2026-13-01T00:00:00Z")),
        ("end_date", json!(false)),
    ] {
        let mut post = sample::post("refused");
        post[field] = wrong.clone();
        assert_eq!(admin.post("/insert_post", post).outcome(), "400 bad request", "{field} {wrong:.80}");
        let update =
            admin.post(&format!("/update_post/{id}"), json!({ field: wrong, "img": "https://a.org/b.png" }));
        assert_eq!(update.outcome(), "400 bad request", "{field} {wrong:.80}");
    }
    assert!(get(&server, &id) == stored, "a refused update changes nothing");
    let search = server.anyone().post("/priority_search/10", json!({ "search": "refused" }));
    assert_eq!(search.succeeded().list("search_result"), [] as [Value; 0]);
}

#[test]
fn forms_are_read_like_json_with_lists_as_repeated_keys_or_commas() {
    let server = Server::start();
    let admin = server.admin();
    let fields = [
        ("title", "양식 & 형식"),
        ("url", "https://example.org/form?a=1&b=2"),
        ("topic", "여행"),
        ("topic", "seoul, korea"),
        ("tag", "봄, 여름,가을"),
        ("date", "2026-03-02T00:00:00Z"),
        ("end_date", ""),
        ("more[]", "x"),
    ];
    let id = admin.form("/insert_post", &fields).succeeded().text("/_id");
    let post = get(&server, &id);
    assert_eq!(post["title"], "양식 & 형식");
    assert_eq!(post["url"], "https://example.org/form?a=1&b=2");
    assert_eq!(
        post["topic"],
        json!(["여행", "seoul, korea"]),
        "commas do not split the values of a repeated key"
    );
    assert_eq!(post["tag"], json!(["봄", "여름", "가을"]));
    assert_eq!(post["end_date"], Value::Null);
    let _ = admin.form(&format!("/update_post/{id}"), &[("tag", "겨울"), ("title", "새 양식")]).succeeded();
    let post = get(&server, &id);
    assert_eq!((&post["title"], &post["tag"]), (&json!("새 양식"), &json!(["겨울"])));
    assert_eq!(post["topic"], json!(["여행", "seoul, korea"]));
}

#[test]
fn two_posts_never_have_the_same_url() {
    let server = Server::start();
    let admin = server.admin();
    let one = insert(&admin, sample::post("one"));
    let two = insert(&admin, sample::post("two"));
    let before = (get(&server, &one), get(&server, &two));
    let mut again = sample::post("again");
    again["url"] = before.0["url"].clone();
    assert_eq!(admin.post("/insert_post", again.clone()).outcome(), "409 already url");
    assert_eq!(admin.post(&format!("/update_post/{two}"), again).outcome(), "409 already url");
    assert_eq!((get(&server, &one), get(&server, &two)), before);
    // An update may repeat the post's own url, and a url that a post no longer has can be used again.
    let own = json!({ "url": before.1["url"], "title": "two again" });
    let _ = admin.post(&format!("/update_post/{two}"), own).succeeded();
    let _ = admin.post(&format!("/update_post/{one}"), json!({ "url": "https://elsewhere.org" })).succeeded();
    let mut third = sample::post("third");
    third["url"] = before.0["url"].clone();
    insert(&admin, third);
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
        ("post", json!("another text"), json!("another text")),
        ("url", json!("https://example.org/new"), json!("https://example.org/new")),
        ("img", json!("https://example.org/new.png"), json!("https://example.org/new.png")),
        ("img", json!(""), json!("")),
        ("topic", json!(["sport", "news"]), json!(["sport", "news"])),
        ("tag", json!(["a"]), json!(["a"])),
        ("tag", json!([]), json!([])),
        ("date", json!("2020-01-01T00:00:00Z"), json!("2020-01-01T00:00:00.000Z")),
        ("end_date", json!("2030-01-01T00:00:00Z"), json!("2030-01-01T00:00:00.000Z")),
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
    for refused in [json!({}), json!({ "unknown": 1 })] {
        assert_eq!(admin.post(&format!("/update_post/{id}"), refused).outcome(), "400 bad request");
    }
    for unknown in UNKNOWN_IDS {
        let update = admin.post(&format!("/update_post/{unknown}"), json!({ "title": "t" }));
        assert_eq!(update.outcome(), "404 Not found", "{unknown}");
    }
}

#[test]
fn a_removed_post_disappears_from_every_list() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let [gone, stays] = ["zebra crossing", "zebra stripes"].map(|title| {
        let mut post = sample::post(title);
        post["topic"] = json!(["animals"]);
        insert(&admin, post)
    });
    for id in [&gone, &stays] {
        let _ = ann.get(&format!("/post_view/{id}")).succeeded();
        let _ = ann.get(&format!("/post_like/{id}")).succeeded();
    }
    assert_eq!(admin.get(&format!("/remove_post/{gone}")).succeeded().body, json!({ "result": "success" }));
    for path in ["remove_post", "get_post", "post_view", "post_like", "post_unlike"] {
        assert_eq!(admin.get(&format!("/{path}/{gone}")).outcome(), "404 Not found", "{path}");
    }
    assert_eq!(
        admin.post(&format!("/update_post/{gone}"), json!({ "title": "t" })).outcome(),
        "404 Not found"
    );
    assert_eq!(member_list(&ann, 1).column("fav_list", "_id"), [&*stays]);
    assert_eq!(member_list(&ann, 2).column("view_list", "_id"), [&*stays]);
    assert_eq!(categories(&server), expected_categories(&[("animals", 1)]));
    let search = server.anyone().post("/priority_search/10", json!({ "search": "zebra" })).succeeded();
    assert_eq!(search.column("search_result", "_id"), [&*stays]);
    for feed in ["/get_popularity_newsfeed", "/get_recommendation_newsfeed", "/get_newsfeed_of_topic/animals"]
    {
        wait_until("the feed omits the removed post", || {
            server.anyone().get(feed).succeeded().column("newsfeed", "_id") == [&*stays]
        });
    }
    // The url of a removed post can be used again.
    insert(&admin, sample::post("zebra crossing"));
}

#[test]
fn a_malformed_id_is_not_found() {
    let server = Server::start();
    let admin = server.admin();
    for unknown in UNKNOWN_IDS {
        for path in ["get_post", "post_view", "post_like", "post_unlike", "remove_post"] {
            assert_eq!(
                admin.get(&format!("/{path}/{unknown}")).outcome(),
                "404 Not found",
                "{path} {unknown}"
            );
        }
    }
    for path in ["get_post", "post_view"] {
        assert_eq!(server.anyone().get(&format!("/{path}/{UNKNOWN}")).outcome(), "404 Not found");
    }
}

#[test]
fn only_administrators_change_posts() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let id = insert(&admin, sample::post("only"));
    wait_until("the feed shows the post", || !all(&server).is_empty());
    let before = all(&server);
    for caller in [server.anyone(), ann.with_token("admin", "forged")] {
        for refused in [
            caller.post("/insert_post", sample::post("mine")),
            caller.post(&format!("/update_post/{id}"), json!({ "title": "mine" })),
            caller.get(&format!("/remove_post/{id}")),
            caller.get(&format!("/remove_post/{UNKNOWN}")),
        ] {
            assert_eq!(refused.outcome(), "401 bad token");
            assert_eq!(refused.header("WWW-Authenticate"), "Bearer");
        }
    }
    for id in [&id, UNKNOWN] {
        assert_eq!(
            ann.post(&format!("/update_post/{id}"), json!({ "title": "mine" })).outcome(),
            "403 Not admin"
        );
        assert_eq!(ann.get(&format!("/remove_post/{id}")).outcome(), "403 Not admin");
    }
    assert_eq!(ann.post("/insert_post", sample::post("mine")).outcome(), "403 Not admin");
    // Once the feed shows a later post, it would also show the refused posts.
    let other = insert(&admin, sample::post("other"));
    wait_until("the feed shows the next post", || all(&server).len() > 1);
    assert_eq!(all(&server), [before, vec![get(&server, &other)]].concat());
}

#[test]
fn categories_count_the_posts_of_each_topic() {
    let server = Server::start();
    let admin = server.admin();
    assert_eq!(server.anyone().get("/get_categories").body, json!({ "result": "success", "categories": [] }));
    let post = |title: &str, topic: &[&str]| {
        let mut post = sample::post(title);
        post["topic"] = json!(topic);
        post["tag"] = json!(["a tag is no category"]);
        insert(&admin, post)
    };
    let one = post("one", &["여행", "food"]);
    let two = post("two", &["여행"]);
    post("three", &[]);
    assert_eq!(categories(&server), expected_categories(&[("food", 1), ("여행", 2)]));
    let _ = admin.post(&format!("/update_post/{two}"), json!({ "topic": ["food", "sport"] })).succeeded();
    assert_eq!(categories(&server), expected_categories(&[("food", 2), ("sport", 1), ("여행", 1)]));
    let _ = admin.get(&format!("/remove_post/{one}")).succeeded();
    assert_eq!(categories(&server), expected_categories(&[("food", 1), ("sport", 1)]));
}
