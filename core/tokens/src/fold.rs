//! Case, accent and compatibility folding, which converts different spellings of a word to the same text.

use std::borrow::Cow;

use unicode_normalization::char::{decompose_canonical, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// The Hangul letter araea is obsolete, and Korean texts use it as a middle dot. NFKC would turn it into a vowel and so join the
/// two words of `서울ㆍ부산`.
const ARAEA: char = '\u{318d}';

/// Returns `text` in NFKC and folded case, without the accents of Latin and Greek letters, with `'` for typographic apostrophes
/// and without invisible characters. `Straße` and `STRASSE` become `strasse`, `İstanbul` becomes `istanbul`, and `Łódź` becomes
/// `lodz`. A final sigma becomes a sigma, so the end of a word does not change its letters. Marks in other scripts stay, because
/// they form other letters there: `й`, `が`, and the vowel signs of Indic scripts. A zero-width space separates words, as a blank
/// does, and so do symbols such as `①` and `™`, which NFKC would join to the word beside them. Source: `toNFKC_Casefold` of the
/// Unicode standard, section 3.13; the letters without a decomposition are those of the CLDR transform `Latin-ASCII`.
pub(super) fn fold(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_folded) {
        return Cow::Borrowed(text);
    }
    let separated = separate(text);
    let composed = separated.nfkc().map(straighten).filter(|&c| !is_invisible(c));
    let folded = plain_letters(composed.flat_map(char::to_lowercase));
    // A small letter may have a composed form when its capital has none.
    Cow::Owned(match is_nfkc_quick(folded.chars()) {
        IsNormalized::Yes => folded,
        IsNormalized::No | IsNormalized::Maybe => folded.nfkc().collect(),
    })
}

/// Puts blanks around the symbols that are no part of a word, but that NFKC turns into letters or digits, and a blank for those
/// without a meaning.
fn separate(text: &str) -> Cow<'_, str> {
    if !text.contains(is_symbol) {
        return Cow::Borrowed(text);
    }
    let mut separated = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            ARAEA | '\u{2120}' | '\u{2122}' => separated.push(' '),
            c if is_symbol(c) => separated.extend([' ', c, ' ']),
            c => separated.push(c),
        }
    }
    Cow::Owned(separated)
}

/// True for a fraction, a Roman numeral, a letterlike or enclosed symbol, or the letter araea, if NFKC changes it.
fn is_symbol(c: char) -> bool {
    let is_symbol = matches!(c,
        '\u{bc}'..='\u{be}' | '\u{2100}' | '\u{2101}' | '\u{2105}' | '\u{2106}' | '\u{2116}' | '\u{2120}'..='\u{2122}'
        | '\u{2139}' | '\u{213b}' | '\u{2150}'..='\u{2188}' | '\u{2460}'..='\u{24ff}' | ARAEA
        | '\u{3200}'..='\u{32ff}' | '\u{1f100}'..='\u{1f2ff}');
    is_symbol && !std::iter::once(c).nfkc().eq([c])
}

/// `text` is in lower case and NFKC. Removes the accents of Latin and Greek letters and folds the case.
fn plain_letters(text: impl Iterator<Item = char>) -> String {
    let mut plain = String::with_capacity(text.size_hint().0);
    // Whether the last letter is Latin or Greek, so that marks on it are accents.
    let mut is_accented = false;
    for c in text {
        match c {
            '\0'..='\x7f' => {
                is_accented = c.is_ascii_alphabetic();
                plain.push(c);
            }
            '\u{c0}'..='\u{2af}'
            | '\u{370}'..='\u{3ff}'
            | '\u{1e00}'..='\u{1fff}'
            | '\u{2c60}'..='\u{2c7f}'
            | '\u{a720}'..='\u{a7ff}' => {
                is_accented = true;
                decompose_canonical(c, |part| push_letter(part, &mut plain));
            }
            '\u{3041}'..='\u{3096}'
            | '\u{30a1}'..='\u{30fa}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}' => {
                is_accented = false;
                plain.push(c);
            }
            mark if is_combining_mark(mark) => {
                if is_accented {
                    push_letter(mark, &mut plain);
                } else {
                    plain.push(mark);
                }
            }
            c => {
                is_accented = false;
                plain.push(c);
            }
        }
    }
    plain
}

