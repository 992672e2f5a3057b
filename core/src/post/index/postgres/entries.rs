//! Sets of entries.

use super::codec::Damaged;
use crate::store::StoreError;

/// The maximum number of entries in the range of a set, which has 512 MiB then. No segment has as many.
const RANGE_MAX: u64 = 1 << 32;

/// A set of the entries in a range, with a bit for each.
pub(super) struct EntrySet {
    first: u64,
    bits: Vec<u64>,
    count: i64,
}

impl EntrySet {
    /// Returns an empty set for a range.
    ///
    /// # Errors
    /// When no segment has such a range.
    pub(super) fn new(first: u64, last: u64) -> Result<Self, StoreError> {
        let range = last.checked_sub(first).filter(|range| *range < RANGE_MAX).ok_or(Damaged)?;
        let words = usize::try_from(range / 64 + 1);
        Ok(Self { first, bits: vec![0; words.map_err(StoreError::other)?], count: 0 })
    }

    /// Inserts an entry.
    ///
    /// # Errors
    /// When it is not in the range.
    pub(super) fn insert(&mut self, entry: u64) -> Result<(), Damaged> {
        let (at, bit) = self.place(entry).ok_or(Damaged)?;
        self.count += i64::from(self.bits[at] & bit == 0);
        self.bits[at] |= bit;
        Ok(())
    }

    pub(super) fn contains(&self, entry: u64) -> bool {
        self.place(entry).is_some_and(|(at, bit)| self.bits[at] & bit != 0)
    }

    /// Returns the number of entries in the set.
    pub(super) fn count(&self) -> i64 {
        self.count
    }

    fn place(&self, entry: u64) -> Option<(usize, u64)> {
        let number = entry.checked_sub(self.first)?;
        let at = usize::try_from(number / 64).ok().filter(|at| *at < self.bits.len())?;
        Some((at, 1 << (number % 64)))
    }
}
