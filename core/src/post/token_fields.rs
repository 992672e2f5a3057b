//! The tokens of a post, which the store holds in addition to its text.

use std::collections::HashMap;

use tidings_tokens::tokens;

pub(crate) const KEYWORDS: usize = 32;
/// Relative to a token in the text.
const TITLE_WEIGHT: u32 = 3;
/// A distinct token is expected for this number of bytes of text.
const BYTES_PER_TOKEN: usize = 12;

/// Separated by blanks.
#[derive(Debug, PartialEq)]
pub(super) struct TokenFields {
    /// The distinct tokens of title and text, in order.
    pub(super) token: String,
    /// Of each distinct token.
    pub(super) counts: Vec<Count>,
    /// The keywords, most significant first, from which interest and similarity are computed: the most frequent tokens, where each
    /// occurrence in the title counts three times. Of equally frequent tokens, the earlier comes first. A token without a letter,
    /// such as a year or a version, is never a keyword, because it does not describe a subject.
    pub(super) keyword: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) title: u32,
    pub(super) post: u32,
}

impl TokenFields {
    pub(super) fn of(title: &str, post: &str) -> Self {
        let (title, post) = (stream(title), stream(post));
        // Most of the time of the loop would be the growing of the map.
        let expected = (title.len() + post.len()) / BYTES_PER_TOKEN;
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(expected);
        let mut tokens: Vec<(&str, Count)> = Vec::with_capacity(expected);
        for (stream, is_title) in [(&title, true), (&post, false)] {
            for token in stream.split_ascii_whitespace() {
                let place = *places.entry(token).or_insert(tokens.len());
                if place == tokens.len() {
                    tokens.push((token, Count::default()));
                }
                let count = &mut tokens[place].1;
                *(if is_title { &mut count.title } else { &mut count.post }) += 1;
            }
        }
        let token = joined(tokens.iter().map(|(token, _)| *token));
        let counts = tokens.iter().map(|(_, count)| *count).collect();
        tokens.retain(|(token, _)| token.contains(char::is_alphabetic));
        // The sort is stable, so of equal tokens the earlier stays first.
        tokens.sort_by_key(|(_, count)| std::cmp::Reverse(TITLE_WEIGHT * count.title + count.post));
        let keyword = joined(tokens.iter().take(KEYWORDS).map(|(token, _)| *token));
        Self { token, counts, keyword }
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
        assert_eq!(fields.token, "rust 1.95 news cargo 2026 compiler");
        let counts: Vec<_> = fields.counts.iter().map(|count| (count.title, count.post)).collect();
        assert_eq!(counts, [(1, 0), (1, 0), (1, 1), (0, 3), (0, 1), (0, 1)]);
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
