//! Limits of requests, and malformed requests.

use std::io::{BufReader, Write as _};
use std::net::TcpStream;

use serde_json::json;
use tidings_tests::{PASSWORD, Server, read_answer};

const MIB: usize = 1024 * 1024;

fn is_alive(server: &Server) -> bool {
    server.anyone().get("/readyz").outcome() == "200 success"
}

#[test]
fn a_body_may_have_a_mebibyte_and_not_a_byte_more() {
    let server = Server::start();
    let ann = server.member("ann");
    for chunked in [false, true] {
        for (size, outcome) in [(MIB, "200 success"), (MIB + 1, "413 payload too large")] {
            let mut body = json!({ "id": "ann", "pw": PASSWORD }).to_string();
            body.extend(std::iter::repeat_n(' ', size - body.len()));
            let request = ann.request("POST", "/sign_in").body("application/json", body);
            let request = if chunked { request.chunked() } else { request };
            assert_eq!(request.send().outcome(), outcome, "{size} bytes, chunked: {chunked}");
        }
    }
}

#[test]
fn a_body_declared_too_large_is_refused_before_it_is_read() {
    let server = Server::start();
    for length in [MIB + 1, 1 << 40, usize::MAX / 2] {
        let head = format!(
            "POST /sign_in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        assert_eq!(server.raw(head).outcome(), "413 payload too large", "{length}");
    }
}

#[test]
fn a_connection_ends_with_a_request_that_is_answered_before_its_body_arrives() {
    let server = Server::start();
    let connect = || {
        let stream = TcpStream::connect(server.address()).unwrap();
        (stream.try_clone().unwrap(), BufReader::new(stream))
    };
    let closes = |answer: &tidings_tests::Answer| answer.header("connection") == "close";
    // The path is unknown, so the body does not matter. A proxy that does not send it must not use the connection again.
    let head =
        "POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n";
    let (mut writer, mut reader) = connect();
    writer.write_all(head.as_bytes()).unwrap();
    let answer = read_answer(&mut reader).unwrap();
    assert_eq!(answer.outcome(), "404 Not found");
    assert!(closes(&answer), "{answer:?}");
    writer.write_all(b"{}").unwrap();
    assert!(read_answer(&mut reader).is_none(), "the server closes the connection");

    // A body that has been read, and none, leave the connection open.
    let (mut writer, mut reader) = connect();
    let sign_in = head.replace("/nothing", "/sign_in") + "{}";
    for request in [&*sign_in, "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", &sign_in] {
        writer.write_all(request.as_bytes()).unwrap();
        let answer = read_answer(&mut reader).unwrap();
        assert!(!closes(&answer), "{request}: {answer:?}");
    }
}

#[test]
fn an_import_may_have_64_mebibytes_and_not_a_byte_more() {
    let server = Server::start();
    let admin = server.admin();
    for chunked in [false, true] {
        for (size, outcome) in [(64 * MIB, "200 success"), (64 * MIB + 1, "413 payload too large")] {
            // Blank lines, which an import skips.
            let mut blank = vec![b' '; size];
            blank.iter_mut().step_by(1000).for_each(|byte| *byte = b'\n');
            let request = admin.request("POST", "/import_posts").body("application/x-ndjson", blank);
            let request = if chunked { request.chunked() } else { request };
            assert_eq!(request.send().outcome(), outcome, "{size} bytes, chunked: {chunked}");
        }
    }
    let anyone = server.anyone();
    let refused = anyone.request("POST", "/import_posts").body("application/x-ndjson", vec![b'\n'; 2 * MIB]);
    assert_eq!(refused.send().outcome(), "401 bad token");
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
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"GET  /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /health z HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
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
        "Content-Length: 1e3\r\n\r\n{}",
        "Content-Length: 99999999999999999999999\r\n\r\n{}",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        "Transfer-Encoding: gzip\r\n\r\n{}",
    ] {
        if let Some(answer) = server.try_raw(format!("{post}{lengths}")) {
            assert!((400..500).contains(&answer.status), "{lengths}: {answer:?}");
        }
        assert!(is_alive(&server));
    }
}

#[test]
fn malformed_paths_are_not_found() {
    let server = Server::start();
    for target in ["*", "/healthz#x", "/\u{c0}\u{80}", "/healthz\u{e9}", "http://x/nothing", "/a?b=%FF&%00"] {
        if let Some(answer) = server.try_raw(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n")) {
            assert!((400..500).contains(&answer.status) || target == "/healthz#x", "{target}: {answer:?}");
        }
        assert!(is_alive(&server));
    }
    let absolute = server.raw("GET http://elsewhere.example.org/healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(absolute.outcome(), "200 success");
    let old = server.raw("GET /healthz HTTP/1.0\r\n\r\n");
    assert_eq!(old.outcome(), "200 success");
}

#[test]
fn a_connection_serves_one_request_after_another() {
    let server = Server::start();
    let one = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for _ in 0..3 {
        stream.write_all(one.as_bytes()).unwrap();
        assert_eq!(read_answer(&mut reader).unwrap().outcome(), "200 success");
    }
    // The server never reads the body of a refused request as the next request.
    let body = "GET /get_userinfo HTTP/1.1\r\nHost: x\r\n\r\n";
    let length = body.len();
    let head = format!("POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}{one}").as_bytes()).unwrap();
    assert_eq!(read_answer(&mut reader).unwrap().outcome(), "404 Not found");
    if let Some(next) = read_answer(&mut reader) {
        assert_eq!(next.outcome(), "200 success", "the answer to the request after the body");
    }
}

#[test]
fn connections_over_the_limit_wait() {
    let server = Server::with(|serve| {
        serve.args(["--max-connections", "2"]);
    });
    let hold = || TcpStream::connect(server.address()).unwrap();
    let (one, two) = (hold(), hold());
    std::thread::scope(|scope| {
        let third = scope
            .spawn(|| server.raw("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").outcome());
        drop((one, two));
        assert_eq!(third.join().unwrap(), "200 success");
    });
}
