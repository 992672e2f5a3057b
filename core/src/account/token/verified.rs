//! Tokens whose signature was verified, so that it is not verified again for each request.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use zeroize::Zeroizing;

use super::Claims;
use crate::base::keyed;

/// The maximum number of cached tokens. A token has one slot, and replaces the token in it.
const SLOTS: usize = 4_096;
/// The maximum length of a cached token in bytes. Those that [`super::Keys::sign`] makes are much shorter.
const TOKEN_MAX: usize = 1_024;

/// The tokens that one key has signed. Reading and inserting take no lock.
pub(super) struct VerifiedTokens(Box<[ArcSwapOption<Verified>]>);

struct Verified {
    /// The token's hash under the random key of this process. It is compared first, so that the time of the comparison of
    /// the texts tells nothing about a token.
    hash: u64,
    token: Zeroizing<String>,
    claims: Arc<Claims>,
}

impl VerifiedTokens {
    pub(super) fn new() -> Self {
        Self((0..SLOTS).map(|_| ArcSwapOption::empty()).collect())
    }

    pub(super) fn get(&self, token: &str) -> Option<Arc<Claims>> {
        let hash = keyed::hash(token);
        let found = self.slot(hash).load();
        let found = found.as_ref().filter(|found| found.hash == hash && *found.token == token);
        found.map(|found| Arc::clone(&found.claims))
    }

    /// Inserts a token whose signature was verified, and returns its claims.
    pub(super) fn insert(&self, token: &str, claims: Claims) -> Arc<Claims> {
        let claims = Arc::new(claims);
        if token.len() <= TOKEN_MAX {
            let (hash, token) = (keyed::hash(token), Zeroizing::new(token.to_owned()));
            let verified = Verified { hash, token, claims: Arc::clone(&claims) };
            self.slot(hash).store(Some(Arc::new(verified)));
        }
        claims
    }

    #[expect(clippy::cast_possible_truncation, reason = "the remainder is small")]
    fn slot(&self, hash: u64) -> &ArcSwapOption<Verified> {
        &self.0[(hash % SLOTS as u64) as usize]
    }
}
