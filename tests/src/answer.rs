//! An HTTP response of the server under test.

use std::fmt;

use serde_json::Value;
use ureq::http::{HeaderMap, StatusCode};

/// The media type of a download with one JSON object on each line.
pub const LINES: &str = "application/x-ndjson";

#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// The body as JSON; null if it is not valid JSON.
    pub body: Value,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, headers: HeaderMap, bytes: Vec<u8>) -> Self {
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Self { status: status.as_u16(), headers, body, bytes }
    }

    /// Returns the `result` field of the body; of a download of lines, what the header repeats.
    #[track_caller]
    pub fn result(&self) -> &str {
        if self.header("content-type") == LINES {
            return self.header("tidings-result");
        }
        self.body["result"].as_str().unwrap_or_else(|| panic!("no result in {self:?}"))
    }

    /// Returns the status and `result` as one text, such as `200 success`.
    #[track_caller]
    pub fn outcome(&self) -> String {
        format!("{} {}", self.status, self.result())
    }

    #[must_use]
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.outcome(), "200 success", "{self:?}");
        self
    }

    /// Returns the value of a header, `""` if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the string at the JSON pointer `path` in the body, for example `/access_token`.
    #[track_caller]
    pub fn text(&self, path: &str) -> String {
        let text = self.body.pointer(path).and_then(Value::as_str);
        text.unwrap_or_else(|| panic!("no text at {path} in {self:?}")).to_owned()
    }

    #[track_caller]
    pub fn list(&self, name: &str) -> &[Value] {
        self.body[name].as_array().unwrap_or_else(|| panic!("no list {name} in {self:?}"))
    }

    /// Returns the field `name` of each element of an array as text, for example `column("newsfeed", "title")`.
    #[track_caller]
    pub fn column(&self, list: &str, name: &str) -> Vec<String> {
        let cell = |row: &Value| row[name].as_str().map_or_else(|| row[name].to_string(), ToOwned::to_owned);
        self.list(list).iter().map(cell).collect()
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body: String = String::from_utf8_lossy(&self.bytes).chars().take(2_000).collect();
        write!(f, "{} {:?} {body}", self.status, self.headers)
    }
}
