//! Tests of the word model through its operations, on a store with posts.

use std::fmt::Write as _;

use tidings_vectors::Random;

use super::*;
use crate::account::Caller;
use crate::base::config::{self, Config};
use crate::post;
use crate::store::Tx;
use crate::testing::{self, Service, draft, eventually, publish};

/// The subjects of the posts, each with its words.
const SUBJECTS: [(&str, &str); 4] = [
    ("rust", "rust cargo crate compiler borrow trait lifetime async macro"),
    ("cooking", "recipe oven flour butter sugar kitchen dough pan soup"),
    ("sea", "ship harbour sail anchor captain wave storm island lighthouse"),
    ("한글", "도서관 책 학교 학생 교수 강의 시험 수업 캠퍼스"),
];
/// Words of all subjects.
const COMMON: &str = "today people time year week news read see first small";

/// Returns `count` posts as lines of an import; the same for the same seed.
fn posts(count: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut pick = |words: &'static str| {
        let words: Vec<&str> = words.split(' ').collect();
        words[random.below(words.len())]
    };
    let mut lines = String::new();
    for n in 0..count {
        let (_, subject) = SUBJECTS[n % SUBJECTS.len()];
        let text: Vec<&str> = (0..24).map(|at| pick(if at % 3 == 2 { COMMON } else { subject })).collect();
        let text = text.join(" ");
        writeln!(lines, r#"{{"title":"{text}","url":"https://{seed}.example/{n}"}}"#).unwrap();
    }
    lines
}

fn import(service: &Service, count: usize, seed: u64) {
    let posts = posts(count, seed);
    let report =
        post::import(service, &Caller::Operator, posts.as_bytes(), &mut crate::import::to_the_end).unwrap();
    assert_eq!(report.errors, []);
}

fn trained(tidings: &Tidings) -> WordsReport {
    train(tidings, &Caller::Operator, &mut |_| {}).unwrap()
}

fn service() -> Service {
    service_with(config::WordModel::default())
}

fn service_with(words: config::WordModel) -> Service {
    let service = testing::service_with(Config { words, ..Config::default() });
    import(&service, 120, 1);
    trained(&service);
    service
}

fn similar(tidings: &Tidings, search: &str) -> Result<Vec<TokenWords>> {
    tidings.call(&Caller::Guest, FindSimilar { search: search.into() }).map(|found| found.similarity_word)
}

fn words(tidings: &Tidings, search: &str) -> Vec<String> {
    let found = similar(tidings, search).unwrap().remove(0).words;
    found.into_iter().map(|similar| similar.word.to_string()).collect()
}

fn is_about(word: &str, subject: &str) -> bool {
    let words = SUBJECTS.iter().find(|(name, _)| *name == subject).unwrap().1;
    words.split(' ').any(|of| of == word)
}

#[test]
fn words_of_a_subject_are_similar_most_similar_first() {
    let service = testing::service();
    import(&service, 400, 1);
    trained(&service);
    for (word, subject) in [("cargo", "rust"), ("oven", "cooking"), ("harbour", "sea"), ("학생", "한글")]
    {
        let found = words(&service, word);
        assert!(found.len() >= 5, "{word}: {found:?}");
        assert!(found[..5].iter().all(|other| is_about(other, subject)), "{word}: {found:?}");
        assert!(!found.contains(&word.to_owned()));
    }
    let answer = similar(&service, "cargo").unwrap().remove(0).words;
    assert!(answer.windows(2).all(|pair| pair[0].similarity >= pair[1].similarity));
    assert!(answer.iter().all(|word| (0.5..=1.0).contains(&word.similarity)));
}

#[test]
fn without_a_model_nothing_is_similar() {
    let service = testing::service();
    let found = service.call(&Caller::Guest, FindSimilar { search: "rust book".into() }).unwrap();
    let found = serde_json::to_value(found).unwrap();
    assert_eq!(found["similarity_word"], serde_json::json!([{"rust": []}, {"book": []}]));
    assert!(similar(&service, "the !?").unwrap().is_empty());
    assert!(matches!(export(&service, &Caller::Operator, Vec::new()), Err(Error::NotFound)));
    assert_eq!(trained(&service).words, 0, "no words without posts");
    assert!(words(&service, "rust").is_empty());
}

#[test]
fn the_settings_bound_the_number_and_the_similarity_of_words() {
    let service =
        service_with(config::WordModel { similar: 2, similarity: 0.0, ..config::WordModel::default() });
    assert_eq!(words(&service, "cargo").len(), 2);
    let strict = config::WordModel { similarity: 1.0, ..config::WordModel::default() };
    let strict = Config { words: strict, ..Config::default() };
    let strict = Tidings::builder(service.location()).config(strict).open().unwrap();
    assert!(words(&strict, "cargo").is_empty());
}

