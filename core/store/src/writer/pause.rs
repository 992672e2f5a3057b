//! The pause before a group of writes, in which the callers of the last group join it.

use std::time::{Duration, Instant};

use super::Inbox;

/// The longest pause: a fraction of the time of a group.
const PAUSE_MAX: Duration = Duration::from_millis(1);
const STEP: Duration = Duration::from_micros(100);

/// Used where several servers write.
///
/// A group costs the database about as much as 100 likes, and until its commit others wait for the rows that it has locked. A
/// server that has the database for itself answers all callers of a group at once, and while they send their next writes, nothing
/// is lost by a small group. Several servers share its processors, so small groups of one delay the others. With three servers on
/// two processors, the pause gives a tenth more writes in a second.
#[derive(Default)]
pub(super) struct Pause {
    /// The writes that the last group answered, and those that waited at its end: about as many callers are writing.
    callers: usize,
}

impl Pause {
    /// Waits until most callers have sent a write, but not for long. The first write was taken already.
    pub(super) fn wait(&self, inbox: &Inbox) {
        let until = Instant::now() + PAUSE_MAX;
        while !self.are_most(inbox.waiting() + 1) && Instant::now() < until {
            std::thread::sleep(STEP);
        }
    }

    /// Nine tenths of the callers.
    fn are_most(&self, writes: usize) -> bool {
        writes * 10 >= self.callers * 9
    }

    pub(super) fn ended(&mut self, writes: usize, inbox: &Inbox) {
        self.callers = writes + inbox.waiting();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_caller_is_answered_at_once_and_of_ten_the_last_is_not_waited_for() {
        for (callers, enough) in [(0, 1), (1, 1), (2, 2), (10, 9), (48, 44)] {
            let pause = Pause { callers };
            assert!(pause.are_most(enough), "{callers}");
            assert!(enough == 1 || !pause.are_most(enough - 1), "{callers}");
        }
    }
}
