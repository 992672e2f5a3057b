//! Reads the records of CSV whose first line names the columns.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

use csv::{ByteRecord, ReaderBuilder, StringRecord, Terminator};

use super::{Item, LINE_MAX};
use crate::record::error::{Error, Result};

/// Buffer size of the CSV reader, in bytes.
const CHUNK: usize = 64 << 10;
/// Maximum number of unknown columns that a report lists.
const UNKNOWN_MAX: usize = 10;

const TOO_LONG: &str = "it is longer than 1 MiB, or a quote in it is not closed: what follows is not read";
const NOT_CLOSED: &str = "a quote in it is not closed: what follows is not read";
const TOO_MANY: &str = "it has more values than the first line has names: put a text with a comma in quotes";
const NOT_UTF8: &str = "it is not UTF-8: save the file in that encoding";

/// What the reader gets after the input: a record that no text has, because it is not UTF-8. If it is the end of a value, a
/// quote is not closed. It also ends a last line without a line break.
const END: &[u8] = b"\n\xff\xff\xff\n";

/// The columns that a kind of import reads.
pub(crate) struct Columns {
    /// Returns whether a column of this name, in lower case, is read.
    pub(crate) is_known: fn(&str) -> bool,
    /// The names of the required columns.
    pub(crate) needed: &'static [&'static str],
    /// The error for a file without a required column.
    pub(crate) missing: &'static str,
}

/// Parses a record from the number of its first line, the names of the columns in lower case, and the values.
type Parse<L> = fn(u64, &[String], &StringRecord) -> Result<L, String>;

/// The records of an input.
pub(crate) struct Lines<R, L> {
    /// Made when the first line is known, which tells the separator; until then, the input.
    reader: Option<csv::Reader<Input<R>>>,
    input: Option<Input<R>>,
    columns: Columns,
    parse: Parse<L>,
    /// The names of the columns; `None` before the first line is read.
    names: Option<Vec<String>>,
    /// The first ignored columns, as written in the first line.
    pub(crate) unknown: Vec<String>,
    ended: bool,
}

/// Returns the records of `input`.
pub(crate) fn lines<R: BufRead, L>(input: R, columns: Columns, parse: Parse<L>) -> Lines<R, L> {
    let input = Input { first: VecDeque::new(), source: input, ends_with_cr: false, end: END, read: 0 };
    let (reader, input) = (None, Some(input));
    Lines { reader, input, columns, parse, names: None, unknown: Vec::new(), ended: false }
}

impl<R: Read, L> Iterator for Lines<R, L> {
    type Item = Result<Item<L>>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.record().map_err(Error::Input).transpose()?;
        Some(record.map(|(number, bytes, line)| Item { number, is_entry: false, bytes, line }))
    }
}

/// The number of a record, its length in bytes, and the parsed line or the fault.
type Record<L> = (u64, usize, Result<L, String>);

