//! The pause before a group of writes, in which the callers of the last group join it.

use std::time::{Duration, Instant};

use super::Inbox;

/// The longest pause: a fraction of the time of a group.
const PAUSE_MAX: Duration = Duration::from_millis(1);
/// The time between two looks at the queue.
const STEP: Duration = Duration::from_micros(100);

/// The pause before a group where several servers write.
///
/// A group costs the database about as much as 100 likes, and until its commit others wait for the rows that it has locked. A
/// server that has the database for itself answers all callers of a group at once, and while they send their next writes, nothing
/// is lost by a small group. Several servers share its processors, so small groups of one delay the others. With three servers on
/// two processors, the pause gives a tenth more writes in a second.
#[derive(Default)]
pub(super) struct Pause {
    /// The number of writes that the last group answered, and that waited at its end: about as many callers are writing.
    callers: usize,
}

impl Pause {
    /// Waits until nine tenths of the callers have sent a write, but not for long. The first write was taken already.
    pub(super) fn wait(&self, inbox: &Inbox) {
        if self.callers > 1 {
            let until = Instant::now() + PAUSE_MAX;
            while (inbox.waiting() + 1) * 10 < self.callers * 9 && Instant::now() < until {
                std::thread::sleep(STEP);
            }
        }
    }

    /// Records a group that has answered so many writes.
    pub(super) fn ended(&mut self, writes: usize, inbox: &Inbox) {
        self.callers = writes + inbox.waiting();
    }
}
