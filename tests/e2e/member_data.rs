//! Everything that is stored about a member: over HTTP, as a command, and nothing after a removal.

use std::fs;

use serde_json::{Value, json};
use tidings_tests::{Caller, Server, command, only_on_sqlite, run, wait_until};

/// More than one page of every list.
const ROWS: i64 = 700;
/// A text that only the member writes.
const TEXT: &str = "도서관이 \"조용해요\" 🦀";

/// Inserts rows of two members into their lists.
fn fill(server: &Server) {
    for (member, text) in [("ann", TEXT), ("ben", "only of ben")] {
        for (table, values) in [
            ("settled_like (member, post, date)", "key, 1000 + n, n"),
            ("viewed (member, post, date)", "key, 1000 + n, n"),
            ("hidden (member, post, date)", "key, 1000 + n, n"),
            ("searched (member, original, token, similar_words, date)", "key, $1, 'crab', 'sea', n"),
            ("opened (member, newsfeed, tag, date)", "key, $1, '[\"sea\"]', n"),
            ("moved_act (member, date, act)", "key, n, n"),
            (
                "feedback (id, type, post, member, notice, activation, date)",
                "CASE id WHEN 'ann' THEN 'a' ELSE 'b' END || '0000000000000000000' || (1000 + n), 'general', $1, key, '', 1, n",
            ),
            ("visitor (day, visitor, visits, hours, seen)", "n, key, 2, 3, n"),
            ("log (key, member, request)", "n * 16384 + key, key, (SELECT min(key) FROM request)"),
        ] {
            let sql = format!(
                "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {ROWS})
                 INSERT INTO {table} SELECT {values} FROM number JOIN member ON id = '{member}'"
            );
            let sql = sql.replace("$1", &format!("'{text}'"));
            server.sql().execute(&sql, &[]);
        }
    }
}

fn count(data: &Value, list: &str) -> i64 {
    i64::try_from(data[list].as_array().unwrap().len()).unwrap()
}

/// Returns a server with two members who have more than a page of every list.
fn with_members() -> (Server, Caller, Caller) {
    let server = Server::start();
    let (ann, ben) = (server.member("ann"), server.member("ben"));
    let _ = ann.get("/get_userinfo").succeeded();
    wait_until("the log is written", || !server.sql().query("SELECT key FROM request", &[]).is_empty());
    fill(&server);
    (server, ann, ben)
}

#[test]
fn a_member_downloads_and_exports_everything_and_nothing_of_others() {
    let (server, ann, ben) = with_members();
    let data = ann.get("/get_my_data").succeeded();
    assert_eq!(data.header("content-disposition"), "attachment; filename=\"ann.json\"");
    assert_eq!(data.header("cache-control"), "no-store");
    assert_eq!(data.header("content-type"), "application/json; charset=utf-8");
    for list in ["likes", "views", "hidden_posts", "searches", "newsfeeds", "imported_acts", "feedback"] {
        assert_eq!(count(&data.body, list), ROWS, "{list}");
    }
    assert!(count(&data.body, "visits") >= ROWS && count(&data.body, "log") >= ROWS);
    assert_eq!(data.body["account"]["_id"], "ann");
    assert_eq!(data.body["sessions"][0]["current"], 1);
    assert_eq!(data.body["feedback"][0]["post"], TEXT);
    assert_eq!(data.body["searches"][0]["original"], TEXT);
    let text = data.body.to_string();
    assert!(!text.contains("only of ben") && !text.contains("\"ben\""));
    assert!(!ben.get("/get_my_data").succeeded().body.to_string().contains("조용해요"));

    let head = ann.request("HEAD", "/get_my_data").send();
    assert_eq!((head.status, head.header("tidings-result")), (200, "success"));

    // The operator and members export with a command.
    let place = server.database().with_file_name("ann.json");
    let told = server.cli(["member", "export", "ANN", "ann.json"]).succeeded().stdout;
    assert!(told.starts_with("The data of ann is exported: ") && told.ends_with(" entries\n"), "{told}");
    let whole: Value = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
    let mut downloaded = ann.get("/get_my_data").succeeded().body;
    for list in ["feedback", "likes", "views", "searches", "imported_acts", "account"] {
        assert_eq!(whole[list], downloaded[list].take(), "{list}");
    }
    assert_eq!(whole["audit"][0]["action"], "member.export");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            fs::metadata(&place).unwrap().permissions().mode() & 0o777,
            0o600,
            "only its owner reads it"
        );
    }
    let own = server.cli(["--as", "ann", "member", "export", "ann", "-"]).succeeded().stdout;
    let own: Value = serde_json::from_str(&own).unwrap();
    assert_eq!(own["feedback"], whole["feedback"]);
    // Only the operator's export is an administrative act.
    assert_eq!(count(&own, "audit"), 1);

    let other = server.cli(["--as", "ben", "member", "export", "ann", "-"]);
    assert!(other.status == 1 && other.stdout.is_empty(), "{other:?}");
    let unknown = server.cli(["member", "export", "nobody", "nobody.json"]);
    assert!(unknown.status == 1 && unknown.stderr.contains("there is no member"), "{unknown:?}");
    assert!(!server.database().with_file_name("nobody.json").exists());
    let mixed = server.cli(["--json", "member", "export", "ann", "-"]);
    assert_eq!(mixed.status, 2, "{mixed:?}");
}

#[test]
fn a_compact_backup_proves_a_removal() {
    only_on_sqlite!("a file has deleted rows");
    let mut server = Server::start();
    let wiggles = server.member("wigglesworth");
    for n in 0..40 {
        let text = json!({ "type": "general", "post": format!("Squeaky door {n}") });
        let _ = wiggles.post("/send_feedback", text).succeeded();
        let _ = wiggles.post("/search_logging", json!({ "search": format!("quokkas{n}") })).succeeded();
    }
    let boss = server.admin();
    let _ = boss.get("/push_blacklist/wigglesworth").succeeded();
    let backup = |server: &Server, name: &str| {
        let _ = server.cli(["backup", "--compact", name]).succeeded();
        fs::read(server.database().with_file_name(name)).unwrap()
    };
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    wait_until("the log is written", || has(&backup(&server, "before.db"), "/push_blacklist/"));
    let before = backup(&server, "before.db");
    assert!(["wigglesworth", "quokkas7", "Squeaky door"].iter().all(|text| has(&before, text)));

    let _ = boss.get("/admin_remove_user/wigglesworth").succeeded();
    // As if a day had passed, after which searches leave the trends.
    server.sql().execute("DELETE FROM term", &[]);
    // Retention runs at the start.
    server.restart();
    let leftovers = "SELECT key FROM searched UNION ALL SELECT key FROM removed_member";
    wait_until("the acts are deleted", || server.sql().query(leftovers, &[]).is_empty());
    let after = backup(&server, "after.db");
    assert!(!has(&after, "wigglesworth") && !has(&after, "quokkas"));
    assert!(has(&after, "Squeaky door"), "feedback stays");
    // It is a backup like any other.
    let mut check = command();
    check.args(["check", "--db"]).arg(server.database().with_file_name("after.db"));
    let checked = run(check, "");
    assert_eq!(checked.status, 0, "{checked:?}");
}
