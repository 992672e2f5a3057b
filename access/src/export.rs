//! Exports, which have any length.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Read};
use std::ops::ControlFlow;

use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tidings_core::account::Caller;
use tidings_core::audit::{self, ExportTrail, ExportedAudit};
use tidings_core::member_data::{self, ExportedData, GetMine, GetOf};
use tidings_core::operation::Stream;
use tidings_core::post::{self, ExportPosts, Exported};

use crate::Service;
use crate::error::Result;
use crate::http::{Server, line_ends};

/// Receives complete parts of an export and the number of records so far, and can stop it.
pub type Take<'t> = &'t mut dyn FnMut(&[u8], u64) -> ControlFlow<()>;

/// The number of bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// The maximum length of a line in bytes. The longest text of a post has 100,000 characters.
const LINE_MAX: usize = 16 << 20;
/// The maximum length of the name of a list in bytes.
const NAME_MAX: usize = 1 << 20;
/// What the answer of a server begins with, and the stored object does not have.
const RESULT: &[u8] = br#""result":"success","#;

impl Service {
    /// Exports all posts.
    ///
    /// # Errors
    /// Those of [`post::export`].
    pub fn export_posts(&self, take: Take<'_>) -> Result<Exported> {
        match &self.0 {
            crate::Place::Database(database) => Ok(post::export(&database.tidings, &database.caller, take)?),
            crate::Place::Server(server) => {
                server.export_lines(&ExportPosts {}, take).map(|posts| Exported { posts })
            }
        }
    }

    /// Exports the audit trail.
    ///
    /// # Errors
    /// Those of [`audit::export`].
    pub fn export_audit(&self, take: Take<'_>) -> Result<ExportedAudit> {
        match &self.0 {
            crate::Place::Database(database) => Ok(audit::export(&database.tidings, &database.caller, take)?),
            crate::Place::Server(server) => {
                server.export_lines(&ExportTrail {}, take).map(|records| ExportedAudit { records })
            }
        }
    }

    /// Exports everything that is stored about a member.
    ///
    /// # Errors
    /// Those of [`member_data::export`] and [`member_data::export_of`].
    pub fn export_data(&self, id: &str, take: Take<'_>) -> Result<ExportedData> {
        match &self.0 {
            crate::Place::Database(database) => {
                let (tidings, caller) = (&database.tidings, &database.caller);
                Ok(match caller {
                    Caller::Member(_) => {
                        member_data::export(tidings, &caller.on_behalf_of(tidings, id)?, take)?
                    }
                    _ => member_data::export_of(tidings, caller, id, take)?,
                })
            }
            crate::Place::Server(server) => {
                let request = if server.is_own(id) {
                    server.request_of(&GetMine {})?
                } else {
                    server.request_of(&GetOf { user_id: id.to_owned() })?
                };
                let body = server.stream(&request.path(), &[])?;
                server.export_object(body, take).map(|entries| ExportedData { entries })
            }
        }
    }
}

impl Server {
    /// Passes on lines as they arrive, and returns their number.
    fn export_lines(&self, operation: &impl Stream, take: Take<'_>) -> Result<u64> {
        self.pass_lines(self.stream(&self.request_of(operation)?.path(), &[])?, take)
    }

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

    /// Passes on one object as it arrives, without its `result`, and returns the number of elements of its lists.
    fn export_object(&self, body: impl Read, take: Take<'_>) -> Result<u64> {
        let state = RefCell::new(Passed { take, entries: 0, is_stopped: false, name: None });
        let body = Passing { body, state: &state, skipped: 0 };
        let mut reader = serde_json::Deserializer::from_reader(io::BufReader::with_capacity(CHUNK, body));
        let read = reader.deserialize_map(Lists(&state)).and_then(|()| reader.end());
        drop(reader);
        let Passed { entries, is_stopped, name, .. } = state.into_inner();
        match read {
            Err(_) if name.is_some_and(|bytes| bytes > NAME_MAX) => {
                Err(self.unexpected("a name that is too long"))
            }
            Err(error) if !is_stopped => Err(self.unreachable(&error)),
            _ => Ok(entries),
        }
    }
}

/// What was passed on of an object.
struct Passed<'t> {
    take: Take<'t>,
    entries: u64,
    is_stopped: bool,
    /// The number of bytes that were read since a name began, while one is read. Only names are kept as a whole.
    name: Option<usize>,
}

impl Passed<'_> {
    /// Passes bytes on, unless the caller has stopped the export.
    fn pass(&mut self, bytes: &[u8]) {
        if !self.is_stopped && !bytes.is_empty() {
            self.is_stopped = (self.take)(bytes, self.entries).is_break();
        }
    }
}

/// Passes bytes on before the parser gets them.
struct Passing<'s, 't, R> {
    body: R,
    state: &'s RefCell<Passed<'t>>,
    /// How many bytes of the beginning, the brace and the result, were read.
    skipped: usize,
}

impl<R: Read> Read for Passing<'_, '_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.body.read(into)?;
        let mut bytes = &into[..length];
        let mut state = self.state.borrow_mut();
        if let Some(read) = &mut state.name {
            *read += length;
            if *read > NAME_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        if self.skipped == 0 && !bytes.is_empty() {
            // The brace.
            state.pass(&bytes[..1]);
            (self.skipped, bytes) = (1, &bytes[1..]);
        }
        let rest = (RESULT.len() + 1).saturating_sub(self.skipped).min(bytes.len());
        self.skipped += rest;
        state.pass(&bytes[rest..]);
        if state.is_stopped { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(length) }
    }
}

/// Counts the elements of the lists of an object.
struct Lists<'s, 't>(&'s RefCell<Passed<'t>>);

impl<'de> Visitor<'de> for Lists<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with lists")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let mut is_first = true;
        let begin = || self.0.borrow_mut().name = Some(0);
        begin();
        while let Some(key) = object.next_key::<String>()? {
            self.0.borrow_mut().name = None;
            match key.as_str() {
                "result" if is_first => object.next_value::<IgnoredAny>().map(|_| ())?,
                "account" if !is_first => object.next_value::<IgnoredAny>().map(|_| ())?,
                _ if is_first => return Err(A::Error::custom("no result")),
                _ => object.next_value_seed(Elements(self.0))?,
            }
            is_first = false;
            begin();
        }
        self.0.borrow_mut().name = None;
        Ok(())
    }
}

/// Counts the elements of a list.
struct Elements<'s, 't>(&'s RefCell<Passed<'t>>);

impl<'de> serde::de::DeserializeSeed<'de> for Elements<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, list: D) -> Result<(), D::Error> {
        list.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {
            self.0.borrow_mut().entries += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(
            server.export_object(text, &mut |_, _| ControlFlow::Continue(())).unwrap(),
            1 + 2 * NAME_MAX as u64
        );
    }

    #[test]
    fn a_part_of_an_object_is_a_failure_unless_the_caller_stopped() {
        let body = r#"{"result":"success","account":{},"likes":[1,2,3"#;
        assert!(matches!(passed(body, 8, usize::MAX).0, Err(crate::Error::Unreachable { .. })));
        assert!(passed(body, 8, 2).0.is_ok());
    }
}
