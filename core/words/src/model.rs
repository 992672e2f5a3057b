//! A word model: words, their vectors and their neighbours.

use std::collections::HashMap;
use std::sync::Arc;

use tidings_text::hangul;

use crate::near::{NEIGHBOURS_MAX, Near};
use crate::subword::{self, Subwords};
use crate::vectors::{Vectors, product, similarity};
use crate::{Go, Recipe, Stopped};

/// The power of what a word shares with an unknown one that it lends its vector by: the most alike count by far the
/// most.
const LENT_BY: i32 = 4;
/// Where a search for the neighbours of an unknown word goes on from: the nearest that it has found.
const FOLLOWED: usize = 10;
/// How often a Korean word must stand there, always with what looks like a particle, to be taken for a word that
/// ends so by nature.
const ALWAYS_SO: u32 = 10;

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// It was learned from posts, in this way.
    Posts(Recipe),
    /// It was loaded from a file of vectors.
    File,
}

/// What a model knows of the posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Where the model comes from.
    pub source: Source,
    /// How many posts it has seen.
    pub posts: u32,
    /// How many changes of posts' words there had been, ever.
    pub changes: i64,
    /// When it was made: milliseconds UTC.
    pub made: i64,
}

/// Words with their vectors and neighbours. A word has a number.
pub struct Model {
    /// What the model is based on.
    pub origin: Origin,
    words: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    /// Whether a word may be answered as a neighbour.
    shown: Vec<bool>,
    vectors: Vectors,
    near: Near,
    subwords: Subwords,
}

impl Model {
    /// The model of these words and vectors; `counts` says how often each word stands in the posts.
    pub(crate) fn make(
        origin: Origin,
        words: Vec<Arc<str>>,
        counts: &[u32],
        vectors: Vectors,
        go: Go<'_>,
    ) -> Result<Self, Stopped> {
        let numbers = number(&words);
        let shown = shown(&words, &numbers, counts);
        let targets: Vec<u32> =
            (0..).zip(&shown).filter(|(_, shown)| **shown).map(|(word, _)| word).collect();
        let near = Near::find(&vectors, &targets, go)?;
        let subwords = subwords(&words);
        Ok(Self { origin, words, numbers, shown, vectors, near, subwords })
    }

    /// A model that was made before.
    pub(crate) fn kept(
        origin: Origin,
        words: Vec<Arc<str>>,
        shown: Vec<bool>,
        vectors: Vectors,
        near: Near,
    ) -> Self {
        let (numbers, subwords) = (number(&words), subwords(&words));
        Self { origin, words, numbers, shown, vectors, near, subwords }
    }

    /// How many words it knows.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Its words, by their numbers.
    pub fn words(&self) -> &[Arc<str>] {
        &self.words
    }

    /// Which words may be answered as neighbours.
    pub(crate) fn shown(&self) -> &[bool] {
        &self.shown
    }

    /// Its vectors, by the words' numbers.
    pub fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    /// Its neighbours.
    pub(crate) fn near(&self) -> &Near {
        &self.near
    }

