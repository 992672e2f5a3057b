//! Splits texts into tokens, and searches into parts.
//!
//! A token is a word of UAX #29 in NFKC and lower case that is not an English stop word. It is not stemmed.
//!
//! - `node.js`, `o'reilly`, `3.14` and `snake_case` are one token each; `c++` and `c#` are `c`. Single letters are
//!   tokens, because `c` and `r` are languages; only `a` and `i` are stop words. A colon separates words: UAX #29 leaves
//!   it to the language, and only Finnish and Swedish use colons inside words.
//! - A final `'s` is removed: `rust's` is `rust`. `’` is `'`, so `don’t` is the stop word `don't`.
//! - A word that ends with a Korean particle is followed by the word without the particle: `학교에서` by `학교`, `rust를`
//!   by `rust`. Next to a Hangul syllable, a full stop, a middle dot and an apostrophe separate words, because they are
//!   punctuation there: `‘러스트’는`, `서울·부산`.
//! - Han and Kana have no blanks between words. Each pair of adjacent characters is a token, even across the two scripts,
//!   because words often mix them (`食べる`, `消しゴム`); a single character is a token itself.
//! - A token has 1 to [`LENGTH_MAX`] characters; a longer word is cut, so the same word in a search still finds it. No
//!   token has white space or control characters, and each has a letter or a digit.
//!
//! Source: UAX #29, *Unicode Text Segmentation*, section 4; UAX #15, *Unicode Normalization Forms*.

use std::collections::HashSet;

use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use crate::fold::fold;
use crate::{compose, han, hangul, stop_words};

/// The maximum length of a token in characters.
pub const LENGTH_MAX: usize = 64;

/// Returns the tokens of `text` in order, including repetitions.
///
/// ```
/// use tidings_text::tokens::tokens;
///
/// assert_eq!(tokens("Don’t miss Rust's 2026 survey!"), ["miss", "rust", "2026", "survey"]);
/// assert_eq!(tokens("서울에서 東京へ"), ["서울에서", "서울", "東京", "京へ"]);
/// ```
pub fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::with_capacity(text.len() / 10);
    each(text, |token| tokens.push(token.to_owned()));
    tokens
}

/// Passes the tokens of `text` to `take`, in order and including repetitions: [`tokens`] without a `String` per token.
///
/// ```
/// use tidings_text::tokens;
///
/// let mut letters = 0;
/// tokens::each("the red fox", |token| letters += token.len());
/// assert_eq!(letters, 6);
/// ```
pub fn each(text: &str, mut take: impl FnMut(&str)) {
    let lower = text.to_ascii_lowercase();
    if lower.is_ascii() {
        return plain(&lower, &mut take);
    }
    // A token never spans a blank, and neither folding nor UAX #29 looks across one. So a letter outside ASCII and
    // Hangul slows down only its own word, not the whole text.
    for piece in lower.split_ascii_whitespace() {
        if piece.is_ascii() || piece.chars().all(|c| c.is_ascii() || hangul::is_syllable(c)) {
            plain(piece, &mut take);
        } else {
            general(piece, &mut take);
        }
    }
}

/// Returns each of `tokens` once, in the order of the first occurrences.
///
/// ```
/// use tidings_text::tokens::{distinct, tokens};
///
/// assert_eq!(distinct(tokens("new notes, new news")), ["new", "notes", "news"]);
/// ```
pub fn distinct(mut tokens: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let first: Vec<bool> = tokens.iter().map(|token| seen.insert(token.as_str())).collect();
    let mut first = first.into_iter();
    tokens.retain(|_| first.next() == Some(true));
    tokens
}

/// Splits a search at its white space; the parts are in NFC and otherwise unchanged.
///
/// ```
/// use tidings_text::tokens::split;
///
/// assert_eq!(split(" The  Rust\tbook "), ["The", "Rust", "book"]);
/// ```
pub fn split(text: &str) -> Vec<String> {
    compose(text).split_whitespace().map(str::to_owned).collect()
}