/// Adds nothing for an accent on the letter.
fn push_letter(c: char, plain: &mut String) {
    match c {
        'ß' => plain.push_str("ss"),
        'æ' => plain.push_str("ae"),
        'œ' => plain.push_str("oe"),
        'þ' => plain.push_str("th"),
        'ø' => plain.push('o'),
        'đ' | 'ð' => plain.push('d'),
        'ħ' => plain.push('h'),
        'ı' => plain.push('i'),
        'ł' => plain.push('l'),
        'ŧ' => plain.push('t'),
        'ς' => plain.push('σ'),
        // The iota below a Greek vowel, which is a letter in capitals.
        '\u{345}' => plain.push('ι'),
        c if !is_combining_mark(c) => plain.push(c),
        _ => {}
    }
}

/// Folding leaves the character unchanged in any context. Knows the common characters only; [`fold`] looks up all others in the
/// Unicode tables.
fn is_folded(c: char) -> bool {
    matches!(c,
        '\0'..='@' | '['..='\x7f'
        | '\u{ac00}'..='\u{d7a3}' // Hangul syllables
        | '\u{4e00}'..='\u{9fff}' // Han
        | '\u{3001}'..='\u{3029}' // East Asian punctuation
        | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fe}' // Kana
    )
}

fn straighten(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{02bc}' => '\'',
        '\u{200b}' => ' ',
        c => c,
    }
}

/// True for a soft hyphen, a joiner, a direction mark, a variation selector or similar, or the frame of a keycap.
/// Source: `Default_Ignorable_Code_Point` of the Unicode character database, with the interlinear annotations.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{20e3}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn letters_in_another_case_fold_to_the_same_letters() {
        for (one, other) in [
            ("ΟΔΟΣ", "οδος"),
            ("STRASSE", "Straße"),
            ("STRAẞE", "straße"),
            ("İSTANBUL", "istanbul"),
            ("KADIKÖY", "kadıköy"),
            ("ᾼ", "ΑΙ"),
            ("ЙОД", "йод"),
            ("\u{13a0}", "\u{ab70}"),
        ] {
            assert_eq!(fold(one), fold(other), "{one}");
        }
    }

    #[test]
    fn texts_fold_to_plain_letters_and_symbols_are_not_joined_to_words() {
        for (text, folded) in [
            ("ＲＵＳＴ ｶﾞ ﬁ ② 각", "rust ガ fi  2  각"),
            ("so\u{ad}ft\u{feff} zero\u{200b}width 1\u{fe0f}\u{20e3}", "soft zero width 1"),
            ("İstanbul STRASSE", "istanbul strasse"),
            // Accents of Latin and Greek letters are removed, and other marks stay.
            ("Café cafe\u{301} CAFÉ", "cafe cafe cafe"),
            ("Trường Đại học Điện lực", "truong dai hoc dien luc"),
            ("Müller, Łódź, København", "muller, lodz, kobenhavn"),
            ("Ångström cœur Ærø þing", "angstrom coeur aero thing"),
            ("Αθήνα ΐ", "αθηνα ι"),
            ("H\u{331} q\u{307}\u{323}", "h q"),
            ("Hitman™: The", "hitman : the"),
            ("brand℠name", "brand name"),
            ("ⓒGetty", " c getty"),
            ("①안내②", " 1 안내 2 "),
            ("PartⅡ", "part ii "),
            ("1½", "1 1⁄2 "),
            ("№5", " no 5"),
            ("H₂O ㎡ 5㎏ 10²", "h2o m2 5kg 102"),
            ("oﬃce ĳs", "office ijs"),
        ] {
            assert_eq!(fold(text), folded);
        }
        for kept in ["й ё", "が パ", "가", "कि हिन्दी", "ไทย", "א\u{5b0}"] {
            assert_eq!(fold(kept), kept.nfkc().collect::<String>());
        }
    }

    #[test]
    fn characters_that_count_as_folded_are_folded() {
        for c in ('\0'..=char::MAX).filter(|&c| is_folded(c)) {
            // `Yes` also means that it never combines with the preceding character.
            assert_eq!(is_nfkc_quick([c].into_iter()), IsNormalized::Yes, "{c:?}");
            assert!(c.to_lowercase().eq([c]) && straighten(c) == c && !is_invisible(c), "{c:?}");
            assert_eq!(plain_letters([c].into_iter()), c.to_string());
            assert!(!is_symbol(c), "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn folding_twice_changes_nothing(text in any::<String>()) {
            let once = fold(&text);
            prop_assert_eq!(&fold(&once), &once);
        }
    }
}
