//! Several processes on one database file: no write is lost, no process reports a locked database, and each process
//! sees the changes of the others.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tidings_tests::{Caller, Server, only_on_sqlite, sample, wait_until};

use super::{assert_intact, ends, tidings};
use crate::meanwhile::{Act, meanwhile};

fn lines(batch: usize) -> String {
    let line = |n: usize| sample::post(&format!("import {batch} {n}")).to_string();
    (0..20).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn servers_and_commands_write_one_file_and_nothing_is_lost() {
    const LOOPS: usize = 10;
    let mut one = Server::start();
    let mut two = Server::at(one.database(), |_| {});
    let admin = one.admin();
    let id = admin.post("/insert_post", sample::post("the one")).text("/_id");
    let members = [one.member("ann"), two.member("ben")];
    let views = AtomicUsize::new(0);
    let act = |(server, member): (&Server, &Caller)| -> Act {
        let (anyone, member) = (server.anyone(), member.clone());
        let (id, views) = (&id, &views);
        Box::new(move || {
            let _ = anyone.get(&format!("/post_view/{id}")).succeeded();
            views.fetch_add(1, Ordering::Relaxed);
            let _ = member.get(&format!("/post_unlike/{id}")).succeeded();
            let _ = member.get(&format!("/post_like/{id}")).succeeded();
        })
    };
    let [ann, ben] = &members;
    let acts = [(&one, ann), (&one, ann), (&two, ben), (&two, ben)].map(act).into();
    let grant_and_revoke = || {
        for act in ["grant", "revoke"].repeat(LOOPS).into_iter().chain(["grant"]) {
            assert_eq!(one.cli(["admin", act, "ann"]).succeeded().stderr, "");
        }
    };
    let import = || {
        for batch in 0..LOOPS {
            let done = one.cli_with_input(["post", "import", "-", "--json"], lines(batch)).succeeded();
            assert_eq!(done.json()["inserted"], 20);
        }
    };
    meanwhile(acts, || {
        std::thread::scope(|scope| {
            scope.spawn(grant_and_revoke);
            scope.spawn(import);
        });
    });
    let views = views.into_inner();
    for server in [&one, &two] {
        let post = server.anyone().get(&format!("/get_post/{id}")).succeeded().body["post"].clone();
        assert_eq!((&post["view"], &post["fav_cnt"]), (&json!(views), &json!(2)));
        let _ = members[0].get("/check_admin").succeeded();
        wait_until("the feed shows all imported posts", || {
            server.anyone().get("/get_popularity_newsfeed?limit=300").list("newsfeed").len() == 20 * LOOPS + 1
        });
    }
    for server in [&mut one, &mut two] {
        let stopped = server.stop();
        assert!(stopped.status.success());
        assert!(!stopped.log.contains("locked") && !stopped.log.contains("ERROR"), "{}", stopped.log);
    }
    assert_intact(one.database());
}

#[test]
fn two_servers_on_one_file_are_one_service() {
    let mut one = Server::start();
    let two = Server::at(one.database(), |_| {});
    let (admin, ann) = (one.admin(), one.member("ann"));
    // A sign-in or sign-out on one server applies to the other.
    let there = two.anyone().with_token("ann", ann.token());
    let _ = there.get("/get_userinfo").succeeded();
    let _ = there.get("/sign_out_all").succeeded();
    assert_eq!(ann.get("/get_userinfo").outcome(), "200 not found");

    let titles = |server: &Server| server.anyone().get("/get_all_notice").column("notice_list", "title");
    assert_eq!(titles(&two), [] as [&str; 0]);
    let notice = admin.post("/insert_notice", sample::notice("here")).text("/_id");
    wait_until("the second server shows the notice", || titles(&two) == ["here"]);
    let there = two.anyone().with_token("admin", admin.token());
    let _ = there.post(&format!("/update_notice/{notice}"), json!({ "title": "there" })).succeeded();
    wait_until("the first server shows the change", || titles(&one) == ["there"]);
    let post = there.post("/insert_post", sample::post("a post from there")).text("/_id");
    wait_until("the first server shows the post", || {
        one.anyone().get("/get_popularity_newsfeed").column("newsfeed", "_id") == [&*post]
    });
    let found = one.anyone().post("/priority_search/1", json!({ "search": "post from there" }));
    assert_eq!(found.text("/search_result/0/_id"), post);

    // The views that both servers count are added up.
    for server in [&one, &two, &two, &one, &two] {
        let _ = server.anyone().get(&format!("/get_notice/{notice}")).succeeded();
    }
    drop({
        let mut two = two;
        two.stop()
    });
    one.restart();
    let read = one.anyone().get(&format!("/get_notice/{notice}")).succeeded();
    assert_eq!(read.body["notice_list"]["view"], 6);
    let _ = admin.get(&format!("/remove_notice/{notice}")).succeeded();
    assert_eq!(titles(&one), [] as [Value; 0]);
}

#[test]
fn writers_wait_for_each_other_and_readers_do_not() {
    only_on_sqlite!("it holds SQLite's lock of writers");
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let id = admin.post("/insert_post", sample::post("the one")).text("/_id");
    let mut other = server.sql();
    other.batch("BEGIN IMMEDIATE");
    std::thread::scope(|scope| {
        let like = scope.spawn(|| ann.get(&format!("/post_like/{id}")));
        let grant = scope.spawn(|| ends(tidings(server.database(), &["admin", "grant", "ann"])));
        for _ in 0..20 {
            let post = server.anyone().get(&format!("/get_post/{id}")).succeeded();
            assert_eq!(post.body["post"]["fav_cnt"], 0);
            assert_eq!(ann.get("/check_admin").outcome(), "200 Not admin");
        }
        assert!(!like.is_finished() && !grant.is_finished());
        other.batch("COMMIT");
        let _ = like.join().unwrap().succeeded();
        let _ = grant.join().unwrap().succeeded();
    });
    let _ = ann.get("/check_admin").succeeded();
}
