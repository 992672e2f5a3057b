//! Search: posts by relevance, within a category and by site, and the members' recorded searches.

use serde_json::{Value, json};
use tidings_tests::{Answer, Caller, Server, sample};

use crate::form::is_date;

mod spelling;

fn insert(admin: &Caller, title: &str, text: &str, topic: &str, url: &str) -> String {
    let post = json!({ "title": title, "post": text, "url": url, "topic": [topic] });
    admin.post("/insert_post", post).succeeded().text("/_id")
}

/// Starts a server with posts, given as title, text and topic.
fn with_posts(posts: &[(&str, &str, &str)]) -> Server {
    let server = Server::start();
    let admin = server.admin();
    for (n, (title, text, topic)) in posts.iter().enumerate() {
        insert(&admin, title, text, topic, &format!("https://example.org/{n}"));
    }
    server
}

fn search(server: &Server, text: &str) -> Answer {
    server.anyone().post("/priority_search/300", json!({ "search": text })).succeeded()
}

fn titles(server: &Server, text: &str) -> Vec<String> {
    search(server, text).column("search_result", "title")
}

fn log(caller: &Caller, text: &str) -> Answer {
    caller.post("/search_logging", json!({ "search": text }))
}

fn lately(member: &Caller, num: i64) -> Vec<Value> {
    let answer = member.get(&format!("/get_user_lately_search/{num}")).succeeded();
    answer.list("lately_search_list").to_vec()
}

#[test]
fn posts_are_found_best_first_with_a_similarity_above_0() {
    let server = Server::start();
    let admin = server.admin();
    let file = server.database().with_file_name("posts.jsonl");
    std::fs::write(&file, sample::RUST_BLOG).unwrap();
    let _ = server.cli([std::ffi::OsStr::new("post"), "import".as_ref(), file.as_ref()]).succeeded();
    let id = insert(&admin, "Survey results", "Survey, survey results.", "x", "https://example.org/survey");
    let found = search(&server, "survey results");
    let hits = found.list("search_result");
    assert!(hits.len() >= 4, "{hits:?}");
    assert_eq!(hits[0]["_id"], id, "all words of this post match");
    let similarities: Vec<f64> = hits.iter().map(|hit| hit["similarity"].as_f64().unwrap()).collect();
    assert!(
        similarities.iter().all(|s| *s > 0.0) && similarities.is_sorted_by(|a, b| a >= b),
        "{similarities:?}"
    );
    let names: Vec<&String> = hits[0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["_id", "date", "end_date", "fav_cnt", "img", "similarity", "title", "url", "view"]);
    // The two posts about surveys come before posts that mention one.
    let next = found.column("search_result", "title");
    for title in ["2021 Annual Survey Report", "Launching the 2024 State of Rust Survey"] {
        assert!(next[1..4].contains(&title.to_owned()), "{next:?}");
    }
    let few = server.anyone().post("/priority_search/2", json!({ "search": "survey results" })).succeeded();
    assert_eq!(few.list("search_result"), &hits[..2]);
    assert_eq!(search(&server, "xylophone").body, json!({ "result": "success", "search_result": [] }));
}

#[test]
fn logged_searches_are_in_the_members_list_newest_first() {
    let mut server = Server::start();
    let (ann, ben) = (server.member("ann"), server.member("ben"));
    assert_eq!(log(&ann, " The  Rust 도서관에서\t가을").succeeded().body, json!({ "result": "success" }));
    let _ = log(&ann, "second").succeeded();
    let _ = log(&server.anyone(), "a guest's").succeeded();
    let _ = log(&ann.with_token("ann", "forged"), "nobody's").succeeded();
    for path in ["/priority_search/10", "/category_search/x/10", "/domain_search"] {
        let _ = ann.post(path, json!({ "search": "a search records nothing" })).succeeded();
    }
    server.restart();

    let list = lately(&ann, 300);
    assert_eq!(ann.get("/get_specific_userinfo/3").succeeded().list("search_list"), list);
    assert_eq!(list.len(), 2);
    assert_eq!(list[0]["original"], "second");
    assert_eq!(lately(&ann, 1), &list[..1]);
    let first = &list[1];
    assert!(is_date(first["date"].as_str().unwrap()), "{first}");
    let tokens = first["tokenizer_split"].as_array().unwrap();
    for token in ["rust", "도서관", "가을"] {
        assert!(tokens.contains(&json!(token)), "{token} in {tokens:?}");
    }
    assert!(!tokens.contains(&json!("the")), "{tokens:?}");
    assert!(first["similarity_split"].as_array().unwrap().iter().all(Value::is_string));
    let expected = json!({
        "original": " The  Rust 도서관에서\t가을", "search_split": ["The", "Rust", "도서관에서", "가을"],
        "tokenizer_split": tokens, "similarity_split": first["similarity_split"], "date": first["date"],
    });
    assert_eq!(*first, expected);
    assert_eq!(lately(&ben, 300), [] as [Value; 0]);
}