impl<R: Read, L> Lines<R, L> {
    fn record(&mut self) -> io::Result<Option<Record<L>>> {
        let mut record = ByteRecord::new();
        if let Some(input) = self.input.take() {
            self.reader = Some(input.reader()?);
        }
        while let Some(reader) = self.reader.as_mut().filter(|_| !self.ended) {
            reader.get_mut().read = 0;
            let number = reader.position().line();
            match reader.read_byte_record(&mut record) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => {
                    self.ended = true;
                    return match error.into_kind() {
                        csv::ErrorKind::Io(cause) if cause.kind() == io::ErrorKind::FileTooLarge => {
                            Ok(Some((number, 0, Err(TOO_LONG.to_owned()))))
                        }
                        csv::ErrorKind::Io(cause) => Err(cause),
                        other => Err(io::Error::other(format!("{other:?}"))),
                    };
                }
            }
            if record.iter().all(|value| value.trim_ascii().is_empty()) {
                continue;
            }
            if record.as_slice() == END.trim_ascii() {
                return Ok(None);
            }
            let (number, bytes) = (first_line(reader.position(), &record), record.as_slice().len());
            if record.as_slice().ends_with(END) {
                self.ended = true;
                // No line break follows this record.
                return Ok(Some((number + 1, 0, Err(NOT_CLOSED.to_owned()))));
            }
            let line = match (StringRecord::from_byte_record(std::mem::take(&mut record)), &self.names) {
                (Err(_), _) => Err(NOT_UTF8.to_owned()),
                (Ok(text), Some(names))
                    if text.iter().skip(names.len()).any(|more| !more.trim().is_empty()) =>
                {
                    Err(TOO_MANY.to_owned())
                }
                (Ok(text), Some(names)) => (self.parse)(number, names, &text),
                (Ok(header), None) => {
                    if self.take_names(&header) {
                        continue;
                    }
                    self.ended = true;
                    Err(self.columns.missing.to_owned())
                }
            };
            return Ok(Some((number, bytes, line)));
        }
        Ok(None)
    }

    /// Stores the names of the columns. Returns whether all required columns are present.
    fn take_names(&mut self, header: &StringRecord) -> bool {
        let written = || header.iter().map(|name| name.trim_start_matches('\u{feff}').trim());
        let names: Vec<String> = written().map(str::to_ascii_lowercase).collect();
        let is_known = |name: &str| name.is_empty() || (self.columns.is_known)(name);
        let unknown = names.iter().zip(written()).filter(|(name, _)| !is_known(name));
        self.unknown = unknown.map(|(_, written)| written.to_owned()).take(UNKNOWN_MAX).collect();
        let complete = self.columns.needed.iter().all(|needed| names.iter().any(|name| name == needed));
        self.names = Some(names);
        complete
    }
}

/// Returns the number of the first line of the record that was just read. The number of the CSV reader may be that of a blank
/// line before it.
fn first_line(after: &csv::Position, record: &ByteRecord) -> u64 {
    let lines = record.as_slice().split(|byte| *byte == b'\n').count();
    after.line().saturating_sub(lines as u64).max(1)
}

/// An input, followed by [`END`], which fails when one record is too long.
///
/// Its lines may end with CR alone, as old programs for the Mac write them: then each CR becomes LF. The end of the first
/// line decides.
struct Input<R> {
    /// The bytes that were read to find the end of the first line.
    first: VecDeque<u8>,
    source: R,
    ends_with_cr: bool,
    /// The unread rest of the bytes after the input.
    end: &'static [u8],
    /// The number of bytes read since the last record.
    read: usize,
}

impl<R: Read> Input<R> {
    /// Returns a reader of the records. The separator is a comma, or the semicolon or tab of which the first line has more:
    /// spreadsheets write them where the comma separates decimals.
    fn reader(mut self) -> io::Result<csv::Reader<Self>> {
        self.ends_with_cr = self.read_first()?;
        let count = |separator: &u8| self.first.iter().filter(|byte| **byte == *separator).count();
        let separator = b"\t;,".iter().max_by_key(|separator| count(separator)).copied();
        let mut builder = ReaderBuilder::new();
        builder.flexible(true).buffer_capacity(CHUNK).has_headers(false).delimiter(separator.unwrap_or(b','));
        // Makes the position after each record exact. `parse` removes the `\r` of a line end.
        Ok(builder.terminator(Terminator::Any(b'\n')).from_reader(self))
    }

    /// Reads the first line and the byte after it. Returns whether the line ends with CR alone.
    fn read_first(&mut self) -> io::Result<bool> {
        let (mut is_quoted, mut after_cr, mut byte) = (false, false, [0]);
        while self.first.len() <= LINE_MAX && self.source.read(&mut byte)? > 0 {
            self.first.push_back(byte[0]);
            match byte[0] {
                b'\n' if !is_quoted => return Ok(false),
                _ if after_cr => return Ok(true),
                b'"' => is_quoted = !is_quoted,
                b'\r' => after_cr = !is_quoted,
                _ => {}
            }
        }
        Ok(false)
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.read > LINE_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut read = self.first.read(to)?;
        if read == 0 {
            read = self.source.read(to)?;
        }
        if read == 0 {
            read = self.end.read(to)?;
        }
        if self.ends_with_cr {
            to[..read].iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
        }
        self.read += read;
        Ok(read)
    }
}
