//! Clients that send requests and do not read the responses, and clients that send nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use tidings_tests::{Server, wait_until};

/// Returns the unsent bytes that the system holds for each socket of this port, except empty ones.
#[cfg(target_os = "linux")]
fn unsent(port: u16) -> Vec<usize> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let queue = |line: &str| {
        let mut columns = line.split_whitespace().skip(1);
        let local = columns.next()?;
        let queues = columns.nth(2)?;
        let is_here = local.ends_with(&format!(":{port:04X}"));
        is_here.then(|| usize::from_str_radix(queues.split(':').next()?, 16).ok())?
    };
    table.lines().skip(1).filter_map(queue).filter(|bytes| *bytes > 0).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn little_memory_is_held_for_unread_responses() {
    const CLIENTS: usize = 4;
    let server = Server::start();
    let request = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(200);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    let mut before = Vec::new();
    // The queues are full when their sizes no longer change while the server answers another client.
    wait_until("the send queues are full", || {
        for _ in 0..20 {
            assert_eq!(server.anyone().get("/healthz").outcome(), "200 success");
        }
        let now = unsent(server.address().port());
        let is_stable = now.len() == CLIENTS && now == before;
        before = now;
        is_stable
    });
    assert!(before.iter().all(|bytes| *bytes <= 256 * 1024), "{before:?}");
    drop(clients);
}

#[test]
fn idle_connections_are_closed_for_new_ones() {
    let server = Server::with(|serve| {
        serve.args(["--max-connections", "20"]);
    });
    let idle: Vec<_> = (0..200).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    for path in ["/healthz", "/readyz", "/get_all_notice"] {
        let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert_eq!(server.raw(head).outcome(), "200 success");
    }
    drop(idle);
}

#[test]
fn connections_waiting_for_a_body_are_closed_for_new_ones() {
    let server = Server::with(|serve| {
        serve.args(["--max-connections", "12"]);
    });
    let head = "POST /sign_in HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n";
    let mut slow: Vec<_> = (0..30)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            stream.read_exact(&mut [0; 25]).unwrap();
            stream
        })
        .collect();
    let health = "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert_eq!(server.raw(health).outcome(), "200 success");
    for closed in &mut slow[..20] {
        assert!(matches!(closed.read(&mut [0; 1]), Ok(0) | Err(_)));
    }
}
