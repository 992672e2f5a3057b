//! The main workflow as one test: a campus uses tidings from the first start, and a restart or a crash loses nothing.

use serde_json::{Value, json};
use tidings_tests::{Caller, PASSWORD, Server, sample, wait_until};

/// Returns the answers to all reads of the guest, the member and the administrator.
fn everything(anyone: &Caller, member: &Caller, admin: &Caller) -> Vec<(&'static str, Value)> {
    wait_until("the server has loaded the words, which the order of the member's feed depends on", || {
        let feed = member.get("/get_recommendation_newsfeed?why=1").succeeded();
        feed.list("newsfeed").iter().any(|post| post["why"]["shares"]["meaning"].as_f64() > Some(0.0))
    });
    let guest = [
        "/get_popularity_newsfeed",
        "/get_recommendation_newsfeed",
        "/get_newsfeed_of_topic/surveys",
        "/get_categories",
        "/get_main_info",
        "/get_all_notice",
    ];
    let members = ["/get_userinfo", "/get_specific_userinfo/0", "/get_user_lately_search/300"];
    let admins = ["/get_all_notice", "/get_all_feedback", "/get_blacklist", "/check_admin"];
    let see = |reader: &Caller, path: &'static str| (path, reader.get(path).succeeded().body);
    let search = anyone.post("/priority_search/10", json!({ "search": "cargo" })).succeeded().body;
    let mut seen: Vec<_> = guest.map(|path| see(anyone, path)).into();
    // The member reads no topic feed, because opening one is an act.
    seen.extend(members.map(|path| see(member, path)));
    seen.push(see(member, "/get_recommendation_newsfeed"));
    seen.extend(admins.map(|path| see(admin, path)));
    seen.push(("/priority_search", search));
    seen
}

/// Returns the titles of the first three posts that are recommended to `reader`.
fn recommended(reader: &Caller) -> Vec<String> {
    reader.get("/get_recommendation_newsfeed?limit=3").succeeded().column("newsfeed", "title")
}

/// The posts whose topic is `surveys`.
const SURVEYS: [&str; 3] = [
    "Variadic Generics Micro Survey",
    "Launching the 2024 State of Rust Survey",
    "2021 Annual Survey Report",
];

