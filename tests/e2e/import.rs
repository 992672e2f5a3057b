//! Imports of posts over HTTP and by the command line while the server runs.

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, Server, sample, wait_until};

mod formats;

const NDJSON: &str = "application/x-ndjson";
const JSON: &str = "application/json";

fn import(admin: &Caller, content_type: &str, body: impl Into<Vec<u8>>) -> Answer {
    admin.request("POST", "/import_posts").body(content_type, body).send()
}

fn report(inserted: u64, updated: u64, skipped: u64) -> Value {
    json!({ "result": "success", "inserted": inserted, "updated": updated, "skipped": skipped, "errors": [] })
}

/// Waits until the feed shows `count` posts, and returns their sorted titles.
fn titles(server: &Server, count: usize) -> Vec<String> {
    let mut titles = Vec::new();
    wait_until("the feed shows the posts", || {
        titles =
            server.anyone().get("/get_popularity_newsfeed?limit=300").succeeded().column("newsfeed", "title");
        titles.len() == count
    });
    titles.sort();
    titles
}

#[test]
fn lines_an_array_and_chunks_import_the_same_posts() {
    let expected = sample::rust_blog();
    let count = expected.len() as u64;
    let array = Value::Array(expected.clone()).to_string();
    let pretty = serde_json::to_string_pretty(&expected).unwrap();
    let bodies = [
        (NDJSON, sample::RUST_BLOG.to_owned()),
        ("application/x-ndjson; charset=utf-8", sample::RUST_BLOG.trim_end().replace('\n', "\r\n")),
        (JSON, sample::RUST_BLOG.to_owned()),
        (JSON, array),
        ("application/json; charset=UTF-8", format!("\n {pretty}\n\n")),
        (NDJSON, format!("\u{feff}{}", sample::RUST_BLOG)),
    ];
    let server = Server::start();
    let admin = server.admin();
    let mut first = report(count, 0, 0);
    for (content_type, body) in bodies {
        let request = admin.request("POST", "/import_posts").body(content_type, body).chunked();
        assert_eq!(request.send().body, first, "{content_type}");
        // The posts of the others are the same.
        first = report(0, 0, count);
    }
    let topics = server.anyone().get("/get_categories").succeeded();
    let topics_of = |post: &Value| u64::try_from(post["topic"].as_array().unwrap().len()).unwrap();
    let counted: u64 = topics.list("categories").iter().map(|c| c["posts"].as_u64().unwrap()).sum();
    assert_eq!(counted, expected.iter().map(topics_of).sum::<u64>());
    let mut names: Vec<&str> = expected.iter().map(|post| post["title"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(titles(&server, expected.len()), names);
    let search = server.anyone().post("/priority_search/1", json!({ "search": "variadic generics" }));
    let id = search.text("/search_result/0/_id");
    let found = server.anyone().get(&format!("/get_post/{id}")).succeeded().body["post"].clone();
    let line = expected.iter().find(|post| post["title"] == "Variadic Generics Micro Survey").unwrap();
    for field in ["title", "post", "url", "topic", "tag", "date"] {
        assert_eq!(found[field], line[field], "{field}");
    }
}

#[test]
fn the_command_line_imports_while_the_server_runs_and_reports_what_http_answers() {
    let bad = format!("{}{{\n{}\n", sample::RUST_BLOG, json!({ "title": "no url" }));
    let array = json!([sample::post("one"), {}]).to_string();
    let (by_http, by_cli) = (Server::start(), Server::start());
    let admin = by_http.admin();
    assert_eq!(titles(&by_cli, 0), [] as [&str; 0]);
    for (content_type, body) in [(NDJSON, &bad), (NDJSON, &bad), (JSON, &array)] {
        let answer = import(&admin, content_type, body.clone()).succeeded();
        let output = by_cli.cli_with_input(["--json", "post", "import", "-"], body).succeeded();
        assert_eq!(output.stdout.trim_end().as_bytes(), answer.bytes, "to the byte");
        assert_eq!(output.stderr, "", "errors are in the object");
    }
    // Without `--json`, the lines that were left out are on standard error.
    let file = by_cli.database().with_file_name("posts.jsonl");
    std::fs::write(&file, &bad).unwrap();
    let output = by_cli.cli([std::ffi::OsStr::new("post"), "import".as_ref(), file.as_ref()]).succeeded();
    let count = sample::rust_blog().len();
    assert!(output.stdout.contains(&count.to_string()), "{output:?}");
    for line in [count + 1, count + 2] {
        assert!(output.stderr.contains(&format!("line {line}")), "{output:?}");
    }
    assert_eq!(titles(&by_cli, count + 1), titles(&by_http, count + 1));
    let missing = by_cli.cli(["post", "import", "nowhere.jsonl"]);
    assert!(missing.status == 3 && missing.stderr.contains("nowhere.jsonl"), "{missing:?}");
}
