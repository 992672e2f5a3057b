//! The text of a file in an encoding that its bytes, its media type or its declaration tell.
//! Source: Encoding Standard, <https://encoding.spec.whatwg.org/>, whose labels are the names of encodings on the web.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{EUC_KR, Encoding, GBK, ISO_2022_JP, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use memchr::memmem;

/// The end of a declaration is within this many bytes of the start of a file.
const DECLARATION_MAX: usize = 64 << 10;

#[derive(Debug)]
pub struct Decoded<'b> {
    /// With LF line ends.
    pub text: Cow<'b, str>,
    pub encoding: &'static Encoding,
    /// For people.
    pub warning: Option<String>,
}

/// `charset` is that of the media type. UTF-16 is recognised by its first bytes, and what has a meaning in UTF-8 is UTF-8: text in
/// another encoding almost never has one by chance. For other bytes, the charset, the declaration and a detector are tried in this
/// order. windows-1252 comes last, because every text has a meaning in it, and because servers add this name to everything.
pub fn decode<'b>(mut bytes: &'b [u8], charset: Option<&str>) -> Decoded<'b> {
    while let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        bytes = rest;
    }
    let reading = match utf16(bytes) {
        Some((encoding, begin)) => Reading::new(encoding, &bytes[begin..]),
        None => Reading::best(bytes, charset),
    };
    let Reading { text, encoding, faults, is_guess, .. } = reading;
    let warning = if is_guess {
        Some(format!("it is not UTF-8, and was read as {}", encoding.name()))
    } else {
        (faults > 0).then(|| replaced(&text, encoding.name()))
    };
    let has_cr = text.contains('\r');
    let text = if has_cr { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text };
    Decoded { text, encoding, warning }
}

struct Reading<'b> {
    text: Cow<'b, str>,
    encoding: &'static Encoding,
    /// Characters outside ASCII.
    valid: usize,
    /// Places that have no meaning.
    faults: usize,
    is_guess: bool,
}

impl<'b> Reading<'b> {
    fn new(encoding: &'static Encoding, bytes: &'b [u8]) -> Self {
        let (text, is_faulty) = encoding.decode_without_bom_handling(bytes);
        let faults = if is_faulty { text.matches(char::REPLACEMENT_CHARACTER).count() } else { 0 };
        let valid = text.chars().filter(|c| !c.is_ascii()).count() - faults;
        Self { text, encoding, valid, faults, is_guess: false }
    }

    /// The first reading that fits, or else that of a detector.
    fn best(bytes: &'b [u8], charset: Option<&str>) -> Self {
        let is_escaped = bytes.is_ascii() && memmem::find(bytes, b"\x1b$").is_some();
        let first = Self::new(if is_escaped { ISO_2022_JP } else { UTF_8 }, bytes);
        if first.valid >= first.faults {
            return first;
        }
        let declared = declared(bytes);
        let is_named = |encoding: &&Encoding| ![UTF_8, UTF_16LE, UTF_16BE].contains(encoding);
        let labels = [charset, declared.as_deref()].into_iter().flatten();
        let names: Vec<_> = labels.filter_map(encoding).filter(is_named).collect();
        let others = names.iter().filter(|encoding| **encoding != WINDOWS_1252);
        let fits = |reading: &Self| reading.valid >= 3 * reading.faults;
        if let Some(named) = others.map(|encoding| Self::new(encoding, bytes)).find(fits) {
            return named;
        }
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(bytes, true);
        let guess = Self::new(detector.guess(None, Utf8Detection::Deny), bytes);
        let is_latin = names.contains(&WINDOWS_1252) && (guess.encoding.is_single_byte() || !fits(&guess));
        if is_latin { Self::new(WINDOWS_1252, bytes) } else { Self { is_guess: true, ..guess } }
    }
}

/// By its mark, or by two first characters of ASCII. Also returns the length of the mark.
fn utf16(bytes: &[u8]) -> Option<(&'static Encoding, usize)> {
    match bytes {
        [0xff, 0xfe, ..] => Some((UTF_16LE, 2)),
        [0xfe, 0xff, ..] => Some((UTF_16BE, 2)),
        [a, 0, b, 0, ..] if *a > 0 && *b > 0 => Some((UTF_16LE, 0)),
        [0, a, 0, b, ..] if *a > 0 && *b > 0 => Some((UTF_16BE, 0)),
        _ => None,
    }
}

/// Knows the labels of the web, and those of old Korean and Chinese programs.
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

/// From an XML declaration at the start, or else an element `meta` of HTML.
fn declared(bytes: &[u8]) -> Option<String> {
    let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARATION_MAX)]).to_ascii_lowercase();
    let declaration = begin.trim_start().strip_prefix("<?xml").and_then(|rest| rest.split_once("?>"));
    let in_xml = declaration.and_then(|(declaration, _)| declaration.split_once("encoding"));
    let in_tag = |tag: &str| Some(tag.split('>').next()?.split_once("charset")?.1.to_owned());
    let value = match in_xml {
        Some((_, value)) => value.to_owned(),
        None => begin.split("<meta").skip(1).find_map(in_tag)?,
    };
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '/');
    Some(value.trim_start_matches(['"', '\'']).split(is_end).next()?.to_owned())
}

/// Many programs take UTF-8 for the encoding of Western Europe and encode it again. This reverses that: `Ã©` was `é`.
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
