//! Tests with databases of older versions of the program: they open, retain their data, and serve feeds and lists.

use std::path::Path;

use serde_json::{Value, json};
use tidings_cluster::{Scratch, only_on_sqlite};

use crate::account::Caller;
use crate::analysis::{GetRealtime, LogFilter, browse};
use crate::base::clock::Clock;
use crate::newsfeed::{self, FeedPage, Page};
use crate::store::SCHEMA_VERSION;
use crate::testing::{self, NOW, Service};
use crate::transfer::check::{CancelFlag, Context, check};
use crate::{Tidings, notice, post, profile, search};

/// For each earlier version, the schema step that led to it, and rows that the program wrote then.
///
/// The member `ben` has liked post 2, viewed posts 1 and 2, searched, and opened a feed. Times are shortly before
/// [`NOW`].
const VERSIONS: [(&str, &str); 30] = [
    (
        include_str!("../sqlite/0001_initial.sql"),
        "UPDATE revision SET n = 9;
         INSERT INTO decay VALUES (1, 3.0);
         INSERT INTO member (key, id, folded, password, generation, nickname, admin, date, measured, acted) VALUES
             (1, 'Ann', 'ann', '-', 11, 'Ann', 1795100000000, 1795000000000, 0, 0),
             (2, 'Ben', 'ben', '-', 12, 'Ben', NULL, 1795000000000, 1795000000005, 9);
         INSERT INTO notice (id, title, post, view, activation, date) VALUES
             ('6560c1a2ffeeddccbbaa0009', 'Closed', 'On Monday.', 3, 1, 1795000000000);
         INSERT INTO post (key, id, url, host, title, img, topic, tag, keyword, date, end_date, token, post) VALUES
             (1, '6560c1a2ffeeddccbbaa0001', 'https://a.example/1', 'a.example', 'Crab', '', '[\"sea\"]', '[]',
              'crab', 1795000000000, NULL, 'crab', ''),
             (2, '6560c1a2ffeeddccbbaa0002', 'https://a.example/2', 'a.example', 'Whale', '', '[\"sea\"]', '[\"big\"]',
              'whale', 1795000000001, NULL, 'whale', ''),
             (3, '6560c1a2ffeeddccbbaa0003', 'https://b.example/3', 'b.example', 'Oven', '', '[\"home\"]', '[]',
              'oven', 1795000000002, NULL, 'oven', '');
         INSERT INTO standing (post, view, fav, heat, revision) VALUES
             (1, 1, 0, 4800.0, 7), (2, 4, 1, 4801.0, 9), (3, 0, 0, NULL, 5);
         INSERT INTO label VALUES ('sea', 1, 1), ('sea', 2, 1), ('big', 2, 0), ('home', 3, 1);
         INSERT INTO category VALUES ('home', 1), ('sea', 2);
         INSERT INTO post_index (rowid, title, post) VALUES (1, 'crab', ''), (2, 'whale', ''), (3, 'oven', '');
         INSERT INTO liked VALUES (2, 2, 1795100000002);
         INSERT INTO viewed VALUES (2, 1, 1795100000003), (2, 2, 1795100000001);
         INSERT INTO searched VALUES (1, 2, 'Big Crab', 'big crab', 'whale lobster', 1795100000004);
         INSERT INTO opened VALUES (1, 2, 'sea', '[\"big\"]', 1795100000005);
         INSERT INTO term VALUES (1, 'crab', 0, 1795000000000), (7, 'crab', 2, 1795100000004),
             (8, 'oven', 0, 1795100000004);",
    ),
    (
        include_str!("../sqlite/0002_analysis.sql"),
        "INSERT INTO request VALUES (1, 'GET', '/get_log/ ', 5, 200, 2, 20776);
         INSERT INTO log VALUES (1795100000006 * 16384, 1, 1);",
    ),
    (include_str!("../sqlite/0003_acts.sql"), "INSERT INTO moved_act VALUES (2, 1795100000003, 2);"),
    (include_str!("../sqlite/0004_paths.sql"), ""),
    (include_str!("../sqlite/0005_names.sql"), ""),
    (include_str!("../sqlite/0006_acts.sql"), ""),
    (include_str!("../sqlite/0007_growth.sql"), ""),
    (include_str!("../sqlite/0008_revisions.sql"), ""),
    (include_str!("../sqlite/0009_results.sql"), ""),
    (
        include_str!("../sqlite/0010_hidden.sql"),
        "UPDATE revision SET n = 10;
         INSERT INTO hidden VALUES (2, 1, 1795100000006);",
    ),
    (include_str!("../sqlite/0011_feed_weights.sql"), "INSERT INTO feed_weights VALUES ('learned', '{}');"),
    (include_str!("../sqlite/0012_audit.sql"), ""),
    (
        include_str!("../sqlite/0013_sessions.sql"),
        "INSERT INTO session VALUES ('6560c1a2ffeeddccbbaa0011', 1, 'curl', 1795100000000, 1795100000000, 1799000000000);
         INSERT INTO second_factor VALUES (1, 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', 1795100000000, 0);",
    ),
    (include_str!("../sqlite/0014_notices.sql"), ""),
    (include_str!("../sqlite/0015_webhooks.sql"), ""),
    (include_str!("../sqlite/0016_logged_keys.sql"), ""),
    (include_str!("../sqlite/0017_feedback_done.sql"), ""),
    (include_str!("../sqlite/0018_second_factor.sql"), ""),
    (include_str!("../sqlite/0019_tokens.sql"), ""),
    (include_str!("../sqlite/0020_zone_changes.sql"), ""),
    (include_str!("../sqlite/0021_log_paths.sql"), ""),
    (include_str!("../sqlite/0022_heats.sql"), ""),
    (include_str!("../sqlite/0023_search_candidates.sql"), ""),
    (
        include_str!("../sqlite/0024_sources.sql"),
        "INSERT INTO source (key, id, url, name, title, topic, tag, every, state, date, posts, wait, next_fetch, failures, told,
                             skip_hours, seen)
         VALUES (1, '6560c1a2ffeeddccbbaa0020', 'https://a.example/feed', '', 'A', '[]', '[]', NULL, 0, 1795000000000, 1,
                 3600000, 1795100000000, 0, 0, '', '');
         INSERT INTO post_source VALUES (1, 1);",
    ),
    (include_str!("../sqlite/0025_hubs.sql"), ""),
    (include_str!("../sqlite/0026_reset_code.sql"), ""),
    (include_str!("../sqlite/0027_roles.sql"), ""),
    (include_str!("../sqlite/0028_invitations.sql"), ""),
    (include_str!("../sqlite/0029_mail.sql"), ""),
    (include_str!("../sqlite/0030_oidc.sql"), ""),
];

