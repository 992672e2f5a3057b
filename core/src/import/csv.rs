//! Reads the records of CSV whose first line names the columns. Spreadsheets write commas, semicolons or tabs between the values,
//! and other encodings than UTF-8: all are read, and the report tells the encoding.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

use csv::{ByteRecord, ReaderBuilder, StringRecord, Terminator};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::{Item, LINE_MAX, Report};
use crate::record::error::{Error, Result};

/// In bytes.
const CHUNK: usize = 64 << 10;
const UNKNOWN_MAX: usize = 10;
/// In bytes. An input in UTF-16 is read into memory.
const UTF16_MAX: u64 = 64 << 20;

const TOO_LONG: &str = "it is longer than 1 MiB, or a quote in it is not closed: what follows is not read";
const NOT_CLOSED: &str = "a quote in it is not closed: what follows is not read";
const TOO_MANY: &str = "it has more values than the first line has names: put a text with a comma in quotes";
const NOT_UTF8: &str = "it is not UTF-8: save the file in that encoding";

/// Follows the input: a record that no text has, because it is not UTF-8. If a value ends with it, a quote is not closed. It also
/// ends a last line without a line break.
const END: &[u8] = b"\n\xff\xff\xff\n";

pub(crate) struct Columns {
    /// Gets the name in lower case.
    pub(crate) is_known: fn(&str) -> bool,
    pub(crate) needed: &'static [&'static str],
    /// The error for a file without a required column.
    pub(crate) missing: &'static str,
}

/// Gets the number of the record's first line, the names of the columns in lower case, and the values.
type Parse<L> = fn(u64, &[String], &StringRecord) -> Result<L, String>;

pub(crate) struct Lines<R, L> {
    reader: csv::Reader<Input<R>>,
    columns: Columns,
    parse: Parse<L>,
    /// If it is known not to be UTF-8.
    encoding: Option<&'static Encoding>,
    /// `None` before the first line is read.
    names: Option<Vec<String>>,
    unknown: Vec<String>,
    ended: bool,
}

/// Reads the first line to find the separator.
pub(crate) fn lines<R: BufRead, L>(input: R, columns: Columns, parse: Parse<L>) -> Result<Lines<R, L>> {
    let input = Input::open(input).map_err(Error::Input)?;
    let mut reader = ReaderBuilder::new();
    reader.flexible(true).buffer_capacity(CHUNK).has_headers(false).delimiter(input.separator());
    // Makes the position after each record exact. `parse` removes the `\r` of a line end.
    let reader = reader.terminator(Terminator::Any(b'\n')).from_reader(input);
    Ok(Lines { reader, columns, parse, encoding: None, names: None, unknown: Vec::new(), ended: false })
}

impl<R: Read, L> Iterator for Lines<R, L> {
    type Item = Result<Item<L>>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.record().map_err(Error::Input).transpose()?;
        Some(record.map(|(number, bytes, line)| Item { number, is_entry: false, bytes, line }))
    }
}

/// The number, the length in bytes, and the parsed line or the fault.
type Record<L> = (u64, usize, Result<L, String>);

impl<R: Read, L> Lines<R, L> {
    pub(crate) fn told(self, mut report: Report) -> Report {
        report.about.unknown_columns = self.unknown;
        let encoding = self.encoding.or(self.reader.get_ref().utf16);
        report.warnings.extend(
            encoding.map(|encoding| format!("the file is not UTF-8, and was read as {}", encoding.name())),
        );
        report
    }

    /// `None` if the record has bytes that are not UTF-8 and no known encoding.
    fn text(&mut self, record: ByteRecord) -> Option<StringRecord> {
        let record = match StringRecord::from_byte_record(record) {
            Ok(text) if self.encoding.is_none() => return Some(text),
            Ok(text) => text.into_byte_record(),
            Err(error) => error.into_byte_record(),
        };
        if self.encoding.is_none() {
            let near = &self.reader.get_ref().near;
            // A single byte is a fault and no encoding.
            let is_text = near.iter().filter(|byte| !byte.is_ascii()).count() > 1;
            let encoding = tidings_feeds::decode(near, None).encoding;
            self.encoding = Some(encoding).filter(|encoding| is_text && *encoding != UTF_8);
        }
        // No byte of a character in these encodings is a quote, a separator or the end of a line.
        let encoding = self.encoding?;
        Some(record.iter().map(|value| encoding.decode_without_bom_handling(value).0).collect())
    }

