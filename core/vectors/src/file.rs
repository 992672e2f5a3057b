//! The file format of a model.
//!
//! All numbers are little-endian. A file that is incomplete or has an unknown version is refused, and the model is
//! learned again. The format never changes within a version. Versions 1 and 2 are the same, but their models were
//! learned by another method, or from words of another form: they can be used until they are learned again.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `tidwords` |
//! | 4 | the version |
//! | 1 | 0: learned from posts, 1: loaded from a file |
//! | 4 4 4 4 4 8 | the recipe: dimensions, window, minimum posts, maximum words, maximum words read, seed |
//! | 4 8 8 | the origin: posts, changes of posts, time |
//! | 4 4 4 4 | words, bytes of their texts, dimensions, neighbours |
//! | | for each word, the bytes of its text (2), whether it is shown (1), the number of its neighbours (1) |
//! | | the texts |
//! | | the vectors, 2 bytes per component |
//! | | the neighbours' words (4 each), then their cosines (2 each) |
//! | 4 | the CRC-32 of everything before |

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::sync::Arc;

use crate::Recipe;
use crate::model::{Model, Origin, Source};
use crate::near::Near;
use crate::vectors::Vectors;

const MAGIC: &[u8; 8] = b"tidwords";
const VERSION: u32 = 3;
/// The number of bytes before the table of words.
const HEAD: u64 = 8 + 4 + 1 + (5 * 4 + 8) + (4 + 8 + 8) + 4 * 4;
/// The maximum number of dimensions of a model.
pub const DIMENSIONS_MAX: usize = 2_000;

/// Writes a model.
///
/// # Errors
/// Returns the error of `out`.
pub fn write(model: &Model, out: impl Write) -> io::Result<()> {
    let mut out =
        io::BufWriter::with_capacity(1 << 16, Checksummed { inner: out, sum: crc32fast::Hasher::new() });
    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    let Origin { source, posts, changes, made } = &model.origin;
    let (kind, recipe) = match source {
        Source::Posts(recipe) => (0, recipe.clone()),
        Source::File => (1, Recipe::default()),
    };
    out.write_all(&[kind])?;
    let Recipe { dimensions, window, min_posts, words, corpus, seed } = recipe;
    for number in [size(dimensions)?, size(window)?, min_posts, size(words)?, size(corpus)?] {
        out.write_all(&number.to_le_bytes())?;
    }
    out.write_all(&seed.to_le_bytes())?;
    out.write_all(&posts.to_le_bytes())?;
    out.write_all(&changes.to_le_bytes())?;
    out.write_all(&made.to_le_bytes())?;
    let texts = model.words().iter().map(|word| word.len()).sum();
    let (vectors, near) = (model.vectors(), model.near());
    for number in [model.len(), texts, vectors.dimensions(), near.words.len()] {
        out.write_all(&size(number)?.to_le_bytes())?;
    }
    for ((word, shown), starts) in model.words().iter().zip(model.shown()).zip(near.starts.windows(2)) {
        let text = u16::try_from(word.len()).map_err(io::Error::other)?;
        let neighbours = u8::try_from(starts[1] - starts[0]).map_err(io::Error::other)?;
        out.write_all(&text.to_le_bytes())?;
        out.write_all(&[u8::from(*shown), neighbours])?;
    }
    model.words().iter().try_for_each(|word| out.write_all(word.as_bytes()))?;
    vectors.values().iter().try_for_each(|x| out.write_all(&x.to_le_bytes()))?;
    near.words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
    near.cosines.iter().try_for_each(|units| out.write_all(&units.to_le_bytes()))?;
    let Checksummed { mut inner, sum } = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    inner.write_all(&sum.finalize().to_le_bytes())?;
    inner.flush()
}

