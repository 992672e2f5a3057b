//! `kill -9` while the acts of a removed member are deleted: the member stays removed, and the deletion continues.

use serde_json::json;
use tidings_tests::{Engine, PASSWORD, Server, Value, wait_until};

use super::assert_intact;

/// Returns the number of likes of the member: several seconds of deletion, which takes longer on a server.
fn likes() -> i64 {
    match Engine::chosen() {
        Engine::Sqlite => 100_000,
        Engine::Postgres => 20_000,
    }
}

#[test]
fn the_acts_of_a_removed_member_are_deleted_across_kills() {
    let mut server = Server::start();
    let (ann, ben) = (server.member("ann"), server.member("ben"));
    server.kill();
    let mut database = server.sql();
    let insert = "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < $1)
                  INSERT INTO settled_like (member, post, date) SELECT key, n, n FROM number JOIN member ON id = $2";
    database.execute(insert, &[likes().into(), "ann".into()]);
    database.execute(insert, &[Value::Integer(7), "ben".into()]);
    server.restart();
    assert_eq!(ann.get("/remove_mine").outcome(), "200 success");

    let mut count = |table: &str| -> i64 { database.scalar(&format!("SELECT count(*) FROM {table}"), &[]) };
    for deleted in [0, likes() / 50, likes() / 10] {
        server.kill();
        assert_intact(server.database());
        server.cli(["check"]).assert_sound();
        let before = count("liked");
        server.restart();
        assert_eq!(ann.get("/get_userinfo").outcome(), "200 not found");
        let credentials = json!({ "id": "ann", "pw": PASSWORD });
        assert_eq!(server.anyone().post("/sign_in", credentials).outcome(), "200 No member");
        wait_until("acts are deleted", || {
            let likes = count("liked");
            likes == 7 || before - likes > deleted
        });
    }
    wait_until("all acts are deleted", || count("removed_member") == 0);
    assert_eq!(count("liked"), 7);
    let new = server.member("ann").get("/get_specific_userinfo/1").succeeded();
    assert_eq!(new.list("fav_list").len(), 0);
    let _ = ben.get("/get_userinfo").succeeded();
    assert!(server.stop().status.success());
    assert_intact(server.database());
}
