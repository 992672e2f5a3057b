//! Signing in with a university account: with the roster verifier, and with the HTTP verifier.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, PASSWORD, Server, TlsProxy, wait_until};

use super::{sign_in, sign_up};

mod bounds;

const ROSTER: &str = "id,name,major,password\n\
    s2026001,Kim Ji-woo,Physics,secret\n\
    S.2026002,이서연,컴퓨터공학과,비밀\n\
    s/2026 003,Ann Example,,pw\n";

/// Starts a server with [`ROSTER`] as its roster.
fn with_roster() -> Server {
    let server = Server::start();
    let report = server.cli_with_input(["--json", "roster", "import", "-"], ROSTER).succeeded().json();
    assert_eq!(
        report,
        json!({ "result": "success", "inserted": 3, "updated": 0, "skipped": 0, "errors": [] })
    );
    server
}

fn sign_in_up(server: &Server, id: &str, pw: &str) -> Answer {
    server.anyone().post("/sign_in_up", json!({ "id": id, "pw": pw }))
}

/// Signs in at the university, and returns the caller with the response of `get_userinfo`.
fn signed_in(server: &Server, id: &str, pw: &str) -> (Caller, Answer) {
    let answer = sign_in_up(server, id, pw).succeeded();
    let caller = server.anyone().with_token(id, answer.text("/access_token"));
    let info = caller.get("/get_userinfo").succeeded();
    (caller, info)
}

#[test]
fn a_roster_member_signs_in_with_the_rosters_password_name_and_major() {
    let server = with_roster();
    let (_, info) = signed_in(&server, "S.2026002", "비밀");
    assert_eq!(info.text("/user_id"), "S.2026002");
    assert_eq!(info.text("/user_name"), "이서연");
    assert_eq!(info.text("/user_major"), "컴퓨터공학과");
    assert_eq!(info.text("/nickname"), "이서연");
    // The bounds of sign_up do not apply: it would refuse a password of two characters and this id.
    assert_eq!(sign_in(&server.anyone(), "s.2026002", "비밀"), "200 success");
    let (_, info) = signed_in(&server, "s/2026 003", "pw");
    assert_eq!(info.text("/user_major"), "");
    assert_eq!(sign_in_up(&server, "s/2026 003", "pw").outcome(), "200 success", "and again");
}

#[test]
fn a_form_signs_in_at_the_university_too() {
    let server = with_roster();
    let answer = server.anyone().form("/sign_in_up", &[("id", "s2026001"), ("pw", "secret")]);
    assert_eq!(answer.outcome(), "200 success");
    assert_eq!(answer.header("cache-control"), "no-store");
}

#[test]
fn the_roster_distinguishes_an_unknown_id_from_a_wrong_password() {
    let server = with_roster();
    assert_eq!(sign_in_up(&server, "s2026009", "secret").outcome(), "200 not school");
    assert_eq!(sign_in_up(&server, "s2026001", "Secret").outcome(), "200 pw incorrect");
    assert_eq!(sign_in_up(&server, "s2026001", "").outcome(), "200 pw incorrect");
    assert_eq!(sign_in(&server.anyone(), "s2026001", "secret"), "200 No member", "no member was created");
}

#[test]
fn the_roster_cannot_create_guest_or_removed() {
    let server = Server::start();
    let roster = "id,name,major,password\nguest,G,,secret\nRemoved,R,,secret\n";
    let _ = server.cli_with_input(["roster", "import", "-"], roster);
    for reserved in ["guest", "Guest", "removed", "REMOVED"] {
        assert_eq!(sign_in_up(&server, reserved, "secret").outcome(), "200 not school", "{reserved}");
        assert_eq!(sign_in(&server.anyone(), reserved, "secret"), "200 No member", "{reserved}");
    }
}

#[test]
fn ids_on_the_roster_are_reserved_in_any_case() {
    let server = with_roster();
    for id in ["s2026001", "S2026001"] {
        assert_eq!(sign_up(&server, id, PASSWORD, "x"), "200 already id");
    }
    assert_eq!(sign_up(&server, "s2026009", PASSWORD, "x"), "200 success");
}

