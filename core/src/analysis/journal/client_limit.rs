//! How many lines each client may have, so that one client alone neither fills the queue nor the disk.

use std::num::NonZeroU32;

use crate::analysis::gcra::{Gcra, GcraState};
use crate::clock::Timestamp;

/// FreeKeys that clients are counted in.
const PLACES: usize = 2_048;

/// What clients have used up of the lines that they may have.
///
/// However many clients there are, they are counted in the same memory: each in two places, by the halves of a hash
/// under a random key, and one of the two must have room. So a client that is never seen to flood is taken for one
/// only when it shares both of its places with those who do.
///
/// Source: the places are those of Cormode and Muthukrishnan, *An improved data stream summary: the count-min sketch
/// and its applications*, Journal of Algorithms 55(1), 2005.
pub(super) struct ClientLimits {
    /// None: as many as they like.
    limiter: Option<Gcra>,
    used: [Box<[GcraState]>; 2],
}

impl ClientLimits {
    pub(super) fn new(burst: i64, lines_per_second: Option<NonZeroU32>) -> Self {
        let limiter = lines_per_second.map(|lines| Gcra::per_second(burst, i64::from(lines.get())));
        let places = if limiter.is_some() { PLACES } else { 0 };
        Self { limiter, used: [(); 2].map(|()| vec![GcraState::default(); places].into()) }
    }

    /// Whether a client, told by its hash, may have one more line at this moment, in milliseconds.
    pub(super) fn take(&mut self, client: u64, at: Timestamp) -> bool {
        let Some(limiter) = self.limiter else { return true };
        let halves = [client, client >> 32];
        #[expect(clippy::cast_possible_truncation, reason = "the remainder is small")]
        let places = halves.map(|half| (half % PLACES as u64) as usize);
        let [first, second] = &mut self.used;
        // Both are charged.
        limiter.take(&mut first[places[0]], at) | limiter.take(&mut second[places[1]], at)
    }
}
