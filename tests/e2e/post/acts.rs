//! Acts of readers on posts: view, like and unlike.

use serde_json::{Value, json};
use tidings_tests::{Server, sample, wait_until};

use super::{get, insert, member_list};
use crate::form::is_date;

#[test]
fn all_views_count_and_a_members_views_are_listed_newest_first() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let mut posts = ["one", "two", "three"].map(sample::post);
    posts[0]["img"] = json!("https://example.org/one.png");
    posts[0]["topic"] = json!(["번호"]);
    posts[0]["tag"] = json!(["first", "odd"]);
    posts[0]["date"] = json!("2020-05-05T05:05:05Z");
    let [one, two, three] = posts.map(|post| insert(&admin, post));
    for caller in [server.anyone(), ann.with_token("ann", "forged"), server.anyone()] {
        let viewed = caller.get(&format!("/post_view/{one}")).succeeded();
        assert_eq!(viewed.body, json!({ "result": "success" }));
    }
    assert_eq!(get(&server, &one)["view"], 3);
    for id in [&one, &two, &three, &one] {
        let _ = ann.get(&format!("/post_view/{id}")).succeeded();
    }
    assert_eq!(get(&server, &one)["view"], 5);
    assert_eq!(get(&server, &two)["view"], 1);
    // Views in the same millisecond have no order, so the test views the post again until it is the last.
    wait_until("the post viewed last comes first", || {
        let _ = ann.get(&format!("/post_view/{one}")).succeeded();
        member_list(&ann, 2).column("view_list", "_id") == [&*one, &three, &two]
    });
    let list = member_list(&ann, 2);
    let first = list.list("view_list")[0].clone();
    assert!(is_date(first["date"].as_str().unwrap()), "{first}");
    assert!(first["token"].as_array().unwrap().contains(&json!("say")), "{first}");
    let expected = json!({
        "_id": one, "topic": ["번호"], "tag": ["first", "odd"], "token": first["token"], "date": first["date"],
        "post_date": "2020-05-05T05:05:05.000Z", "title": "one", "url": "https://news.example.org/one", "img": 1,
    });
    assert_eq!(first, expected);
    assert_eq!(list.list("view_list")[1]["img"], 0);
    assert_eq!(member_list(&ann, 1).list("fav_list"), [] as [Value; 0], "a view is not a like");
    assert_eq!(
        member_list(&admin, 2).list("view_list"),
        [] as [Value; 0],
        "a view is only in the member's own list"
    );
}