#[test]
fn a_verified_member_follows_a_password_change_at_the_university() {
    let server = with_roster();
    let (old, _) = signed_in(&server, "s2026001", "secret");
    let renewed = "id,name,major,password\ns2026001,Kim Ji-woo,Chemistry,changed\n";
    let report = server.cli_with_input(["--json", "roster", "import", "-"], renewed).succeeded().json();
    assert_eq!(report["updated"], 1, "{report}");
    assert_eq!(sign_in_up(&server, "s2026001", "secret").outcome(), "200 pw incorrect");
    let (_, info) = signed_in(&server, "s2026001", "changed");
    assert_eq!(info.text("/user_major"), "Chemistry");
    assert_eq!(sign_in(&server.anyone(), "s2026001", "changed"), "200 success");
    assert_eq!(sign_in(&server.anyone(), "s2026001", "secret"), "200 incorrect pw");
    // A changed password revokes older tokens.
    assert_eq!(old.get("/get_userinfo").outcome(), "200 not found");
}

#[test]
fn a_signed_up_member_is_linked_if_the_passwords_match_and_refused_otherwise() {
    let server = Server::start();
    let (ann, _) = (server.member("ann"), server.member("bob"));
    let roster = format!("id,name,major,password\nann,Ann Kim,Physics,{PASSWORD}\nbob,Bob Lee,Art,other\n");
    let _ = server.cli_with_input(["roster", "import", "-"], roster);
    let (_, info) = signed_in(&server, "ann", PASSWORD);
    assert_eq!((info.text("/user_name"), info.text("/user_major")), ("Ann Kim".into(), "Physics".into()));
    assert_eq!(info.text("/nickname"), "ann", "the nickname is the member's own");
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 success", "earlier tokens stay valid");
    for pw in ["other", PASSWORD] {
        assert_eq!(sign_in_up(&server, "bob", pw).outcome(), "200 pw incorrect", "{pw}");
    }
    assert_eq!(sign_in(&server.anyone(), "bob", PASSWORD), "200 success");
}

#[test]
fn a_blacklisted_member_is_told_so_after_the_right_password_only() {
    let server = with_roster();
    let admin = server.admin();
    let (kim, _) = signed_in(&server, "s2026001", "secret");
    let _ = admin.get("/push_blacklist/s2026001").succeeded();
    assert_eq!(sign_in_up(&server, "s2026001", "wrong").outcome(), "200 pw incorrect");
    assert_eq!(sign_in_up(&server, "s2026001", "secret").outcome(), "200 blacklist user");
    assert_eq!(kim.get("/get_userinfo").outcome(), "200 not found");
}

#[test]
fn bad_roster_lines_are_reported_and_the_others_are_imported() {
    let server = Server::start();
    let roster = "id,name,major,password\n\
        s1,Kim,Physics,secret\n\
        ,Nobody,Physics,secret\n\
        s2,Lee,Art\n\
        s3,Park,Art,secret\n";
    let report = server.cli_with_input(["--json", "roster", "import", "-"], roster).succeeded().json();
    assert_eq!(report["inserted"], 2, "{report}");
    let lines: Vec<_> = report["errors"].as_array().unwrap().iter().map(|error| &error["line"]).collect();
    assert_eq!(lines, [3, 4], "{report}");
    assert!(report["errors"][0]["reason"].is_string(), "{report}");
    assert_eq!(sign_in_up(&server, "s3", "secret").outcome(), "200 success");
    let again = server.cli_with_input(["--json", "roster", "import", "-"], roster).succeeded().json();
    assert_eq!((&again["inserted"], &again["skipped"]), (&json!(0), &json!(2)), "{again}");
}

#[test]
fn without_a_verifier_the_university_does_not_answer() {
    let server = Server::with(|serve| {
        serve.args(["--verifier", "none"]);
    });
    let _ = server.cli_with_input(["roster", "import", "-"], ROSTER).succeeded();
    assert_eq!(sign_in_up(&server, "s2026001", "secret").outcome(), "200 api error");
    assert_eq!(sign_up(&server, "s2026001", PASSWORD, "x"), "200 success", "and reserves no ids");
}

