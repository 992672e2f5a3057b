//! Tests of the index in segments.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidings_cluster::{Cluster, Database, is_installed};

use super::super::Terms;
use super::super::{Matches, Query};
use super::*;
use crate::Tidings;
use crate::account::Caller;
use crate::import::to_the_end;
use crate::post::Draft;
use crate::store::{Isolation, Value};
use crate::testing::open_at;

mod model;

/// A database with nothing in its index.
struct Server {
    tidings: Tidings,
    database: Database,
}

impl Server {
    fn start(what: &str) -> Option<Self> {
        let cluster = || Cluster::shared().expect("it is installed");
        let database = is_installed(what).then(|| cluster().database())?;
        Some(Self { tidings: open_at(database.url()), database })
    }

    fn write(&self, changes: Vec<Change>) {
        self.tidings.store().write(Isolation::Alone, move |tx| write(tx, &changes)).unwrap();
    }

    fn insert(&self, posts: impl IntoIterator<Item = (i64, String)>) {
        let change = |(key, text): (i64, String)| {
            Change::Insert(PostKey::new(key), Arc::new(TokenFields::of("", &text)))
        };
        self.write(posts.into_iter().map(change).collect());
    }

    fn segments(&self) -> Vec<Segment> {
        self.tidings.store().read(|tx| Segment::ready(tx)).unwrap()
    }

    fn merge(&self) {
        merge::merge(self.tidings.store(), &|| false).unwrap();
    }

    fn damage(&self) -> Vec<String> {
        self.tidings.store().read(|tx| damage(tx)).unwrap()
    }

    /// Returns the relevance of each post that matches.
    fn found(&self, words: &[String], similar: &[String]) -> Result<BTreeMap<i64, f64>, StoreError> {
        let [words, similar] = [words, similar].map(<[String]>::to_vec);
        let terms = Terms { words, similar, ..Terms::default() };
        let query = Query::new(&terms, self.tidings.search_cache()).unwrap();
        self.tidings.store().read(|tx| rows(tx, |tx| Ok(Some(Ranked::of(tx, &query)?.all()))))
    }

    /// Returns the same in parts of this size.
    fn found_in_parts(&self, words: &[String], num: i64) -> Vec<BTreeMap<i64, f64>> {
        let terms = Terms { words: words.to_vec(), ..Terms::default() };
        let query = Query::new(&terms, self.tidings.search_cache()).unwrap();
        let parts = self.tidings.store().read(|tx| {
            let (mut ranked, mut parts) = (Ranked::of(tx, &query)?, Vec::new());
            while let Some(matches) = ranked.next(tx, num, None)? {
                let mut matches = Some(matches);
                parts.push(rows(tx, |_| Ok(matches.take()))?);
            }
            Ok::<_, StoreError>(parts)
        });
        parts.unwrap()
    }

    /// Returns the number of rows of a table.
    fn count(&self, table: &str) -> i64 {
        self.database.query(&format!("SELECT count(*) FROM {table}"), &[])[0][0]
            .as_ref()
            .unwrap()
            .parse()
            .unwrap()
    }
}

fn rows(
    tx: &mut dyn Tx,
    matches: impl FnOnce(&mut dyn Tx) -> Result<Option<Matches>, StoreError>,
) -> Result<BTreeMap<i64, f64>, StoreError> {
    let Some(matches) = matches(tx)? else { return Ok(BTreeMap::new()) };
    let sql = format!(
        "WITH {} SELECT key, relevance FROM found WHERE CAST($1 AS BIGINT) = CAST($2 AS BIGINT)",
        matches.sql
    );
    let one = Value::Integer(1);
    let rows = tx.rows(&sql, &matches.args([(&one).into(), (&one).into()]))?;
    rows.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
}

fn texts<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(ToOwned::to_owned).to_vec()
}

/// Returns a text of rare words, one of four words, and one that all posts have.
fn text(number: i64) -> String {
    let rare: Vec<String> = (0..40).map(|place| format!("w{}x{place}", number * 7 % 5_000)).collect();
    format!(
        "news {} {}",
        ["sea", "wood", "sky", "sand"][usize::try_from(number % 4).unwrap()],
        rare.join(" ")
    )
}

#[test]
fn posts_become_segments_and_these_become_one() {
    let Some(server) = Server::start("segments of the search index") else { return };
    for number in 1..=40 {
        server.insert([(number, text(number))]);
    }
    assert_eq!((server.count("post_index_recent"), server.segments().len()), (40, 0));
    server.insert((41..=140).map(|number| (number, text(number))));
    assert_eq!((server.count("post_index_recent"), server.segments().len()), (0, 1));
    for batch in 0..7 {
        server.insert((0..100).map(|number| (141 + batch * 100 + number, text(number))));
    }
    assert_eq!(server.segments().len(), 8);
    server.merge();
    let [segment] = server.segments().try_into().unwrap();
    assert_eq!((segment.first, segment.last, segment.entries, segment.dead), (1, 840, 840, 0));
    assert_eq!(server.count("post_segment_block"), segment.blocks);
    // The words of changed posts are dead until the next merge.
    let change = |key| Change::Update(PostKey::new(key), Arc::new(TokenFields::of("", "sea")));
    server.write((1..=60).map(change).collect());
    assert_eq!(server.segments()[0].dead, 60);
    assert_eq!(server.found(&texts(["news"]), &[]).unwrap().len(), 780);
    server.write((1..=400).map(|key| Change::Remove(PostKey::new(key))).collect());
    server.merge();
    let [segment] = server.segments().try_into().unwrap();
    assert_eq!((segment.entries, segment.dead), (440, 0));
    server.write((401..=840).map(|key| Change::Remove(PostKey::new(key))).collect());
    server.merge();
    assert_eq!(["post_segment", "post_segment_block", "post_index"].map(|table| server.count(table)), [0; 3]);
}

