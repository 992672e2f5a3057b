//! The quality of searches, measured on known posts: posts of the database are searched by their titles, by words of their
//! texts, and by these words with a typing error. A good search has the post among its first results.
//!
//! Source: Azzopardi, de Rijke and Balog, *Building simulated queries for known-item topics*, SIGIR 2007.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;
use tidings_tokens::tokens;
use tidings_vectors::Random;

use super::{Find, PostPage};
use crate::Tidings;
use crate::account::Caller;
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::id::PostKey;
use crate::store::StoreError;
use crate::words::SEARCH;

/// The maximum number of posts that are searched.
const POSTS: usize = 400;
/// The number of words of a text in a search.
const WORDS: usize = 3;
/// The minimum numbers of characters of a word: of Hangul, and of other scripts.
const HANGUL_MIN: usize = 2;
const LETTERS_MIN: usize = 5;
/// The number of results in which a post is looked for.
const TOP: i64 = 10;
/// The seed of the choice of words, so that two measurements are comparable.
const SEED: u64 = 41;

/// The error if no post can be searched.
const NO_POSTS: Problem = Problem::new(Code::NotPossible, "no post has a title with a word");

/// The result of [`evaluate`].
#[derive(Debug, PartialEq, Serialize)]
pub struct SearchEvaluation {
    /// The number of posts that were searched.
    pub posts: usize,
    /// The quality by script and kind of search.
    pub rows: Vec<Quality>,
}

/// The quality of searches of one kind.
#[derive(Debug, PartialEq, Serialize)]
pub struct Quality {
    /// The script of most letters of the posts: `Hangul`, `Han and Kana` or `other`.
    pub script: &'static str,
    /// `title`: by the title; `words`: by three words of the text, without typing errors; `mistyped`: by the same words, one of
    /// them with an error.
    pub by: &'static str,
    /// The number of searches.
    pub searches: usize,
    /// The reciprocal of the post's place among the first ten results, averaged; 0 for a post that is not among them.
    pub mrr10: f64,
    /// The share of the posts that are among the first ten results.
    pub found10: f64,
    /// The average time of a search in milliseconds.
    pub ms: f64,
}

/// The place of the post among the results of a search, and the time that the search took in milliseconds.
type Searched = (Option<usize>, f64);

/// A post that is searched.
struct Known {
    id: String,
    title: String,
    text: String,
}

/// Searches for some posts of the database, at most 400. It only reads, and records no search. `progress` receives values from 0
/// to 1.
///
/// # Errors
/// `Not admin` unless the caller is the operator; `bad request` without posts.
pub fn evaluate(
    tidings: &Tidings,
    caller: &Caller,
    progress: &mut dyn FnMut(f64),
) -> Result<SearchEvaluation> {
    caller.operator()?;
    let known = sample(tidings)?;
    let mut random = Random::new(SEED);
    let mut of_kinds: BTreeMap<(&'static str, usize), Vec<Searched>> = BTreeMap::new();
    #[expect(clippy::cast_precision_loss, reason = "a few hundred posts")]
    for (done, post) in known.iter().enumerate() {
        progress(done as f64 / known.len() as f64);
        let script = script(&format!("{} {}", post.title, post.text));
        for (kind, search) in searches(post, &mut random).into_iter().enumerate() {
            let Some(search) = search else { continue };
            let begun = Instant::now();
            let find = Find { num: TOP, search, page: PostPage::default() };
            let found = tidings.call(&Caller::Guest, find)?.search_result;
            let place = found.iter().position(|hit| hit.post.id.as_str() == post.id);
            let ms = begun.elapsed().as_secs_f64() * 1e3;
            of_kinds.entry((script, kind)).or_default().push((place, ms));
        }
    }
    if of_kinds.is_empty() {
        return Err(Error::BadRequest(NO_POSTS));
    }
    let rows = of_kinds.into_iter().map(|((script, kind), found)| quality(script, kind, &found));
    Ok(SearchEvaluation { posts: known.len(), rows: rows.collect() })
}

/// Returns the posts that are searched: the same distance apart by their keys.
fn sample(tidings: &Tidings) -> Result<Vec<Known>> {
    let known = tidings.store().read(|tx| {
        let mut bounds = tx.one("SELECT min(key), max(key) FROM post", &[])?;
        let (Some(first), Some(last)): (Option<PostKey>, Option<PostKey>) =
            (bounds.take(0)?, bounds.take(1)?)
        else {
            return Ok(Vec::new());
        };
        let (first, last) = (first.as_i64(), last.as_i64());
        let step = ((last - first + 1) / i64::try_from(POSTS).unwrap_or(i64::MAX)).max(1);
        let mut known: Vec<Known> = Vec::new();
        let mut from = first;
        while from <= last && known.len() < POSTS {
            let sql = "SELECT key, id, title, substr(post, 1, 5000) FROM post
                       WHERE key >= $1 AND (end_date IS NULL OR end_date > $2) ORDER BY key LIMIT 1";
            let Some(mut row) = tx.row(sql, &[from.into(), tidings.now().into()])? else { break };
            let key: i64 = row.take(0)?;
            known.push(Known { id: row.take(1)?, title: row.take(2)?, text: row.take(3)? });
            from = (from + step).max(key + 1);
        }
        Ok::<_, StoreError>(known)
    })?;
    Ok(known)
}

/// Returns the name of the script of most letters.
fn script(text: &str) -> &'static str {
    let (mut hangul, mut han, mut other) = (0, 0, 0);
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        match c {
            '가'..='힣' => hangul += 1,
            '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' => han += 1,
            _ => other += 1,
        }
    }
    match hangul.max(han).max(other) {
        most if most == other => "other",
        most if most == hangul => "Hangul",
        _ => "Han and Kana",
    }
}

