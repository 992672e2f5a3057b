//! Stopping: all writes are in the database file, and stalled clients do not delay others.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tidings_tests::{Server, sample};

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

#[test]
fn a_signal_immediately_after_the_ready_line_shuts_the_server_down_cleanly() {
    let mut server = Server::start();
    for how in [Signal::INT, Signal::TERM].into_iter().cycle().take(4) {
        server.signal(how);
        let stopped = server.stop();
        assert_eq!(stopped.status.code(), Some(0), "{how:?}: {:?}\n{}", stopped.status, stopped.log);
        let log = server.database().with_file_name("tidings.db-wal");
        assert_eq!(std::fs::metadata(log).map_or(0, |log| log.len()), 0, "it is checkpointed");
        server.restart();
    }
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
    let upload = format!(
        "POST /import_posts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n",
        admin.token()
    );
    let mut round = 0;
    assert_soon_done(|| {
        round += 1;
        let mut others: Vec<TcpStream> = Vec::new();
        for _ in 0..100 {
            others.push(stalled(""));
            others.push(stalled("GET /get_all_notice HTTP/1.1\r\nHost: x\r\nX-Slow: "));
            others.push(stalled("POST /sign_in HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{"));
        }
        others.push(stalled(&upload));
        for n in 0..50 {
            let _ = admin.post("/insert_notice", sample::notice(&n.to_string())).succeeded();
            let _ = server.anyone().get("/get_all_notice").succeeded();
        }
        server.member(&format!("member-{round}"));
    });
}
