//! The terms of a search: its words, other forms of them (`data base` and `database`), and words with a similar meaning. A word
//! that no post contains is replaced by its most probable correction. If posts have a word, only very similar words are searched,
//! because others find less relevant posts; if posts have all words, similar words only add posts when too few are found.

use tidings_tokens::{hangul, tokens};

use crate::Tidings;
use crate::post::index::{self, LatestTerms, Terms};
use crate::record::error::Result;
use crate::store::QUERY_TIMEOUT;
use crate::words;

/// Similar words per token, and in total.
const SIMILAR: usize = 3;
const SIMILAR_ALL: usize = 8;
/// Joined words, and parts of words.
const JOINED: usize = 8;
const PARTS: usize = 8;
const CORRECTED: usize = 8;

/// For a similar word of a word that posts have: a cosine of 0.74. Searches for three words of a text found it less well with a
/// lower minimum.
const KNOWN_SIMILARITY: f64 = 0.82;

/// Also returns which words posts have. If they have all, the similar words are left out.
pub(super) fn terms(tidings: &Tidings, search: &str) -> Result<(Terms, Vec<bool>)> {
    let Corrected { stream, words, known } = Corrected::of(tidings, tokens::tokens(search))?;
    let mut terms = Terms { words, ..Terms::default() };
    for form in joined(&stream).into_iter().take(JOINED) {
        if !terms.has(&form) {
            terms.forms.push(form);
        }
    }
    if known.contains(&false) {
        add_similar(tidings, &mut terms, &known);
    }
    Ok((terms, known))
}

/// `known` is whether posts have each word. Also adds the parts of these words.
pub(super) fn add_similar(tidings: &Tidings, terms: &mut Terms, known: &[bool]) {
    let similar = similar(tidings, &terms.words, known);
    let parts = terms.words.iter().zip(known).flat_map(|(word, is_known)| {
        words::parts(tidings, word).into_iter().map(move |part| (part, is_known))
    });
    let parts: Vec<(String, &bool)> = parts.take(PARTS).collect();
    // Posts that have a compound itself are what the search is for, so its parts count little.
    let (of_known, of_unknown): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(_, is_known)| **is_known);
    for (form, _) in of_unknown {
        if !terms.has(&form) {
            terms.forms.push(form);
        }
    }
    for word in similar.into_iter().chain(of_known.into_iter().map(|(part, _)| part)) {
        if !terms.has(&word) {
            terms.similar.push(word);
        }
    }
}

pub(super) fn words(tidings: &Tidings, search: &str) -> Result<Vec<String>> {
    Ok(Corrected::of(tidings, tokens::tokens(search))?.words)
}

/// Returns the corrections, then similar words, at most [`SIMILAR`] for each token and [`SIMILAR_ALL`] in total, and none of the
/// tokens themselves.
pub(super) fn similar_words(tidings: &Tidings, tokens: &[String]) -> Result<Vec<String>> {
    let Corrected { words, known, .. } = Corrected::of(tidings, tokens.to_vec())?;
    let similar = similar(tidings, &words, &known);
    Ok(words.into_iter().chain(similar).filter(|word| !tokens.contains(word)).collect())
}

/// A word that no post contains is replaced by its most probable correction.
struct Corrected {
    stream: Vec<String>,
    /// The distinct tokens, and whether posts have them.
    words: Vec<String>,
    known: Vec<bool>,
}

impl Corrected {
    fn of(tidings: &Tidings, mut stream: Vec<String>) -> Result<Self> {
        let words = tokens::distinct(stream.clone());
        let known = known(tidings, &words)?;
        if known.iter().all(|is_known| *is_known) {
            return Ok(Self { stream, words, known });
        }
        let latest = tidings.post().term_frequencies.latest()?;
        let joined = joined(&stream);
        let has_joined = self::known(tidings, &joined)?;
        let joined: Vec<String> =
            joined.into_iter().zip(has_joined).filter(|(_, has)| *has).map(|(word, _)| word).collect();
        let is_known = |word: &String| words.iter().zip(&known).any(|(other, known)| *known && other == word);
        let is_right = |word: &String| {
            // Its stem or a part of it, a word that it is a part of, a pair of its syllables, or the words of which it consists.
            tokens::tokens(word)[1..].iter().any(is_known)
                || joined.iter().any(|joined| joined.starts_with(word) || joined.ends_with(word))
                || latest.has_pair_of(word)
                || !words::parts(tidings, word).is_empty()
        };
        let mistyped = words.iter().filter(|word| !is_known(word) && !is_right(word)).take(CORRECTED);
        let mistyped: Vec<&str> = mistyped.map(String::as_str).collect();
        let corrections = corrections(tidings, &latest, &mistyped)?;
        let corrections: Vec<(&str, String)> =
            mistyped.into_iter().zip(corrections).filter_map(|(word, right)| Some((word, right?))).collect();
        for token in &mut stream {
            if let Some((_, right)) = corrections.iter().find(|(word, _)| word == token) {
                token.clone_from(right);
            }
        }
        let corrected = tokens::distinct(stream.clone());
        let is_right = |word: &String| is_known(word) || corrections.iter().any(|(_, right)| right == word);
        Ok(Self { known: corrected.iter().map(is_right).collect(), words: corrected, stream })
    }
}

