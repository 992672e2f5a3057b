use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use tidings_tokens::hangul;

use crate::Recipe;
use crate::subword::{self, Subwords};
use crate::vectors::{Vectors, cosine, product};

pub const NEIGHBOURS_MAX: usize = 30;

/// So that the most similar words have by far the greatest weight.
const LENT_POWER: i32 = 4;
/// In characters. Shorter words are parts of words by accident.
const PART_MIN: usize = 3;
/// The minimum length in Hangul, whose syllables carry as much information as two letters.
const PART_MIN_HANGUL: usize = 2;
/// The minimum number of occurrences at which a Korean word that always ends with an apparent particle counts as a word
/// without a particle.
const ALWAYS_INFLECTED: u32 = 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    Posts(Recipe),
    File,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub source: Source,
    pub posts: u32,
    /// The total number of changes of posts' words until then, as the store counts them.
    pub changes: i64,
    /// In milliseconds UTC.
    pub made: i64,
}

/// Words are numbered from 0.
pub struct Model {
    pub origin: Origin,
    words: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    shown: Vec<bool>,
    vectors: Vectors,
    /// Computed when first needed: only unknown words need them, and they take longer than reading a model.
    subwords: OnceLock<Subwords>,
}

impl Model {
    /// `counts` are the occurrences of each word in posts.
    pub(crate) fn new(origin: Origin, words: Vec<Arc<str>>, counts: &[u32], vectors: Vectors) -> Self {
        let shown = shown(&words, &number(&words), counts);
        Self::restore(origin, words, shown, vectors)
    }

    /// `shown` says which words can be neighbours.
    pub(crate) fn restore(origin: Origin, words: Vec<Arc<str>>, shown: Vec<bool>, vectors: Vectors) -> Self {
        Self { origin, numbers: number(&words), words, shown, vectors, subwords: OnceLock::new() }
    }

    /// Computes the parts that would otherwise be computed when they are first needed.
    pub fn complete(&self) {
        self.subwords();
    }

    fn subwords(&self) -> &Subwords {
        self.subwords.get_or_init(|| Subwords::of(self.words.iter().map(|word| &**word)))
    }

    /// In the order of their numbers.
    pub fn words(&self) -> &[Arc<str>] {
        &self.words
    }

    pub(crate) fn shown(&self) -> &[bool] {
        &self.shown
    }

