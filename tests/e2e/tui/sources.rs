//! The screen of the sources, with a web site on this machine.

use tidings_tests::site::{Site, feed};

use super::remote::Remote;
use super::*;

fn sources(caller: &Caller) -> Vec<Value> {
    caller.get("/get_sources").succeeded().list("sources").to_vec()
}

#[test]
fn a_source_is_managed_on_a_server_and_changes_of_others_are_seen() {
    // The server may fetch from this machine.
    let server = Server::with(|serve| {
        serve.arg("--private-addresses");
    });
    let Remote { terminal, server } = Remote::open(server, "sources,analytics:read");
    terminal.waits_for("● live");
    let admin = server.admin();
    let site = Site::start();
    site.gives("/feed", &feed("Campus", &["One", "Two"]));
    terminal.press(&["9"]);
    terminal.waits_for("There are no sources.");
    terminal.press(&["n"]);
    terminal.waits_for("A new source");
    terminal.types(&site.url("/feed"));
    terminal.press(&["Tab", "Tab"]);
    terminal.types("news");
    terminal.press(&["Enter"]);
    terminal.waits_for("already there in");
    terminal.waits_for("● active");
    let added = &sources(&admin)[0];
    assert_eq!(
        (&added["name"], &added["posts"], &added["topic"]),
        (&json!("Campus"), &json!(2), &json!(["news"]))
    );

    site.gives("/feed", &feed("Campus", &["One", "Second", "Three"]));
    terminal.waits_for("Campus");
    terminal.press(&["f"]);
    terminal.waits_for("1 new, 1 changed, 1 already there in “Campus”.");
    terminal.waits_for("new posts");
    site.gives("/feed", "no feed");
    terminal.press(&["f"]);
    terminal.waits_for("✗ “Campus” could not be fetched: it is no feed");
    terminal.waits_for("✗ failing");

    terminal.press(&["Space"]);
    terminal.waits_for("“Campus” is paused.");
    terminal.waits_for("○ paused");
    assert_eq!(sources(&admin)[0]["state"], "paused");
    terminal.press(&["x"]);
    terminal.waits_for("Remove the source “Campus”?");
    terminal.waits_for("its 3 posts stay.");
    terminal.press(&["y"]);
    terminal.waits_for("Removed “Campus”; its posts stay.");
    assert!(sources(&admin).is_empty());
    let fields = json!({ "url": "https://news.example.org/feed", "name": "From afar" });
    let _ = admin.post("/add_source", fields).succeeded();
    terminal.waits_for("From afar");
}
