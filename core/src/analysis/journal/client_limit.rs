//! Limits the log lines of each client, so that one client can fill neither the queue nor the disk.

use std::num::NonZeroU32;

use crate::analysis::gcra::{Gcra, GcraState};
use crate::base::clock::Timestamp;

/// The number of counters in each of the two rows.
const COUNTERS: usize = 2_048;

/// A rate limiter for all clients, with one GCRA per counter. It takes no lock.
///
/// The memory is constant for any number of clients. A client has two counters, chosen by the halves of a hash under a
/// random key, and may have a line if either counter allows it. A client that does not flood is limited only if both of
/// its counters are shared with flooding clients.
///
/// Source of the two rows: Cormode and Muthukrishnan, *An improved data stream summary: the count-min sketch and its
/// applications*, Journal of Algorithms 55(1), 2005.
pub(super) struct ClientLimits {
    /// `None` if lines are not limited.
    limiter: Option<Gcra>,
    used: [Box<[GcraState]>; 2],
}

impl ClientLimits {
    pub(super) fn new(burst: i64, lines_per_second: Option<NonZeroU32>) -> Self {
        let limiter = lines_per_second.map(|lines| Gcra::per_second(burst, i64::from(lines.get())));
        let counters = if limiter.is_some() { COUNTERS } else { 0 };
        Self { limiter, used: [(); 2].map(|()| (0..counters).map(|_| GcraState::default()).collect()) }
    }

    /// Charges a line to a client, identified by its hash, and returns whether it may have the line.
    pub(super) fn take(&self, client: u64, at: Timestamp) -> bool {
        let Some(limiter) = self.limiter else { return true };
        let halves = [client, client >> 32];
        #[expect(clippy::cast_possible_truncation, reason = "the remainder is small")]
        let index = halves.map(|half| (half % COUNTERS as u64) as usize);
        let [first, second] = &self.used;
        // No short circuit: both counters are charged.
        limiter.take(&first[index[0]], at) | limiter.take(&second[index[1]], at)
    }
}
