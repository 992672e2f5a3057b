//! Invitations: how people sign up where others may not.

use std::sync::Barrier;

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, PASSWORD, Server, wait_until};

/// Returns a server where everyone signs up, and one on the same database where nobody does.
fn open_and_closed() -> (Server, Server) {
    let open = Server::start();
    let closed = Server::at(open.database(), |serve| {
        serve.args(["--sign-up", "closed"]);
    });
    (open, closed)
}

fn form(id: &str) -> Value {
    json!({ "id": id, "pw": PASSWORD, "pw_check": PASSWORD, "nickname": id })
}

/// Signs up with the code of an invitation.
fn sign_up(anyone: &Caller, id: &str, code: &str) -> Answer {
    let mut form = form(id);
    form["code"] = json!(code);
    anyone.post("/sign_up_invited", form)
}

#[test]
fn an_invited_person_signs_up_where_sign_up_is_closed() {
    let (mut open, mut closed) = open_and_closed();
    let (admin, mallory) = (open.admin(), open.member("mallory"));
    let (boss, anyone) = (closed.anyone().with_token("admin", admin.token()), closed.anyone());
    assert_eq!(anyone.post("/sign_up", form("ann")).outcome(), "200 sign_up fail");
    let add = json!({ "uses": 2, "days": 3, "scopes": ["notices"], "note": "the library's team" });
    assert_eq!(mallory.post("/add_invitation", add.clone()).outcome(), "403 Not admin");
    let new = boss.post("/add_invitation", add).succeeded();
    let code = new.text("/code");
    let listed = boss.get("/get_invitations").succeeded();
    let expected = json!([{
        "_id": new.text("/_id"), "note": "the library's team", "uses": 2, "scopes": ["notices"], "made_by": "admin",
        "date": listed.text("/invitations/0/date"), "expires": new.text("/expires"), "open": 1,
    }]);
    assert_eq!(listed.body["invitations"], expected);

    let wrong = sign_up(&anyone, "ann", "8k2m-0qwz-7hn4-c9xe");
    assert_eq!((wrong.outcome().as_str(), &wrong.body["field"]), ("200 incorrect code", &json!("code")));
    assert_eq!(sign_up(&anyone, "a", &code).outcome(), "200 wrong user info");
    assert_eq!(sign_up(&anyone, "Admin", &code).outcome(), "200 already id");
    let token = sign_up(&anyone, "ann", &code).succeeded().text("/access_token");
    let ann = anyone.with_token("ann", &token);
    assert_eq!(ann.get("/get_member_role/ann").succeeded().body["scopes"], json!(["notices"]));
    assert_eq!(ann.get("/get_invitations").outcome(), "403 Not admin");

    // The invitation ends with the right of the administrator who made it.
    let _ = open.cli(["admin", "grant", "mallory"]).succeeded();
    assert_eq!(mallory.get("/revoke_admin/admin").outcome(), "200 success");
    assert_eq!(sign_up(&anyone, "ben", &code).outcome(), "200 incorrect code");
    assert_eq!(mallory.get("/get_invitations").succeeded().body["invitations"][0]["open"], 0);
    let remove = format!("/remove_invitation/{}", new.text("/_id"));
    assert_eq!(mallory.get(&remove).outcome(), "200 success");
    assert_eq!(mallory.get(&remove).outcome(), "404 Not found");
    let logs = [open.stop().log, closed.stop().log];
    assert!(logs.iter().all(|log| !log.contains(&code)), "{logs:?}");
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

#[test]
fn two_servers_never_use_an_invitation_more_often_than_its_limit() {
    const PEOPLE: usize = 6;
    const USES: usize = 3;
    let (open, closed) = open_and_closed();
    let boss = open.admin();
    let code = boss.post("/add_invitation", json!({ "uses": USES })).succeeded().text("/code");
    let all = Barrier::new(PEOPLE);
    let people: Vec<_> =
        (0..PEOPLE).map(|n| (format!("person{n}"), [&open, &closed][n % 2].anyone())).collect();
    let mut answers: Vec<String> = std::thread::scope(|scope| {
        let signing_up = |(id, anyone): &(String, Caller)| {
            all.wait();
            sign_up(anyone, id, &code).outcome()
        };
        let running: Vec<_> = people.iter().map(|person| scope.spawn(move || signing_up(person))).collect();
        running.into_iter().map(|person| person.join().unwrap()).collect()
    });
    answers.sort_unstable();
    let expected = [["200 incorrect code"; USES], ["200 success"; USES]].concat();
    assert_eq!(answers, expected);
    wait_until("the members are listed", || {
        boss.get("/get_members").succeeded().list("members").len() == 1 + USES
    });
    assert_eq!(boss.get("/get_invitations").succeeded().body["invitations"][0]["uses"], 0);
}
