//! Administration on the record: API keys, sessions, the second factor and the audit trail.

use serde_json::{Value, json};
use tidings_tests::totp::code;
use tidings_tests::{Caller, PASSWORD, Server, wait_until};

fn key(server: &Server, name: &str, scopes: &str) -> Caller {
    let made = server.cli(["--json", "key", "add", name, "--scope", scopes]).succeeded().json();
    server.anyone().with_token(name, made["key"].as_str().unwrap())
}

/// Returns who did what to what, latest first.
fn audit(server: &Server) -> Vec<String> {
    let listed = server.cli(["--json", "audit", "list"]).succeeded().json();
    let line = |record: &Value| {
        let texts = ["actor_kind", "actor", "surface", "action", "subject", "before", "after"];
        let texts = texts.iter().map(|name| record[*name].as_str().unwrap());
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    };
    listed["audit"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn a_script_administers_with_a_key_that_is_revoked_at_once() {
    let server = Server::start();
    let boss = server.admin();
    let importer = key(&server, "importer", "posts:import,notices");
    let line = r#"{"title": "One", "url": "https://news.example.org/1"}"#;
    let import = || importer.request("POST", "/import_posts").body("application/x-ndjson", line).send();
    assert_eq!(import().succeeded().body["inserted"], 1);
    let _ = importer.post("/insert_notice", json!({ "title": "T", "post": "P" })).succeeded();
    let refused = importer.get("/get_all_feedback");
    assert_eq!(refused.outcome(), "403 Not admin");
    assert_eq!(refused.body["code"], "missing_scope");
    assert_eq!(refused.body["message"], "this needs an API key or a role with the scope feedback");
    // A key is no member.
    assert_eq!(importer.get("/get_userinfo").outcome(), "200 not found");
    assert_eq!(importer.get("/get_recommendation_newsfeed").outcome(), "200 success");

    wait_until("the last use is written", || {
        boss.get("/get_keys").succeeded().body["keys"][0]["last_used"].is_string()
    });
    let listed = boss.get("/get_keys").succeeded();
    assert_eq!(listed.body["keys"][0]["scopes"], json!(["notices", "posts:import"]));
    assert!(!format!("{:?}", listed.body).contains(importer.token().trim_start_matches("tidings_")));
    let _ = server.cli(["key", "revoke", "importer"]).succeeded();
    assert_eq!(import().outcome(), "401 bad token");
    assert!(!server.log().contains(importer.token()), "the log has no key");
}

#[test]
fn a_member_sees_their_devices_and_signs_one_out() {
    let server = Server::start();
    let (ann, boss) = (server.member("ann"), server.admin());
    let form = json!({ "id": "ann", "pw": PASSWORD });
    let phone =
        server.anyone().with_header("user-agent", "Mozilla/5.0 (iPhone) Version/18.0 Safari/604.1 OPT/4.6");
    let token = phone.post("/sign_in", form).succeeded().text("/access_token");
    let phone = server.anyone().with_token("ann", token);
    let listed = ann.get("/get_sessions").succeeded();
    assert_eq!(listed.list("sessions").len(), 2);
    assert_eq!(listed.header("cache-control"), "no-store");
    let session =
        listed.list("sessions").iter().find(|session| session["device"] == "Opera on iPhone").unwrap();
    assert_eq!(session["current"], 0);
    let id = session["_id"].as_str().unwrap();
    assert_eq!(boss.get(&format!("/sign_out_session/{id}")).outcome(), "404 Not found");
    assert_eq!(ann.get(&format!("/sign_out_session/{id}")).outcome(), "200 success");
    assert_eq!(phone.get("/get_userinfo").outcome(), "200 not found");
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 success");

    let shown = server.cli(["member", "sessions", "ann"]).succeeded().stdout;
    assert!(shown.contains("unknown") && !shown.contains("iPhone"), "{shown}");
    let own = boss.get("/get_member_sessions/ann").succeeded().text("/sessions/0/_id");
    let sign_out = ["member", "sign-out", "ann", "--session", &own];
    let _ = server.cli(sign_out).succeeded();
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 not found");
    let again = server.cli(sign_out);
    assert!(again.status == 1 && again.stderr.contains("tidings member sessions ann"), "{again:?}");
    assert_eq!(boss.get("/sign_out_member/ann").outcome(), "200 success");
    assert_eq!(audit(&server)[0], "member admin http member.sign_out ann everywhere");
}

/// Runs 100 revocations, or as many as the variable `TIDINGS_REVOCATIONS` says.
#[test]
fn revocations_take_effect_in_the_next_request() {
    let revocations: usize =
        std::env::var("TIDINGS_REVOCATIONS").map_or(100, |number| number.parse().unwrap());
    let server = Server::with(|serve| {
        serve.args(["--client-limits", "off"]);
    });
    let boss = server.admin();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (boss, anyone) = (boss.clone(), server.anyone());
            scope.spawn(move || {
                for n in 0..revocations / 4 {
                    let name = format!("key {thread} {n}");
                    let draft = json!({ "name": name, "scopes": ["members:read"] });
                    let made = boss.post("/add_key", draft).succeeded();
                    let key = anyone.with_token("key", made.text("/key"));
                    assert_eq!(key.get("/get_blacklist").outcome(), "200 success");
                    let _ = boss.get(&format!("/remove_key/{}", made.text("/_id"))).succeeded();
                    assert_eq!(key.get("/get_blacklist").outcome(), "401 bad token", "{name}");
                }
            });
        }
    });
    assert_eq!(boss.get("/verify_audit").succeeded().body["intact"], true);
}

