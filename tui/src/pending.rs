//! What a screen waits for: one question at a time, of which only the answer to the latest counts.

use crate::effect::{Effect, Query};
use crate::problem::Problem;

/// How long something may take before it is shown that it runs, in milliseconds.
const SLOW_MS: i64 = 300;

/// A place for the answer to a question.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The number of the latest question.
    number: u64,
    /// Since when its answer is waited for.
    since: Option<i64>,
    /// Why the last answer failed.
    problem: Option<Problem>,
}

impl Pending {
    /// Asks, whatever was asked before: an answer to that is stale from now on.
    pub(crate) fn request(&mut self, now: i64, query: Query) -> Effect {
        self.number += 1;
        self.since = Some(now);
        Effect::Load { number: self.number, query }
    }

    /// Whether an answer is waited for.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.since.is_some()
    }

    /// Whether an answer is waited for longer than goes unnoticed.
    pub(crate) fn is_slow(&self, now: i64) -> bool {
        self.since.is_some_and(|since| now - since >= SLOW_MS)
    }

    /// Waits no longer: the answer is stale when it comes. Whether one was waited for.
    pub(crate) const fn cancel(&mut self) -> bool {
        self.number += 1;
        self.since.take().is_some()
    }

    /// The answer to a question, if it is the latest and did not fail.
    pub(crate) fn take<T>(&mut self, number: u64, answer: Result<T, Problem>) -> Option<T> {
        if number != self.number || self.since.is_none() {
            return None;
        }
        self.since = None;
        match answer {
            Ok(answer) => {
                self.problem = None;
                Some(answer)
            }
            Err(problem) => {
                self.problem = Some(problem);
                None
            }
        }
    }

    /// Why the last answer failed.
    pub(crate) const fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(effect: &Effect) -> u64 {
        match effect {
            Effect::Load { number, .. } => *number,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_the_answer_to_the_latest_question_counts() {
        let mut pending = Pending::default();
        let first = number(&pending.request(0, Query::Notices));
        let second = number(&pending.request(10, Query::Notices));
        assert_eq!(pending.take(first, Ok("stale")), None);
        assert!(pending.is_waiting());
        assert_eq!(pending.take(second, Ok("new")), Some("new"));
        assert!(!pending.is_waiting());
        assert_eq!(pending.take(second, Ok("twice")), None);
    }

    #[test]
    fn what_is_left_is_waited_for_no_longer() {
        let mut pending = Pending::default();
        let asked = number(&pending.request(0, Query::Notices));
        assert!(!pending.is_slow(SLOW_MS - 1) && pending.is_slow(SLOW_MS));
        assert!(pending.cancel() && !pending.cancel());
        assert!(!pending.is_slow(10_000));
        assert_eq!(pending.take(asked, Ok("late")), None);
    }

    #[test]
    fn a_failure_stays_until_something_succeeds() {
        let mut pending = Pending::default();
        let asked = number(&pending.request(0, Query::Notices));
        assert_eq!(pending.take::<()>(asked, Err(Problem::new("It failed."))), None);
        assert!(pending.problem().is_some());
        let asked = number(&pending.request(0, Query::Notices));
        assert_eq!(pending.take(asked, Ok(())), Some(()));
        assert!(pending.problem().is_none());
    }
}
