//! Invitations: how people sign up where others may not.

use serde_json::json;
use tidings_tests::{PASSWORD, Server};

#[test]
fn an_invited_person_signs_up_where_sign_up_is_closed() {
    let mut server = Server::with(|serve| {
        serve.args(["--sign-up", "closed"]);
    });
    let code = server.cli(["invitation", "add"]).succeeded().stdout;
    let sign_up = |id: &str, code: &str| {
        let form = json!({ "id": id, "pw": PASSWORD, "pw_check": PASSWORD, "nickname": id, "code": code });
        server.anyone().post("/sign_up_invited", form)
    };
    let boss = sign_up("boss", code.trim()).succeeded().text("/access_token");
    let boss = server.anyone().with_token("boss", boss);
    let _ = server.cli(["admin", "grant", "boss"]).succeeded();
    let add = json!({ "uses": 2, "days": 3, "scopes": ["notices"], "note": "the library's team" });
    let new = boss.post("/add_invitation", add).succeeded();
    let listed = boss.get("/get_invitations").succeeded();
    let expected = json!([{
        "_id": new.text("/_id"), "note": "the library's team", "uses": 2, "scopes": ["notices"], "made_by": "boss",
        "date": listed.text("/invitations/0/date"), "expires": new.text("/expires"), "open": 1,
    }]);
    assert_eq!(listed.body["invitations"], expected);

    let wrong = sign_up("ann", "8k2m-0qwz-7hn4-c9xe");
    assert_eq!((wrong.outcome().as_str(), &wrong.body["field"]), ("200 incorrect code", &json!("code")));
    let code = new.text("/code");
    let ann = sign_up("ann", &code).succeeded().text("/access_token");
    let ann = server.anyone().with_token("ann", ann);
    assert_eq!(ann.get("/get_member_role/ann").succeeded().body["scopes"], json!(["notices"]));
    assert_eq!(boss.get(&format!("/remove_invitation/{}", new.text("/_id"))).outcome(), "200 success");
    assert_eq!(sign_up("ben", &code).outcome(), "200 incorrect code");
    let log = server.stop().log;
    assert!(!log.contains(&code), "{log}");
}

#[test]
fn the_command_line_invites_and_signs_up_with_a_code() {
    let server = Server::start();
    let run = |args: &[&str]| server.cli(args.iter().copied()).succeeded();
    assert_eq!(run(&["invitation", "list"]).stderr.trim(), "There is no invitation: tidings invitation add");
    let made = run(&["invitation", "add", "--role", "notices,feedback", "--note", "the team"]);
    let code = made.stdout.trim();
    assert!(made.stderr.contains("1 member can sign up with the code"), "{made:?}");
    let listed = run(&["invitation", "list"]).stdout;
    assert!(listed.contains("the team") && listed.contains("notices, feedback"), "{listed}");

    let invited = ["member", "sign-up", "ann", "--nickname", "Ann", "--code", "--password-stdin"];
    let alone = server.cli_with_input(invited, code);
    assert!(alone.status == 2 && alone.stderr.contains("write the code on the first line"), "{alone:?}");
    let signed_up = server.cli_with_input(invited, format!("{code}\n{PASSWORD}\n")).succeeded();
    assert_eq!(signed_up.stdout, "ann is signed up.\n");
    assert_eq!(run(&["member", "role", "ann"]).stdout, "ann may: notices, feedback.\n");
    let again = ["member", "sign-up", "ben", "--nickname", "Ben", "--code", "--password-stdin"];
    let again = server.cli_with_input(again, format!("{code}\n{PASSWORD}\n"));
    assert!(again.status == 1 && again.stderr.contains("ask for another invitation"), "{again:?}");

    let made = run(&["--json", "invitation", "add", "--uses", "3", "--days", "90"]).json();
    let listed = run(&["--json", "invitation", "list"]).json();
    assert_eq!(listed["invitations"][0]["uses"], 3);
    assert_eq!(listed["invitations"].as_array().unwrap().len(), 1, "the used one is deleted");
    let id = made["_id"].as_str().unwrap();
    assert_eq!(run(&["invitation", "remove", id]).stdout, format!("The invitation {id} is removed.\n"));
    let gone = server.cli(["invitation", "remove", id]);
    assert!(gone.status == 1 && gone.stderr.contains(id), "{gone:?}");
    for wrong in [["--uses", "0"], ["--uses", "1001"], ["--days", "91"], ["--role", "admin"]] {
        let refused = server.cli([&["invitation", "add"][..], &wrong].concat());
        assert!(refused.status == 2 && refused.stderr.contains(wrong[0]), "{refused:?}");
    }
}