#[test]
fn a_member_who_has_forgotten_their_password_chooses_a_new_one_with_a_code() {
    let mut server = Server::start();
    let (anyone, ann, boss) = (server.anyone(), server.member("ann"), server.admin());
    let reset = |code: &str| {
        let form = json!({ "code": code, "new_pw": "a new sentence", "new_pw_check": "a new sentence" });
        anyone.post("/reset_pw", form)
    };
    let sign_in = |pw: &str| anyone.post("/sign_in", json!({ "id": "ann", "pw": pw })).outcome();
    assert_eq!(boss.get("/issue_pw_reset/nobody").outcome(), "404 Not found");
    let code = boss.get("/issue_pw_reset/ann").succeeded().text("/code");
    let wrong = reset("8k2m-0qwz-7hn4-c9xe");
    assert_eq!((&*wrong.outcome(), &*wrong.text("/field")), ("200 incorrect code", "code"));
    assert_eq!(reset(&code).body, json!({ "result": "success" }));
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 not found", "the member is signed out");
    assert_eq!((&*sign_in(PASSWORD), &*sign_in("a new sentence")), ("200 incorrect pw", "200 success"));

    // The same with the command line.
    let issued = server.cli(["member", "reset-password", "ANN"]).succeeded();
    let shown = issued.stdout.trim().to_owned();
    assert!(issued.stderr.contains("Give the code to ANN"), "{}", issued.stderr);
    let new = ["member", "new-password", "--password-stdin"];
    let both = format!("{shown}\nthird sentence\n");
    for (input, status, says) in [
        (&shown, 2, "write the code on the first line"),
        (&both, 0, "You have a new password, and are signed out everywhere."),
        (&both, 1, "incorrect code"),
    ] {
        let output = server.cli_with_input(new, input);
        let said = format!("{}{}", output.stdout, output.stderr);
        assert!(output.status == status && said.contains(says), "{output:?}");
    }
    assert_eq!(sign_in("third sentence"), "200 success");
    let trail = audit(&server);
    for line in [
        "member admin http member.reset_code ann",
        "member ann http member.reset_password ann",
        "cli member.reset_code ann",
        "member ann cli member.reset_password ann",
    ] {
        assert!(trail.iter().any(|entry| entry.ends_with(line)), "{line}: {trail:?}");
    }
    assert!(!server.stop().log.contains(&shown));
}

