use std::sync::Arc;

use crate::model::{Model, Origin};
use crate::vectors::{DIMENSIONS_MAX, Vectors};

/// In bytes, approximately: so small that writing a part hardly delays other writes.
const PART: usize = 48 << 10;
/// In bytes: an average word, with what surrounds it in a list.
const WORD: usize = 16;

pub struct StoredPart {
    /// Each with whether it can be a neighbour.
    pub words: Vec<(String, bool)>,
    /// Two bytes for each component, the low one first.
    pub vectors: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its parts do not fit together")]
pub struct Damaged;

impl Model {
    /// In order; none for a model without words.
    pub fn to_stored(&self) -> impl Iterator<Item = StoredPart> {
        let dimensions = self.vectors().dimensions();
        let step = (PART / (2 * dimensions + WORD)).max(1);
        let words = self.words().chunks(step).zip(self.shown().chunks(step));
        words.zip(self.vectors().values().chunks(step * dimensions)).map(|((words, shown), values)| {
            StoredPart {
                words: words.iter().map(ToString::to_string).zip(shown.iter().copied()).collect(),
                vectors: values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            }
        })
    }

    /// Fails when a vector is incomplete, or has another number of components than those before.
    pub fn from_stored(origin: Origin, parts: impl IntoIterator<Item = StoredPart>) -> Result<Self, Damaged> {
        let (mut all, mut all_shown, mut values) = (Vec::<Arc<str>>::new(), Vec::new(), Vec::new());
        for StoredPart { words, vectors } in parts {
            let (words, shown): (Vec<String>, Vec<bool>) = words.into_iter().unzip();
            all.extend(words.into_iter().map(Arc::from));
            all_shown.extend(shown);
            let (pairs, rest) = vectors.as_chunks::<2>();
            values.extend(pairs.iter().map(|pair| i16::from_le_bytes(*pair)));
            if !rest.is_empty() || values.len() % all.len().max(1) != 0 {
                return Err(Damaged);
            }
        }
        let dimensions = values.len().checked_div(all.len()).unwrap_or(1);
        if !(1..=DIMENSIONS_MAX).contains(&dimensions) || values.len() != dimensions * all.len() {
            return Err(Damaged);
        }
        Ok(Self::restore(origin, all, all_shown, Vectors::new(dimensions, values)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Source;
    use crate::random::Random;

    fn model(words: usize, dimensions: usize) -> Model {
        let (mut vectors, mut random) = (Vectors::none(dimensions), Random::new(1));
        for _ in 0..words {
            vectors.push(&(0..dimensions).map(|_| random.uniform()).collect::<Vec<f32>>());
        }
        let origin = Origin { source: Source::File, posts: 7, changes: 1 << 40, made: 1 << 41 };
        let counts: Vec<u32> = (0..2).cycle().take(words).collect();
        let words = (0..words).map(|word| format!("학교{word}x").into()).collect();
        Model::new(origin, words, &counts, vectors)
    }

    #[test]
    fn a_model_is_read_as_it_was_written() {
        for (words, dimensions, parts) in
            [(0, 3, 0), (1, DIMENSIONS_MAX, 1), (40, DIMENSIONS_MAX, 4), (900, 9, 1)]
        {
            let model = model(words, dimensions);
            let written: Vec<StoredPart> = model.to_stored().collect();
            assert_eq!(written.len(), parts, "{words} words");
            let read = Model::from_stored(model.origin.clone(), written).unwrap();
            assert_eq!((read.words(), read.shown()), (model.words(), model.shown()));
            assert_eq!(read.vectors().values(), model.vectors().values());
        }
    }

    #[test]
    fn parts_that_do_not_fit_together_are_refused() {
        let read = |change: fn(&mut [StoredPart])| {
            let model = model(40, DIMENSIONS_MAX);
            let mut parts: Vec<StoredPart> = model.to_stored().collect();
            change(&mut parts);
            Model::from_stored(model.origin.clone(), parts).err()
        };
        assert_eq!(read(|_| ()), None);
        let odd: [fn(&mut [StoredPart]); 5] = [
            |parts| parts[1].vectors.truncate(7),
            |parts| parts[1].words.truncate(1),
            |parts| parts[1].vectors.clear(),
            |parts| parts.iter_mut().for_each(|part| part.vectors.clear()),
            |parts| parts[3].words.clear(),
        ];
        for change in odd {
            assert_eq!(read(change), Some(Damaged));
        }
    }
}
