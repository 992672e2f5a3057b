//! Administrators and the blacklist.

use serde_json::json;
use tidings_tests::{Caller, PASSWORD, Server};

fn blacklisted(admin: &Caller) -> Vec<String> {
    admin.get("/get_blacklist").succeeded().column("blacklist", "user_id")
}

#[test]
fn the_command_line_creates_the_first_administrator_while_the_server_runs() {
    let server = Server::start();
    let _ = server.member("ann");
    for (args, id) in [
        (&["--json", "init", "--admin", "root", "--password-stdin"][..], "root"),
        // The database stays, and a member becomes an administrator without a password.
        (&["--json", "init", "--admin", "ann"], "ann"),
        (&["--json", "init", "--admin", "ann"], "ann"),
    ] {
        let made = server.cli_with_input(args, "correct horse\n").succeeded();
        assert_eq!(made.json(), json!({ "result": "success", "admin": id }));
        let answer = server.anyone().post("/sign_in", json!({ "id": id, "pw": PASSWORD })).succeeded();
        let caller = server.anyone().with_token(id, answer.text("/access_token"));
        assert_eq!(caller.get("/check_admin").outcome(), "200 success");
    }
    let unknown = server.cli(["--json", "admin", "grant", "nobody"]);
    assert_eq!((unknown.status, &unknown.json()["result"]), (1, &json!("Not found")));
}

#[test]
fn an_administrator_removes_a_member_at_once() {
    let server = Server::start();
    let (ann, bob, admin) = (server.member("ann"), server.member("bob"), server.admin());
    let answer = admin.get("/admin_remove_user/ann");
    assert_eq!(answer.outcome(), "200 success");
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 not found");
    for id in ["ann", "nobody", "guest", "removed", "%20", "%00", "a%2Fb", "%EC%95%A4"] {
        assert_eq!(admin.get(&format!("/admin_remove_user/{id}")).outcome(), "200 Not found", "{id}");
    }
    assert_eq!(bob.get("/get_userinfo").outcome(), "200 success");
}

#[test]
fn blacklisting_records_the_date_and_is_idempotent() {
    let server = Server::start();
    let (_, _, admin) = (server.member("Ann"), server.member("bob"), server.admin());
    assert_eq!(admin.get("/get_blacklist").body, json!({ "result": "success", "blacklist": [] }));
    for id in ["ANN", "bob", "ann"] {
        assert_eq!(admin.get(&format!("/push_blacklist/{id}")).outcome(), "200 success");
    }
    let list = admin.get("/get_blacklist");
    let mut ids = list.column("blacklist", "user_id");
    ids.sort();
    assert_eq!(ids, ["Ann", "bob"]);
    for date in list.column("blacklist", "date") {
        assert!(date.len() == 24 && date.ends_with('Z'), "{date}");
    }
    for id in ["ann", "ann", "bob"] {
        assert_eq!(admin.get(&format!("/pop_blacklist/{id}")).outcome(), "200 success");
    }
    assert_eq!(blacklisted(&admin), [""; 0]);
    for path in ["/push_blacklist/nobody", "/pop_blacklist/nobody", "/push_blacklist/%00"] {
        assert_eq!(admin.get(path).outcome(), "200 Not found", "{path}");
    }
}

#[test]
fn a_blacklisted_member_can_no_longer_act() {
    let server = Server::start();
    let (ann, admin) = (server.member("ann"), server.admin());
    let _ = admin.get("/push_blacklist/ann").succeeded();
    assert_eq!(ann.post("/change_nickname", json!({ "new_nickname": "x" })).outcome(), "200 No member");
    assert_eq!(ann.get("/remove_mine").outcome(), "200 Not found");
    assert_eq!(ann.get("/sign_out_all").outcome(), "401 bad token");
    assert_eq!(ann.post("/send_feedback", json!({ "post": "x" })).outcome(), "200 bad request");
    let credentials = json!({ "id": "ann", "pw": PASSWORD });
    assert_eq!(server.anyone().post("/sign_in", credentials).outcome(), "200 blacklist user");
    let form = json!({ "id": "ann", "pw": PASSWORD, "pw_check": PASSWORD, "nickname": "x" });
    assert_eq!(server.anyone().post("/sign_up", form).outcome(), "200 already id");
    // Removing the member makes the id available again.
    let _ = admin.get("/admin_remove_user/ann").succeeded();
    assert_eq!(server.member("ann").get("/get_userinfo").outcome(), "200 success");
    assert_eq!(blacklisted(&admin), [""; 0]);
}

#[test]
fn the_last_administrator_cannot_be_removed_blacklisted_or_revoked() {
    let server = Server::start();
    let admin = server.admin();
    for path in ["/remove_mine", "/admin_remove_user/admin", "/push_blacklist/admin"] {
        assert_eq!(admin.get(path).outcome(), "409 last administrator", "{path}");
    }
    let revoked = server.cli(["--json", "admin", "revoke", "admin"]);
    assert_eq!((revoked.status, &revoked.json()["result"]), (1, &json!("last administrator")));
    assert_eq!(admin.get("/check_admin").outcome(), "200 success");
}

#[test]
fn of_two_administrators_removing_each_other_one_stays() {
    let server = Server::start();
    let (bob, admin) = (server.member("bob"), server.admin());
    let _ = server.cli(["admin", "grant", "bob"]).succeeded();
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| admin.get("/admin_remove_user/bob").outcome());
        let other = scope.spawn(|| bob.get("/admin_remove_user/admin").outcome());
        (one.join().unwrap(), other.join().unwrap())
    });
    // The second request came from a member who had already been removed.
    let mut outcome = [one.as_str(), &other];
    outcome.sort_unstable();
    assert_eq!(outcome, ["200 Not admin", "200 success"]);
}

#[test]
fn members_are_found_whatever_the_case_and_a_null_character_finds_nobody() {
    let server = Server::start();
    let admin = server.admin();
    let _ = server.cli_with_input(["member", "import", "-"], r#"{"id":"dave","nickname":"ÄÖÜ"}"#).succeeded();
    let found = |query: &str| {
        let answer = admin.get(&format!("/get_members?{query}")).succeeded();
        answer.list("members").iter().map(|member| member["user_id"].clone()).collect::<Vec<_>>()
    };
    for search in ["%C3%A4%C3%B6%C3%BC", "%C3%84%C3%96%C3%9C", "DAVE"] {
        assert_eq!(found(&format!("search={search}")), ["dave"], "{search}");
    }
    for query in ["search=%00", "search=dave%00", "after=%00"] {
        assert_eq!(found(query), [""; 0], "{query}");
    }
}
