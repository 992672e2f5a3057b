//! Widths are terminal columns, not characters.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_truncate::UnicodeTruncateStr as _;
use unicode_width::UnicodeWidthStr as _;

use tidings_client::shown::escape;

/// A line break is shown as `⏎`, a tab as a space, and unsafe characters are escaped.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\r', '\t']) {
        return escape::line(text);
    }
    let text = text.replace('\n', "⏎").replace('\t', " ").replace('\r', "");
    Cow::Owned(escape::line(&text).into_owned())
}

pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The result has exactly `columns` columns: it is cut with `…`, or padded with spaces at the end (at the start if `right`).
pub(crate) fn fit(text: &str, columns: usize, right: bool) -> String {
    let text = line(text);
    let cut = cut(&text, columns);
    let blanks = " ".repeat(columns.saturating_sub(cut.width()));
    if right { blanks + &cut } else { cut.into_owned() + &blanks }
}

pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    match columns.checked_sub(1) {
        _ if text.width() <= columns => text.into(),
        None => "".into(),
        Some(room) => format!("{}…", text.unicode_truncate(room).0).into(),
    }
}

pub(crate) fn cut_start(text: &str, columns: usize) -> Cow<'_, str> {
    match columns.checked_sub(1) {
        _ if text.width() <= columns => text.into(),
        None => "".into(),
        Some(room) => format!("…{}", text.unicode_truncate_start(room).0).into(),
    }
}

/// Breaks at spaces, next to wide characters and, if a word is longer than a line, within the word.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    text.split('\n').flat_map(|paragraph| wrap_line(&line(paragraph), columns)).collect()
}

fn wrap_line(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    // Of the current line, and its last possible break: the end there, the start of the next line, and the width up to there.
    let (mut begin, mut taken, mut broken) = (0, 0, None);
    for (start, grapheme) in text.grapheme_indices(true) {
        let wide = grapheme.width();
        let blank = grapheme == " ";
        // Break at the last possible place; if the rest is still too wide, before this character.
        while taken > 0 && taken + wide > columns && !blank {
            let (end, next, before) = match broken.take() {
                Some((end, next, before)) if next > begin => (end, next, before),
                _ => (start, start, taken),
            };
            lines.push(text[begin..end].trim_end().to_owned());
            taken -= before;
            begin = next;
        }
        taken += wide;
        let end = start + grapheme.len();
        if blank {
            broken = Some((start, end, taken));
        } else if wide > 1 {
            broken = Some((end, end, taken));
        }
    }
    lines.push(text[begin..].trim_end().to_owned());
    // A single character can be wider than a line.
    lines.into_iter().map(|line| cut(&line, columns).into_owned()).collect()
}

/// `512 B`, `3.4 MB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let (mut unit, mut whole, mut rest) = (0, n, 0);
    while whole >= 1_000 && unit + 1 < UNITS.len() {
        (whole, rest) = (whole / 1_000, whole % 1_000);
        unit += 1;
    }
    if unit == 0 || whole >= 100 {
        format!("{whole} {}", UNITS[unit])
    } else {
        format!("{whole}.{} {}", rest / 100, UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_characters_are_escaped_and_nothing_else() {
        assert_eq!(line("plain 도서관 👩‍👩‍👧"), "plain 도서관 👩‍👩‍👧");
        assert_eq!(line("a\u{1b}[31mb\u{7}"), "a\\u{1b}[31mb\\u{7}");
        assert_eq!(line("one\r\ntwo\tthree\u{202e}"), "one⏎two three\\u{202e}");
    }

    #[test]
    fn a_text_is_cut_between_graphemes_and_padded() {
        assert_eq!(fit("library", 7, false), "library");
        assert_eq!(fit("library", 5, false), "libr…");
        assert_eq!(fit("도서관", 6, false), "도서관");
        assert_eq!(fit("도서관", 5, false), "도서…");
        assert_eq!(fit("도서관", 4, false), "도… ");
        assert_eq!(fit("12", 4, true), "  12");
        assert_eq!(fit("12", 0, true), "");
    }

    #[test]
    fn the_end_of_a_path_is_kept() {
        assert_eq!(cut_start("/srv/campus.db", 14), "/srv/campus.db");
        assert_eq!(cut_start("/srv/campus.db", 10), "…campus.db");
        assert_eq!(cut_start("/srv/도서관", 6), "…서관");
        assert_eq!(cut_start("/srv", 0), "");
    }

    #[test]
    fn lines_break_at_spaces_next_to_wide_characters_and_within_long_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("열람실은열시", 6), ["열람실", "은열시"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("a\n\nb", 9), ["a", "", "b"]);
        assert_eq!(wrap("at 열 시 까지", 7), ["at 열", "시 까지"]);
    }

    #[test]
    fn sizes_have_units() {
        let sizes = [0, 999, 1_000, 3_456_789, 123_456_789, u64::MAX].map(bytes);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "3.4 MB", "123 MB", "18446744 TB"]);
    }

    proptest! {
        #[test]
        fn fitted_and_wrapped_text_is_never_too_wide(text in "\\PC{0,40}|[\u{0}-\u{ff}가-힣👍]{0,40}", columns in 2_usize..30) {
            prop_assert_eq!(width(&fit(&text, columns, false)), columns);
            for line in wrap(&text, columns) {
                prop_assert!(width(&line) <= columns, "{:?}", line);
            }
        }
    }
}
