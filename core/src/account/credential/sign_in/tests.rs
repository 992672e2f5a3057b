use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::time::Duration;

use super::*;
use crate::Caller;
use crate::account::SignUp;
use crate::base::client::Client;
use crate::base::config;
use crate::mail::tests::text;
use crate::profile;
use crate::testing::{RunFor as _, Service, import_roster, service, service_with, sign_in, sign_in_up};

const PW: &str = "correct horse";

fn form(id: &str, pw: &str, pw_check: &str, nickname: &str) -> SignUp {
    SignUp { id: id.into(), pw: pw.into(), pw_check: pw_check.into(), nickname: nickname.into(), email: None }
}

fn sign_up(service: &Service, id: &str) -> Caller {
    Caller::token(service.call(&Caller::Guest, form(id, PW, PW, "Nick")).unwrap().access_token)
}

fn id_of(service: &Service, caller: &Caller) -> Result<String> {
    service.call(caller, profile::Get {}).map(|info| info.fields().user_id)
}

fn client() -> Client {
    Client::from(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

#[test]
fn sign_up_checks_lengths_then_the_repetition_then_the_id() {
    let service = service();
    let try_up = |form: SignUp| text(service.call(&Caller::Guest, form));
    assert_eq!(try_up(form("an", PW, "other", "Nick")), "wrong user info");
    assert_eq!(try_up(form("ann", "short", "other", "Nick")), "wrong user info");
    assert_eq!(try_up(form("ann", PW, "other", " ")), "wrong user info");
    assert_eq!(try_up(form("ann", PW, "", "Nick")), "check pw");
    assert_eq!(try_up(form("ann", PW, PW, "Nick")), "success");
    assert_eq!(try_up(form("ANN", PW, "other", "Nick")), "check pw");
    assert_eq!(try_up(form("ANN", PW, PW, "Nick")), "already id");
}

#[test]
fn sign_in_reveals_the_blacklist_only_with_the_right_password() {
    let service = service();
    sign_up(&service, "ann");
    service.blacklist("ann");
    for id in ["nobody", "", "guest"] {
        assert_eq!(text(sign_in(&service, id, PW, None)), "No member", "{id:?}");
    }
    for wrong in ["wrong horse", "", "correct horse ", "Correct horse"] {
        assert_eq!(text(sign_in(&service, "ann", wrong, None)), "incorrect pw", "{wrong:?}");
    }
    assert_eq!(text(sign_in(&service, "ann", PW, None)), "blacklist user");
}

#[test]
fn sign_in_replaces_a_weak_hash_and_tokens_stay_valid() {
    let service = service();
    let token = sign_up(&service, "ann");
    let weak = argon2::Argon2::new(
        argon2::Algorithm::Argon2id,
        argon2::Version::V0x13,
        argon2::Params::new(8_192, 1, 1, None).unwrap(),
    );
    let weak = argon2::PasswordHasher::hash_password(&weak, PW.as_bytes()).unwrap().to_string();
    service.run(&format!("UPDATE member SET password = '{weak}'"));
    sign_in(&service, "ann", PW, None).unwrap();
    assert!(service.texts("SELECT password FROM member")[0].contains("m=19456,t=2,p=1"));
    assert_eq!(id_of(&service, &token).unwrap(), "ann");
}

#[test]
fn a_password_is_changed_with_the_current_one_and_its_repetition() {
    let service = service();
    let ann = sign_up(&service, "ann");
    for (caller, pw, new_pw, new_pw_check, answer) in [
        (&ann, "wrong horse", "a new horse", "a new horse", "incorrect pw"),
        (&ann, PW, "short", "short", "wrong user info"),
        (&ann, PW, "a new horse", "another", "check pw"),
        (&Caller::Guest, PW, "a new horse", "a new horse", "bad token"),
        (&ann, PW, "a new horse", "a new horse", "success"),
    ] {
        let [pw, new_pw, new_pw_check] = [pw, new_pw, new_pw_check].map(str::to_owned);
        assert_eq!(text(service.call(caller, ChangePassword { pw, new_pw, new_pw_check })), answer);
    }
    assert_eq!(text(sign_in(&service, "ann", PW, None)), "incorrect pw");
}

#[test]
fn guessing_is_slowed_for_sign_ins_changes_and_the_university_unless_switched_off() {
    let service = service();
    sign_up(&service, "ann");
    let ben = sign_up(&service, "ben");
    import_roster(&service, ROSTER);
    let change = |pw: &str| {
        let form = ChangePassword { pw: pw.into(), new_pw: PW.into(), new_pw_check: PW.into() };
        text(form.run_for(&service, &ben, Some(client()).into()))
    };
    let verify = |pw: &str| text(sign_in_up(&service, "2026-0001", pw, Some(client())));
    let into = |pw: &str| text(sign_in(&service, "ann", pw, Some(client())));
    let attempts: [&dyn Fn(&str) -> String; 3] = [&into, &change, &verify];
    let answers = [("incorrect pw", PW), ("incorrect pw", PW), ("pw incorrect", "of the university")];
    for (attempt, (wrong, right)) in attempts.into_iter().zip(answers) {
        for _ in 0..6 {
            assert_eq!(attempt("wrong horse"), wrong);
        }
        assert_eq!(attempt(right), "too many requests", "{wrong}");
    }

    let open = service_with(config::Config { sign_in_slowing: false, ..config::Config::default() });
    for _ in 0..7 {
        assert_eq!(text(sign_in(&open, "nobody", PW, Some(client()))), "No member");
    }
}

#[test]
fn an_impossible_id_is_answered_as_unknown_and_counts_for_its_client() {
    let service = service();
    let long = "x".repeat(1 << 20);
    for n in 0..25 {
        assert_eq!(text(sign_in(&service, &format!("{long}{n}"), PW, Some(client()))), "No member");
        assert_eq!(text(sign_in_up(&service, &long, PW, Some(client()))), "not school");
    }
    assert_eq!(text(sign_in(&service, &long, PW, Some(client()))), "too many requests");
    service.clock().set_by(-3 * crate::base::clock::DAY_MS);
    let refused = sign_in(&service, "ann", PW, Some(client())).err();
    assert!(matches!(refused, Some(Error::TooManyRequests { retry_after_s: 900 })), "{refused:?}");
    assert_eq!(text(sign_in(&service, &long, PW, None)), "No member");
}

const ROSTER: &str = "\
id,name,major,password
2026-0001,김서연,Computer Science,of the university
2026-0002,Bo,,another one
2026-0003,,Physics,nameless
2026-0004,Cut short
";

#[test]
fn a_university_member_signs_in_with_the_universitys_password() {
    let service = service();
    import_roster(&service, ROSTER);
    let verified = |id: &str, pw: &str| sign_in_up(&service, id, pw, None);
    for wrong in ["of another", "", "Of the university"] {
        assert_eq!(text(verified("2026-0001", wrong)), "pw incorrect", "{wrong:?}");
    }
    assert_eq!(text(verified("guest", "of the university")), "not school");
    assert_eq!(text(sign_in(&service, "2026-0001", "of the university", None)), "No member");
    let token = Caller::token(verified("2026-0001", "of the university").unwrap().access_token);
    // The university changes the password: the new one is stored, and older tokens are revoked.
    import_roster(&service, &ROSTER.replace("of the university", "of a new term"));
    verified("2026-0001", "of a new term").unwrap();
    assert_eq!(text(id_of(&service, &token)), "not found");
    assert_eq!(text(sign_in(&service, "2026-0001", "of a new term", None)), "success");
    service.blacklist("2026-0001");
    assert_eq!(text(verified("2026-0001", "of a new term")), "blacklist user");
    assert_eq!(text(verified("2026-0001", "of another")), "pw incorrect");
}

#[test]
fn ids_on_the_roster_are_reserved_and_earlier_members_are_linked_by_password() {
    let service = service();
    let earlier = sign_up(&service, "2026-0001");
    sign_up(&service, "2026-0002");
    import_roster(&service, &format!("{}s0005,Kim,Art,secret\n", ROSTER.replace("of the university", PW)));
    for id in ["2026-0001", "s0005", "S0005"] {
        assert_eq!(text(service.call(&Caller::Guest, form(id, PW, PW, "Nick"))), "already id", "{id}");
    }
    let token = sign_in_up(&service, "2026-0001", PW, None).unwrap().access_token;
    for caller in [Caller::token(token), earlier] {
        let info = service.call(&caller, profile::Get {}).unwrap().fields();
        assert_eq!((info.user_name.as_str(), info.nickname.as_str()), ("김서연", "Nick"));
    }
    for wrong in ["another one", PW] {
        assert_eq!(text(sign_in_up(&service, "2026-0002", wrong, None)), "pw incorrect", "{wrong}");
    }
}

const TRICKLE: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";

fn response(status: &str, header: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{header}Connection: close\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// Starts a university's system that sends each of these responses once, and returns its URL. An empty one is silence.
fn university(responses: Vec<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/verify", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for response in responses {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                let mut part = [0; 4_096];
                let read = stream.read(&mut part).unwrap();
                assert!(read > 0);
                request.extend_from_slice(&part[..read]);
            }
            let request = String::from_utf8(request).unwrap();
            let (_, body) = request.split_once("\r\n\r\n").unwrap();
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(body, serde_json::json!({"id": "kim", "pw": PW}));
            if response.is_empty() {
                // Waits until the client gives up.
                let _ = stream.read(&mut [0]);
            }
            // The client does not read a response that is too long to its end.
            let _ = stream.write_all(&response);
            while response == TRICKLE && stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    });
    url
}

