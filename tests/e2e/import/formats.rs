//! Imports from CSV, RSS and other formats, and exports that an import reads, by the command line.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tidings_tests::{Output, Server, command, location, run, sample};

fn tidings(database: &Path, args: &[&OsStr], input: &str) -> Output {
    let mut tidings = command();
    tidings.current_dir(database.parent().unwrap()).arg("--db").arg(location(database)).args(args);
    run(tidings, input)
}

fn post(database: &Path, args: &[&str], input: &str) -> Output {
    let args: Vec<&OsStr> = ["post"].iter().chain(args).map(OsStr::new).collect();
    tidings(database, &args, input)
}

const CSV: &str = "title,url,topic,tag\nOne,https://example.org/1,news,a;b\n,https://example.org/2,,\n\
                   Three,https://example.org/3,\"news,more\",\n";
const RSS: &str = "<rss version=\"2.0\"><channel><title>T</title>\
                   <item><title>One</title><link>https://example.org/1</link><category>a</category></item>\
                   <item><title>Two</title></item></channel></rss>";

#[test]
fn csv_and_feeds_are_recognised_by_name_or_content() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let named = |name: &str, text: &str| {
        std::fs::write(file(name), text).unwrap();
        file(name).to_str().unwrap().to_owned()
    };
    let (csv, rss) = (named("posts.csv", CSV), named("feed.xml", RSS));
    let import = |database: &str, args: &[&str], input: &str| {
        let args: Vec<&str> = ["import", "--json"].iter().chain(args).copied().collect();
        post(&file(database), &args, input).succeeded().json()
    };
    let of_csv = json!({
        "result": "success", "inserted": 2, "updated": 0, "skipped": 0,
        "errors": [{"line": 3, "reason": "title is missing, and there is no post with this url yet"}],
    });
    let of_rss = json!({
        "result": "success", "inserted": 1, "updated": 0, "skipped": 0,
        "errors": [{"line": 2, "reason": "url is missing: it identifies the post"}],
    });
    assert_eq!(import("1.db", &[&csv], ""), of_csv);
    assert_eq!(import("2.db", &["-"], CSV), of_csv);
    assert_eq!(import("3.db", &["-", "--format", "csv"], CSV), of_csv);
    assert_eq!(import("4.db", &[&rss], ""), of_rss);
    assert_eq!(import("5.db", &["-"], RSS), of_rss);
    let wrong = post(&file("6.db"), &["import", "-", "--json", "--format", "feed"], CSV);
    assert_eq!((wrong.status, &wrong.json()["result"]), (1, &json!("bad request")));
    insta::assert_snapshot!(wrong.stderr, @"error: bad request: it is no RSS, Atom or JSON feed that can be read");
    let printed = post(&file("7.db"), &["import", &csv], "").succeeded();
    insta::assert_snapshot!(printed.stdout, @"2 inserted, 0 updated, 0 already the same, 1 left out");
    insta::assert_snapshot!(printed.stderr, @"line 3: title is missing, and there is no post with this url yet");
    let feed = post(&file("8.db"), &["import", &rss], "").succeeded();
    insta::assert_snapshot!(feed.stderr, @"entry 2: url is missing: it identifies the post");
    let array = post(&file("9.db"), &["import", "-"], "[\n\n3]");
    assert_eq!(array.status, 1, "it took nothing");
    assert!(array.stderr.starts_with("entry 1: it is not a JSON object"), "{array:?}");
    let mistyped =
        post(&file("10.db"), &["import", "-"], "url,title,tags\nhttps://example.org/1,One,a\n").succeeded();
    insta::assert_snapshot!(mistyped.stderr, @r#"the column "tags" is not known and is not read"#);
    let many = post(&file("11.db"), &["import", "-", "--format", "jsonl"], &"x\n".repeat(1_234));
    insta::assert_snapshot!(many.stdout, @"0 inserted, 0 updated, 0 already the same, 1,234 left out");
}

#[test]
fn an_export_imported_elsewhere_exports_the_same() {
    let server = Server::start();
    let ann = server.member("ann");
    assert_eq!(server.cli_with_input(["post", "import", "-"], sample::RUST_BLOG).status, 0);
    let first = server.cli(["post", "export", "-"]).succeeded().stdout;
    let lines: Vec<Value> = first.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), sample::rust_blog().len());
    let id = lines[0]["_id"].as_str().unwrap();
    for act in ["post_view", "post_view", "post_like"] {
        assert_eq!(ann.get(&format!("/{act}/{id}")).outcome(), "200 success");
    }

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("posts.jsonl");
    let export = |database: &Path, args: &[&str]| {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).chain([file.as_os_str()]).collect();
        tidings(database, &args, "")
    };
    let exported = export(server.database(), &["post", "export", "--json"]).succeeded();
    assert_eq!(exported.json(), json!({ "result": "success", "posts": lines.len() }));
    let text = std::fs::read_to_string(&file).unwrap();
    let acted: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&acted["view"], &acted["fav_cnt"]), (&json!(2), &json!(1)));

    let other = directory.path().join("other.db");
    let imported = export(&other, &["post", "import", "--json"]).succeeded().json();
    assert_eq!((&imported["inserted"], &imported["errors"]), (&json!(lines.len()), &json!([])));
    let again = export(&other, &["post", "export"]).succeeded();
    insta::assert_snapshot!(again.stdout, @"40 posts exported");
    assert!(std::fs::read_to_string(&file).unwrap() == text, "the same to the byte");
    let names = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let beside: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(beside.is_empty(), "{beside:?}");
}

#[test]
fn a_closed_pipe_ends_an_export_quietly() {
    let server = Server::start();
    let posts: String = (0..3_000).map(|n| sample::post(&format!("Post {n}")).to_string() + "\n").collect();
    assert_eq!(server.cli_with_input(["post", "import", "-"], posts).status, 0);
    let mut export = server.command();
    export.args(["post", "export", "-"]);
    let mut export = export.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    assert!(BufReader::new(export.stdout.take().unwrap()).read_line(&mut line).unwrap() > 0);
    let output = export.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}
