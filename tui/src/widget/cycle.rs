//! Cyclic steps through the values of an enum.

pub(crate) trait Cycle: Copy + PartialEq + 'static {
    const ALL: &'static [Self];

    /// The first value follows the last.
    fn next(self) -> Self {
        step(self, 1)
    }

    /// The last value precedes the first.
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
