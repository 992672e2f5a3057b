//! The positions of the primary in the write-ahead log, which tell how far a standby is behind.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::{CommitTime, StoreError};
use super::session::Session;

/// The number of positions of the primary that are known: those of a minute.
const POSITIONS: usize = 300;

/// The positions of the primary in the write-ahead log at the latest moments.
#[derive(Default)]
pub(super) struct Positions {
    is_expected: AtomicBool,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The timeline of the positions. Those of different timelines cannot be compared.
    timeline: u32,
    /// Moments with the positions after them, in ascending order.
    positions: VecDeque<(CommitTime, i64)>,
}

impl Positions {
    /// Sets whether there may be standbys.
    pub(super) fn expect(&self, is_expected: bool) {
        self.is_expected.store(is_expected, Ordering::Release);
    }

    /// Reads the position of the primary.
    pub(super) fn look(&self, session: &mut Session, timeline: u32) -> Result<(), StoreError> {
        if !self.is_expected.load(Ordering::Acquire) {
            return Ok(());
        }
        let (moment, mut position) = (CommitTime::now(), 0);
        // What is not flushed is not committed.
        let sql = "SELECT CAST(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') AS bigint)";
        session.for_each(sql, &[], &mut |row| {
            position = row.take(0)?;
            Ok(())
        })?;
        self.lock().add(timeline, moment, position);
        Ok(())
    }

    /// Returns the latest moment of which a standby at `position` of the timeline has everything.
    pub(super) fn shown(&self, timeline: i64, position: i64) -> Option<CommitTime> {
        self.lock().shown(timeline, position)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn add(&mut self, timeline: u32, moment: CommitTime, position: i64) {
        let is_older = self.positions.back().is_some_and(|(_, last)| position < *last);
        if timeline != self.timeline || is_older {
            *self = Self { timeline, positions: VecDeque::new() };
        }
        if self.positions.len() >= POSITIONS {
            self.positions.pop_front();
        }
        self.positions.push_back((moment, position));
    }

    fn shown(&self, timeline: i64, position: i64) -> Option<CommitTime> {
        let replayed = self.positions.partition_point(|(_, end)| *end <= position);
        let last = replayed.checked_sub(1).filter(|_| timeline == i64::from(self.timeline))?;
        Some(self.positions[last].0)
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_standby_shows_the_last_moment_whose_position_it_has_replayed() {
        let moments: Vec<_> =
            (0..3).map(|_| (sleep(Duration::from_millis(1)), CommitTime::now()).1).collect();
        let mut known = Known::default();
        for (moment, position) in moments.iter().zip([100, 200, 200]) {
            known.add(7, *moment, position);
        }
        assert_eq!(known.shown(7, 99), None);
        assert_eq!(known.shown(7, 199), Some(moments[0]));
        assert_eq!(known.shown(7, 200), Some(moments[2]), "without changes it is not behind");
        assert_eq!(known.shown(6, 500), None, "a standby of an earlier primary");
        known.add(8, CommitTime::now(), 150);
        assert_eq!(known.shown(8, 149), None, "the positions of another timeline are forgotten");
        for _ in 0..=POSITIONS {
            known.add(8, CommitTime::now(), 300);
        }
        assert_eq!(known.positions.len(), POSITIONS);
    }
}