/// Creates a database with this version of the schema.
fn make(path: &Path, version: usize) {
    let connection = rusqlite::Connection::open(path).unwrap();
    for (step, rows) in &VERSIONS[..version] {
        connection.execute_batch(step).unwrap();
        connection.execute_batch(rows).unwrap();
    }
    connection.pragma_update(None, "application_id", 0x7464_6e67).unwrap();
    connection.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
}

/// Opens a database of that version.
fn opened(version: usize) -> Service {
    let database = Scratch::new();
    make(&database.path(), version);
    let tidings = Tidings::builder(database.path()).clock(Clock::fixed(NOW)).open().unwrap();
    Service { tidings, database }
}

fn titles(page: &FeedPage) -> Vec<String> {
    page.posts().map(|post| post.title).collect()
}

fn number(service: &Service, sql: &'static str) -> i64 {
    service.store().read(|tx| tx.one(sql, &[])?.take(0)).unwrap()
}

#[test]
fn each_earlier_version_is_covered_here() {
    only_on_sqlite!("it opens files with older schemas");
    assert_eq!(i64::try_from(VERSIONS.len()).unwrap() + 1, SCHEMA_VERSION);
}

#[test]
fn a_database_of_each_earlier_version_keeps_its_posts_and_serves_feeds() {
    only_on_sqlite!("it opens files with older schemas");
    let ben = Caller::Member("ben".into());
    for version in 1..=VERSIONS.len() {
        let service = opened(version);
        let first = Page::default();
        assert_eq!(number(&service, "SELECT user_version FROM pragma_user_version"), SCHEMA_VERSION);
        let popular = newsfeed::popular(&service, &first).unwrap();
        assert_eq!(titles(&popular), ["Whale", "Crab", "Oven"], "from version {version}");
        let counts = |page: &FeedPage| page.posts().map(|post| (post.view, post.fav_cnt)).collect::<Vec<_>>();
        assert_eq!(counts(&popular), [(4, 1), (1, 0), (0, 0)], "from version {version}");
        let sea = newsfeed::topic(&service, &Caller::Guest, "sea", &first).unwrap();
        assert_eq!(titles(&sea).len(), 2, "from version {version}");
        let recommended = newsfeed::recommended(&service, &ben, &first).unwrap();
        assert_eq!(titles(&recommended), ["Oven"], "without the viewed posts, from version {version}");
        let found = crate::testing::search(&service, "whales whale", 10).unwrap().search_result;
        assert_eq!(found[0].post.title, "Whale", "from version {version}");
        assert_eq!(
            service.call(&Caller::Guest, post::ListCategories {}).unwrap().categories.len(),
            2,
            "from version {version}"
        );
        assert_eq!(service.call(&Caller::Guest, notice::List::default()).unwrap().notices()[0].view, 3);
    }
}

