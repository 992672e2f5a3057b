//! Nearly identical posts: one among the first of a feed, and the others beside it on request.

use serde_json::{Value, json};
use tidings_tests::site::{Site, feed as feed_of};
use tidings_tests::{Server, wait_until};

use super::{feed, id, import, post};

const TEXT: &str = "The library of the university opens a reading room in the old observatory on Monday. Students \
                    find two hundred desks, a silent floor and the telescope of the founder.";
const OTHER_WORDS: &str = "A reading room in the observatory: on Monday, the university library opens two hundred \
                           desks for students, with a silent floor under the telescope of the founder.";

/// Starts a server with forty posts and, newer than those, three of other sites that tell one story.
fn server() -> Server {
    let mut posts: Vec<Value> = (0..43).map(post).collect();
    for (n, title, text) in [
        (40, "Reading room in the old observatory", TEXT),
        (41, "Library opens desks under the telescope", OTHER_WORDS),
        (42, "A reading room opens in the observatory", TEXT),
    ] {
        posts[n]["title"] = json!(title);
        posts[n]["post"] = json!(text);
    }
    // What a model of so few words says about a post depends on the time when it is learned.
    let server = Server::with(|serve| {
        serve.args(["--words-retrain-after", "0"]);
    });
    import(&server, &posts, 43);
    server
}

fn ids(posts: &[Value]) -> Vec<&str> {
    posts.iter().map(|post| post["_id"].as_str().unwrap()).collect()
}

#[test]
fn topics_and_commands_name_nearly_identical_posts_and_the_recommended_feed_no_hidden_one() {
    let server = server();
    let ann = server.member("ann");
    let _ = ann.get(&format!("/post_hide/{}", id(41))).succeeded();
    let similar_of = |path: &str, n: usize| {
        let page = feed(&ann, &format!("{path}?similar=1"));
        let post = page.list("newsfeed").iter().find(|post| post["_id"] == id(n)).cloned().unwrap();
        ids(post["similar"].as_array().unwrap()).iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(similar_of("/get_recommendation_newsfeed", 42), [id(40)]);
    assert_eq!(similar_of("/get_popularity_newsfeed", 42), [id(41), id(40)]);
    assert_eq!(similar_of("/get_newsfeed_of_topic/all", 42), [id(41), id(40)]);
    let cli = |more: &[&str]| {
        let args: Vec<&str> =
            ["feed", "popular", "--similar", "--limit=3"].iter().chain(more).copied().collect();
        server.cli(args).succeeded().stdout
    };
    let http = feed(&server.anyone(), "/get_popularity_newsfeed?similar=1&limit=3");
    let http = http.list("newsfeed");
    let json: Value = serde_json::from_str(&cli(&["--json"])).unwrap();
    assert_eq!(json["newsfeed"], json!(http));
    let lines = cli(&["--ndjson"]);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, http);
    let page = cli(&["--color=never"]);
    let similar: Vec<&str> = page.lines().filter_map(|line| line.trim().strip_prefix("similar: ")).collect();
    let line = |other: &Value| {
        let text = |field: &str| other[field].as_str().unwrap();
        format!("{}  {}  {}", text("_id"), text("title"), text("url"))
    };
    let expected: Vec<String> = http[0]["similar"].as_array().unwrap().iter().map(line).collect();
    assert_eq!(similar, expected, "{page}");
}

#[test]
fn a_nearly_identical_post_is_named_with_its_source() {
    let server = Server::with(|serve| {
        serve.arg("--private-addresses");
    });
    let boss = server.admin();
    let entry = "Reading room of the library opens in the old observatory";
    let sites = [Site::start(), Site::start()];
    for (site, name) in sites.iter().zip(["Campus", "Town"]) {
        let entry = feed_of(name, &[entry]).replace("a.example", &format!("{name}.example"));
        site.gives("/feed", &entry);
        let _ = boss.post("/add_source", json!({ "url": site.url("/feed") })).succeeded();
    }
    wait_until("both posts are there", || {
        feed(&boss, "/get_popularity_newsfeed").list("newsfeed").len() == 2
    });
    let page = feed(&server.anyone(), "/get_popularity_newsfeed?similar=1&source=1");
    let [one, other] = page.list("newsfeed") else { panic!("{page:?}") };
    for (post, other) in [(one, other), (other, one)] {
        assert_eq!(post["similar"][0]["source"], other["source"]);
        assert_eq!(post["similar"][0]["_id"], other["_id"]);
    }
}
