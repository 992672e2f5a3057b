//! Compressed responses.

use std::io::Read as _;

use tidings_tests::{Answer, Caller, Server, sample, wait_until};

fn unpacked(answer: &Answer) -> Vec<u8> {
    let mut plain = Vec::new();
    match answer.header("content-encoding") {
        "" => plain.clone_from(&answer.bytes),
        "gzip" => drop(flate2::read::GzDecoder::new(&*answer.bytes).read_to_end(&mut plain).unwrap()),
        "br" => brotli::BrotliDecompress(&mut &*answer.bytes, &mut plain).unwrap(),
        other => panic!("an unknown coding: {other}"),
    }
    plain
}

/// Returns the response to a client that accepts these codings, and checks the headers that belong to its coding.
fn get(caller: &Caller, path: &str, codings: &str) -> Answer {
    let answer = caller.request("GET", path).header("Accept-Encoding", codings).send();
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    assert_eq!(answer.header("content-length"), answer.bytes.len().to_string(), "{path}, {codings}");
    assert!(answer.header("vary").contains("accept-encoding"), "{path}, {codings}: {answer:?}");
    answer
}

fn brotli_of(caller: &Caller, path: &str) -> Answer {
    let mut last = None;
    wait_until("the response is compressed with Brotli", || {
        last = Some(get(caller, path, "gzip, deflate, br, zstd"))
            .filter(|answer| answer.header("content-encoding") == "br");
        last.is_some()
    });
    last.unwrap()
}

fn filled() -> (Server, Caller) {
    let server = Server::start();
    let admin = server.admin();
    let _ = server.cli_with_input(["post", "import", "-"], sample::RUST_BLOG).succeeded();
    wait_until("the feeds show the posts", || {
        server.anyone().get("/get_popularity_newsfeed").list("newsfeed").len() == 40
    });
    for n in 0..20 {
        let _ = admin.post("/insert_notice", sample::notice(&format!("Notice {n}"))).succeeded();
    }
    (server, admin)
}

#[test]
fn shared_responses_are_compressed_with_gzip_and_then_brotli_and_personal_ones_without_brotli() {
    let (server, admin) = filled();
    let (anyone, ann) = (server.anyone(), server.member("ann"));
    for path in
        ["/get_popularity_newsfeed", "/get_recommendation_newsfeed", "/get_all_notice", "/openapi.json"]
    {
        let plain = get(&anyone, path, "identity, gzip;q=0.5");
        assert_eq!(plain.header("content-encoding"), "", "{path}");
        for caller in [&anyone, &ann] {
            let packed = get(caller, path, "zstd, gzip;q=0.8");
            assert_eq!(packed.header("content-encoding"), "gzip", "{path}");
            assert!(packed.bytes.len() * 2 < plain.bytes.len(), "{path}: {} bytes", packed.bytes.len());
            assert_eq!(unpacked(&packed), plain.bytes, "{path}");
        }
        let small = brotli_of(&anyone, path);
        assert_eq!(unpacked(&small), plain.bytes, "{path}");
        assert_eq!(small.header("content-type"), plain.header("content-type"), "{path}");
        let gzip = get(&anyone, path, "br;q=0.5, gzip");
        assert_eq!(gzip.header("content-encoding"), "gzip", "{path}");
        assert!(small.bytes.len() * 10 <= gzip.bytes.len() * 9, "{path}: {} bytes", small.bytes.len());
    }
    let health = anyone.request("GET", "/healthz").header("Accept-Encoding", "br, gzip").send().succeeded();
    assert_eq!(health.header("content-encoding"), "");

    // Over HTTP/2: `:method`, `:scheme`, `:path` and `accept-encoding`; names are indices of the static table.
    let path = "/openapi.json";
    let expected = brotli_of(&anyone, path);
    let request = [b"\x82\x86\x04\x0d", path.as_bytes(), b"\x0f\x01\x08gzip, br"].concat();
    let body = super::http2(&server, &[&request]);
    assert!(body == expected.bytes, "{} bytes, expected {}", body.len(), expected.bytes.len());

    // A changed response is never sent in its old form.
    let before = brotli_of(&anyone, "/get_all_notice");
    let _ = admin.post("/insert_notice", sample::notice("A newer notice")).succeeded();
    for _ in 0..10 {
        let plain = unpacked(&get(&anyone, "/get_all_notice", "gzip, br"));
        assert!(String::from_utf8(plain).unwrap().contains("A newer notice"));
    }
    assert_ne!(unpacked(&brotli_of(&anyone, "/get_all_notice")), unpacked(&before));

    // Personal responses never are.
    for post in ann.get("/get_popularity_newsfeed?limit=10").list("newsfeed") {
        let _ = ann.get(&format!("/post_like/{}", post["_id"].as_str().unwrap())).succeeded();
    }
    // Asked for again and again, and a page that nobody else gets.
    for path in
        ["/get_specific_userinfo/0", "/get_recommendation_newsfeed", "/get_popularity_newsfeed?limit=30"]
    {
        for _ in 0..5 {
            let answer = get(&ann, path, "gzip, br");
            assert_eq!(answer.header("content-encoding"), "gzip", "{path}");
        }
    }
    let form = serde_json::json!({ "id": "ann", "pw": tidings_tests::PASSWORD });
    let token = ann.request("POST", "/sign_in").header("Accept-Encoding", "gzip, br");
    let token = token.body("application/json", form.to_string()).send();
    assert_eq!((token.header("content-encoding"), token.outcome().as_str()), ("", "200 success"));
}
