//! Posts in CSV, under a line that names the fields.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use csv::{ByteRecord, ReaderBuilder, StringRecord, Terminator};

use super::line::{FAV_RULE, Fields, Line, Names, VIEW_RULE};
use crate::import::{Item, LINE_MAX};

/// What the csv reader takes at a time.
const CHUNK: usize = 64 << 10;

const NO_URL: &str =
    "the first line names the fields, and url is not among them: title,url,post,img,topic,tag,date,end_date";
const TOO_LONG: &str = "it is longer than 1 MiB, or a quote in it is not closed: what follows is not read";
const NOT_UTF8: &str = "it is not UTF-8: save the file in that encoding";

/// The records of `input`, each with the number of the line that it begins on.
pub(super) fn lines(input: impl BufRead) -> impl Iterator<Item = io::Result<Item<Line>>> {
    let read = Rc::<Cell<usize>>::default();
    let input = Metered { input, read: Rc::clone(&read), last: b'\n' };
    let reader = ReaderBuilder::new()
        .flexible(true)
        .buffer_capacity(CHUNK)
        .has_headers(false)
        // So that it is known where each record ended; the other half of a line's end is taken off below.
        .terminator(Terminator::Any(b'\n'))
        .from_reader(input);
    let mut lines = Lines { reader, read, names: None, ended: false };
    std::iter::from_fn(move || lines.next().transpose())
}

struct Lines<R> {
    reader: csv::Reader<Metered<R>>,
    read: Rc<Cell<usize>>,
    /// The field of each column; none before the first line.
    names: Option<Vec<String>>,
    ended: bool,
}

impl<R: Read> Lines<R> {
    fn next(&mut self) -> io::Result<Option<Item<Line>>> {
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
            let bytes = record.as_slice().len();
            // The line on which it began: not the csv reader's, which counts blank lines before it in.
            let lines = record.as_slice().split(|byte| *byte == b'\n').count();
            let number = self.reader.position().line().saturating_sub(lines as u64).max(1);
            let line = match (StringRecord::from_byte_record(std::mem::take(&mut record)), &self.names) {
                (Err(_), _) => Err(NOT_UTF8.to_owned()),
                (Ok(text), Some(names)) => fields(names, &text).and_then(|fields| Line::new(number, fields)),
                (Ok(header), None) => {
                    self.names = names(&header);
                    if self.names.is_some() {
                        continue;
                    }
                    self.ended = true;
                    Err(NO_URL.to_owned())
                }
            };
            return Ok(Some(Item { number, bytes, line }));
        }
        Ok(None)
    }

    fn broken(&mut self, number: u64, error: csv::Error) -> io::Result<Option<Item<Line>>> {
        self.ended = true;
        match error.into_kind() {
            csv::ErrorKind::Io(cause) if cause.kind() == io::ErrorKind::FileTooLarge => {
                Ok(Some(Item { number, bytes: 0, line: Err(TOO_LONG.to_owned()) }))
            }
            csv::ErrorKind::Io(cause) => Err(cause),
            other => Err(io::Error::other(format!("{other:?}"))),
        }
    }
}

/// The names of the columns, where there are any of posts.
fn names(header: &StringRecord) -> Option<Vec<String>> {
    let names = header.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_ascii_lowercase());
    let names: Vec<String> = names.collect();
    names.iter().any(|name| name == "url").then_some(names)
}

fn fields(names: &[String], values: &StringRecord) -> Result<Fields, String> {
    let mut fields = Fields::default();
    for (name, written) in names.iter().zip(values) {
        let value = written.trim();
        let given = || Some(value).filter(|value| !value.is_empty()).map(str::to_owned);
        let list = || Some(Names::split(value, &[',', ';']));
        let count = |rule: &str| given().map(|given| given.parse().map_err(|_| rule.to_owned())).transpose();
        match name.as_str() {
            "_id" => fields.id = given(),
            "title" => fields.title = given(),
            "url" => fields.url = given(),
            "date" => fields.date = given(),
            "post" => fields.post = Some(written.strip_suffix('\r').unwrap_or(written).to_owned()),
            "img" => fields.img = Some(value.to_owned()),
            "end_date" => fields.end_date = Some(value.to_owned()),
            "topic" => fields.topic = list(),
            "tag" => fields.tag = list(),
            "view" => fields.view = count(VIEW_RULE)?,
            "fav_cnt" => fields.fav_cnt = count(FAV_RULE)?,
            _ => {}
        }
    }
    Ok(fields)
}

/// An input that says how much was read of it, and breaks off when that is too much for one record. It ends with a
/// line break, whether it did or not.
struct Metered<R> {
    input: R,
    read: Rc<Cell<usize>>,
    /// The last byte.
    last: u8,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.read.get() > LINE_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut read = self.input.read(to)?;
        if let (0, false, Some(end)) = (read, self.last == b'\n', to.first_mut()) {
            *end = b'\n';
            read = 1;
        }
        self.last = to[..read].last().copied().unwrap_or(self.last);
        self.read.set(self.read.get() + read);
        Ok(read)
    }
}
