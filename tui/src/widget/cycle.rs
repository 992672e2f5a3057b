//! Stepping through the values of an enum.

/// An enum whose values can be stepped through cyclically.
pub(crate) trait Cycle: Copy + PartialEq + 'static {
    /// The values in order.
    const ALL: &'static [Self];

    /// Returns the next value; the first value follows the last.
    fn next(self) -> Self {
        step(self, 1)
    }

    /// Returns the previous value; the last value precedes the first.
    fn previous(self) -> Self {
        step(self, Self::ALL.len() - 1)
    }
}

fn step<T: Cycle>(value: T, by: usize) -> T {
    let index = T::ALL.iter().position(|one| *one == value).unwrap_or_default();
    T::ALL[(index + by) % T::ALL.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Cycle for bool {
        const ALL: &'static [Self] = &[false, true];
    }

    #[test]
    fn steps_wrap_around() {
        assert_eq!(
            (false.next(), true.next(), false.previous(), true.previous()),
            (true, false, true, false)
        );
    }
}