/// Returns a whole search as one term: NFC, lower case, one blank for each run of white space, none at the ends.
///
/// ```
/// use tidings_text::tokens::normalise_term;
///
/// assert_eq!(normalise_term(" The  Rust\tbook "), "the rust book");
/// ```
pub fn normalise_term(text: &str) -> String {
    let lower = compose(text).to_lowercase();
    let mut term = String::with_capacity(lower.len());
    // Composed again, because a small letter may have a composed form when its capital has none.
    for part in compose(&lower).split_whitespace() {
        if !term.is_empty() {
            term.push(' ');
        }
        term.push_str(part);
    }
    term
}

/// Passes the words of a text of lower-case ASCII and Hangul syllables to `take`: the words of [`general`], without
/// Unicode tables.
///
/// A byte beyond ASCII belongs to a syllable, so it is a letter.
fn plain(text: &str, take: &mut impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let inside = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || !b.is_ascii();
    let mut at = 0;
    while at < bytes.len() {
        if !inside(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && (inside(bytes[at]) || joins(bytes, at)) {
            at += 1;
        }
        word(&text[start..at], take);
    }
}

/// Returns whether the byte at `at`, which is not the first, joins its neighbours into one word: WB6, WB7, WB11 and
/// WB12 of UAX #29, for ASCII neighbours only. Next to Hangul it separates words.
fn joins(bytes: &[u8], at: usize) -> bool {
    let Some(after) = bytes.get(at + 1) else { return false };
    let before = bytes[at - 1];
    match bytes[at] {
        b'\'' | b'.' if before.is_ascii_alphabetic() => after.is_ascii_alphabetic(),
        b'\'' | b'.' | b',' | b';' if before.is_ascii_digit() => after.is_ascii_digit(),
        _ => false,
    }
}

/// Passes the words of any text to `take`.
fn general(text: &str, take: &mut impl FnMut(&str)) {
    let text = fold(text);
    let mut rest = &*text;
    while !rest.is_empty() {
        let (words, more) = han::split_before_run(rest);
        for segment in words.unicode_words() {
            parts(segment, take);
        }
        let (run, more) = han::split_after_run(more);
        han::pairs(run, take);
        rest = more;
    }
}

/// Splits a word of UAX #29 at colons, and at punctuation next to Hangul syllables.
fn parts(segment: &str, take: &mut impl FnMut(&str)) {
    let mut start = 0;
    let mut before = None;
    for (at, c) in segment.char_indices() {
        let next = at + c.len_utf8();
        let korean = || before.into_iter().chain(segment[next..].chars().next()).any(hangul::is_syllable);
        if c == ':' || matches!(c, '.' | '\'' | '·' | '‧') && korean() {
            word(&segment[start..at], take);
            start = next;
        }
        before = Some(c);
    }
    word(&segment[start..], take);
}

/// Passes a word to `take`, and its stems if it ends with a Korean particle.
fn word(word: &str, take: &mut impl FnMut(&str)) {
    let word = trim(word);
    take_unless_stop(word, take);
    if !word.is_ascii() {
        for stem in hangul::stems(word) {
            take_unless_stop(trim(stem), take);
        }
    }
}

fn take_unless_stop(word: &str, take: &mut impl FnMut(&str)) {
    if !word.is_empty() && !stop_words::is_stop(word) {
        take(word);
    }
}

/// Trims `word` to its first and last letter or digit with its marks, cuts it to [`LENGTH_MAX`], and removes a final
/// `'s`.
fn trim(word: &str) -> &str {
    let common = |c: char| c.is_ascii_alphanumeric() || hangul::is_syllable(c); // Avoids the Unicode tables for most words.
    let bears = |c: char| common(c) || c.is_alphanumeric() && !is_combining_mark(c);
    let mut word = word.trim_start_matches(|c| !bears(c));
    if word.len() > LENGTH_MAX {
        word = word.char_indices().nth(LENGTH_MAX).map_or(word, |(end, _)| &word[..end]);
    }
    loop {
        let unmarked = word.trim_end_matches(|c| !bears(c));
        let marks = word[unmarked.len()..].trim_start_matches(is_combining_mark);
        word = &word[..word.len() - marks.len()];
        let Some(owner) = word.strip_suffix("'s") else { return word };
        word = owner;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    fn by_general(text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        general(text, &mut |token: &str| tokens.push(token.to_owned()));
        tokens
    }

    #[test]
    fn english_words_are_lower_case_and_without_stop_words() {
        assert_eq!(tokens("The Quick brown fox is NOT over it."), ["quick", "brown", "fox"]);
        assert!(tokens("the who").is_empty());
        assert!(tokens("").is_empty());
        assert!(tokens(" \t\r\n\0 -- !? 👍").is_empty());
    }

    #[test]
    fn word_boundaries_are_those_of_uax_29() {
        assert_eq!(
            tokens("node.js, c++ & snake_case 3.14 1,000"),
            ["node.js", "c", "snake_case", "3.14", "1,000"]
        );
        assert_eq!(
            tokens("_it_ __init__ e-mail std::vec note:this"),
            ["init", "e", "mail", "std", "vec", "note"]
        );
        assert_eq!(tokens("C and R"), ["c", "r"]);
    }

    #[test]
    fn typographic_apostrophes_are_folded_and_the_possessive_is_removed() {
        assert_eq!(tokens("Rust's café’s students' O’Reilly"), ["rust", "café", "students", "o'reilly"]);
        assert!(tokens("don't don’t DON＇T it's That’s").is_empty());
        assert_eq!(tokens("‘quoted’ 'words'"), ["quoted", "words"]);
    }

    #[test]
    fn compatibility_forms_are_the_same_token() {
        assert_eq!(tokens("Ｒｕｓｔ ﬁne ｶﾞｲﾄﾞ cafe\u{301}"), ["rust", "fine", "ガイ", "イド", "café"]);
    }

    #[test]
    fn a_hangul_word_is_followed_by_its_stems() {
        assert_eq!(tokens("학교에서는 밥을 먹는다"), ["학교에서는", "학교에서", "학교", "밥을", "먹는다"]);
        assert_eq!(tokens("Rust를 2026년에 the는"), ["rust를", "rust", "2026년에", "2026년", "the는"]);
    }

    #[test]
    fn punctuation_next_to_hangul_separates_words() {
        assert_eq!(tokens("서울·부산ㆍ대구"), ["서울", "부산", "대구"]);
        assert_eq!(tokens("‘러스트’는 했다.그리고 3.1운동"), ["러스트", "는", "했다", "그리고", "3.1운동"]);
    }

    #[test]
    fn han_and_kana_become_pairs_across_scripts() {
        assert_eq!(tokens("東京タワー"), ["東京", "京タ", "タワ", "ワー"]);
        assert_eq!(tokens("食べる、茶"), ["食べ", "べる", "茶"]);
        assert_eq!(tokens("ラーメン・カレー"), ["ラー", "ーメ", "メン", "カレ", "レー"]);
        assert_eq!(tokens("Rust入門book大學은"), ["rust", "入門", "book", "大學", "은"]);
        assert_eq!(tokens("ab_カ\u{309a}_"), ["ab", "カ"]);
    }

    #[test]
    fn a_token_is_cut_after_64_characters() {
        assert_eq!(tokens(&"é".repeat(64)), ["é".repeat(64)]);
        assert_eq!(tokens(&"é".repeat(65)), ["é".repeat(64)]);
        assert_eq!(tokens(&format!("{}'s", "a".repeat(64))), ["a".repeat(64)]);
        assert_eq!(tokens(&format!("{}'sx", "a".repeat(62))), ["a".repeat(62)]);
    }

    #[test]
    fn a_compatibility_form_with_a_blank_yields_no_blank() {
        assert_eq!(tokens("x\u{37a}y \u{fdfa}").first().map(String::as_str), Some("x"));
        assert_eq!(tokens("\u{345} -\u{345} \u{7f}\u{345}"), Vec::<String>::new());
    }

    #[test]
    fn distinct_tokens_keep_their_first_places() {
        let tokens = ["b", "a", "b", "c", "a"].map(str::to_owned).to_vec();
        assert_eq!(distinct(tokens), ["b", "a", "c"]);
    }

    #[test]
    fn a_search_is_split_at_white_space_only() {
        assert_eq!(split("The\u{3000}who?  cafe\u{301}"), ["The", "who?", "café"]);
        assert!(split(" \n ").is_empty());
    }

    #[test]
    fn a_term_is_composed_lower_case_and_trimmed() {
        assert_eq!(normalise_term("  The\u{3000}WHO?\nCAFE\u{301}  "), "the who? café");
        assert_eq!(normalise_term("H\u{331}"), "\u{1e96}");
        assert_eq!(normalise_term("  "), "");
    }

    /// Generates texts with many of the characters that the rules mention.
    fn dense() -> impl Strategy<Value = String> {
        let chars = " \n\t\0'’.,:;_-\"(+aIsSZ1éÉHßΣςﬁŉİ٣½ㅋㅏ은는로이東京々カｶﾞーの・·ㆍ👍🇰ﷺकไทא\
            \u{3000}\u{a0}\u{85}\u{331}\u{301}\u{345}\u{307}\u{1100}\u{11a8}\u{1160}\u{3099}\u{ad}\u{34f}\
            \u{200b}\u{200d}\u{fe0f}\u{202f}\u{900}\u{94d}\u{2e80}\u{20e3}";
        let char = proptest::sample::select(chars.chars().collect::<Vec<_>>()).prop_map(String::from);
        let word = proptest::sample::select(&["the", "Don't", "’s", "학교", "에서", "node.js"])
            .prop_map(str::to_owned);
        proptest::collection::vec(prop_oneof![4 => char, 1 => word], 0..40).prop_map(|parts| parts.concat())
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![dense(), any::<String>()]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn the_fast_path_agrees_with_the_general_one(
            ascii in "[ -~\n\ta-cA-C'._:;, 0-2s]{0,80}",
            korean in "[a-c'._:;, 0-2s가-힣은는에서의로이]{0,40}",
        ) {
            prop_assert_eq!(tokens(&ascii), by_general(&ascii));
            prop_assert_eq!(tokens(&korean), by_general(&korean));
        }

        #[test]
        fn the_tokens_of_the_pieces_are_those_of_the_whole(text in text()) {
            prop_assert_eq!(tokens(&text), by_general(&text));
        }

        #[test]
        fn a_token_has_1_to_64_characters_without_blanks_or_controls(text in text()) {
            for token in tokens(&text) {
                prop_assert!((1..=LENGTH_MAX).contains(&token.chars().count()), "{token:?}");
                prop_assert!(!token.contains(|c: char| c.is_whitespace() || c.is_control()), "{token:?}");
                prop_assert!(token.contains(char::is_alphanumeric), "{token:?}");
            }
        }

        #[test]
        fn a_token_is_the_first_of_its_own_tokens(text in text()) {
            for token in tokens(&text) {
                let again = tokens(&token);
                prop_assert_eq!(again.first(), Some(&token));
            }
        }

        #[test]
        fn the_tokens_of_two_texts_are_those_of_both_in_order(one in text(), two in text()) {
            let both = tokens(&format!("{one} {two}"));
            prop_assert_eq!(both, [tokens(&one), tokens(&two)].concat());
        }

        #[test]
        fn case_makes_no_difference(text in text()) {
            prop_assert_eq!(tokens(&text.to_lowercase()), tokens(&text));
            prop_assert_eq!(tokens(&text.to_ascii_uppercase()), tokens(&text));
        }

        #[test]
        fn composed_and_decomposed_text_yield_the_same(text in text()) {
            let expected = tokens(&text);
            prop_assert_eq!(&tokens(&text.nfc().collect::<String>()), &expected);
            prop_assert_eq!(&tokens(&text.nfd().collect::<String>()), &expected);
        }

        #[test]
        fn distinct_returns_each_token_once(text in text()) {
            let once = distinct(tokens(&text));
            prop_assert_eq!(&distinct(once.clone()), &once);
            prop_assert!(tokens(&text).iter().all(|token| once.contains(token)));
        }

        #[test]
        fn normalising_a_term_twice_changes_nothing(text in text()) {
            let term = normalise_term(&text);
            prop_assert_eq!(normalise_term(&term), term.clone());
            prop_assert_eq!(split(&term).join(" "), term);
        }
    }
}