#[test]
fn a_word_in_many_posts_has_several_blocks() {
    let Some(server) = Server::start("long posting lists") else { return };
    server.insert(
        (1..=6_000).map(|key| (key, format!("aa news {} zz", if key % 2 == 0 { "sea" } else { "sea sea" }))),
    );
    let parts =
        "SELECT string_agg(first_word || part, ' ' ORDER BY first_word, part) FROM post_segment_block";
    assert_eq!(
        server.database.query(parts, &[])[0][0].as_deref(),
        Some("aa0 aa1 aa2 aa3 news0 news1 news2 news3 sea0 sea1 sea2 sea3 zz0 zz1 zz2 zz3")
    );
    for word in ["aa", "news", "sea", "zz"] {
        assert_eq!(server.found(&texts([word]), &[]).unwrap().len(), 6_000, "{word}");
    }
    for word in ["a", "ab", "news0", "zzz", "seas"] {
        assert_eq!(server.found(&texts([word]), &[]).unwrap().len(), 0, "{word}");
    }
    assert!(server.damage().is_empty());
}

#[test]
fn parts_have_all_posts_in_the_order_of_their_relevance() {
    let Some(server) = Server::start("parts of the found posts") else { return };
    let text = |key: i64| format!("sea {}", "sand ".repeat(usize::try_from(key % 97).unwrap()));
    server.insert((1..=3_000).map(|key| (key, text(key))));
    let (all, parts) =
        (server.found(&texts(["sea"]), &[]).unwrap(), server.found_in_parts(&texts(["sea"]), 7));
    let (mut sizes, mut border, mut together) = (Vec::new(), f64::INFINITY, BTreeMap::new());
    for part in parts {
        assert!(part.values().all(|relevance| *relevance < border));
        border = part.values().copied().fold(border, f64::min);
        sizes.push(part.len());
        together.extend(part);
    }
    assert_eq!(together, all);
    // Each has all posts with the least of its relevances: 30 or 31 have the same length.
    assert_eq!(sizes, [30, 93, 372, 1_488, 1_017]);
}

/// Returns the server with segments that a merge writes in more than one transaction.
fn with_segments(what: &str) -> Option<Server> {
    let server = Server::start(what)?;
    for batch in 0..8 {
        server.insert((1..=200).map(|number| (batch * 200 + number, text(batch * 200 + number))));
    }
    Some(server)
}

#[test]
fn a_merge_that_was_interrupted_leaves_nothing() {
    let Some(server) = with_segments("an interrupted merge") else { return };
    let before = server.found(&texts(["sea", "news"]), &[]).unwrap();
    let interrupted = merge::merge(server.tidings.store(), &|| true);
    assert!(matches!(interrupted, Err(StoreError::Interrupted)), "{interrupted:?}");
    assert_eq!(server.segments().len(), 8);
    assert_eq!(server.count("post_segment"), 9);
    assert_eq!(server.found(&texts(["sea", "news"]), &[]).unwrap(), before);
    server.merge();
    assert_eq!((server.count("post_segment"), server.segments().len()), (1, 1));
    assert_eq!(server.count("post_segment_block"), server.segments()[0].blocks);
    assert_eq!(server.found(&texts(["sea", "news"]), &[]).unwrap(), before);
    assert!(server.damage().is_empty());
}

#[test]
fn replaced_segments_with_many_blocks_are_deleted_in_parts_and_others_stay() {
    let Some(server) = Server::start("deletions of many blocks") else { return };
    // A ready segment, one that a killed merge has left, and one that another has replaced.
    server.database.query(
        "INSERT INTO post_segment (segment, first_entry, last_entry, entries, dead, blocks, state)
         VALUES (1, 1, 1, 1, 0, 1200, 1), (2, 2, 2, 1, 0, 0, 0), (-3, 3, 3, 1, 0, 1024, 2)",
        &[],
    );
    for (segment, blocks) in [(1, 1_200), (2, 1_300), (-3, 1_024)] {
        // Words with several parts, so that parts of deletions end within words.
        let sql = "INSERT INTO post_segment_block (segment, first_word, part, last_word, data)
                   SELECT $1::bigint, 'w' || n / 100, n % 100, 'w' || n / 100, '' FROM generate_series(0, $2::bigint - 1) n";
        let sql = sql.replace("$1", &segment.to_string()).replace("$2", &blocks.to_string());
        server.database.query(&sql, &[]);
    }
    server.merge();
    assert_eq!(["post_segment", "post_segment_block"].map(|table| server.count(table)), [1, 1_200]);
    assert_eq!(server.segments()[0].id, 1);
}

