//! Calls every operation as every kind of caller and with all kinds of bad input.
//!
//! The expected answers are snapshots, which were written from the documentation.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, LINES, Operation, Request, Server, sample};

mod bodies;
mod callers;
mod paths;

/// A server with records for all operations.
struct Fixture {
    server: Server,
    /// An administrator who is never removed, so that no other administrator is the last one.
    boss: Caller,
    feedback: String,
    /// The id of the member on whom administrators act.
    target: RefCell<String>,
    count: Cell<u64>,
}

impl Fixture {
    fn new() -> Self {
        let server = Server::with(|serve| {
            serve.args(["--sign-in-slowing", "off"]);
            // Mail waits, because nothing takes it.
            serve.args(["--smtp-url", "smtp+plain://127.0.0.1:9", "--mail-from", "no-reply@campus.example"]);
            serve.args(["--passkey-domain", "app.example"]);
        });
        let boss = server.admin();
        let _ = server.member("signer");
        let roster = "id,name,major,password\ns2026001,Kim Ji-woo,Physics,secret\n";
        let _ = server.cli_with_input(["roster", "import", "-"], roster).succeeded();
        let _ = boss.post("/send_feedback", json!({ "post": "Text" })).succeeded();
        let feedback = boss.get("/get_all_feedback").text("/feedback_list/0/_id");
        let target = RefCell::new(server.member("target").id().to_owned());
        Self { server, boss, feedback, target, count: Cell::new(0) }
    }

    fn number(&self) -> u64 {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }

    fn member(&self) -> Caller {
        self.server.member(&format!("member{}", self.number()))
    }

    fn administrator(&self) -> Caller {
        let member = self.member();
        let _ = self.server.cli(["admin", "grant", member.id()]).succeeded();
        member
    }

    /// Returns a valid value for a parameter of a path; an id is that of an existing record.
    fn value(&self, parameter: &str) -> String {
        match parameter {
            "auto_login" | "activation" | "days" => "1".into(),
            "type_num" | "months" | "hours" => "0".into(),
            "num" | "limit" | "month" | "day" => "10".into(),
            "first" | "last" => "2026-11-20".into(),
            "year" => "2026".into(),
            "device" => "tablet".into(),
            "category_name" | "newsfeed_name" => "news".into(),
            "user_id" => self.target.borrow().clone(),
            "feedback_obi" => self.feedback.clone(),
            // A session of the target.
            "session_obi" => {
                let sessions = self.boss.get(&format!("/get_member_sessions/{}", self.target.borrow()));
                sessions.succeeded().text("/sessions/0/_id")
            }
            "key_obi" => self.key(&["front"]).0,
            "invitation_obi" => self.boss.post("/add_invitation", json!({})).succeeded().text("/_id"),
            "webhook_obi" => self.webhook(),
            "source_obi" => {
                let url = format!("https://source.invalid/{}", self.number());
                let id = self.boss.post("/add_source", json!({ "url": url })).succeeded().text("/_id");
                // It is not fetched meanwhile.
                let _ = self.boss.get(&format!("/pause_source/{id}")).succeeded();
                id
            }
            "delivery_obi" => {
                let test = format!("/test_webhook/{}", self.webhook());
                self.boss.get(&test).succeeded().text("/_id")
            }
            // One of an administrator, which no browser has made.
            "passkey_obi" => {
                let id = format!("6560c1a2ffeeddcc{:08x}", self.number());
                let sql = "INSERT INTO passkey (credential, id, member, handle, name, public_key, state, gave_code, date)
                           SELECT $1, $1, key, '', 'Phone', '', '', 0, 1 FROM member WHERE id = 'admin'";
                self.server.sql().execute(sql, &[id.as_str().into()]);
                id
            }
            // Its time has not come, so the server does not try to send it meanwhile.
            "mail_obi" => {
                let id = format!("6560c1a2ffeeddcc{:08x}", self.number());
                let sql = "INSERT INTO mail (id, kind, date, next_attempt) VALUES ($1, 'confirm', 1, 4000000000000)";
                self.server.sql().execute(sql, &[id.as_str().into()]);
                id
            }
            "notice_obi" => {
                self.boss.post("/insert_notice", sample::notice("Notice")).succeeded().text("/_id")
            }
            "draft_obi" => {
                self.boss.post("/save_notice_draft", sample::notice("Draft")).succeeded().text("/_id")
            }
            "post_obi" => {
                let post = sample::post(&format!("Post {}", self.number()));
                self.boss.post("/insert_post", post).succeeded().text("/_id")
            }
            other => panic!("the fixture has no value for the parameter {other}"),
        }
    }

