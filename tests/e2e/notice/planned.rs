//! Notices that begin and end by time, for topics and members; their drafts, reads and HTML.

use serde_json::json;
use tidings_core::clock::Clock;
use tidings_tests::{Caller, EventStream, Server, sample, wait_until};

use super::{get, insert, titles};

/// Returns the time of the system after this many milliseconds.
fn after(ms: i64) -> String {
    (Clock::system().now() + ms).to_string()
}

/// Returns the titles of `get_notices`.
fn full(reader: &Caller, query: &str) -> Vec<String> {
    reader.get(&format!("/get_notices{query}")).succeeded().column("notice_list", "title")
}

#[test]
fn a_notice_begins_and_ends_by_itself() {
    let server = Server::start();
    let (admin, anyone) = (server.admin(), server.anyone());
    insert(&admin, sample::notice("always"));
    let mut stream = EventStream::open(server.address(), "/events", "").begun();
    let tag = |path: &str| anyone.get(path).header("etag").to_owned();
    let known = ["/get_all_notice", "/get_notices"].map(|path| (path, tag(path)));
    let dated = json!({
        "title": "dated", "post": "p", "visible_from": after(1_500), "visible_until": after(3_500),
    });
    let id = insert(&admin, dated);
    assert_eq!(
        (titles(&anyone), get(&anyone, &id).outcome()),
        (vec!["always".into()], "404 Not found".into())
    );
    assert_eq!(titles(&admin), ["dated", "always"]);
    assert!(known.iter().all(|(path, known)| tag(path) == *known), "guests get the same");

    wait_until("the notice begins", || titles(&anyone).len() == 2);
    let begun = stream.next().unwrap();
    assert_eq!((&begun.data["change"], &begun.data["notice"]["_id"]), (&"published".into(), &json!(id)));
    let place = stream.last_id.clone();
    assert!(full(&anyone, "").contains(&"dated".to_owned()));
    let _ = get(&anyone, &id).succeeded();
    for (path, known) in &known {
        let conditional = anyone.request("GET", path).header("if-none-match", known).send();
        assert_eq!(conditional.status, 200, "{path}");
        assert_eq!(conditional.header("cache-control"), "public, max-age=0, s-maxage=5, must-revalidate");
    }

    wait_until("the notice ends", || titles(&anyone).len() == 1);
    let hidden = json!({ "change": "hidden", "_id": id });
    assert_eq!(stream.next().unwrap().data, hidden);
    assert_eq!(
        (get(&anyone, &id).outcome(), full(&anyone, "")),
        ("404 Not found".into(), vec!["always".into()])
    );
    assert_eq!(anyone.request("GET", known[1].0).header("if-none-match", &known[1].1).send().status, 304);
    // A listener that was away is told the end, too.
    let mut later = EventStream::open(server.address(), "/events", &place);
    assert_eq!(later.next().unwrap().data, hidden);
}

#[test]
fn drafts_are_kept_on_the_server_until_they_are_published() {
    let mut server = Server::start();
    let admin = server.admin();
    let saved = admin.form("/save_notice_draft", &[("title", "Exams"), ("pinned", "1")]).succeeded();
    let draft = saved.text("/_id");
    assert_eq!(saved.body, json!({ "result": "success", "_id": draft }));
    let publish = |admin: &Caller, id: &str| admin.get(&format!("/publish_notice_draft/{id}"));
    assert_eq!((publish(&admin, &draft).outcome().as_str(), titles(&admin).len()), ("400 bad request", 0));
    server.restart();
    let admin = server.anyone().with_token("admin", admin.token());
    let drafts = admin.get("/get_notice_drafts").succeeded();
    let expected = json!({
        "_id": draft, "notice": null, "date": drafts.body["drafts"][0]["date"], "title": "Exams", "post": null,
        "activation": null, "visible_from": null, "visible_until": null, "pinned": 1, "topic": null,
        "members_only": null,
    });
    assert_eq!(drafts.body["drafts"], json!([expected]));
    let whole = json!({ "draft": draft, "title": "Exams", "post": "In hall 1." });
    let _ = admin.post("/save_notice_draft", whole).succeeded();
    let notice = publish(&admin, &draft).succeeded().text("/_id");
    assert_eq!(titles(&server.anyone()), ["Exams"]);
    assert_eq!(admin.get("/get_notice_drafts").body["drafts"], json!([]));

    let change = json!({ "notice": notice, "title": "Exams begin" });
    let change = admin.post("/save_notice_draft", change).succeeded().text("/_id");
    assert_eq!(titles(&server.anyone()), ["Exams"]);
    assert_eq!(publish(&admin, &change).succeeded().text("/_id"), notice);
    assert_eq!(titles(&server.anyone()), ["Exams begin"]);
    assert_eq!(admin.get(&format!("/remove_notice_draft/{draft}")).outcome(), "404 Not found");
    let other = admin.post("/save_notice_draft", sample::notice("Other")).succeeded().text("/_id");
    let _ = admin.get(&format!("/remove_notice_draft/{other}")).succeeded();
    assert_eq!(admin.get("/get_notice_drafts").body["drafts"], json!([]));
}

#[test]
fn the_text_is_rendered_on_request() {
    let server = Server::start();
    let (admin, anyone) = (server.admin(), server.anyone());
    let text = "# Hi\n\nx<script>alert(1)</script> [a](javascript:b) [c](https://d.example)";
    let id = insert(&admin, json!({ "title": "t", "post": text }));
    let html = "<h1>Hi</h1>\n<p>x&lt;script&gt;alert(1)&lt;/script&gt; a \
                <a href=\"https://d.example\" rel=\"nofollow noopener\">c</a></p>\n";
    for caller in [&anyone, &admin] {
        let one = caller.get(&format!("/get_notice/{id}?html=1")).succeeded();
        assert_eq!(
            (&one.body["notice_list"]["html"], &one.body["notice_list"]["post"]),
            (&html.into(), &text.into())
        );
        assert_eq!(caller.get("/get_notices?html=1").list("notice_list")[0]["html"], html);
        for plain in [format!("/get_notice/{id}?html=0"), format!("/get_notice/{id}")] {
            assert!(caller.get(&plain).succeeded().body["notice_list"].get("html").is_none());
        }
        assert!(caller.get("/get_notices").list("notice_list")[0].get("html").is_none());
    }
    for path in [format!("/get_notice/{id}?html=2"), "/get_notices?html=yes".into()] {
        assert_eq!(anyone.get(&path).outcome(), "400 bad request");
    }
    assert_eq!(get(&anyone, &id).body["notice_list"]["view"], 7, "a refusal counts no view");
}