#[test]
fn of_two_merges_one_replaces_the_segments() {
    let Some(server) = with_segments("merges at the same time") else { return };
    let before = server.found(&texts(["wood", "w7x1"]), &[]).unwrap();
    let other = open_at(server.database.url());
    // The second one begins after the first has written some blocks, and ends before it.
    let asked = AtomicUsize::new(0);
    let merged = merge::merge(server.tidings.store(), &|| {
        if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            merge::merge(other.store(), &|| false).unwrap();
        }
        false
    });
    merged.unwrap();
    assert!(asked.into_inner() > 0);
    assert_eq!((server.count("post_segment"), server.segments().len()), (1, 1));
    assert_eq!(server.count("post_segment_block"), server.segments()[0].blocks);
    assert_eq!(server.found(&texts(["wood", "w7x1"]), &[]).unwrap(), before);
}

#[test]
fn posts_that_change_during_a_merge_are_dead_in_the_new_segment() {
    let Some(server) = with_segments("changes during a merge") else { return };
    let change = |key| Change::Update(PostKey::new(key), Arc::new(TokenFields::of("", "sea")));
    let asked = AtomicUsize::new(0);
    let merged = merge::merge(server.tidings.store(), &|| {
        if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            server.write((1..=30).map(change).collect());
        }
        false
    });
    merged.unwrap();
    assert_eq!(server.segments()[0].dead, 30);
    assert_eq!(server.found(&texts(["news"]), &[]).unwrap().len(), 1_570);
    assert!(server.damage().is_empty());
}

#[test]
fn damaged_blocks_are_found_and_searches_of_their_words_fail() {
    let Some(server) = with_segments("damaged blocks") else { return };
    assert!(server.damage().is_empty());
    let damage = |sql: &str| {
        server.database.query(sql, &[]);
    };
    damage(
        "DELETE FROM post_segment_block WHERE (segment, first_word) = (
             SELECT b.segment, max(first_word) FROM post_segment_block b JOIN post_segment s ON s.segment = b.segment
             WHERE s.first_entry = 1 GROUP BY 1)",
    );
    assert_eq!(server.damage(), ["the words of entries 1 to 200"]);
    damage("UPDATE post_segment_block SET data = substr(data, 1, 20)");
    assert_eq!(server.damage().len(), 8);
    assert!(server.found(&texts(["news"]), &[]).is_err());
    assert!(merge::merge(server.tidings.store(), &|| false).is_err());
    server.tidings.store().write(Isolation::Alone, |tx| clear(tx)).unwrap();
    server.insert([(1, "sea".into()), (2, "sea".into())]);
    damage(
        "UPDATE post_index_recent SET words = '\\x80' WHERE entry = (SELECT min(entry) FROM post_index_recent)",
    );
    assert_eq!(server.damage(), ["the words of post number 1"]);
    damage("DELETE FROM post_index_recent");
    assert_eq!(server.damage(), ["the words of post number 1", "the words of post number 2"]);
}

#[test]
fn an_index_that_an_update_of_the_schema_has_emptied_is_filled_at_the_next_start() {
    let Some(server) = Server::start("the search index after an update of the schema") else { return };
    let post = |number: i64| {
        let (title, url) = (text(number), format!("https://a.example/{number}"));
        serde_json::json!({ "title": title.get(..60), "post": title, "url": url }).to_string()
    };
    let posts: Vec<String> = (1..=230).map(post).collect();
    let import = |tidings| {
        crate::post::import(tidings, &Caller::Operator, posts.join("\n").as_bytes(), &mut to_the_end).unwrap()
    };
    assert_eq!(import(&server.tidings).inserted, 230);
    let search = |tidings| crate::testing::search(tidings, "sea news", 300).unwrap().search_result.len();
    assert_eq!(search(&server.tidings), 230);
    server.tidings.store().write(Isolation::Alone, |tx| clear(tx)).unwrap();
    server.database.query("UPDATE post_index_size SET unindexed = 9223372036854775807", &[]);
    // A post that is changed in the meantime.
    let id = server
        .database
        .query("SELECT id FROM post ORDER BY key LIMIT 1 OFFSET 6", &[])
        .remove(0)
        .remove(0)
        .unwrap();
    let draft = Draft { title: Some("Changed".into()), ..Draft::default() };
    server
        .tidings
        .call(&Caller::Operator, crate::post::Update { post_obi: id.clone(), draft: draft.clone() })
        .unwrap();
    assert_eq!(search(&server.tidings), 1);
    let again = open_at(server.database.url());
    assert_eq!(search(&again), 230);
    assert_eq!(again.store().read(super::super::mismatches).unwrap(), []);
    assert!(server.damage().is_empty());
    assert_eq!(server.database.query("SELECT unindexed FROM post_index_size", &[]), [[None]]);
}
