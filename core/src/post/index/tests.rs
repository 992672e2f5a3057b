//! Tests of the search index that hold for every engine.

#[cfg(feature = "postgres")]
mod agreement;

use super::*;
use crate::Tidings;
use crate::account::Caller;
use crate::import::to_the_end;
use crate::post::token_fields::TokenFields;
use crate::post::{self, Draft};
use crate::store::Isolation;
use crate::testing::{NOW, draft, publish, service};

const POSTS: [(&str, &str); 4] = [
    ("Rust and cargo", "Cargo builds. Cargo tests."),
    ("Notes", "The rust of an old car, and nothing else of interest to the reader."),
    ("O'Reilly \\ books", "C:\\dir & 'quotes' | !not <-> :* (rust)"),
    ("도서관", "도서관은 열 시까지 열려 있다."),
];

fn insert(tidings: &Tidings, title: &str, post: &str) -> String {
    let named = draft(title, format!("https://a.example/{}", title.len()));
    publish(tidings, Draft { post: Some(post.into()), ..named })
}

fn found(tidings: &Tidings, words: &[&str], similar: &[&str]) -> Vec<(String, f64)> {
    found_by(tidings, words, &[], similar)
}

/// Returns the same for words, forms of words, and similar words.
fn found_by(tidings: &Tidings, words: &[&str], forms: &[&str], similar: &[&str]) -> Vec<(String, f64)> {
    let [words, forms, similar] =
        [words, forms, similar].map(|words| words.iter().map(|word| (*word).to_owned()).collect());
    let terms = Terms { words, forms, similar };
    let query = Query::new(&terms, &tidings.post().term_frequencies.latest().unwrap()).unwrap();
    let found = tidings.store().read(|tx| find(tx, &query, None, NOW, 10)).unwrap();
    found.into_iter().map(|(post, relevance)| (post.title, relevance)).collect()
}

/// Returns the relevance of each post of [`POSTS`] by the formula of [`find`]; 0 if it does not match.
fn by_formula(words: &[(&str, f64)]) -> Vec<f64> {
    let posts = POSTS.map(|(title, post)| [title, post].map(tidings_tokens::tokens::tokens));
    let number = |n: usize| f64::from(u32::try_from(n).unwrap());
    let all = number(posts.len());
    let lengths =
        posts.each_ref().map(|texts| number(tidings_tokens::tokens::distinct(texts.concat()).len()));
    let average = lengths.iter().sum::<f64>() / all;
    let count = |tokens: &[String], word| number(tokens.iter().filter(|token| *token == word).count());
    let occurrences =
        |word| posts.each_ref().map(|[title, post]| 6.0 * count(title, word) + count(post, word));
    let mut sums = vec![0.0; posts.len()];
    for (word, weight) in words {
        let occurrences = occurrences(*word);
        let matching = number(occurrences.iter().filter(|n| **n > 0.0).count());
        let idf = ((all - matching + 0.5) / (matching + 0.5)).ln().max(1e-6);
        for ((sum, f), length) in sums.iter_mut().zip(occurrences).zip(lengths) {
            *sum += weight * idf * f * 1.9 / (f + 0.9 * (0.25 + 0.75 * length / average));
        }
    }
    sums
}

#[test]
fn the_relevance_of_a_post_is_that_of_the_formula() {
    let service = service();
    for (title, post) in POSTS {
        insert(&service, title, post);
    }
    for (words, forms, similar) in [
        (&["cargo"][..], &[][..], &[][..]),
        (&["rust"], &[], &[]),
        (&["cargo", "rust", "car", "unknown"], &[], &[]),
        (&["o'reilly", "c"], &[], &["interest", "cargo"]),
        (&["unknown"], &["cargo", "books"], &[]),
        (&["notes"], &["cargo", "books"], &["interest", "rust"]),
    ] {
        let weighted = [(words, 1.0), (forms, FORM_WEIGHT), (similar, SIMILAR_WEIGHT)]
            .into_iter()
            .flat_map(|(words, weight)| words.iter().map(move |word| (*word, weight)));
        let expected = by_formula(&weighted.collect::<Vec<_>>());
        let found = found_by(&service, words, forms, similar);
        assert_eq!(found.len(), expected.iter().filter(|sum| **sum > 0.0).count(), "{words:?}: {found:?}");
        for (title, relevance) in found {
            let at = POSTS.iter().position(|(other, _)| *other == title).unwrap();
            assert!((relevance - expected[at]).abs() < 1e-9, "{words:?}, {title}: {relevance} {expected:?}");
        }
    }
}

