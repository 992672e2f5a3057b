//! Tests: Similar words.

use serde_json::{Value, json};

use crate::testing::{json as body, outcome, post, service};

#[tokio::test]
async fn each_token_has_its_similar_words_and_an_unknown_token_has_none() {
    let service = service();
    let posts = (0..30).map(|n| {
        let (a, b) =
            if n % 2 == 0 { ("ship harbour", "anchor sail") } else { ("oven flour", "dough kitchen") };
        format!("{{\"title\":\"{a}\",\"post\":\"{b} {a}\",\"url\":\"https://a.example/{n}\"}}\n")
    });
    let posts = posts.collect::<String>();
    let operator = tidings_core::account::Caller::Operator;
    tidings_core::post::import(
        &service.tidings,
        &operator,
        posts.as_bytes(),
        &mut tidings_core::import::to_the_end,
    )
    .unwrap();
    tidings_core::words::train(&service.tidings, &operator, &mut |_| {}).unwrap();

    let search = r#"{"search":"Harbour and zyx"}"#;
    let answer = service.call(post("/get_similarity_words", "application/json", search)).await;
    assert_eq!(outcome(&answer), "200 success");
    let answer = body(&answer);
    let words = answer["similarity_word"].as_array().unwrap();
    assert_eq!((words.len(), &words[1]), (2, &json!({"zyx": []})));
    let harbour = words[0]["harbour"].as_array().unwrap();
    assert!((3..=10).contains(&harbour.len()), "{harbour:?}");
    assert!(harbour.iter().all(|entry| {
        let (word, similarity) = entry.as_object().unwrap().iter().next().unwrap();
        ["ship", "anchor", "sail"].contains(&word.as_str()) && similarity.as_f64().unwrap() <= 1.0
    }));

    let form = "application/x-www-form-urlencoded";
    let again = service.call(post("/get_similarity_words", form, "search=Harbour+and+zyx")).await;
    assert_eq!(body(&again), answer);
}

#[tokio::test]
async fn an_invalid_search_is_refused_and_one_without_words_gets_an_empty_list() {
    let service = service();
    for search in [json!({}), json!({"search": ""}), json!({"search": "x".repeat(201)}), json!({"search": 1})]
    {
        let call = post("/get_similarity_words", "application/json", search.to_string());
        assert_eq!(outcome(&service.call(call).await), "400 bad request", "{search}");
    }
    let call = post("/get_similarity_words", "application/json", r#"{"search":"the !?"}"#);
    assert_eq!(body(&service.call(call).await)["similarity_word"], Value::Array(vec![]));
}
