use std::cell::Cell;
use std::fmt;
use std::io::{self, Read};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tidings_core::account::Caller;
use tidings_core::export::{Export, ExportLines, Take};
use tidings_core::member_data::{DataReader, GetMine, GetOf};

use crate::error::Result;
use crate::http::{Server, line_ends};
use crate::{Database, Place, Service};

const CHUNK: usize = 64 << 10;
/// In bytes. The longest text of a post has 100,000 characters.
const LINE_MAX: usize = 16 << 20;
/// The name of a list, in bytes.
const NAME_MAX: usize = 1 << 20;
/// The beginning of an object of a server, which is passed on as a brace, without the result.
const BEGIN: &[u8] = br#"{"result":"success","#;

impl Service {
    /// Lines of JSON. Returns the number of records.
    pub fn export_lines(&self, operation: &impl ExportLines, take: Take<'_>) -> Result<u64> {
        match &self.0 {
            Place::Database(database) => {
                let Database { tidings, caller } = &**database;
                Ok(operation.export(tidings, caller).pass_to(tidings, take)?)
            }
            Place::Server(server) => server.pass_lines(server.stream(&server.request_of(operation)?)?, take),
        }
    }

    /// Everything that is stored about a member. Returns the number of the entries of all lists.
    pub fn export_data(&self, id: &str, take: Take<'_>) -> Result<u64> {
        match &self.0 {
            Place::Database(database) => {
                let Database { tidings, caller } = &**database;
                let export = match caller {
                    Caller::Member(_) => DataReader::new(tidings, &caller.on_behalf_of(tidings, id)?),
                    _ => DataReader::of(tidings, caller, id)?,
                };
                Ok(export.pass_to(tidings, take)?)
            }
            Place::Server(server) => {
                let request = if self.is_own(id) {
                    server.request_of(&GetMine {})?
                } else {
                    server.request_of(&GetOf { user_id: id.to_owned() })?
                };
                server.export_object(server.stream(&request)?, take)
            }
        }
    }
}

impl Server {
    fn pass_lines(&self, mut body: impl Read, take: Take<'_>) -> Result<u64> {
        let (mut waiting, mut chunk, mut lines) = (Vec::new(), vec![0; CHUNK], 0);
        loop {
            let length = body.read(&mut chunk).map_err(|error| self.unreachable(&error))?;
            if length == 0 {
                return if waiting.is_empty() { Ok(lines) } else { Err(self.unexpected("a part of a line")) };
            }
            let end = chunk[..length].iter().rposition(|byte| *byte == b'\n');
            let end = end.map(|end| waiting.len() + end);
            waiting.extend_from_slice(&chunk[..length]);
            let Some(end) = end else {
                if waiting.len() > LINE_MAX {
                    return Err(self.unexpected("a line that is too long"));
                }
                continue;
            };
            let complete: Vec<u8> = waiting.drain(..=end).collect();
            lines += line_ends(&complete);
            if take(&complete, lines).is_break() {
                return Ok(lines);
            }
        }
    }

    /// Removes the `result`. Returns the number of elements of the lists.
    fn export_object(&self, mut body: impl Read, take: Take<'_>) -> Result<u64> {
        let mut begin = [0; BEGIN.len()];
        body.read_exact(&mut begin).map_err(|error| self.unreachable(&error))?;
        if begin != BEGIN {
            return Err(self.unreachable(&"no result"));
        }
        let passed = Passed::default();
        let body = Passing { body: b"{".chain(body), take, passed: &passed };
        let mut reader = serde_json::Deserializer::from_reader(io::BufReader::with_capacity(CHUNK, body));
        match reader.deserialize_map(Lists(&passed)).and_then(|()| reader.end()) {
            Err(_) if passed.name.get().is_some_and(|bytes| bytes > NAME_MAX) => {
                Err(self.unexpected("a name that is too long"))
            }
            Err(error) if !passed.is_stopped.get() => Err(self.unreachable(&error)),
            _ => Ok(passed.entries.get()),
        }
    }
}

#[derive(Default)]
struct Passed {
    entries: Cell<u64>,
    is_stopped: Cell<bool>,
    /// The number of bytes that were read since a name began, while one is read. Only names are stored as a whole.
    name: Cell<Option<usize>>,
}

