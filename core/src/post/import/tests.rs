//! Tests of the import of posts.

use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::import::{About, LINE_MAX, to_the_end};
use crate::post::{Get, feed_rows};
use crate::record::error::Error;
use crate::store::Topic;
use crate::testing::{self, NOW, Service, cases, draft, publish};

mod feeds;
mod formats;

const RUST_BLOG: &str = include_str!("../../../../tests/data/rust-blog.jsonl");

fn import_from(service: &Service, input: &str) -> Report {
    bare(import(service, &Caller::Operator, input.as_bytes(), &mut to_the_end))
}

/// Returns a report without warnings and the further information for people.
fn bare(imported: Result<Report>) -> Report {
    Report { warnings: Vec::new(), about: About::default(), ..imported.unwrap() }
}

fn report(inserted: u64, updated: u64, skipped: u64, errors: &[(u64, &str)]) -> Report {
    let error = |(line, reason): &(u64, &str)| LineError { line: *line, reason: (*reason).to_owned() };
    let errors = errors.iter().map(error).collect();
    Report { inserted, updated: Some(updated), skipped, errors, ..Report::default() }
}

fn lines(posts: &[Value]) -> String {
    posts.iter().fold(String::new(), |lines, post| lines + &post.to_string() + "\n")
}

fn post(n: u64) -> Value {
    json!({"title": format!("Post {n}"), "url": format!("https://example.com/{n}"), "post": "Some text."})
}

fn all(service: &Service) -> Vec<feed_rows::FeedRow> {
    service.store().read(|tx| feed_rows::until(tx, crate::base::clock::Timestamp::MAX, 10_000)).unwrap()
}

/// Returns the complete post with the url `https://example.com/{n}`.
fn found(service: &Service, n: u64) -> Value {
    let url = format!("https://example.com/{n}");
    let row = all(service).into_iter().find(|row| row.url == url).unwrap();
    serde_json::to_value(service.call(&Caller::Guest, Get { post_obi: row.id.clone() }).unwrap().post)
        .unwrap()
}

#[test]
fn posts_are_imported_once() {
    let service = testing::service();
    let mut told = Vec::new();
    let imported = import(&service, &Caller::Operator, RUST_BLOG.as_bytes(), &mut |done| {
        told.push(done);
        ControlFlow::Continue(())
    });
    assert_eq!(imported.unwrap(), report(40, 0, 0, &[]));
    assert_eq!(told.last(), Some(&40));
    let version = service.store().version(Topic::Posts);
    assert_eq!(import_from(&service, RUST_BLOG), report(0, 0, 40, &[]));
    assert_eq!(service.store().version(Topic::Posts), version, "nothing was written");
}

