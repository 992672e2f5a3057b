//! Roles: what members administer without being administrators.

use serde_json::{Value, json};
use tidings_tests::{Server, sample};

/// Returns the keys of an object, sorted.
fn keys(object: &Value) -> Vec<&String> {
    object.as_object().unwrap().keys().collect()
}

#[test]
fn a_role_is_set_over_http_and_counts_from_the_next_request_on() {
    let server = Server::start();
    let (boss, ann) = (server.admin(), server.member("ann"));
    let set = |scopes: Value| boss.post("/set_member_role/ANN", json!({ "scopes": scopes }));
    let insert = || ann.post("/insert_notice", sample::notice("Notice"));
    let before = ann.get("/get_userinfo").succeeded();
    assert_eq!((insert().outcome().as_str(), &insert().body["code"]), ("200 Not admin", &json!("not_admin")));
    assert_eq!(set(json!(["webhooks", "notices"])).outcome(), "200 success");
    assert_eq!(insert().outcome(), "200 success");
    let refused = ann.get("/get_feedback");
    assert_eq!(
        (refused.outcome().as_str(), &refused.body["code"]),
        ("403 Not admin", &json!("missing_scope"))
    );
    assert_eq!(refused.body["message"], "this needs an API key or a role with the scope feedback");
    // The original interface does not change.
    assert_eq!(ann.get("/check_admin").outcome(), "200 Not admin");
    let after = ann.get("/get_userinfo").succeeded();
    assert_eq!((keys(&before.body), &before.body), (keys(&after.body), &after.body));

    let role = ann.get("/get_member_role/ann").succeeded();
    assert_eq!(role.body, json!({ "result": "success", "scopes": ["notices", "webhooks"] }));
    assert_eq!(boss.get("/get_member_role/ann").succeeded().body, role.body);
    let listed = boss.get("/get_members?only=roles").succeeded();
    assert_eq!(listed.column("members", "user_id"), ["ann"]);
    assert_eq!(listed.body["members"][0]["scopes"], role.body["scopes"]);
    assert_eq!(set(json!([])).outcome(), "200 success");
    assert_eq!(insert().body["code"], "not_admin");
    let actions = boss.get("/get_audit?action=member.role").succeeded();
    let record = |n: usize| {
        let record = &actions.body["audit"][n];
        ["actor", "surface", "subject", "before", "after"]
            .map(|name| record[name].as_str().unwrap().to_owned())
    };
    assert_eq!(record(0), ["admin", "http", "ann", "notices webhooks", ""]);
    assert_eq!(record(1), ["admin", "http", "ann", "", "notices webhooks"]);
    assert_eq!(actions.body["audit"].as_array().unwrap().len(), 2);
}

#[test]
fn the_command_line_shows_and_sets_roles() {
    let server = Server::start();
    let ann = server.member("ann");
    let run = |args: &[&str]| server.cli(args.iter().copied()).succeeded().stdout;
    assert_eq!(run(&["member", "role", "ann"]), "ann has no role.\n");
    assert_eq!(
        run(&["member", "role", "ann", "notices", "analytics:read"]),
        "ann may from now on: notices, analytics:read.\n"
    );
    assert_eq!(run(&["member", "role", "ann"]), "ann may: notices, analytics:read.\n");
    let shown = server.cli(["--json", "member", "role", "ann"]).succeeded().json();
    assert_eq!(shown, json!({ "result": "success", "scopes": ["notices", "analytics:read"] }));
    assert!(run(&["member", "list", "--only", "roles"]).contains("notices, analytics:read"));
    assert!(run(&["member", "show", "ann"]).contains("notices, analytics:read"));
    let sign_ins =
        json!({ "result": "success", "email": 0, "otp": 0, "passkeys": 0, "oidc": 0, "mail": null });
    assert_eq!(server.admin().get("/get_member_sign_ins/ANN").succeeded().body, sign_ins);
    assert_eq!(ann.get("/get_status").outcome(), "200 success");
    let of_ann = server.cli(["--as", "ann", "member", "role", "ann"]).succeeded();
    assert_eq!(of_ann.stdout, "ann may: notices, analytics:read.\n");
    for (args, status) in [
        (&["member", "role", "nobody"][..], 1),
        (&["member", "role", "nobody", "notices"], 1),
        (&["--as", "ann", "member", "role", "ann", "posts"], 1),
        (&["member", "role", "ann", "admin"], 2),
        (&["member", "role", "ann", "notices", "--none"], 2),
        (&["member", "list", "--only", "nobody"], 2),
    ] {
        assert_eq!(server.cli(args.iter().copied()).status, status, "{args:?}");
    }
    assert_eq!(run(&["member", "role", "ann", "--none"]), "ann has no role any more.\n");
    assert_eq!(ann.get("/get_status").body["code"], "not_admin");
    let records = server.cli(["--json", "audit", "list", "--action", "member.role"]).succeeded().json();
    assert_eq!(records["audit"].as_array().unwrap().len(), 2);
    assert_eq!(records["audit"][0]["before"], "notices analytics:read");
}
