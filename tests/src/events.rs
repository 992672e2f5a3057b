//! Reads a stream of server-sent events.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use crate::{contract, raw};

pub struct EventStream {
    reader: BufReader<TcpStream>,
    /// The bytes of chunks that were not parsed yet.
    rest: String,
    /// The id of the last event, as a browser keeps it.
    pub last_id: String,
}

/// The events with data that are not of the counts, until the stream ends.
impl Iterator for EventStream {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            let event = self.next_of_any_name()?;
            if event.name != "counts" {
                return Some(event);
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub data: Value,
}

impl EventStream {
    /// Opens the stream at this path, after the event with the id `last_id` unless that is empty.
    pub fn open(address: SocketAddr, path: &str, last_id: &str) -> Self {
        let last = if last_id.is_empty() { String::new() } else { format!("Last-Event-ID: {last_id}\r\n") };
        Self { last_id: last_id.to_owned(), ..Self::request(address, path, &last).unwrap() }
    }

    /// Opens the stream at this path. The error is the head of another answer.
    pub fn try_open(address: SocketAddr, path: &str) -> Result<Self, String> {
        Self::request(address, path, "")
    }

    pub fn open_with_token(address: SocketAddr, path: &str, token: &str) -> Self {
        Self::request(address, path, &format!("Authorization: Bearer {token}\r\n")).unwrap()
    }

    fn request(address: SocketAddr, path: &str, header: &str) -> Result<Self, String> {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(raw::TIMEOUT)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\nAccept: text/event-stream\r\n{header}\r\n")
            .unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "no head: {head}");
        }
        let is_stream =
            head.starts_with("HTTP/1.1 200 ") && head.contains("content-type: text/event-stream\r\n");
        if !is_stream {
            return Err(head);
        }
        assert!(head.contains("transfer-encoding: chunked\r\n"), "{head}");
        Ok(Self { reader, rest: String::new(), last_id: String::new() })
    }

    /// Returns the next event with data; `None` at the end of the stream.
    pub fn next_of_any_name(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.rest.find("\n\n") {
                let block: String = self.rest.drain(..end + 2).collect();
                let (mut name, mut data) = (String::new(), String::new());
                for line in block.lines().filter(|line| !line.is_empty() && !line.starts_with(':')) {
                    match line.split_once(": ").expect("a field has a value") {
                        ("id", id) => id.clone_into(&mut self.last_id),
                        ("event", event) => event.clone_into(&mut name),
                        ("data", value) => value.clone_into(&mut data),
                        (field, _) => assert_eq!(field, "retry", "{block}"),
                    }
                }
                if !data.is_empty() {
                    let data = serde_json::from_str(&data).unwrap();
                    contract::check_event(&name, &data);
                    return Some(Event { name, data });
                }
            }
            let mut size = String::new();
            self.reader.read_line(&mut size).unwrap();
            let size = usize::from_str_radix(size.trim_end(), 16).unwrap_or(0);
            let mut chunk = vec![0; size + 2];
            if self.reader.read_exact(&mut chunk).is_err() || size == 0 {
                return None;
            }
            self.rest.push_str(std::str::from_utf8(&chunk[..size]).expect("a frame is a whole chunk"));
        }
    }

    /// Waits until the stream has begun: then every later change is told.
    #[must_use]
    pub fn begun(mut self) -> Self {
        while self.last_id.is_empty() {
            let _ = self.next_of_any_name();
        }
        self
    }
}
