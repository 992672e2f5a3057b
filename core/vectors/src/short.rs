//! Short unit vectors with components of 8 bits, because reading them from memory takes most of the time of a comparison. The
//! cosine of two of them is rounded by about 0.002.

use crate::vectors::unit;

/// The number of dimensions of short vectors: a multiple of sixteen, of which a processor multiplies eight at once.
pub const SHORT: usize = 48;
const HALF: usize = SHORT / 2;

/// The stored value of a component of 1 of a vector …
const ONE: f32 = 127.0;
/// … and of a direction.
const DIRECTION_ONE: f32 = 32_767.0;

/// A component of the first half of a vector in the low byte of each number, and one of the second half in the high byte. A shift
/// extends each to 16 bits, which is faster than extending single bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pairs([i16; HALF]);

impl Pairs {
    #[inline]
    fn halves(self) -> [[i16; HALF]; 2] {
        [self.0.map(|pair| pair << 8 >> 8), self.0.map(|pair| pair >> 8)]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShortVectors(Vec<Pairs>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction([[i16; HALF]; 2]);

impl Direction {
    /// At most [`SHORT`] components are used. A vector of zeros or with non-finite components has no direction: all cosines are 0.
    pub fn of(vector: &[f32]) -> Self {
        Self(halves(vector, DIRECTION_ONE))
    }
}

impl ShortVectors {
    pub fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// At most [`SHORT`] components are used. A vector of zeros or with non-finite components becomes zeros.
    pub fn push(&mut self, vector: &[f32]) {
        let [low, high] = halves(vector, ONE);
        let mut pairs = Pairs::default();
        for ((pair, low), high) in pairs.0.iter_mut().zip(low).zip(high) {
            *pair = low & 0xFF | high << 8;
        }
        self.0.push(pairs);
    }

    /// `weight` times the vector at `place`.
    pub fn add_to(&self, sum: &mut [f32], place: usize, weight: f32) {
        let weight = weight / ONE;
        let (low, high) = sum.split_at_mut(HALF.min(sum.len()));
        for (sums, half) in [low, high].into_iter().zip(self.0[place].halves()) {
            sums.iter_mut().zip(half).for_each(|(sum, x)| *sum += weight * f32::from(x));
        }
    }

    /// From -1 to 1.
    pub fn cosine(&self, one: usize, other: usize) -> f32 {
        product(&self.0[one].halves(), self.0[other]) / (ONE * ONE)
    }

    /// From -1 to 1.
    pub fn cosine_with(&self, place: usize, direction: &Direction) -> f32 {
        product(&direction.0, self.0[place]) / (DIRECTION_ONE * ONE)
    }

    // Inlined into a crate that is optimised for size, the loop would take three times the time.
    #[inline(never)]
    pub fn add_cosines(&self, direction: &Direction, factor: f32, scores: &mut [f32]) {
        let (direction, factor) = (direction.0, factor / (DIRECTION_ONE * ONE));
        scores
            .iter_mut()
            .zip(&self.0)
            .for_each(|(score, vector)| *score += factor * product(&direction, *vector));
    }
}

/// Normalises the vector. A component of 1 becomes `one`.
fn halves(vector: &[f32], one: f32) -> [[i16; HALF]; 2] {
    let mut halves = [[0; HALF]; 2];
    let vector = &vector[..vector.len().min(SHORT)];
    halves.as_flattened_mut().iter_mut().zip(unit(vector, one)).for_each(|(x, given)| *x = given);
    halves
}

/// The result is in the product of the units of both vectors. It is inlined, so that a vector that is compared with many others
/// stays in registers.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "otherwise the loop is not inlined, which takes three times the time"
)]
fn product(one: &[[i16; HALF]; 2], other: Pairs) -> f32 {
    // A sum for each of eight lanes: x86 multiplies the components of all lanes with one instruction.
    let mut sums = [0; 8];
    let [low, high] = one.each_ref().map(|half| half.as_chunks::<8>().0);
    for ((low, high), pairs) in low.iter().zip(high).zip(other.0.as_chunks::<8>().0) {
        for lane in 0..8 {
            sums[lane] += i32::from(low[lane]) * i32::from(pairs[lane] << 8 >> 8);
        }
        for lane in 0..8 {
            sums[lane] += i32::from(high[lane]) * i32::from(pairs[lane] >> 8);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "components have no more digits")]
    let sum = sums.iter().sum::<i32>() as f32;
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vectors(all: &[Vec<f32>]) -> ShortVectors {
        let mut vectors = ShortVectors::with_capacity(all.len());
        for vector in all {
            vectors.push(vector);
        }
        vectors
    }

    #[test]
    fn vectors_of_fewer_dimensions_and_those_without_a_direction_are_filled_with_zeros() {
        let odd = [vec![3.0, 4.0], vec![0.0, 0.0], vec![f32::NAN, 1.0], vec![f32::INFINITY, 0.0]];
        let vectors = vectors(&odd);
        let direction = Direction::of(&[0.3, 0.4]);
        let cosines = [0, 1, 2, 3].map(|place| vectors.cosine_with(place, &direction));
        assert!((cosines[0] - 1.0).abs() < 0.01 && cosines[1..] == [0.0; 3], "{cosines:?}");
        assert!(Direction::of(&odd[2]) == Direction::of(&[]));
    }

    proptest! {
        #[test]
        fn cosines_are_those_of_the_vectors_to_two_digits(values in prop::collection::vec(-1e3..1e3_f32, 2 * SHORT)) {
            let (one, other) = values.split_at(SHORT);
            let vectors = vectors(&[one.to_vec(), other.to_vec()]);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            let exact = dot(one, other) / (dot(one, one) * dot(other, other)).sqrt();
            let direction = Direction::of(other);
            let mut scores = [1.0; 2];
            vectors.add_cosines(&direction, 0.5, &mut scores);
            for cosine in [vectors.cosine(0, 1), vectors.cosine_with(0, &direction), (scores[0] - 1.0) * 2.0] {
                prop_assert!((cosine - exact).abs() < 0.02, "{} {}", cosine, exact);
            }
            prop_assert!((scores[1] - 1.5).abs() < 0.01);
            let mut sum = [1.0; SHORT];
            vectors.add_to(&mut sum, 0, 2.0);
            let length = dot(one, one).sqrt();
            for (sum, x) in sum.iter().zip(one) {
                prop_assert!((sum - 1.0 - 2.0 * x / length).abs() < 0.01, "{} {}", sum, x);
            }
        }
    }
}
