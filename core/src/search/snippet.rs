//! Snippets: the part of a post's text that shows why a search found the post.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use tidings_tokens::{spans, tokens};
use utoipa::ToSchema;

use crate::post::index::Terms;

/// Hits are looked for in this many characters at the beginning of a text.
pub(super) const SEARCHED: usize = 20_000;
/// In characters, without the marks that it is shortened.
const LENGTH: usize = 200;
const LEAD: usize = 40;
const CANDIDATES: usize = 200;

/// A part of a snippet. The texts of all parts together are the snippet.
///
/// Parts need no unit of length, in which languages differ, and no escaping: they are plain text, as posts are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SnippetPart {
    /// Plain text, which may contain `<` and `&`.
    #[schema(min_length = 1, max_length = 202, examples("eclipse"))]
    pub text: String,
    /// Whether the part is a word that the search has found, which a client highlights.
    #[schema(examples(true))]
    pub hit: bool,
}

/// Returns the part of a text with the most terms, or its beginning if it has none; empty for an empty text. White space is one
/// blank.
pub(super) fn snippet(text: &str, terms: &Terms) -> Vec<SnippetPart> {
    let text = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let text = text.collect::<Vec<_>>().join(" ");
    let hits: Vec<Range<usize>> = spans::hits(&text, |token| terms.has(token)).collect();
    let window = window(&text, &hits, terms);
    let mut parts = Vec::new();
    let mut push = |text: String, hit| {
        if !text.is_empty() {
            parts.push(SnippetPart { text, hit });
        }
    };
    let mut at = window.start;
    let mut before = if at > 0 { "…" } else { "" };
    for hit in hits.iter().filter(|hit| window.start <= hit.start && hit.end <= window.end) {
        push(format!("{before}{}", &text[at..hit.start]), false);
        push(text[hit.clone()].to_owned(), true);
        (at, before) = (hit.end, "");
    }
    let after = if window.end < text.len() { "…" } else { "" };
    push(format!("{before}{}{after}", &text[at..window.end]), false);
    parts
}

fn window(text: &str, hits: &[Range<usize>], terms: &Terms) -> Range<usize> {
    // The place of each character, and the end.
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let character = |byte: usize| places.partition_point(|place| *place < byte);
    let end = |start: usize| places[(character(start) + LENGTH).min(places.len() - 1)];
    let weight = |hits: &[Range<usize>]| {
        let mut seen = HashSet::new();
        let mut weight = 0;
        for token in hits.iter().flat_map(|hit| tokens::tokens(&text[hit.clone()])) {
            if terms.has(&token) {
                let worth = if terms.words.contains(&token) { 100 } else { 10 };
                weight += if seen.insert(token) { worth } else { 1 };
            }
        }
        weight
    };
    let from = |first: usize| {
        let start = start(text, &places, character(hits[first].start));
        let end = end(start);
        let inside = hits[first..].iter().take_while(|hit| hit.end <= end).count();
        (start, end, &hits[first..first + inside])
    };
    let first = (0..hits.len().min(CANDIDATES)).map(|first| (weight(from(first).2), first));
    // Of equal parts, the first one.
    let best = first.max_by_key(|(weight, first)| (*weight, std::cmp::Reverse(*first)));
    let (start, end, hits) = best.map_or((0, end(0), &hits[..0]), |(_, first)| from(first));
    if end == text.len() {
        return start..end;
    }
    // Not within a word, if that leaves most of the snippet.
    let last = hits.last().map_or(start + (end - start) / 2, |hit| hit.end);
    let blank = if text[end..].starts_with(' ') { Some(end) } else { text[..end].rfind(' ') };
    start..blank.filter(|blank| *blank >= last).unwrap_or(end)
}