/// A fake university verifier that listens on its own port.
struct University {
    url: String,
    /// The requests received so far: request line and body.
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

/// How the verifier responds.
enum Behaviour {
    /// Responds with status 200 and this JSON body.
    Json(Value),
    /// Responds with this status, these header lines and this body.
    Response(u16, &'static str, &'static [u8]),
    /// Reads the request and never responds.
    Silent,
    /// Sends one byte at a time, without end.
    Trickle,
}

impl University {
    /// Starts a verifier that calls `behaviour` with the id and password of each request. Its threads end with the
    /// process.
    fn new(behaviour: impl Fn(&str, &str) -> Behaviour + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/verify", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<_>>>::default();
        let (questions, behaviour) = (Arc::clone(&asked), Arc::new(behaviour));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (questions, behaviour) = (Arc::clone(&questions), Arc::clone(&behaviour));
                std::thread::spawn(move || answer(stream, &questions, &*behaviour));
            }
        });
        Self { url, asked }
    }

    /// Starts a server that uses this verifier, with a timeout long enough for a busy machine.
    fn server(&self) -> Server {
        asking(&self.url, 20)
    }
}

/// Starts a server that uses the verifier at `url`, with this timeout in seconds.
fn asking(url: &str, seconds: u64) -> Server {
    let (url, seconds) = (url.to_owned(), seconds.to_string());
    Server::with(move |serve| {
        serve.args(["--verifier", "http", "--verifier-url", &url, "--verifier-timeout", &seconds]);
        serve.args(["--school-ids", "^s[0-9]+$"]);
    })
}