#[test]
fn a_campus_starts_the_service_fills_it_uses_it_and_loses_nothing() {
    // The first start creates the database, and the log says how to become administrator.
    let mut server = Server::start();
    assert_eq!(server.sql().scalar::<u64>("SELECT count(*) FROM member", &[]), 0);
    wait_until("the log says how to become administrator", || server.log().contains("init --admin"));
    let anyone = server.anyone();
    assert_eq!(anyone.get("/readyz").status, 200);

    // While the server runs, the operator imports posts and creates an administrator.
    let file = server.database().with_file_name("rust-blog.jsonl");
    std::fs::write(&file, sample::RUST_BLOG).unwrap();
    let count = sample::rust_blog().len();
    let import = ["post", "import", file.to_str().unwrap(), "--json"];
    let expected =
        json!({ "result": "success", "inserted": count, "updated": 0, "skipped": 0, "errors": [] });
    assert_eq!(server.cli(import).succeeded().json(), expected);
    let init = ["--json", "init", "--admin", "dean", "--password-stdin"];
    let made = server.cli_with_input(init, format!("{PASSWORD}\n")).succeeded();
    assert_eq!(made.json(), json!({ "result": "success", "admin": "dean" }));
    let token = anyone.post("/sign_in", json!({ "id": "dean", "pw": PASSWORD })).text("/access_token");
    let admin = anyone.with_token("dean", token);
    let _ = admin.get("/check_admin").succeeded();

    // A member signs up and reads.
    let form = json!({ "id": "ann", "pw": PASSWORD, "pw_check": PASSWORD, "nickname": "앤" });
    let ann = anyone.with_token("ann", anyone.post("/sign_up", form).text("/access_token"));
    assert_eq!(ann.get("/check_admin").outcome(), "200 Not admin");
    wait_until("the feeds show the posts", || {
        anyone.get("/get_popularity_newsfeed").succeeded().list("newsfeed").len() == count
    });
    let popular = ann.get("/get_popularity_newsfeed").succeeded();
    assert_eq!(
        popular.text("/newsfeed/0/title"),
        "Enabling the next-generation trait solver on nightly",
        "without acts the newest post is first"
    );
    let known = recommended(&ann);
    assert!(
        !known.iter().any(|title| SURVEYS.contains(&title.as_str())),
        "the member has no acts yet: {known:?}"
    );
    let surveys = ann.get("/get_newsfeed_of_topic/surveys").succeeded();
    assert_eq!(surveys.column("newsfeed", "title"), SURVEYS);
    let [other, liked, viewed] = [0, 1, 2].map(|n| surveys.column("newsfeed", "_id").swap_remove(n));

    // The member views, likes and searches, and the recommendations follow these acts.
    let _ = ann.get(&format!("/post_view/{viewed}")).succeeded();
    let _ = ann.get(&format!("/post_view/{liked}")).succeeded();
    let _ = ann.get(&format!("/post_like/{liked}")).succeeded();
    let found = ann.post("/priority_search/5", json!({ "search": "the annual survey" })).succeeded();
    assert!(found.column("search_result", "_id").contains(&liked));
    let _ = ann.post("/search_logging", json!({ "search": "the annual survey" })).succeeded();
    assert_eq!(recommended(&ann)[0], SURVEYS[0], "the survey that she has not seen");
    let all = ann.get("/get_recommendation_newsfeed").succeeded().column("newsfeed", "_id");
    assert!(all.contains(&other) && !all.contains(&liked) && !all.contains(&viewed));
    wait_until("the liked post is the most popular", || {
        let first = anyone.get("/get_popularity_newsfeed").body["newsfeed"][0].clone();
        (&first["_id"], &first["fav_cnt"]) == (&json!(liked), &json!(1))
    });

    // The administrator adds, edits, hides and removes notices; the member reads them and sends feedback.
    let insert = |title: &str| admin.post("/insert_notice", sample::notice(title)).text("/_id");
    let [library, canteen, typo] = ["Library", "Canteen", "Tpyo"].map(insert);
    let edit =
        admin.post(&format!("/update_notice/{library}"), json!({ "title": "Library: open until ten" }));
    let _ = edit.succeeded();
    let _ = admin.form(&format!("/update_notice/{canteen}"), &[("activation", "0")]).succeeded();
    let _ = admin.get(&format!("/remove_notice/{typo}")).succeeded();
    let _ = admin.post("/update_main_info", json!({ "new_info_1": "어서 오세요" })).succeeded();
    let notices = ann.get("/get_all_notice").succeeded();
    assert_eq!(notices.column("notice_list", "title"), ["Library: open until ten"]);
    assert_eq!(ann.get(&format!("/get_notice/{library}")).body["notice_list"]["view"], 1);
    let feedback = json!({ "type": "question", "post": "일요일에도요?" });
    let _ = ann.post(&format!("/remove_notice/{library}"), feedback).succeeded();
    let read = admin.get("/get_all_feedback").succeeded();
    assert_eq!(read.column("feedback_list", "post"), ["일요일에도요?"]);
    assert_eq!(read.column("feedback_list", "author"), ["ann"]);
    let done = format!("/update_feedback/{}/0", read.text("/feedback_list/0/_id"));
    let _ = admin.get(&done).succeeded();

    // Otherwise a server may learn the words between two comparisons.
    let _ = server.cli(["words", "train"]).succeeded();

    // After a restart, a crash and a stop, all data is unchanged and older tokens are still valid.
    let before = everything(&anyone, &ann, &admin);
    server.restart();
    assert_eq!(everything(&anyone, &ann, &admin), before);
    server.kill();
    server.restart();
    assert_eq!(everything(&anyone, &ann, &admin), before);
    assert!(server.stop().status.success());
    server.restart();
    assert_eq!(everything(&anyone, &ann, &admin), before);
    let _ = anyone.post("/sign_in", json!({ "id": "ann", "pw": PASSWORD })).succeeded();
}
