//! Signing in with a university account: with the roster verifier, and with the HTTP verifier.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tidings_tests::{Answer, PASSWORD, Server, TlsProxy, wait_until};

use super::sign_in;

const ROSTER: &str = "id,name,major,password\n\
    s2026001,Kim Ji-woo,Physics,secret\n\
    S.2026002,이서연,컴퓨터공학과,비밀\n";

fn sign_in_up(server: &Server, id: &str, pw: &str) -> Answer {
    server.anyone().post("/sign_in_up", json!({ "id": id, "pw": pw }))
}

#[test]
fn a_roster_member_signs_in_with_the_rosters_password_name_and_major() {
    let server = Server::start();
    let report = server.cli_with_input(["--json", "roster", "import", "-"], ROSTER).succeeded().json();
    assert_eq!(
        report,
        json!({ "result": "success", "inserted": 2, "updated": 0, "skipped": 0, "errors": [] })
    );
    let answer = server.anyone().form("/sign_in_up", &[("id", "S.2026002"), ("pw", "비밀")]);
    assert_eq!((answer.outcome().as_str(), answer.header("cache-control")), ("200 success", "no-store"));
    let info = server.anyone().with_token("S.2026002", answer.text("/access_token")).get("/get_userinfo");
    for (field, value) in [
        ("/user_id", "S.2026002"),
        ("/user_name", "이서연"),
        ("/user_major", "컴퓨터공학과"),
        ("/nickname", "이서연"),
    ] {
        assert_eq!(info.text(field), value, "{field}");
    }
    // The bounds of sign_up do not apply: it would refuse a password of two characters.
    assert_eq!(sign_in(&server.anyone(), "s.2026002", "비밀"), "200 success");

    // Where nobody can become a member any more, this one still signs in.
    let closed = Server::at(server.database(), |serve| {
        serve.args(["--sign-up", "closed"]);
    });
    assert_eq!(sign_in_up(&closed, "S.2026002", "비밀").outcome(), "200 success");
    assert_eq!(sign_in_up(&closed, "s2026001", "secret").outcome(), "200 not school");
}

/// A fake university that listens on its own port, and sends each request this answer with status 200, or none.
struct University {
    url: String,
    /// The requests received so far: request line and body.
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl University {
    /// Its threads end with the process.
    fn new(answer: Option<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/verify", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<_>>>::default();
        let (questions, answer) = (Arc::clone(&asked), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (questions, answer) = (Arc::clone(&questions), Arc::clone(&answer));
                std::thread::spawn(move || respond(stream, &questions, (*answer).as_ref()));
            }
        });
        Self { url, asked }
    }

    /// Starts a server that asks it, with this timeout in seconds.
    fn server(&self, seconds: &'static str) -> Server {
        let url = self.url.clone();
        Server::with(move |serve| {
            serve.args(["--verifier", "http", "--verifier-url", &url, "--verifier-timeout", seconds]);
            serve.args(["--school-ids", "^s[0-9]+$"]);
        })
    }
}

fn respond(stream: TcpStream, questions: &Mutex<Vec<(String, Value)>>, answer: Option<&Value>) {
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
    let path = first.split(' ').take(2).collect::<Vec<_>>().join(" ");
    questions.lock().unwrap().push((path, serde_json::from_slice(&body).unwrap()));
    let Some(answer) = answer.map(Value::to_string) else { return drop(reader.read(&mut [0])) };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
    // The server may have closed the connection.
    let _ = reader.into_inner().write_all([head, answer].concat().as_bytes());
}

/// Returns the answer that the id and the password are those of a member of the university.
fn yes() -> Value {
    json!({ "verified": true, "known": true, "name": "Kim Ji-woo", "major": "Physics" })
}

#[test]
fn a_positive_answer_of_the_verifier_creates_a_member() {
    let university = University::new(Some(yes()));
    // The timeout is long enough for a busy machine.
    let server = university.server("20");
    let token = sign_in_up(&server, "s1", "secret").succeeded().text("/access_token");
    let info = server.anyone().with_token("s1", token).get("/get_userinfo").succeeded();
    assert_eq!((info.text("/user_name"), info.text("/user_major")), ("Kim Ji-woo".into(), "Physics".into()));
    let asked = university.asked.lock().unwrap().clone();
    assert_eq!(asked, [("POST /verify".to_owned(), json!({ "id": "s1", "pw": "secret" }))]);
    assert_eq!(sign_in(&server.anyone(), "s1", "secret"), "200 success");
    assert_eq!(super::sign_up(&server, "s2026001", PASSWORD, "x"), "200 already id");
}

#[test]
fn while_the_university_is_silent_the_service_serves_others() {
    let university = University::new(None);
    let server = university.server("4");
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
    let university = University::new(Some(yes()));
    let address = university.url.trim_start_matches("http://").trim_end_matches("/verify").parse().unwrap();
    let proxy = TlsProxy::before(address);
    let with = |file: Option<PathBuf>| {
        let url = format!("{}/verify", proxy.url());
        Server::with(move |serve| {
            serve.args(["--verifier", "http", "--verifier-url", &url, "--verifier-timeout", "20"]);
            if let Some(file) = &file {
                serve.arg("--extra-ca").arg(file);
            }
        })
    };
    assert_eq!(sign_in_up(&with(None), "ann", "secret").outcome(), "200 api error");
    let server = with(Some(proxy.authority()));
    assert_eq!(sign_in_up(&server, "ann", "secret").outcome(), "200 success");
    let missing =
        server.cli(["serve", "--verifier", "http", "--verifier-url", &proxy.url(), "--extra-ca", "none.pem"]);
    assert!(missing.status != 0 && missing.stderr.contains("none.pem cannot be read"), "{missing:?}");
}

#[test]
fn only_those_whom_the_settings_allow_become_members() {
    for (setting, new_member) in [("roster", "200 success"), ("closed", "200 not school")] {
        let server = Server::with(move |serve| {
            serve.args(["--sign-up", setting]);
        });
        let roster = "id,name,major,password\ns1,Kim,Art,secret\n";
        let _ = server.cli_with_input(["roster", "import", "-"], roster).succeeded();
        // The operator signs members up whatever the setting is.
        let args = ["member", "sign-up", "ann", "--nickname", "Ann", "--password-stdin"];
        let _ = server.cli_with_input(args, PASSWORD).succeeded();
        assert_eq!(sign_in(&server.anyone(), "ann", PASSWORD), "200 success");
        let form = json!({ "id": "cat", "pw": PASSWORD, "pw_check": PASSWORD, "nickname": "Cat" });
        let answer = server.anyone().post("/sign_up", form);
        assert_eq!((&*answer.outcome(), &*answer.text("/code")), ("200 sign_up fail", "sign_up_closed"));
        assert_eq!(sign_in_up(&server, "s1", "secret").outcome(), new_member, "{setting}");
        assert_eq!(sign_in_up(&server, "s9", "secret").body["code"], "unknown_to_university", "{setting}");
    }
}

#[test]
fn a_server_where_nobody_can_become_a_member_says_so_at_the_start() {
    let mut server = Server::with(|serve| {
        serve.args(["--sign-up", "roster", "--verifier", "none"]);
    });
    let log = server.stop().log;
    assert!(log.contains("sign-up has no effect"), "{log}");
}
