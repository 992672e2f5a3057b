//! Administrators and the blacklist.

use serde_json::json;
use tidings_tests::{PASSWORD, Server};

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
fn members_are_found_blacklisted_and_removed_in_any_case() {
    let server = Server::start();
    let (ann, _, admin) = (server.member("Ann"), server.member("bob"), server.admin());
    let _ = server.cli_with_input(["member", "import", "-"], r#"{"id":"dave","nickname":"ÄÖÜ"}"#).succeeded();
    for (query, found) in [
        ("search=%C3%A4%C3%B6%C3%BC", &["dave"][..]),
        ("search=%C3%84%C3%96%C3%9C", &["dave"]),
        ("search=DAVE", &["dave"]),
        // A null character finds nobody.
        ("search=%00", &[]),
        ("search=dave%00", &[]),
        ("after=%00", &[]),
    ] {
        let answer = admin.get(&format!("/get_members?{query}")).succeeded();
        assert_eq!(answer.column("members", "user_id"), found, "{query}");
    }

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
    for path in ["/push_blacklist/nobody", "/pop_blacklist/nobody", "/push_blacklist/%00"] {
        assert_eq!(admin.get(path).outcome(), "200 Not found", "{path}");
    }

    let _ = admin.get("/push_blacklist/ann").succeeded();
    let removed = admin.get("/admin_remove_user/aNN");
    assert_eq!((&*removed.outcome(), removed.header("cache-control")), ("200 success", "no-store"));
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 not found");
    assert_eq!(admin.get("/get_blacklist").list("blacklist").len(), 0, "the id is free again");
    let _ = server.member("ann");
    for id in ["nobody", "guest", "removed"] {
        assert_eq!(admin.get(&format!("/admin_remove_user/{id}")).outcome(), "200 Not found", "{id}");
    }
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
