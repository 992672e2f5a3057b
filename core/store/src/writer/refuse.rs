//! Answers writes that cannot be committed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::work::Work;
use crate::{Arg, Deferred, Dialect, Row, StoreError, TimeSlice, Tx};

struct RefusingTx<'e>(&'e StoreError);

impl Tx for RefusingTx<'_> {
    fn for_each(
        &mut self,
        _: &str,
        _: &[Arg<'_>],
        _: &mut dyn FnMut(&mut Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        Err(self.0.clone())
    }
    fn run(&mut self, _: &str, _: &[Arg<'_>]) -> Result<u64, StoreError> {
        Err(self.0.clone())
    }
    // No statement runs, so any dialect will do.
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }
    fn revision(&self) -> i64 {
        0
    }
    fn horizon(&mut self) -> Result<i64, StoreError> {
        Err(self.0.clone())
    }
}

/// Answers a write without a transaction, by running it in one that refuses every statement.
pub(super) fn refuse(mut work: Box<dyn Work>, error: &StoreError) {
    // A write that panics without a transaction is dropped, which gives its caller an error.
    if catch_unwind(AssertUnwindSafe(|| work.run(&mut RefusingTx(error)))).is_ok() {
        work.answer(Err(error.clone()));
    }
}

/// Also drops the write.
pub(super) fn refuse_deferred(mut write: Box<dyn Deferred>, error: &StoreError) {
    let refused = write.write(&mut RefusingTx(error), TimeSlice::unlimited());
    let _ = write.done(refused.and_then(|()| Err(error.clone())));
}
