//! Sources, with a web site on this machine.

use serde_json::json;
use tidings_tests::receiver::{Receiver, hub_signature};
use tidings_tests::site::{Site, feed};
use tidings_tests::{Caller, Server, wait_until};

/// Starts a server that may fetch from this machine.
fn server() -> Server {
    Server::with(|serve| {
        serve.arg("--private-addresses");
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
fn readers_see_the_source_of_a_post() {
    let (server, site) = (server(), Site::start());
    let boss = server.admin();
    let entries: Vec<String> = (1..=12).map(|n| format!("Entry {n}")).collect();
    site.gives("/feed", &feed("Campus", &entries.iter().map(String::as_str).collect::<Vec<_>>()));
    let id = boss.post("/add_source", json!({ "url": site.url("/feed") })).succeeded().text("/_id");
    for n in 0..8 {
        let post = json!({ "title": format!("Own {n}"), "url": format!("https://own.example/{n}"), "date": "2020-01-01" });
        let _ = boss.post("/insert_post", post).succeeded();
    }
    let guest = server.anyone();
    let feed = |path: &str| guest.get(path).succeeded().list("newsfeed").to_vec();
    let of_source = format!("/get_newsfeed_of_source/{id}");
    wait_until("the posts of the source are there", || feed(&of_source).len() == 12);
    wait_until("all posts are there", || feed("/get_popularity_newsfeed").len() == 20);
    let source = json!({ "_id": id, "name": "Campus", "url": site.url("/feed") });
    assert!(feed(&of_source).iter().all(|post| post.get("source").is_none()));
    let with_sources = feed("/get_popularity_newsfeed?source=1");
    let of_campus =
        |posts: &[serde_json::Value]| posts.iter().filter(|post| post["source"] == source).count();
    assert_eq!((of_campus(&with_sources[..10]), of_campus(&with_sources)), (5, 12));
    let post = with_sources.iter().find(|post| post["source"] == source).unwrap()["_id"].as_str().unwrap();
    assert_eq!(guest.get(&format!("/get_post/{post}")).succeeded().body["post"]["source"], source);
    let own = with_sources.iter().find(|post| post.get("source").is_none()).unwrap()["_id"].as_str().unwrap();
    assert!(guest.get(&format!("/get_post/{own}")).succeeded().body["post"].get("source").is_none());
    assert_eq!(guest.get("/get_newsfeed_of_source/0123456789abcdef01234567").result(), "Not found");
    let _ = boss.get(&format!("/remove_source/{id}")).succeeded();
    assert_eq!(guest.get(&of_source).result(), "Not found");
    assert!(feed("/get_popularity_newsfeed?source=1").iter().all(|post| post.get("source").is_none()));
}

#[test]
fn the_command_line_shows_what_arrives() {
    let (server, site) = (server(), Site::start());
    site.gives("/feed", &feed("Campus", &["One", "Two"]));
    site.gives("/", "<link rel=alternate type=application/rss+xml href=/feed title=News>");
    let url = site.url("/feed");
    let file = |name: &str| server.database().parent().unwrap().join(name);
    std::fs::write(file("tidings.toml"), "private-addresses = true\n").unwrap();
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
    let read = cli(&["feed", "source", "The campus"]).succeeded().stdout;
    assert!(read.contains("Second") && read.contains("Three"), "{read}");
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
        failed.stderr.contains("error: the source is not added (--no-fetch adds it anyway): it is no feed"),
        "{}",
        failed.stderr
    );
    assert!(cli(&["source", "fetch", &url]).stderr.contains("there is no source"), "it was not kept");
    let _ = cli(&["source", "add", &url, "--no-fetch"]).succeeded();
    let failed = cli(&["source", "fetch", &url]);
    assert_eq!(failed.status, 1);
    assert!(
        failed.stderr.contains("error: the source could not be fetched: it is no feed"),
        "{}",
        failed.stderr
    );
    std::fs::write(file("list.opml"), exported).unwrap();
    let imported = cli(&["source", "import", "list.opml"]).succeeded().stdout;
    assert_eq!(imported, "0 sources added, 1 already there\n");
    let removed = cli(&["source", "remove", &url, "--with-posts"]).succeeded().stdout;
    assert_eq!(removed, "The source is removed; its posts are removed, too.\n");
    let posts = cli(&["post", "list"]).succeeded().stdout;
    assert!(posts.contains("Three"), "posts of the source that was removed before stay: {posts}");
}

#[test]
fn the_command_line_takes_the_feed_of_a_page() {
    let (server, site) = (server(), Site::start());
    let file = server.database().parent().unwrap().join("tidings.toml");
    std::fs::write(file, "private-addresses = true\n").unwrap();
    let cli = |args: &[&str]| server.cli(args);
    let link = |path: &str| format!("<link rel=alternate type=application/rss+xml href={path} title=News>");
    site.gives("/feed", &feed("Campus", &["One"]));
    site.gives("/", &link("/feed"));
    site.gives("/two", &(link("/feed") + &link("/other")));
    let several = cli(&["source", "add", &site.url("/two")]);
    assert_eq!(several.status, 1);
    assert!(several.stdout.contains(&site.url("/other")), "{}", several.stdout);
    assert!(several.stderr.contains("the page names several feeds: add one of them"), "{}", several.stderr);
    let added = cli(&["source", "add", &site.url("/"), "--topic", "news"]).succeeded();
    assert_eq!(added.stdout, "One\n");
    assert!(
        added.stderr.contains(&format!("The page names the feed {}.", site.url("/feed"))),
        "{}",
        added.stderr
    );
    let sources = cli(&["source", "list", "--json"]).succeeded().json();
    assert_eq!(
        (&sources["sources"][0]["url"], sources["sources"].as_array().unwrap().len()),
        (&json!(site.url("/feed")), 1)
    );
    let adopted = cli(&["source", "edit", "Campus", "--adopt"]).succeeded().stdout;
    assert_eq!(adopted, "The source is changed.\n");
}

#[test]
fn a_hub_sends_what_is_new() {
    let (hub, site) = (Receiver::start(202), Site::start());
    let server = Server::with(|serve| {
        serve.args(["--private-addresses", "--public-url", "https://campus.example/api/"]);
    });
    let link = |rel: &str, href: &str| format!("<atom:link rel=\"{rel}\" href=\"{href}\"/>");
    let links = link("hub", &hub.url()) + &link("self", &site.url("/feed"));
    let news = |entries: &[&str]| {
        let channel = format!("<channel xmlns:atom=\"http://www.w3.org/2005/Atom\">{links}");
        feed("Campus", entries).replacen("<channel>", &channel, 1)
    };
    site.gives("/feed", &news(&["One"]));
    let boss = server.admin();
    let added = json!({ "url": site.url("/feed"), "topic": ["news"] });
    let id = boss.post("/add_source", added).succeeded().text("/_id");
    wait_until("the hub is asked", || !hub.deliveries().is_empty());
    let asked = hub.deliveries().remove(0);
    assert_eq!(asked.header("content-type"), "application/x-www-form-urlencoded");
    assert_eq!((asked.field("hub.mode"), asked.field("hub.topic")), ("subscribe".into(), site.url("/feed")));
    let callback = asked.field("hub.callback");
    let path = callback.strip_prefix("https://campus.example/api").unwrap();

    let anyone = server.anyone();
    let question = |topic: &str| {
        let topic: String = url::form_urlencoded::byte_serialize(topic.as_bytes()).collect();
        anyone.get(&format!(
            "{path}?hub.mode=subscribe&hub.topic={topic}&hub.challenge=%3Cb%3E&hub.lease_seconds=3600"
        ))
    };
    assert_eq!(question("https://other.example/").status, 404);
    let answer = question(&site.url("/feed"));
    assert_eq!((answer.status, &*answer.bytes), (200, &b"<b>"[..]));
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    let source = || boss.get(&format!("/get_source/{id}")).succeeded().body["source"].clone();
    assert_eq!((&source()["hub"], source()["subscribed_until"].is_string()), (&json!(hub.url()), true));

    let body = news(&["One", "Two"]);
    let signature = hub_signature(&asked.field("hub.secret"), &body);
    let send = |path: &str, signature: &str| {
        let request = anyone.request("POST", path).header("x-hub-signature", signature);
        request.body("application/rss+xml", body.clone()).send().status
    };
    assert_eq!(send("/websub/0123456789abcdef0123456789abcdef", &signature), 404);
    assert_eq!(send(path, &signature.replace("sha256=", "sha256=00")), 200, "it is ignored");
    assert_eq!(source()["posts"], 1);
    assert_eq!(send(path, &signature), 200);
    wait_until("the feed shows the new post", || titles(&boss) == ["One", "Two"]);
    assert_eq!((source()["posts"].clone(), site.requests("/feed")), (json!(2), 1));
    let shown = server.cli(["source", "show", "Campus"]).succeeded().stdout;
    assert!(shown.contains(&format!("{}, until ", hub.url())), "{shown}");
}
