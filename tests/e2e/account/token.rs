//! Access tokens: which ones are valid, and how they are revoked.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::json;
use tidings_tests::jwt::{self, claims, forge};
use tidings_tests::{Caller, PASSWORD, Server, only_on_sqlite};

fn key_file(server: &Server) -> PathBuf {
    server.beside(".key")
}

fn key(server: &Server) -> Vec<u8> {
    std::fs::read(key_file(server)).unwrap()
}

fn is_signed_in(caller: &Caller) -> bool {
    match caller.get("/get_userinfo").outcome().as_str() {
        "200 success" => true,
        "200 not found" => false,
        other => panic!("{other}"),
    }
}

#[test]
fn a_token_names_its_member_and_expires_after_30_days() {
    let server = Server::start();
    let ann = server.member("ann");
    let claims = claims(ann.token());
    let number = |name: &str| claims[name].as_i64().unwrap_or_else(|| panic!("no {name} in {claims}"));
    assert_eq!(claims["sub"], "ann");
    assert_eq!(number("exp") - number("iat"), 30 * 24 * 60 * 60);
    assert!(!claims["gen"].is_null());
    assert_eq!(claims["sid"].as_str().map(str::len), Some(24), "{claims}");
    assert_eq!(claims.as_object().unwrap().len(), 5, "{claims}");
    assert_eq!(jwt::header(ann.token()), json!({ "typ": "JWT", "alg": "HS256" }));
}

#[test]
fn forged_and_expired_tokens_are_invalid() {
    let server = Server::start();
    let (ann, admin) = (server.member("ann"), server.admin());
    let key = key(&server);
    let good = claims(admin.token());
    let [head, payload, signature] = admin.token().split('.').collect::<Vec<_>>().try_into().unwrap();
    let [_, _, anns] = ann.token().split('.').collect::<Vec<_>>().try_into().unwrap();
    // {"alg":"none","typ":"JWT"}.
    let none = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0";
    let mut forged = vec![
        format!("{none}.{payload}."),
        format!("{none}.{payload}.{signature}"),
        forge(&good, "HS256", b"another key, of thirty-two bytes"),
        forge(&good, "HS256", b""),
        forge(&good, "HS512", &key),
        format!("{head}.{payload}."),
        format!("{head}.{payload}.{anns}"),
        format!("{head}.{payload}.{signature}x"),
    ];
    let generation = claims(ann.token())["gen"].clone();
    for (claim, wrong) in [
        ("gen", generation),
        ("gen", json!(null)),
        ("gen", json!(-1)),
        ("sub", json!("nobody")),
        ("sub", json!(null)),
        ("sub", json!("admin\0")),
        ("exp", good["iat"].clone()),
        ("exp", json!("tomorrow")),
        ("exp", json!(null)),
    ] {
        let mut other = good.clone();
        other[claim] = wrong;
        forged.push(forge(&other, "HS256", &key));
    }
    for token in forged {
        let caller = server.anyone().with_token("admin", &token);
        assert!(!is_signed_in(&caller), "{token}");
        let refused = caller.get("/get_blacklist");
        assert_eq!(refused.outcome(), "401 bad token", "{token}");
        assert_eq!(refused.header("www-authenticate"), "Bearer", "{token}");
        assert_eq!(caller.get("/get_popularity_newsfeed").outcome(), "200 success", "{token}");
    }
    let own = server.anyone().with_token("admin", forge(&good, "HS256", &key));
    assert!(is_signed_in(&own), "the key is in the file next to the database");
}

#[test]
fn only_a_bearer_header_authenticates() {
    let server = Server::start();
    let ann = server.member("ann");
    let token = ann.token();
    let twice = format!("Authorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n");
    for (header, outcome) in [
        (&*format!("Authorization: bearer {token}\r\n"), "200 success"),
        (&*format!("Authorization: {token}\r\n"), "200 not found"),
        (&*format!("Authorization: Basic {token}\r\n"), "200 not found"),
        (&*format!("Authorization: Bearer {token},{token}\r\n"), "200 not found"),
        (&*format!("Authorization: Bearer {}\r\n", "a".repeat(6_000)), "200 not found"),
        ("Authorization: Bearer \u{e9}\u{301}🦀\r\n", "200 not found"),
        (&*twice, "200 not found"),
    ] {
        let answer = server.raw(format!("GET /get_userinfo HTTP/1.1\r\nHost: x\r\n{header}\r\n"));
        assert_eq!(answer.outcome(), outcome, "{header:.60}");
    }
    let in_the_address = server.anyone().get(&format!("/get_userinfo?access_token={token}"));
    assert_eq!(in_the_address.outcome(), "200 not found");
}

