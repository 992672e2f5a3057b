//! The live events of a server, which it sends in the format of server-sent events.
//!
//! Source: WHATWG HTML, section 9.2.6.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use tidings_core::api::Listen;
use ureq::http::header;

use crate::error::Result;
use crate::http::Server;

/// A silent stream is dead after this time. A server sends a comment at least every 20 seconds.
const SILENCE_MAX: Duration = Duration::from_secs(45);
/// Of a line, and of the data of an event, in bytes. The longest event is a notice, with up to 20,000 characters.
const LENGTH_MAX: usize = 1 << 20;

/// An event of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The name, such as `notice` or `changes`.
    pub name: String,
    /// The data, a JSON object.
    pub data: String,
}

/// The events of a server as they happen, until the stream ends or fails.
pub struct Events {
    server: Server,
    lines: Lines<Box<dyn Read + Send>>,
    parser: Parser,
}

impl Server {
    /// Follows the events with these names.
    ///
    /// # Errors
    /// Those of `GET /events`: `bad token` and `Not admin` for `changes`, `Not found` on a server without live events.
    pub fn events(&self, names: &[&str]) -> Result<Events> {
        let listen = Listen { events: Some(names.join(",")), last_event_id: None };
        let request = self.request_of(&listen)?;
        let response = self.send_within("GET", &request.path(), &request.query(), None, SILENCE_MAX)?;
        let is_stream = |kind: &header::HeaderValue| kind.as_bytes().starts_with(b"text/event-stream");
        if !response.headers().get(header::CONTENT_TYPE).is_some_and(is_stream) {
            return Err(self
                .read(response)
                .map_or_else(|error| error, |_| self.unexpected("no stream of events")));
        }
        let body: Box<dyn Read + Send> = Box::new(response.into_body().into_reader());
        Ok(Events { server: self.clone(), lines: Lines(BufReader::new(body)), parser: Parser::default() })
    }
}

impl Iterator for Events {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Result<Event>> {
        loop {
            let line = match self.lines.next()? {
                Ok(line) => line,
                Err(Fault::Read(error)) => return Some(Err(self.server.unreachable(&error))),
                Err(Fault::Format(what)) => return Some(Err(self.server.unexpected(what))),
            };
            match self.parser.line(&line) {
                Ok(None) => {}
                Ok(Some(event)) => return Some(Ok(event)),
                Err(what) => return Some(Err(self.server.unexpected(what))),
            }
        }
    }
}

#[derive(Debug)]
enum Fault {
    Read(std::io::Error),
    Format(&'static str),
}

const TOO_LONG: &str = "an event that is too long";

/// Lines end with a line feed, with or without a carriage return.
struct Lines<R>(BufReader<R>);

impl<R: Read> Iterator for Lines<R> {
    type Item = Result<String, Fault>;

    fn next(&mut self) -> Option<Result<String, Fault>> {
        let mut line = Vec::new();
        let most = LENGTH_MAX as u64 + 1;
        match self.0.by_ref().take(most).read_until(b'\n', &mut line) {
            Err(error) => return Some(Err(Fault::Read(error))),
            Ok(0) => return None,
            Ok(_) => {}
        }
        match line.pop() {
            Some(b'\n') => {}
            _ if line.len() >= LENGTH_MAX => return Some(Err(Fault::Format(TOO_LONG))),
            // An event without an end did not happen.
            _ => return None,
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Some(String::from_utf8(line).map_err(|_| Fault::Format("an event that is not text")))
    }
}

#[derive(Debug, Default)]
struct Parser {
    name: String,
    data: Option<String>,
}

impl Parser {
    /// Returns the event that the line ends. Fails when the data is too long.
    fn line(&mut self, line: &str) -> Result<Option<Event>, &'static str> {
        if line.is_empty() {
            let Self { name, data } = std::mem::take(self);
            return Ok(data.map(|data| Event { name, data }));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) if data.len() + value.len() >= LENGTH_MAX => return Err(TOO_LONG),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            },
            // Comments, which have no name, and the fields for listeners that continue later.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(stream: &[u8]) -> Result<Vec<(String, String)>, String> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for line in Lines(BufReader::new(stream)) {
            let line = line.map_err(|fault| format!("{fault:?}"))?;
            events.extend(parser.line(&line)?.map(|event| (event.name, event.data)));
        }
        Ok(events)
    }

    fn event(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn events_are_read_between_comments_and_ids() {
        let stream = b"retry: 3000\nid: 7-1\n\n:\nid: 7-1\n\nevent: changes\ndata: {\"posts\":1}\n\n\
                       id: 7-2\r\nevent: notice\r\ndata:{}\r\n\r\n";
        let read = events(stream);
        assert_eq!(read, Ok(vec![event("changes", "{\"posts\":1}"), event("notice", "{}")]));
    }

    #[test]
    fn several_lines_of_data_are_one_text() {
        assert_eq!(events(b"data: one\ndata\ndata:  two\n\n"), Ok(vec![event("", "one\n\n two")]));
    }

    #[test]
    fn an_unfinished_event_at_the_end_of_the_stream_is_left_out() {
        assert_eq!(events(b"event: a\ndata: 1\n\nevent: b\ndata: 2\n"), Ok(vec![event("a", "1")]));
        assert_eq!(events(b"event: a\ndata: 1\n\nevent: b\nda"), Ok(vec![event("a", "1")]));
        assert_eq!(events(b""), Ok(vec![]));
    }

    #[test]
    fn a_stream_cannot_fill_the_memory() {
        let long = [b"data: ".as_slice(), &vec![b'x'; 2 * LENGTH_MAX]].concat();
        assert!(events(&long).unwrap_err().contains(TOO_LONG));
        let many = b"data: 0123456789\n".repeat(LENGTH_MAX / 10);
        assert_eq!(events(&many), Err(TOO_LONG.to_owned()));
        let fits = [b"data: ".as_slice(), &vec![b'x'; LENGTH_MAX - 6], b"\n\n"].concat();
        assert_eq!(events(&fits).unwrap()[0].1.len(), LENGTH_MAX - 6);
    }

    #[test]
    fn bytes_that_are_no_text_end_the_stream() {
        assert!(events(b"data: \xff\n\n").unwrap_err().contains("not text"));
    }
}