#[test]
fn training_reports_its_progress() {
    let service = testing::service();
    import(&service, 40, 1);
    let mut shares = Vec::new();
    let report = train(&service, &Caller::Operator, &mut |share| shares.push(share)).unwrap();
    assert!(report.words > 20 && report.seconds >= 0.0);
    assert!(shares.windows(2).all(|pair| pair[0] <= pair[1] && pair[1] <= 1.0) && shares.len() > 5);
}

#[test]
fn concurrent_first_callers_all_get_the_stored_model() {
    let service = service();
    for _ in 0..20 {
        let again = Tidings::open(service.location()).unwrap();
        let all = std::thread::scope(|scope| {
            let asked: Vec<_> = (0..4).map(|_| scope.spawn(|| words(&again, "cargo").is_empty())).collect();
            asked.into_iter().all(|empty| !empty.join().unwrap())
        });
        assert!(all);
    }
}

#[test]
fn a_damaged_model_is_ignored_and_can_be_learned_again() {
    let service = service();
    let spoil = |tx: &mut dyn Tx| tx.run("UPDATE word_model SET origin = '{}'", &[]);
    service.store().write(Isolation::Alone, spoil).unwrap();
    let again = Tidings::open(service.location()).unwrap();
    assert!(words(&again, "cargo").is_empty());
    trained(&again);
    assert!(!words(&again, "cargo").is_empty());
}

#[test]
fn loaded_vectors_replace_learned_ones_and_only_words_of_posts_are_neighbours() {
    let service = service();
    let vectors = "4 2\nOven 1 0\nfjord 1 0.1\nharbour 1 0.2\nanchor 1 0.3\n";
    let report = load(&service, &Caller::Operator, vectors.as_bytes(), &mut |_| {}).unwrap();
    assert_eq!(report.words, 4);
    assert_eq!(words(&service, "oven"), ["harbour", "anchor"]);
    assert_eq!(words(&service, "fjord"), ["harbour", "oven", "anchor"].map(str::to_owned).to_vec());
    let mut text = Vec::new();
    export(&service, &Caller::Operator, &mut text).unwrap();
    assert!(text.starts_with(b"4 2\noven 1.00000 0.00000\nfjord 0."));
    let refused = load(&service, &Caller::Operator, &b"no vectors"[..], &mut |_| {});
    assert!(matches!(refused, Err(Error::BadRequest(_))));
    assert_eq!(words(&service, "oven"), ["harbour", "anchor"], "a failure changes nothing");
    trained(&service);
    assert!(is_about(&words(&service, "oven")[0], "cooking"));
}

#[test]
fn the_number_of_loaded_words_without_posts_is_bounded() {
    let words_config = config::WordModel { vocabulary: 1, ..config::WordModel::default() };
    let service = testing::service_with(Config { words: words_config, ..Config::default() });
    import(&service, 40, 1);
    let vectors = "oven 1 0\nfjord 1 0.1\nglacier 1 0.1\nharbour 1 0.2\n";
    assert_eq!(load(&service, &Caller::Operator, vectors.as_bytes(), &mut |_| {}).unwrap().words, 3);
    assert!(words(&service, "glacier").is_empty() && !words(&service, "fjord").is_empty());
}

#[test]
fn the_thread_retrains_after_enough_changes_and_reads_models_of_other_processes() {
    let service = testing::service();
    start(&service).unwrap();
    import(&service, 40, 1);
    eventually(|| !words(&service, "cargo").is_empty());
    // Enough new posts to retrain the model: it has the new word.
    let title = "the ferris crate of rust and cargo, borrow trait macro ferris";
    let insert = |n: u8| publish(&service, draft(title, format!("https://new.example/{n}")));
    let inserted: Vec<String> = (0..12).map(insert).collect();
    eventually(|| !words(&service, "ferris").is_empty());
    // When another process loads vectors, they replace the current model, and no training replaces them.
    let other = Tidings::open(service.location()).unwrap();
    load(&other, &Caller::Operator, &b"oven 1 0\nharbour 1 0.1\nferris 1 0.2\n"[..], &mut |_| {}).unwrap();
    eventually(|| words(&service, "oven") == ["harbour", "ferris"]);
    for id in &inserted {
        service.call(&Caller::Operator, post::Remove { post_obi: id.into() }).unwrap();
    }
    eventually(|| words(&service, "oven") == ["harbour"]);
}

#[test]
fn errors_name_the_settings_that_are_out_of_their_bounds() {
    let default = config::WordModel::default;
    for (broken, name) in [
        (config::WordModel { similar: 31, ..default() }, "similar-words"),
        (config::WordModel { similarity: f64::NAN, ..default() }, "similar-words-min"),
        (config::WordModel { retrain_after: -1.0, ..default() }, "words-retrain-after"),
    ] {
        let broken = Config { words: broken, ..Config::default() };
        assert_eq!(broken.check().unwrap_err().settings, [name]);
    }
}