    /// Returns the id of a webhook whose receiver does not exist. There is one at a time, because their number is limited.
    fn webhook(&self) -> String {
        let listed = self.boss.get("/get_webhooks").succeeded();
        if let Some(webhook) = listed.list("webhooks").iter().find(|webhook| webhook["name"] == "fixture") {
            return webhook["_id"].as_str().unwrap().to_owned();
        }
        let draft = json!({
            "name": "fixture",
            "url": "https://receiver.invalid/",
            "events": ["feedback.created"],
        });
        self.boss.post("/add_webhook", draft).succeeded().text("/_id")
    }

    fn key(&self, scopes: &[&str]) -> (String, String) {
        let draft = json!({ "name": format!("fixture {}", self.number()), "scopes": scopes });
        let made = self.boss.post("/add_key", draft).succeeded();
        (made.text("/_id"), made.text("/key"))
    }

    fn role(&self, scopes: &[&str]) -> Caller {
        let member = self.member();
        let path = format!("/set_member_role/{}", member.id());
        let _ = self.boss.post(&path, json!({ "scopes": scopes })).succeeded();
        member
    }

    fn request<'c>(&self, operation: &Operation, caller: &'c Caller) -> Request<'c> {
        let request = caller.request(operation.method, &operation.path_with(|name| self.value(name)));
        match operation.body_with(self.number()) {
            Some(body) => request.json(&body),
            None => request,
        }
    }

    fn restore(&self, operation: &Operation) {
        if operation.path.starts_with("/admin_remove_user/") {
            self.target.replace(self.member().id().to_owned());
        }
    }

    fn check(mut self) {
        assert_eq!(self.server.anyone().get("/readyz").outcome(), "200 success");
        assert_eq!(self.server.integrity(), "ok");
        let log = self.server.stop().log;
        assert!(!log.contains("panicked") && !log.contains("ERROR"), "{log}");
    }
}

/// Returns whether the operation, once it succeeds, invalidates the caller's token.
fn invalidates_the_token(operation: &Operation) -> bool {
    matches!(
        operation.path,
        "/change_pw" | "/sign_out_all" | "/sign_out_session/{session_obi}" | "/remove_mine"
    )
}

/// Returns the status and `result` of an answer, and whether it reports lines left out.
fn outcome(operation: &Operation, case: &str, answer: &Answer) -> String {
    let name = operation.name();
    assert!(answer.status < 500, "{name}, {case}: {answer:?}");
    let is_file = ["/export_posts", "/export_audit"].contains(&operation.path) && answer.status == 200;
    let media_type = if is_file { LINES } else { "application/json; charset=utf-8" };
    assert_eq!(answer.header("content-type"), media_type, "{name}, {case}");
    let errors = answer.body["errors"].as_array().is_some_and(|errors| !errors.is_empty());
    if errors { format!("{} with errors", answer.outcome()) } else { answer.outcome() }
}

/// The answers of each operation, with the callers or inputs that got them.
#[derive(Default)]
struct Table(String);

impl Table {
    /// Adds an operation: each answer with the cases that got it, in their order.
    fn add(&mut self, name: &str, answers: Vec<(String, String)>) {
        let mut cases: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (case, answer) in answers {
            let cases = cases.entry(answer).or_default();
            // Cases with the same name and the same answer are listed once.
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        writeln!(self.0, "{name}").unwrap();
        for (answer, cases) in cases {
            writeln!(self.0, "    {answer}: {}", cases.join(", ")).unwrap();
        }
    }

    fn compare(self, name: &str) {
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!(name, self.0);
        });
    }
}

fn with_field(body: &Value, field: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[field] = value;
    body
}