#[test]
fn fewer_posts_are_the_first_of_more() {
    let service = service();
    let titles = ["whale", "a whale and an orca", "orca", "ship", "ship", "ship"];
    for (number, title) in titles.into_iter().cycle().take(120).enumerate() {
        let post = Some("sea ".repeat(number / 60));
        let tag = Some(vec![format!("tag {}", number % 2)]);
        let end_date = Some(if number % 5 > 0 { "2026-11-20T08:36:00Z" } else { "" }.into());
        let named = draft(title, format!("https://a.example/{number}"));
        publish(&service, Draft { post, tag, end_date, ..named });
    }
    for (words, forms, category, number) in [
        (["whale", "orca"], vec!["sea".to_owned()], None, 18),
        (["whale", "orca"], vec!["orcas".to_owned()], None, 12),
        (["whale", "orca"], Vec::new(), Some("tag 1"), 4),
        (["sea", "whale"], Vec::new(), Some("tag 0"), 8),
    ] {
        let terms = Terms { words: words.map(str::to_owned).into(), forms, ..Terms::default() };
        let query = Query::new(&terms, &service.post().term_frequencies.latest().unwrap()).unwrap();
        let found = |num| {
            let found = service.store().read(|tx| find(tx, &query, category, NOW, num)).unwrap();
            found.into_iter().map(|(post, relevance)| (post.id, relevance)).collect::<Vec<_>>()
        };
        let all = found(300);
        assert_eq!(all.len(), number, "{words:?}");
        for num in 1..number {
            assert_eq!(found(num), all[..num], "{words:?} {num}");
        }
    }
}

