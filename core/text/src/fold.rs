//! Case and compatibility folding, which converts different spellings of a word to the same text.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// The Hangul letter araea. It is obsolete, and Korean texts use it as a middle dot. NFKC would turn it into a vowel
/// and so join the two words of `서울ㆍ부산`.
const ARAEA: char = '\u{318d}';

/// Returns `text` in NFKC and lower case, with `'` for typographic apostrophes and without invisible characters.
///
/// A final sigma becomes a sigma, so the end of a word does not change its letters. A zero-width space separates words,
/// as a blank does.
///
/// Source: NFKC of UAX #15, and `toNFKC_Casefold` of the Unicode standard, section 3.13, except for letters whose case
/// folding is not their lower case (`ß` stays).
pub(super) fn fold(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_folded) {
        return Cow::Borrowed(text);
    }
    let composed = text.chars().map(|c| if c == ARAEA { ' ' } else { c }).nfkc();
    let folded: String = composed.map(straighten).filter(|&c| !is_invisible(c)).flat_map(lower).collect();
    // A small letter may have a composed form when its capital has none: `H` with a macron below.
    Cow::Owned(match is_nfkc_quick(folded.chars()) {
        IsNormalized::Yes => folded,
        IsNormalized::No | IsNormalized::Maybe => folded.nfkc().collect(),
    })
}

/// Returns whether folding leaves the character unchanged in any context.
///
/// It knows the common characters only; [`fold`] looks up all others in the Unicode tables.
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

fn lower(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().map(|c| if c == 'ς' { 'σ' } else { c })
}

/// Returns whether `c` is a soft hyphen, a joiner, a direction mark, a variation selector or similar, or the frame of a
/// keycap.
///
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
    fn full_width_half_width_and_composed_letters_fold_to_plain_letters() {
        assert_eq!(fold("ＲＵＳＴ ｶﾞ ﬁ ② 각"), "rust ガ fi 2 각");
    }

    #[test]
    fn invisible_characters_are_removed_and_a_zero_width_space_is_a_blank() {
        assert_eq!(fold("so\u{ad}ft\u{feff} zero\u{200b}width 1\u{fe0f}\u{20e3}"), "soft zero width 1");
    }

    #[test]
    fn a_final_sigma_folds_to_a_sigma() {
        assert_eq!(fold("ΟΔΟΣ"), fold("οδος"));
    }

    #[test]
    fn a_letter_that_composes_only_when_small_is_composed() {
        assert_eq!(fold("H\u{331}"), "\u{1e96}");
    }

    #[test]
    fn characters_that_count_as_folded_are_folded() {
        for c in ('\0'..=char::MAX).filter(|&c| is_folded(c)) {
            // `Yes` also means that it never combines with the preceding character.
            assert_eq!(is_nfkc_quick([c].into_iter()), IsNormalized::Yes, "{c:?}");
            assert!(c.to_lowercase().eq([c]) && straighten(c) == c && !is_invisible(c), "{c:?}");
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
