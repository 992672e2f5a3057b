//! The rules for texts of several modules: normalization, length, control characters and visible characters.
//!
//! Texts are stored in NFC, so equal letters are equal texts no matter how they were typed. Lengths are in characters
//! of that form. A text that breaks its rule is refused, never repaired.

use tidings_tokens::compose;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::base::config::Bounds;

pub(crate) mod shown;

/// At most this many bytes compose to one character: it decomposes to at most four characters of at most four bytes. Longer texts
/// are refused without reading their characters.
const COMPOSED_FROM_BYTES: usize = 16;

/// A [`line()`] without characters that nobody can see, or that reorder others ([`shown`]).
pub(crate) fn name(text: &str, bounds: Bounds) -> Option<String> {
    line(text, bounds).filter(|text| shown::is_shown(text))
}

/// Returns the stored form. Returns `None` if its length is out of bounds, it contains a control character, or it has no visible
/// character although an empty text is not allowed.
pub(crate) fn line(text: &str, bounds: Bounds) -> Option<String> {
    checked(text, bounds, |c| !c.is_control())
}

/// Like [`line()`], but tabs and line breaks are allowed.
pub(crate) fn block(text: &str, bounds: Bounds) -> Option<String> {
    checked(text, bounds, |c| !c.is_control() || matches!(c, '\t' | '\n' | '\r'))
}

fn checked(text: &str, bounds: Bounds, allowed: impl Fn(char) -> bool) -> Option<String> {
    if text.len() > bounds.max.saturating_mul(COMPOSED_FROM_BYTES) {
        return None;
    }
    let text = compose(text);
    let keeps = bounds.hold(&text)
        && text.chars().all(allowed)
        && (bounds.min == 0 || text.chars().any(shown::is_visible));
    keeps.then(|| text.into_owned())
}

/// Shortens the line as by [`shortened`]; it may be empty.
pub(crate) fn visible_line(text: &str, max: usize) -> String {
    let line = shown::only_shown(&compose(&text.split_whitespace().collect::<Vec<_>>().join(" ")));
    if line.chars().any(shown::is_visible) { shortened(line, max) } else { String::new() }
}

/// Marks a text of more than `max` characters as shortened: after a word if it has blanks, otherwise before a character as
/// readers see it, which may be several.
pub(crate) fn shortened(mut text: String, max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max) else { return text };
    let last = text[..end].char_indices().next_back().map_or(0, |(at, _)| at);
    let end = text[..last].rfind(char::is_whitespace).filter(|at| *at > last / 2).unwrap_or_else(|| {
        text.grapheme_indices(true).map(|(at, _)| at).take_while(|at| *at <= last).last().unwrap_or(last)
    });
    text.truncate(end);
    text.truncate(text.trim_end().len());
    text.push('…');
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization as _;

    use super::*;

    const ONE_TO_FIVE: Bounds = Bounds { min: 1, max: 5 };
    const UP_TO_FIVE: Bounds = Bounds { min: 0, max: 5 };

    #[test]
    fn lengths_are_in_characters_of_the_composed_form() {
        assert_eq!(line("e\u{301}", ONE_TO_FIVE).as_deref(), Some("é"));
        assert_eq!(line(&"e\u{301}".repeat(5), ONE_TO_FIVE), Some("é".repeat(5)));
        assert_eq!(line("\u{1112}\u{1161}\u{11ab}", ONE_TO_FIVE).as_deref(), Some("한"));
        assert_eq!(line("🦀🦀🦀🦀🦀", ONE_TO_FIVE).as_deref(), Some("🦀🦀🦀🦀🦀"));
        assert_eq!(line("🦀🦀🦀🦀🦀🦀", ONE_TO_FIVE), None);
        // The NFC of U+FB2C has three characters.
        assert_eq!(line("\u{fb2c}\u{fb2c}", ONE_TO_FIVE), None);
    }

    #[test]
    fn texts_are_not_trimmed_and_blank_texts_are_refused() {
        assert_eq!(line(" a ", ONE_TO_FIVE).as_deref(), Some(" a "));
        for blank in ["", " ", "\u{3000}", "\u{2003} \u{a0}"] {
            assert_eq!(line(blank, ONE_TO_FIVE), None, "{blank:?}");
            assert_eq!(block(blank, ONE_TO_FIVE), None, "{blank:?}");
            assert_eq!(line(blank, UP_TO_FIVE).as_deref(), Some(blank), "{blank:?}");
        }
        assert_eq!(block("\n\t\r\n", ONE_TO_FIVE), None);
    }

    #[test]
    fn a_text_that_nobody_can_see_is_refused_and_a_name_has_visible_characters_only() {
        for invisible in
            ["\u{200b}", "\u{202e} ", "\u{feff}\u{ad}", "\u{2800}", "\u{3164}", "\u{301}", "\u{e0061}"]
        {
            assert_eq!(line(invisible, ONE_TO_FIVE), None, "{invisible:?}");
            assert_eq!(block(invisible, ONE_TO_FIVE), None, "{invisible:?}");
        }
        for text in ["so\u{ad}ft", "a\u{200f}", "\u{feff}a", "👍\u{fe0f}"] {
            assert_eq!(line(text, ONE_TO_FIVE).as_deref(), Some(text), "a text may have some");
        }
        assert_eq!(name("a\u{202e}b", ONE_TO_FIVE), None);
        assert_eq!(name("❤\u{fe0f}", ONE_TO_FIVE).as_deref(), Some("❤\u{fe0f}"));
    }

    #[test]
    fn only_a_block_may_have_tabs_and_line_breaks_and_no_other_controls() {
        for text in ["a\tb", "a\nb", "a\r\nb"] {
            assert_eq!(block(text, ONE_TO_FIVE).as_deref(), Some(text));
            assert_eq!(line(text, ONE_TO_FIVE), None, "{text:?}");
        }
        for text in ["a\0", "a\u{1b}[1m", "a\u{7f}", "a\u{85}", "\u{8}"] {
            assert_eq!(block(text, ONE_TO_FIVE), None, "{text:?}");
            assert_eq!(line(text, ONE_TO_FIVE), None, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_is_shortened_after_a_word_or_a_visible_character() {
        assert_eq!(shortened("x".repeat(300), 300), "x".repeat(300));
        assert_eq!(shortened("x".repeat(301), 300), format!("{}…", "x".repeat(299)));
        assert_eq!(shortened("도".repeat(301), 300), format!("{}…", "도".repeat(299)));
        assert_eq!(shortened("word ".repeat(300), 300), format!("{} word…", ["word"; 58].join(" ")));
        assert_eq!(shortened("🇰🇷".repeat(4), 6), "🇰🇷🇰🇷…");
    }

    proptest! {
        #[test]
        fn stored_forms_follow_the_rules_and_stay_the_same(text: String) {
            let bounds = Bounds { min: 1, max: 30 };
            if let Some(kept) = block(&text, bounds) {
                prop_assert!(bounds.hold(&kept) && !kept.contains('\0'));
                prop_assert_eq!(block(&kept, bounds), Some(kept.clone()));
                prop_assert_eq!(kept, text.nfc().collect::<String>());
            }
            if let Some(kept) = line(&text, bounds) {
                prop_assert!(!kept.contains(char::is_control));
                prop_assert_eq!(block(&text, bounds), Some(kept));
            }
        }
    }
}
