//! Administration over HTTP: what the command line does on the machine of the database, with a token or an API key.

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, PASSWORD, Server};

mod lines;
mod live;

/// A server with an administrator, a member, a key with every scope and a key that may do none of this.
struct World {
    server: Server,
    boss: Caller,
    ann: Caller,
    key: Caller,
    weak: Caller,
}

impl World {
    fn new() -> Self {
        let server = Server::start();
        let (boss, ann) = (server.admin(), server.member("ann"));
        let key = |name: &str, scopes: Value| {
            let made = boss.post("/add_key", json!({ "name": name, "scopes": scopes })).succeeded();
            server.anyone().with_token(name, made.text("/key"))
        };
        let all = json!(["posts", "acts:import", "feedback", "members", "analytics:read", "audit:read"]);
        let (key, weak) = (key("key", all), key("weak", json!(["front"])));
        Self { server, boss, ann, key, weak }
    }

    /// Asserts that the caller without a token, the member and the key without the scope are refused, each with its code.
    fn refused(&self, ask: impl Fn(&Caller) -> Answer) {
        for (caller, refusal) in [
            (&self.server.anyone(), ("401 bad token", "bad_token")),
            (&self.ann, ("403 Not admin", "not_admin")),
            (&self.weak, ("403 Not admin", "missing_scope")),
        ] {
            let answer = ask(caller);
            assert_eq!((&*answer.outcome(), &*answer.text("/code")), refusal, "{answer:?}");
        }
    }

    fn latest(&self) -> String {
        latest(&self.boss)
    }

    fn cli(&self, args: &[&str]) -> Value {
        self.server.cli([&["--json"], args].concat()).succeeded().json()
    }
}

