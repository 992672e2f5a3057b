//! The visible characters of a text, and the rules of names. Invisible characters and characters that reorder text can make two names look the
//! same.
//!
//! These are refused: control and format characters, everything that Unicode allows a display to ignore (zero-width
//! characters, fillers, tags, variation selectors), controls of the writing direction, line separators, a mark
//! without a base character, and a name without a visible character. Some of these are part of the ordinary spelling
//! of a language or of an emoji and are allowed there: joiners and non-joiners in the contexts of UAX #31 section 2.3
//! (Arabic script, Indic scripts) and in emoji, and variation selectors after a character that has such a variant.
//!
//! Source: Unicode Standard Annex #31 (`Default_Ignorable_Code_Point` in identifiers), Unicode Technical Standards #39
//! and #51.

use icu_properties::props::{
    CanonicalCombiningClass, DefaultIgnorableCodePoint, Emoji, EmojiModifier, ExtendedPictographic,
    GeneralCategory, GeneralCategoryGroup, Ideographic, JoiningType, PrependedConcatenationMark, Script,
};
use icu_properties::{CodePointMapData, CodePointSetData};

const ZWNJ: char = '\u{200c}';
const ZWJ: char = '\u{200d}';
/// For the text form and the emoji form.
const EMOJI_FORM: [char; 2] = ['\u{fe0e}', '\u{fe0f}'];
/// Turns the digit before it into a keycap emoji.
const KEYCAP: char = '\u{20e3}';
/// The Braille pattern without dots looks like a space.
const BRAILLE_BLANK: char = '\u{2800}';
/// A sequence of tags turns the black flag into the flag of a country's subdivision.
const FLAG: char = '\u{1f3f4}';
/// England, Scotland, Wales.
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

/// Every character is allowed and at least one is visible.
pub(crate) fn is_shown(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    chars.iter().any(|c| is_visible(*c))
        && !chars.first().is_some_and(|c| is_mark(*c))
        && (0..chars.len()).all(|at| is_allowed(&chars, at))
}

/// The result may be empty.
pub(crate) fn only_shown(text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    loop {
        let marks = chars.iter().take_while(|c| is_mark(**c)).count();
        let kept = (marks..chars.len()).filter(|at| is_allowed(&chars, *at)).map(|at| chars[at]);
        let kept: Vec<char> = kept.collect();
        // Removing a character may have left its neighbour without the context that allowed it.
        if kept.len() == chars.len() {
            return kept.into_iter().collect();
        }
        chars = kept;
    }
}

fn category(c: char) -> GeneralCategory {
    CodePointMapData::<GeneralCategory>::new().get(c)
}

fn is_mark(c: char) -> bool {
    GeneralCategoryGroup::Mark.contains(category(c))
}

fn is_letter(c: char) -> bool {
    GeneralCategoryGroup::Letter.contains(category(c))
}

/// A virama removes the inherent vowel of an Indic consonant.
fn is_virama(c: char) -> bool {
    CodePointMapData::<CanonicalCombiningClass>::new().get(c) == CanonicalCombiningClass::Virama
}

fn is_mongolian(c: char) -> bool {
    is_letter(c) && CodePointMapData::<Script>::new().get(c) == Script::Mongolian
}

fn is_pictograph(c: char) -> bool {
    CodePointSetData::new::<ExtendedPictographic>().contains(c)
}

