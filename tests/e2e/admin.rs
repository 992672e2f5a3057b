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
    let (ann, admin) = (server.member("Ann"), server.admin());
    let _ = server.cli_with_input(["member", "import", "-"], r#"{"id":"dave","nickname":"ÄÖÜ"}"#).succeeded();
    // A null character finds nobody.
    for (query, found) in
        [("search=%C3%A4%C3%B6%C3%BC", &["dave"][..]), ("search=DAVE", &["dave"]), ("search=%00", &[])]
    {
        let answer = admin.get(&format!("/get_members?{query}")).succeeded();
        assert_eq!(answer.column("members", "user_id"), found, "{query}");
    }
    for id in ["ANN", "ann"] {
        assert_eq!(admin.get(&format!("/push_blacklist/{id}")).outcome(), "200 success");
    }
    assert_eq!(admin.get("/get_blacklist").column("blacklist", "user_id"), ["Ann"]);
    for id in ["ann", "ann"] {
        assert_eq!(admin.get(&format!("/pop_blacklist/{id}")).outcome(), "200 success");
    }
    let _ = admin.get("/push_blacklist/ann").succeeded();
    let removed = admin.get("/admin_remove_user/aNN");
    assert_eq!((&*removed.outcome(), removed.header("cache-control")), ("200 success", "no-store"));
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 not found");
    assert_eq!(admin.get("/get_blacklist").list("blacklist").len(), 0, "the id is free again");
    let _ = server.member("ann");
    for path in ["/admin_remove_user/guest", "/push_blacklist/nobody", "/pop_blacklist/nobody"] {
        assert_eq!(admin.get(path).outcome(), "200 Not found", "{path}");
    }
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