#[test]
fn the_best_thousand_come_first_and_the_next_are_no_more_relevant() {
    let service = service();
    let line = |n: usize| {
        let (title, post) = (["whale and orca", "a whale", "a whale"][n % 3], "sea ".repeat(n % 7));
        format!(r#"{{"title":"{title}","post":"{post}","url":"https://a.example/{n}","date":"2026-01-01"}}"#)
    };
    let lines = (0..2_200).map(line).collect::<Vec<_>>().join("\n");
    post::import(&service, &Caller::Operator, lines.as_bytes(), &mut to_the_end).unwrap();
    let terms = Terms { words: ["whale", "sea"].map(str::to_owned).into(), ..Terms::default() };
    let query = Query::new(&terms, &service.post().term_frequencies.latest().unwrap()).unwrap();
    let found = |num| {
        let found = service.store().read(|tx| find(tx, &query, None, NOW, num)).unwrap();
        found.into_iter().map(|(post, relevance)| (post.url, relevance)).collect::<Vec<_>>()
    };
    let all = found(3_000);
    assert_eq!(all.len(), 2_200);
    assert!(all.is_sorted_by(|one, other| one.1 >= other.1));
    let urls: std::collections::HashSet<&String> = all.iter().map(|(url, _)| url).collect();
    assert_eq!(urls.len(), 2_200);
    for num in [999, 1_000, 1_001, 2_199] {
        assert_eq!(found(num), all[..num], "{num}");
    }
}

#[test]
fn the_index_knows_the_words_of_its_posts() {
    let service = service();
    for (title, post) in POSTS {
        insert(&service, title, post);
    }
    let words = ["cargo", "o'reilly", "cargobuilds", "도서관", "\"", ""].map(str::to_owned);
    let has = service.store().read(|tx| has_words(tx, &words)).unwrap();
    assert_eq!(has, [true, true, false, true, false, false]);
}

#[test]
fn words_with_the_signs_of_query_languages_are_found() {
    let service = service();
    insert(&service, "O'Reilly", "node.js 3.14 snake_case 1,000 don_t");
    for word in ["o'reilly", "node.js", "3.14", "snake_case", "1,000"] {
        assert_eq!(found(&service, &[word], &[]).len(), 1, "{word}");
    }
    for word in ["'", "\\", "&", "|", "node:*", "!x", "\"", "(", "<->", "node.js:A", "\"rust\"", "rust*"] {
        assert_eq!(found(&service, &[word], &[]).len(), 0, "{word}");
    }
}

#[test]
fn the_index_follows_updates_removals_and_repairs() {
    let service = service();
    let ids = POSTS.map(|(title, post)| insert(&service, title, post));
    let before = found(&service, &["rust"], &[]);
    let post_obi = ids[3].clone();
    let draft =
        Draft { post: Some("Rust ".repeat(30_000).chars().take(100_000).collect()), ..Draft::default() };
    service.call(&Caller::Operator, post::Update { post_obi: post_obi.clone(), draft }).unwrap();
    assert_eq!(found(&service, &["rust"], &[]).len(), 4);
    service.call(&Caller::Operator, post::Remove { post_obi }).unwrap();
    service.store().write(Isolation::Alone, |tx| clear(tx)).unwrap();
    assert!(found(&service, &["rust"], &[]).is_empty());
    let missing = service.store().read(|tx| mismatches(tx)).unwrap();
    assert_eq!(missing.len(), 3);
    let [title, post] = [POSTS[3].0, POSTS[3].1];
    insert(&service, title, post);
    service
        .store()
        .write(Isolation::Alone, move |tx| {
            let entry = |(key, (title, post)): (&PostKey, (&str, &str))| {
                Entry::new(*key, &TokenFields::of(title, post), std::iter::empty(), NOW, None)
            };
            let entries = || missing.iter().zip(POSTS).map(entry);
            write(tx, &entries().map(Change::Update).collect::<Vec<_>>())?;
            assert_eq!(mismatches(tx)?.len(), 3, "posts that are not in the index yet stay out");
            write(tx, &entries().map(Change::Insert).collect::<Vec<_>>())
        })
        .unwrap();
    assert_eq!(found(&service, &["rust"], &[]), before, "the number and the length of all posts");
}

/// Returns two of these strings whose hashes have the same 24 bits, which is all that PostgreSQL's index has of a term.
fn nearly_equal(term: impl Fn(&str) -> String, kind: &str) -> [String; 2] {
    let mut seen = std::collections::HashMap::new();
    (0..)
        .find_map(|n| {
            let text = format!("{kind}{n}");
            let other = seen.insert(entry::hash(&term(&text)) & 0x00ff_ffff, text.clone())?;
            Some([other, text])
        })
        .expect("there are fewer hashes than numbers")
}

#[test]
fn terms_with_similar_hashes_are_distinct() {
    let service = service();
    let [word, other_word] = nearly_equal(str::to_owned, "word");
    let [tag, other_tag] = nearly_equal(entry::label, "tag");
    let named = draft(format!("{word} whale"), "https://a.example/1");
    publish(&service, Draft { tag: Some(vec![tag.clone()]), ..named });
    let has = service.store().read(|tx| has_words(tx, &[word.clone(), other_word.clone()])).unwrap();
    assert_eq!(has, [true, false]);
    assert_eq!(found(&service, &[&word], &[]).len(), 1);
    assert!(found(&service, &[&other_word], &[]).is_empty());
    for (category, number) in [(&tag, 1), (&other_tag, 0)] {
        let found = crate::testing::search_in(&service, category, "whale", 10).unwrap();
        assert_eq!(found.search_result.len(), number, "{category}");
    }
}

#[test]
fn posts_that_only_another_term_finds_take_no_place() {
    let service = service();
    let [word, other_word] = nearly_equal(str::to_owned, "word");
    let text = |key: i64| if key <= 10 { &word } else { &other_word };
    let entries: Vec<Change> = (1..=40).map(|key| entry(PostKey::new(key), "", text(key))).collect();
    service.store().write(Isolation::Alone, move |tx| write(tx, &entries)).unwrap();
    let terms = Terms { words: vec![word.clone()], ..Terms::default() };
    for limit in [1, 7, 10, 100] {
        let expected: Vec<PostKey> = (1..=10).rev().map(PostKey::new).take(limit).collect();
        assert_eq!(ranked(&service, &terms, limit), expected, "{limit}");
    }
}

fn entry(key: PostKey, title: &str, text: &str) -> Change {
    Change::Insert(Entry::new(key, &TokenFields::of(title, text), std::iter::empty(), NOW, None))
}

fn ranked(tidings: &Tidings, terms: &Terms, limit: usize) -> Vec<PostKey> {
    let query = Query::new(terms, &tidings.post().term_frequencies.latest().unwrap()).unwrap();
    let scope = Scope { category: None, now: NOW };
    let found = tidings.store().read(|tx| candidates::ranked(tx, &query, scope, limit)).unwrap();
    found.into_iter().map(|candidate| candidate.key).collect()
}

#[test]
fn the_newest_posts_of_a_long_history_are_found_first() {
    let service = service();
    let keys = [1, 16_383, 16_384, 70_000, 4_194_305, 4_300_000, 8_388_609, 99_999_999].map(PostKey::new);
    let entries = keys.map(|key| entry(key, "a whale", "the sea"));
    service.store().write(Isolation::Alone, move |tx| write(tx, &entries)).unwrap();
    let terms = Terms { words: ["whale", "sea"].map(str::to_owned).into(), ..Terms::default() };
    for limit in [1, 3, 8, 100] {
        let expected: Vec<PostKey> = keys.into_iter().rev().take(limit).collect();
        assert_eq!(ranked(&service, &terms, limit), expected);
    }
}