#[test]
fn revoked_tokens_stay_revoked_and_valid_ones_stay_valid_across_restarts() {
    let mut server = Server::start();
    let admin = server.admin();
    let members = ["ann", "bob", "cleo", "dora", "eve"].map(|id| server.member(id));
    let [ann, bob, cleo, dora, eve] = &members;
    let _ = admin.get("/push_blacklist/ann").succeeded();
    assert_eq!(bob.get("/remove_mine").outcome(), "200 success");
    assert_eq!(cleo.get("/sign_out_all").outcome(), "200 success");
    let change = json!({ "pw": PASSWORD, "new_pw": "battery staple", "new_pw_check": "battery staple" });
    let renewed = dora.post("/change_pw", change).text("/access_token");
    let renewed = dora.with_token("dora", renewed);
    for crash in [false, true] {
        if crash {
            server.kill();
        }
        server.restart();
        for stopped in [ann, bob, cleo, dora] {
            assert!(!is_signed_in(stopped), "{}, crash: {crash}", stopped.id());
        }
        for signed_in in [eve, &renewed, &admin] {
            assert!(is_signed_in(signed_in), "{}, crash: {crash}", signed_in.id());
        }
        assert_eq!(super::sign_in(eve, "eve", PASSWORD), "200 success", "crash: {crash}");
    }
}

#[test]
fn another_key_invalidates_tokens() {
    only_on_sqlite!("a database on a server accepts no key but its own");
    let mut server = Server::start();
    let (ann, made) = (server.member("ann"), key(&server));
    server.stop();
    std::fs::remove_file(key_file(&server)).unwrap();
    server.restart();
    assert_ne!(key(&server), made);
    assert!(!is_signed_in(&ann));
}

#[test]
fn keys_can_come_from_a_file_and_a_variable() {
    let (current, previous) =
        ("a key of one's own, of 32 bytes or more", "the key before that one, of 32 bytes");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token.key");
    std::fs::write(&file, current).unwrap();
    let server = Server::with(move |serve| {
        serve.arg("--token-key-file").arg(&file).env("TIDINGS_TOKEN_KEY_PREVIOUS", previous);
    });
    let ann = server.member("ann");
    let by = |key: &str| ann.with_token("ann", forge(&claims(ann.token()), "HS256", key.as_bytes()));
    assert!(is_signed_in(&by(current)) && is_signed_in(&by(previous)));
    assert!(!is_signed_in(&by("a third key, of thirty-two bytes and more")));
    assert!(!key_file(&server).exists());
}

#[test]
fn the_key_file_is_created_once_and_access_of_others_to_it_is_logged_or_refused() {
    let mut server = Server::start();
    let (ann, made) = (server.member("ann"), key(&server));
    let permissions =
        |server: &Server| std::fs::metadata(key_file(server)).unwrap().permissions().mode() & 0o777;
    assert!(made.len() >= 32 && permissions(&server) == 0o600);
    let set_mode = |server: &Server, mode: u32| {
        std::fs::set_permissions(key_file(server), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    assert!(!server.stop().log.contains("chmod"));
    set_mode(&server, 0o644);
    server.restart();
    assert!(key(&server) == made && is_signed_in(&ann));
    let log = server.stop().log;
    let name = key_file(&server).file_name().unwrap().to_str().unwrap().to_owned();
    let advises = |text: &str| text.lines().any(|line| line.contains("chmod 600 ") && line.contains(&name));
    assert!(log.contains("WARN") && advises(&log), "{log}");
    set_mode(&server, 0o646);
    let refused = server.cli(["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status, 3, "{refused:?}");
    assert!(advises(&refused.stderr), "{refused:?}");
}