/// Returns the most probable correction of each of these words, none of which a post contains; `None` without one.
fn corrections(tidings: &Tidings, latest: &LatestTerms, words: &[&str]) -> Result<Vec<Option<String>>> {
    let candidates: Vec<Vec<String>> = words.iter().map(|word| latest.corrections(word)).collect();
    // A post may have been changed or removed.
    let all = candidates.concat();
    let mut has = tidings.store().read_within(QUERY_TIMEOUT, |tx| index::has_words(tx, &all))?.into_iter();
    let mut existing =
        |of: Vec<String>| of.into_iter().filter(|_| has.next() == Some(true)).collect::<Vec<_>>();
    Ok(candidates.into_iter().map(|of| existing(of).into_iter().next()).collect())
}

fn similar(tidings: &Tidings, tokens: &[String], known: &[bool]) -> Vec<String> {
    let mut similar: Vec<String> = Vec::new();
    for (token, is_known) in tokens.iter().zip(known) {
        if similar.len() == SIMILAR_ALL {
            break;
        }
        let least = if *is_known { KNOWN_SIMILARITY } else { 0.0 };
        for word in words::similar_to(tidings, token, SIMILAR, least) {
            let word = word.word.to_string();
            if similar.len() < SIMILAR_ALL && !tokens.contains(&word) && !similar.contains(&word) {
                similar.push(word);
            }
        }
    }
    similar
}

fn known(tidings: &Tidings, tokens: &[String]) -> Result<Vec<bool>> {
    let latest = tidings.post().term_frequencies.latest()?;
    let is_known = |token: &String| latest.has_word(token) || words::is_in_posts(tidings, token);
    let mut known: Vec<bool> = tokens.iter().map(is_known).collect();
    let rare: Vec<usize> = (0..tokens.len()).filter(|at| !known[*at]).collect();
    if rare.is_empty() {
        return Ok(known);
    }
    let words: Vec<String> = rare.iter().map(|at| tokens[*at].clone()).collect();
    let has = tidings.store().read_within(QUERY_TIMEOUT, |tx| index::has_words(tx, &words))?;
    for (at, has) in rare.into_iter().zip(has) {
        known[at] = has;
    }
    Ok(known)
}

