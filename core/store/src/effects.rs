//! The statements that run with a commit: many transactions change the same rows, and lock them in one order.

use std::collections::BTreeMap;

use super::value::Value;
use super::{Arg, StoreError, Topic, Tx, send_each};

#[derive(Default)]
pub struct Effects {
    touched: Vec<Topic>,
    pub(super) additions: Vec<Addition>,
    /// Statements, each with its key.
    pub(super) last: Vec<(&'static str, i64)>,
    /// By key and statement.
    pub(super) set: Vec<((i64, &'static str), Value)>,
}

pub(super) struct Addition {
    pub(super) counter: i64,
    pub(super) day: Option<i64>,
    /// Whether the addition also counts in the total.
    pub(super) has_total: bool,
    pub(super) n: i64,
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
        if !self.additions.is_empty() {
            add(tx, &self.additions)?;
            self.touch(Topic::Counts);
        }
        self.touched.sort_unstable_by_key(|topic| topic.name());
        let topics = self.touched.iter();
        let topics: Vec<_> = topics.map(|topic| [topic.name().into(), revision.into()]).collect();
        let sql = tx.dialect().insert_touched();
        send_each(tx, sql, &topics)?;
        Ok(self.touched)
    }
}

/// Writes the sum of each counter once.
fn add(tx: &mut dyn Tx, additions: &[Addition]) -> Result<(), StoreError> {
    let mut sums = BTreeMap::new();
    for &Addition { counter, day, has_total, n } in additions {
        let total = has_total.then_some(None);
        for day in total.into_iter().chain(day.map(Some)) {
            *sums.entry((counter, day)).or_insert(0) += n;
        }
    }
    let (dialect, writer) = (tx.dialect(), tx.writer());
    let (mut totals, mut days): (Vec<[Arg<'_>; 2]>, Vec<[Arg<'_>; 3]>) = Default::default();
    for ((counter, day), n) in &sums {
        match day {
            None => totals.push([(*counter).into(), (*n).into()]),
            Some(day) => days.push([(*counter).into(), (*day).into(), (*n).into()]),
        }
    }
    send_each(tx, &dialect.add_to_total(writer), &totals)?;
    send_each(tx, &dialect.add_to_day(writer), &days)
}
