//! Tests of searches and their records.

use proptest::prelude::*;

use super::*;
use crate::Tidings;
use crate::account::Caller;
use crate::base::clock::Timestamp;
use crate::post::Draft;
use crate::testing::{self, NOW, Service, draft, publish};
use crate::words;

/// Creates a service with posts about Rust and about the library, on two sites.
fn service() -> Service {
    let service = testing::service();
    for (title, text, url, topic, end_date) in [
        ("Rust 1.95", "Cargo builds it.", "https://blog.rs/1", "releases", ""),
        ("Notes", "The compiler of Rust and its cargo.", "https://blog.rs/2", "language", ""),
        ("도서관", "도서관은 열 시까지 열려 있다.", "http://campus.kr/1", "campus", ""),
        ("Rust is over", "Cargo, too.", "https://blog.rs/3", "releases", "2026-11-20T08:36:00Z"),
        ("Rust club", "We meet at the library.", "https://campus.kr/2", "campus", "2026-11-20T08:36:01Z"),
    ] {
        let (post, end_date) = (Some(text.into()), Some(end_date.into()));
        let named = draft(title, url).with_topic(topic);
        publish(&service, Draft { post, tag: Some(vec!["2026".into()]), end_date, ..named });
    }
    service
}

fn domains(tidings: &Tidings, search: &str) -> Result<Domains> {
    tidings.call(&Caller::Guest, FindSites { search: search.into(), page: SitePage::default() })
}

fn titles(found: Result<SearchResult>) -> Vec<String> {
    found.unwrap().search_result.into_iter().map(|hit| hit.post.title).collect()
}

#[test]
fn the_best_match_comes_first_and_ended_posts_are_left_out() {
    let service = service();
    let found = testing::search(&service, "rust CARGO", 10).unwrap().search_result;
    let titles: Vec<&str> = found.iter().map(|hit| hit.post.title.as_str()).collect();
    assert_eq!(titles, ["Rust 1.95", "Notes", "Rust club"]);
    assert!(found.windows(2).all(|pair| pair[0].similarity > pair[1].similarity));
    assert!(found.iter().all(|hit| hit.similarity > 0.0 && hit.similarity < 1.0));
}

#[test]
fn similar_words_are_searched_too_and_count_less() {
    let service = service();
    let vectors = "2 2\ncompiler 1 0\nlibrary 1 0.1\nclub 1 0.2\nnotes 0 1\n";
    words::load(&service, &Caller::Operator, vectors.as_bytes(), &mut |_| {}).unwrap();
    assert_eq!(titles(testing::search(&service, "compiler", 10)), ["Notes", "Rust club"]);
    assert_eq!(titles(testing::search(&service, "compielr", 10)).len(), 2, "mistyped");
    assert_eq!(titles(testing::search_in(&service, "campus", "compiler", 10)), ["Rust club"]);
    let sites = domains(&service, "compiler").unwrap().search_result;
    assert_eq!(sites.len(), 1, "a search for sites uses no similar words");

    let ann = service.member("ann");
    log(&service, &ann, None, "The compiler club").wait().unwrap();
    let list = serde_json::to_value(service.call(&ann, ListRecent { num: 1 }).unwrap()).unwrap();
    assert_eq!(list["lately_search_list"][0]["similarity_split"], serde_json::json!(["library"]));
}

#[test]
fn pages_show_posts_of_the_words_then_those_of_similar_words() {
    let service = testing::service();
    let texts =
        ["whale", "orca", "The whale and the orca", "orca whale whale", "orca", "ship", "An orca, a ship"];
    for (number, text) in texts.iter().cycle().take(21).enumerate() {
        let post = Some("sea ".repeat(number / 4));
        let end_date = Some(if number == 8 { "2026-11-20T08:36:00Z" } else { "" }.into());
        let named = draft(*text, format!("https://a.example/{number}"));
        publish(&service, Draft { post, end_date, ..named.with_topic(["sea", "land"][number % 2]) });
    }
    let vectors = "2 2\nwhale 1 0\norca 1 0.1\n";
    words::load(&service, &Caller::Operator, vectors.as_bytes(), &mut |_| {}).unwrap();
    let hits = |num| testing::search(&service, "whale", num).unwrap().search_result;
    let all = hits(300);
    let number = all.iter().filter(|hit| hit.post.title.contains("whale")).count();
    assert_eq!((number, all.len()), (9, 17));
    assert!(all[..number].iter().all(|hit| hit.post.title.contains("whale")));
    assert!(all.is_sorted_by(|one, other| one.similarity >= other.similarity));
    for num in 1..=all.len() {
        let mut shown = Vec::new();
        let mut page = PostPage { paged: Some(1), snippets: Some(1), ..PostPage::default() };
        while shown.is_empty() || page.next.is_some() {
            let num = i64::try_from(num).unwrap();
            let find = Find { num, search: "whale".into(), page: page.clone() };
            let found = service.call(&Caller::Guest, find).unwrap();
            shown.extend(found.search_result);
            page.next = found.next.unwrap();
        }
        let ids = |hits: &[PostHit]| hits.iter().map(|hit| hit.post.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&shown), ids(&all), "{num}");
    }
    let is_in_sea = |hit: &&PostHit| hit.post.url.ends_with(['0', '2', '4', '6', '8']);
    let in_sea = testing::search_in(&service, "sea", "whale", 300).unwrap().search_result;
    assert!(in_sea.iter().map(|hit| &hit.post.id).eq(all.iter().filter(is_in_sea).map(|hit| &hit.post.id)));
}