/// `hit` is the first hit. The snippet begins after a blank, if there is one.
fn start(text: &str, places: &[usize], hit: usize) -> usize {
    let Some(lead) = hit.checked_sub(LEAD).filter(|lead| *lead > 0) else { return 0 };
    let before = &text[places[lead]..places[hit]];
    before.find(' ').map_or(places[lead], |blank| places[lead] + blank + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terms(words: &[&str], similar: &[&str]) -> Terms {
        let [words, similar] =
            [words, similar].map(|words| words.iter().map(|word| (*word).to_owned()).collect());
        Terms { words, similar, ..Terms::default() }
    }

    /// Returns the snippet as a text with the hits in brackets.
    fn marked(text: &str, words: &[&str], similar: &[&str]) -> String {
        let part = |part: SnippetPart| if part.hit { format!("[{}]", part.text) } else { part.text };
        snippet(text, &terms(words, similar)).into_iter().map(part).collect()
    }

    #[test]
    fn a_short_text_is_shown_whole() {
        let sea = marked("The  sea\n\tand <b>the Sea</b>.", &["sea"], &[]);
        assert_eq!(sea, "The [sea] and <b>the [Sea]</b>.");
        assert_eq!(marked("도서관에서 학교를 보다", &["도서관"], &["학교"]), "[도서관에서] [학교를] 보다");
        assert_eq!(marked("私は東京大学へ行く", &["東京", "大学"], &[]), "私は[東京大学]へ行く");
        assert_eq!(marked("Nothing of it.", &["sea"], &[]), "Nothing of it.");
        assert!(snippet(" \n", &terms(&["sea"], &[])).is_empty());
    }

    #[test]
    fn the_part_with_the_most_words_of_the_search_is_shown() {
        let filler = "many other words ".repeat(30);
        let text = format!("ship {filler}sea ship {filler}sea sea sea sea");
        let shown = marked(&text, &["sea", "ship"], &[]);
        assert!(shown.starts_with("…") && shown.contains("[sea] [ship]") && shown.ends_with("…"), "{shown}");
        let shown = marked(&text, &["ship"], &["sea"]);
        assert!(shown.contains("[sea] [ship]"), "{shown}");
        let text = format!("{filler}whale {filler}ship");
        let shown = marked(&text, &["ship"], &["whale"]);
        assert!(shown.ends_with("[ship]"), "a word counts more than a similar one");
    }

    #[test]
    fn a_snippet_begins_and_ends_with_whole_words() {
        let filler = "many other words ".repeat(30);
        let shown = marked(&format!("{filler}sea {filler}"), &["sea"], &[]);
        let inner = shown.strip_prefix("…").and_then(|shown| shown.strip_suffix("…")).unwrap();
        let is_whole = |word: &str| ["many", "other", "words", "[sea]"].contains(&word);
        assert!(inner.split(' ').all(is_whole), "{shown}");
    }

    proptest! {
        #[test]
        fn a_snippet_is_a_bounded_part_of_the_text(
            text in "([a-c]{1,3}|도서관은|東京|é|👍|[ \n.<&]){0,200}|.{0,300}",
            words in prop::collection::vec("[a-c]{1,3}|도서관|東京|é", 0..3),
        ) {
            let terms = Terms { words, ..Terms::default() };
            let parts = snippet(&text, &terms);
            let shown: String = parts.iter().map(|part| part.text.as_str()).collect();
            prop_assert!(shown.chars().count() <= LENGTH + 2);
            let whole = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
            let whole = whole.collect::<Vec<_>>().join(" ");
            let inner = if whole.contains(&shown) { &shown } else { shown.trim_matches('…') };
            prop_assert!(whole.contains(inner));
            prop_assert!(parts.windows(2).all(|pair| !(pair[0].hit && pair[1].hit)));
            prop_assert!(parts.iter().all(|part| !part.text.is_empty()));
            let has = |part: &SnippetPart| tokens::tokens(&part.text).iter().any(|token| terms.has(token));
            prop_assert!(parts.iter().filter(|part| part.hit).all(has));
            // A text with a hit shows one.
            let is_found = spans::hits(&whole, |token| terms.has(token)).any(|hit| hit.len() < 100);
            prop_assert!(!is_found || parts.iter().any(|part| part.hit));
        }
    }
}
