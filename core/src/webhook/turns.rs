//! The order in which webhooks are sent to: receivers that do not answer do not delay the others.

use std::collections::{HashMap, HashSet};

pub(super) const AT_ONCE: usize = 4;
/// Of these, deliveries to webhooks whose last attempt failed.
const FAILING_AT_ONCE: usize = 2;

/// Each webhook is sent one delivery at a time. Those that have waited the longest come first.
#[derive(Default)]
pub(super) struct Turns {
    running: HashSet<String>,
    failing: HashSet<String>,
    last: HashMap<String, u64>,
    turn: u64,
}

impl Turns {
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    pub(super) fn is_running(&self, webhook: &str) -> bool {
        self.running.contains(webhook)
    }

    /// All of `due` have deliveries that are due. Returns `None` if none of them has a turn now.
    pub(super) fn take(&mut self, due: &[String]) -> Option<String> {
        if self.running.len() >= AT_ONCE {
            return None;
        }
        let failing = self.running.iter().filter(|webhook| self.failing.contains(*webhook)).count();
        let may_run = |webhook: &&String| {
            !self.running.contains(*webhook)
                && (failing < FAILING_AT_ONCE || !self.failing.contains(*webhook))
        };
        let next = due.iter().filter(may_run).min_by_key(|webhook| {
            (self.failing.contains(*webhook), self.last.get(*webhook).copied().unwrap_or_default())
        })?;
        self.turn += 1;
        self.last.insert(next.clone(), self.turn);
        self.running.insert(next.clone());
        Some(next.clone())
    }

    /// Nothing was sent in this turn.
    pub(super) fn cancel(&mut self, webhook: &str) {
        self.running.remove(webhook);
    }

    pub(super) fn end(&mut self, webhook: &str, succeeded: bool) {
        self.running.remove(webhook);
        if succeeded {
            self.failing.remove(webhook);
        } else {
            self.failing.insert(webhook.to_owned());
        }
    }

    pub(super) fn retain(&mut self, exists: impl Fn(&str) -> bool) {
        self.failing.retain(|webhook| exists(webhook));
        self.last.retain(|webhook, _| exists(webhook));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn each_webhook_has_one_delivery_at_a_time_and_all_take_turns() {
        let (mut turns, due) = (Turns::default(), names(&["a", "b", "c", "d", "e", "f"]));
        let first: Vec<_> = (0..6).filter_map(|_| turns.take(&due)).collect();
        assert_eq!(first, ["a", "b", "c", "d"]);
        turns.end("b", true);
        assert_eq!(turns.take(&due).as_deref(), Some("e"), "b had a turn before");
        turns.end("a", true);
        assert_eq!(turns.take(&due).as_deref(), Some("f"));
        turns.end("c", true);
        assert_eq!(turns.take(&due).as_deref(), Some("a"));
        assert_eq!(turns.take(&names(&["a", "d"])), None);
    }

    #[test]
    fn webhooks_that_fail_leave_half_of_the_turns_to_the_others() {
        let mut turns = Turns::default();
        for webhook in ["a", "b", "c"] {
            assert_eq!(turns.take(&names(&[webhook])).as_deref(), Some(webhook));
            turns.end(webhook, false);
        }
        let due = names(&["a", "b", "c", "z"]);
        assert_eq!(turns.take(&due).as_deref(), Some("z"));
        assert_eq!(turns.take(&due).as_deref(), Some("a"));
        assert_eq!(turns.take(&due).as_deref(), Some("b"));
        assert_eq!(turns.take(&due), None, "two fail at once at most");
        turns.end("z", true);
        assert_eq!(turns.take(&due).as_deref(), Some("z"));
        turns.end("b", true);
        assert_eq!(turns.take(&due).as_deref(), Some("b"), "it has recovered");
        assert_eq!(turns.take(&due).as_deref(), Some("c"));
    }
}
