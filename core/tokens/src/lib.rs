//! Text processing of tidings: the composed form of a text, and the tokens of its words. [`tokens`] alone defines what a word is, so
//! a search always finds the words of a post.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

mod fold;
mod han;
pub mod hangul;
pub mod spans;
mod stop_words;
pub mod terms;
pub mod tokens;

/// Returns `text` in NFC; borrowed if it already is in that form.
pub fn compose(text: &str) -> Cow<'_, str> {
    // Most texts are composed already, and the check is many times faster than composing.
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfc().collect()),
    }
}

/// Returns a text in the form in which searches compare texts: without differences of case, width and accents.
pub fn folded(text: &str) -> Cow<'_, str> {
    fold::fold(text)
}
