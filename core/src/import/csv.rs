//! Reads the records of CSV whose first line names the columns.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use csv::{ByteRecord, ReaderBuilder, StringRecord, Terminator};

use super::{Item, LINE_MAX};

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

/// The records of an input. `parse` receives the number of a record's first line, the names of the columns in lower case,
/// and the values.
pub(crate) struct Lines<R, P> {
    reader: csv::Reader<Metered<CrLines<R>>>,
    read: Rc<Cell<usize>>,
    columns: Columns,
    parse: P,
    /// The names of the columns; `None` before the first line is read.
    names: Option<Vec<String>>,
    unknown: Vec<String>,
    ended: bool,
}

/// Returns the records of `input`.
pub(crate) fn lines<R, P, L>(input: R, columns: Columns, parse: P) -> Lines<R, P>
where
    R: BufRead,
    P: FnMut(u64, &[String], &StringRecord) -> Result<L, String>,
{
    let read = Rc::<Cell<usize>>::default();
    let ends = LineEnds::Unknown { is_quoted: false, after_cr: false };
    let input = Metered { input: CrLines { input, ends }, read: Rc::clone(&read), end: END };
    let reader = ReaderBuilder::new()
        .flexible(true)
        .buffer_capacity(CHUNK)
        .has_headers(false)
        // Makes the position after each record exact. `parse` removes the `\r` of a line end.
        .terminator(Terminator::Any(b'\n'))
        .from_reader(input);
    Lines { reader, read, columns, parse, names: None, unknown: Vec::new(), ended: false }
}

impl<R, P> Lines<R, P> {
    /// Returns the first ignored columns, as written in the first line.
    pub(crate) fn into_unknown(self) -> Vec<String> {
        self.unknown
    }
}

impl<R, P, L> Iterator for Lines<R, P>
where
    R: Read,
    P: FnMut(u64, &[String], &StringRecord) -> Result<L, String>,
{
    type Item = io::Result<Item<L>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.record().transpose()
    }
}

impl<R: Read, P> Lines<R, P> {
    fn record<L>(&mut self) -> io::Result<Option<Item<L>>>
    where
        P: FnMut(u64, &[String], &StringRecord) -> Result<L, String>,
    {
        let mut record = ByteRecord::new();
        while !self.ended {
            self.read.set(0);
            let number = self.reader.position().line();
            match self.reader.read_byte_record(&mut record) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => return self.broken(number, error),
            }
            if record.iter().all(|value| value.trim_ascii().is_empty()) {
                continue;
            }
            if record.as_slice() == END.trim_ascii() {
                return Ok(None);
            }
            if record.as_slice().ends_with(END) {
                self.ended = true;
                // No line break follows this record.
                let number = self.first_line(&record) + 1;
                return Ok(Some(Item {
                    number,
                    is_entry: false,
                    bytes: 0,
                    line: Err(NOT_CLOSED.to_owned()),
                }));
            }
            let bytes = record.as_slice().len();
            let number = self.first_line(&record);
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
            return Ok(Some(Item { number, is_entry: false, bytes, line }));
        }
        Ok(None)
    }

    /// Returns the number of the first line of the record that was just read. The number of the CSV reader may be that of a
    /// blank line before it.
    fn first_line(&self, record: &ByteRecord) -> u64 {
        let lines = record.as_slice().split(|byte| *byte == b'\n').count();
        self.reader.position().line().saturating_sub(lines as u64).max(1)
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

    fn broken<L>(&mut self, number: u64, error: csv::Error) -> io::Result<Option<Item<L>>> {
        self.ended = true;
        match error.into_kind() {
            csv::ErrorKind::Io(cause) if cause.kind() == io::ErrorKind::FileTooLarge => {
                Ok(Some(Item { number, is_entry: false, bytes: 0, line: Err(TOO_LONG.to_owned()) }))
            }
            csv::ErrorKind::Io(cause) => Err(cause),
            other => Err(io::Error::other(format!("{other:?}"))),
        }
    }
}

/// An input whose lines may end with CR alone, as old programs for the Mac write them: then each CR becomes LF.
struct CrLines<R> {
    input: R,
    ends: LineEnds,
}

/// How the lines of an input end, which the end of the first one shows.
#[derive(Clone, Copy)]
enum LineEnds {
    /// The first line has not ended. After a CR, the next byte decides.
    Unknown {
        is_quoted: bool,
        after_cr: bool,
    },
    Lf,
    Cr,
}

impl<R: Read> Read for CrLines<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let LineEnds::Unknown { is_quoted, after_cr } = &mut self.ends else {
            let read = self.input.read(to)?;
            if matches!(self.ends, LineEnds::Cr) {
                to[..read].iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
            }
            return Ok(read);
        };
        // Byte by byte, because only the first line is read in this way.
        let mut byte = [0];
        if to.is_empty() || self.input.read(&mut byte)? == 0 {
            return Ok(0);
        }
        match byte[0] {
            b'\n' if !*is_quoted => self.ends = LineEnds::Lf,
            _ if *after_cr => {
                self.ends = LineEnds::Cr;
                // The CR before was passed on: the end of its line follows it.
                let next = if byte[0] == b'\r' { b'\n' } else { byte[0] };
                to[0] = b'\n';
                return match to.get_mut(1) {
                    Some(second) => {
                        *second = next;
                        Ok(2)
                    }
                    None => Err(io::ErrorKind::InvalidInput.into()),
                };
            }
            b'"' => *is_quoted = !*is_quoted,
            b'\r' if !*is_quoted => *after_cr = true,
            _ => {}
        }
        to[0] = byte[0];
        Ok(1)
    }
}

/// An input that counts the bytes read since the last record and fails when one record is too long. It is followed by
/// [`END`].
struct Metered<R> {
    input: R,
    read: Rc<Cell<usize>>,
    /// What is left of what follows the input.
    end: &'static [u8],
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.read.get() > LINE_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut read = self.input.read(to)?;
        if read == 0 {
            read = self.end.read(to)?;
        }
        self.read.set(self.read.get() + read);
        Ok(read)
    }
}
