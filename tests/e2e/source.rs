//! Sources, with a web site on this machine.

use serde_json::json;
use tidings_tests::site::{Site, feed};
use tidings_tests::{Caller, Server, wait_until};

/// Starts a server that may fetch from this machine.
fn server() -> Server {
    Server::with(|serve| {
        serve.arg("--source-private");
    })
}

fn titles(guest: &Caller) -> Vec<String> {
    let found = guest.get("/get_newsfeed_of_topic/news").succeeded();
    let titles = found.list("newsfeed").iter().map(|post| post["title"].as_str().unwrap().to_owned());
    let mut titles: Vec<String> = titles.collect();
    titles.sort();
    titles
}

#[test]
fn the_server_fetches_a_source_and_its_entries_become_posts() {
    let (server, site) = (server(), Site::start());
    let boss = server.admin();
    site.gives("/feed", &feed("Campus", &["One", "Two"]));
    let fields = json!({ "url": site.url("/feed"), "topic": ["news"], "tag": ["campus"] });
    let id = boss.post("/add_source", fields).succeeded().text("/_id");
    let source = || boss.get(&format!("/get_source/{id}")).succeeded().body["source"].clone();
    wait_until("it is fetched", || !source()["last_success"].is_null());
    wait_until("the feed shows its posts", || titles(&boss) == ["One", "Two"]);
    let shown = source();
    assert_eq!(
        (&shown["name"], &shown["posts"], &shown["state"]),
        (&json!("Campus"), &json!(2), &json!("active"))
    );
    assert_eq!(boss.get("/get_sources").succeeded().list("sources"), [shown]);
    let fetches = site.requests("/feed");
    let _ = boss.get(&format!("/pause_source/{id}")).succeeded();
    assert_eq!(source()["next_fetch"], json!(null));
    let _ = boss.get(&format!("/resume_source/{id}")).succeeded();
    wait_until("it is fetched again", || site.requests("/feed") > fetches);
}

#[test]
fn the_command_line_shows_what_arrives() {
    let (server, site) = (server(), Site::start());
    site.gives("/feed", &feed("Campus", &["One", "Two"]));
    site.gives("/", "<link rel=alternate type=application/rss+xml href=/feed title=News>");
    let url = site.url("/feed");
    let file = |name: &str| server.database().parent().unwrap().join(name);
    std::fs::write(file("tidings.toml"), "source-private = true\n").unwrap();
    let cli = |args: &[&str]| server.cli(args);
    let found = cli(&["source", "discover", &site.url("/")]).succeeded().stdout;
    assert!(found.contains(&url) && found.contains("News"), "{found}");
    let added = cli(&["source", "add", &url, "--topic", "news"]).succeeded();
    assert_eq!(added.stdout, "One\nTwo\n");
    assert!(added.stderr.contains("2 new, 0 changed, 0 already there"), "{}", added.stderr);
    let list = cli(&["source", "list"]).succeeded().stdout;
    assert!(list.contains("Campus") && list.contains("active"), "{list}");
    site.gives("/feed", &feed("Campus", &["One", "Second", "Three"]));
    let fetched = cli(&["source", "fetch", "Campus", "--json"]).succeeded().stdout;
    let fetched: serde_json::Value = serde_json::from_str(&fetched).unwrap();
    assert_eq!([&fetched["inserted"], &fetched["updated"], &fetched["skipped"]], [1, 1, 1]);
    let _ = cli(&["source", "edit", "Campus", "--name", "The campus", "--every", "30"]).succeeded();
    let shown = cli(&["source", "show", "The campus"]).succeeded().stdout;
    assert!(shown.contains("30 minutes") && shown.contains(&url), "{shown}");
    let exported = cli(&["source", "export"]).succeeded().stdout;
    assert!(exported.contains(&format!("xmlUrl=\"{url}\"")), "{exported}");
    let _ = cli(&["source", "pause", &url]).succeeded();
    let _ = cli(&["source", "pause", &url, "--undo"]).succeeded();
    let _ = cli(&["source", "remove", &url]).succeeded();
    let admin = server.admin();
    wait_until("the feed shows the posts", || titles(&admin) == ["One", "Second", "Three"]);
    site.gives("/feed", "no feed");
    let failed = cli(&["source", "add", &url]);
    assert_eq!(failed.status, 1);
    assert!(
        failed.stderr.contains("error: the source could not be fetched: it is no feed"),
        "{}",
        failed.stderr
    );
    std::fs::write(file("list.opml"), exported).unwrap();
    let imported = cli(&["source", "import", "list.opml"]).succeeded().stdout;
    assert_eq!(imported, "0 sources added, 1 already there\n");
}

#[test]
fn a_private_address_needs_the_setting() {
    let (server, site) = (Server::start(), Site::start());
    let boss = server.admin();
    let url = site.url("/feed");
    let refused = boss.post("/add_source", json!({ "url": url }));
    assert_eq!((refused.result(), &refused.body["field"]), ("bad request", &json!("url")));
    assert_eq!(site.requests("/feed"), 0);
}