fn answer(
    stream: TcpStream,
    questions: &Mutex<Vec<(String, Value)>>,
    behaviour: &dyn Fn(&str, &str) -> Behaviour,
) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim().to_ascii_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let question: Value = serde_json::from_slice(&body).unwrap();
    let text = |name: &str| question[name].as_str().unwrap().to_owned();
    let (id, pw) = (text("id"), text("pw"));
    let path = first.split(' ').take(2).collect::<Vec<_>>().join(" ");
    questions.lock().unwrap().push((path, question));
    let mut stream = reader.into_inner();
    let mut send = |status: u16, headers: &str, body: &[u8]| {
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n");
        // The server may have closed the connection.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    };
    match behaviour(&id, &pw) {
        Behaviour::Json(body) => send(200, "Content-Type: application/json\r\n", body.to_string().as_bytes()),
        Behaviour::Response(status, headers, body) => send(status, headers, body),
        Behaviour::Silent => drop(stream.read(&mut [0])),
        Behaviour::Trickle => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// Starts a verifier that knows one account: `s1` with the password `secret`.
fn verifier_with_one_account() -> University {
    University::new(|id, pw| {
        let known = id == "s1";
        let verified = known && pw == "secret";
        let name = if verified { "Kim Ji-woo" } else { "" };
        Behaviour::Json(json!({ "verified": verified, "known": known, "name": name, "major": "Physics" }))
    })
}

#[test]
fn a_positive_answer_of_the_verifier_creates_a_member() {
    let university = verifier_with_one_account();
    let server = university.server();
    let (_, info) = signed_in(&server, "s1", "secret");
    assert_eq!((info.text("/user_name"), info.text("/user_major")), ("Kim Ji-woo".into(), "Physics".into()));
    let asked = university.asked.lock().unwrap().clone();
    assert_eq!(asked, [("POST /verify".to_owned(), json!({ "id": "s1", "pw": "secret" }))]);
    assert_eq!(sign_in(&server.anyone(), "s1", "secret"), "200 success");
}

#[test]
fn the_verifier_distinguishes_an_unknown_id_from_a_wrong_password() {
    let server = verifier_with_one_account().server();
    assert_eq!(sign_in_up(&server, "s2", "secret").outcome(), "200 not school");
    assert_eq!(sign_in_up(&server, "s1", "wrong").outcome(), "200 pw incorrect");
    assert_eq!(sign_in(&server.anyone(), "s1", "secret"), "200 No member", "no member was created");
}

#[test]
fn ids_that_match_the_school_pattern_are_reserved() {
    let server = verifier_with_one_account().server();
    assert_eq!(sign_up(&server, "s2026001", PASSWORD, "x"), "200 already id");
    assert_eq!(sign_up(&server, "sam", PASSWORD, "x"), "200 success");
}

#[test]
fn the_verifier_cannot_create_guest_or_removed() {
    let university = University::new(|_, _| {
        Behaviour::Json(json!({ "verified": true, "known": true, "name": "G", "major": "" }))
    });
    let server = university.server();
    for reserved in ["guest", "GUEST", "removed"] {
        assert_eq!(sign_in_up(&server, reserved, "secret").outcome(), "200 not school", "{reserved}");
    }
}

#[test]
fn a_long_name_is_kept_whole_and_truncated_as_nickname() {
    let university = University::new(|id, _| {
        let name = if id == "s1" { format!("\u{1b}[1m{}", "한".repeat(40)) } else { " \n".into() };
        Behaviour::Json(json!({ "verified": true, "known": true, "name": name, "major": "" }))
    });
    let server = university.server();
    let (_, info) = signed_in(&server, "s1", "secret");
    assert_eq!(info.text("/nickname"), format!("[1m{}", "한".repeat(27)));
    let (_, info) = signed_in(&server, "s2", "secret");
    assert_eq!(info.text("/nickname"), "s2", "the name has no visible characters");
}

#[test]
fn a_malformed_verifier_response_is_an_api_error_and_creates_no_member() {
    let yes = br#"{"verified": true, "known": true, "name": "Kim", "major": ""}"#;
    let answers: Vec<(u16, &'static str, &'static [u8])> = vec![
        (200, "", b""),
        (200, "", b"yes"),
        (200, "", b"\xff\xfe\0"),
        (200, "", b"[true]"),
        (200, "", b"{}"),
        (200, "", br#"{"verified": "true", "known": "true", "name": "Kim", "major": ""}"#),
        (200, "", br#"{"verified": true, "known": true, "name": 7, "major": ""}"#),
        (204, "", b""),
        (400, "", yes),
        (401, "", yes),
        (404, "", yes),
        (500, "", yes),
        (503, "Retry-After: 1\r\n", yes),
        (300, "", yes),
        (304, "", b""),
    ];
    for (status, headers, body) in answers {
        let university = University::new(move |_, _| Behaviour::Response(status, headers, body));
        let server = university.server();
        let what = format!("{status} {}", body.escape_ascii());
        assert_eq!(sign_in_up(&server, "s1", "secret").outcome(), "200 api error", "{what}");
        assert_eq!(sign_in(&server.anyone(), "s1", "secret"), "200 No member", "{what}");
    }
}

#[test]
fn redirects_of_the_verifier_are_not_followed() {
    let elsewhere = verifier_with_one_account();
    let location: &'static str = format!("Location: {}\r\n", elsewhere.url).leak();
    for status in [301, 302, 303, 307, 308] {
        let university = University::new(move |_, _| Behaviour::Response(status, location, b""));
        assert_eq!(sign_in_up(&university.server(), "s1", "secret").outcome(), "200 api error", "{status}");
    }
    assert!(elsewhere.asked.lock().unwrap().is_empty());
}

#[test]
fn a_slow_silent_or_unreachable_university_is_an_api_error_within_the_timeout() {
    let silent = University::new(|_, _| Behaviour::Silent);
    let trickling = University::new(|_, _| Behaviour::Trickle);
    // A port without a listener: this one has just been closed.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [silent.url, trickling.url, format!("http://{closed}/")] {
        let server = asking(&url, 1);
        let begin = Instant::now();
        assert_eq!(sign_in_up(&server, "s1", "secret").outcome(), "200 api error", "{url}");
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(4), "{url} took {took:?}");
        assert_eq!(sign_in(&server.anyone(), "s1", "secret"), "200 No member", "{url}");
    }
}

#[test]
fn while_the_university_is_silent_the_service_serves_others() {
    let university = University::new(|_, _| Behaviour::Silent);
    let server = asking(&university.url, 4);
    let ann = server.member("ann");
    std::thread::scope(|scope| {
        let wait = |n: usize| sign_in_up(&server, &format!("s{n}"), "secret").outcome();
        let waiting: Vec<_> = (0..8).map(|n| scope.spawn(move || wait(n))).collect();
        wait_until("all requests have arrived", || university.asked.lock().unwrap().len() == 8);
        assert_eq!(ann.get("/get_userinfo").outcome(), "200 success");
        assert_eq!(server.anyone().get("/get_popularity_newsfeed").outcome(), "200 success");
        assert_eq!(sign_in(&server.anyone(), "ann", PASSWORD), "200 success");
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "all sign-ins are still waiting");
        for waiting in waiting {
            assert_eq!(waiting.join().unwrap(), "200 api error");
        }
    });
}

#[test]
fn a_verifier_with_a_private_certificate_needs_the_file_of_its_authority() {
    let reply = json!({ "verified": true, "known": true, "name": "Ann", "major": "" });
    let university = University::new(move |_, _| Behaviour::Json(reply.clone()));
    let address = university.url.trim_start_matches("http://").trim_end_matches("/verify").parse().unwrap();
    let (proxy, other) = (TlsProxy::before(address), TlsProxy::before(address));
    let with = |file: Option<PathBuf>| {
        let url = format!("{}/verify", proxy.url());
        Server::with(move |serve| {
            serve.args(["--verifier", "http", "--verifier-url", &url, "--verifier-timeout", "20"]);
            if let Some(file) = &file {
                serve.arg("--extra-ca").arg(file);
            }
        })
    };
    for (file, outcome) in [
        (None, "200 api error"),
        (Some(other.authority()), "200 api error"),
        (Some(proxy.authority()), "200 success"),
    ] {
        assert_eq!(sign_in_up(&with(file.clone()), "ann", "secret").outcome(), outcome, "{file:?}");
    }
    let server = Server::start();
    let missing =
        server.cli(["serve", "--verifier", "http", "--verifier-url", &proxy.url(), "--extra-ca", "none.pem"]);
    assert!(missing.status != 0 && missing.stderr.contains("none.pem cannot be read"), "{missing:?}");
}

#[test]
fn only_those_whom_the_settings_allow_become_members() {
    for (setting, sign_up_result, new_member) in [
        ("open", "200 success", "200 success"),
        ("roster", "200 sign_up fail", "200 success"),
        ("closed", "200 sign_up fail", "200 not school"),
    ] {
        let server = Server::with(move |serve| {
            serve.args(["--sign-up", setting]);
        });
        let roster = "id,name,major,password\ns1,Kim,Art,secret\ns2,Lee,Law,secret\nmember,Ann,,secret\n";
        let _ = server.cli_with_input(["roster", "import", "-"], roster).succeeded();
        // The operator signs members up whatever the setting is, and imports make them.
        let args = ["member", "sign-up", "ann", "--nickname", "Ann", "--password-stdin"];
        let _ = server.cli_with_input(args, PASSWORD).succeeded();
        let _ =
            server.cli_with_input(["member", "import", "-"], r#"{"id":"ben","nickname":"Ben"}"#).succeeded();
        assert_eq!(sign_in(&server.anyone(), "ann", PASSWORD), "200 success");
        let form = json!({ "id": "cat", "pw": PASSWORD, "pw_check": PASSWORD, "nickname": "Cat" });
        let answer = server.anyone().post("/sign_up", form);
        assert_eq!(answer.outcome(), sign_up_result, "{setting}");
        let verified = sign_in_up(&server, "s1", "secret");
        assert_eq!(verified.outcome(), new_member, "{setting}");
        for refused in [&answer, &verified].into_iter().filter(|answer| answer.outcome() != "200 success") {
            assert_eq!(refused.body["code"], "sign_up_closed", "{setting}: {refused:?}");
        }
        assert_eq!(sign_in_up(&server, "s2", "wrong").outcome(), "200 pw incorrect", "{setting}");
        assert_eq!(sign_in_up(&server, "s9", "secret").outcome(), "200 not school", "{setting}");
        assert_eq!(sign_in_up(&server, "s9", "secret").body["code"], "unknown_to_university", "{setting}");
    }
    // A member who was verified before is signed in.
    let server = with_roster();
    assert_eq!(sign_in_up(&server, "s2026001", "secret").outcome(), "200 success");
    let closed = Server::at(server.database(), |serve| {
        serve.args(["--sign-up", "closed"]);
    });
    assert_eq!(sign_in_up(&closed, "s2026001", "secret").outcome(), "200 success");
    assert_eq!(sign_in_up(&closed, "S.2026002", "비밀").outcome(), "200 not school");
}

#[test]
fn a_server_where_nobody_can_become_a_member_says_so_at_the_start() {
    let server = Server::with(|serve| {
        serve.args(["--sign-up", "roster", "--verifier", "none"]);
    });
    assert!(server.log().contains("sign-up has no effect"), "{}", server.log());
    assert!(!Server::start().log().contains("has no effect"));
}
