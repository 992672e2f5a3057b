//! Capacity that callers share: one caller takes only a part of it, and loses it with the right, or if it is too slow.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::json;
use tidings_tests::site::{Site, feed};
use tidings_tests::{Caller, Server, read_answer};

/// Posts of more bytes than the sockets of a connection hold.
fn insert_posts(server: &Server) {
    let post = "x".repeat(90_000);
    let line = |n| json!({ "title": n, "url": format!("https://a.example/{n}"), "post": post }).to_string();
    let lines: Vec<_> = (0..400).map(|n: i32| line(n.to_string())).collect::<Vec<_>>();
    let report =
        server.cli_with_input(["post", "import", "-", "--json"], lines.join("\n")).succeeded().json();
    assert_eq!(report["inserted"], 400, "{report}");
}

/// Sends the head of a request, and returns the connection.
fn send(server: &Server, caller: &Caller, request: &str, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let token = caller.token();
    write!(stream, "{request} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n{headers}\r\n")
        .unwrap();
    stream
}

/// Begins an export that the client does not read.
fn unread_export(server: &Server, caller: &Caller) -> TcpStream {
    let mut stream = send(server, caller, "GET /export_posts", "");
    let mut status = [0; 12];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    stream
}

#[test]
fn slow_downloads_of_one_administrator_leave_places_for_another_and_end_with_the_right() {
    let server = Server::start();
    let (admin, boss) = (server.admin(), server.member("boss"));
    let _ = server.cli(["admin", "grant", "boss"]).succeeded();
    insert_posts(&server);
    let mut unread: Vec<_> = (0..4).map(|_| unread_export(&server, &boss)).collect();
    let refused = boss.get("/export_posts");
    assert_eq!(refused.outcome(), "429 too many requests");
    assert!(!refused.header("retry-after").is_empty());
    let export = admin.request("GET", "/export_posts").send();
    assert_eq!(export.status, 200);
    // The right is checked for each part.
    let _ = server.cli(["admin", "revoke", "boss"]).succeeded();
    let mut rest = Vec::new();
    let end = unread[0].read_to_end(&mut rest);
    assert!(end.is_err() || !rest.ends_with(b"\r\n0\r\n\r\n"), "the download is broken off");
}

#[test]
fn slow_imports_of_a_key_leave_places_and_end_when_it_is_revoked() {
    let server = Server::start();
    let admin = server.admin();
    let key = admin.post("/add_key", json!({ "name": "loader", "scopes": ["posts:import"] })).succeeded();
    let key = server.anyone().with_token("loader", key.text("/key"));
    let import = || {
        let headers =
            "Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n";
        let mut stream = send(&server, &key, "POST /import_posts", headers);
        let mut begun = [0; 25];
        stream.read_exact(&mut begun).unwrap();
        assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(b"{").unwrap();
        stream
    };
    let (one, _two) = (import(), import());
    let line = json!({ "title": "A", "url": "https://a.example" }).to_string();
    let import_line = |caller: &Caller| {
        caller.request("POST", "/import_posts").body("application/x-ndjson", line.clone()).send()
    };
    assert_eq!(import_line(&key).outcome(), "429 too many requests");
    assert_eq!(import_line(&admin).outcome(), "200 success");
    let keys = admin.get("/get_keys").succeeded();
    let _ = admin.get(&format!("/remove_key/{}", keys.text("/keys/0/_id"))).succeeded();
    let refused = read_answer(&mut BufReader::new(one)).unwrap();
    assert_eq!(refused.outcome(), "401 bad token");
}

#[test]
fn slow_fetches_of_a_key_leave_places_and_bring_nothing_after_it_is_revoked() {
    let server = Server::with(|serve| {
        serve.arg("--private-addresses");
    });
    let admin = server.admin();
    let key = admin.post("/add_key", json!({ "name": "reader", "scopes": ["sources"] })).succeeded();
    let key = server.anyone().with_token("reader", key.text("/key"));
    let slow = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/feed", slow.local_addr().unwrap());
    let id = admin.post("/add_source", json!({ "url": url })).succeeded().text("/_id");
    let _ = admin.get(&format!("/pause_source/{id}")).succeeded();
    let fetch = || send(&server, &key, &format!("GET /fetch_source/{id}"), "");
    let (one, _two) = (fetch(), fetch());
    let requests = [(); 2].map(|()| slow.accept().unwrap().0);
    let discover = json!({ "url": url });
    assert_eq!(key.post("/discover_sources", discover).outcome(), "429 too many requests");
    let (site, line) = (Site::start(), json!({ "title": "A", "url": "https://a.example" }).to_string());
    let discover = json!({ "url": site.url("/") });
    assert_eq!(admin.post("/discover_sources", discover).outcome(), "200 success");
    let import = admin.request("POST", "/import_posts").body("application/x-ndjson", line).send();
    assert_eq!(import.outcome(), "200 success");
    let _ = server.cli(["key", "revoke", "reader"]).succeeded();
    for mut request in requests {
        let mut lines = BufReader::new(request.try_clone().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().is_empty()));
        let feed = feed("Campus", &["One"]);
        write!(request, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{feed}").unwrap();
    }
    let refused = read_answer(&mut BufReader::new(one)).unwrap();
    assert_eq!(refused.outcome(), "401 bad token");
    let source = admin.get(&format!("/get_source/{id}")).succeeded();
    assert_eq!(source.body["source"]["posts"], 0);
}

#[test]
fn a_stream_of_changes_ends_when_its_key_is_revoked() {
    let server = Server::start();
    let admin = server.admin();
    let key = admin.post("/add_key", json!({ "name": "watch", "scopes": ["analytics:read"] })).succeeded();
    let key = server.anyone().with_token("watch", key.text("/key"));
    let mut stream = send(&server, &key, "GET /events?events=changes", "Connection: close\r\n");
    let mut status = [0; 12];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    let _ = server.cli(["key", "revoke", "watch"]).succeeded();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("the stream ends");
    assert!(rest.ends_with(b"0\r\n\r\n"));
}
