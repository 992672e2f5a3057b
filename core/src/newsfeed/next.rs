//! The `next` of a page: how a caller continues a feed.

use super::order::LIMIT_MAX;

/// A place in an order, and the number of posts of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) order: u64,
    pub(super) place: usize,
    pub(super) limit: usize,
}

impl Next {
    /// Writes 27 hexadecimal digits.
    pub(super) fn write(self) -> String {
        format!("{:016x}{:08x}{:03x}", self.order, self.place, self.limit)
    }

    /// Returns `None` for a text that [`Next::write`] does not write.
    pub(super) fn read(text: &str) -> Option<Self> {
        let digits = |range: std::ops::Range<usize>| {
            let digits = text.get(range)?;
            let plain = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            u64::from_str_radix(digits, 16).ok().filter(|_| plain)
        };
        let (order, place, limit) = (digits(0..16)?, digits(16..24)?, digits(24..27)?);
        let next = Self { order, place: usize::try_from(place).ok()?, limit: usize::try_from(limit).ok()? };
        (text.len() == 27 && (1..=LIMIT_MAX).contains(&next.limit)).then_some(next)
    }
}

#[cfg(feature = "fuzzing")]
pub(crate) fn rewritten(text: &str) -> Option<String> {
    Next::read(text).map(Next::write)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_next_is_read_as_it_was_written(order: u64, place: u32, limit in 1..=LIMIT_MAX) {
            let next = Next { order, place: place as usize, limit };
            prop_assert_eq!(Next::read(&next.write()), Some(next));
        }

        #[test]
        fn no_other_text_is_read_as_a_next(text in "[0-9a-fA-F+ é]{0,30}") {
            if let Some(next) = Next::read(&text) {
                prop_assert_eq!(next.write(), text);
            }
        }
    }
}
