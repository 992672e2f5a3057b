//! Text on a terminal: what others wrote is shown with its control characters escaped, and cut and wrapped by the
//! columns that it takes, not by its characters.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Whether a terminal would act on a character rather than show it, or show others in another order.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A text in one line: control characters are written as `\u{1b}`, a line break as `⏎`, a tab as a blank.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => shown.push('⏎'),
            '\t' => shown.push(' '),
            '\r' => {}
            c if is_control(c) => push_escaped(&mut shown, c),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn push_escaped(shown: &mut String, c: char) {
    // A text takes all that is written to it.
    let _ = write!(shown, "{}", c.escape_unicode());
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

/// A number with its thousands apart: `1,234,567`.
pub(crate) fn number(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut shown = String::with_capacity(digits.len() * 4 / 3 + 1);
    if n < 0 {
        shown.push('-');
    }
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
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

/// One of something, or several: `1 view`, `3 views`.
pub(crate) fn count(n: i64, one: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {one}{plural}", number(n))
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
    fn numbers_and_sizes_are_as_people_write_them() {
        let numbers = [0, 999, 1_000, -1_234_567].map(number);
        assert_eq!(numbers, ["0", "999", "1,000", "-1,234,567"]);
        let sizes = [0, 999, 1_000, 3_456_789, 123_456_789, u64::MAX].map(bytes);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "3.4 MB", "123 MB", "18446744 TB"]);
        assert_eq!((count(1, "view"), count(2, "view")), ("1 view".to_owned(), "2 views".to_owned()));
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