#[test]
fn equal_matches_are_ordered_by_date_then_by_id() {
    let service = testing::service();
    for (url, date) in [("a", "2026-01-01"), ("b", "2026-01-03"), ("c", "2026-01-01"), ("d", "2026-01-02")] {
        let named = draft("Rust", format!("https://blog.rs/{url}"));
        publish(&service, Draft { date: Some(date.into()), ..named });
    }
    let found = testing::search(&service, "rust", 3).unwrap().search_result;
    let urls: Vec<&str> = found.iter().map(|hit| &hit.post.url[16..]).collect();
    assert_eq!(urls, ["b", "d", "c"]);
}

#[test]
fn a_search_finds_korean_words_in_compounds_without_blanks_and_mistyped() {
    let service = testing::service();
    let titles_of_posts = [
        "중앙도서관이 문을 열었다",
        "데이터베이스를 배우는 시간",
        "학생 식당의 새로운 차림표",
        "도서 박람회",
    ];
    for (n, title) in titles_of_posts.iter().enumerate() {
        publish(&service, draft(*title, format!("https://a.example/{n}")));
    }
    for (search, first) in [
        ("도서관", 0),
        ("도서관까지", 0),
        ("중앙 도서관", 0),
        ("데이터 베이스", 1),
        ("데이타베이스", 1),
        ("학생식당", 2),
        ("새로운 식당", 2),
        ("박람회", 3),
    ] {
        let found = titles(testing::search(&service, search, 10));
        assert_eq!(found.first().map(String::as_str), Some(titles_of_posts[first]), "{search}");
    }
    assert!(titles(testing::search(&service, "기숙사", 10)).is_empty());
}

#[test]
fn a_search_in_a_category_finds_only_its_posts() {
    let service = service();
    assert_eq!(titles(testing::search_in(&service, "language", "rust", 10)), ["Notes"]);
    assert_eq!(titles(testing::search_in(&service, "2026", "cargo", 10)).len(), 2, "a tag is one, too");
    assert!(titles(testing::search_in(&service, "unknown", "rust", 10)).is_empty());
}

#[test]
fn sites_are_ordered_by_their_matches() {
    let service = service();
    let site = |title: &str, post: &str| Domain {
        title: title.into(),
        url: format!("https://{title}/"),
        post: post.into(),
    };
    let expected = [site("blog.rs", "Rust 1.95 (+1)"), site("campus.kr", "Rust club")];
    assert_eq!(domains(&service, "rust").unwrap().search_result, expected);
    // Both posts of the campus match, and the newest has an https address.
    let found = domains(&service, "도서관 club notes").unwrap().search_result;
    assert_eq!((found[0].url.as_str(), found[0].post.ends_with(" (+1)")), ("https://campus.kr/", true));
    assert!(domains(&service, "nothing").unwrap().search_result.is_empty());
    assert!(domains(&service, " ").is_err());
}

#[test]
fn a_search_or_number_out_of_bounds_is_refused() {
    let service = service();
    for num in [0, 301] {
        let refused = testing::search(&service, "a", num).unwrap_err();
        assert_eq!(refused.to_string(), "bad request", "{num}");
        assert!(testing::search_in(&service, "campus", "a", num).is_err());
    }
    assert!(testing::search(&service, &"a".repeat(201), 1).is_err());
    assert!(titles(testing::search(&service, &"가".repeat(200), 300)).is_empty());
    assert!(titles(testing::search(&service, "the !? 👍", 1)).is_empty(), "no words");
    assert_eq!(titles(testing::search(&service, "rust", 1)).len(), 1);
}

