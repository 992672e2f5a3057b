//! Splits texts into tokens, and searches into parts.
//!
//! A token is a word of UAX #29 in NFKC and folded case, without accents, that is not an English stop word. It is not
//! stemmed.
//!
//! - `café`, `Cafe` and `ＣＡＦＥ` are `cafe`, and `Straße` is `strasse`: see `fold.rs`.
//! - A compound is followed by its parts, so that a search finds it by each of them: `crm.action_log` by `crm`,
//!   `action_log`, `action` and `log`. Parts are divided by a full stop, a middle dot, an apostrophe, `_` and `&`, and
//!   between Hangul and other letters or digits: `AI반도체`, `3D프린터`. A number such as `3.14` or `1,000` has no parts. Neither
//!   a single letter before or after a full stop or an apostrophe (`p.m`, `l'école`) nor a single syllable beside a digit
//!   (`3월`) is a part.
//! - `+`, `++` or `#` at the end of a name belongs to it: `c++`, `c#`. The name without it follows, so `c` finds them, too.
//!   Single letters are tokens, because `c` and `r` are languages; only `a` and `i` are stop words. A colon separates words:
//!   UAX #29 leaves it to the language, and only Finnish and Swedish use colons inside words.
//! - A final `'s` is removed: `rust's` is `rust`. `’` is `'`, so `don’t` is the stop word `don't`.
//! - A word that ends with a Korean particle is followed by the word without the particle: `학교에서` by `학교`, `rust를`
//!   by `rust`. Next to a Hangul syllable, a full stop, a middle dot and an apostrophe separate words, because they are
//!   punctuation there: `‘러스트’는`, `서울·부산`.
//! - Han and Kana have no blanks between words. Each pair of adjacent characters is a token, even across the two scripts,
//!   because words often mix them (`食べる`, `消しゴム`); a single character is a token itself. [`letters`] returns the
//!   characters of a pair, by which a search for one character finds it.
//! - A token has 1 to [`LENGTH_MAX`] characters; a longer word is cut, so the same word in a search still finds it. No
//!   token has white space or control characters, and each has a letter or a digit.
//!
//! Source: UAX #29, *Unicode Text Segmentation*, section 4; UAX #15, *Unicode Normalization Forms*.

use std::collections::HashSet;
use std::iter;

use unicode_normalization::UnicodeNormalization as _;
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

/// Returns the characters of a token that is a pair of Han and Kana characters; none for another token.
///
/// ```
/// use tidings_text::tokens::letters;
///
/// assert_eq!(letters("図書").collect::<String>(), "図書");
/// assert_eq!(letters("책").count(), 0);
/// ```
pub fn letters(token: &str) -> impl Iterator<Item = char> {
    token.chars().take_while(|c| han::is_han_or_kana(*c)).filter(|c| c.len_utf8() < token.len())
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

/// Returns a whole search as one term: NFC, lower case, full-width characters as plain ones, one blank for each run of white
/// space, none at the ends.
///
/// ```
/// use tidings_text::tokens::normalise_term;
///
/// assert_eq!(normalise_term(" The  Rust\tbook "), "the rust book");
/// ```
pub fn normalise_term(text: &str) -> String {
    let text = compose(text);
    let mut lower = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Its lower case would be two characters.
            'İ' => lower.push('i'),
            '\u{ff01}'..='\u{ffef}' => lower.extend(iter::once(c).nfkc().flat_map(char::to_lowercase)),
            c => lower.extend(c.to_lowercase()),
        }
    }
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
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphanumeric() && bytes[at].is_ascii() && bytes[at] != b'_' {
            at += 1;
            continue;
        }
        let start = at;
        let mut is_simple = true;
        while at < bytes.len() {
            if !bytes[at].is_ascii_alphanumeric() {
                if bytes[at].is_ascii() && bytes[at] != b'_' && !joins(bytes, at) {
                    break;
                }
                is_simple = false;
            }
            at += 1;
        }
        let end = at + symbols(bytes, at);
        if is_simple && end == at {
            simple(&text[start..at], take);
        } else {
            named(&text[start..end], end - at, take);
        }
        at = end;
    }
}

/// Returns the number of signs at `at`, after a word, that belong to it: those of `c++` and `c#`, but not those of `a+b`.
pub(crate) fn symbols(text: &[u8], at: usize) -> usize {
    let length = match text[at..] {
        [b'+', b'+', ..] => 2,
        [b'+' | b'#', ..] => 1,
        _ => return 0,
    };
    let is_name = text[at - 1].is_ascii_alphabetic();
    let ends = match text.get(at + length) {
        Some(b'0'..=b'9') => length == 2,
        Some(after) => !after.is_ascii_alphabetic() && !matches!(after, b'+' | b'#' | b'_'),
        None => true,
    };
    if is_name && ends { length } else { 0 }
}

