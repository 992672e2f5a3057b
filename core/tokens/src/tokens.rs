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

/// In characters.
pub const LENGTH_MAX: usize = 64;

/// Returns the tokens of `text` in order, including repetitions.
///
/// ```
/// use tidings_tokens::tokens::tokens;
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

/// The characters of a pair of Han and Kana; none for another token.
pub fn letters(token: &str) -> impl Iterator<Item = char> {
    token.chars().take_while(|c| han::is_han_or_kana(*c)).filter(|c| c.len_utf8() < token.len())
}

/// In the order of the first occurrences.
pub fn distinct(mut tokens: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let first: Vec<bool> = tokens.iter().map(|token| seen.insert(token.as_str())).collect();
    let mut first = first.into_iter();
    tokens.retain(|_| first.next() == Some(true));
    tokens
}

/// Splits a search at its white space; the parts are in NFC and otherwise unchanged.
pub fn split(text: &str) -> Vec<String> {
    compose(text).split_whitespace().map(str::to_owned).collect()
}

/// Returns a whole search as one term: NFC, lower case, full-width characters as plain ones, one blank for each run of white
/// space, none at the ends.
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

/// The words of [`general`], without Unicode tables, for a text of lower-case ASCII and Hangul syllables. A byte beyond ASCII
/// belongs to a syllable, so it is a letter.
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

/// The number of signs at `at`, after a word, that belong to it: those of `c++` and `c#`, but not those of `a+b`.
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

/// The byte at `at`, which is not the first, joins its neighbours into one word: WB6, WB7, WB11 and WB12 of UAX #29, for ASCII
/// neighbours only, and `&` as in `r&d`. Next to Hangul it separates words.
fn joins(bytes: &[u8], at: usize) -> bool {
    let Some(after) = bytes.get(at + 1) else { return false };
    let before = bytes[at - 1];
    match bytes[at] {
        b'\'' | b'.' | b'&' if before.is_ascii_alphabetic() => after.is_ascii_alphabetic(),
        b'\'' | b'.' | b',' | b';' if before.is_ascii_digit() => after.is_ascii_digit(),
        _ => false,
    }
}

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

/// `text` has no Han and Kana.
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

/// The word has this many signs at its end. Passes it with and then without them.
fn named(name: &str, symbols: usize, take: &mut impl FnMut(&str)) {
    let start = name.len() - symbols;
    if symbols > 0 && name.len() <= LENGTH_MAX {
        take(name.trim_start_matches(|c| !bears(c)));
    }
    word(&name[..start], take);
}

fn simple(word: &str, take: &mut impl FnMut(&str)) {
    take_unless_stop(&word[..word.len().min(LENGTH_MAX)], take);
}

/// Also passes the stems of a word that ends with a Korean particle, and the parts of a compound.
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

/// The outer separators first.
const DIVIDERS: [&[char]; 3] = [&['.', '\'', '·', '‧'], &['&'], &['_', '‿', '⁀', '⁔']];

/// Also passes the parts of these parts.
fn compound(compound: &str, take: &mut impl FnMut(&str)) {
    // Most words are of ASCII letters and digits, or of Hangul, whose characters begin with these bytes.
    let is_simple = compound.bytes().all(|b| b.is_ascii_alphanumeric())
        || compound.bytes().all(|b| matches!(b, 0x80..=0xbf | 0xea..=0xed));
    if is_simple || by_script(compound, take) {
        return;
    }
    for (outer, dividers) in DIVIDERS.into_iter().enumerate() {
        // A single letter of `p.m` and `l'école` has no meaning.
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

/// The character at `at` is a full stop between two digits.
fn is_point(text: &str, at: usize) -> bool {
    let neighbours = [text[..at].chars().next_back(), text[at..].chars().nth(1)];
    text[at..].starts_with('.') && neighbours.into_iter().flatten().all(char::is_numeric)
}

/// The parts are in Hangul and in other letters or digits. Returns whether the word has both.
fn by_script(compound: &str, take: &mut impl FnMut(&str)) -> bool {
    if compound.is_ascii() {
        return false;
    }
    let mut part = |start: usize, end: usize| {
        let beside = [compound[..start].chars().next_back(), compound[end..].chars().next()];
        let part = &compound[start..end];
        // A counter has no meaning without its number, as in `3월`.
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

/// Trims `word` to its first and last letter or digit with its marks, cuts it to [`LENGTH_MAX`], and removes a final `'s`.
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

/// A word can begin and end with `c`.
fn bears(c: char) -> bool {
    // The first two conditions avoid the Unicode tables for most words.
    c.is_ascii_alphanumeric() || hangul::is_syllable(c) || c.is_alphanumeric() && !is_combining_mark(c)
}

#[cfg(test)]
mod tests;
