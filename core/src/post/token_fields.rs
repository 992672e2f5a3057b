//! What is kept of a post's words, beside its text.

use std::collections::HashMap;

use tidings_text::tokens;

/// The most keywords of a post.
pub(crate) const KEYWORDS: usize = 32;
/// How often a word of the text has to stand there to tell as much as one of the title.
const TITLE_WEIGHT: usize = 3;

/// The words of a post.
#[derive(Debug, PartialEq)]
pub(super) struct TokenFields {
    /// The tokens of the title, blanks between: what the index is handed.
    pub(super) title: String,
    /// The tokens of the text, likewise.
    pub(super) post: String,
    /// The distinct tokens of both in order, blanks between.
    pub(super) token: String,
    /// The most telling of them, most telling first, blanks between: what interest and similarity are measured
    /// from.
    ///
    /// Those that stand there most often, in the title for three times; of equal ones the earlier. A token
    /// without a letter, a year or a version, is none: it says when, not what.
    pub(super) keyword: String,
}

impl TokenFields {
    /// The words of a post with this title and text.
    pub(super) fn of(title: &str, post: &str) -> Self {
        let (title, post) = (stream(title), stream(post));
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut tokens: Vec<(&str, usize)> = Vec::new();
        for (stream, weight) in [(&title, TITLE_WEIGHT), (&post, 1)] {
            for token in stream.split_ascii_whitespace() {
                let place = *places.entry(token).or_insert(tokens.len());
                match tokens.get_mut(place) {
                    Some((_, weights)) => *weights += weight,
                    None => tokens.push((token, weight)),
                }
            }
        }
        let token = joined(tokens.iter().map(|(token, _)| *token));
        tokens.retain(|(token, _)| token.contains(char::is_alphabetic));
        // Stable, so that of equal ones the earlier stays first.
        tokens.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
        let keyword = joined(tokens.iter().take(KEYWORDS).map(|(token, _)| *token));
        Self { title, post, token, keyword }
    }
}

fn stream(text: &str) -> String {
    let mut stream = String::with_capacity(text.len());
    tokens::each(text, |token| push(&mut stream, token));
    stream
}

fn joined<'t>(tokens: impl Iterator<Item = &'t str>) -> String {
    let mut joined = String::new();
    tokens.for_each(|token| push(&mut joined, token));
    joined
}

fn push(tokens: &mut String, token: &str) {
    if !tokens.is_empty() {
        tokens.push(' ');
    }
    tokens.push_str(token);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_of_the_title_tell_three_times_as_much() {
        let fields = TokenFields::of("Rust 1.95 news", "Cargo, cargo and cargo; news in 2026. The compiler.");
        assert_eq!(fields.title, "rust 1.95 news");
        assert_eq!(fields.post, "cargo cargo cargo news 2026 compiler");
        assert_eq!(fields.token, "rust 1.95 news cargo 2026 compiler");
        assert_eq!(fields.keyword, "news rust cargo compiler");
    }

    #[test]
    fn a_post_without_words_has_none() {
        let fields = TokenFields::of("!!!", "");
        assert_eq!((fields.token.as_str(), fields.keyword.as_str()), ("", ""));
    }

    proptest! {
        #[test]
        fn keywords_are_distinct_tokens_and_bounded(title: String, post: String) {
            let fields = TokenFields::of(&title, &post);
            let tokens: Vec<&str> = fields.token.split(' ').collect();
            let keywords: Vec<&str> = fields.keyword.split_ascii_whitespace().collect();
            prop_assert!(keywords.len() <= KEYWORDS);
            prop_assert!(keywords.iter().all(|keyword| tokens.contains(keyword)));
            for list in [tokens, keywords] {
                let distinct: std::collections::HashSet<&str> = list.iter().copied().collect();
                prop_assert_eq!(distinct.len(), list.len());
            }
        }
    }
}