/// Reads a model that [`write()`] wrote; `length` is the number of bytes of the input.
///
/// # Errors
/// Returns an error when the input cannot be read, is incomplete or damaged, or is not a model.
pub fn read(input: impl Read, length: u64) -> io::Result<Model> {
    let mut input = Checksummed { inner: io::BufReader::new(input), sum: crc32fast::Hasher::new() };
    let magic: [u8; 8] = input.array()?;
    let version = u32::from_le_bytes(input.array()?);
    if magic != *MAGIC || !(1..=VERSION).contains(&version) {
        return Err(damaged("it has an unknown version"));
    }
    let [kind] = input.array()?;
    let [dimensions, window, min_posts, words, corpus] = input.sizes()?;
    let seed = u64::from_le_bytes(input.array()?);
    let min_posts = u32::try_from(min_posts).map_err(io::Error::other)?;
    let source = match kind {
        // An empty recipe is never that of the settings, so the model is learned again.
        0 if version < VERSION => Source::Posts(Recipe::default()),
        0 => Source::Posts(Recipe { dimensions, window, min_posts, words, corpus, seed }),
        _ => Source::File,
    };
    let posts = u32::from_le_bytes(input.array()?);
    let changes = i64::from_le_bytes(input.array()?);
    let made = i64::from_le_bytes(input.array()?);
    let [words, texts, dimensions, neighbours] = input.sizes()?;
    // The sizes are checked before they determine how much memory is allocated.
    let [n, t, d, e] = [words, texts, dimensions, neighbours].map(|number| number as u64);
    if !(1..=DIMENSIONS_MAX).contains(&dimensions) || HEAD + n * (4 + 2 * d) + t + 6 * e + 4 != length {
        return Err(damaged("it is incomplete"));
    }
    let table = input.array_of(words, |[a, b, shown, neighbours]: [u8; 4]| {
        (usize::from(u16::from_le_bytes([a, b])), shown != 0, u32::from(neighbours))
    })?;
    let texts =
        String::from_utf8(input.array_of(texts, |[byte]: [u8; 1]| byte)?).map_err(io::Error::other)?;
    let vectors = Vectors::new(dimensions, input.array_of(words * dimensions, i16::from_le_bytes)?);
    let near = Near {
        starts: sums(table.iter().map(|(_, _, neighbours)| *neighbours)),
        words: input.array_of(neighbours, u32::from_le_bytes)?,
        cosines: input.array_of(neighbours, u16::from_le_bytes)?,
    };
    let sum = input.sum.clone().finalize();
    if u32::from_le_bytes(input.array()?) != sum {
        return Err(damaged("its checksum is wrong"));
    }
    let words = cut(&texts, table.iter().map(|(length, ..)| *length))
        .ok_or_else(|| damaged("its words do not match its table"))?;
    if near.starts.last().is_none_or(|end| *end as usize != neighbours)
        || near.words.iter().any(|word| *word as usize >= words.len())
    {
        return Err(damaged("its neighbours do not match its words"));
    }
    let shown = table.into_iter().map(|(_, shown, _)| shown).collect();
    Ok(Model::restore(Origin { source, posts, changes, made }, words, shown, vectors, near))
}

/// Reads a model twice, first with its own checksum, then with the correct one. Asserts that a model can be used, and
/// that writing it again gives the same bytes. Returns whether the input was a model.
#[cfg(feature = "fuzzing")]
pub fn reread(bytes: &[u8]) -> bool {
    let mut summed = bytes.to_vec();
    if let Some((body, sum)) = summed.split_last_chunk_mut::<4>() {
        *sum = crc32fast::hash(body).to_le_bytes();
    }
    let mut is_one = false;
    for bytes in [bytes, &summed] {
        let Ok(model) = read(bytes, bytes.len() as u64) else { continue };
        is_one = true;
        for (word, number) in model.words().iter().zip(0..).take(20) {
            assert!(model.neighbours(number).count() <= model.len());
            assert_eq!(model.number(word), Some(number));
        }
        let _ = model.neighbours_of_unknown("unknown");
        let mut written = Vec::new();
        write(&model, &mut written).expect("writing to memory does not fail");
        let again = read(&*written, written.len() as u64).expect("a written model can be read");
        let mut rewritten = Vec::new();
        write(&again, &mut rewritten).expect("writing to memory does not fail");
        assert!(written == rewritten, "writing a model again gives the same bytes");
    }
    is_one
}

/// Splits `texts` into pieces of these lengths; `None` if the lengths do not add up or two pieces are the same.
fn cut(texts: &str, lengths: impl ExactSizeIterator<Item = usize>) -> Option<Vec<Arc<str>>> {
    let (mut words, mut rest, mut seen) = (Vec::with_capacity(lengths.len()), texts, HashSet::new());
    for length in lengths {
        let (word, more) = rest.split_at_checked(length)?;
        words.push(seen.insert(word).then(|| Arc::from(word))?);
        rest = more;
    }
    rest.is_empty().then_some(words)
}

/// Returns the running sums of the numbers, from 0 to the total.
fn sums(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let ends = numbers.scan(0_u32, |sum, number| {
        *sum = sum.saturating_add(number);
        Some(*sum)
    });
    std::iter::once(0).chain(ends).collect()
}

fn size(number: usize) -> io::Result<u32> {
    u32::try_from(number).map_err(io::Error::other)
}

fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Computes the checksum of the bytes that pass through.
struct Checksummed<T> {
    inner: T,
    sum: crc32fast::Hasher,
}