    /// In the order of the words' numbers.
    pub fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    pub fn number(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    pub fn word(&self, number: u32) -> &Arc<str> {
        &self.words[number as usize]
    }

    /// Returns the words most similar to a word with their similarities from 0 to 1, most similar first. The vector of an unknown word
    /// is the mean of the vectors of words with similar spelling; without such words, the result is empty. Every word of the model is
    /// compared, so callers cache the result.
    pub fn neighbours(&self, word: &str) -> Vec<(u32, f32)> {
        if let Some(number) = self.number(word) {
            return self.nearest(self.vectors.get(number), Some(number));
        }
        let lenders = self.lenders(word);
        if lenders.is_empty() { Vec::new() } else { self.nearest(self.lent(&lenders).at(0), None) }
    }

    /// Only words with a positive product, without the word `own`.
    fn nearest(&self, vector: &[i16], own: Option<u32>) -> Vec<(u32, f32)> {
        // Of equally near words, the more frequent one comes first: its number is less.
        let truncate = |best: &mut Vec<(i32, u32)>| {
            best.sort_unstable_by_key(|(product, word)| (Reverse(*product), *word));
            best.truncate(NEIGHBOURS_MAX);
        };
        let (mut best, mut least) = (Vec::with_capacity(4 * NEIGHBOURS_MAX), 0);
        for ((other, shown), word) in self.vectors.all().zip(&self.shown).zip(0..) {
            let product = product(other, vector);
            if product > least && *shown && own != Some(word) {
                best.push((product, word));
                if best.len() == 4 * NEIGHBOURS_MAX {
                    truncate(&mut best);
                    least = best[NEIGHBOURS_MAX - 1].0;
                }
            }
        }
        truncate(&mut best);
        best.into_iter().map(|(product, word)| (word, similarity(cosine(product)))).collect()
    }

    pub fn is_in_posts(&self, word: &str) -> bool {
        self.number(word).is_some_and(|number| self.shown[number as usize])
    }

    /// Splits a compound into two words of posts, or into three if no two are found; empty if no three are found either. Of several
    /// splits, it is the one whose rarest word is the most frequent. Words with Han or Kana are not split, because their tokens are
    /// pairs of characters.
    pub fn parts(&self, word: &str) -> Vec<&Arc<str>> {
        let is_hangul = |c| ('가'..='힣').contains(&c);
        let shortest = if word.chars().all(is_hangul) { PART_MIN_HANGUL } else { PART_MIN };
        if !word.chars().all(|c| is_hangul(c) || c.is_ascii_lowercase()) {
            return Vec::new();
        }
        // The positions between characters, by number.
        let ends: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
        let known = |from: usize, to: usize| {
            let number = if to < from + shortest { None } else { self.number(&word[ends[from]..ends[to]]) };
            number.filter(|number| self.shown[*number as usize])
        };
        let last = ends.len() - 1;
        let two = (1..last).filter_map(|middle| Some(vec![known(0, middle)?, known(middle, last)?]));
        // The most frequent words have the least numbers.
        let best = two.min_by_key(|parts| parts.iter().max().copied()).or_else(|| {
            let first = (1..last).filter_map(|a| Some((a, known(0, a)?)));
            let three = first.flat_map(|(a, first)| {
                let known = &known;
                (a + 1..last).filter_map(move |b| Some(vec![first, known(a, b)?, known(b, last)?]))
            });
            three.min_by_key(|parts| parts.iter().max().copied())
        });
        best.unwrap_or_default().into_iter().map(|part| self.word(part)).collect()
    }

    /// Returns the words that lend their vectors to an unknown one, with the similarity of their spelling. A word that differs by
    /// two swapped letters comes first.
    fn lenders(&self, word: &str) -> Vec<(u32, f32)> {
        let swap = subword::swaps(word).filter_map(|meant| self.number(&meant)).min();
        swap.map(|meant| (meant, 1.0)).into_iter().chain(self.subwords().like(word)).collect()
    }

    /// The weighted mean of the vectors of `lenders`, as the only vector.
    fn lent(&self, lenders: &[(u32, f32)]) -> Vectors {
        let mut sum = vec![0.0; self.vectors.dimensions()];
        for (lender, shared) in lenders {
            let weight = shared.powi(LENT_POWER);
            sum.iter_mut().zip(self.vectors.components(*lender)).for_each(|(sum, x)| *sum += weight * x);
        }
        let mut mean = Vectors::none(self.vectors.dimensions());
        mean.push(&sum);
        mean
    }
}

/// The power of ⅔. The cosines of good neighbours begin at 0.35, which is the similarity 0.5; the cosines 0 and 1 stay the same.
/// All similarities that a model returns, and so the minimum of the settings, are on this scale.
fn similarity(cosine: f32) -> f32 {
    (cosine * cosine).cbrt()
}

fn number(words: &[Arc<str>]) -> HashMap<Arc<str>, u32> {
    words.iter().cloned().zip(0..).collect()
}

/// Words can be neighbours if they occur in posts, have a letter, and are not a different word with a Korean particle. A token
/// without letters, such as a year or a version, does not name a topic. The tokens of posts include each word and the word without
/// its ending, whether or not that is a particle: a shorter form that never occurs alone (`민주주` of `민주주의`) is not a word.
fn shown(words: &[Arc<str>], numbers: &HashMap<Arc<str>, u32>, counts: &[u32]) -> Vec<bool> {
    let tells = |word: &Arc<str>, count: u32| count > 0 && word.contains(char::is_alphabetic);
    let mut shown: Vec<bool> = words.iter().zip(counts).map(|(word, count)| tells(word, *count)).collect();
    for (word, text) in words.iter().enumerate().filter(|(_, text)| !text.is_ascii()) {
        for stem in hangul::stems(text).filter_map(|stem| numbers.get(stem)) {
            let stem = *stem as usize;
            let (with, all) = (counts[word], counts[stem]);
            if with >= all && with >= ALWAYS_INFLECTED {
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

    fn model(words: &[(&str, u32, [f32; 2])]) -> Model {
        let mut vectors = Vectors::none(2);
        for (_, _, vector) in words {
            vectors.push(vector);
        }
        let counts: Vec<u32> = words.iter().map(|(_, count, _)| *count).collect();
        let words = words.iter().map(|(word, ..)| Arc::from(*word)).collect();
        let origin = Origin { source: Source::File, posts: 0, changes: 0, made: 0 };
        Model::new(origin, words, &counts, vectors)
    }

    fn neighbours(model: &Model, word: &str) -> Vec<String> {
        model.neighbours(word).into_iter().map(|(other, _)| model.word(other).to_string()).collect()
    }

    #[test]
    fn only_words_in_posts_with_letters_are_neighbours() {
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
    fn the_nearest_of_many_words_come_first() {
        let mut random = crate::random::Random::new(3);
        let mut vectors = Vectors::none(4);
        for _ in 0..500 {
            vectors.push(&[(); 4].map(|()| random.uniform()));
        }
        let words = (0..500).map(|word| format!("w{word}").into()).collect();
        let origin = Origin { source: Source::File, posts: 0, changes: 0, made: 0 };
        let model = Model::new(origin, words, &[1; 500], vectors);
        let mut exact: Vec<(i32, u32)> =
            (0..500).map(|other| (product(model.vectors.get(other), model.vectors.get(7)), other)).collect();
        exact.retain(|(product, other)| *product > 0 && *other != 7);
        exact.sort_unstable_by_key(|(product, other)| (Reverse(*product), *other));
        let found: Vec<u32> = model.neighbours("w7").into_iter().map(|(other, _)| other).collect();
        let exact: Vec<u32> = exact.into_iter().map(|(_, other)| other).take(NEIGHBOURS_MAX).collect();
        assert_eq!(found, exact);
    }

    #[test]
    fn a_korean_word_with_a_particle_is_no_neighbour_beside_the_word() {
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
    fn a_misspelled_word_has_the_neighbours_of_the_right_one() {
        let model = model(&[
            ("government", 9, [1.0, 0.0]),
            ("governor", 5, [0.9, 0.1]),
            ("council", 3, [1.0, 0.05]),
            ("cats", 3, [-1.0, 0.0]),
        ]);
        let found = neighbours(&model, "goverment");
        assert_eq!(found.len(), 3);
        assert!(found.contains(&"council".to_owned()), "{found:?}");
        assert_eq!(neighbours(&model, "cast"), ["cats"]);
        assert!(neighbours(&model, "xyz").is_empty());
    }

    #[test]
    fn the_similarity_is_0_and_1_where_the_cosine_is_and_a_half_at_a_cosine_of_35_hundredths() {
        assert!(similarity(0.0) < f32::EPSILON && (similarity(1.0) - 1.0).abs() < f32::EPSILON);
        assert!((similarity(0.3536) - 0.5).abs() < 1e-3);
        let steps: Vec<f32> = (0_u8..=100).map(|step| similarity(f32::from(step) / 100.0)).collect();
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]));
        let model = model(&[("rust", 1, [1.0, 0.0]), ("cargo", 1, [0.353_553_4, 0.935_414_3])]);
        let [(_, value)] = model.neighbours("rust")[..] else { panic!() };
        assert!((value - 0.5).abs() < 1e-3, "{value}");
    }

    #[test]
    fn a_compound_is_split_into_the_most_frequent_words_of_posts() {
        let words =
            ["data", "base", "database", "databas", "note", "book", "notebook", "데이터", "베이스", "는"];
        let model = model(&words.map(|word| (word, u32::from(word != "databas"), [1.0, 0.0])));
        let parts = |word| model.parts(word).into_iter().map(|part| &**part).collect::<Vec<_>>();
        assert_eq!(parts("database"), ["data", "base"]);
        assert_eq!(parts("notebookdata"), ["notebook", "data"], "two words rather than three");
        assert_eq!(parts("notedatabook"), ["note", "data", "book"]);
        assert_eq!(parts("데이터베이스"), ["데이터", "베이스"]);
        assert_eq!(parts("데이터베이스data"), ["데이터", "베이스", "data"]);
        for word in ["", "data", "databas", "dat", "notebases", "note-book", "데이터는", "東京", "data1"]
        {
            assert!(parts(word).is_empty(), "{word}");
        }
        assert!(model.is_in_posts("data") && !model.is_in_posts("databas") && !model.is_in_posts("x"));
    }
}
