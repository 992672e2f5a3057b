//! Escaping of untrusted text for a terminal: a character that would move the cursor, change colours, reorder a line or be
//! invisible is printed as an escape such as `\u{1b}`.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns a text as one line: line breaks and tabs are escaped too.
///
/// ```
/// assert_eq!(tidings_client::shown::escape::line("red\u{1b}[31m\n"), "red\\u{1b}[31m\\n");
/// ```
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe)
}

/// Returns a text that may have several lines: line breaks stay, everything else is escaped as in [`line()`].
pub fn block(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && is_unsafe(c))
}

/// Returns JSON with every character that [`line()`] would escape as an escape of JSON, such as `\u009b`. The values are the same:
/// such a character is always part of a text. Bytes that are no UTF-8 stay.
///
/// ```
/// assert_eq!(&*tidings_client::shown::escape::json("{\"a\":\"\u{9b}\"}".as_bytes()), br#"{"a":"\u009b"}"#);
/// ```
pub fn json(json: &[u8]) -> Cow<'_, [u8]> {
    // A control character of ASCII is between values; in a text, JSON has an escape for it already.
    let is_escaped = |c: char| c == '\u{7f}' || (!c.is_ascii() && is_unsafe(c));
    let is_safe = |text: &str| !text.contains(is_escaped);
    if json.utf8_chunks().all(|chunk| is_safe(chunk.valid())) {
        return Cow::Borrowed(json);
    }
    let mut safe = Vec::with_capacity(json.len() + 8);
    for chunk in json.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_escaped(c) {
                safe.extend(format!("\\u{:04x}", u32::from(c)).bytes());
            } else {
                safe.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        safe.extend_from_slice(chunk.invalid());
    }
    Cow::Owned(safe)
}

/// Control characters, line separators, marks that change the direction of text (Unicode's `Bidi_Control`), and byte order marks.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
        )
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if !is_escaped(c) => safe.push(c),
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c => {
                // Writing to a string cannot fail.
                let _ = write!(safe, "{}", c.escape_unicode());
            }
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_invisible_and_direction_changing_characters_are_escaped() {
        for (text, escaped) in [
            ("a\u{1b}[31mred\u{7}", "a\\u{1b}[31mred\\u{7}"),
            ("two\r\tthree\u{9b}", "two\\r\\tthree\\u{9b}"),
            ("\u{61c}\u{200e}\u{200f}\u{2028}", "\\u{61c}\\u{200e}\\u{200f}\\u{2028}"),
            ("\u{2029}\u{202a}\u{202e}", "\\u{2029}\\u{202a}\\u{202e}"),
            ("\u{2066}\u{2069}\u{feff}", "\\u{2066}\\u{2069}\\u{feff}"),
        ] {
            assert_eq!((&*line(text), &*block(text)), (escaped, escaped));
        }
        assert_eq!((&*line("one\ntwo"), &*block("one\ntwo")), ("one\\ntwo", "one\ntwo"));
        for text in ["", "\"quoted\" \\n", "한국어 日本語", "👩‍👩‍👧 🇰🇷", "שלום"] {
            assert!(matches!(line(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }

    #[test]
    fn json_keeps_its_value_without_unsafe_characters() {
        let text =
            "a\u{1b}\u{7f}\u{80}\u{9b}31m\u{9f}\u{61c}\u{200e}\u{2028}\u{202e}\u{2066}\u{feff}\n\"\\도서관👍";
        let value = serde_json::json!({ text: [text], "n": 1 });
        for written in [serde_json::to_vec(&value).unwrap(), serde_json::to_vec_pretty(&value).unwrap()] {
            let safe = json(&written).into_owned();
            assert_eq!(serde_json::from_slice::<serde_json::Value>(&safe).unwrap(), value);
            let safe = String::from_utf8(safe).unwrap();
            assert!(!safe.contains(|c| c != '\n' && is_unsafe(c)), "{safe:?}");
            assert!(safe.contains("도서관👍") && safe.contains("\\u007f\\u0080\\u009b31m"), "{safe}");
        }
        for same in [&b"{\"a\":\"\\u001b\"}\n"[..], "[\"한국어\"]".as_bytes(), b"\xff\xe2\x80", b""] {
            assert!(matches!(json(same), Cow::Borrowed(_)), "{same:?}");
        }
        assert_eq!(&*json(b"\xff\x7f"), b"\xff\\u007f");
    }
}
