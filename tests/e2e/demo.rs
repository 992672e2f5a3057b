//! `tidings demo`: made-up data with which a new user can try every operation.

use std::path::Path;

use serde_json::json;
use tidings_tests::{Output, Server, command, location, run};

const DEMO: [&str; 7] = ["demo", "--members", "40", "--posts", "80", "--days", "8"];

fn tidings(database: &Path, args: &[&str]) -> Output {
    let mut tidings = command();
    tidings.current_dir(database.parent().unwrap()).arg("--db").arg(location(database)).args(args);
    run(tidings, "")
}

#[test]
fn demo_data_is_made_once_and_its_figures_agree() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("tidings.db");
    let made = tidings(&database, &DEMO).succeeded();
    assert!(made.stdout.starts_with("40 members, 80 posts and "), "{made:?}");
    let id =
        made.stdout.lines().find_map(|line| line.strip_prefix("Sign in as ")?.split(',').next()).unwrap();
    let posts = || tidings(&database, &["post", "export", "-"]).succeeded().stdout;
    let before = posts();
    let again = tidings(&database, &[&DEMO[..], &["--json"]].concat());
    assert_eq!((again.status, &again.json()["result"]), (1, &json!("bad request")));
    insta::assert_snapshot!(again.stderr, @"error: bad request: the database has posts, or members other than administrators; name a new database with --db");
    assert!(posts() == before);
    for args in [["demo", "--days", "0"], ["demo", "--members", "10001"]] {
        assert_eq!(tidings(&database, &args).status, 2, "{args:?}");
    }

    let server = Server::at(&database, |_| {});
    let signed_in = server.anyone().post("/sign_in", json!({"id": id, "pw": "made-up member"})).succeeded();
    let member = server.anyone().with_token(id, signed_in.text("/access_token"));
    let newsfeed = |path: &str| member.get(path).succeeded().list("newsfeed").to_vec();
    let [popular, recommended] = ["/get_popularity_newsfeed", "/get_recommendation_newsfeed"].map(newsfeed);
    assert!(popular.len() > 50 && !recommended.is_empty() && popular != recommended);
    let analysis = server.anyone().get("/get_analysis").succeeded().body["analysis"].clone();
    let days = server.anyone().get("/get_everyday_analysis_days_ago/7").succeeded().body["analysis"].clone();
    let sum = |name: &str| days.as_array().unwrap().iter().filter_map(|day| day[name].as_i64()).sum::<i64>();
    assert_eq!(json!(sum("today_view")), analysis["total_view"]);
    assert_eq!(json!(sum("today_fav")), analysis["total_fav"]);
    assert_eq!(analysis["posts_count"], 80);
    server.cli(["check"]).assert_sound();
}
