//! Texts that others wrote, made fit for a terminal: what would move its cursor, change its colours or turn its
//! lines around is shown as an escape instead.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A text on one line.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_unfit)
}

/// A text that may have several lines.
pub(crate) fn block(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && is_unfit(c))
}

/// Control characters, separators of lines, and what embeds or overrides the direction of text.
fn is_unfit(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, unfit: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&unfit) {
        return Cow::Borrowed(text);
    }
    let mut fit = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' if unfit(c) => fit.push_str("\\n"),
            '\r' => fit.push_str("\\r"),
            '\t' => fit.push_str("\\t"),
            c if unfit(c) => {
                // A text takes all that is written to it.
                let _ = write!(fit, "\\u{{{:x}}}", u32::from(c));
            }
            c => fit.push(c),
        }
    }
    Cow::Owned(fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_or_turns_lines_around_is_shown_as_an_escape() {
        assert_eq!(line("a\u{1b}[31mred\u{7}"), "a\\u{1b}[31mred\\u{7}");
        assert_eq!(line("one\ntwo\r\tthree\u{9b}"), "one\\ntwo\\r\\tthree\\u{9b}");
        assert_eq!(line("a\u{202e}b\u{2066}c\u{2028}d"), "a\\u{202e}b\\u{2066}c\\u{2028}d");
        assert_eq!(block("one\ntwo\r\u{1b}"), "one\ntwo\\r\\u{1b}");
    }

    #[test]
    fn what_is_fit_stays_as_it_is() {
        for text in ["", "\"quoted\" \\n", "한국어 日本語", "👩‍👩‍👧 🇰🇷", "שלום"] {
            assert!(matches!(line(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }
}
