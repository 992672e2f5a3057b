//! Trends: the most frequent searches of the last 24 hours.

use super::*;

fn ranking(caller: &Caller) -> Value {
    caller.get("/get_search_realtime").succeeded().body["search_realtime"].clone()
}

#[test]
fn terms_are_ranked_by_frequency_and_recency() {
    let mut server = Server::start();
    let (anyone, ann) = (server.anyone(), server.member("ann"));
    assert_eq!(ranking(&anyone), json!([]));
    for term in ["rust", "  Rust ", "GO", "zig", "go"] {
        search(&anyone, term);
    }
    search(&ann, "RUST");
    search(&ann, "Go");
    // A search for posts does not record a search.
    let _ = ann.post("/priority_search/10", json!({ "search": "c" })).succeeded();
    let expected = json!([["go", 2], ["rust", 2], ["zig", 1]]);
    assert_eq!(ranking(&anyone), expected);
    server.restart();
    assert_eq!(ranking(&anyone), expected);
    assert_eq!(anyone.post("/search_logging", json!({ "search": " " })).outcome(), "400 bad request");
    assert_eq!(figures(&anyone)["search_count"], 7);
}

#[test]
fn blocked_terms_and_terms_of_few_visitors_are_not_shown() {
    let directory = tempfile::tempdir().unwrap();
    let blocklist = directory.path().join("blocked.txt");
    std::fs::write(&blocklist, "\u{feff}Bad  Word\r\n\rworse\nother").unwrap();
    let server = Server::with(move |serve| {
        serve.arg("--trend-blocklist").arg(&blocklist).args(["--trend-min-visitors", "2"]);
    });
    let (apple, ann) = (visitor(&server, "apple"), server.member("ann"));
    for caller in [&apple, &ann] {
        for term in ["bad word", "WORSE", "other", "all"] {
            search(caller, term);
        }
    }
    search(&apple, "mine");
    // Searches of crawlers do not count in trends.
    search(&visitor(&server, "Better Uptime Bot Mozilla/5.0 Chrome/74.0.3729.169 Safari/537.36"), "mine");
    assert_eq!(ranking(&apple), json!([["all", 2]]));
    let missing = server.cli(["serve", "--trend-blocklist", "/nowhere/terms"]);
    assert_eq!(missing.status, 2, "{missing:?}");
}

#[test]
fn terms_that_several_visitors_search_suddenly_are_bursts() {
    let mut server = Server::start();
    let visitors: Vec<_> = (0..4).map(|n| server.member(&format!("ann{n}"))).collect();
    let bursts =
        |server: &Server| server.anyone().get("/get_search_bursts").succeeded().body["search_bursts"].clone();
    assert_eq!(bursts(&server), json!([]));
    for _ in 0..3 {
        for visitor in &visitors {
            search(visitor, "eclipse");
        }
        search(&visitors[0], "mine");
    }
    let expected = json!([{ "term": "eclipse", "count": 4, "usual": 0.0, "score": 4.0 }]);
    wait_until("the list is no longer current", || bursts(&server) == expected);
    let printed = server.cli(["search", "bursts", "--json"]).succeeded().json();
    assert_eq!(printed, json!({ "result": "success", "search_bursts": expected }));
    let table = server.cli(["search", "bursts"]).succeeded().stdout;
    assert!(table.contains("eclipse"), "{table}");
    server.restart();
    assert_eq!(bursts(&server), expected);
}
