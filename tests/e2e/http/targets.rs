//! Request targets that ordinary clients do not send.

use tidings_tests::Server;

#[test]
fn odd_targets_and_hosts_are_refused_in_json_and_panic_nowhere() {
    let mut server = Server::start();
    for (line, headers, expected) in [
        ("CONNECT example.org:80 HTTP/1.1", "Host: x\r\n", "405 method not allowed"),
        ("GET example.org:80 HTTP/1.1", "Host: x\r\n", "400 bad request"),
        ("OPTIONS example.org:80 HTTP/1.1", "Host: x\r\n", "400 bad request"),
        ("OPTIONS * HTTP/1.1", "Host: x\r\n", "404 Not found"),
        ("GET http://example.org/healthz HTTP/1.1", "Host: x\r\n", "200 success"),
        ("GET http://user:password@example.org/healthz?x=y HTTP/1.1", "Host: x\r\n", "200 success"),
        ("GET /healthz HTTP/1.1", "Host: a.example\r\nHost: b.example\r\n", "400 bad request"),
        ("GET /healthz HTTP/1.1", "", "400 bad request"),
        ("GET /healthz HTTP/1.1", "Host: a b\r\n", "400 bad request"),
        ("GET /healthz HTTP/1.1", "Host: user@a.example\r\n", "400 bad request"),
        ("GET /healthz HTTP/1.1", "Host: [2001:db8::1]:80\r\n", "200 success"),
        ("GET /healthz HTTP/1.1", "Host:\r\n", "200 success"),
        ("GET /healthz HTTP/1.0", "", "200 success"),
        ("GET /get_newsfeed_of_topic/%61 HTTP/1.1", "Host: x\r\n", "200 success"),
        ("GET /get_newsfeed_of_topic/% HTTP/1.1", "Host: x\r\n", "400 bad request"),
    ] {
        let answer = server.raw(format!("{line}\r\n{headers}\r\n"));
        assert_eq!(answer.outcome(), expected, "{line}, {headers:?}");
        assert_eq!(answer.header("content-type"), "application/json; charset=utf-8", "{line}");
    }
    // hyper itself refuses a target that it cannot parse, without a body.
    for target in [
        "http://[::1",
        "http://",
        "http:///healthz",
        "*",
        "/\u{c0}\u{80}",
        "/healthz\u{e9}",
        "http://x/nothing",
        "/a?b=%FF&%00",
    ] {
        if let Some(answer) = server.try_raw(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n")) {
            assert!((400..500).contains(&answer.status), "{target}: {answer:?}");
        }
    }
    // `:method` and `:authority` with literal values; their names are indices of the static table. Then a `GET`.
    let bodies = super::http2(&server, &[b"\x02\x07CONNECT\x01\x04h:80", b"\x82\x86\x04\x08/healthz"]);
    let bodies = String::from_utf8(bodies).unwrap();
    for expected in [r#"{"result":"method not allowed","#, r#"{"result":"success"}"#] {
        assert!(bodies.contains(expected), "{bodies}");
    }
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
