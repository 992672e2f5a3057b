//! Capacity that callers share: one caller takes only a part of it, and loses it with the right.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::json;
use tidings_tests::site::{Site, feed};
use tidings_tests::{Server, read_answer};

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
    let fetch = || {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let token = key.token();
        write!(stream, "GET /fetch_source/{id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n")
            .unwrap();
        stream
    };
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
