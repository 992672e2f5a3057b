//! The sums of relevances in an interval.

use super::rank::WINDOW;

/// The relevances of the entries of an interval, by their places in it.
pub(super) struct Sums {
    sums: Vec<f64>,
    /// A bit for each sum that was added to. Most are not, if the words are rare.
    added: [u64; WINDOW / 64],
}

impl Sums {
    pub(super) fn new() -> Self {
        Self { sums: vec![0.0; WINDOW], added: [0; WINDOW / 64] }
    }

    pub(super) fn add(&mut self, place: u64, relevance: f64) {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if let Some(sum) = self.sums.get_mut(place) {
            *sum += relevance;
            self.added[place / 64] |= 1 << (place % 64);
        }
    }

    /// Calls `each` with the sums that were added to and their places, in ascending order. Then all are 0.
    pub(super) fn take(&mut self, mut each: impl FnMut(u64, f64)) {
        let places = (0..).step_by(64);
        for ((sums, added), first) in self.sums.chunks_mut(64).zip(&mut self.added).zip(places) {
            let mut left = std::mem::take(added);
            while left > 0 {
                let place = left.trailing_zeros();
                each(first + u64::from(place), std::mem::take(&mut sums[place as usize]));
                left &= left - 1;
            }
        }
    }
}
