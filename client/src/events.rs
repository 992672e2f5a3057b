//! Live events, in the format of server-sent events: WHATWG HTML, section 9.2.6.

use std::io::{self, BufRead as _, BufReader, Read};
use std::time::Duration;

use tidings_core::api::Listen;
use ureq::http::header;

use crate::error::Result;
use crate::http::Server;

/// A silent stream is dead after this time. A server sends a comment at least every 20 seconds.
const SILENCE_MAX: Duration = Duration::from_secs(45);
/// Of a line, and of the data of an event, in bytes. The longest event is a notice, with up to 20,000 characters.
const LENGTH_MAX: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// `notice`, `changes` and so on.
    pub name: String,
    /// A JSON object.
    pub data: String,
}

/// Ends when the stream ends or fails.
pub struct Events {
    server: Server,
    stream: Stream<Box<dyn Read + Send>>,
}

impl Server {
    pub fn events(&self, names: &[&str]) -> Result<Events> {
        let listen = Listen { events: Some(names.join(",")), last_event_id: None };
        let response = self.send(&self.request_of(&listen)?, None, SILENCE_MAX)?;
        let kind = response.headers().get(header::CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let body = self.streamed(response, is_stream, "no stream of events")?.into_body();
        Ok(Events { server: self.clone(), stream: Stream(BufReader::new(Box::new(body.into_reader()))) })
    }
}

impl Iterator for Events {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Result<Event>> {
        let event = self.stream.event().map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => self.server.unexpected(error),
            _ => self.server.unreachable(&error),
        });
        event.transpose()
    }
}

const TOO_LONG: &str = "an event that is too long";

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

struct Stream<R>(BufReader<R>);

impl<R: Read> Stream<R> {
    /// Lines end with a line feed, with or without a carriage return. An event without an end did not happen.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        self.0.by_ref().take(LENGTH_MAX as u64 + 1).read_until(b'\n', &mut line)?;
        match line.pop() {
            Some(b'\n') => {}
            _ if line.len() >= LENGTH_MAX => return Err(invalid(TOO_LONG)),
            _ => return Ok(None),
        }
        line.pop_if(|end| *end == b'\r');
        String::from_utf8(line).map(Some).map_err(|_| invalid("an event that is not text"))
    }

    fn event(&mut self) -> io::Result<Option<Event>> {
        let (mut name, mut all) = (String::new(), None::<String>);
        while let Some(line) = self.line()? {
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match (field, &mut all) {
                _ if line.is_empty() => match all.take() {
                    Some(data) => return Ok(Some(Event { name, data })),
                    None => name.clear(),
                },
                ("event", _) => value.clone_into(&mut name),
                ("data", None) => all = Some(value.to_owned()),
                ("data", Some(data)) if data.len() + value.len() >= LENGTH_MAX => {
                    return Err(invalid(TOO_LONG));
                }
                ("data", Some(data)) => data.extend(["\n", value]),
                // Comments, which have no name, and the fields for listeners that continue later.
                _ => {}
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names and the data, as `name=data`.
    fn events(stream: &[u8]) -> Result<Vec<String>, String> {
        let (mut stream, mut events) = (Stream(BufReader::new(stream)), Vec::new());
        while let Some(Event { name, data }) = stream.event().map_err(|error| error.to_string())? {
            events.push(format!("{name}={data}"));
        }
        Ok(events)
    }

    #[test]
    fn complete_events_are_read_between_comments_and_ids() {
        for (stream, expected) in [
            ("retry: 3000\nid: 7-1\n\n:\nid: 7-1\n\nevent: a\ndata: {\"b\":1}\n\n", &["a={\"b\":1}"][..]),
            ("id: 7-2\r\nevent: notice\r\ndata:{}\r\n\r\ndata: 2\n\n", &["notice={}", "=2"]),
            ("data: one\ndata\ndata:  two\n\n", &["=one\n\n two"]),
            ("event: a\ndata: 1\n\nevent: b\ndata: 2\n", &["a=1"]),
            ("event: a\ndata: 1\n\nevent: b\nda", &["a=1"]),
            ("", &[]),
        ] {
            assert_eq!(events(stream.as_bytes()).unwrap(), expected, "{stream}");
        }
    }

    #[test]
    fn a_stream_cannot_fill_the_memory_and_is_text() {
        let long = [b"data: ".as_slice(), &vec![b'x'; 2 * LENGTH_MAX]].concat();
        assert!(events(&long).unwrap_err().contains(TOO_LONG));
        let many = b"data: 0123456789\n".repeat(LENGTH_MAX / 10);
        assert_eq!(events(&many), Err(TOO_LONG.to_owned()));
        let fits = [b"data: ".as_slice(), &vec![b'x'; LENGTH_MAX - 6], b"\n\n"].concat();
        assert_eq!(events(&fits).unwrap()[0].len(), 1 + LENGTH_MAX - 6);
        assert!(events(b"data: \xff\n\n").unwrap_err().contains("not text"));
    }
}
