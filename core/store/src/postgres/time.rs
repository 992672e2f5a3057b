//! The time of the primary, which all servers of a database use: otherwise each would have days of its own.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::super::{ServerError, StoreError};
use super::session::Session;
use crate::clock::{Clock, SECOND_MS, Timestamp};

/// The most by which the clocks of a server and of the primary may differ, in milliseconds. A greater difference means that they
/// are not synchronised, and one measurement at the wrong moment would move the days.
const APART_MAX: i64 = 5 * SECOND_MS;
/// The best of this many measurements counts: those of about three seconds.
const SAMPLES: usize = 16;

#[derive(Default)]
pub(super) struct PrimaryTime {
    /// In milliseconds; positive if the primary is ahead.
    ahead: Arc<AtomicI64>,
    samples: Mutex<VecDeque<Sample>>,
}

/// The primary read its clock at some time within the round trip, so a short one is more exact.
#[derive(Clone, Copy)]
struct Sample {
    round_trip: i64,
    ahead: i64,
}

impl PrimaryTime {
    pub(super) fn ahead(&self) -> &Arc<AtomicI64> {
        &self.ahead
    }

    pub(super) fn look(&self, session: &mut Session) -> Result<(), StoreError> {
        let clock = Clock::system();
        let sent = clock.now();
        let sql = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";
        let primary = session.first(sql, &[])?.unwrap_or_default();
        self.measured(sent, primary, clock.now());
        Ok(())
    }

    fn measured(&self, sent: Timestamp, primary: Timestamp, answered: Timestamp) {
        let round_trip = answered - sent;
        let sample = Sample { round_trip, ahead: primary - (sent + round_trip / 2) };
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        // One of the clocks was set, or another server is the primary now.
        let is_new = |known: &Sample| (known.ahead - sample.ahead).abs() > round_trip.abs() + SECOND_MS;
        if samples.iter().any(is_new) {
            samples.clear();
        }
        samples.truncate(SAMPLES - 1);
        samples.push_front(sample);
        if let Some(best) = samples.iter().min_by_key(|sample| sample.round_trip.abs()) {
            let before = self.check();
            self.ahead.store(best.ahead, Ordering::Relaxed);
            match (before, self.check()) {
                (Ok(()), Err(error)) => tracing::error!("the server is not ready: {error}"),
                (Err(_), Ok(())) => tracing::warn!("the clock agrees with that of the database server again"),
                _ => {}
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), StoreError> {
        let ahead = self.ahead.load(Ordering::Relaxed);
        if ahead.abs() > APART_MAX {
            Err(ServerError::Clock { ahead_s: ahead / SECOND_MS }.into())
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn the_shortest_of_the_latest_round_trips_counts() {
        let time = PrimaryTime::default();
        let ahead = || time.ahead.load(Ordering::Relaxed);
        time.measured(at(1_000), at(4_050), at(1_100));
        assert_eq!(ahead(), 3_000);
        time.measured(at(2_000), at(5_009), at(2_002));
        assert_eq!(ahead(), 3_008);
        for n in (0..).take(SAMPLES - 1) {
            time.measured(at(3_000 + n), at(6_090 + n), at(3_100 + n));
            assert_eq!(ahead(), 3_008, "a slow answer is less exact");
        }
        time.measured(at(4_000), at(7_090), at(4_100));
        assert_eq!(ahead(), 3_040, "the clocks drift, so that old measurements are forgotten");
        assert!(time.check().is_ok());
    }

    #[test]
    fn a_clock_that_was_set_counts_at_once_and_may_differ_by_five_seconds() {
        let time = PrimaryTime::default();
        time.measured(at(0), at(1), at(2));
        assert!(time.check().is_ok());
        time.measured(at(1_000), at(601_050), at(1_100));
        assert_eq!(time.ahead.load(Ordering::Relaxed), 600_000);
        assert!(matches!(time.check(), Err(StoreError::Server(ServerError::Clock { ahead_s: 600 }))));
        time.measured(at(2_000), at(-2_990), at(2_020));
        assert!(time.check().is_ok(), "exactly five seconds");
        time.measured(at(3_000), at(-3_000), at(3_000));
        assert!(matches!(time.check(), Err(StoreError::Server(ServerError::Clock { ahead_s: -6 }))));
    }
}
