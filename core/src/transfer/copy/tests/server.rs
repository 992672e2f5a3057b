//! Copies to and from a server.

use super::*;

fn places() -> Option<Places> {
    is_installed("copies to and from PostgreSQL").then(Places::new)
}

fn write(location: &Location) -> i64 {
    let store = Store::open(location).unwrap();
    store.write(Isolation::Alone, |tx| Ok::<_, StoreError>(tx.revision())).unwrap()
}

#[test]
fn odd_values_return_from_a_server_as_they_were() {
    let Some(mut places) = places() else { return };
    let (source, server, other, back) =
        (places.odd("a.db"), places.server(), places.server(), places.file("b.db"));
    assert_eq!(copied(&source, &server).unwrap().replaced, 0);
    assert_equal(&source, &server);
    copied(&server, &other).unwrap();
    assert_equal(&source, &other);
    copied(&other, &back).unwrap();
    assert_equal(&source, &back);
}

#[test]
fn revisions_and_keys_of_a_copy_continue_after_those_of_its_source() {
    let Some(mut places) = places() else { return };
    let (source, server, back) = (places.posts("a.db"), places.server(), places.file("b.db"));
    run(&source, "UPDATE revision SET n = 1000000000000");
    run(&source, "UPDATE sqlite_sequence SET seq = 5000 WHERE name = 'post'");
    copied(&source, &server).unwrap();
    let last = write(&server);
    assert!(last > 1_000_000_000_000);
    let insert = "INSERT INTO post (id, url, host, title, img, topic, tag, keyword, date, token, post)
                  VALUES ('x', 'x', '', '', '', '[]', '[]', '', 0, '', '')";
    run(&server, insert);
    // A transaction of a server that runs twice leaves a gap.
    let post = number(&server, "SELECT key FROM post WHERE id = 'x'");
    assert!((5_001..=5_002).contains(&post), "{post}");
    run(&server, "DELETE FROM post WHERE id = 'x'");
    // A table without rows begins at 1.
    let notice = "INSERT INTO notice (id, title, post, activation, date) VALUES ('x', '', '', 1, 0)";
    run(&server, notice);
    let first = number(&server, "SELECT key FROM notice");
    assert!((1..=2).contains(&first), "{first}");
    copied(&server, &back).unwrap();
    assert!(write(&back) > last);
    run(&back, insert);
    assert_eq!(number(&back, "SELECT key FROM post WHERE id = 'x'"), post + 1);
    run(&back, notice.replace("'x'", "'y'").leak());
    assert_eq!(number(&back, "SELECT max(key) FROM notice"), first + 1);
}

#[test]
fn a_nul_is_replaced_and_counted() {
    let Some(mut places) = places() else { return };
    let (source, server) = (places.posts("a.db"), places.server());
    run(
        &source,
        "INSERT INTO main_info (one, info_1, info_2) VALUES (1, 'a' || char(0) || char(0), char(0)) ON CONFLICT (one) \
                  DO UPDATE SET info_1 = excluded.info_1, info_2 = excluded.info_2",
    );
    assert_eq!(copied(&source, &server).unwrap().replaced, 2);
    let texts = "SELECT count(*) FROM main_info WHERE info_1 = 'a\u{fffd}\u{fffd}' AND info_2 = '\u{fffd}'";
    assert_eq!(number(&server, texts), 1);
}

#[test]
fn keys_of_days_and_data_of_caches_stay_behind() {
    let Some(mut places) = places() else { return };
    let (source, server, back) = (places.posts("a.db"), places.server(), places.file("b.db"));
    for sql in [
        "INSERT INTO day_key (slot, day, secret) VALUES (1, 1, 's')",
        "INSERT INTO post_change (revision, post) VALUES (1000000, 1)",
    ] {
        run(&source, sql);
    }
    copied(&source, &server).unwrap();
    copied(&server, &back).unwrap();
    for location in [&server, &back] {
        assert_eq!(number(location, "SELECT count(*) FROM day_key"), 0);
        assert_eq!(number(location, "SELECT count(*) FROM post_change WHERE post = 0"), 1);
        assert_eq!(number(location, "SELECT count(*) FROM post_change"), 1);
        let touched = number(location, "SELECT count(DISTINCT topic) FROM touched");
        assert_eq!(usize::try_from(touched), Ok(Topic::ALL.len()));
    }
}

#[test]
fn every_table_of_the_schemas_is_in_the_plan() {
    let Some(mut places) = places() else { return };
    let (file, server) = (places.file("a.db"), places.server());
    let mut found = vec!["incomplete_copy".to_owned()];
    for (location, sql) in [
        (
            &file,
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual')
                    AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
        ),
        (
            &server,
            "SELECT relname FROM pg_class c WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
                    AND NOT relispartition AND relname <> 'spatial'",
        ),
    ] {
        let rows = Store::open(location).unwrap().read(|tx| tx.rows(sql, &[])).unwrap().into_iter();
        found.extend(rows.map(|mut row| row.take::<String>(0).unwrap()));
    }
    found.sort();
    found.dedup();
    let mut planned = plan::names();
    planned.sort_unstable();
    assert_eq!(found, planned);
}
