//! Measures similar words in a word model of maximum size.

use std::fmt::Write as _;
use std::fs;

use serde_json::json;
use tidings_vectors::Random;

use super::MANY;
use crate::Result;
use crate::client::{Kind, Script, ask_json, post_json};
use crate::data::word;
use crate::measure::Turns;
use crate::program::Program;
use crate::table::Row;

const PATH: &str = "/get_similarity_words";
const RATE: f64 = 10_000.0;
/// Words in the model per post of the other parts: 100,000 words for 20,000 posts.
const WORDS_FOR_A_POST: u64 = 5;
/// The number of dimensions of the word vectors. The time to find the neighbours of a word that is not cached grows with it.
const DIMENSIONS: usize = 20;
const WORDS_A_POST: u64 = 100;
/// The number of words in a group with similar vectors.
const GROUP: u64 = 50;

/// Measures requests for words similar to three tokens, of which frequent words are the most frequent ones.
pub(super) fn similar(program: &Program, turns: Turns, posts: usize) -> Result<Vec<Row>> {
    let words = WORDS_FOR_A_POST * posts as u64;
    let database = program.init()?;
    let posts = posts_with(words);
    fs::write(program.file("words.jsonl"), posts.concat())?;
    fs::write(program.file("words.vec"), text_form(words))?;
    program.import(&database, "post", "words.jsonl", posts.len())?;
    program.run(&database, &["words", "load", "words.vec"], "")?;
    let server = program.serve(&database, &[])?;
    let found = ask_json(server.address(), &request(&mut Random::new(1), words))?;
    for token in found["similarity_word"].as_array().ok_or("no words")? {
        if !token.as_object().is_some_and(|token| token.values().all(|words| words[9].is_object())) {
            return Err(format!("fewer than ten words are similar to {token}").into());
        }
    }
    let clients = || (0..MANY as u64).map(|seed| client(Random::new(100 + seed), words)).collect();
    let measured = turns.measure(&server, None, clients)?;
    let row = Row::measured("get_similarity_words", &measured).at_least(RATE);
    Ok(vec![row.note(format!("three tokens, {words} words"))])
}

fn client(mut random: Random, words: u64) -> Script {
    Box::new(move |out| {
        out.extend_from_slice(&request(&mut random, words));
        Some(Kind::Counted)
    })
}

fn request(random: &mut Random, words: u64) -> Vec<u8> {
    let tokens: Vec<String> = (0..3).map(|_| word(rank(random, words))).collect();
    post_json(PATH, None, &json!({ "search": tokens.join(" ") }))
}

/// Returns the rank of a random word by Zipf's law: each order of magnitude is equally likely.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "ranks are below a million"
)]
fn rank(random: &mut Random, words: u64) -> u64 {
    let fraction = (random.number() >> 11) as f64 / (1_u64 << 53) as f64;
    (words as f64).powf(fraction) as u64 - 1
}

/// Returns posts as import lines; together they contain each word once.
fn posts_with(words: u64) -> Vec<String> {
    let post = |first: u64| {
        let text: Vec<String> = (first..words.min(first + WORDS_A_POST)).map(word).collect();
        let url = format!("https://words.example/{first}");
        json!({ "title": "Words", "post": text.join(" "), "url": url }).to_string() + "\n"
    };
    (0..words).step_by(usize::try_from(WORDS_A_POST).expect("a few")).map(post).collect()
}

fn text_form(words: u64) -> String {
    let mut text = format!("{words} {DIMENSIONS}\n");
    for rank in 0..words {
        let (mut group, mut own) = (Random::new(rank / GROUP), Random::new(words + rank));
        text.push_str(&word(rank));
        for _ in 0..DIMENSIONS {
            let component = 3 * group.below(2_001) + own.below(2_001);
            // Centre the values around 0. Writing to a String cannot fail.
            let _ = write!(text, " {}", i64::try_from(component).unwrap_or_default() - 4_000);
        }
        text.push('\n');
    }
    text
}