impl<W: Write> Write for Checksummed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Checksummed<R> {
    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.inner.read_exact(&mut bytes)?;
        self.sum.update(&bytes);
        Ok(bytes)
    }

    fn sizes<const N: usize>(&mut self) -> io::Result<[usize; N]> {
        let mut sizes = [0; N];
        for size in &mut sizes {
            *size = usize::try_from(u32::from_le_bytes(self.array()?)).map_err(io::Error::other)?;
        }
        Ok(sizes)
    }

    /// Reads `count` items of `N` bytes each.
    fn array_of<const N: usize, T>(
        &mut self,
        count: usize,
        item: impl Fn([u8; N]) -> T,
    ) -> io::Result<Vec<T>> {
        /// The number of items per read.
        const AT_ONCE: usize = 1 << 14;
        let mut items = Vec::with_capacity(count);
        let mut bytes = vec![0; N * count.min(AT_ONCE)];
        while items.len() < count {
            let at_once = (count - items.len()).min(AT_ONCE);
            let bytes = &mut bytes[..N * at_once];
            self.inner.read_exact(bytes)?;
            self.sum.update(bytes);
            let (arrays, _) = bytes.as_chunks::<N>();
            items.extend(arrays.iter().map(|array| item(*array)));
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ignore_progress;

    fn model(words: &[&str], dimensions: usize, source: Source) -> Model {
        let mut vectors = Vectors::none(dimensions);
        let mut random = crate::random::Random::new(1);
        for _ in words {
            let vector: Vec<f32> = (0..dimensions).map(|_| random.uniform()).collect();
            vectors.push(&vector);
        }
        let counts = vec![1; words.len()];
        let origin = Origin { source, posts: 7, changes: 1 << 40, made: 1 << 41 };
        let words = words.iter().map(|word| Arc::from(*word)).collect();
        Model::make(origin, words, &counts, vectors, &mut ignore_progress).unwrap()
    }

    fn bytes(model: &Model) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(model, &mut bytes).unwrap();
        bytes
    }

    fn read_bytes(bytes: &[u8]) -> io::Result<Model> {
        read(bytes, bytes.len() as u64)
    }

    #[test]
    fn a_model_is_read_as_it_was_written() {
        let recipe =
            Recipe { dimensions: 200, window: 10, min_posts: 5, words: 9, corpus: 8, seed: u64::MAX };
        for source in [Source::Posts(recipe), Source::File] {
            for words in [&[][..], &["rust", "학교", "東京", "2026"]] {
                let model = model(words, 3, source.clone());
                let read = read_bytes(&bytes(&model)).unwrap();
                let expected = (source == Source::File).then_some(Source::File);
                assert_eq!(read.origin.source, expected.unwrap_or(source.clone()));
                let Origin { posts, changes, made, .. } = read.origin;
                assert_eq!((posts, changes, made), (7, 1 << 40, 1 << 41));
                assert_eq!(read.words(), model.words());
                assert_eq!(read.shown(), model.shown());
                assert_eq!((read.vectors(), read.near()), (model.vectors(), model.near()));
            }
        }
    }

    #[test]
    fn a_model_of_an_earlier_version_is_read_as_one_of_another_recipe() {
        let recipe = Recipe { dimensions: 4, window: 10, min_posts: 5, words: 9, corpus: 8, seed: 1 };
        for (source, expected) in
            [(Source::Posts(recipe), Source::Posts(Recipe::default())), (Source::File, Source::File)]
        {
            let model = model(&["rust", "cargo", "crab"], 4, source);
            let mut bytes = bytes(&model);
            bytes[MAGIC.len()..][..4].copy_from_slice(&(VERSION - 1).to_le_bytes());
            let (body, sum) = bytes.split_last_chunk_mut::<4>().unwrap();
            *sum = crc32fast::hash(body).to_le_bytes();
            let read = read_bytes(&bytes).unwrap();
            assert_eq!(read.origin.source, expected);
            assert_eq!((read.vectors(), read.near()), (model.vectors(), model.near()));
        }
    }

    /// Damaged and truncated files do not make the reader panic.
    #[test]
    fn a_damaged_or_truncated_file_is_refused() {
        let whole = bytes(&model(&["rust", "cargo", "crab"], 4, Source::File));
        assert!(read_bytes(&whole).is_ok());
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            assert!(read_bytes(&damaged).is_err(), "byte {at}");
            assert!(read_bytes(&whole[..at]).is_err(), "cut at {at}");
            assert!(read(&whole[..at], whole.len() as u64).is_err(), "ends early at {at}");
        }
        assert!(read_bytes(&[&whole[..], b"more"].concat()).is_err());
    }

    proptest! {
        #[test]
        fn other_input_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), length: u64) {
            prop_assert!(read_bytes(&bytes).is_err());
            prop_assert!(read(&*[MAGIC, &VERSION.to_le_bytes()[..], &bytes].concat(), length).is_err());
        }
    }
}
