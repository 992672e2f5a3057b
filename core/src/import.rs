//! The common part of all imports: reads records one after another, writes them in batches, and reports the result. An operation
//! implements [`Import`], and its `Kind` writes a batch. The lines come from `json`, from `csv`, or from an iterator of the
//! operation.

use std::io::{self, BufRead};
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::{Admin, Caller};
use crate::audit::trail::Action;
use crate::record::answer::LineError;
pub use crate::record::error::Done;
use crate::record::error::{Error, Result};
use crate::record::operation::{JSON, NDJSON, Stream};
use crate::record::scope::Scope;
use crate::store::Tx;

mod batches;
pub(crate) mod csv;
mod fields;
mod records;

pub(crate) use batches::{BatchTime, check, run};
pub(crate) use fields::{FieldKind, LineFields, fields, parse_fields};
use records::Records;

/// Maximum size of a line or of an array element, in bytes.
pub const LINE_MAX: usize = 1 << 20;
/// Maximum number of lines that a report lists; it contains only the number of further ones.
pub const ERRORS_MAX: usize = 1_000;

pub(crate) fn shorten(warnings: &mut Vec<String>, most: usize) {
    let more = warnings.len().saturating_sub(most);
    if more > 0 {
        warnings.truncate(most);
        warnings.push(format!("{more} more warnings"));
    }
}

/// A callback that receives the number of processed records after each batch and returns whether to continue.
pub type Progress<'p> = &'p mut dyn FnMut(u64) -> ControlFlow<()>;

/// A [`Progress`] that ignores the number and never stops the import.
pub fn to_the_end(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// An operation that imports records.
pub trait Import: Stream {
    /// Whether it changes existing records, and its report has their number.
    const UPDATES: bool;
    /// The error for an empty body, for people.
    const EMPTY: &'static str;

    /// Returns the media type of a file that begins with `head`.
    fn media_type(&self, head: &[u8]) -> &'static str {
        if head.starts_with(b"[") { JSON } else { NDJSON }
    }

    /// Imports the records of `input`.
    ///
    /// The input is read as a stream, and written in batches, between which other writers can run. A record that breaks a
    /// rule is reported, and the import continues. An import that ends early leaves the batches written so far; repeating
    /// it is safe. `progress` receives the number of processed records after each batch, and can cancel the import.
    ///
    /// # Errors
    /// `bad token`, `Not admin`; [`Error::Input`] if the input cannot be read to its end; [`Error::Unfinished`] if the
    /// store fails after a part was written; `overloaded`.
    fn import(
        self,
        tidings: &Tidings,
        caller: &Caller,
        input: impl BufRead,
        progress: Progress<'_>,
    ) -> Result<Report>;
}

/// The result of an import.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The number of new records.
    pub inserted: u64,
    /// The number of changed records; `None` for an import that never changes records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated: Option<u64>,
    /// The number of records that already existed unchanged.
    pub skipped: u64,
    /// The first 1,000 refused lines, in order; if there are more, a last entry has their number.
    pub errors: Vec<LineError>,
    /// What was wrong with a feed and with entries that were read anyway, for people: at most 1,000, and a last one with the
    /// number of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Further information for people.
    #[serde(skip)]
    pub about: About,
}

impl Report {
    /// Returns the report of an import of nothing.
    pub fn empty<I: Import>() -> Self {
        Self { updated: I::UPDATES.then_some(0), ..Self::default() }
    }
}

/// The result of an import of records that never change.
#[derive(ToSchema)]
pub struct MoveReport {
    /// The number of new records.
    pub inserted: u64,
    /// The number of records that already existed.
    pub skipped: u64,
    /// The first 1,000 refused lines, in order; if there are more, a last entry has their number.
    pub errors: Vec<LineError>,
}

/// Further information about an import, for people.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The number of refused lines, including those that are not listed.
    pub left_out: u64,
    /// Whether line numbers count the entries of a JSON array or a feed, from 1.
    pub are_entries: bool,
    /// The first ignored columns of a CSV file, as written there.
    pub unknown_columns: Vec<String>,
}

/// Moves to the writing thread, so it must not contain the service itself.
pub(crate) trait Kind: Send + Sync + 'static {
    type Operation: Import;
    type Line: Send + 'static;
    /// In lines.
    const BATCH: usize;
    const ACTION: Action;
    const SCOPE: Scope;

    /// Returns the lines of a batch in the order in which they are written.
    fn arranged(&self, batch: Vec<Self::Line>) -> Vec<Self::Line> {
        batch
    }

    /// Writes lines from the start of an arranged batch until `time` is over. May run more than once.
    fn write(
        &self,
        tx: &mut dyn Tx,
        admin: &Admin<'_>,
        batch: &[Self::Line],
        time: &BatchTime,
    ) -> Result<Written>;
}

pub(crate) struct Item<L> {
    /// The number of its line, from 1; in an array or a feed, of the entry.
    pub(crate) number: u64,
    pub(crate) is_entry: bool,
    pub(crate) bytes: usize,
    /// The fault is for people.
    pub(crate) line: Result<L, String>,
}

/// Returns the records of `input`, which is one JSON object per line or one JSON array; the first byte decides.
pub(crate) fn json<L>(
    input: impl BufRead,
    mut parse: impl FnMut(u64, &[u8]) -> Result<L, String>,
) -> impl Iterator<Item = Result<Item<L>>> {
    let (mut input, mut records, mut text) = (Some(input), None, Vec::new());
    let mut next = move || -> io::Result<Option<Item<L>>> {
        if let Some(input) = input.take() {
            records = Some(Records::new(input)?);
        }
        let Some(records) = &mut records else { return Ok(None) };
        let Some((number, record)) = records.next(&mut text)? else { return Ok(None) };
        let line = record.map_err(str::to_owned).and_then(|()| parse(number, &text));
        Ok(Some(Item { number, is_entry: records.are_elements, bytes: text.len(), line }))
    };
    std::iter::from_fn(move || next().map_err(Error::Input).transpose())
}

/// The numbers of all and of valid items in an input.
#[cfg(feature = "fuzzing")]
#[derive(Debug, Default)]
pub struct Read {
    /// All items.
    pub items: usize,
    /// Valid items.
    pub good: usize,
}

#[cfg(feature = "fuzzing")]
pub(crate) fn read_all<L>(items: impl Iterator<Item = Result<Item<L>>>, mut take: impl FnMut(L)) -> Read {
    let mut read = Read::default();
    for item in items {
        read.items += 1;
        match item.expect("reading from memory does not fail").line {
            Ok(line) => {
                read.good += 1;
                take(line);
            }
            Err(reason) => assert!(!reason.is_empty() && reason.len() < 1_000, "{reason:.2000}"),
        }
    }
    read
}

/// Each line that was written counts once.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) inserted: u64,
    pub(crate) updated: u64,
    pub(crate) skipped: u64,
    pub(crate) errors: Vec<LineError>,
}

impl Written {
    pub(crate) fn refuse(&mut self, line: u64, reason: impl Into<String>) {
        self.errors.push(LineError { line, reason: reason.into() });
    }
}
