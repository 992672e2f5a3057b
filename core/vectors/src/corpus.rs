//! The posts as the word model reads them: a long stream of numbered words.

use std::cmp::Reverse;
use std::collections::HashMap;

use tidings_tokens::tokens;

/// Follows the words of each post in a stream, so that no window reaches into the next post.
pub(crate) const END: u32 = u32::MAX;

/// Words with a digit, such as years, versions and numbers of issues, are counted but not learned: they have no meaning of their
/// own, and would take the places of words that have one.
pub struct Corpus {
    numbers: HashMap<Box<str>, u32>,
    occurrences: Vec<Occurrences>,
    stream: Vec<u32>,
    /// Words and ends of posts.
    read: usize,
    posts: u32,
    limit: usize,
}

#[derive(Clone, Copy)]
struct Occurrences {
    count: u32,
    posts: u32,
    last: u32,
    has_digit: bool,
}

pub(crate) struct Vocabulary {
    pub(crate) words: Vec<Box<str>>,
    pub(crate) counts: Vec<u32>,
    /// In the order of the text, with [`END`] after each post. Other words leave no gap.
    pub(crate) stream: Vec<u32>,
}

impl Corpus {
    pub fn new(limit: usize) -> Self {
        Self {
            numbers: HashMap::new(),
            occurrences: Vec::new(),
            stream: Vec::new(),
            read: 0,
            posts: 0,
            limit,
        }
    }

    pub fn add(&mut self, title: &str, text: &str) {
        let Self { numbers, occurrences, stream, read, posts, .. } = self;
        for text in [title, text] {
            tokens::each(text, |token| {
                let number = numbers.get(token).copied().unwrap_or_else(|| {
                    let number = u32::try_from(occurrences.len()).expect("the number of words is limited");
                    numbers.insert(token.into(), number);
                    let has_digit = token.contains(char::is_numeric);
                    occurrences.push(Occurrences { count: 0, posts: 0, last: END, has_digit });
                    number
                });
                let of_word = &mut occurrences[number as usize];
                of_word.count += 1;
                if of_word.last != *posts {
                    (of_word.posts, of_word.last) = (of_word.posts + 1, *posts);
                }
                *read += 1;
                // A number leaves no gap in the windows.
                if !of_word.has_digit {
                    stream.push(number);
                }
            });
        }
        stream.push(END);
        *read += 1;
        *posts += 1;
    }

    /// The last post is still complete.
    pub fn is_full(&self) -> bool {
        self.read >= self.limit
    }

    pub fn posts(&self) -> u32 {
        self.posts
    }

    pub fn count(&self, word: &str) -> u32 {
        self.numbers.get(word).map_or(0, |number| self.occurrences[*number as usize].count)
    }

    /// Selects the words without a digit that occur in at least `posts` posts, at most `max` of them. Words of equal frequency
    /// are ordered alphabetically.
    pub(crate) fn vocabulary(self, posts: u32, max: usize) -> Vocabulary {
        let Self { numbers, occurrences, mut stream, .. } = self;
        let of_word = |number: u32| occurrences[number as usize];
        let is_learned = |of_word: Occurrences| of_word.posts >= posts && !of_word.has_digit;
        let mut words: Vec<(Box<str>, u32)> =
            numbers.into_iter().filter(|(_, number)| is_learned(of_word(*number))).collect();
        words.sort_unstable_by(|a, b| {
            (Reverse(of_word(a.1).count), &a.0).cmp(&(Reverse(of_word(b.1).count), &b.0))
        });
        words.truncate(max);
        let mut renumbered = vec![END; occurrences.len()];
        for ((_, number), new) in words.iter().zip(0..) {
            renumbered[*number as usize] = new;
        }
        stream.retain_mut(|number| {
            if *number == END {
                return true;
            }
            *number = renumbered[*number as usize];
            *number != END
        });
        stream.shrink_to_fit();
        let counts = words.iter().map(|(_, number)| of_word(*number).count).collect();
        Vocabulary { words: words.into_iter().map(|(word, _)| word).collect(), counts, stream }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(posts: &[(&str, &str)]) -> Corpus {
        let mut corpus = Corpus::new(1_000);
        for (title, text) in posts {
            corpus.add(title, text);
        }
        corpus
    }

    #[test]
    fn words_are_numbered_by_frequency() {
        let corpus = corpus(&[("Rust", "cargo crab"), ("Cargo", "rust, rust"), ("", "")]);
        assert_eq!([corpus.count("rust"), corpus.count("Rust")], [3, 0]);
        assert_eq!(corpus.posts(), 3);
        let Vocabulary { words, counts, stream } = corpus.vocabulary(1, 10);
        assert_eq!(words, ["rust", "cargo", "crab"].map(Box::from));
        assert_eq!(counts, [3, 2, 1]);
        assert_eq!(stream, [0, 1, 2, END, 1, 0, 0, END, END]);
    }

    #[test]
    fn words_with_digits_are_counted_and_not_learned() {
        let corpus = corpus(&[("Rust 1.95", "in 2026: cargo, ipv6 and x²"), ("", "rust １ rust")]);
        let counts = ["1.95", "2026", "ipv6", "x2", "1", "rust"].map(|word| corpus.count(word));
        assert_eq!(counts, [1, 1, 1, 1, 1, 3]);
        let Vocabulary { words, stream, .. } = corpus.vocabulary(1, 10);
        assert_eq!(words, ["rust", "cargo"].map(Box::from));
        assert_eq!(stream, [0, 1, END, 0, 0, END]);
    }

    #[test]
    fn rare_and_surplus_words_leave_no_gap() {
        let posts = [("Rust rust", "rust cargo crab"), ("Cargo", "crab")];
        let Vocabulary { words, stream, .. } = corpus(&posts).vocabulary(2, 10);
        assert_eq!(words, ["cargo", "crab"].map(Box::from));
        assert_eq!(stream, [0, 1, END, 0, 1, END]);
        let Vocabulary { words, stream, .. } = corpus(&posts).vocabulary(1, 1);
        assert_eq!(words, ["rust"].map(Box::from));
        assert_eq!(stream, [0, 0, 0, END, END]);
    }

    #[test]
    fn the_post_that_reaches_the_limit_is_read_completely() {
        let mut corpus = Corpus::new(2);
        corpus.add("one", "");
        assert!(corpus.is_full());
        let mut corpus = Corpus::new(3);
        corpus.add("one", "");
        assert!(!corpus.is_full());
        corpus.add("two three", "four");
        assert!(corpus.is_full() && corpus.count("four") == 1);
    }
}
