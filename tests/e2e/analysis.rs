//! Analytics over HTTP and the command line: the reports, the access log and the most frequent searches.
//!
//! A report includes every request that the server answered before it, so these tests wait only for other processes.

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, Server, sample, wait_until};

mod counted;
mod figures;
mod log;
mod report;
mod terms;

/// Returns the figures over all days.
fn figures(anyone: &Caller) -> Value {
    anyone.get("/get_analysis").succeeded().body["analysis"].clone()
}

/// Returns the report of today.
fn today(anyone: &Caller) -> Value {
    anyone.get("/get_everyday_analysis_days_ago/0").succeeded().body["analysis"][0].clone()
}

/// Returns the visits by student number, each as `ann 1`.
fn students(day: &Value) -> Vec<String> {
    let students = day["today_student_visitor"].as_array().unwrap().iter();
    students.map(|s| format!("{} {}", s["student_num"].as_str().unwrap(), s["count"])).collect()
}

/// Returns the log lines of an answer, newest first, each as `user_id method path status`.
fn lines(answer: &Answer) -> Vec<String> {
    let log = answer.list("log").iter();
    let line = |e: &Value| {
        let text = |name: &str| e[name].as_str().unwrap().to_owned();
        format!("{} {} {} {}", text("user_id"), text("method"), text("path"), e["status"])
    };
    log.map(line).collect()
}

/// Returns a guest with this user agent. The server counts each user agent as a different visitor.
fn visitor(server: &Server, name: &str) -> Caller {
    server.anyone().with_header("User-Agent", name)
}

fn insert_post(admin: &Caller, title: &str) -> String {
    admin.post("/insert_post", sample::post(title)).succeeded().text("/_id")
}

fn search(caller: &Caller, term: &str) {
    let _ = caller.post("/search_logging", json!({ "search": term })).succeeded();
}
