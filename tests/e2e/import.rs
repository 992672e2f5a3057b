//! Imports of posts over HTTP and by the command line while the server runs.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, Server, sample, wait_until};

mod formats;

const NDJSON: &str = "application/x-ndjson";
const JSON: &str = "application/json";
const MIB: usize = 1 << 20;

fn import(admin: &Caller, content_type: &str, body: impl Into<Vec<u8>>) -> Answer {
    admin.request("POST", "/import_posts").body(content_type, body).send()
}

/// Returns the report of an import without errors.
fn report(inserted: u64, updated: u64, skipped: u64) -> Value {
    json!({ "result": "success", "inserted": inserted, "updated": updated, "skipped": skipped, "errors": [] })
}

fn lines(posts: &[Value]) -> String {
    posts.iter().fold(String::new(), |mut lines, post| {
        let _ = writeln!(lines, "{post}");
        lines
    })
}

fn posts(titles: &[&str]) -> Vec<Value> {
    titles.iter().map(|title| sample::post(title)).collect()
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

/// Returns the numbers of the lines that were left out, and asserts that each has a reason.
fn left_out(report: &Value) -> Vec<u64> {
    let errors = report["errors"].as_array().unwrap();
    let number = |error: &Value| {
        assert!(error["reason"].as_str().is_some_and(|reason| reason.len() > 5), "{error}");
        assert_eq!(error.as_object().unwrap().len(), 2, "{error}");
        error["line"].as_u64().unwrap()
    };
    errors.iter().map(number).collect()
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
fn a_bad_line_is_reported_with_number_and_reason_and_the_others_are_imported() {
    let server = Server::start();
    let admin = server.admin();
    let mut long = sample::post("long");
    long["post"] = json!("a".repeat(2 * MIB));
    let lines = [
        sample::post("line 1").to_string(),
        "{ not JSON".into(),
        String::new(),
        "[]".into(),
        json!({ "title": "no url" }).to_string(),
        "   \t".into(),
        long.to_string(),
        json!({ "title": "id", "url": "https://example.org/8", "_id": "1" }).to_string(),
        json!({ "title": "view", "url": "https://example.org/9", "view": -1 }).to_string(),
        sample::post("line 10").to_string(),
    ];
    let mut body = lines.join("\n").into_bytes();
    body.extend_from_slice(b"\n{\"title\":\"no UTF-8 \xff\",\"url\":\"https://example.org/11\"}\n");
    body.extend_from_slice(sample::post("line 12, without an end").to_string().as_bytes());
    let answer = import(&admin, NDJSON, body).succeeded();
    assert_eq!(left_out(&answer.body), [2, 4, 5, 7, 8, 9, 11], "{answer:?}");
    let counts = ["inserted", "updated", "skipped"].map(|name| answer.body[name].as_i64());
    assert_eq!(counts, [Some(3), Some(0), Some(0)]);
    assert_eq!(titles(&server, 3), ["line 1", "line 10", "line 12, without an end"]);
}

#[test]
fn the_elements_of_an_array_are_numbered_as_lines_and_there_may_be_none() {
    let server = Server::start();
    let admin = server.admin();
    let array =
        json!([sample::post("one"), { "title": "no url" }, 3, sample::post("four"), [], sample::post("six")]);
    let answer = import(&admin, JSON, array.to_string()).succeeded();
    assert_eq!(left_out(&answer.body), [2, 3, 5]);
    assert_eq!(titles(&server, 3), ["four", "one", "six"]);
    // Elements before the end of a truncated array are imported, and the truncation is reported.
    let broken = format!("[{}, {}, {{\"title\":", sample::post("seven"), sample::post("eight"));
    let answer = import(&admin, JSON, broken).succeeded();
    assert_eq!((answer.body["inserted"].as_u64(), left_out(&answer.body)), (Some(2), vec![3]));
    assert_eq!(titles(&server, 5), ["eight", "four", "one", "seven", "six"]);
    for (content_type, body) in [(NDJSON, "\n \n\r\n"), (JSON, "[]"), (JSON, " [ ] "), (NDJSON, "\u{feff}")] {
        assert_eq!(import(&admin, content_type, body).body, report(0, 0, 0), "{body:?}");
    }
    for without in [import(&admin, NDJSON, ""), admin.request("POST", "/import_posts").send()] {
        assert_eq!((&*without.outcome(), &*without.text("/code")), ("400 bad request", "malformed_body"));
    }
}

#[test]
fn a_line_with_a_known_url_updates_the_post() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let mut all = posts(&["one", "two", "three"]);
    assert_eq!(import(&admin, NDJSON, lines(&all)).body, report(3, 0, 0));
    let ids = |server: &Server| {
        let feed = server.anyone().get("/get_popularity_newsfeed").succeeded();
        let mut ids = [feed.column("newsfeed", "url"), feed.column("newsfeed", "_id")].concat();
        ids.sort();
        ids
    };
    titles(&server, 3);
    let before = ids(&server);
    let id =
        server.anyone().post("/priority_search/1", json!({ "search": "two" })).text("/search_result/0/_id");
    let _ = ann.get(&format!("/post_like/{id}")).succeeded();
    let _ = ann.get(&format!("/post_view/{id}")).succeeded();

    all[1]["title"] = json!("두 번째");
    all[1]["topic"] = json!(["numbers"]);
    // A line does not change the id, views and likes of an existing post.
    all[1]["view"] = json!(1_000);
    all[1]["fav_cnt"] = json!(1_000);
    all[1]["_id"] = json!("0123456789abcdef01234567");
    assert_eq!(import(&admin, NDJSON, lines(&all)).body, report(0, 1, 2));
    let post = server.anyone().get(&format!("/get_post/{id}")).succeeded();
    assert_eq!(post.body["post"]["title"], "두 번째");
    assert_eq!(post.body["post"]["topic"], json!(["numbers"]));
    assert_eq!((&post.body["post"]["view"], &post.body["post"]["fav_cnt"]), (&json!(1), &json!(1)));
    wait_until("the feed shows the title", || titles(&server, 3).contains(&"두 번째".to_owned()));
    assert_eq!(ids(&server), before);

    // Of two lines with the same url the later one wins.
    let twice = [sample::post("four"), json!({ "title": "4", "url": sample::post("four")["url"] })];
    assert_eq!(import(&admin, NDJSON, lines(&twice)).body, report(1, 1, 0));
    assert_eq!(titles(&server, 4), ["4", "one", "three", "두 번째"]);
}

#[test]
fn a_new_post_keeps_the_id_views_and_likes_of_its_line() {
    let server = Server::start();
    let admin = server.admin();
    let id = "6560c1a2ffeeddccbbaa0001";
    let mut post = sample::post("moved in");
    post["_id"] = json!(id);
    post["view"] = json!(12_345);
    post["fav_cnt"] = json!(67);
    post["end_date"] = Value::Null;
    assert_eq!(import(&admin, NDJSON, post.to_string()).body, report(1, 0, 0));
    let imported = server.anyone().get(&format!("/get_post/{id}")).succeeded();
    assert_eq!(imported.body["post"]["view"], 12_345);
    assert_eq!(imported.body["post"]["fav_cnt"], 67);
    assert_eq!(import(&admin, NDJSON, post.to_string()).body, report(0, 0, 1));
    // A line with the id of another post is left out.
    let mut other = sample::post("other");
    other["_id"] = json!(id);
    let answer = import(&admin, NDJSON, lines(&[other, sample::post("next")])).succeeded();
    assert_eq!(left_out(&answer.body), [1]);
    assert_eq!(titles(&server, 2), ["moved in", "next"]);
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
