//! A request that a screen waits for: only the answer to the latest request counts.

use tidings_core::clock::Timestamp;

use crate::effect::{Answer, Effect, Loaded, Work, next_number};
use crate::problem::Problem;

/// In milliseconds; then the screen shows that a request is running.
const SLOW_MS: i64 = 300;

pub(crate) fn is_slow(since: Option<Timestamp>, now: Timestamp) -> bool {
    since.is_some_and(|since| now - since >= SLOW_MS)
}

#[derive(Debug, Default)]
pub(crate) struct Pending {
    number: u64,
    since: Option<Timestamp>,
    problem: Option<Problem>,
}

impl Pending {
    /// The answer to an earlier request is ignored from now on.
    pub(crate) fn request<T: Send + 'static>(&mut self, now: Timestamp, query: Work<T>) -> Effect {
        (self.number, self.since) = (next_number(), Some(now));
        Effect::Load { number: self.number, query: query.map(|answer| Box::new(answer) as Answer) }
    }

    pub(crate) const fn is_waiting(&self) -> bool {
        self.since.is_some()
    }

    pub(crate) fn is_slow(&self, now: Timestamp) -> bool {
        is_slow(self.since, now)
    }

    pub(crate) const fn cancel(&mut self) {
        self.since = None;
    }

    /// Takes the answer to the latest request. A failure becomes the problem.
    pub(crate) fn take<T: 'static>(&mut self, number: u64, answer: &mut Loaded) -> Option<T> {
        if number != self.number || self.since.is_none() {
            return None;
        }
        self.since = None;
        let result = answer.take()?;
        self.problem = result.as_ref().err().cloned();
        Some(*result.ok()?.downcast().expect("the answer has the type of the query"))
    }

    pub(crate) const fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    /// `None` while another request is pending.
    pub(crate) fn settled_problem(&self) -> Option<&Problem> {
        self.problem().filter(|_| !self.is_waiting())
    }
}
