//! What a commit writes in addition to the changes of the statements: counters and the versions of topics.

use super::counts::Additions;
use super::topic;
use super::{StoreError, Topic, Tx};

/// The touched topics and the additions to counters of a transaction.
#[derive(Default)]
pub(super) struct Effects {
    touched: Vec<Topic>,
    additions: Additions,
}

impl Effects {
    /// Implements [`Tx::touch`].
    pub(super) fn touch(&mut self, topic: Topic) {
        if !self.touched.contains(&topic) {
            self.touched.push(topic);
        }
    }

    /// Implements [`Tx::count`].
    pub(super) fn count(&mut self, counter: i64, day: Option<i64>, n: i64) {
        self.additions.add(counter, day, n);
    }

    /// Implements [`Tx::count_on`].
    pub(super) fn count_on(&mut self, counter: i64, day: i64, n: i64) {
        self.additions.add_on(counter, day, n);
    }

    /// Returns the number of additions to counters so far.
    pub(super) fn additions(&self) -> usize {
        self.additions.len()
    }

    /// Removes all but the first `len` additions to counters.
    pub(super) fn truncate_additions(&mut self, len: usize) {
        self.additions.truncate(len);
    }

    /// Writes the counters and the versions of topics, and returns the topics.
    pub(super) fn write(mut self, tx: &mut dyn Tx) -> Result<Vec<Topic>, StoreError> {
        if std::mem::take(&mut self.additions).write(tx)? {
            self.touch(Topic::Counts);
        }
        for topic in &self.touched {
            topic::set_version(tx, *topic)?;
        }
        Ok(self.touched)
    }
}
