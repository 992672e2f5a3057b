//! Mail to members, with a mail server that runs in Python (aiosmtpd).

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;
use tidings_tests::{Authority, Caller, Output, Server, run, wait_until};

use crate::programs::has_python_module;

/// How connections are encrypted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encryption {
    None,
    StartTls,
    Implicit,
}

/// A running mail server. Dropping the value stops it.
struct MailServer {
    process: Child,
    port: u16,
    encryption: Encryption,
    directory: TempDir,
    mails: Arc<Mutex<Vec<Value>>>,
}

impl MailServer {
    /// Starts a mail server that answers after a time that it has taken a mail, or says that Python lacks what it needs.
    fn start(encryption: Encryption, delay_ms: u32) -> Option<Self> {
        if !has_python_module("aiosmtpd") {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::new("mail");
        std::fs::write(directory.path().join("authority.pem"), authority.pem()).unwrap();
        std::fs::write(directory.path().join("password"), "sesame\n").unwrap();
        authority.issue_to(directory.path());
        let mode = match encryption {
            Encryption::None => "plain",
            Encryption::StartTls => "starttls",
            Encryption::Implicit => "tls",
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/e2e/mail/server.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(mode).arg(directory.path()).arg(delay_ms.to_string());
        command.env("PYTHONPATH", crate::programs::python_modules()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap().parse().unwrap();
        let mails = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&mails);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        Some(Self { process, port, encryption, directory, mails })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the settings of a service that sends over it.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let port = self.port;
        let url = match self.encryption {
            Encryption::None => format!("smtp+plain://127.0.0.1:{port}"),
            Encryption::StartTls => format!("smtp://tidings@localhost:{port}"),
            Encryption::Implicit => format!("smtps://tidings@localhost:{port}"),
        };
        let mut settings = vec![
            ("TIDINGS_SMTP_URL", url),
            ("TIDINGS_MAIL_FROM", "Campus <no-reply@campus.example>".to_owned()),
            ("TIDINGS_PUBLIC_URL", "https://campus.example/api".to_owned()),
        ];
        if self.encryption != Encryption::None {
            settings.push(("TIDINGS_EXTRA_CA", self.file("authority.pem").display().to_string()));
            settings.push(("TIDINGS_SMTP_PASSWORD_FILE", self.file("password").display().to_string()));
        }
        settings
    }

    /// Starts a service that sends over it.
    fn service(&self) -> Server {
        let settings = self.settings();
        Server::with(move |serve| {
            serve.envs(settings.clone());
        })
    }

    /// Runs a command with these settings on the database of a server.
    fn cli(&self, server: &Server, args: &[&str], input: &str) -> Output {
        let mut command = server.command();
        command.envs(self.settings()).args(args);
        run(command, input)
    }

    fn mails(&self) -> Vec<Value> {
        self.mails.lock().unwrap().clone()
    }

    /// Returns the mail with this number once it has arrived.
    fn mail(&self, number: usize) -> Value {
        wait_until("the mail has arrived", || self.mails().len() > number);
        self.mails()[number].clone()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the code of a mail, which is on a line of its own.
fn code(mail: &Value) -> String {
    let text = mail["text"].as_str().unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("    "));
    line.unwrap_or_else(|| panic!("no code: {text}")).to_owned()
}

fn sign_up(server: &Server, id: &str, email: &str) -> Caller {
    let form = json!({ "id": id, "pw": "correct horse", "pw_check": "correct horse", "nickname": id, "email": email });
    let token = server.anyone().post("/sign_up", form).succeeded().text("/access_token");
    server.anyone().with_token(id, token)
}

#[test]
fn an_address_is_confirmed_and_a_forgotten_password_chosen_with_the_codes_of_mails() {
    let Some(mail_server) = MailServer::start(Encryption::StartTls, 0) else { return };
    let server = mail_server.service();
    let guest = server.anyone();
    let ann = sign_up(&server, "ann", "Ann@example.org");
    let mail = mail_server.mail(0);
    assert_eq!(mail["to"], json!(["Ann@example.org"]));
    assert_eq!(mail["from"], "Campus <no-reply@campus.example>");
    assert_eq!(
        (&mail["encrypted"], &mail["user"], &mail["automatic"]),
        (&json!(true), &json!("tidings"), &json!("auto-generated"))
    );
    assert!(mail["html"].as_str().unwrap().contains(&format!("<code>{}", code(&mail))));
    assert_eq!(ann.post("/confirm_email", json!({ "code": code(&mail) })).outcome(), "200 success");
    assert_eq!(ann.get("/get_email").succeeded().body["email"], "Ann@example.org");

    for id in ["nobody", "ANN@EXAMPLE.ORG"] {
        assert_eq!(guest.post("/request_pw_reset", json!({ "id": id })).outcome(), "200 success");
    }
    let mail = mail_server.mail(1);
    let link = format!("<https://campus.example/api/account/password#{}>", code(&mail));
    assert!(mail["text"].as_str().unwrap().contains(&link), "{mail}");
    let new = json!({ "code": code(&mail), "new_pw": "battery staple", "new_pw_check": "battery staple" });
    assert_eq!(guest.post("/reset_pw", new.clone()).outcome(), "200 success");
    assert_eq!(mail_server.mail(2)["subject"], "Your password for Campus has changed");
    assert_eq!(guest.post("/reset_pw", new.clone()).outcome(), "200 incorrect code");
    assert_eq!(ann.get("/get_email").status, 401, "signed out everywhere");

    // The command line does the same.
    let cli = |args: &[&str], input: &str| mail_server.cli(&server, args, input).succeeded().stdout;
    let _ = cli(&["member", "forgotten", "ann"], "");
    let lines = format!("{}\nanother battery\n", code(&mail_server.mail(3)));
    let _ = cli(&["member", "new-password", "--password-stdin"], &lines);
    let _ = mail_server.mail(4);
    let set = ["--as", "ann", "member", "set-email", "ann@new.example", "--password-stdin"];
    let _ = cli(&set, "another battery\n");
    let mut both = [mail_server.mail(5), mail_server.mail(6)];
    both.sort_by_key(|mail| mail["to"].to_string());
    let [told, mail] = both;
    assert_eq!(told["subject"], "Another address was given to your account of Campus");
    assert_eq!((&told["to"], &mail["to"]), (&json!(["Ann@example.org"]), &json!(["ann@new.example"])));
    let _ = cli(&["--as", "ann", "member", "confirm-email", "--password-stdin"], &code(&mail));
    assert_eq!(mail_server.mail(7)["to"], json!(["Ann@example.org"]), "the old address is told");
    assert_eq!(cli(&["--as", "ann", "member", "email"], ""), "ann@new.example\n");
    wait_until("nothing waits", || server.cli(["mail", "list", "--json"]).stdout.contains(r#""mails":[]"#));
    let log = server.log();
    assert!(!log.contains("example.org") && !log.contains("new.example"), "{log}");
}

#[test]
fn a_test_and_a_check_say_what_the_mail_server_answers() {
    let Some(mail_server) = MailServer::start(Encryption::Implicit, 0) else { return };
    let server = mail_server.service();
    let run = |args: &[&str]| {
        let done = mail_server.cli(&server, args, "");
        (done.status, done.stdout)
    };
    assert_eq!(
        run(&["mail", "test", "ann@example.org"]),
        (0, "The mail server has taken a mail to ann@example.org.\n".into())
    );
    assert_eq!(mail_server.mail(0)["subject"], "A test from Campus");
    // Other checks may fail: a test's server of PostgreSQL is not durable.
    let (_, shown) = run(&["check"]);
    assert!(shown.contains("✓ ok     mail") && shown.contains("answers, and accepts the sign-in"), "{shown}");
    let boss = server.admin();
    let tested = boss.post("/test_mail", json!({ "email": "eve@missing.example" })).succeeded();
    assert_eq!(tested.body["error"], "the mail server answered 550");
    assert_eq!(boss.post("/test_mail", json!({ "email": "nobody" })).outcome(), "400 bad request");

    std::fs::write(mail_server.file("password"), "wrong\n").unwrap();
    let refused = "No mail was sent: the mail server answered 535.\n";
    assert_eq!(run(&["mail", "test", "ann@example.org"]), (1, refused.into()));
    let (status, shown) = run(&["check"]);
    assert!(status == 1 && shown.contains("the mail server answered 535; correct smtp-url"), "{shown}");
}

#[test]
fn a_mail_that_no_mailbox_takes_is_given_up_and_listed_without_its_address() {
    let Some(mail_server) = MailServer::start(Encryption::None, 0) else { return };
    let server = mail_server.service();
    let boss = server.admin();
    let _ = sign_up(&server, "ann", "ann@missing.example");
    let listed = || boss.get("/get_mails").succeeded();
    wait_until("it is given up", || listed().body["mails"][0]["state"] == "dead");
    let mail = listed().body["mails"][0].clone();
    assert_eq!(
        (&mail["kind"], &mail["user_id"], &mail["attempts"]),
        (&json!("confirm"), &json!("ann"), &json!(1))
    );
    assert_eq!(mail["error"], "the mail server answered 550");
    let shown = server.cli(["mail", "list"]).succeeded().stdout;
    assert!(shown.contains("given up") && !shown.contains("missing.example"), "{shown}");
    let _ = server.cli(["mail", "retry", mail["_id"].as_str().unwrap()]).succeeded();
    wait_until("it is tried again", || mail_server.mails().len() == 2);
    assert_eq!(
        mail_server.mails(),
        [json!({ "refused": "ann@missing.example" }), json!({ "refused": "ann@missing.example" })]
    );
    assert!(!server.log().contains("missing.example"));
}

#[test]
fn the_pages_for_codes_hide_passwords_and_load_nothing_from_elsewhere() {
    let server = Server::start();
    let page = |path: &str| {
        let answer = server.anyone().get(path);
        (String::from_utf8(answer.bytes.clone()).unwrap(), answer)
    };
    let (text, password) = page("/account/password");
    assert_eq!(password.status, 200);
    assert_eq!(text.matches("type=\"password\" required autocomplete=\"new-password\"").count(), 2, "{text}");
    for part in ["<html lang=\"en\">", "<main>", "<a href=\"/\">Back to ", "autocomplete=\"one-time-code\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(password.header("content-security-policy").starts_with("default-src 'none'; script-src 'self'"));
    for (path, has) in [
        ("/account/email", "action=\"../confirm_email\""),
        ("/account/page.js", "location.hash"),
        ("/account/page.css", "color-scheme"),
    ] {
        assert!(page(path).0.contains(has), "{path}");
    }
    assert_eq!(page("/account/nothing").1.status, 404);
}

/// The number of kills, which a variable raises.
fn rounds() -> usize {
    std::env::var("TIDINGS_TEST_MAIL_ROUNDS").map_or(5, |rounds| rounds.parse().unwrap())
}

#[test]
fn a_server_that_is_killed_after_sending_loses_no_mail_and_sends_each_once_more_at_most() {
    // The mail server has a mail for some time before it says so.
    let Some(mail_server) = MailServer::start(Encryption::None, 60) else { return };
    let mut server = mail_server.service();
    let (boss, rounds, mut again) = (server.admin(), rounds(), 0);
    for round in 0..rounds {
        let before = mail_server.mails().len();
        let _ = sign_up(&server, &format!("member{round}"), &format!("member{round}@example.org"));
        wait_until("the mail server has it", || mail_server.mails().len() > before);
        std::thread::sleep(std::time::Duration::from_millis(u64::try_from(round % 10).unwrap() * 12));
        server.kill();
        server.restart();
        wait_until("nothing waits", || boss.get("/get_mails").succeeded().list("mails").is_empty());
        let to = json!([format!("member{round}@example.org")]);
        let mails: Vec<Value> = mail_server.mails().into_iter().filter(|mail| mail["to"] == to).collect();
        assert!((1..=2).contains(&mails.len()), "{mails:?}");
        assert!(mails.iter().all(|mail| mail["id"] == mails[0]["id"]), "{mails:?}");
        again += mails.len() - 1;
    }
    assert!(again > 0, "some kills were between sending and recording");
}