fn http(url: String, school_ids: Option<&str>) -> Service {
    let http_verifier = config::HttpVerifier {
        url,
        timeout: Duration::from_millis(500),
        school_ids: school_ids.map(|pattern| pattern.parse().unwrap()),
        ..config::HttpVerifier::default()
    };
    let verifier = config::Verifier::Http;
    service_with(config::Config { verifier, http_verifier, ..config::Config::default() })
}

#[test]
fn only_a_well_formed_response_of_the_university_counts() {
    let yes: &[u8] = br#"{"verified": true, "known": true, "name": "Kim", "major": "Art"}"#;
    let long = format!(r#"{{"verified": true, "known": true, "name": "{}"}}"#, "x".repeat(64 << 10));
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let location = format!("Location: http://{}/\r\n", elsewhere.local_addr().unwrap());
    let wrong = [
        ("200 OK", &b""[..]),
        ("200 OK", b"yes!"),
        ("200 OK", b"\xff\xfe\0"),
        ("200 OK", b"[true]"),
        ("200 OK", b"{}"),
        ("200 OK", br#"{"verified": "true", "known": "true", "name": "Kim", "major": ""}"#),
        ("200 OK", br#"{"verified": true, "known": true, "name": 7, "major": ""}"#),
        ("200 OK", long.as_bytes()),
        ("204 No Content", b""),
        ("304 Not Modified", b""),
    ];
    let mut responses = vec![
        response("200 OK", "", br#"{"verified": false, "known": false}"#),
        response("200 OK", "", br#"{"verified": false, "known": true}"#),
    ];
    responses.extend(wrong.map(|(status, body)| response(status, "", body)));
    let refusals = ["300 Choices", "400 Bad", "401 Unauthorized", "404 Not Found", "500 Failed", "503 Busy"];
    responses.extend(refusals.map(|status| response(status, "", yes)));
    let moved = ["301 X", "302 X", "303 X", "307 X", "308 X"];
    responses.extend(moved.map(|status| response(status, &location, b"")));
    responses.extend([Vec::new(), TRICKLE.to_vec()]);
    let failures = responses.len() - 2;
    responses.push(response("200 OK", "", yes));
    let service = http(university(responses), None);
    let into = || text(sign_in_up(&service, "kim", PW, None));
    assert_eq!(into(), "not school");
    assert_eq!(into(), "pw incorrect");
    for n in 0..failures {
        assert_eq!(into(), "api error", "{n}");
    }
    assert_eq!(text(sign_in(&service, "kim", PW, None)), "No member");
    assert_eq!(into(), "success");
    assert_eq!(into(), "api error", "the university's system is gone");
    assert_eq!(text(sign_in(&service, "kim", PW, None)), "success");
    elsewhere.set_nonblocking(true).unwrap();
    assert!(elsewhere.accept().is_err(), "redirects are not followed");
}

#[test]
fn ids_that_the_pattern_matches_completely_are_reserved() {
    let service = http("http://127.0.0.1:1/".into(), Some("20[0-9]{2}-[0-9]{4}"));
    let up = |id: &str| text(service.call(&Caller::Guest, form(id, PW, PW, "Nick")));
    assert_eq!(up("2026-0001"), "already id");
    assert_eq!(up("x2026-0001"), "success");
    let none = service_with(config::Config { verifier: config::Verifier::None, ..config::Config::default() });
    import_roster(&none, ROSTER);
    assert_eq!(text(sign_in_up(&none, "2026-0001", PW, None)), "api error");
    assert_eq!(text(none.call(&Caller::Guest, form("2026-0001", PW, PW, "Nick"))), "success");
}

#[test]
fn the_university_is_not_asked_about_malformed_ids() {
    let service = http("http://127.0.0.1:1/".into(), None);
    let into = |id: &str| text(sign_in_up(&service, id, PW, None));
    assert_eq!(into(&"x".repeat(128)), "api error");
    for id in ["", "kim\n", "GUEST", &"x".repeat(129)] {
        assert_eq!(into(id), "not school", "{id:?}");
    }
}
