//! The text of a file in an encoding that its first bytes, its media type or its XML declaration name.
//!
//! Source: Encoding Standard, <https://encoding.spec.whatwg.org/>, whose labels are the names of encodings on the web.

use std::borrow::Cow;

use encoding_rs::{EUC_KR, Encoding, GBK, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Maximum distance of the end of an XML declaration from the start of a file, in bytes.
const DECLARATION_MAX: usize = 64 << 10;

/// Returns the text of a file, with LF line ends, and a warning if some bytes had no meaning in its encoding.
///
/// As in browsers, a byte order mark wins over the media type's charset, which wins over the XML declaration. A name that
/// cannot be right (UTF-16 for bytes that are not, or an encoding in which UTF-8 has no meaning) is ignored.
pub(crate) fn decode<'b>(bytes: &'b [u8], charset: Option<&str>) -> (Cow<'b, str>, Option<String>) {
    let is_possible = |found: &&Encoding| *found != UTF_16LE && *found != UTF_16BE;
    let named = |label: &str| encoding(label).filter(is_possible);
    let by_name = || charset.and_then(named).or_else(|| declared(bytes).and_then(|label| named(&label)));
    let by_bytes = Encoding::for_bom(bytes).or_else(|| without_mark(bytes));
    let (encoding, begin) = by_bytes.unwrap_or_else(|| (by_name().unwrap_or(UTF_8), 0));
    let (text, warning) = decode_as(encoding, &bytes[begin..]);
    if text.contains('\r') {
        (text.replace("\r\n", "\n").replace('\r', "\n").into(), warning)
    } else {
        (text, warning)
    }
}

/// Recognises UTF-16 by its first character, which in XML is `<`.
fn without_mark(bytes: &[u8]) -> Option<(&'static Encoding, usize)> {
    match bytes {
        [b'<', 0, ..] => Some((UTF_16LE, 0)),
        [0, b'<', ..] => Some((UTF_16BE, 0)),
        _ => None,
    }
}

/// Returns the encoding that a label names. To the labels of the web it adds those of old Korean and Chinese programs.
fn encoding(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label.as_bytes()).or_else(|| {
        let letters: String = label.chars().filter(char::is_ascii_alphanumeric).collect();
        match letters.to_ascii_lowercase().as_str() {
            "cp949" | "ms949" | "xwindows949" | "uhc" | "ksc56011987" | "ksc5601" => Some(EUC_KR),
            "cp936" | "ms936" => Some(GBK),
            "cp932" | "ms932" => Some(SHIFT_JIS),
            other => Encoding::for_label_no_replacement(other.as_bytes()),
        }
    })
}

/// Returns the encoding that an XML declaration at the start names; blank lines may precede it.
fn declared(bytes: &[u8]) -> Option<String> {
    let declaration = bytes.trim_ascii_start().strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.len().min(DECLARATION_MAX)];
    let end = declaration.windows(2).position(|end| end == b"?>")?;
    let text = String::from_utf8_lossy(&declaration[..end]);
    let value = text.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    Some(value[1..].split(quote).next()?.to_owned())
}

fn decode_as<'b>(named: &'static Encoding, bytes: &'b [u8]) -> (Cow<'b, str>, Option<String>) {
    if named == UTF_8 {
        return utf8(bytes);
    }
    let (text, is_faulty) = named.decode_without_bom_handling(bytes);
    // Text in another encoding is almost never UTF-8 by chance, but files often have the wrong name.
    if is_faulty || named == WINDOWS_1252 {
        let utf8 = String::from_utf8_lossy(bytes);
        let (valid, invalid) = outside_ascii(&utf8);
        if valid > 10 * invalid {
            let warning = (invalid > 0).then(|| replaced(&utf8, "UTF-8"));
            return (utf8, warning);
        }
    }
    let warning = is_faulty.then(|| replaced(&text, named.name()));
    (text, warning)
}

/// Decodes UTF-8. A file with more faults than characters outside ASCII is in the encoding of Western Europe.
fn utf8(bytes: &[u8]) -> (Cow<'_, str>, Option<String>) {
    let text = String::from_utf8_lossy(bytes);
    let Cow::Owned(_) = text else { return (text, None) };
    let (valid, invalid) = outside_ascii(&text);
    if valid >= invalid {
        let warning = replaced(&text, "UTF-8");
        return (text, Some(warning));
    }
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
    (text, Some("it is not UTF-8, and was read as windows-1252".to_owned()))
}

/// Returns the numbers of valid characters outside ASCII and of faults.
fn outside_ascii(text: &str) -> (usize, usize) {
    let invalid = text.matches(char::REPLACEMENT_CHARACTER).count();
    (text.chars().filter(|c| !c.is_ascii()).count() - invalid, invalid)
}

/// Returns what a text was before a program took its UTF-8 for the encoding of Western Europe and encoded it again, as many do:
/// `Ã©` was `é`.
pub(crate) fn undoubled(text: String) -> String {
    let bytes = || text.chars().map(|c| u8::try_from(c).ok()).collect::<Option<Vec<u8>>>();
    let before = if text.is_ascii() { None } else { bytes().and_then(|bytes| String::from_utf8(bytes).ok()) };
    before.unwrap_or(text)
}

fn replaced(text: &str, encoding: &str) -> String {
    let number = text.matches(char::REPLACEMENT_CHARACTER).count();
    let first = text.find(char::REPLACEMENT_CHARACTER).unwrap_or_default();
    let line = 1 + text[..first].matches('\n').count();
    format!("bytes that are not {encoding} were replaced: {number}, the first in line {line}")
}
