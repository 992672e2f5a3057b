//! The common part of all exports.

use std::ops::ControlFlow;

use serde::Serialize;

use crate::record::error::{Error, Result};
use crate::record::operation::Stream;
use crate::{Caller, Tidings};

/// Receives complete parts of an export in order, and the number of records so far including these. It can cancel the export.
pub type Take<'t> = &'t mut dyn FnMut(&[u8], u64) -> ControlFlow<()>;

/// An operation that exports records as lines of JSON.
pub trait ExportLines: Stream {
    /// Its export.
    type Export: Export;
    /// The name of the file that a client saves.
    const FILE: &'static str;

    /// Returns an export from the first record on.
    fn export(&self, tidings: &Tidings, caller: &Caller) -> Self::Export;
}

/// A part of an export, and the number of its records.
pub type Part = (Vec<u8>, u64);

/// An export, which is read part by part. It holds no transaction between two parts, and each part checks the caller.
pub trait Export: Send + 'static {
    /// Returns the next part; `None` after the last one. After an error, another call reads the same part.
    ///
    /// # Errors
    /// Those of the operation, also if the caller loses the right during the export.
    fn next(&mut self, tidings: &Tidings) -> Result<Option<Part>>;

    /// Passes all parts on, and returns the number of their records.
    ///
    /// # Errors
    /// Those of [`Export::next`].
    fn pass_to(mut self, tidings: &Tidings, take: Take<'_>) -> Result<u64>
    where
        Self: Sized,
    {
        let mut all = 0;
        while let Some((part, records)) = self.next(tidings)? {
            all += records;
            if take(&part, all).is_break() {
                break;
            }
        }
        Ok(all)
    }
}

pub(crate) fn encode<T: Serialize>(json: &mut Vec<u8>, value: &T) -> Result<()> {
    serde_json::to_writer(json, value).map_err(|cause| Error::Internal(cause.into()))
}

pub(crate) fn lines<T: Serialize>(records: &[T]) -> Result<Part> {
    let mut lines = Vec::new();
    for record in records {
        encode(&mut lines, record)?;
        lines.push(b'\n');
    }
    Ok((lines, records.len() as u64))
}