/// Returns whether the byte at `at`, which is not the first, joins its neighbours into one word: WB6, WB7, WB11 and
/// WB12 of UAX #29, for ASCII neighbours only, and `&` as in `r&d`. Next to Hangul it separates words.
fn joins(bytes: &[u8], at: usize) -> bool {
    let Some(after) = bytes.get(at + 1) else { return false };
    let before = bytes[at - 1];
    match bytes[at] {
        b'\'' | b'.' | b'&' if before.is_ascii_alphabetic() => after.is_ascii_alphabetic(),
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
        segments(words, take);
        let (run, more) = han::split_after_run(more);
        han::pairs(run, take);
        rest = more;
    }
}

/// Passes the words of a text without Han and Kana to `take`.
fn segments(text: &str, take: &mut impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut segments = text.unicode_word_indices().peekable();
    while let Some((start, segment)) = segments.next() {
        let mut end = start + segment.len();
        while bytes.get(end) == Some(&b'&')
            && joins(bytes, end)
            && let Some((_, joined)) = segments.next_if(|(next, _)| *next == end + 1)
        {
            end += 1 + joined.len();
        }
        let symbols = symbols(bytes, end);
        parts(&text[start..end + symbols], symbols, take);
    }
}

/// Splits a word of UAX #29, with signs after it, at colons, and at punctuation next to Hangul syllables.
fn parts(segment: &str, symbols: usize, take: &mut impl FnMut(&str)) {
    let mut start = 0;
    let mut before = None;
    for (at, c) in segment[..segment.len() - symbols].char_indices() {
        let next = at + c.len_utf8();
        let korean = || before.into_iter().chain(segment[next..].chars().next()).any(hangul::is_syllable);
        if c == ':' || matches!(c, '.' | '\'' | '·' | '‧') && korean() {
            word(&segment[start..at], take);
            start = next;
        }
        before = Some(c);
    }
    named(&segment[start..], symbols, take);
}

/// Passes a word with so many signs at its end to `take`, then the word without them.
fn named(name: &str, symbols: usize, take: &mut impl FnMut(&str)) {
    let start = name.len() - symbols;
    if symbols > 0 && name.len() <= LENGTH_MAX {
        take(name.trim_start_matches(|c| !bears(c)));
    }
    word(&name[..start], take);
}

/// Passes a word of ASCII letters and digits to `take`.
fn simple(word: &str, take: &mut impl FnMut(&str)) {
    take_unless_stop(&word[..word.len().min(LENGTH_MAX)], take);
}

/// Passes a word to `take`, its stems if it ends with a Korean particle, and its parts if it is a compound.
fn word(word: &str, take: &mut impl FnMut(&str)) {
    let word = trim(word);
    if word.is_empty() || stop_words::is_stop(word) {
        return;
    }
    take(word);
    let mut stem = word;
    if !word.is_ascii() {
        for shorter in hangul::stems(word) {
            stem = trim(shorter);
            take_unless_stop(stem, take);
        }
    }
    compound(stem, take);
}

/// What divides the parts of a compound, the outer parts first.
const DIVIDERS: [&[char]; 3] = [&['.', '\'', '·', '‧'], &['&'], &['_', '‿', '⁀', '⁔']];

/// Passes the parts of a compound to `take`, and the parts of these.
fn compound(compound: &str, take: &mut impl FnMut(&str)) {
    // Most words are of ASCII letters and digits, or of Hangul, whose characters begin with these bytes.
    let is_simple = compound.bytes().all(|b| b.is_ascii_alphanumeric())
        || compound.bytes().all(|b| matches!(b, 0x80..=0xbf | 0xea..=0xed));
    if is_simple || by_script(compound, take) {
        return;
    }
    for (outer, dividers) in DIVIDERS.into_iter().enumerate() {
        // Of `p.m` and `l'école`, a single letter says nothing.
        let mut part = |part: &str| {
            if outer > 0 || part.chars().nth(1).is_some() {
                word(part, take);
            }
        };
        let mut start = 0;
        for (at, c) in compound.char_indices().filter(|(_, c)| dividers.contains(c)) {
            if !is_point(compound, at) {
                part(&compound[start..at]);
                start = at + c.len_utf8();
            }
        }
        if start > 0 {
            return part(&compound[start..]);
        }
    }
}

/// Returns whether the character at `at` is a full stop between two digits.
fn is_point(text: &str, at: usize) -> bool {
    let neighbours = [text[..at].chars().next_back(), text[at..].chars().nth(1)];
    text[at..].starts_with('.') && neighbours.into_iter().flatten().all(char::is_numeric)
}

/// Passes the parts of a word in Hangul and in other letters or digits to `take`. Returns whether it is such a word.
fn by_script(compound: &str, take: &mut impl FnMut(&str)) -> bool {
    if compound.is_ascii() {
        return false;
    }
    let mut part = |start: usize, end: usize| {
        let beside = [compound[..start].chars().next_back(), compound[end..].chars().next()];
        let part = &compound[start..end];
        // A counter says nothing without its number, as in `3월`.
        let is_syllable = part.chars().nth(1).is_none() && part.starts_with(hangul::is_syllable);
        if !is_syllable || !beside.into_iter().flatten().any(char::is_numeric) {
            word(part, take);
        }
    };
    let mut start = 0;
    let mut before = None;
    for (at, c) in compound.char_indices() {
        let is_hangul = hangul::is_hangul(c);
        if before.replace(is_hangul).is_some_and(|before| before != is_hangul) {
            part(start, at);
            start = at;
        }
    }
    if start > 0 {
        part(start, compound.len());
    }
    start > 0
}

