//! Additions to counters: collected during a transaction and written once with its commit.

use std::collections::BTreeMap;

use super::{Arg, StoreError, Tx, send_each};

#[derive(Default)]
pub(super) struct Additions(Vec<Addition>);

struct Addition {
    counter: i64,
    day: Option<i64>,
    /// Whether the addition also counts in the total.
    has_total: bool,
    n: i64,
}

impl Additions {
    pub(super) fn add(&mut self, counter: i64, day: Option<i64>, n: i64) {
        self.0.push(Addition { counter, day, has_total: true, n });
    }

    pub(super) fn add_on(&mut self, counter: i64, day: i64, n: i64) {
        self.0.push(Addition { counter, day: Some(day), has_total: false, n });
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Returns false if there were no additions.
    pub(super) fn write(self, tx: &mut dyn Tx) -> Result<bool, StoreError> {
        let mut sums = BTreeMap::new();
        for Addition { counter, day, has_total, n } in self.0 {
            if has_total {
                *sums.entry((counter, None)).or_insert(0) += n;
            }
            if day.is_some() {
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
        send_each(tx, &dialect.add_to_day(writer), &days)?;
        Ok(!sums.is_empty())
    }
}