/// Returns neighbouring tokens of a search as one word each. A Korean word is followed by its stems in the tokens. The second word
/// needs only its shortest stem, because the index has the joined word without the same particle; the first word needs all,
/// because a particle may belong to it.
fn joined(stream: &[String]) -> Vec<String> {
    let mut groups: Vec<&[String]> = Vec::new();
    let mut start = 0;
    for end in 1..=stream.len() {
        let is_stem =
            stream.get(end).is_some_and(|next| hangul::stems(&stream[start]).any(|stem| stem == next));
        if !is_stem {
            groups.push(&stream[start..end]);
            start = end;
        }
    }
    let mut joined = Vec::new();
    for pair in groups.windows(2) {
        let right = &pair[1][pair[1].len() - 1];
        for left in pair[0] {
            let word = format!("{left}{right}");
            // The tokens of other words have their own rules: pairs of Han and Kana, numbers, and a maximum length.
            if word.chars().all(char::is_alphabetic) && tokens::tokens(&word).first() == Some(&word) {
                joined.push(word);
            }
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::account::Caller;
    use crate::post::{self, Draft};
    use crate::testing::{self, Service, draft, publish};

    fn service(texts: &[&str], vectors: &str) -> Service {
        let service = testing::service();
        for (n, text) in texts.iter().enumerate() {
            publish(&service, draft(*text, format!("https://a.example/{n}")));
        }
        words::load(&service, &Caller::Operator, vectors.as_bytes(), &mut |_| {}).unwrap();
        service
    }

    fn all_terms(tidings: &Tidings, search: &str) -> Terms {
        let (mut terms, known) = terms(tidings, search).unwrap();
        if !known.contains(&false) {
            assert!(terms.similar.is_empty(), "{search}");
            add_similar(tidings, &mut terms, &known);
        }
        terms
    }

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn neighbouring_words_are_joined() {
        let joined = |search: &str| joined(&tokens::tokens(search));
        assert_eq!(joined("The data base server"), ["database", "baseserver"]);
        assert_eq!(joined("e-mail"), ["email"]);
        assert_eq!(joined("데이터를 베이스에서"), ["데이터를베이스", "데이터베이스"]);
        assert_eq!(joined("rust를 배우기"), ["rust를배우기", "rust배우기"]);
        for search in ["", "data", "도서관에서는", "東京 大学", "版本 2026", &"a".repeat(64), "1 2"]
        {
            assert!(joined(search).is_empty(), "{search}: {:?}", joined(search));
        }
        assert!(joined(&format!("{} b", "a".repeat(64))).is_empty(), "too long");
    }

    #[test]
    fn parts_of_an_unknown_word_are_other_forms_and_those_of_a_known_one_count_less() {
        let service = service(&["data base", "notebook", "note", "book"], "2 2\ndata 1 0\nbase 0 1\n");
        let (words, forms) = (strings(&["database"]), strings(&["data", "base"]));
        assert_eq!(all_terms(&service, "database"), Terms { words, forms, similar: Vec::new() });
        let vectors = "3 3\nnote 1 0 0\nbook 0 1 0\nnotebook 0 0 1\n";
        words::load(&service, &Caller::Operator, vectors.as_bytes(), &mut |_| {}).unwrap();
        let found = all_terms(&service, "notebook");
        assert_eq!(found.similar, ["note", "book"]);
        assert!(found.forms.is_empty());
        let found = all_terms(&service, "note book");
        assert_eq!((found.forms, found.similar), (strings(&["notebook"]), Vec::new()));
        let without = testing::service();
        assert_eq!(all_terms(&without, "note book").forms, ["notebook"], "without a model");
    }

    #[test]
    fn a_known_word_has_only_very_similar_words_and_a_rare_one_is_known() {
        // The cosines with whale are 0.8 and 0.6, which are similarities of 0.86 and 0.71.
        let vectors = "4 2\nwhale 1 0\norca 0.8 0.6\nship 0.6 0.8\nsea 0 -1\n";
        let service = service(&["whale orca ship sea", "whalee"], vectors);
        let similar = |search: &str| all_terms(&service, search).similar;
        assert_eq!(similar("whale"), ["orca"]);
        assert_eq!(similar("whalee"), ["whale", "orca"], "a rare word that the model lacks");
        for mistyped in ["wahle", "whle", "whalle", "whaleee"] {
            let meant = if mistyped == "whaleee" { "whalee" } else { "whale" };
            assert_eq!(all_terms(&service, mistyped), all_terms(&service, meant), "{mistyped}");
        }
        assert_eq!(all_terms(&service, "ship wahle").words, ["ship", "whale"]);
    }

    #[test]
    fn a_word_is_corrected_without_a_model_unless_a_part_or_a_form_of_it_is_known() {
        let service = testing::service();
        let insert = |title: &str, n: u32| publish(&service, draft(title, format!("https://a.example/{n}")));
        let words = |search: &str| words(&service, search).unwrap().join(" ");
        assert_eq!(words("telescpoe"), "telescpoe", "no post");
        insert("A telescope in the south", 1);
        assert_eq!(words("telescpoe"), "telescope");
        assert_eq!(words("the telescpoe of the suoth"), "telescope south");
        assert_eq!(words("tele scope"), "tele scope");
        assert_eq!(words("soth.telescope"), "soth.telescope south telescope");
        let id = insert("도서관에서 학교 이야기, Straße", 2);
        assert_eq!(words("학고"), "학교");
        assert_eq!(words("도서곤"), "도서곤", "a pair of its syllables finds the post");
        assert_eq!(words("도서관까지"), "도서관까지 도서관");
        assert_eq!(words("STRASE"), "strasse");
        let draft = Draft { title: Some("A microscope".into()), ..Draft::default() };
        service.call(&Caller::Operator, post::Update { post_obi: id, draft }).unwrap();
        assert_eq!(words("학고 micorscope"), "학고 microscope", "a changed post");
    }

    proptest! {
        #[test]
        fn joined_words_are_tokens_of_a_search(search in "[a-c가나는의東 '.1-]{0,24}") {
            let stream = tokens::tokens(&search);
            for word in joined(&stream) {
                prop_assert_eq!(&tokens::tokens(&word)[0], &word);
                prop_assert!(stream.iter().any(|left| word.starts_with(left.as_str())));
            }
        }
    }
}
