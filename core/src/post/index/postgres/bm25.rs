//! The relevance of a word in a post: BM25.

/// Returns the rarity of a word that `n` of so many posts contain, which is never negative as in FTS5.
#[expect(clippy::cast_precision_loss, reason = "a number of posts")]
pub(super) fn rarity(posts: i64, n: u64) -> f64 {
    let (posts, n) = (posts as f64, n as f64);
    (((posts - n).max(0.0) + 0.5) / (n + 0.5)).ln().max(1e-6)
}

/// The part of the formula that depends on the length of a post.
#[derive(Clone, Copy)]
pub(super) struct Relevance {
    /// The contribution of one token.
    each: f64,
}

impl Relevance {
    #[expect(clippy::cast_precision_loss, reason = "numbers of posts and tokens")]
    pub(super) fn new(posts: i64, length: i64) -> Self {
        Self { each: 1.2 * 0.75 * posts as f64 / length.max(1) as f64 }
    }

    /// Returns the relevance of a word in a post, apart from the factor of the word.
    #[inline]
    pub(super) fn of(self, occurrences: u32, length: u32) -> f64 {
        let occurrences = f64::from(occurrences);
        occurrences / (occurrences + 0.3 + self.each * f64::from(length))
    }
}
