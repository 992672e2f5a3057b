//! The posts as the word model reads them: one long stream of words, each a number.

use std::cmp::Reverse;
use std::collections::HashMap;

use tidings_text::tokens;

/// Stands in a stream behind the words of each post, so that no window reaches from one into the next.
pub(crate) const END: u32 = u32::MAX;

/// Posts that were read, before it is known which of their words are learned.
pub struct Corpus {
    numbers: HashMap<Box<str>, u32>,
    tallies: Vec<Tally>,
    stream: Vec<u32>,
    posts: u32,
    /// How many words are read at most.
    limit: usize,
}

/// How often a word was read.
#[derive(Clone, Copy)]
struct Tally {
    count: u32,
    /// In how many posts.
    posts: u32,
    /// The last of these.
    last: u32,
}

/// The words that are learned, the most frequent first, and the stream of them.
pub(crate) struct Vocabulary {
    pub(crate) words: Vec<Box<str>>,
    /// How often each stands in the posts.
    pub(crate) counts: Vec<u32>,
    /// The words in their order by number, [`END`] behind each post. Others have left no gap.
    pub(crate) stream: Vec<u32>,
}

impl Corpus {
    /// Nothing yet; after `limit` words it is full.
    pub fn new(limit: usize) -> Self {
        Self { numbers: HashMap::new(), tallies: Vec::new(), stream: Vec::new(), posts: 0, limit }
    }

    /// Reads a post.
    pub fn add(&mut self, title: &str, text: &str) {
        let Self { numbers, tallies, stream, posts, .. } = self;
        for text in [title, text] {
            tokens::each(text, |token| {
                let number = numbers.get(token).copied().unwrap_or_else(|| {
                    let number = u32::try_from(tallies.len()).expect("there are fewer words than `limit`");
                    numbers.insert(token.into(), number);
                    tallies.push(Tally { count: 0, posts: 0, last: END });
                    number
                });
                let tally = &mut tallies[number as usize];
                tally.count += 1;
                if tally.last != *posts {
                    (tally.posts, tally.last) = (tally.posts + 1, *posts);
                }
                stream.push(number);
            });
        }
        stream.push(END);
        *posts += 1;
    }

    /// Whether it has read as much as it may; the post that came last was still read whole.
    pub fn is_full(&self) -> bool {
        self.stream.len() >= self.limit
    }

    /// How many posts it has read.
    pub fn posts(&self) -> u32 {
        self.posts
    }

    /// How often a word stands in the posts.
    pub fn count(&self, word: &str) -> u32 {
        self.numbers.get(word).map_or(0, |number| self.tallies[*number as usize].count)
    }

    /// The words that stand in at least `posts` posts, at most `max` of them, and the stream of these.
    ///
    /// Of equally frequent words the one that comes first by its letters counts as the more frequent.
    pub(crate) fn vocabulary(self, posts: u32, max: usize) -> Vocabulary {
        let Self { numbers, tallies, mut stream, .. } = self;
        let tally = |number: u32| tallies[number as usize];
        let mut words: Vec<(Box<str>, u32)> =
            numbers.into_iter().filter(|(_, number)| tally(*number).posts >= posts).collect();
        words.sort_unstable_by(|a, b| {
            (Reverse(tally(a.1).count), &a.0).cmp(&(Reverse(tally(b.1).count), &b.0))
        });
        words.truncate(max);
        let mut renumbered = vec![END; tallies.len()];
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
        let counts = words.iter().map(|(_, number)| tally(*number).count).collect();
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
    fn words_are_numbered_by_how_often_they_stand_there() {
        let corpus = corpus(&[("Rust", "cargo crab"), ("Cargo", "rust, rust"), ("", "")]);
        assert_eq!([corpus.count("rust"), corpus.count("Rust")], [3, 0]);
        assert_eq!(corpus.posts(), 3);
        let Vocabulary { words, counts, stream } = corpus.vocabulary(1, 10);
        assert_eq!(words, ["rust", "cargo", "crab"].map(Box::from));
        assert_eq!(counts, [3, 2, 1]);
        assert_eq!(stream, [0, 1, 2, END, 1, 0, 0, END, END]);
    }

    #[test]
    fn words_of_too_few_posts_and_beyond_the_most_leave_no_gap() {
        let posts = [("Rust rust", "rust cargo crab"), ("Cargo", "crab")];
        let Vocabulary { words, stream, .. } = corpus(&posts).vocabulary(2, 10);
        assert_eq!(words, ["cargo", "crab"].map(Box::from));
        assert_eq!(stream, [0, 1, END, 0, 1, END]);
        let Vocabulary { words, stream, .. } = corpus(&posts).vocabulary(1, 1);
        assert_eq!(words, ["rust"].map(Box::from));
        assert_eq!(stream, [0, 0, 0, END, END]);
    }

    #[test]
    fn the_post_that_fills_it_is_read_whole() {
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
