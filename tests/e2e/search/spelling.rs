//! Spellings of a search: mistyped words, other scripts and signs within a word, case and accents.

use serde_json::json;
use tidings_tests::Server;

use super::{log, titles, with_posts};

#[test]
fn a_mistyped_word_finds_what_the_word_finds_and_marks_it() {
    let server = with_posts(&[
        ("The telescope", "A new telescope looks at the south.", "astronomy"),
        ("Southern sky", "Seen with a telescope in the south.", "astronomy"),
        ("South pole", "The south has no library.", "travel"),
    ]);
    let anyone = server.anyone();
    let bodies = |search: &str| {
        let body = json!({ "search": search });
        let routes =
            ["/priority_search/9?snippets=1", "/category_search/astronomy/9?snippets=1", "/domain_search"];
        routes.map(|route| anyone.post(route, body.clone()).succeeded().body)
    };
    for mistyped in ["telescpoe", "telescop", "tellescope", "TELEZCOPE"] {
        assert_eq!(bodies(mistyped), bodies("telescope"), "{mistyped}");
    }
    assert_eq!(bodies("the telescpoe of the libraery"), bodies("the telescope of the library"));
    let [found, ..] = bodies("telescpoe");
    assert_eq!(found["search_result"].as_array().unwrap().len(), 2);
    for hit in found["search_result"].as_array().unwrap() {
        let marked = hit["snippet"].as_array().unwrap().iter().filter(|part| part["hit"] == true);
        let marked: Vec<&str> = marked.map(|part| part["text"].as_str().unwrap()).collect();
        assert_eq!(marked, ["telescope"]);
    }
    let ann = server.member("ann");
    let _ = log(&ann, "telescpoe").succeeded();
    let list = super::lately(&ann, 1);
    assert_eq!(list[0]["tokenizer_split"], json!(["telescpoe"]));
    assert_eq!(list[0]["similarity_split"][0], "telescope");
}

#[test]
fn a_word_is_found_in_each_spelling_and_by_its_parts() {
    let posts = [
        ("AI반도체 특강", &["반도체", "AI", "AI반도체", "ai반도체를"][..]),
        ("3D프린터", &["프린터", "3D", "3D프린터"]),
        ("図書館のお知らせ", &["書", "館", "図書館"]),
        ("crm.action_log", &["action_log", "crm", "action", "crm.action_log"]),
        ("img_data_ttl", &["ttl", "img_data_ttl"]),
        ("www.uni.example", &["uni.example", "www.uni.example"]),
        ("Hitman™: The Season", &["Hitman", "hitman™"]),
        ("Straße", &["STRASSE", "strasse", "STRAẞE"]),
        ("İstanbul", &["istanbul", "ISTANBUL", "İSTANBUL"]),
        ("Café crème", &["cafe", "CREME", "café", "cafe\u{301}", "ＣＡＦＥ"]),
        ("Ｒｕｓｔ の ﬁrst", &["rust", "RUST", "Ｒｕｓｔ", "first", "the rust"]),
        ("東京都の天気は晴れです", &["東京", "天気予報"]),
        ("新しいカメラを買いました", &["カメラ"]),
        ("大学图书馆开放时间", &["图书馆", "大学"]),
        ("도서관에서 공부를 합니다", &["도서관", "도서관을", "도서관에서", "도서관이 어디", "공부"]),
        ("Đại học", &["dai", "đại"]),
        ("Αθήνα", &["αθηνα", "ΑΘΗΝΑ"]),
        ("Йод", &["йод", "ЙОД"]),
        ("C: the C language", &["C", "c"]),
        ("C++ course", &["C++"]),
        ("C# course", &["c#"]),
        ("F# course", &["F#"]),
    ];
    let server = with_posts(&posts.map(|(title, _)| (title, "", "x")));
    for (title, searches) in posts {
        for search in searches {
            assert_eq!(titles(&server, search).first().map(String::as_str), Some(title), "{search}");
        }
    }
    for other in ["иод", "the", "of the", "rus", "rusty", "!?", "🦀", "大阪", "부산"] {
        assert!(titles(&server, other).is_empty(), "{other}");
    }
}

#[test]
fn a_text_that_nobody_can_see_is_refused() {
    let server = Server::start();
    let admin = server.admin();
    for invisible in ["\u{200b}", "\u{feff}\u{2060}", "\u{2800}"] {
        for (path, body, refusal) in [
            ("/insert_notice", json!({ "title": invisible, "post": "p" }), "400 bad request"),
            ("/insert_notice", json!({ "title": "t", "post": invisible }), "400 bad request"),
            ("/insert_post", json!({ "title": invisible, "url": "https://a.example/1" }), "400 bad request"),
            ("/add_key", json!({ "name": invisible, "scopes": ["posts"] }), "400 bad request"),
            ("/update_main_info", json!({ "new_info_1": invisible }), "400 bad request"),
            ("/update_main_info", json!({ "new_info_2": "a\u{202e}b" }), "400 bad request"),
            ("/send_feedback", json!({ "type": invisible, "post": "p" }), "200 fail"),
            ("/send_feedback", json!({ "type": "t", "post": invisible }), "200 fail"),
        ] {
            assert_eq!(admin.post(path, body.clone()).outcome(), refusal, "{path} {body}");
        }
    }
}
