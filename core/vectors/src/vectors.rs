//! Unit vectors of words, with components of 16 bits.

use crate::matrix::Tall;

pub const DIMENSIONS_MAX: usize = 2_000;
/// The stored value of a component of 1.
pub const ONE: f32 = 32_767.0;

/// In the order of the words' numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    dimensions: usize,
    values: Vec<i16>,
}

impl Vectors {
    /// `values` has all components, vector after vector.
    pub(crate) fn new(dimensions: usize, values: Vec<i16>) -> Self {
        debug_assert!(dimensions > 0 && values.len().is_multiple_of(dimensions));
        Self { dimensions, values }
    }

    pub fn none(dimensions: usize) -> Self {
        Self::new(dimensions, Vec::new())
    }

    pub fn with_capacity(dimensions: usize, count: usize) -> Self {
        Self::new(dimensions, Vec::with_capacity(dimensions * count))
    }

    pub(crate) fn of(tall: &Tall) -> Self {
        let mut vectors = Self::with_capacity(tall.columns, tall.rows().len());
        tall.rows().for_each(|row| vectors.push(row));
        vectors
    }

    /// A vector of zeros or with non-finite components becomes zeros.
    pub fn push(&mut self, vector: &[f32]) {
        debug_assert_eq!(vector.len(), self.dimensions);
        self.values.extend(unit(vector, ONE));
    }

    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    #[expect(clippy::len_without_is_empty, reason = "no caller needs it")]
    pub fn len(&self) -> usize {
        self.values.len() / self.dimensions
    }

    pub(crate) fn values(&self) -> &[i16] {
        &self.values
    }

    pub fn all(&self) -> impl Iterator<Item = &[i16]> {
        self.values.chunks_exact(self.dimensions)
    }

    #[inline]
    pub fn at(&self, place: usize) -> &[i16] {
        &self.values[place * self.dimensions..][..self.dimensions]
    }

    pub(crate) fn get(&self, word: u32) -> &[i16] {
        self.at(word as usize)
    }

    /// From -1 to 1.
    pub(crate) fn components(&self, word: u32) -> impl Iterator<Item = f32> {
        self.get(word).iter().map(|x| f32::from(*x) / ONE)
    }
}

/// A component of 1 becomes `one`; a vector of zeros or with non-finite components becomes zeros.
pub(crate) fn unit(vector: &[f32], one: f32) -> impl Iterator<Item = i16> {
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "components have 16 bits")]
    let factor = if length > 0.0 && length.is_finite() { (f64::from(one) / length) as f32 } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, reason = "a component is at most `one`")]
    let components = vector.iter().map(move |x| (x * factor).round() as i16);
    components
}

/// In units of the square of [`ONE`].
pub(crate) fn product(a: &[i16], b: &[i16]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// The cosine of two vectors with this product, or 0 if it is negative.
pub(crate) fn cosine(product: i32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "components have 16 bits")]
    let cosine = product as f32 / (ONE * ONE);
    cosine.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn vectors_without_a_direction_become_zero() {
        let mut vectors = Vectors::none(2);
        for odd in [[0.0, 0.0], [f32::NAN, 1.0], [f32::INFINITY, 0.0]] {
            vectors.push(&odd);
        }
        assert!(vectors.values().iter().all(|x| *x == 0) && vectors.len() == 3);
    }

    proptest! {
        #[test]
        fn cosines_are_symmetric_and_from_0_to_1(values in prop::collection::vec(-1e3..1e3_f32, 400)) {
            let vectors = Vectors::of(&Tall::new(200, values.clone()));
            let [a, b] = [vectors.get(0), vectors.get(1)];
            prop_assert_eq!(product(a, b), product(b, a));
            prop_assert!((0.0..=1.0).contains(&cosine(product(a, b))));
            prop_assert!((cosine(product(a, a)) - 1.0).abs() < 1e-3);
            let (a, b) = values.split_at(200);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            let exact = dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
            prop_assert!((cosine(product(vectors.get(0), vectors.get(1))) - exact.max(0.0)).abs() < 1e-3);
        }
    }
}