/// Returns the searches for a post: by its title, by words of its text, and by these with a typing error.
fn searches(post: &Known, random: &mut Random) -> [Option<String>; 3] {
    let cut = |search: &str| search.chars().take(SEARCH.max).collect::<String>();
    let title = Some(cut(&post.title)).filter(|title| !tokens::tokens(title).is_empty());
    let mut words: Vec<&str> = words(&post.text).collect();
    words.sort_unstable();
    words.dedup();
    random.shuffle(&mut words);
    words.truncate(WORDS);
    if words.len() < WORDS {
        return [title, None, None];
    }
    let mistyped = with_error(words[0], random);
    let right = words.join(" ");
    words[0] = &mistyped;
    [title, Some(cut(&right)), Some(cut(&words.join(" ")))]
}

/// Returns the words of a text that people would search for: without signs and digits, and not the shortest ones.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphabetic());
    words.filter(|word| {
        let least = if script(word) == "other" { LETTERS_MIN } else { HANGUL_MIN };
        word.chars().count() >= least && word.chars().count() <= tokens::LENGTH_MAX
    })
}

/// Returns a word with a typing error: another vowel in a syllable of Hangul, or two letters in the wrong order.
fn with_error(word: &str, random: &mut Random) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let place = random.below(letters.len() - 1);
    let syllable = u32::from(letters[place]);
    if ('가'..='힣').contains(&letters[place]) {
        // Source: Unicode standard, section 3.12: 21 vowels, each with 28 finals.
        let offset = syllable - u32::from('가');
        let (first, vowel, last) = (offset / 588, offset % 588 / 28, offset % 28);
        let changed = u32::from('가') + first * 588 + (vowel + 4) % 21 * 28 + last;
        letters[place] = char::from_u32(changed).unwrap_or(letters[place]);
    } else {
        letters.swap(place, place + 1);
    }
    letters.into_iter().collect()
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred searches")]
fn quality(script: &'static str, kind: usize, found: &[Searched]) -> Quality {
    let count = found.len() as f64;
    let rounded = |figure: f64| (figure * 1e4).round() / 1e4;
    let places = || found.iter().filter_map(|(place, _)| *place);
    Quality {
        script,
        by: ["title", "words", "mistyped"][kind],
        searches: found.len(),
        mrr10: rounded(places().map(|place| 1.0 / (place + 1) as f64).sum::<f64>() / count),
        found10: rounded(places().count() as f64 / count),
        ms: rounded(found.iter().map(|(_, ms)| ms).sum::<f64>() / count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post::{self, Draft};
    use crate::testing;

    #[test]
    fn known_posts_are_found_by_title_words_and_mistyped_words() {
        let service = testing::service();
        assert!(matches!(evaluate(&service, &Caller::Operator, &mut |_| {}), Err(Error::BadRequest(_))));
        let texts = [
            ("The telescope", "Astronomers observed distant galaxies yesterday evening"),
            ("Bread", "Bakers prefer wholemeal flour during winter months"),
            ("도서관 안내", "학생들이 열람실에서 조용히 공부한다"),
            ("図書館", "学生は静かな部屋で毎日勉強する"),
            ("!", ""),
        ];
        for (n, (title, text)) in texts.into_iter().enumerate() {
            let draft = Draft {
                title: Some(title.into()),
                post: Some(text.into()),
                url: Some(format!("https://a.example/{n}")),
                ..Draft::default()
            };
            service.call(&Caller::Operator, post::Insert { draft }).unwrap();
        }
        assert!(evaluate(&service, &Caller::Guest, &mut |_| {}).is_err());
        let mut told = Vec::new();
        let evaluation = evaluate(&service, &Caller::Operator, &mut |share| told.push(share)).unwrap();
        assert_eq!((evaluation.posts, told.len()), (5, 5));
        let rows: Vec<_> =
            evaluation.rows.iter().map(|row| (row.script, row.by, row.searches, row.mrr10)).collect();
        let expected = [
            ("Han and Kana", "title", 1, 1.0),
            ("Hangul", "title", 1, 1.0),
            ("Hangul", "words", 1, 1.0),
            ("Hangul", "mistyped", 1, 1.0),
            ("other", "title", 2, 1.0),
            ("other", "words", 2, 1.0),
            ("other", "mistyped", 2, 1.0),
        ];
        assert_eq!(rows, expected);
        assert_eq!(
            service.call(&Caller::Guest, crate::analysis::GetRealtime {}).unwrap().search_realtime,
            []
        );
    }

    #[test]
    fn a_typing_error_changes_a_word() {
        let mut random = Random::new(1);
        for word in ["telescope", "도서관", "aab"] {
            let letters = |word: &str| word.chars().count();
            let mistyped = with_error(word, &mut random);
            assert_eq!(letters(&mistyped), letters(word));
        }
        assert_ne!(with_error("도서관", &mut random), "도서관");
    }
}
