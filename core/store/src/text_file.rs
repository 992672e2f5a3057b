//! Text files, which some editors begin with a byte order mark.

use std::io::{self, BufRead, Chain, Cursor, Read as _};
use std::path::Path;

const MARK: &[u8] = "\u{feff}".as_bytes();

/// Returns a text without a byte order mark at its beginning.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Reads a file as text, without a byte order mark at its beginning.
///
/// # Errors
/// When the file cannot be read, or is not UTF-8.
pub fn read(path: &Path) -> io::Result<String> {
    let text = std::fs::read_to_string(path)?;
    Ok(if without_mark(&text).len() == text.len() { text } else { without_mark(&text).to_owned() })
}

/// Returns an input without a byte order mark at its beginning.
///
/// # Errors
/// When it cannot be read.
pub fn skip_mark<R: BufRead>(mut input: R) -> io::Result<Chain<Cursor<Vec<u8>>, R>> {
    let mut head = Vec::new();
    input.by_ref().take(MARK.len() as u64).read_to_end(&mut head)?;
    if head == MARK {
        head.clear();
    }
    Ok(Cursor::new(head).chain(input))
}

/// Returns the lines of a text, which end with LF, CR LF or CR.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    without_mark(text).split(['\n', '\r']).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_skipped_only_at_the_beginning() {
        for (text, read) in [
            ("\u{feff}one\u{feff}", "one\u{feff}"),
            ("one", "one"),
            ("\u{feff}", ""),
            ("", ""),
            ("a\u{feff}", "a\u{feff}"),
        ] {
            assert_eq!(without_mark(text), read);
            let input = skip_mark(io::BufReader::with_capacity(1, text.as_bytes())).unwrap();
            assert_eq!(io::read_to_string(input).unwrap(), read);
        }
    }

    #[test]
    fn lines_end_with_any_line_break() {
        for text in ["one\ntwo\n", "\u{feff}one\r\ntwo", "one\rtwo\r", "\n\none\n\ntwo"] {
            assert_eq!(lines(text).collect::<Vec<_>>(), ["one", "two"], "{text:?}");
        }
    }
}