#[test]
fn a_bad_line_is_reported_with_its_number_and_others_are_imported() {
    let service = testing::service();
    let taken = publish(&service, draft("a", "https://a.kr"));
    let taken = json!({"_id": taken, "title": "b", "url": "https://b.kr"}).to_string();
    let long = format!(r#"{{"title": "{}"}}"#, "a".repeat(LINE_MAX));
    let deep = format!(r#"{{"title": {}}}"#, "[".repeat(10_000) + &"]".repeat(10_000));
    let bad = [
        (r#"{"title": "a", "url": "#, "it is not JSON: EOF while parsing a value at byte 21"),
        ("oops", "it is not JSON: expected value at byte 1"),
        ("42", "it is not a JSON object: a post is written as {\"title\": …, \"url\": …}"),
        (r#"["a"]"#, "it is not a JSON object: a post is written as {\"title\": …, \"url\": …}"),
        (r#"{"title": 5, "url": "https://b.kr"}"#, "title is not a text in quotes"),
        (r#"{"title": "a", "url": "https://b.kr", "topic": [1]}"#, "topic is not a list of texts in quotes"),
        (r#"{"title": "a", "url": "https://b.kr", "view": 1.5}"#, "view is not a whole number"),
        (r#"{"title":"a","url":"https://b.kr","view":-1}"#, "view is a whole number, 0 to 9007199254740992"),
        (r#"{"title": "a", "title": "b", "url": "https://b.kr"}"#, "a field is given twice"),
        (r#"{"title": "a"}"#, "url is missing: it identifies the post"),
        (r#"{"url": "https://b.kr"}"#, "title is missing, and there is no post with this url yet"),
        (r#"{"title": "", "url": "https://b.kr"}"#, "title is 1 to 300 characters on one line"),
        (r#"{"title":"a","url":"https://b.kr","date":"x"}"#, "date is written like 2026-11-20T08:36:00Z"),
        (
            r#"{"_id": "x", "title": "a", "url": "https://b.kr"}"#,
            "_id is 24 hex digits; leave it out for a new one",
        ),
        (&taken, "another post has this _id: leave it out for a new one"),
        (&long, "it is longer than 1 MiB: shorten its texts"),
        (&deep, "a field is nested too deeply: its value is a text or a list of texts"),
    ];
    let mut input = String::new();
    let mut expected = Vec::new();
    for (n, (line, reason)) in (1..).zip(bad) {
        input += &[line, "\n\n", &post(n).to_string(), "\n"].concat();
        expected.push((3 * n - 2, reason));
    }
    assert_eq!(import_from(&service, &input), report(bad.len() as u64, 0, 0, &expected));

    let reason = "it is not JSON: expected `:` in its line 2 at byte 4";
    assert_eq!(import_from(&service, "[{\n\"a\", 1}]"), report(0, 0, 0, &[(1, reason)]));
    let input = [b"{\"title\": \"\xff\"}\n".as_slice(), post(99).to_string().as_bytes()].concat();
    let imported = bare(import(&service, &Caller::Operator, &input[..], &mut to_the_end));
    assert_eq!(imported, report(1, 0, 0, &[(1, "it is not UTF-8: save the file in that encoding")]));
}

#[test]
fn a_report_has_1000_bad_lines_and_the_number_of_further_ones() {
    let service = testing::service();
    let input = "x\n".repeat(1_000) + &post(1).to_string();
    let imported = import_from(&service, &input);
    assert_eq!((imported.inserted, imported.errors.len(), imported.errors[999].line), (1, 1_000, 1_000));
    let imported = import_from(&service, &"x\n".repeat(1_234));
    assert_eq!(imported.errors.len(), 1_001);
    let last = LineError { line: 1_234, reason: "234 more lines, up to this one, were left out".into() };
    assert_eq!(imported.errors[1_000], last);
    let about =
        |input: &str| import(&service, &Caller::Operator, input.as_bytes(), &mut to_the_end).unwrap().about;
    assert_eq!(about(&"x\n".repeat(1_234)), About { left_out: 1_234, ..About::default() });
    let array = format!("[{}1]", "1,".repeat(1_233));
    assert_eq!(about(&array), About { left_out: 1_234, are_entries: true, ..About::default() });
    assert!(import_from(&service, &array).errors[1_000].reason.starts_with("234 more entries"));
}

#[test]
fn a_known_url_is_updated_with_the_fields_of_its_line() {
    let service = testing::service();
    let first = json!({
        "title": "One", "url": "https://example.com/1", "post": "Some text.", "img": "/1.png",
        "topic": ["a", "b"], "tag": "x, y,", "date": "2026-01-01", "end_date": "2027-01-01",
    });
    assert_eq!(import_from(&service, &lines(std::slice::from_ref(&first))), report(1, 0, 0, &[]));
    let before = found(&service, 1);
    assert_eq!(before["tag"], json!(["x", "y"]));
    let change = |mut line: Value| {
        line["url"] = "https://example.com/1".into();
        import_from(&service, &line.to_string())
    };
    for same in [
        first,
        json!({"title": " One ", "view": 7, "_id": "0123456789abcdef01234567"}),
        json!({"unknown": {"a": [1]}, "date": null}),
    ] {
        assert_eq!(change(same), report(0, 0, 1, &[]));
    }
    assert_eq!(found(&service, 1), before);

    assert_eq!(change(json!({"post": "Other words."})), report(0, 1, 0, &[]));
    assert_eq!(crate::testing::search(&service, "one", 1).unwrap().search_result.len(), 1);
    assert_eq!(crate::testing::search(&service, "text", 1).unwrap().search_result.len(), 0);
    let emptied = json!({"img": null, "tag": null, "end_date": null, "topic": "b"});
    assert_eq!(change(emptied), report(0, 1, 0, &[]));
    let mut expected = before;
    expected["post"] = "Other words.".into();
    expected["img"] = "".into();
    expected["tag"] = json!([]);
    expected["topic"] = json!(["b"]);
    expected["end_date"] = Value::Null;
    assert_eq!(found(&service, 1), expected);
}

#[test]
fn a_new_post_gets_its_id_views_and_likes_but_no_heat() {
    let service = testing::service();
    let id = "0123456789abcdef01234567";
    let line = json!({
        "_id": id.to_uppercase(), "title": "a", "url": "https://example.com/1", "view": 7, "fav_cnt": 3,
    });
    assert_eq!(import_from(&service, &line.to_string()), report(1, 0, 0, &[]));
    let row = all(&service).remove(0);
    assert_eq!((row.id.as_str(), row.view, row.fav, row.heat, row.date), (id, 7, 3, None, NOW));
}

#[test]
fn the_last_line_of_a_repeated_url_wins() {
    let service = testing::service();
    let mut posts: Vec<Value> = (0..1_200).map(post).collect();
    let mut last = post(3);
    last["post"] = "Other words.".into();
    posts[4] = posts[3].clone();
    posts[5] = last.clone();
    posts[6] = post(3);
    posts.push(last);
    assert_eq!(import_from(&service, &lines(&posts)), report(1_197, 3, 1, &[]));
    assert_eq!(found(&service, 3)["post"], "Other words.");
    assert_eq!(crate::testing::search(&service, "words", 10).unwrap().search_result.len(), 1);
}

/// A reader that fails instead of ending.
struct Broken<R>(R);

impl<R: Read> Read for Broken<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.0.read(to)? {
            0 => Err(io::Error::other("too large")),
            read => Ok(read),
        }
    }
}

#[test]
fn an_input_that_fails_is_an_error_and_its_lines_so_far_are_written() {
    let service = testing::service();
    let posts: Vec<Value> = (0..1_100).map(post).collect();
    let input = BufReader::new(Broken(io::Cursor::new(lines(&posts))));
    let refused = import(&service, &Caller::Operator, input, &mut to_the_end);
    assert!(matches!(refused, Err(Error::Input(cause)) if cause.to_string() == "too large"));
    assert_eq!(all(&service).len(), 1_100);
}

#[test]
fn a_cancelled_import_reports_its_result_even_if_its_input_fails() {
    let service = testing::service();
    let posts: Vec<Value> = (0..100).map(post).collect();
    let input = BufReader::new(Broken(io::Cursor::new(lines(&posts))));
    let stopped = import(&service, &Caller::Operator, input, &mut |_| ControlFlow::Break(()));
    assert_eq!(bare(stopped), report(100, 0, 0, &[]));
}

#[test]
fn importing_any_lines_twice_changes_nothing() {
    let name = ".{0,3}";
    let line = (0..4_u8, ".{1,20}", ".{0,50}", proptest::collection::vec(name, 0..4), any::<u16>());
    let line = line.prop_map(|(n, title, post, names, view)| {
        json!({
            "url": format!("https://example.com/{n}"), "title": title, "post": post, "topic": names,
            "tag": names.join(","), "view": view, "date": "2026-01-01",
        })
    });
    proptest!(cases(24), |(posts in proptest::collection::vec(line, 0..8))| {
        let service = testing::service();
        let (input, lines) = (lines(&posts), posts.len() as u64);
        let first = import_from(&service, &input);
        let sum = |report: &Report| report.inserted + report.updated.unwrap() + report.skipped;
        prop_assert_eq!(sum(&first) + first.errors.len() as u64, lines);
        prop_assert_eq!(first.inserted, all(&service).len() as u64);
        // A url with two different lines is updated by each of them; the last one wins.
        let before = all(&service);
        let again = import_from(&service, &input);
        prop_assert_eq!((again.inserted, again.errors), (0, first.errors));
        prop_assert_eq!(before, all(&service));
    });
}

#[test]
fn an_array_is_imported_like_lines() {
    let (one, two) = (testing::service(), testing::service());
    let posts: Vec<Value> = RUST_BLOG.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    import_from(&one, RUST_BLOG);
    let array = format!("\u{feff}\n{}", serde_json::to_string_pretty(&posts).unwrap());
    assert_eq!(import_from(&two, &array), report(40, 0, 0, &[]));
    let urls = |service| all(service).into_iter().map(|row| (row.url, row.keyword)).collect::<Vec<_>>();
    let (mut one, mut two) = (urls(&one), urls(&two));
    one.sort();
    two.sort();
    assert_eq!(one, two);
    assert_eq!(import_from(&testing::service(), "[]"), report(0, 0, 0, &[]));
    assert_eq!(import_from(&testing::service(), " \n"), report(0, 0, 0, &[]));
}
