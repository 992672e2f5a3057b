//! Han and Kana: scripts without blanks between words.

use unicode_normalization::char::is_combining_mark;

/// `text` is in NFKC.
pub(super) fn split_before_run(text: &str) -> (&str, &str) {
    text.split_at(text.find(is_han_or_kana).unwrap_or(text.len()))
}

/// Includes the marks on the characters.
pub(super) fn split_after_run(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c| !is_han_or_kana(c) && !is_combining_mark(c)).unwrap_or(text.len()))
}

/// `text` is in NFKC. The run includes the marks on the characters.
pub(super) fn is_run(text: &str) -> bool {
    text.starts_with(is_han_or_kana) && split_after_run(text).1.is_empty()
}

/// Passes the pairs of adjacent characters in a run of Han and Kana to `take`, without marks; a single character is passed alone.
pub(super) fn pairs(run: &str, take: &mut impl FnMut(&str)) {
    let mut letters = run.chars().filter(|&c| is_han_or_kana(c));
    let Some(mut left) = letters.next() else { return };
    let mut pair = String::from(left);
    let mut alone = true;
    for right in letters {
        pair.clear();
        pair.extend([left, right]);
        take(&pair);
        (left, alone) = (right, false);
    }
    if alone {
        take(&pair);
    }
}

/// `c` is in NFKC. Source: the Unicode character database (`Scripts.txt`), with the prolonged sound and iteration marks.
pub(super) fn is_han_or_kana(c: char) -> bool {
    match c {
        '\u{4e00}'..='\u{9fff}'
        | '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{30fe}' => true,
        '\u{3005}'..='\u{3007}'
        | '\u{3021}'..='\u{3029}'
        | '\u{3031}'..='\u{3035}'
        | '\u{3038}'..='\u{303c}'
        | '\u{309d}'..='\u{309f}'
        | '\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{1aff0}'..='\u{1b16f}'
        | '\u{20000}'..='\u{3ffff}' => c.is_alphanumeric(), // some of these are unassigned
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_where_another_script_or_a_sign_begins() {
        assert_eq!(split_before_run("rust入門"), ("rust", "入門"));
        assert_eq!(split_after_run("カ\u{309a}ナ・カナ"), ("カ\u{309a}ナ", "・カナ"));
        assert_eq!(split_after_run("々ー〇大学は학교"), ("々ー〇大学は", "학교"));
        assert_eq!(split_after_run("。東"), ("", "。東"));
    }
}
