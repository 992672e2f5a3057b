//! Stopping: running requests finish, all writes are in the database file, and stalled clients do not delay others.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tidings_tests::{Caller, Server, sample, wait_until};

use super::assert_intact;

/// An import that has started and waits for the rest of its body.
struct Upload(TcpStream);

impl Upload {
    fn begin(server: &Server, admin: &Caller, first: &str) -> Self {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = format!(
            "POST /import_posts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
            admin.token()
        );
        stream.write_all(head.as_bytes()).unwrap();
        // The server sends 100 Continue when it starts to read the body.
        let mut goes_on = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
        stream.read_exact(&mut goes_on).unwrap();
        assert_eq!(goes_on, *b"HTTP/1.1 100 Continue\r\n\r\n");
        let mut upload = Self(stream);
        upload.send(first);
        upload
    }

    fn send(&mut self, text: &str) {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        self.0.write_all(chunk.as_bytes()).unwrap();
    }

    /// Sends the rest of the body and reads the response: its status line and its body.
    fn end(mut self) -> (String, Value) {
        self.0.write_all(b"0\r\n\r\n").unwrap();
        let mut answer = String::new();
        // A stopping server closes the connection after the response.
        self.0.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), serde_json::from_str(body).unwrap())
    }
}

/// Asserts that `work` takes less than five seconds; it may try three times because the machine may be busy.
#[track_caller]
fn assert_soon_done(mut work: impl FnMut()) {
    let soon = (0..3).any(|_| {
        let begin = Instant::now();
        work();
        begin.elapsed() < Duration::from_secs(5)
    });
    assert!(soon, "the work took too long three times");
}

fn signal(server: &Server, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Returns the size of the write-ahead log in bytes.
fn wal_length(server: &Server) -> u64 {
    let log = server.database().with_file_name("tidings.db-wal");
    std::fs::metadata(log).map_or(0, |file| file.len())
}

#[test]
fn a_request_running_at_a_stop_is_finished() {
    for how in [Signal::TERM, Signal::INT] {
        let mut server = Server::start();
        let admin = server.admin();
        let mut upload = Upload::begin(&server, &admin, &format!("{}\n", sample::post("before")));
        signal(&server, how);
        wait_until("new connections are refused", || TcpStream::connect(server.address()).is_err());
        upload.send(&format!("{}\n", sample::post("after")));
        let (status, report) = upload.end();
        assert_eq!(status, "HTTP/1.1 200 OK", "{report}");
        assert_eq!((&report["inserted"], &report["errors"]), (&2.into(), &serde_json::json!([])));
        let stopped = server.stop();
        assert_eq!(stopped.status.code(), Some(0), "{}", stopped.log);
        assert_eq!(wal_length(&server), 0, "the database file has all writes");
        assert_intact(server.database());
        server.restart();
        let feed = server.anyone().get("/get_popularity_newsfeed").succeeded();
        assert_eq!(feed.column("newsfeed", "title"), ["after", "before"]);
    }
}

#[test]
fn a_signal_immediately_after_the_ready_line_shuts_the_server_down_cleanly() {
    let mut server = Server::start();
    for how in [Signal::INT, Signal::TERM].into_iter().cycle().take(10) {
        signal(&server, how);
        let stopped = server.stop();
        assert_eq!(stopped.status.code(), Some(0), "{how:?}: {:?}\n{}", stopped.status, stopped.log);
        assert_eq!(wal_length(&server), 0, "the write-ahead log is checkpointed");
        server.restart();
    }
}

#[test]
fn idle_connections_do_not_delay_a_stop() {
    let mut server = Server::start();
    let kept = server.anyone();
    assert_soon_done(|| {
        server.restart();
        let _ = kept.get("/get_categories").succeeded();
        let _idle: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        assert_eq!(server.stop().status.code(), Some(0));
    });
    server.restart();
    let _ = kept.get("/get_categories").succeeded();
}

#[test]
fn stalled_clients_do_not_delay_others() {
    let server = Server::start();
    let admin = server.admin();
    let stalled = |text: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let mut round = 0;
    assert_soon_done(|| {
        round += 1;
        let mut others: Vec<TcpStream> = Vec::new();
        for _ in 0..100 {
            others.push(stalled(""));
            others.push(stalled("GET /get_all_notice HTTP/1.1\r\nHost: x\r\nX-Slow: "));
            others.push(stalled("POST /sign_in HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{"));
        }
        let _upload = Upload::begin(&server, &admin, "{");
        for n in 0..50 {
            let _ = admin.post("/insert_notice", sample::notice(&n.to_string())).succeeded();
            let _ = server.anyone().get("/get_all_notice").succeeded();
        }
        server.member(&format!("member-{round}"));
    });
}
