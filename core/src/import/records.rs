//! Splits the input of an import into records, in bounded memory: the lines of NDJSON, or the elements of a JSON array.

use std::io::{self, BufRead, Chain, Cursor, ErrorKind, Read};

use super::LINE_MAX;
use crate::base::text_file;

const TOO_LONG: &str = "it is longer than 1 MiB: shorten its texts";
const MISSING: &str = "there is nothing where an element should be: remove a comma";
const NOT_CLOSED: &str = "the input ends within the array: its end is lost, or a ] is missing";
const MORE: &str = "there is more after the ] that closes the array: put everything into one array";

pub(super) struct Records<R> {
    input: Chain<Cursor<Vec<u8>>, R>,
    form: Form,
    number: u64,
    /// Known after the first record.
    pub(super) are_elements: bool,
}

#[derive(Clone, Copy)]
enum Form {
    Unknown,
    Line,
    Element,
    AfterArray,
    Nothing,
}

/// The number from 1, and the reason if the record is unreadable.
type Record = (u64, Result<(), &'static str>);

impl<R: BufRead> Records<R> {
    /// Skips a byte order mark.
    pub(super) fn new(input: R) -> io::Result<Self> {
        Ok(Self { input: text_file::skip_mark(input)?, form: Form::Unknown, number: 0, are_elements: false })
    }

    /// `None` at the end. Blank lines are counted and skipped.
    pub(super) fn next(&mut self, text: &mut Vec<u8>) -> io::Result<Option<Record>> {
        if matches!(self.form, Form::Unknown) {
            self.form = self.find_form()?;
        }
        text.clear();
        match self.form {
            Form::Line => self.line(text),
            Form::Element => self.element(text),
            Form::AfterArray => {
                self.form = Form::Nothing;
                let number = self.number + 1;
                Ok(self.skip_blank()?.map(|_| (number, Err(MORE))))
            }
            Form::Unknown | Form::Nothing => Ok(None),
        }
    }

    /// The first non-blank byte determines the form.
    fn find_form(&mut self) -> io::Result<Form> {
        let first = self.skip_blank()?;
        if first != Some(b'[') {
            return Ok(first.map_or(Form::Nothing, |_| Form::Line));
        }
        self.input.consume(1);
        self.number = 0;
        self.are_elements = true;
        Ok(Form::Element)
    }

    /// Counts the lines that it passes.
    fn skip_blank(&mut self) -> io::Result<Option<u8>> {
        loop {
            let chunk = match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            let blank = chunk.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let lines: u64 = chunk[..blank].iter().map(|byte| u64::from(*byte == b'\n')).sum();
            let (next, ended) = (chunk.get(blank).copied(), chunk.is_empty());
            self.number += lines;
            self.input.consume(blank);
            if next.is_some() || ended {
                return Ok(next);
            }
        }
    }

    fn line(&mut self, text: &mut Vec<u8>) -> io::Result<Option<Record>> {
        loop {
            text.clear();
            if self.input.by_ref().take(LINE_MAX as u64 + 1).read_until(b'\n', text)? == 0 {
                self.form = Form::Nothing;
                return Ok(None);
            }
            self.number += 1;
            if text.len() > LINE_MAX && text.last() != Some(&b'\n') {
                self.input.skip_until(b'\n')?;
                return Ok(Some((self.number, Err(TOO_LONG))));
            }
            if !text.trim_ascii().is_empty() {
                return Ok(Some((self.number, Ok(()))));
            }
        }
    }

    fn element(&mut self, text: &mut Vec<u8>) -> io::Result<Option<Record>> {
        let (end, fits) = self.read_element(text)?;
        self.form = end;
        let record = match end {
            _ if !fits => Err(TOO_LONG),
            Form::Nothing => Err(NOT_CLOSED),
            _ if !text.trim_ascii().is_empty() => Ok(()),
            // An array without elements.
            Form::AfterArray if self.number == 0 => return self.next(text),
            _ => Err(MISSING),
        };
        self.number += 1;
        Ok(Some((self.number, record)))
    }

    /// Returns the state after the comma or bracket that ends the element, and whether the element fits into `text`.
    fn read_element(&mut self, text: &mut Vec<u8>) -> io::Result<(Form, bool)> {
        let (mut depth, mut in_string, mut escaped, mut fits) = (0_u64, false, false, true);
        loop {
            let chunk = match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            if chunk.is_empty() {
                return Ok((Form::Nothing, fits));
            }
            let mut end = None;
            let mut inside = 0;
            for byte in chunk {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if in_string => escaped = true,
                    b'"' => in_string = !in_string,
                    _ if in_string => {}
                    b',' if depth == 0 => end = Some(Form::Element),
                    b']' if depth == 0 => end = Some(Form::AfterArray),
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if end.is_some() {
                    break;
                }
                inside += 1;
            }
            fits &= text.len() + inside <= LINE_MAX;
            if fits {
                text.extend_from_slice(&chunk[..inside]);
            }
            self.input.consume(inside + usize::from(end.is_some()));
            if let Some(next) = end {
                return Ok((next, fits));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn records(input: &[u8], chunk: usize) -> Vec<(u64, Result<String, &'static str>)> {
        let mut records = Records::new(BufReader::with_capacity(chunk, input)).unwrap();
        let (mut text, mut found) = (Vec::new(), Vec::new());
        while let Some((number, record)) = records.next(&mut text).unwrap() {
            found.push((number, record.map(|()| String::from_utf8_lossy(text.trim_ascii()).into_owned())));
        }
        found
    }

    fn text(number: u64, text: &str) -> (u64, Result<String, &'static str>) {
        (number, Ok(text.to_owned()))
    }

    #[test]
    fn lines_are_numbered_and_blank_ones_skipped() {
        for chunk in [1, 2, 3, 5, 100] {
            let found = records(b"\xef\xbb\xbf\n \r\n{1}\r\n\n{2}\n  {3}", chunk);
            assert_eq!(found, [text(3, "{1}"), text(5, "{2}"), text(6, "{3}")]);
            assert_eq!(records(b"{1}\n{2}\n", chunk), [text(1, "{1}"), text(2, "{2}")]);
        }
    }

    #[test]
    fn elements_are_numbered_and_may_contain_any_json() {
        for chunk in [1, 2, 3, 5, 100] {
            let found = records(b" \n [{\"a\": \"],[\\\"\"},\n [1, [2]] , 3] \n", chunk);
            assert_eq!(found, [text(1, "{\"a\": \"],[\\\"\"}"), text(2, "[1, [2]]"), text(3, "3")]);
        }
    }

    #[test]
    fn malformed_arrays_name_the_faulty_element() {
        assert_eq!(records(b"[", 9), [(1, Err(NOT_CLOSED))]);
        assert_eq!(records(b"[{1}, {2", 9), [text(1, "{1}"), (2, Err(NOT_CLOSED))]);
        assert_eq!(
            records(b"[{1},, {2},]", 9),
            [text(1, "{1}"), (2, Err(MISSING)), text(3, "{2}"), (4, Err(MISSING))]
        );
        assert_eq!(records(b"[{1}] [{2}]", 9), [text(1, "{1}"), (2, Err(MORE))]);
        assert_eq!(records(b"[{1}}, {2}]", 9), [text(1, "{1}}"), text(2, "{2}")]);
    }

    #[test]
    fn a_record_of_1_mib_is_read_and_a_longer_one_is_skipped() {
        for (chunk, most) in [(4_096, LINE_MAX), (LINE_MAX * 2, LINE_MAX)] {
            let (fits, long) = ("a".repeat(most), "a".repeat(most + 1));
            let found = records(format!("{fits}\n{long}\nb\n{fits}\n{long}").as_bytes(), chunk);
            assert_eq!(found[0], text(1, &fits));
            assert_eq!(found[1..3], [(2, Err(TOO_LONG)), text(3, "b")]);
            assert_eq!(found[3..], [text(4, &fits), (5, Err(TOO_LONG))]);
            let found = records(format!("[{fits},{long},b]").as_bytes(), chunk);
            assert_eq!(found, [text(1, &fits), (2, Err(TOO_LONG)), text(3, "b")]);
        }
    }

    proptest! {
        #[test]
        fn any_input_is_read_to_its_end(input: Vec<u8>, chunk in 1_usize..64) {
            let array = [b"[".as_slice(), &input].concat();
            prop_assert!(records(&input, chunk).len() <= input.len());
            prop_assert!(records(&array, chunk).len() <= array.len() + 1);
        }

        #[test]
        fn every_element_of_an_array_is_found(
            posts in proptest::collection::vec((".{0,20}", proptest::collection::vec(".{0,5}", 0..3)), 0..8),
            chunk in 1_usize..64,
        ) {
            let json = serde_json::to_vec_pretty(&posts).unwrap();
            let found = records(&json, chunk);
            let found: Vec<(String, Vec<String>)> =
                found.into_iter().map(|(_, text)| serde_json::from_str(&text.unwrap()).unwrap()).collect();
            prop_assert_eq!(found, posts);
        }
    }
}
