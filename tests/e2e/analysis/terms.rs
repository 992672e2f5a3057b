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
    for n in 0..10 {
        search(&anyone, &format!("term {n}"));
    }
    let ten = ranking(&anyone);
    assert_eq!((ten.as_array().unwrap().len(), &ten[2]), (10, &json!(["term 9", 1])));
    assert_eq!(anyone.post("/search_logging", json!({ "search": " " })).outcome(), "400 bad request");
    assert_eq!(figures(&anyone)["search_count"], 17);
}

#[test]
fn blocked_terms_and_terms_of_few_visitors_are_not_shown() {
    let directory = tempfile::tempdir().unwrap();
    let blocklist = directory.path().join("blocked.txt");
    std::fs::write(&blocklist, "Bad  Word\n\nworse\n").unwrap();
    let server = Server::with(move |serve| {
        serve.arg("--trend-blocklist").arg(&blocklist).args(["--trend-min-visitors", "2"]);
    });
    let (apple, berry, ann) = (visitor(&server, "apple"), visitor(&server, "berry"), server.member("ann"));
    for caller in [&apple, &berry, &ann] {
        search(caller, "bad word");
        search(caller, "WORSE");
    }
    for _ in 0..3 {
        search(&apple, "mine");
    }
    search(&apple, "ours");
    search(&berry, "ours");
    search(&ann, "all");
    search(&apple, "all");
    // Searches of crawlers do not count in trends.
    let bot = visitor(
        &server,
        "Better Uptime Bot Mozilla/5.0 AppleWebKit/537.36 Chrome/74.0.3729.169 Safari/537.36",
    );
    for term in ["mine", "ours", "crawled"] {
        search(&bot, term);
    }
    assert_eq!(ranking(&apple), json!([["all", 2], ["ours", 2]]));
    let missing = server.cli(["serve", "--trend-blocklist", "/nowhere/terms"]);
    assert_eq!(missing.status, 2, "{missing:?}");
}

#[test]
fn many_user_agents_of_one_address_count_as_few_visitors_and_searches() {
    let server = Server::with(|serve| {
        serve.args(["--trend-min-visitors", "4"]);
    });
    let ann = server.member("ann");
    for n in 0..25 {
        let guest = visitor(&server, &format!("agent {n}"));
        for _ in 0..4 {
            search(&guest, "gamed");
        }
    }
    assert_eq!(ranking(&ann), json!([]));
    search(&ann, "gamed");
    assert_eq!(ranking(&ann), json!([["gamed", 26]]), "one of each guest and of Ann in this hour");
    assert_eq!(figures(&ann)["search_count"], 101);
}

#[test]
fn spellings_of_a_term_count_together() {
    let server = Server::start();
    let (apple, berry, ann) = (visitor(&server, "apple"), visitor(&server, "berry"), server.member("ann"));
    search(&apple, "학교식당");
    search(&berry, "학교 식당");
    search(&ann, "학교 식당");
    for caller in [&apple, &berry] {
        search(caller, "past exams");
    }
    search(&ann, "past exam");
    assert_eq!(ranking(&ann), json!([["past exams", 3], ["학교 식당", 3]]));
    let printed = server.cli(["search", "realtime", "--json"]).succeeded().json();
    assert_eq!(printed["search_realtime"], json!([["past exams", 3], ["학교 식당", 3]]));
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