/// The character on its own is invisible, or reorders other characters.
fn is_hidden(c: char) -> bool {
    let by_category = match category(c) {
        // Prepended concatenation marks, which enclose a number, are visible.
        GeneralCategory::Format => !CodePointSetData::new::<PrependedConcatenationMark>().contains(c),
        GeneralCategory::Control | GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator => {
            true
        }
        _ => false,
    };
    by_category || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

pub(super) fn is_visible(c: char) -> bool {
    // Most characters need no look-up.
    c.is_ascii_graphic() || !c.is_whitespace() && c != BRAILLE_BLANK && !is_mark(c) && !is_hidden(c)
}

/// The character is visible, or a legitimate part of a visible one.
fn is_allowed(chars: &[char], at: usize) -> bool {
    let c = chars[at];
    if c.is_ascii_graphic() || !is_hidden(c) {
        return true;
    }
    let before = at.checked_sub(1).map(|at| chars[at]);
    let after = chars.get(at + 1).copied();
    match (before, c) {
        (Some(_), ZWNJ) => {
            separates_joining(chars, at) || is_indic(chars, at) && after.is_some_and(is_letter)
        }
        (Some(_), ZWJ) => joins_pictographs(chars, at) || is_indic(chars, at),
        // A digit has a different form only as a keycap.
        (Some(before), c) if EMOJI_FORM.contains(&c) => {
            CodePointSetData::new::<Emoji>().contains(before) && (!before.is_ascii() || after == Some(KEYCAP))
        }
        // The variants of an ideograph, as in Japanese names.
        (Some(before), '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e01ef}') => {
            CodePointSetData::new::<Ideographic>().contains(before)
        }
        (Some(before), '\u{180b}'..='\u{180d}' | '\u{180f}') => is_mongolian(before),
        (Some(before), '\u{180e}') => is_mongolian(before) && after.is_some_and(is_mongolian),
        (Some(_), c) if tag(c).is_some() => is_of_flag(chars, at),
        _ => false,
    }
}

/// The letters on both sides would be joined without the character.
fn separates_joining(chars: &[char], at: usize) -> bool {
    let joining = |c: &char| CodePointMapData::<JoiningType>::new().get(*c);
    let is_seen = |joining: &JoiningType| *joining != JoiningType::Transparent;
    let before = chars[..at].iter().rev().map(joining).find(is_seen);
    let after = chars[at + 1..].iter().map(joining).find(is_seen);
    matches!(before, Some(JoiningType::LeftJoining | JoiningType::DualJoining))
        && matches!(after, Some(JoiningType::RightJoining | JoiningType::DualJoining))
}

/// The character is next to the virama of a letter, where it selects how a consonant is written.
fn is_indic(chars: &[char], at: usize) -> bool {
    let mut before = chars[..at].iter().rev().skip_while(|c| is_mark(**c) && !is_virama(**c));
    match before.next() {
        Some(c) if is_virama(*c) => before.find(|c| !is_mark(**c)).is_some_and(|c| is_letter(*c)),
        // In Bengali and Kannada, a joiner precedes the virama of the first consonant.
        Some(c) => is_letter(*c) && chars.get(at + 1).is_some_and(|c| is_virama(*c)),
        None => false,
    }
}

/// Joins two pictographs into one, such as a family.
fn joins_pictographs(chars: &[char], at: usize) -> bool {
    let is_form =
        |c: &&char| EMOJI_FORM.contains(*c) || CodePointSetData::new::<EmojiModifier>().contains(**c);
    let before = chars[..at].iter().rev().find(|c| !is_form(c));
    before.is_some_and(|c| is_pictograph(*c)) && chars.get(at + 1).is_some_and(|c| is_pictograph(*c))
}

/// A blank stands for the tag that ends a sequence.
fn tag(c: char) -> Option<char> {
    match u32::from(c) {
        0xe007f => Some(' '),
        tag @ 0xe0020..0xe007f => char::from_u32(tag - 0xe0000),
        _ => None,
    }
}

fn is_of_flag(chars: &[char], at: usize) -> bool {
    let before = chars[..at].iter().rev().take_while(|c| tag(**c).is_some()).count();
    let (flag, tags) = chars.split_at(at - before);
    let tags: String = tags.iter().map_while(|c| tag(*c)).collect();
    flag.last() == Some(&FLAG) && tags.strip_suffix(' ').is_some_and(|tags| FLAGS.contains(&tags))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_every_script_and_emoji_are_shown() {
        let texts = "Ann|홍길동|山田 太郎|葛\u{e0100}城|محمد|می\u{200c}خواهم|خانه\u{200c}ای|क्\u{200d}ष|क्\u{200c}ष|\
            র\u{200d}\u{9cd}যাব|ශ්\u{200d}රී|ನಿರ್\u{200d}ಮಲ|עברית|ไทย|ᠮᠣᠩᠭᠣᠯ\u{180b}|e\u{301}|\
            a\u{308}\u{301}|👨\u{200d}👩\u{200d}👧|👩🏽\u{200d}🚀|🏳\u{fe0f}\u{200d}🌈|❤\u{fe0f}\u{200d}🔥|\
            1\u{fe0f}\u{20e3}|☀\u{fe0f}|🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}|🇰🇷|\
            \u{600}12|.| a ";
        for text in texts.split('|') {
            assert!(is_shown(text), "{text:?}");
            assert_eq!(only_shown(text), text);
        }
    }

    #[test]
    fn invisible_and_reordering_characters_are_refused_and_removed() {
        // Each with what is left of it.
        let texts = "=|ad\u{200b}min=admin|ad\u{200c}min=admin|ad\u{200d}min=admin|admin\u{200d}=admin|\
            admin\u{feff}=admin|admin\u{ad}=admin|admin\u{2060}=admin|ad\u{34f}min=admin|\
            \u{202e}nimda=nimda|a\u{202a}b\u{202b}c\u{202c}d\u{202d}=abcd|\
            a\u{2066}b\u{2067}c\u{2068}d\u{2069}=abcd|a\u{200e}b\u{200f}c\u{61c}=abc|\
            a\u{2028}b\u{2029}=ab|\u{115f}\u{1160}\u{3164}\u{ffa0}=|admin\u{3164}=admin|\
            admin\u{fe0f}=admin|1\u{fe0f}=1|admin\u{fe00}=admin|admin\u{e0100}=admin|\
            admin\u{e0061}\u{e007f}=admin|🏴\u{e0078}\u{e0078}\u{e007f}=🏴|\
            🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}=🏴|\u{301}=|\u{301}\u{302}a=a|می\u{200c}=می|\
            رود\u{200c}ها=رودها|👨\u{200d}=👨|👨\u{200d}a=👨a|a\u{180b}\u{180e}=a|\
            a\u{1d173}\u{fff9}\u{17b4}=a|a\0\u{1b}\n=a";
        for (text, rest) in texts.split('|').filter_map(|pair| pair.split_once('=')) {
            assert!(!is_shown(text), "{text:?}");
            assert_eq!(only_shown(text), rest, "{text:?}");
        }
        for blank in [" ", "\u{2800}", "\u{3000}\u{2800}", "\u{a0}"] {
            assert!(!is_shown(blank), "{blank:?}");
        }
    }

    proptest! {
        #[test]
        fn a_filtered_text_is_allowed_or_has_nothing_visible(text in "[\u{200b}-\u{200f}a\u{301}👨\u{fe0f}\u{e0020}-\u{e007f}🏴क\u{94d}ب ]{0,12}") {
            let left = only_shown(&text);
            prop_assert!(is_shown(&left) || !left.chars().any(is_visible), "{left:?}");
            prop_assert_eq!(only_shown(&left), left.clone());
            if is_shown(&text) {
                prop_assert_eq!(left, text);
            }
        }
    }
}
