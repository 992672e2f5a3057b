//! Counters and the access log when a process is stopped, and with several processes.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tidings_tests::{Caller, Server, sample, wait_until};

use super::assert_intact;

pub(super) fn figures(server: &Server) -> Value {
    server.anyone().get("/get_analysis").succeeded().body["analysis"].clone()
}

/// Acts of one kind: at least the acknowledged ones are counted, at most the sent ones.
#[derive(Default)]
pub(super) struct Acts {
    acknowledged: AtomicU64,
    sent: AtomicU64,
}

impl Acts {
    pub(super) fn send(&self, caller: &Caller, path: &str, body: Option<&Value>) -> bool {
        self.sent.fetch_add(1, Ordering::Relaxed);
        let request = match body {
            Some(body) => caller.request("POST", path).json(body),
            None => caller.request("GET", path),
        };
        let Ok(answer) = request.try_send() else { return false };
        // A stopping server responds with an error status.
        let done = answer.status == 200;
        self.acknowledged.fetch_add(u64::from(done), Ordering::Relaxed);
        done
    }

    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    #[track_caller]
    pub(super) fn check(&self, what: &str, count: &Value) {
        let (least, most) = (self.acknowledged(), self.sent.load(Ordering::Relaxed));
        let count = count.as_u64().unwrap();
        assert!((least..=most).contains(&count), "{count} {what}, acknowledged {least}, sent {most}");
    }
}

#[test]
fn every_request_that_was_answered_before_a_stop_has_its_line() {
    let mut server = Server::start();
    let admin = server.admin();
    let signed_up = admin.get("/get_log_date/0/1/0/1000").succeeded().list("log").len() as u64;
    let acts = Acts::default();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (anyone, acts) = (server.anyone(), &acts);
            scope.spawn(move || while acts.send(&anyone, &format!("/get_newsfeed_of_topic/{n}"), None) {});
        }
        wait_until("the server is under load", || acts.acknowledged() >= 400);
        assert_eq!(server.stop().status.code(), Some(0));
    });
    assert_intact(server.database());
    server.restart();
    let counted = figures(&server)["communication_avg"].as_u64().unwrap();
    // The first request for the log counts, too.
    let least = signed_up + 1 + acts.acknowledged();
    let most = signed_up + 1 + acts.sent.load(Ordering::Relaxed);
    assert!((least..=most).contains(&counted), "{counted} counted, {least} to {most} answered");
    let lines =
        "SELECT count(*) FROM log l JOIN request r ON r.key = l.request WHERE r.path LIKE '/get_news%'";
    let lines: i64 = server.sql().scalar(lines, &[]);
    assert_eq!(lines.unsigned_abs() + signed_up + 1, counted, "the counters agree with the log");
}

#[test]
fn two_servers_on_one_file_count_together() {
    let one = Server::start();
    let two = Server::at(one.database(), |_| {});
    let there = |caller: &Caller| two.anyone().with_token(caller.id(), caller.token());
    let (admin, ann) = (one.admin(), one.member("ann"));
    let guest = |server: &Server| server.anyone().with_header("User-Agent", "apple");
    let id = admin.post("/insert_post", sample::post("the one")).text("/_id");
    for server in [&one, &two, &one] {
        let _ = guest(server).get(&format!("/post_view/{id}")).succeeded();
        let _ = guest(server).get("/insert_device/tablet").succeeded();
    }
    let _ = ann.get(&format!("/post_like/{id}")).succeeded();
    let _ = there(&ann).get(&format!("/post_like/{id}")).succeeded();
    let _ = there(&ann).post("/search_logging", json!({ "search": "elsewhere" })).succeeded();
    let trends = || one.anyone().get("/get_search_realtime").succeeded().body["search_realtime"].clone();
    wait_until("the other server's trends have the search", || trends() == json!([["elsewhere", 1]]));
    for server in [&one, &two] {
        wait_until("the counts of both servers are added up", || {
            let figures = figures(server);
            let names = ["total_view", "total_fav", "search_count", "today_visitor"];
            // The visitors are the guest with a user agent, the one of the other requests, admin and ann.
            names.map(|name| figures[name].clone()) == [3, 1, 1, 4].map(Value::from)
        });
        let devices = server.anyone().get("/get_device").succeeded().body;
        assert_eq!(devices["tablet"], 3);
    }
    let lines = |caller: &Caller| caller.get("/get_log_date/0/1/0/1000").succeeded().column("log", "path");
    for caller in [&admin, &there(&admin)] {
        wait_until("the log has the lines of both servers", || {
            let lines = lines(caller);
            let count = |path: &str| lines.iter().filter(|line| **line == path).count();
            count("/insert_device/tablet") == 3
                && count(&format!("/post_like/{id}")) == 2
                && count("/search_logging") == 1
        });
    }
}
