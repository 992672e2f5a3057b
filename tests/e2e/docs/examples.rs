//! The examples of the page on PostgreSQL: the scripts run, and the page shows them as they are.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use tidings_cluster::{Programs, is_installed};
use tidings_tests::{Server, command};

use super::page::{Page, pages};
use crate::programs::{free_ports, leave_out, root};

const EXAMPLES: &str = "docs/examples";
const CONVERTERS: &str = "docs/examples/quality.py";
/// The ports in the scripts. The tests replace them with free ones.
const PORTS: [u16; 6] = [15432, 15433, 18080, 18081, 18082, 18083];
/// The time limit of a script, in seconds. Other tests may keep the machine busy.
const RUN_MAX: &str = "400";

#[test]
fn the_example_of_one_server_runs() {
    run("one-server.sh", &[]);
}

#[test]
fn the_example_of_a_standby_and_three_servers_runs() {
    run("three-servers.sh", &["haproxy"]);
}

#[test]
fn blocks_that_are_parts_of_files_are_in_them() {
    let mut wrong = Vec::new();
    for page in pages() {
        for (file, block) in page.parts_of_files() {
            let text = fs::read_to_string(root().join(file)).unwrap();
            if !format!("\n{text}").contains(&format!("\n{block}\n")) {
                wrong.push(format!("{}: not in {file}:\n{block}", page.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(!Page::named("docs/postgresql.md").parts_of_files().is_empty());
}

#[test]
fn the_pages_on_the_client_name_its_examples_which_are_short() {
    for (page, file, lines) in [("client", "board", 40), ("accounts", "account", 60)] {
        let page = Page::named(&format!("docs/{page}.md"));
        let file = format!("clients/typescript/examples/{file}.html");
        assert!(page.text.contains(&file), "{file}");
        let example = fs::read_to_string(root().join(&file)).unwrap();
        assert!(example.lines().count() <= lines, "{file}");
    }
}

#[test]
fn the_page_on_the_client_shows_the_whole_board() {
    let file = "clients/typescript/examples/board.html";
    let page = Page::named("docs/client.md");
    let shown = page.parts_of_files().into_iter().find(|(name, _)| *name == file).unwrap().1;
    assert_eq!(format!("{shown}\n"), fs::read_to_string(root().join(file)).unwrap());
}

#[test]
fn the_converters_of_public_data_write_what_the_imports_read() {
    if is_any_missing(CONVERTERS, &["python3"]) {
        return;
    }
    let films = "1|Dawn (1995)|01-Jan-1995||http://films.example/1|0|1|0|0|0|1|0|0|0|0|0|0|0|0|0|0|0|0|0\r\n\
                 2|Caf\u{e9} (1996)|02-Feb-1996||http://films.example/2|0|0|0|0|0|0|0|0|1|0|0|0|0|0|0|0|0|0|0\r\n\
                 3|unknown||||1|0|0|0|0|0|0|0|0|0|0|0|0|0|0|0|0|0|0\r\n";
    // The files are in Latin-1.
    let films: Vec<u8> = films.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let ratings = "7\t1\t5\t881250949\n7\t2\t4\t881250950\n8\t1\t3\t881250951\n8\t2\t5\t881250952\n7\t3\t5\t881250953\n";
    let [posts, members, acts] =
        converted("movielens", &[("u.item", &films), ("u.data", ratings.as_bytes())]);
    insta::assert_snapshot!(posts, @r#"
    {"title": "Dawn (1995)", "url": "https://movielens.example/1", "topic": ["Action", "Comedy"], "date": "1995-01-01"}
    {"title": "Café (1996)", "url": "https://movielens.example/2", "topic": ["Drama"], "date": "1996-02-02"}
    "#);
    // The third rating has three stars, and the last film has no date.
    insta::assert_snapshot!(acts, @r#"
    {"id": "user7", "type": "like", "url": "https://movielens.example/1", "date": "1997-12-04T15:55:49Z"}
    {"id": "user7", "type": "like", "url": "https://movielens.example/2", "date": "1997-12-04T15:55:50Z"}
    {"id": "user8", "type": "like", "url": "https://movielens.example/2", "date": "1997-12-04T15:55:52Z"}
    "#);
    imported(&[posts, members, acts], [2, 2, 3]);

    let questions = r#"<?xml version="1.0" encoding="utf-8"?>
<posts>
  <row Id="1" PostTypeId="1" CreationDate="2018-03-12T17:00:45.567" OwnerUserId="5" Title="Which key?" Tags="&lt;cipher&gt;&lt;key&gt;" Body="&lt;p&gt;One &amp;amp; one&lt;/p&gt;&lt;pre&gt;code&lt;/pre&gt;" />
  <row Id="2" PostTypeId="2" ParentId="1" CreationDate="2018-03-12T18:00:00.000" OwnerUserId="6" Body="&lt;p&gt;This.&lt;/p&gt;" />
  <row Id="3" PostTypeId="5" CreationDate="2018-03-12T18:00:00.000" Body="" />
</posts>"#;
    let comments = r#"<comments>
  <row Id="1" PostId="2" CreationDate="2018-03-13T08:00:00.000" UserId="7" Text="Why?" />
  <row Id="2" PostId="1" CreationDate="2018-03-13T09:00:00.000" UserId="5" Text="The owner." />
  <row Id="3" PostId="1" CreationDate="2018-03-13T10:00:00.000" UserDisplayName="removed" Text="Nobody." />
</comments>"#;
    let votes = r#"<votes>
  <row Id="1" PostId="1" VoteTypeId="2" CreationDate="2018-03-12T00:00:00.000" />
  <row Id="2" PostId="1" VoteTypeId="5" UserId="7" CreationDate="2018-03-12T00:00:00.000" />
</votes>"#;
    let dump = [("Posts.xml", questions), ("Comments.xml", comments), ("Votes.xml", votes)];
    let [posts, members, acts] =
        converted("stackexchange", &dump.map(|(name, text)| (name, text.as_bytes())));
    insta::assert_snapshot!(posts, @r#"
    {"title": "Which key?", "post": "One & one", "tag": ["cipher", "key"], "url": "https://stackexchange.example/1", "date": "2018-03-12T17:00:45.567Z"}
    "#);
    insta::assert_snapshot!(acts, @r#"
    {"id": "user7", "type": "like", "url": "https://stackexchange.example/1", "date": "2018-03-12T17:00:45.567Z"}
    {"id": "user6", "type": "like", "url": "https://stackexchange.example/1", "date": "2018-03-12T18:00:00.000Z"}
    {"id": "user7", "type": "view", "url": "https://stackexchange.example/1", "date": "2018-03-13T08:00:00.000Z"}
    "#);
    imported(&[posts, members, acts], [1, 2, 3]);
}

/// Writes these files, converts them with the script, and returns the posts, the members and the acts.
fn converted(form: &str, files: &[(&str, &[u8])]) -> [String; 3] {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(directory.path().join(name), content).unwrap();
    }
    let to = directory.path().join("converted");
    let done = Command::new("python3")
        .arg(root().join(CONVERTERS))
        .arg(form)
        .arg(directory.path())
        .arg(&to)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    ["posts", "members", "acts"].map(|name| fs::read_to_string(to.join(format!("{name}.jsonl"))).unwrap())
}

fn imported(files: &[String; 3], expected: [u64; 3]) {
    let server = Server::start();
    for ((group, input), expected) in ["post", "member", "act"].into_iter().zip(files).zip(expected) {
        let report = server.cli_with_input([group, "import", "-", "--json"], input).succeeded().json();
        assert_eq!((&report["errors"], &report["inserted"]), (&json!([]), &json!(expected)), "{group}");
    }
}

/// Runs a script of the examples, unless PostgreSQL or one of these programs is not installed.
fn run(script: &str, needs: &[&str]) {
    let script_path = format!("{EXAMPLES}/{script}");
    if !is_installed(&script_path) {
        return;
    }
    if is_any_missing(&script_path, needs) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    symlink(command().get_program(), path.join("tidings")).unwrap();
    let ports: [u16; PORTS.len()] = free_ports();
    for entry in fs::read_dir(root().join(EXAMPLES)).unwrap() {
        let file = entry.unwrap().path();
        let mut text = fs::read_to_string(&file).unwrap();
        for (written, free) in PORTS.iter().zip(ports) {
            text = text.replace(&written.to_string(), &free.to_string());
        }
        fs::write(path.join(file.file_name().unwrap()), text).unwrap();
    }
    let mut limited = Command::new("timeout");
    limited.args(["--kill-after=60", RUN_MAX, "bash"]).arg(path.join(script));
    limited.env("PATH", [vec![path.to_str().unwrap().to_owned()], search_path()].concat().join(":"));
    limited.env("TIDINGS_POSTGRES_BIN", Programs::find().unwrap().folder());
    let done = limited.stdin(Stdio::null()).output().unwrap();
    let shown = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{script}: {}\n{}", done.status, String::from_utf8_lossy(&shown));
}

/// Returns whether a script cannot run because a program that it needs is not installed, and says so.
fn is_any_missing(script: &str, needs: &[&str]) -> bool {
    let search = search_path();
    let is_missing =
        |program: &&&str| !search.iter().any(|directory| Path::new(directory).join(program).exists());
    let missing = needs.iter().find(is_missing);
    if let Some(missing) = missing {
        leave_out(&format!("{script}: {missing} is not installed"));
    }
    missing.is_some()
}

/// Returns the directories of programs. Those of system programs may be missing from the path of an ordinary user.
fn search_path() -> Vec<String> {
    let path = std::env::var("PATH").unwrap();
    path.split(':').chain(["/usr/sbin"]).map(str::to_owned).collect()
}