/// Returns the latest record of the audit trail: who did what to what, and how.
fn latest(administrator: &Caller) -> String {
    let listed = administrator.get("/get_audit?limit=1").succeeded();
    let texts = ["actor_kind", "actor", "surface", "action", "subject", "after"];
    let texts = texts.map(|name| listed.text(&format!("/audit/0/{name}")));
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_key_that_is_not_valid_is_answered_as_no_token() {
    let World { server, boss, .. } = World::new();
    let made = boss.post("/add_key", json!({ "name": "gone", "scopes": ["posts"] })).succeeded();
    assert_eq!(boss.get("/remove_key/gone").outcome(), "200 success");
    let revoked = made.text("/key");
    let malformed = format!("{}0", &revoked[..revoked.len() - 1]);
    let keys = [revoked, malformed, "tidings_".to_owned(), format!("tidings_{}", "0".repeat(48))];
    let keys = keys.map(|key| server.anyone().with_token("key", key));
    for path in
        ["/get_keys", "/get_posts", "/check_admin", "/get_members", "/grant_admin/ann", "/get_userinfo"]
    {
        let ask = |caller: &Caller| {
            let answer = caller.get(path);
            (answer.outcome(), answer.body["code"].clone())
        };
        for key in &keys {
            assert_eq!(ask(key), ask(&server.anyone()), "{path}");
        }
    }
    assert_eq!(keys[0].get("/grant_admin/ann").outcome(), "401 bad token");
}

#[test]
fn members_are_listed_and_read_as_on_the_command_line() {
    let world = World::new();
    let World { server, boss, key, .. } = &world;
    let _ = server.member("Kim-2");
    for caller in [boss, key] {
        assert_eq!(caller.get("/get_members").succeeded().body, world.cli(&["member", "list"]));
        assert_eq!(caller.get("/get_member/ANN").succeeded().body, world.cli(&["member", "show", "ann"]));
        let lists = caller.get("/get_member_lists/ann/0").succeeded();
        assert_eq!(lists.body, world.cli(&["member", "lists", "ann"]));
    }
    let first = boss.get("/get_members?limit=2").succeeded();
    let next = format!("limit=2&after={}", first.text("/next"));
    for (query, ids) in [
        ("limit=2", &["admin", "ann"][..]),
        (&next, &["Kim-2"]),
        ("search=KIM", &["Kim-2"]),
        ("only=admins", &["admin"]),
        ("only=blacklisted", &[]),
    ] {
        let found = boss.get(&format!("/get_members?{query}")).succeeded();
        assert_eq!(found.column("members", "user_id"), ids, "{query}");
    }
    for (path, field) in [
        ("/get_members?limit=0", "limit"),
        ("/get_members?limit=1001", "limit"),
        ("/get_members?only=nobody", "only"),
        ("/get_member_lists/ann/5", "type_num"),
    ] {
        let refused = boss.get(path);
        assert_eq!((&*refused.outcome(), &*refused.text("/field")), ("400 bad request", field));
    }
    for path in ["/get_member/nobody", "/get_member_lists/nobody/0"] {
        assert_eq!(boss.get(path).outcome(), "404 Not found");
    }
    world.refused(|caller| caller.get("/get_members"));
}

#[test]
fn members_are_changed_on_the_record() {
    let World { server, boss, ann, key, .. } = &World::new();
    let recorded = |record: &str| assert_eq!(latest(boss), record);
    let named = json!({ "new_nickname": "Annie" });
    let _ = key.post("/change_member_nickname/ann", named).succeeded();
    recorded("key key http member.nickname ann");
    assert_eq!(ann.get("/get_userinfo").text("/nickname"), "Annie");
    let wrong = boss.post("/change_member_nickname/ann", json!({ "new_nickname": " " }));
    assert_eq!(wrong.outcome(), "200 rewrite_nickname");

    let _ = boss.get("/update_member_auto_login/ann/1").succeeded();
    recorded("member admin http member.auto_login ann 1");
    assert_eq!(ann.get("/get_userinfo").body["auto_login"], 1);
    assert_eq!(boss.get("/update_member_auto_login/ann/2").body["field"], "auto_login");

    let _ = ann.post("/search_logging", json!({ "search": "library" })).succeeded();
    assert_eq!(ann.get("/get_specific_userinfo/3").list("search_list").len(), 1);
    let _ = key.get("/reset_member_measurement/ann").succeeded();
    recorded("key key http member.reset ann");
    assert!(ann.get("/get_specific_userinfo/3").list("search_list").is_empty());

    let set = |id: &str, pw: &str| boss.post(&format!("/set_member_password/{id}"), json!({ "new_pw": pw }));
    let wrong = set("ann", "short");
    assert_eq!((&*wrong.outcome(), &*wrong.text("/field")), ("200 wrong user info", "new_pw"));
    let _ = set("ann", "a new password").succeeded();
    recorded("member admin http member.password ann");
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 not found", "the member is signed out");
    let sign_in = |pw: &str| server.anyone().post("/sign_in", json!({ "id": "ann", "pw": pw }));
    assert_eq!(sign_in(PASSWORD).outcome(), "200 incorrect pw");
    let ann = server.anyone().with_token("ann", sign_in("a new password").succeeded().text("/access_token"));

    let secret = ann.post("/begin_otp", json!({ "pw": "a new password" })).succeeded().text("/secret");
    let otp = json!({ "otp": tidings_tests::totp::code(&secret, 0) });
    let _ = ann.post("/enable_otp", otp).succeeded();
    assert_eq!(sign_in("a new password").outcome(), "200 otp required");
    let _ = boss.get("/reset_member_otp/ann").succeeded();
    recorded("member admin http member.otp_reset ann");
    let _ = sign_in("a new password").succeeded();
    assert_eq!(boss.get("/reset_member_otp/ann").outcome(), "400 bad request");

    for answer in [
        boss.post("/change_member_nickname/nobody", json!({ "new_nickname": "N" })),
        boss.get("/update_member_auto_login/nobody/1"),
        boss.get("/reset_member_measurement/nobody"),
        set("nobody", "a new password"),
        boss.get("/reset_member_otp/nobody"),
    ] {
        assert_eq!(answer.outcome(), "404 Not found");
    }
}

#[test]
fn people_make_administrators_and_the_last_one_stays() {
    let world = World::new();
    let World { boss, ann, key, .. } = &world;
    assert_eq!(boss.get("/get_admins").succeeded().body, world.cli(&["admin", "list"]));
    assert_eq!(key.get("/get_admins").succeeded().column("admins", "user_id"), ["admin"]);
    assert_eq!(key.get("/grant_admin/ann").text("/code"), "not_admin", "whatever its scopes are");
    let last = boss.get("/revoke_admin/admin");
    assert_eq!((&*last.outcome(), &*last.text("/code")), ("409 last administrator", "last_administrator"));
    assert_eq!(boss.get("/grant_admin/nobody").outcome(), "404 Not found");
    for _ in 0..2 {
        assert_eq!(boss.get("/grant_admin/ANN").outcome(), "200 success");
        assert_eq!(world.latest(), "member admin http admin.grant ann");
    }
    assert_eq!(ann.get("/check_admin").outcome(), "200 success");
    assert_eq!(ann.get("/revoke_admin/admin").outcome(), "200 success");
    assert_eq!(boss.get("/revoke_admin/ann").outcome(), "403 Not admin");
    assert_eq!(latest(ann), "member ann http admin.revoke admin");
    assert_eq!(ann.get("/revoke_admin/nobody").outcome(), "404 Not found");
}

#[test]
fn feedback_and_posts_are_listed_in_pages_and_weights_are_read() {
    let world = World::new();
    let World { server, boss, ann, key, .. } = &world;
    for n in 0..3 {
        let _ = ann.post("/send_feedback", json!({ "post": format!("text {n}") })).succeeded();
    }
    let all = boss.get("/get_all_feedback").succeeded().body["feedback_list"].clone();
    assert_eq!(key.get("/get_feedback?all=1").succeeded().body["feedback"], all);
    let done = all[1]["_id"].as_str().unwrap();
    let _ = boss.get(&format!("/update_feedback/{done}/0")).succeeded();
    let open = key.get("/get_feedback?limit=1").succeeded();
    assert_eq!(open.column("feedback", "post"), ["text 2"]);
    let rest = key.get(&format!("/get_feedback?all=0&after={}", open.text("/next"))).succeeded();
    assert_eq!((rest.column("feedback", "post"), &rest.body["next"]), (vec!["text 0".into()], &json!(null)));
    for (query, outcome) in
        [("all=2", "400 bad request"), ("limit=0", "400 bad request"), ("after=x", "404 Not found")]
    {
        assert_eq!(boss.get(&format!("/get_feedback?{query}")).outcome(), outcome, "{query}");
    }

    for (title, topic) in [("One", "news"), ("Two", "sport"), ("Three", "news")] {
        let mut post = tidings_tests::sample::post(title);
        post["topic"] = json!([topic]);
        let _ = boss.post("/insert_post", post).succeeded();
    }
    let anyone = server.anyone();
    assert_eq!(anyone.get("/get_posts").succeeded().body, world.cli(&["post", "list"]));
    assert_eq!(anyone.get("/get_posts?topic=sport").succeeded().column("posts", "title"), ["Two"]);
    let first = anyone.get("/get_posts?limit=2").succeeded();
    let rest = anyone.get(&format!("/get_posts?limit=2&next={}", first.text("/next"))).succeeded();
    assert_eq!(
        (first.list("posts").len(), rest.list("posts").len(), &rest.body["next"]),
        (2, 1, &json!(null))
    );
    for (query, field) in [("limit=0", "limit"), ("limit=1001", "limit"), ("next=x", "next")] {
        assert_eq!(anyone.get(&format!("/get_posts?{query}")).body["field"], field);
    }
    assert_eq!(boss.get("/get_feed_weights").succeeded().body, world.cli(&["feed", "weights"]));
    let learned = boss.get("/learn_feed_weights").succeeded();
    assert_eq!(learned.body["learned"], json!(null), "there are too few acts");
}