#[test]
fn snippets_mark_the_words_found_on_request() {
    let server = Server::start();
    let admin = server.admin();
    let text = format!("{} a <b>Whale</b> & its calf", "open water ".repeat(60));
    insert(&admin, "At sea", &text, "sea", "https://example.org/1");
    insert(&admin, "도서관", "도서관에서 읽는다", "campus", "https://example.org/2");
    insert(&admin, "Whales", "", "sea", "https://example.org/3");
    let anyone = server.anyone();
    for (path, search, expected) in [
        ("/priority_search/9", "whale", json!([{"text": "Whale", "hit": true}])),
        ("/category_search/sea/9", "CALF", json!([{"text": "calf", "hit": true}])),
        ("/priority_search/9", "도서관은", json!([{"text": "도서관에서", "hit": true}])),
    ] {
        let plain = anyone.post(path, json!({"search": search})).succeeded();
        assert!(plain.list("search_result")[0].get("snippet").is_none(), "{path}");
        let found = anyone.post(&format!("{path}?snippets=1"), json!({"search": search})).succeeded();
        let parts = found.list("search_result")[0]["snippet"].as_array().unwrap();
        let hits: Vec<_> = parts.iter().filter(|part| part["hit"] == true).collect();
        assert_eq!(json!(hits), expected, "{path} {search}");
        let whole: String = parts.iter().map(|part| part["text"].as_str().unwrap()).collect();
        assert!(whole.chars().count() <= 202, "{whole}");
    }
    let found = anyone.post("/priority_search/9?snippets=1", json!({"search": "whales"})).succeeded();
    assert_eq!(found.list("search_result")[0]["snippet"], json!([]), "a post without text");
    let refused = anyone.post("/priority_search/9?snippets=2", json!({"search": "whale"}));
    assert_eq!((refused.status, refused.text("/field")), (400, "snippets".to_owned()));

    let shown = server.cli(["search", "run", "calf", "--snippets"]).succeeded();
    assert!(shown.stdout.contains("<b>Whale</b> & its [calf]"), "{}", shown.stdout);
    let json = server.cli(["search", "run", "calf", "--snippets", "--json"]).succeeded().json();
    assert_eq!(json["search_result"][0]["snippet"][1], json!({"text": "calf", "hit": true}));
}

#[test]
fn searches_are_read_in_pages_on_request() {
    let server = Server::start();
    let anyone = server.anyone();
    let posts: Vec<String> = (0..120)
        .map(|n| {
            let text = "whales ".repeat(1 + n % 7);
            json!({
                "title": format!("Post {n}"), "post": text, "url": format!("https://site-{n}.example/"), "topic": ["sea"],
            })
            .to_string()
        })
        .collect();
    let imported = server.cli_with_input(["post", "import", "-", "--json"], posts.join("\n")).succeeded();
    assert_eq!(imported.json()["inserted"], 120);
    for path in ["/priority_search/50", "/category_search/sea/50", "/domain_search"] {
        let search = |query: &str| anyone.post(&format!("{path}{query}"), json!({"search": "whales"}));
        let plain = search("").succeeded();
        assert!(plain.body.get("next").is_none(), "{path}");
        let (mut pages, mut query) = (Vec::new(), "?paged=1".to_owned());
        loop {
            let page = search(&query).succeeded();
            pages.push(page.list("search_result").to_vec());
            match page.body["next"].as_str() {
                Some(next) => query = format!("?next={next}"),
                None => break,
            }
        }
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [50, 50, 20], "{path}");
        assert_eq!(json!(pages[0]), plain.body["search_result"], "{path}");
        let mut titles: Vec<_> = pages.concat().iter().map(|one| one["title"].to_string()).collect();
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), 120, "{path}");
        let other = anyone.post(&format!("{path}{query}"), json!({"search": "dolphins"}));
        assert_eq!((other.status, other.text("/field")), (400, "next".to_owned()), "{path}");
        let refused = search("?paged=yes");
        assert_eq!((refused.status, refused.text("/field")), (400, "paged".to_owned()), "{path}");
    }
}
