//! The statements that run with a commit: many transactions change the same rows, and lock them in one order.

use std::collections::BTreeMap;

use super::counts::Additions;
use super::topic;
use super::value::Value;
use super::{StoreError, Topic, Tx, send_each};

#[derive(Default)]
pub struct Effects {
    touched: Vec<Topic>,
    additions: Additions,
    last: Vec<(&'static str, i64)>,
    /// By key and statement.
    set: Vec<((i64, &'static str), Value)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    additions: usize,
    last: usize,
    set: usize,
}

impl Effects {
    pub(super) fn touch(&mut self, topic: Topic) {
        if !self.touched.contains(&topic) {
            self.touched.push(topic);
        }
    }

    pub(super) fn count(&mut self, counter: i64, day: Option<i64>, n: i64) {
        self.additions.add(counter, day, n);
    }

    pub(super) fn count_on(&mut self, counter: i64, day: i64, n: i64) {
        self.additions.add_on(counter, day, n);
    }

    pub(super) fn run_at_commit(&mut self, sql: &'static str, key: i64) {
        self.last.push((sql, key));
    }

    pub(super) fn set_at_commit(&mut self, sql: &'static str, key: i64, value: Value) {
        self.set.push(((key, sql), value));
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { additions: self.additions.len(), last: self.last.len(), set: self.set.len() }
    }

    pub(super) fn truncate(&mut self, mark: Mark) {
        self.additions.truncate(mark.additions);
        self.last.truncate(mark.last);
        self.set.truncate(mark.set);
    }

    pub(super) fn write(mut self, tx: &mut dyn Tx) -> Result<Vec<Topic>, StoreError> {
        // All transactions lock the rows in this order.
        self.last.sort_unstable();
        self.last.dedup();
        let revision = tx.revision();
        for same in self.last.chunk_by(|(one, _), (other, _)| one == other) {
            let args: Vec<_> = same.iter().map(|(_, key)| [(*key).into(), revision.into()]).collect();
            send_each(tx, same[0].0, &args)?;
        }
        // One statement for each: the order of one statement over many rows is the server's choice.
        for ((key, sql), value) in std::mem::take(&mut self.set).into_iter().collect::<BTreeMap<_, _>>() {
            tx.send(sql, &[key.into(), (&value).into()])?;
        }
        if std::mem::take(&mut self.additions).write(tx)? {
            self.touch(Topic::Counts);
        }
        self.touched.sort_unstable_by_key(|topic| topic.name());
        topic::set_versions(tx, &self.touched)?;
        Ok(self.touched)
    }
}
