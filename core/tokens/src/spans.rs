use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::fold::fold;
use crate::{han, tokens};

/// Returns the ranges of the words of `text` that have a token for which `is_hit` is true, in order. They are bytes of
/// `text` between whole characters, do not overlap, and are not adjacent to each other.
///
/// A word is marked as a whole: with its Korean particle, its `'s`, or the signs of `c++`, and a compound with all of its
/// parts. In Han and Kana, the two characters of a token are marked, or the one that is searched.
///
/// ```
/// use tidings_tokens::spans::hits;
///
/// let text = "The Library’s books: 도서관에서";
/// let marked: Vec<&str> = hits(text, |token| matches!(token, "library" | "도서관")).map(|at| &text[at]).collect();
/// assert_eq!(marked, ["Library’s", "도서관에서"]);
/// ```
pub fn hits(text: &str, is_hit: impl Fn(&str) -> bool) -> impl Iterator<Item = Range<usize>> {
    let has_hit = |part: &str| {
        let mut hit = false;
        tokens::each(part, |token| hit |= is_hit(token));
        hit
    };
    let has_letter = |part: &str| {
        let mut hit = false;
        let mut letter = [0; 4];
        tokens::each(part, |token| hit |= tokens::letters(token).any(|c| is_hit(c.encode_utf8(&mut letter))));
        hit
    };
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut mark = |range: Range<usize>| match found.last_mut() {
        Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
        _ => found.push(range),
    };
    for (start, chunk) in chunks(text) {
        // Most chunks are a word without a hit, so the places in it are not needed.
        if !has_hit(chunk) && !has_letter(chunk) {
            continue;
        }
        let mut before: Option<Range<usize>> = None;
        for (at, part) in parts(chunk) {
            let here = start + at..start + at + part.len();
            if !han::is_run(&fold(part)) {
                before = None;
                if has_hit(part) {
                    mark(here);
                }
                continue;
            }
            // Pairs of adjacent characters of a run are its tokens.
            let left = before.filter(|before| before.end == here.start);
            let pair = left.map_or(here.start, |left| left.start)..here.end;
            if has_hit(&text[pair.clone()]) {
                mark(pair);
            } else if has_hit(part) {
                mark(here.clone());
            }
            before = Some(here);
        }
    }
    found.into_iter()
}

/// White space separates the parts.
fn chunks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(char::is_whitespace)
        .filter(|chunk| !chunk.is_empty())
        .map(|chunk| (offset(text, chunk), chunk))
}

fn parts(chunk: &str) -> impl Iterator<Item = (usize, &str)> {
    chunk.unicode_word_indices().flat_map(|(start, word)| {
        let is_run = han::is_run(&fold(word));
        let characters = word.grapheme_indices(true).map(move |(at, character)| (start + at, character));
        let end = start + word.len();
        let whole = (!is_run).then(|| (start, &chunk[start..end + tokens::symbols(chunk.as_bytes(), end)]));
        whole.into_iter().chain(characters.filter(move |_| is_run))
    })
}

fn offset(text: &str, part: &str) -> usize {
    part.as_ptr().addr() - text.as_ptr().addr()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marked<'t>(text: &'t str, search: &str) -> Vec<&'t str> {
        let tokens = tokens::tokens(search);
        hits(text, |token| tokens.iter().any(|other| other == token)).map(|at| &text[at]).collect()
    }

    #[test]
    fn words_are_marked_as_they_are_written() {
        assert_eq!(marked("RUST, rust and Rusty (Rust's).", "rust"), ["RUST", "rust", "Rust's"]);
        let signs = marked("node.js and snake_case e-mail", "node.js snake_case mail");
        assert_eq!(signs, ["node.js", "snake_case", "mail"]);
        assert_eq!(marked("the ﬁne Ｃａｆｅ\u{301} CAFÉ", "fine café"), ["ﬁne", "Ｃａｆｅ\u{301}", "CAFÉ"]);
        assert_eq!(marked("서울에서 러스트를 rust를", "러스트 rust"), ["러스트를", "rust를"]);
        assert_eq!(marked("C++, C# and C", "c++"), ["C++", "C#", "C"]);
        let mixed = marked("Ask Hitman™: the AI반도체 and a+b", "반도체 hitman b");
        assert_eq!(mixed, ["Hitman", "AI반도체", "b"]);
        let folded = marked("STRASSE, Straße, cafe und Café", "straße café");
        assert_eq!(folded, ["STRASSE", "Straße", "cafe", "Café"]);
        assert!(marked("nothing here", "rust").is_empty() && marked("", "rust").is_empty());
    }

    #[test]
    fn pairs_of_han_and_kana_are_marked() {
        assert_eq!(marked("私は東京大学へ行く。", "大学"), ["大学"]);
        assert_eq!(marked("私は東京大学へ行く。", "東京大学"), ["東京大学"]);
        assert_eq!(marked("東京の大学と京大", "京大"), ["京大"]);
        assert_eq!(marked("茶 を", "茶"), ["茶"]);
        assert_eq!(marked("図書館の書類", "書"), ["書", "書"]);
        assert_eq!(marked("図書館", "館"), ["館"]);
        assert_eq!(marked("rust入門とｶﾞｲﾄﾞ", "ガイド"), ["ｶﾞｲﾄﾞ"]);
    }

    proptest! {
        #[test]
        fn hits_are_ordered_parts_of_the_text(text in "[ab 가는도서관 東京ガﾞｶé\u{301}．.'’\n-]{0,40}|.{0,30}", search in "[ab도서관東京ガé]{1,4}") {
            let tokens = tokens::tokens(&search);
            let is_hit = |token: &str| tokens.iter().any(|other| other == token);
            let mut end = None;
            for range in hits(&text, is_hit) {
                prop_assert!(end.is_none_or(|end| end < range.start) && !range.is_empty());
                prop_assert!(text.get(range.clone()).is_some());
                end = Some(range.end);
            }
        }

        #[test]
        fn a_text_of_plain_words_is_marked_where_it_has_a_token(text in "([abc]{1,3}|가나는|도서관|[, .]){0,12}") {
            for token in tokens::tokens(&text) {
                prop_assert!(hits(&text, |other| other == token).next().is_some(), "{token}");
            }
            prop_assert!(hits(&text, |token| token == "zzz").next().is_none());
        }
    }
}
