//! `tidings demo`: made-up data with which a new user can try every operation.

use serde_json::{Value, json};
use tidings_tests::{Output, Server, command, location, run};

/// Creates demo data in a database: 40 members, 80 posts and 8 days, unless `args` say otherwise.
fn demo(database: &std::path::Path, args: &[&str]) -> Output {
    let mut demo = command();
    demo.args(["demo", "--members", "40", "--posts", "80", "--days", "8"])
        .args(args)
        .current_dir(database.parent().unwrap())
        .arg("--db")
        .arg(location(database));
    run(demo, "")
}

#[test]
fn demo_data_is_served_and_its_figures_agree() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("tidings.db");
    let made = demo(&database, &[]).succeeded();
    assert!(made.stdout.starts_with("40 members, 80 posts and "), "{made:?}");
    let id =
        made.stdout.lines().find_map(|line| line.strip_prefix("Sign in as ")?.split(',').next()).unwrap();

    let server = Server::at(&database, |_| {});
    let signed_in = server.anyone().post("/sign_in", json!({"id": id, "pw": "made-up member"})).succeeded();
    let member = server.anyone().with_token(id, signed_in.body["access_token"].as_str().unwrap());
    let lists = member.get("/get_specific_userinfo/0").succeeded();
    assert!(!lists.list("view_list").is_empty() && !lists.list("fav_list").is_empty());
    let newsfeed = |path: &str| member.get(path).succeeded().list("newsfeed").to_vec();
    let [popular, recommended] = ["/get_popularity_newsfeed", "/get_recommendation_newsfeed"].map(newsfeed);
    assert!(popular.len() > 50 && !recommended.is_empty() && popular != recommended);

    let analysis = server.anyone().get("/get_analysis").succeeded().body["analysis"].clone();
    let days = server.anyone().get("/get_everyday_analysis_days_ago/7").succeeded().body["analysis"].clone();
    let sum = |name: &str| days.as_array().unwrap().iter().filter_map(|day| day[name].as_i64()).sum::<i64>();
    // The member's requests above may count as a new visit of today, unless the demo data has one.
    assert!(
        (0..=1).contains(&(sum("today_visitor") - (analysis["total_visitor"].as_i64().unwrap() - 1))),
        "{analysis}"
    );
    assert_eq!(json!(sum("today_view")), analysis["total_view"]);
    assert_eq!(json!(sum("today_fav")), analysis["total_fav"]);
    assert_eq!(analysis["posts_count"], 80);
    let realtime = server.anyone().get("/get_search_realtime").succeeded();
    assert!(!realtime.list("search_realtime").is_empty());
    let similar = server.anyone().post("/get_similarity_words", json!({"search": "telescope"})).succeeded();
    assert!(similar.body["similarity_word"][0]["telescope"].is_array(), "{:?}", similar.body);
    let notices = server.anyone().get("/get_all_notice").succeeded();
    assert_eq!(notices.list("notice_list").len(), 6, "there are 6 shown notices and a hidden one");
    server.cli(["check"]).assert_sound();
}

#[test]
fn the_report_is_json_and_the_same_seed_gives_the_same_posts() {
    let directory = tempfile::tempdir().unwrap();
    let made = |name: &str, seed: &str| -> (Value, Vec<Value>) {
        let database = directory.path().join(name);
        let report = demo(&database, &["--json", "--seed", seed]).succeeded().json();
        let mut list = command();
        list.args(["post", "list", "--limit", "100", "--json", "--db"]).arg(location(&database));
        let posts = run(list, "").succeeded().json()["posts"].clone();
        (report, posts.as_array().unwrap().iter().map(|post| post["title"].clone()).collect())
    };
    let (report, titles) = made("1.db", "3");
    let fields: Vec<&String> = report.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["acts", "members", "posts", "result"]);
    assert_eq!(
        (&report["result"], &report["members"], &report["posts"]),
        (&json!("success"), &json!(40), &json!(80))
    );
    assert!(report["acts"].as_i64() > Some(100), "{report}");
    assert_eq!(titles.len(), 80);
    assert_eq!(made("2.db", "3").1, titles);
    assert_ne!(made("3.db", "4").1, titles);
}

#[test]
fn a_database_in_use_is_left_alone_unless_it_holds_only_administrators() {
    let server = Server::start();
    let _admin = server.admin();
    assert_eq!(demo(server.database(), &[]).status, 0);
    let before = server.dump();
    let again = demo(server.database(), &["--json"]);
    assert_eq!((again.status, &again.json()["result"]), (1, &json!("bad request")));
    insta::assert_snapshot!(again.stderr, @"error: bad request: the database has posts, or members other than administrators; name a new database with --db");
    assert_eq!(server.dump(), before);
    for args in [["demo", "--days", "0"], ["demo", "--members", "10001"]] {
        assert_eq!(server.cli(args).status, 2, "{args:?}");
    }
}