#[test]
fn searches_are_logged_for_all() {
    let service = testing::service();
    let ann = service.member("ann");
    log(&service, &ann, None, " The  Rust\tBook").wait().unwrap();
    service.clock().advance(1);
    log(&service, &ann, None, "도서관은").wait().unwrap();
    log(&service, &Caller::Guest, None, "rust").wait().unwrap();
    log(&service, &Caller::token("forged"), None, "rust").wait().unwrap();
    for refused in [" ", &"a".repeat(201)] {
        assert!(log(&service, &ann, None, refused).wait().is_err());
    }
    let terms = service.store().read(|tx| {
        let rows = tx.rows("SELECT term, visitor > 0, date FROM term ORDER BY revision, number", &[])?;
        let term = |mut row: crate::store::Row| Ok((row.take(0)?, row.take(1)?, row.take(2)?));
        rows.into_iter().map(term).collect::<Result<Vec<(String, bool, Timestamp)>>>()
    });
    let expected =
        [("the rust book", true, 0), ("도서관은", true, 1), ("rust", false, 1), ("rust", false, 1)];
    assert_eq!(terms.unwrap(), expected.map(|(term, member, ms)| (term.to_owned(), member, NOW + ms)));
}

#[test]
fn a_search_fails_only_if_it_breaks_its_rule() {
    let service = service();
    let ann = service.member("ann");
    let query =
        proptest::sample::select(&["\"", "*", "AND", "NEAR(", "title:", "^", "-", "'", "{", "rust", "\0"]);
    let search = proptest::collection::vec(prop_oneof![query.prop_map(str::to_owned), ".{0,20}"], 0..12);
    proptest!(ProptestConfig::with_cases(128), |(parts in search)| {
        let search = parts.join(" ");
        let allowed = text::block(&search, SEARCH).is_some();
        prop_assert_eq!(testing::search(&service, &search, 10).is_ok(), allowed);
        prop_assert_eq!(testing::search_in(&service, &search, &search, 10).is_ok(), allowed);
        prop_assert_eq!(domains(&service, &search).is_ok(), allowed);
        prop_assert_eq!(log(&service, &ann, None, &search).wait().is_ok(), allowed);
    });
}

#[test]
fn searches_are_logged_for_all_and_listed_for_members() {
    let service = testing::service();
    let ann = service.member("ann");
    log(&service, &ann, None, " The  Rust\tBook").wait().unwrap();
    service.clock().advance(1);
    log(&service, &ann, None, "도서관은").wait().unwrap();
    log(&service, &Caller::Guest, None, "rust").wait().unwrap();
    log(&service, &Caller::token("forged"), None, "rust").wait().unwrap();
    assert!(
        log(&service, &ann, None, " ").wait().is_err()
            && log(&service, &ann, None, &"a".repeat(201)).wait().is_err()
    );

    let list = service.call(&ann, ListRecent { num: 300 }).unwrap();
    let list = serde_json::to_value(&list).unwrap();
    let list = list["lately_search_list"].as_array().unwrap();
    assert_eq!(list.len(), 2);
    assert_eq!(list[0]["tokenizer_split"], serde_json::json!(["도서관은", "도서관"]));
    assert_eq!(list[1]["original"], " The  Rust\tBook");
    assert_eq!(list[1]["search_split"], serde_json::json!(["The", "Rust", "Book"]));
    assert_eq!(list[1]["similarity_split"], serde_json::json!([]));
    assert_eq!(service.call(&ann, ListRecent { num: 1 }).unwrap().fields().lately_search_list.len(), 1);

    let terms = service.store().read(|tx| {
        let rows = tx.rows("SELECT term, visitor > 0, date FROM term ORDER BY revision, number", &[])?;
        let term = |mut row: crate::store::Row| Ok((row.take(0)?, row.take(1)?, row.take(2)?));
        rows.into_iter().map(term).collect::<Result<Vec<(String, bool, Timestamp)>>>()
    });
    let expected =
        [("the rust book", true, 0), ("도서관은", true, 1), ("rust", false, 1), ("rust", false, 1)];
    assert_eq!(terms.unwrap(), expected.map(|(term, member, ms)| (term.to_owned(), member, NOW + ms)));
}