    /// The number of a word.
    pub fn number(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    /// The word with this number.
    pub fn word(&self, number: u32) -> &Arc<str> {
        &self.words[number as usize]
    }

    /// The words most like a known one, the most first.
    pub fn neighbours(&self, word: u32) -> impl Iterator<Item = (u32, f32)> {
        self.near.of(word)
    }

    /// The words most like one that is not known, the most first: its vector is the mean of those of the words that
    /// share most of its parts. None when too little is shared.
    pub fn neighbours_of_unknown(&self, word: &str) -> Vec<(u32, f32)> {
        let lenders = self.lenders(word);
        let own = self.lent(&lenders);
        // Its neighbours are among the lenders, and theirs, and theirs.
        let mut found = Vec::new();
        self.look_at(lenders.iter().map(|(lender, _)| *lender), own.at(0), &mut found);
        self.look_at(self.around(lenders.iter().map(|(lender, _)| *lender)), own.at(0), &mut found);
        let nearest: Vec<u32> = found.iter().take(FOLLOWED).map(|(_, word)| *word).collect();
        self.look_at(self.around(nearest.into_iter()), own.at(0), &mut found);
        found.truncate(NEIGHBOURS_MAX);
        found.into_iter().map(|(product, word)| (word, similarity(product))).collect()
    }

    /// The words that lend an unknown one their vectors, and how much they share with it: those that are written
    /// much like it, before all the one of which it is a slip of two fingers.
    fn lenders(&self, word: &str) -> Vec<(u32, f32)> {
        let slip = subword::slips(word).filter_map(|meant| self.number(&meant)).min();
        slip.map(|meant| (meant, 1.0)).into_iter().chain(self.subwords.like(word)).collect()
    }

    /// The mean of the vectors of `lenders`, as the only one.
    fn lent(&self, lenders: &[(u32, f32)]) -> Vectors {
        let mut sum = vec![0.0; self.vectors.dimensions()];
        for (lender, shared) in lenders {
            let weight = shared.powi(LENT_BY);
            sum.iter_mut().zip(self.vectors.components(*lender)).for_each(|(sum, x)| *sum += weight * x);
        }
        let mut mean = Vectors::none(self.vectors.dimensions());
        mean.push(&sum);
        mean
    }

    fn around(&self, words: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
        words.flat_map(|word| self.near.of(word)).map(|(word, _)| word)
    }

    /// Adds the words that may be answered and are like `vector` to `found`, each once, the nearest first.
    fn look_at(&self, words: impl Iterator<Item = u32>, vector: &[i16], found: &mut Vec<(i32, u32)>) {
        let shown = words.filter(|word| self.shown[*word as usize]);
        found.extend(shown.map(|word| (product(self.vectors.get(word), vector), word)));
        found.retain(|(product, _)| *product > 0);
        found.sort_unstable_by_key(|(product, word)| (std::cmp::Reverse(*product), *word));
        found.dedup();
    }
}

fn number(words: &[Arc<str>]) -> HashMap<Arc<str>, u32> {
    words.iter().cloned().zip(0..).collect()
}

fn subwords(words: &[Arc<str>]) -> Subwords {
    Subwords::of(words.iter().map(|word| &**word))
}

/// Which words may be answered as neighbours: those that stand in posts, have a letter (what has none, a year or a
/// version, says when, not what), and are not another one with a Korean particle.
///
/// A word and what is left without its ending are both in the posts' tokens, whether or not the ending is a
/// particle. When what is left never stands there alone, `민주주` of `민주주의`, it is taken for no word.
fn shown(words: &[Arc<str>], numbers: &HashMap<Arc<str>, u32>, counts: &[u32]) -> Vec<bool> {
    let tells = |word: &Arc<str>, count: u32| count > 0 && word.contains(char::is_alphabetic);
    let mut shown: Vec<bool> = words.iter().zip(counts).map(|(word, count)| tells(word, *count)).collect();
    for (word, text) in words.iter().enumerate().filter(|(_, text)| !text.is_ascii()) {
        for stem in hangul::stems(text).filter_map(|stem| numbers.get(stem)) {
            let stem = *stem as usize;
            let (with, all) = (counts[word], counts[stem]);
            if with >= all && with >= ALWAYS_SO {
                shown[stem] = false;
            } else if all > 0 {
                shown[word] = false;
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go_on;

    /// A model of words with how often they stand in posts and where they point.
    fn model(words: &[(&str, u32, [f32; 2])]) -> Model {
        let mut vectors = Vectors::none(2);
        for (_, _, vector) in words {
            vectors.push(vector);
        }
        let counts: Vec<u32> = words.iter().map(|(_, count, _)| *count).collect();
        let words = words.iter().map(|(word, ..)| Arc::from(*word)).collect();
        let origin = Origin { source: Source::File, posts: 0, changes: 0, made: 0 };
        Model::make(origin, words, &counts, vectors, &mut go_on).unwrap()
    }

    fn neighbours(model: &Model, word: &str) -> Vec<String> {
        let number = model.number(word).unwrap();
        model.neighbours(number).map(|(other, _)| model.word(other).to_string()).collect()
    }

    fn neighbours_of_unknown(model: &Model, word: &str) -> Vec<String> {
        let found = model.neighbours_of_unknown(word).into_iter();
        found.map(|(other, _)| model.word(other).to_string()).collect()
    }

    #[test]
    fn only_words_that_stand_in_posts_and_have_letters_are_neighbours() {
        let model = model(&[
            ("rust", 3, [1.0, 0.0]),
            ("cargo", 2, [1.0, 0.1]),
            ("iron", 0, [1.0, 0.0]),
            ("2026", 9, [1.0, 0.0]),
        ]);
        assert_eq!(neighbours(&model, "rust"), ["cargo"]);
        assert_eq!(neighbours(&model, "iron"), ["rust", "cargo"]);
        assert_eq!(neighbours(&model, "2026"), ["rust", "cargo"]);
    }

    #[test]
    fn a_korean_word_with_a_particle_stands_aside_for_the_word() {
        let words = [
            ("학교", 30, [1.0, 0.0]),
            ("학교는", 12, [1.0, 0.0]),
            ("rust를", 2, [1.0, 0.2]),
            ("rust", 3, [1.0, 0.1]),
            ("민주주의", 20, [1.0, 0.3]),
            ("민주주", 20, [1.0, 0.3]),
        ];
        assert_eq!(neighbours(&model(&words), "학교"), ["rust", "민주주의"]);
        assert_eq!(neighbours(&model(&words), "학교는"), ["학교", "rust", "민주주의"]);
    }

    #[test]
    fn a_mistyped_word_has_the_neighbours_of_the_right_one() {
        let model = model(&[
            ("government", 9, [1.0, 0.0]),
            ("governor", 5, [0.9, 0.1]),
            ("council", 3, [1.0, 0.05]),
            ("cats", 3, [-1.0, 0.0]),
        ]);
        let found = neighbours_of_unknown(&model, "goverment");
        assert_eq!(found.len(), 3);
        assert!(found.contains(&"council".to_owned()), "{found:?}");
        assert_eq!(neighbours_of_unknown(&model, "cast"), ["cats"]);
        assert!(neighbours_of_unknown(&model, "xyz").is_empty());
    }

    #[test]
    fn a_model_without_words_knows_nothing() {
        let model = model(&[]);
        assert!(model.number("rust").is_none() && model.neighbours_of_unknown("rust").is_empty());
    }
}