#[test]
fn the_posts_of_an_earlier_version_are_split_into_words_again() {
    only_on_sqlite!("it opens files with older schemas");
    let database = Scratch::new();
    // The last one whose index has the words themselves.
    make(&database.path(), 22);
    let connection = rusqlite::Connection::open(database.path()).unwrap();
    connection
        .execute_batch(
            "UPDATE post SET title = 'Café AI반도체', token = 'café ai반도체', keyword = 'café ai반도체' WHERE key = 1;
             DELETE FROM post_index WHERE rowid = 1;
             INSERT INTO post_index (rowid, title, post) VALUES (1, 'café ai반도체', '');",
        )
        .unwrap();
    drop(connection);
    let tidings = Tidings::builder(database.path()).clock(Clock::fixed(NOW)).open().unwrap();
    let service = Service { tidings, database };
    for search in ["cafe", "café", "반도체", "AI"] {
        let found = crate::testing::search(&service, search, 10).unwrap().search_result;
        assert_eq!(found.len(), 1, "{search}");
    }
    assert_eq!(number(&service, "SELECT count(*) FROM post WHERE tokenizer = 0"), 0);
    assert_eq!(number(&service, "SELECT count(*) FROM post WHERE keyword = 'cafe ai반도체 ai 반도체'"), 1);
}

#[test]
fn a_database_of_each_earlier_version_keeps_the_lists_of_members() {
    only_on_sqlite!("it opens files with older schemas");
    let ben = Caller::Member("ben".into());
    for version in 1..=VERSIONS.len() {
        let service = opened(version);
        let lists =
            serde_json::to_value(service.call(&ben, profile::GetLists { type_num: "0".into() }).unwrap())
                .unwrap();
        let all = |list: &str, field: &str| -> Vec<Value> {
            lists[list].as_array().unwrap().iter().map(|entry| entry[field].clone()).collect()
        };
        assert_eq!(all("fav_list", "title"), ["Whale"], "from version {version}");
        assert_eq!(all("view_list", "title"), ["Crab", "Whale"], "from version {version}");
        assert_eq!(all("search_list", "tokenizer_split"), [json!(["big", "crab"])]);
        assert_eq!(all("search_list", "similarity_split"), [json!(["whale", "lobster"])]);
        assert_eq!(all("newsfeed_list", "newsfeed_name"), ["sea"], "from version {version}");
        let times = "SELECT measured_since FROM member JOIN member_acts ON member = key WHERE key = 2 AND revision = 9";
        assert_eq!(number(&service, times), 1_795_000_000_005);
    }
}

#[test]
fn a_database_of_each_earlier_version_keeps_the_recent_searches() {
    only_on_sqlite!("it opens files with older schemas");
    for version in 1..=VERSIONS.len() {
        let service = opened(version);
        let trends =
            |service: &Service| service.call(&Caller::Guest, GetRealtime {}).unwrap().search_realtime;
        let counts = |counts: &[(&str, i64)]| -> Vec<(String, i64)> {
            counts.iter().map(|(term, n)| ((*term).to_owned(), *n)).collect()
        };
        assert_eq!(trends(&service), counts(&[("oven", 1), ("crab", 1)]), "from version {version}");
        search::log(&service, &Caller::Guest, None, "Crab").wait().unwrap();
        assert_eq!(trends(&service), counts(&[("crab", 2), ("oven", 1)]), "from version {version}");
        assert_eq!(
            trends(&service.reopened()),
            counts(&[("crab", 2), ("oven", 1)]),
            "from version {version}"
        );
    }
}

#[test]
fn a_database_with_an_access_log_keeps_the_members_that_its_paths_name() {
    only_on_sqlite!("it opens files with older schemas");
    for version in 2..=VERSIONS.len() {
        let service = opened(version);
        let log = browse(&service, &Caller::Operator, &LogFilter::default(), None, 10).unwrap();
        let lines: Vec<String> =
            log.lines.iter().map(|line| format!("{} {}", line.user_id, line.path)).collect();
        assert_eq!(lines, ["Ann /get_log/Ben"], "from version {version}");
    }
}

#[test]
fn a_database_of_each_earlier_version_takes_acts_and_passes_the_check() {
    only_on_sqlite!("it opens files with older schemas");
    let ben = Caller::Member("ben".into());
    for version in 1..=VERSIONS.len() {
        let service = opened(version);
        post::like(&service, &ben, "6560c1a2ffeeddccbbaa0001").wait().unwrap();
        search::log(&service, &ben, None, "oven").wait().unwrap();
        let service = service.reopened();
        let lists = service.call(&ben, profile::GetLists { type_num: "0".into() }).unwrap().fields();
        assert_eq!((lists.fav_list.unwrap().len(), lists.search_list.unwrap().len()), (2, 2));
        let context = Context { clock: Clock::fixed(NOW), ..Context::default() };
        let found = check(testing::operator(), service.path(), &context, &mut |_| {}, &CancelFlag::default());
        let mut faults = found.unwrap().checks.into_iter().filter(|check| !check.ok).map(|check| check.name);
        // Unlike the program, `make` leaves the mode of the file to the umask.
        assert_eq!(faults.find(|name| *name != "permissions"), None, "from version {version}");
    }
}
