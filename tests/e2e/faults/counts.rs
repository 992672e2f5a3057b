//! Counters and the access log when processes are killed or stopped, and when there are several.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidings_tests::{Caller, Server, sample, wait_until};

use super::intact;
use crate::meanwhile::SetAtLast;

fn figures(server: &Server) -> Value {
    server.anyone().get("/get_analysis").succeeded().body["analysis"].clone()
}

/// Acts of one kind: as many as were acknowledged, and at most as many as were sent.
#[derive(Default)]
struct Acts {
    acknowledged: AtomicU64,
    sent: AtomicU64,
}

impl Acts {
    /// Sends one; whether it was acknowledged.
    fn send(&self, caller: &Caller, path: &str, body: Option<&Value>) -> bool {
        self.sent.fetch_add(1, Ordering::Relaxed);
        let request = match body {
            Some(body) => caller.request("POST", path).json(body),
            None => caller.request("GET", path),
        };
        let Ok(answer) = request.try_send() else { return false };
        // A server that stops says so.
        let done = answer.status == 200;
        self.acknowledged.fetch_add(u64::from(done), Ordering::Relaxed);
        done
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    #[track_caller]
    fn check(&self, what: &str, count: &Value) {
        let (least, most) = (self.acknowledged(), self.sent.load(Ordering::Relaxed));
        let count = count.as_u64().unwrap();
        assert!((least..=most).contains(&count), "{count} {what}, acknowledged {least}, sent {most}");
    }
}

#[test]
fn every_act_that_was_acknowledged_is_counted_after_each_kill() {
    let mut server = Server::start();
    let admin = server.admin();
    let id = admin.post("/insert_post", sample::post("the one")).text("/_id");
    // Each likes the post once.
    let members: Vec<Caller> = (0..30).map(|n| server.member(&format!("member-{n}"))).collect();
    let [views, likes, searches, devices] = [(); 4].map(|()| Acts::default());
    for round in 0..3 {
        let over = std::sync::atomic::AtomicBool::new(false);
        let goes_on = || !over.load(Ordering::Relaxed);
        let enough = 30 * (round + 1);
        let anyone = server.anyone();
        std::thread::scope(|scope| {
            let _over = SetAtLast(&over);
            let (view, like) = (format!("/post_view/{id}"), format!("/post_like/{id}"));
            let search = json!({ "search": "rust" });
            let (goes_on, anyone, views) = (&goes_on, &anyone, &views);
            let (likes, searches, devices, members) = (&likes, &searches, &devices, &members);
            scope.spawn(move || while goes_on() && views.send(anyone, &view, None) {});
            scope
                .spawn(move || while goes_on() && searches.send(anyone, "/search_logging", Some(&search)) {});
            scope.spawn(move || while goes_on() && devices.send(anyone, "/insert_device/pc", None) {});
            scope.spawn(move || {
                let mut mine = members[round * 10..][..10].iter();
                while goes_on() && mine.next().is_some_and(|member| likes.send(member, &like, None)) {}
            });
            wait_until("enough was acknowledged", || {
                [views, searches, devices].iter().all(|acts| acts.acknowledged() >= enough as u64)
            });
            server.kill();
        });
        server.restart();
        intact(server.database());
        let figures = figures(&server);
        views.check("views", &figures["total_view"]);
        likes.check("likes", &figures["total_fav"]);
        searches.check("searches", &figures["search_count"]);
        devices.check("devices", &server.anyone().get("/get_device").succeeded().body["pc"]);
        // Of one guest's searches five count in trends; each is kept for them.
        let trends = server.anyone().get("/get_search_realtime").succeeded();
        assert_eq!(trends.body["search_realtime"], json!([["rust", 5]]));
        let connection = rusqlite::Connection::open(server.database()).unwrap();
        let kept: i64 = connection.query_row("SELECT count(*) FROM term", [], |row| row.get(0)).unwrap();
        assert_eq!(json!(kept), figures["search_count"]);
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
        wait_until("there is some load", || acts.acknowledged() >= 400);
        assert_eq!(server.stop().status.code(), Some(0));
    });
    intact(server.database());
    server.restart();
    let counted = figures(&server)["communication_avg"].as_u64().unwrap();
    // The first look at the log is one, too.
    let least = signed_up + 1 + acts.acknowledged();
    let most = signed_up + 1 + acts.sent.load(Ordering::Relaxed);
    assert!((least..=most).contains(&counted), "{counted} counted, {least} to {most} answered");
    let connection = rusqlite::Connection::open(server.database()).unwrap();
    let lines =
        "SELECT count(*) FROM log l JOIN request r ON r.key = l.request WHERE r.path LIKE '/get_news%'";
    let lines: i64 = connection.query_row(lines, [], |row| row.get(0)).unwrap();
    assert_eq!(lines.unsigned_abs() + signed_up + 1, counted, "counters agree with the log");
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
    let _ = there(&ann).post("/search_logging", json!({ "search": "rust" })).succeeded();
    // Known to the other within a second; only a machine that is busy with other tests has to try again.
    let mut searched = 1;
    wait_until("a search is in the other's trends within a second", || {
        let began = Instant::now();
        let expected = json!([["rust", searched]]);
        let trends = || one.anyone().get("/get_search_realtime").succeeded().body["search_realtime"].clone();
        wait_until("the other has it", || trends() == expected);
        let soon = began.elapsed() < Duration::from_secs(1);
        if !soon {
            let _ = there(&ann).post("/search_logging", json!({ "search": "rust" })).succeeded();
            searched += 1;
        }
        soon
    });
    for server in [&one, &two] {
        wait_until("what both counted is one", || {
            let figures = figures(server);
            let names = ["total_view", "total_fav", "search_count", "today_visitor"];
            // The guest with a name, the one without who signed up and asks, admin and ann.
            names.map(|name| figures[name].clone()) == [3, 1, searched, 4].map(Value::from)
        });
        let devices = server.anyone().get("/get_device").succeeded().body;
        assert_eq!(devices["tablet"], 3);
    }
    let lines = |caller: &Caller| caller.get("/get_log_date/0/1/0/1000").succeeded().column("log", "path");
    for caller in [&admin, &there(&admin)] {
        wait_until("the lines of both are there", || {
            let lines = lines(caller);
            let count = |path: &str| lines.iter().filter(|line| **line == path).count();
            count("/insert_device/tablet") == 3
                && count(&format!("/post_like/{id}")) == 2
                && u64::try_from(count("/search_logging")).unwrap() == searched
        });
    }
}