fn take_unless_stop(word: &str, take: &mut impl FnMut(&str)) {
    if !word.is_empty() && !stop_words::is_stop(word) {
        take(word);
    }
}

/// Trims `word` to its first and last letter or digit with its marks, cuts it to [`LENGTH_MAX`], and removes a final
/// `'s`.
fn trim(word: &str) -> &str {
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

/// Returns whether a word can begin and end with `c`.
fn bears(c: char) -> bool {
    // The first two conditions avoid the Unicode tables for most words.
    c.is_ascii_alphanumeric() || hangul::is_syllable(c) || c.is_alphanumeric() && !is_combining_mark(c)
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
            ["node.js", "node", "js", "c++", "c", "snake_case", "snake", "case", "3.14", "1,000"]
        );
        assert_eq!(
            tokens("_it_ __init__ e-mail std::vec note:this"),
            ["init", "e", "mail", "std", "vec", "note"]
        );
        assert_eq!(tokens("C and R"), ["c", "r"]);
    }

    #[test]
    fn typographic_apostrophes_are_folded_and_the_possessive_is_removed() {
        assert_eq!(
            tokens("Rust's café’s students' O’Reilly"),
            ["rust", "cafe", "students", "o'reilly", "reilly"]
        );
        assert!(tokens("don't don’t DON＇T it's That’s").is_empty());
        assert_eq!(tokens("‘quoted’ 'words'"), ["quoted", "words"]);
    }

    #[test]
    fn compatibility_forms_are_the_same_token() {
        assert_eq!(tokens("Ｒｕｓｔ ﬁne ｶﾞｲﾄﾞ cafe\u{301}"), ["rust", "fine", "ガイ", "イド", "cafe"]);
    }

    #[test]
    fn a_hangul_word_is_followed_by_its_stems() {
        assert_eq!(tokens("학교에서는 밥을 먹는다"), ["학교에서는", "학교에서", "학교", "밥을", "먹는다"]);
        assert_eq!(
            tokens("Rust를 2026년에 the는"),
            ["rust를", "rust", "2026년에", "2026년", "2026", "the는"]
        );
    }

    #[test]
    fn punctuation_next_to_hangul_separates_words() {
        assert_eq!(tokens("서울·부산ㆍ대구"), ["서울", "부산", "대구"]);
        assert_eq!(
            tokens("‘러스트’는 했다.그리고 3.1운동"),
            ["러스트", "는", "했다", "그리고", "3.1운동", "3.1", "운동"]
        );
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
        assert_eq!(tokens(&"й".repeat(64)), ["й".repeat(64)]);
        assert_eq!(tokens(&"й".repeat(65)), ["й".repeat(64)]);
        assert_eq!(tokens(&format!("{}'s", "a".repeat(64))), ["a".repeat(64)]);
        assert_eq!(tokens(&format!("{}'sx", "a".repeat(62))), ["a".repeat(62)]);
        assert_eq!(tokens(&format!("{}++", "a".repeat(63))), ["a".repeat(63)]);
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
    fn a_compound_is_followed_by_its_parts() {
        for (text, expected) in [
            ("AI반도체를", "ai반도체를 ai반도체 ai 반도체"),
            ("3D프린터 K팝", "3d프린터 3d 프린터 k팝 k 팝"),
            ("제2학기 3월", "제2학기 2 학기 3월 3"),
            ("crm.action_log", "crm.action_log crm action_log action log"),
            ("www.uni.example", "www.uni.example www uni example"),
            ("img_data_ttl __init__", "img_data_ttl img data ttl init"),
            ("AI·SW l'École p.m.", "ai·sw ai sw l'ecole ecole p.m"),
            ("R&D센터 at&t", "r&d센터 r&d r d 센터 at&t t"),
            ("v2.1_beta 2026.03.01", "v2.1_beta v2.1 beta 2026.03.01"),
            ("don't that'll", ""),
        ] {
            assert_eq!(tokens(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn signs_after_a_name_belong_to_it() {
        for (text, expected) in [
            ("C++, C# (F#)", "c++ c c# c f# f"),
            ("Ｃ＋＋", "c++ c"),
            ("C++를 C++17 C++言語", "c++ c 를 c++ c 17 c++ c 言語"),
            ("Disney+ A+", "disney+ disney a+"),
            ("a+b c++x 1+1 18+ a+++ issue#12 x##", "b c x 1 1 18 issue 12 x"),
            ("+ ++ # .+", ""),
        ] {
            assert_eq!(tokens(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_pair_of_han_and_kana_has_two_letters() {
        let of = |token: &str| letters(token).collect::<String>();
        assert_eq!(
            (of("図書"), of("ラー"), of("茶"), of("책방"), of("ab")),
            ("図書".into(), "ラー".into(), String::new(), String::new(), String::new())
        );
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
        assert_eq!(normalise_term("İstanbul ＣＡＦＥ　ｶﾞ Straße"), "istanbul cafe ガ straße");
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