struct Passing<'s, 't, R> {
    body: R,
    take: Take<'t>,
    passed: &'s Passed,
}

impl<R: Read> Read for Passing<'_, '_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.body.read(into)?;
        if let Some(before) = self.passed.name.get() {
            self.passed.name.set(Some(before + length));
            if before + length > NAME_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        let mut stops = || length > 0 && (self.take)(&into[..length], self.passed.entries.get()).is_break();
        // The parser may read again after an error.
        if self.passed.is_stopped.get() || stops() {
            self.passed.is_stopped.set(true);
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(length)
    }
}

struct Lists<'s>(&'s Passed);

impl<'de> Visitor<'de> for Lists<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with lists")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Self(passed) = self;
        loop {
            passed.name.set(Some(0));
            let key = object.next_key::<String>()?;
            passed.name.set(None);
            match key.as_deref() {
                None => return Ok(()),
                Some("account") => object.next_value::<IgnoredAny>().map(drop)?,
                Some(_) => object.next_value_seed(Lists(passed))?,
            }
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {
            self.0.entries.update(|entries| entries + 1);
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Lists<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, list: D) -> Result<(), D::Error> {
        list.deserialize_seq(self)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;

    /// Returns what is passed on of a body that arrives in parts of this length, and the number of entries.
    fn passed(body: &str, part: usize, parts: usize) -> (Result<u64>, String) {
        struct Parts<'a>(&'a [u8], usize);
        impl Read for Parts<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let length = self.1.min(into.len()).min(self.0.len());
                into[..length].copy_from_slice(&self.0[..length]);
                self.0 = &self.0[length..];
                Ok(length)
            }
        }
        let server = Server::new("http://localhost".parse().unwrap(), None, None);
        let (mut text, mut left) = (Vec::new(), parts);
        let entries = server.export_object(Parts(body.as_bytes(), part), &mut |bytes, _| {
            text.extend_from_slice(bytes);
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (entries, String::from_utf8(text).unwrap())
    }

    #[test]
    fn an_object_is_passed_on_without_its_result_however_it_arrives() {
        let object =
            r#"{"account":{"_id":"ann","list":[1,2]},"likes":[{"a":[1]},{}],"log":[],"views":["도"]}"#;
        let body = object.replacen('{', r#"{"result":"success","#, 1);
        for part in [1, 2, 7, 21, 22, 23, 64, 4_096] {
            let (entries, text) = passed(&body, part, usize::MAX);
            assert_eq!((entries.unwrap(), text.as_str()), (3, object), "{part}");
        }
    }

    #[test]
    fn a_server_cannot_fill_the_memory() {
        let server = Server::new("http://localhost".parse().unwrap(), None, None);
        let mut left = 0;
        let lines = io::Cursor::new(b"{}\n{}\n").chain(io::repeat(b'x'));
        let endless = server.pass_lines(lines, &mut |_, lines| {
            left = lines;
            ControlFlow::Continue(())
        });
        assert!(endless.unwrap_err().to_string().contains("a line that is too long"));
        assert_eq!(left, 2);
        let name = io::Cursor::new(br#"{"result":"success",""#).chain(io::repeat(b'x'));
        let endless = server.export_object(name, &mut |_, _| ControlFlow::Continue(()));
        assert!(endless.unwrap_err().to_string().contains("a name that is too long"));
        // Values of any length only pass.
        let text = io::Cursor::new(br#"{"result":"success","account":{},"likes":["#)
            .chain(io::Cursor::new(b"1,".repeat(2 * NAME_MAX)))
            .chain(io::Cursor::new(b"1]}"));
        let entries = server.export_object(text, &mut |_, _| ControlFlow::Continue(()));
        assert_eq!(entries.unwrap(), 1 + 2 * NAME_MAX as u64);
    }

    #[test]
    fn a_part_of_an_object_is_a_failure_unless_the_caller_stopped() {
        let body = r#"{"result":"success","account":{},"likes":[1,2,3"#;
        assert!(matches!(passed(body, 8, usize::MAX).0, Err(crate::Error::Unreachable { .. })));
        assert!(passed(body, 8, 2).0.is_ok());
    }
}
