//! The folding of search terms: spellings of one search, which trends count together.

use std::borrow::Cow;

use crate::{fold as letters, hangul};

/// The plural of shorter words is not folded: most are abbreviations, such as `aws`, `css`, `ios`.
const WORD_MIN: usize = 4;
/// A plural of one more letter, `-es` or `-ies`, has a singular of at least [`WORD_MIN`] letters or of three: `boxes`.
const LONG_MIN: usize = WORD_MIN + 1;
/// Words that only look like a plural of another frequent word.
const SINGULAR: [&str; 1] = ["news"];

/// Returns the common form of all spellings of a term that [`normalise_term`](crate::tokens::normalise_term) returned.
///
/// Case, width and accents count as little as in the tokens of a search: `ＣＡＦＥ`, `Café` and `cafe` are one term.
/// Blanks between Hangul syllables are removed, because writers disagree about them: `학교 식당` and `학교식당`. English
/// words of four letters and more lose the ending of a regular plural. The common form is not always a word, so it
/// identifies the spellings but is not shown.
///
/// ```
/// use tidings_tokens::terms::fold;
///
/// assert_eq!(fold("학교 식당"), fold("학교식당"));
/// assert_eq!(fold("past exams"), fold("past exam"));
/// assert_eq!(fold("movies"), fold("movie"));
/// assert_ne!(fold("news"), fold("new"));
/// ```
///
/// The rules for plurals extend those of Harman, *How effective is suffixing?*, JASIS 42(1), 1991, by the endings after
/// which a plural has a further syllable.
pub fn fold(term: &str) -> String {
    let term = letters::fold(term);
    let mut folded = String::with_capacity(term.len());
    for word in term.split_whitespace() {
        let is_joined = folded.chars().next_back().is_some_and(hangul::is_syllable)
            && word.starts_with(hangul::is_syllable);
        if !folded.is_empty() && !is_joined {
            folded.push(' ');
        }
        folded.push_str(&singular(word));
    }
    folded
}

/// A singular loses the letters that its plural loses too: `caches` could be the plural of `cach` or of `cache`.
fn singular(word: &str) -> Cow<'_, str> {
    let is_word = word.len() >= WORD_MIN && word.bytes().all(|b| b.is_ascii_lowercase());
    if !is_word || SINGULAR.contains(&word) {
        return word.into();
    }
    let is_long = word.len() >= LONG_MIN;
    let ends = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    let without = |letters: usize| &word[..word.len() - letters];
    if is_long && ends(&["ies"]) {
        (without(3).to_owned() + "y").into()
    } else if is_long && ends(&["sses", "shes", "ches", "xes", "zes", "oes"]) {
        without(2).into()
    } else if ends(&["ie"]) {
        (without(2).to_owned() + "y").into()
    } else if ends(&["sse", "she", "che", "xe", "ze", "oe"]) || ends(&["s"]) && !ends(&["ss", "us", "is"]) {
        without(1).into()
    } else {
        word.into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokens::normalise_term;

    #[test]
    fn a_regular_plural_and_its_singular_are_one_term() {
        for (one, many) in [
            ("exam", "exams"),
            ("job", "jobs"),
            ("story", "stories"),
            ("movie", "movies"),
            ("tie", "ties"),
            ("class", "classes"),
            ("search", "searches"),
            ("cache", "caches"),
            ("wish", "wishes"),
            ("box", "boxes"),
            ("axe", "axes"),
            ("size", "sizes"),
            ("house", "houses"),
            ("hero", "heroes"),
            ("shoe", "shoes"),
            ("toe", "toes"),
            ("photo", "photos"),
            ("finesse", "finesses"),
            ("graduate school", "graduate schools"),
            ("cafe", "ＣＡＦÉＳ"),
            ("strasse", "STRAẞE"),
            ("istanbul", "İSTANBUL"),
        ] {
            assert_eq!(fold(one), fold(&normalise_term(many)), "{one}");
        }
    }

    #[test]
    fn different_words_and_abbreviations_stay_different() {
        for (one, other) in [
            ("news", "new"),
            ("aws", "aw"),
            ("bus", "bu"),
            ("campus", "campu"),
            ("class", "clas"),
            ("analysis", "analysi"),
            ("c++s", "c++"),
            ("학교 ab", "학교ab"),
            ("2학기 시험", "학기 시험"),
            ("rust book", "rustbook"),
        ] {
            assert_ne!(fold(one), fold(other), "{one}");
        }
    }

    #[test]
    fn blanks_between_hangul_do_not_count() {
        assert_eq!(fold("학교 식당 메뉴"), "학교식당메뉴");
        assert_eq!(fold("2학기 시험 dates"), "2학기시험 date");
    }

    proptest! {
        #[test]
        fn folding_is_idempotent_and_never_empty(
            term in "([a-z]{0,6}(s|e|es|ies|ie|sses|ches|xes|oes|zes|ss)? ?|[가나식당] ?|[가-힣ㅋA-Z0-9é+ ]){0,12}",
        ) {
            let term = normalise_term(&term);
            let folded = fold(&term);
            prop_assert_eq!(folded.is_empty(), term.is_empty());
            prop_assert_eq!(&fold(&folded), &folded);
            prop_assert_eq!(&normalise_term(&folded), &folded);
        }
    }
}