#[test]
fn an_administrator_signs_in_with_a_second_factor() {
    let server = Server::with(|serve| {
        serve.args(["--require-otp", "--sign-in-slowing", "off"]);
    });
    let boss = server.admin();
    let refused = boss.get("/get_blacklist");
    assert_eq!((&*refused.outcome(), &*refused.text("/code")), ("403 Not admin", "second_factor_needed"));
    assert_eq!(boss.get("/check_admin").body["code"], "second_factor_needed");
    let missing = boss.post("/begin_otp", json!({ "pw": PASSWORD }));
    assert_eq!((&*missing.outcome(), &*missing.text("/field")), ("200 otp required", "enrolment_code"));
    let thief = server.anyone().post("/sign_in", json!({ "id": "admin", "pw": PASSWORD })).succeeded();
    let thief = server.anyone().with_token("admin", thief.text("/access_token"));
    let code_of = |id: &str| server.cli(["member", "otp", id, "--json"]).succeeded().json();
    let issued = code_of("admin")["enrolment_code"].as_str().unwrap().to_owned();
    let begun = boss.post("/begin_otp", json!({ "pw": PASSWORD, "enrolment_code": issued })).succeeded();
    let secret = begun.text("/secret");
    assert_eq!(begun.text("/uri"), format!("otpauth://totp/tidings:admin?secret={secret}&issuer=tidings"));
    let qr = begun.text("/qr");
    assert!(qr.starts_with("<svg ") && qr.ends_with("</svg>"), "{qr}");
    let enabled = boss.post("/enable_otp", json!({ "otp": code(&secret, -1) })).succeeded();
    assert_eq!(enabled.list("recovery_codes").len(), 10);
    assert_eq!(boss.get("/get_blacklist").outcome(), "200 success");
    assert_eq!(thief.get("/get_userinfo").outcome(), "200 not found", "the other sessions end");
    assert_eq!(boss.get("/get_otp").body, json!({ "result": "success", "enabled": 1, "recovery_codes": 10 }));

    let sign_in = |otp: Option<String>| {
        server.anyone().post("/sign_in", json!({ "id": "admin", "pw": PASSWORD, "otp": otp }))
    };
    let missing = sign_in(None);
    assert_eq!((&*missing.outcome(), &*missing.text("/field")), ("200 otp required", "otp"));
    assert_eq!(sign_in(Some("12345".into())).outcome(), "200 incorrect otp");
    assert_eq!(sign_in(Some(code(&secret, 0))).outcome(), "200 success");
    let recovery = enabled.text("/recovery_codes/0");
    let typed = format!("{PASSWORD}\n");
    let cli = ["member", "sign-in", "admin", "--password-stdin", "--otp", &recovery];
    let _ = server.cli_with_input(cli, &typed).succeeded();
    let again = server.cli_with_input(cli, &typed);
    assert!(again.status == 1 && again.stderr.contains("incorrect otp"), "{}", again.stderr);

    let _ = server.cli(["member", "reset-otp", "admin"]).succeeded();
    assert_eq!(boss.get("/check_admin").body["code"], "bad_token");
    assert_eq!(sign_in(None).outcome(), "200 success");
    let trail = audit(&server);
    assert!(trail[0].ends_with("cli member.otp_reset admin"), "{trail:?}");
    for line in ["http member.otp_enable admin", "cli member.otp_code admin"] {
        assert!(trail.iter().any(|record| record.ends_with(line)), "{line}: {trail:?}");
    }
}

#[test]
fn what_was_done_is_listed_verified_and_exported() {
    let server = Server::start();
    let (boss, _) = (server.admin(), server.member("mallory"));
    let id =
        boss.post("/insert_notice", json!({ "title": "Closed", "post": "Text" })).succeeded().text("/_id");
    let _ = boss.get("/push_blacklist/mallory").succeeded();
    let _ = server.cli(["notice", "edit", &id, "--activation", "0"]).succeeded();
    let listed = audit(&server);
    let update = format!("cli notice.update {id} Closed (shown, 4 characters) Closed (hidden, 4 characters)");
    assert!(listed[0].ends_with(&update), "{listed:?}");
    let insert = format!("member admin http notice.insert {id} Closed (shown, 4 characters)");
    assert_eq!(listed[1..3], ["member admin http member.blacklist mallory".to_owned(), insert]);
    let page = boss.get("/get_audit?action=notice&limit=1").succeeded();
    assert_eq!((page.list("audit").len(), &page.body["audit"][0]["action"]), (1, &json!("notice.update")));
    let next = page.body["next"].as_i64().unwrap();
    let rest = boss.get(&format!("/get_audit?action=notice&before={next}")).succeeded();
    assert_eq!((rest.list("audit").len(), &rest.body["next"]), (1, &Value::Null));
    assert_eq!(boss.get("/get_audit?action=song").outcome(), "400 bad request");

    let verified = server.cli(["audit", "verify"]).succeeded().stdout;
    let head = verified.lines().nth(1).unwrap().to_owned();
    let exported = server.cli(["audit", "export", "-"]).succeeded().stdout;
    assert_eq!(exported.lines().count(), listed.len());
    let first: Value = serde_json::from_str(exported.lines().next().unwrap()).unwrap();
    assert_eq!((&first["seq"], &first["stored"]["actor"]), (&json!(1), &json!("operator")));

    // The member goes, and so does their id.
    let _ = boss.get("/admin_remove_user/mallory").succeeded();
    assert!(!audit(&server).join("\n").contains("mallory"), "{:?}", audit(&server));
    let _ = server.cli(["audit", "verify", "--head", &head]).succeeded();
    assert_eq!(boss.get(&format!("/verify_audit?head={head}")).succeeded().body["intact"], true);

    server.sql().execute("UPDATE audit SET new_value = 'nothing' WHERE action = 'notice.insert'", &[]);
    let broken = server.cli(["audit", "verify"]);
    assert_eq!(broken.status, 1);
    assert!(broken.stdout.contains("not intact: record"), "{}", broken.stdout);
    let broken = boss.get("/verify_audit").succeeded();
    assert_eq!(broken.body["intact"], false);
    assert_eq!(broken.text("/fault/reason"), "the record was changed, or the one before was replaced");
}