    fn record(&mut self) -> io::Result<Option<Record<L>>> {
        let mut record = ByteRecord::new();
        while !self.ended {
            let reader = &mut self.reader;
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
            let (number, bytes) = (first_line(reader, &record), record.as_slice().len());
            if record.as_slice().ends_with(END) {
                self.ended = true;
                // No line break follows this record.
                return Ok(Some((number + 1, 0, Err(NOT_CLOSED.to_owned()))));
            }
            let line = match (self.text(std::mem::take(&mut record)), &self.names) {
                (None, _) => Err(NOT_UTF8.to_owned()),
                (Some(text), Some(names))
                    if text.iter().skip(names.len()).any(|more| !more.trim().is_empty()) =>
                {
                    Err(TOO_MANY.to_owned())
                }
                (Some(text), Some(names)) => (self.parse)(number, names, &text),
                (Some(header), None) => {
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

/// The number that the CSV reader gives may be that of a blank line before the record.
fn first_line<R: Read>(reader: &csv::Reader<R>, record: &ByteRecord) -> u64 {
    let lines = record.as_slice().split(|byte| *byte == b'\n').count();
    reader.position().line().saturating_sub(lines as u64).max(1)
}

/// Appends [`END`] to an input, and fails when one record is too long. Lines may end with CR alone, as old programs for the Mac
/// write them: then each CR becomes LF. The end of the first line decides.
struct Input<R> {
    /// The bytes that were read to find the end of the first line; all of UTF-16, as UTF-8.
    first: VecDeque<u8>,
    source: R,
    ends_with_cr: bool,
    utf16: Option<&'static Encoding>,
    /// The bytes that were read last, from which an encoding is guessed.
    near: Vec<u8>,
    /// The unread rest of [`END`].
    end: &'static [u8],
    /// In bytes, since the last record.
    read: usize,
}

impl<R: Read> Input<R> {
    /// Reads the first line and the byte after it, or all if it is UTF-16.
    fn open(mut source: R) -> io::Result<Self> {
        let mut first = Vec::new();
        source.by_ref().take(4).read_to_end(&mut first)?;
        let encoding = tidings_feeds::decode(&first, None).encoding;
        let utf16 = [UTF_16LE, UTF_16BE].contains(&encoding).then_some(encoding);
        if utf16.is_some() {
            source.by_ref().take(UTF16_MAX).read_to_end(&mut first)?;
            first = tidings_feeds::decode(&first, None).text.into_owned().into_bytes();
        }
        let (mut is_quoted, mut after_cr, mut at, mut byte) = (false, false, 0, [0]);
        let ends_with_cr = loop {
            if at == first.len() {
                if first.len() > LINE_MAX || source.read(&mut byte)? == 0 {
                    break false;
                }
                first.push(byte[0]);
            }
            match first[at] {
                b'\n' if !is_quoted => break false,
                _ if after_cr => break true,
                b'"' => is_quoted = !is_quoted,
                b'\r' => after_cr = !is_quoted,
                _ => {}
            }
            at += 1;
        };
        let (first, near) = (first.into(), Vec::new());
        Ok(Self { first, source, ends_with_cr, utf16, near, end: END, read: 0 })
    }

    /// The most frequent one in the first line.
    fn separator(&self) -> u8 {
        let line = || self.first.iter().take_while(|byte| !matches!(byte, b'\r' | b'\n'));
        let count = |separator: &u8| line().filter(|byte| *byte == separator).count();
        // On a tie, the last one.
        *b"\t;,".iter().max_by_key(|separator| count(separator)).unwrap_or(&b',')
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
        if self.near.len() + read > CHUNK {
            self.near.clear();
        }
        self.near.extend_from_slice(&to[..read]);
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
