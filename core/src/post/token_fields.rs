//! The tokens of a post, which the store holds in addition to its text.

use std::collections::HashMap;

use tidings_text::tokens;

/// The maximum number of keywords of a post.
pub(crate) const KEYWORDS: usize = 32;
/// The weight of a token in the title relative to a token in the text.
const TITLE_WEIGHT: usize = 3;

/// The tokens of a post, separated by blanks in each field.
#[derive(Debug, PartialEq)]
pub(super) struct TokenFields {
    /// The tokens of the title, for the search index.
    pub(super) title: String,
    /// The tokens of the text, for the search index.
    pub(super) post: String,
    /// The distinct tokens of title and text, in order.
    pub(super) token: String,
    /// The keywords, most significant first, from which interest and similarity are computed: the most frequent tokens,
    /// where each occurrence in the title counts three times. Of equally frequent tokens, the earlier comes first.
    ///
    /// A token without a letter, such as a year or a version, is never a keyword, because it does not describe a
    /// subject.
    pub(super) keyword: String,
}

impl TokenFields {
    /// Splits the title and text of a post into tokens.
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
        // The sort is stable, so of equal tokens the earlier stays first.
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
    fn words_of_the_title_count_three_times() {
        let fields = TokenFields::of("Rust 1.95 news", "Cargo, cargo and cargo; news in 2026. The compiler.");
        assert_eq!(fields.title, "rust 1.95 news");
        assert_eq!(fields.post, "cargo cargo cargo news 2026 compiler");
        assert_eq!(fields.token, "rust 1.95 news cargo 2026 compiler");
        assert_eq!(fields.keyword, "news rust cargo compiler");
    }

    #[test]
    fn a_post_without_words_has_no_tokens() {
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
