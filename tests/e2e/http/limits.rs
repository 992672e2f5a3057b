//! Limits of requests and of unread responses, and malformed requests.

use std::io::{BufReader, Write as _};
use std::net::TcpStream;

use serde_json::json;
use tidings_tests::{PASSWORD, Server, read_answer, wait_until};

const MIB: usize = 1024 * 1024;
const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

fn is_alive(server: &Server) -> bool {
    server.anyone().get("/readyz").outcome() == "200 success"
}

#[test]
fn a_body_may_have_a_mebibyte_an_import_64_and_not_a_byte_more() {
    let server = Server::start();
    let admin = server.admin();
    let sign_in = json!({ "id": "admin", "pw": PASSWORD }).to_string();
    for (path, media_type, begin, limit) in [
        ("/sign_in", "application/json", &*sign_in, MIB),
        // Blank lines, which an import skips.
        ("/import_posts", "application/x-ndjson", "", 64 * MIB),
    ] {
        for (chunked, more) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
            let mut body = begin.as_bytes().to_vec();
            body.resize(limit + more, b' ');
            body[begin.len()..].iter_mut().step_by(1_000).for_each(|byte| *byte = b'\n');
            let request = admin.request("POST", path).body(media_type, body);
            let answer = if chunked { request.chunked() } else { request }.send();
            let expected = ["200 success", "413 payload too large"][more];
            assert_eq!(answer.outcome(), expected, "{path}, chunked: {chunked}");
        }
    }
    let anyone = server.anyone();
    let refused = anyone.request("POST", "/import_posts").body("application/x-ndjson", vec![b'\n'; 2 * MIB]);
    assert_eq!(refused.send().outcome(), "401 bad token");
}

#[test]
fn a_connection_serves_the_next_request_unless_a_body_was_not_awaited() {
    let server = Server::start();
    let connect = || {
        let stream = TcpStream::connect(server.address()).unwrap();
        (stream.try_clone().unwrap(), BufReader::new(stream))
    };
    let post = |path: &str, body: &str| {
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    // The path is unknown, so the body does not matter. A proxy that does not send it must not use the connection again.
    let (mut writer, mut reader) = connect();
    writer.write_all(post("/nothing", "{}").as_bytes()).unwrap();
    let answer = read_answer(&mut reader).unwrap();
    assert_eq!((answer.outcome().as_str(), answer.header("connection")), ("404 Not found", "close"));
    writer.write_all(b"{}").unwrap();
    assert!(read_answer(&mut reader).is_none(), "the server closes the connection");

    // A body that has been read, and none, leave the connection open.
    let (mut writer, mut reader) = connect();
    let sign_in = post("/sign_in", "{}") + "{}";
    for request in [&*sign_in, "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", &sign_in, HEALTH, HEALTH] {
        writer.write_all(request.as_bytes()).unwrap();
        let answer = read_answer(&mut reader).unwrap();
        assert_eq!(answer.header("connection"), "", "{request}: {answer:?}");
    }
    // The server never reads the body of a refused request as the next request.
    let body = "GET /get_userinfo HTTP/1.1\r\nHost: x\r\n\r\n";
    writer.write_all(format!("{}{body}{HEALTH}", post("/nothing", body)).as_bytes()).unwrap();
    assert_eq!(read_answer(&mut reader).unwrap().outcome(), "404 Not found");
    if let Some(next) = read_answer(&mut reader) {
        assert_eq!(next.outcome(), "200 success", "the answer to the request after the body");
    }
}

#[test]
fn a_request_cut_off_in_its_body_changes_nothing() {
    let server = Server::start();
    let form = json!({ "id": "ann", "pw": PASSWORD, "pw_check": PASSWORD, "nickname": "x" }).to_string();
    let before = server.dump();
    for (length, sent) in [(form.len() + 1, &*form), (form.len(), &form[..20])] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let head = "POST /sign_up HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
        write!(stream, "{head}Content-Length: {length}\r\n\r\n{sent}").unwrap();
        drop(stream);
        let mut stream = TcpStream::connect(server.address()).unwrap();
        write!(stream, "{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{sent}", sent.len()).unwrap();
        drop(stream);
    }
    assert!(is_alive(&server));
    assert_eq!(server.dump(), before);
    assert_eq!(server.member("ann").get("/get_userinfo").outcome(), "200 success");
}

#[test]
fn malformed_http_is_refused_and_the_server_continues() {
    let server = Server::start();
    let long_path = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(100_000));
    let long_header = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(200_000));
    let many_headers = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: y\r\n".repeat(5_000));
    let post = "POST /sign_in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    let malformed: &[&[u8]] = &[
        b"\0\0\0\0\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n",
        b"GET /health z HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n",
        long_path.as_bytes(),
        long_header.as_bytes(),
        many_headers.as_bytes(),
    ];
    for request in malformed {
        if let Some(answer) = server.try_raw(request) {
            let what = request.escape_ascii().to_string();
            assert!((400..500).contains(&answer.status), "{what:.60}: {answer:?}");
        }
        assert!(is_alive(&server));
    }
    for lengths in [
        "Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}   x",
        "Content-Length: -1\r\n\r\n{}",
        "Content-Length: 99999999999999999999999\r\n\r\n{}",
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        "Transfer-Encoding: gzip\r\n\r\n{}",
    ] {
        if let Some(answer) = server.try_raw(format!("{post}{lengths}")) {
            assert!((400..500).contains(&answer.status), "{lengths}: {answer:?}");
        }
        assert!(is_alive(&server));
    }
}

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
    let _clients = [(); CLIENTS].map(|()| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    });
    let mut before = Vec::new();
    // The queues are full when their sizes no longer change while the server answers another client.
    wait_until("the send queues are full", || {
        for _ in 0..20 {
            assert!(is_alive(&server));
        }
        let now = unsent(server.address().port());
        let is_stable = now.len() == CLIENTS && now == before;
        before = now;
        is_stable
    });
    assert!(before.iter().all(|bytes| *bytes <= 256 * 1024), "{before:?}");
}
