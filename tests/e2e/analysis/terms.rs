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
    // A search for posts does not record a search.
    let _ = ann.post("/priority_search/10", json!({ "search": "c" })).succeeded();
    let expected = json!([["rust", 3], ["go", 2], ["zig", 1]]);
    assert_eq!(ranking(&anyone), expected);
    server.restart();
    assert_eq!(ranking(&anyone), expected);
    for n in 0..10 {
        search(&anyone, &format!("term {n}"));
    }
    let ten = ranking(&anyone);
    assert_eq!((ten.as_array().unwrap().len(), &ten[2]), (10, &json!(["term 9", 1])));
    assert_eq!(anyone.post("/search_logging", json!({ "search": " " })).outcome(), "400 bad request");
    assert_eq!(figures(&anyone)["search_count"], 16);
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
    let bot = visitor(&server, "Googlebot/2.1");
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
        for _ in 0..5 {
            search(&guest, "gamed");
        }
    }
    assert_eq!(ranking(&ann), json!([]));
    search(&ann, "gamed");
    assert_eq!(ranking(&ann), json!([["gamed", 101]]), "at most 100 of one network, and one of Ann");
    assert_eq!(figures(&ann)["search_count"], 126);
}
