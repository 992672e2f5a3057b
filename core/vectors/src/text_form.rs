//! Vectors in the text format of word2vec and fastText: the first line has the number of words and of dimensions, each further
//! line a word and its components, separated by blanks.

use std::collections::HashSet;
use std::io::{self, BufRead, Read as _, Write};
use std::sync::Arc;

use tidings_tokens::tokens;

use crate::model::Model;
use crate::vectors::{DIMENSIONS_MAX, Vectors};

/// In bytes: a word and [`DIMENSIONS_MAX`] components.
const LINE_MAX: u64 = 1 << 16;

const RULE: &str =
    "a file of vectors is text: each line has a word and its components, the same number on every line";

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The text states the form that was expected.
    #[error("{0}")]
    Form(&'static str),
    #[error(transparent)]
    Input(io::Error),
}

pub fn write(model: &Model, out: impl Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    writeln!(out, "{} {}", model.words().len(), model.vectors().dimensions())?;
    for (word, number) in model.words().iter().zip(0..) {
        out.write_all(word.as_bytes())?;
        for component in model.vectors().components(number) {
            write!(out, " {component:.5}")?;
        }
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Reads the words that `wanted` accepts, each with its first vector. `wanted` receives only words that are one token, because no
/// search can contain others. The first line with the two numbers is optional, because `GloVe` does not write it.
pub fn read(
    input: impl BufRead,
    mut wanted: impl FnMut(&str) -> bool,
) -> Result<(Vec<Arc<str>>, Vectors), ReadError> {
    let mut lines = Lines { input, line: Vec::new() };
    let Some(first) = lines.next()? else { return Err(ReadError::Form(RULE)) };
    let fields: Vec<&str> = first.split_ascii_whitespace().collect();
    let head: Option<Vec<usize>> = fields.iter().map(|field| field.parse().ok()).collect();
    let (is_head, dimensions) = match head.as_deref() {
        Some([_, dimensions]) => (true, *dimensions),
        _ => (false, fields.len().saturating_sub(1)),
    };
    if !(1..=DIMENSIONS_MAX).contains(&dimensions) {
        return Err(ReadError::Form("vectors have 1 to 2000 components"));
    }
    let mut reading = Reading {
        words: Vec::new(),
        seen: HashSet::new(),
        vectors: Vectors::none(dimensions),
        components: Vec::with_capacity(dimensions),
    };
    if !is_head {
        reading.take(&first, &mut wanted)?;
    }
    while let Some(line) = lines.next()? {
        reading.take(&line, &mut wanted)?;
    }
    if reading.words.is_empty() {
        return Err(ReadError::Form(RULE));
    }
    Ok((reading.words, reading.vectors))
}

/// Reads vectors, and writes and rereads the model of them, as text and in its parts. Returns whether the input is vectors.
#[cfg(feature = "fuzzing")]
pub fn reread(bytes: &[u8]) -> bool {
    use crate::model::{Origin, Source};
    let Ok((words, vectors)) = read(bytes, |_| true) else { return false };
    assert_eq!(vectors.len(), words.len());
    let counts = vec![1; words.len()];
    let origin = Origin { source: Source::File, posts: 1, changes: 1, made: 1 };
    let model = Model::new(origin, words, &counts, vectors);
    let mut text = Vec::new();
    write(&model, &mut text).expect("writing to memory does not fail");
    let (again, _) = read(&*text, |_| true).expect("written vectors can be read");
    assert!(again == model.words(), "the words are the same");
    let again = Model::from_stored(model.origin.clone(), model.to_stored())
        .expect("the parts of a model can be read");
    assert!(again.vectors() == model.vectors(), "the vectors are the same");
    assert!(again.neighbours("unknown").len() <= model.words().len());
    true
}

struct Reading {
    words: Vec<Arc<str>>,
    seen: HashSet<Arc<str>>,
    vectors: Vectors,
    components: Vec<f32>,
}

impl Reading {
    fn take(&mut self, line: &str, wanted: &mut impl FnMut(&str) -> bool) -> Result<(), ReadError> {
        let mut fields = line.split_ascii_whitespace();
        let Some(word) = fields.next().and_then(token) else { return Ok(()) };
        if self.seen.contains(&*word) || !wanted(&word) {
            return Ok(());
        }
        self.components.clear();
        let numbers = fields.map(|field| field.parse().ok().filter(|x: &f32| x.is_finite()));
        self.components.extend(numbers.map_while(|number| number));
        if self.components.len() != self.vectors.dimensions() {
            // A word with blanks is skipped.
            let has_blanks = line.split_ascii_whitespace().count() > self.vectors.dimensions() + 1;
            return if has_blanks { Ok(()) } else { Err(ReadError::Form(RULE)) };
        }
        self.vectors.push(&self.components);
        self.seen.insert(Arc::clone(&word));
        self.words.push(word);
        Ok(())
    }
}

/// `None` unless `word` is exactly one token.
fn token(word: &str) -> Option<Arc<str>> {
    let first = tokens::tokens(word).into_iter().next()?;
    (first == tokens::normalise_term(word)).then(|| first.into())
}

struct Lines<R> {
    input: R,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Invalid UTF-8 is replaced.
    fn next(&mut self) -> Result<Option<String>, ReadError> {
        self.line.clear();
        let read = (&mut self.input).take(LINE_MAX).read_until(b'\n', &mut self.line);
        match read.map_err(ReadError::Input)? as u64 {
            0 => Ok(None),
            LINE_MAX => Err(ReadError::Form(RULE)),
            _ => Ok(Some(String::from_utf8_lossy(&self.line).into_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Origin, Source};

    fn all(text: &str) -> Result<(Vec<Arc<str>>, Vectors), ReadError> {
        read(text.as_bytes(), |_| true)
    }

    fn words(text: &str) -> Vec<String> {
        all(text).unwrap().0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn words_are_read_as_tokens() {
        let text = "7 2\nRust 1 0\nrust 0 1\nthe 1 1\nnew york 1 1\nnew_york 1 1\ne-mail 1 1\n학교에서 1 1\n";
        assert_eq!(words(text), ["rust", "new_york", "학교에서"]);
        let (_, vectors) = all(text).unwrap();
        assert_eq!(vectors.components(0).collect::<Vec<_>>(), [1.0, 0.0], "the first vector is used");
    }

    #[test]
    fn the_first_line_is_optional_and_lines_may_end_with_blanks() {
        assert_eq!(words("rust 1 0 0 \r\ncargo 0 1 0\r\n"), ["rust", "cargo"]);
        assert_eq!(words("1 3\nrust 1e-1 -2 .5"), ["rust"]);
    }

    #[test]
    fn vectors_of_unwanted_words_are_not_read() {
        let (words, vectors) = read("2 2\nrust x y\ncargo 1 2\n".as_bytes(), |word| word != "rust").unwrap();
        assert_eq!((words, vectors.len()), (vec![Arc::from("cargo")], 1));
    }

    #[test]
    fn input_of_a_different_form_is_refused() {
        for text in [
            "",
            "one\n",
            "1 0\n",
            "1 3000\n",
            "rust 1 2\ncargo 1\n",
            "1 2\nrust 1 x\n",
            "1 2\nrust 1 inf\n",
            "1 2\nrust NaN 1\n",
            "x y\n",
        ] {
            assert!(matches!(all(text), Err(ReadError::Form(_))), "{text:?}");
        }
        assert!(all(&format!("rust {}", "1 ".repeat(40_000))).is_err());
    }

    proptest! {
        #[test]
        fn vectors_are_read_as_they_were_written(words in prop::collection::btree_set("[b-z]{4,9}x", 1..20), seed: u64) {
            let mut random = crate::random::Random::new(seed);
            let mut vectors = Vectors::none(5);
            for _ in &words {
                vectors.push(&[(); 5].map(|()| random.uniform()));
            }
            let words: Vec<Arc<str>> = words.into_iter().map(Arc::from).collect();
            let counts = vec![1; words.len()];
            let origin = Origin { source: Source::File, posts: 1, changes: 1, made: 1 };
            let model = Model::new(origin, words.clone(), &counts, vectors.clone());
            let mut text = Vec::new();
            write(&model, &mut text).unwrap();
            let (read_words, read_vectors) = read(&*text, |_| true).unwrap();
            prop_assert_eq!(read_words, words);
            for (a, b) in read_vectors.values().iter().zip(vectors.values()) {
                prop_assert!(a.abs_diff(*b) <= 1, "{a} {b}");
            }
        }
    }
}
