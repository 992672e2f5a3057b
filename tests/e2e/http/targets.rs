//! Request targets that ordinary clients do not send.

use tidings_tests::Server;

#[test]
fn a_target_without_a_path_is_refused_in_json_and_panics_nowhere() {
    let mut server = Server::start();
    for (line, expected) in [
        ("CONNECT example.org:80", "405 method not allowed"),
        ("CONNECT evil", "405 method not allowed"),
        ("GET example.org:80", "400 bad request"),
        ("POST example.org:80", "400 bad request"),
        ("OPTIONS example.org:80", "400 bad request"),
        ("OPTIONS *", "404 Not found"),
        ("GET http://example.org/nothing", "404 Not found"),
        ("GET http://example.org/healthz", "200 success"),
        ("GET http://user:password@example.org/healthz?x=y", "200 success"),
        ("GET http://[::1]:80/healthz", "200 success"),
    ] {
        let answer = server.raw(format!("{line} HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_eq!(answer.outcome(), expected, "{line}");
        assert_eq!(answer.header("content-type"), "application/json; charset=utf-8", "{line}");
    }
    // hyper itself refuses a target that it cannot parse, without a body.
    for line in ["GET http://[::1", "GET http://", "GET http:///healthz"] {
        if let Some(answer) = server.try_raw(format!("{line} HTTP/1.1\r\nHost: x\r\n\r\n")) {
            assert!((400..500).contains(&answer.status), "{line}: {answer:?}");
        }
    }
    assert_eq!(server.anyone().get("/healthz").outcome(), "200 success");
    let log = server.stop().log;
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn a_target_that_is_too_long_is_refused_as_documented() {
    let server = Server::start();
    let padded = |bytes: usize| format!("/get_log?path={}", "a".repeat(bytes - "/get_log?path=".len()));
    let status = |target: &str| server.raw(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n")).status;
    assert_eq!(status(&padded(65_400)), 401);
    // It depends on the parts in which the request arrives.
    let refused = status(&padded(65_535));
    assert!([414, 431].contains(&refused), "{refused}");
    let document = server.anyone().get("/openapi.json").body;
    let responses = &document["paths"]["/get_log"]["get"]["responses"];
    assert_eq!(responses["414"]["$ref"], "#/components/responses/UriTooLong");
    assert_eq!(responses["431"]["$ref"], "#/components/responses/HeadTooLarge");
}

#[test]
fn a_request_with_two_hosts_is_refused() {
    let server = Server::start();
    let two = "GET /healthz HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n";
    assert_eq!(server.raw(two).outcome(), "400 bad request");
}

#[test]
fn a_request_of_http_1_1_without_a_host_is_refused() {
    let server = Server::start();
    for (request, expected) in [
        ("GET /healthz HTTP/1.1\r\n\r\n", "400 bad request"),
        ("GET http://a.example/healthz HTTP/1.1\r\n\r\n", "400 bad request"),
        ("GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n", "400 bad request"),
        ("GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", "400 bad request"),
        ("GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", "200 success"),
        ("GET /healthz HTTP/1.0\r\n\r\n", "200 success"),
    ] {
        assert_eq!(server.raw(request).outcome(), expected, "{request:?}");
    }
}

#[test]
fn a_malformed_escape_is_refused_and_an_unnecessary_one_changes_nothing() {
    let server = Server::start();
    let get = |path: &str| server.raw(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).outcome();
    for segment in ["%zz", "%", "%EA%B0%80%", "a%4", "%ff"] {
        assert_eq!(get(&format!("/get_newsfeed_of_topic/{segment}")), "400 bad request", "{segment}");
    }
    assert_eq!(get("/get_notice/%"), "400 bad request");
    for path in ["/get%5fall_notice", "/%67et_all_notice", "/get_newsfeed_of_topic/%61", "/%72eadyz"] {
        assert_eq!(get(path), "200 success", "{path}");
    }
    let server = Server::with(|serve| {
        serve.args(["--base-path", "/api"]);
    });
    let get = |path: &str| server.raw(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).outcome();
    assert_eq!(get("/%61pi/get_all_notice"), "200 success");
}

#[test]
fn an_http2_connect_is_refused_and_the_connection_stays_open() {
    use std::io::{Read as _, Write as _};

    let mut server = Server::start();
    let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        [&[0, 0, u8::try_from(payload.len()).unwrap(), kind, flags, 0, 0, 0, stream][..], payload].concat()
    };
    // `:method` and `:authority` with literal values; their names are indices of the static table.
    let connect = b"\x02\x07CONNECT\x01\x04h:80";
    let get = b"\x82\x86\x04\x08/healthz";
    let parts: [&[u8]; 4] = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &frame(4, 0, 0, &[]),
        &frame(1, 5, 1, connect),
        &frame(1, 5, 3, get),
    ];
    stream.write_all(&parts.concat()).unwrap();
    let mut answers = 0;
    let mut body = Vec::new();
    while answers < 2 {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut payload).unwrap();
        if head[3] == 0 {
            body.extend(payload);
            answers += usize::from(head[4] & 1);
        }
    }
    let body = String::from_utf8(body).unwrap();
    assert!(
        body.contains(r#"{"result":"method not allowed","#) && body.contains(r#"{"result":"success"}"#),
        "{body}"
    );
    drop(stream);
    let log = server.stop().log;
    assert!(!log.contains("panicked"), "{log}");
}
