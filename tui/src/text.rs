//! Text on a screen: in one line, cut and wrapped by the terminal columns that it takes, not by its characters.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::escape;

/// Returns a text in one line: a line break is shown as `⏎`, a tab as a space, and unsafe characters are escaped.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\r', '\t']) {
        return escape::line(text);
    }
    let text = text.replace('\n', "⏎").replace('\t', " ").replace('\r', "");
    Cow::Owned(escape::line(&text).into_owned())
}

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text in exactly so many columns: cut with `…` or filled with blanks, at its end or, where `right`, before it.
pub(crate) fn fit(text: &str, columns: usize, right: bool) -> String {
    let text = line(text);
    let cut = cut(&text, columns);
    let blanks = " ".repeat(columns.saturating_sub(cut.width()));
    if right { blanks + &cut } else { cut.into_owned() + &blanks }
}

/// A text in at most so many columns, cut with `…`.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(1) else { return Cow::Borrowed("") };
    let (mut taken, mut end) = (0, 0);
    for (start, grapheme) in text.grapheme_indices(true) {
        let wide = grapheme.width();
        if taken + wide > room {
            break;
        }
        taken += wide;
        end = start + grapheme.len();
    }
    Cow::Owned(format!("{}…", &text[..end]))
}

/// A text of several lines in lines of at most so many columns, broken at blanks, beside wide characters and, where a
/// word is longer than a line, within it.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    text.split('\n').flat_map(|paragraph| wrap_line(&line(paragraph), columns)).collect()
}

fn wrap_line(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    // Where the present line begins, how wide it is, and behind which byte it may be broken, being then how wide.
    let (mut begin, mut taken, mut broken) = (0, 0, None);
    for (start, grapheme) in text.grapheme_indices(true) {
        let wide = grapheme.width();
        let blank = grapheme == " ";
        // Once at a blank, and where what is behind it is still too much, before this character.
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
    // A single character may be wider than a whole line.
    lines.into_iter().map(|line| cut(&line, columns).into_owned()).collect()
}

/// A number of bytes as people say it: `512 B`, `3.4 MB`.
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
    fn a_text_is_cut_between_whole_characters_and_filled() {
        assert_eq!(fit("library", 7, false), "library");
        assert_eq!(fit("library", 5, false), "libr…");
        assert_eq!(fit("도서관", 6, false), "도서관");
        assert_eq!(fit("도서관", 5, false), "도서…");
        assert_eq!(fit("도서관", 4, false), "도… ");
        assert_eq!(fit("12", 4, true), "  12");
        assert_eq!(fit("12", 0, true), "");
    }

    #[test]
    fn lines_break_at_blanks_beside_wide_characters_and_within_long_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("열람실은열시", 6), ["열람실", "은열시"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("a\n\nb", 9), ["a", "", "b"]);
        assert_eq!(wrap("at 열 시 까지", 7), ["at 열", "시 까지"]);
    }

    #[test]
    fn sizes_have_the_unit_that_people_would_use() {
        let sizes = [0, 999, 1_000, 3_456_789, 123_456_789, u64::MAX].map(bytes);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "3.4 MB", "123 MB", "18446744 TB"]);
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_its_place(text in "\\PC{0,40}|[\u{0}-\u{ff}가-힣👍]{0,40}", columns in 2_usize..30) {
            prop_assert_eq!(width(&fit(&text, columns, false)), columns);
            for line in wrap(&text, columns) {
                prop_assert!(width(&line) <= columns, "{:?}", line);
            }
        }
    }
}
